"""Discs and bearings of a rotor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import PchipInterpolator

from assembly.arguments import as_number, as_numbers, real_array, shown
from assembly.errors import InputError
from assembly.magnitudes import INERTIA, LENGTH, MASS, POSITION, WRITTEN
from assembly.materials.materials import Material, check_is_material
from assembly.materials.sections import Section
from assembly.types import Array

Coefficients = float | ArrayLike | Callable[[float], ArrayLike]


@dataclass(frozen=True)
class Disc:
    """A rigid disc on the shaft.

    Parameters
    ----------
    at : float
        Position on the shaft, m.
    mass : float
        Mass, kg.
    polar, diametral : float
        Moments of inertia about the shaft and across it, kg m².
    skew : float
        Small angle between the axes of disc and shaft, rad: an excitation (`Rotor.excitation`).
    skew_angle : float
        Angle from y, about the shaft, of the direction in which the disc's axis leans at zero
        rotation, rad.

    Raises
    ------
    InputError
        For a value that is not a finite number, or a negative mass or inertia.
    """

    at: float
    mass: float
    polar: float
    diametral: float
    skew: float = 0.0
    skew_angle: float = 0.0

    def __post_init__(self) -> None:
        POSITION.number(self.at, "disc: at")
        MASS.number(self.mass, f"disc at {self.at!r}: mass")
        INERTIA.number(self.polar, f"disc at {self.at!r}: polar")
        INERTIA.number(self.diametral, f"disc at {self.at!r}: diametral")
        for name in ("skew", "skew_angle"):
            value = as_number(getattr(self, name), f"disc at {self.at!r}: {name}")
            if not np.isfinite(value):
                raise InputError(f"disc at {self.at!r}: {name} must be finite, got {value!r}")

    @classmethod
    def solid(cls, at: float, outer: float, inner: float, width: float, material: Material) -> Disc:
        """A disc of uniform thickness: I_p = m(D² + d²)/8, I_d = I_p/2 + m w²/12.

        Parameters
        ----------
        at : float
            Position on the shaft, m.
        outer, inner : float
            Diameters D and d, m.
        width : float
            Thickness w along the shaft, m.
        material : Material
            Its density counts.

        Returns
        -------
        Disc

        Raises
        ------
        InputError
            Unless 0 ≤ inner < outer and width > 0.
        """
        check_is_material(material)
        for name, size in (("at", at), ("outer", outer), ("inner", inner), ("width", width)):
            as_number(size, f"disc: {name}")
        if not (0.0 <= inner < outer and width > 0.0):
            raise InputError(f"disc at {at!r}: needs 0 ≤ inner < outer and a positive width")
        mass = material.rho * np.pi * (outer**2 - inner**2) / 4.0 * width
        polar = mass * (outer**2 + inner**2) / 8.0
        return cls(at, mass, polar, polar / 2.0 + mass * width**2 / 12.0)


@dataclass(frozen=True)
class Bearing:
    """A bearing between shaft and ground that acts on the displacements (y, z).

    Parameters
    ----------
    at : float
        Position on the shaft, m.
    stiffness : float, array_like of shape (2,) or (2, 2), or callable
        N/m: a number (the same in y and z), two numbers, a matrix with cross coefficients, or a
        function of the spin (rad/s) that returns one of these, such as a `speed_table`. `inf`
        holds the shaft rigidly.
    damping : float, array_like of shape (2,) or (2, 2), or callable
        Viscous damping in the same form, N·s/m.

    Raises
    ------
    InputError
        For a position or coefficients that cannot be used.
    """

    at: float
    stiffness: Coefficients
    damping: Coefficients = 0.0

    def __post_init__(self) -> None:
        POSITION.number(self.at, "bearing: at")
        for name in ("stiffness", "damping"):
            if not callable(getattr(self, name)) and not (name == "stiffness" and self.is_rigid):
                self._matrix(name, 0.0)

    @property
    def is_rigid(self) -> bool:
        """Whether the bearing holds the shaft rigidly (stiffness=inf)."""
        given = self.stiffness
        return not callable(given) and np.ndim(given) == 0 and given == np.inf

    def matrices(self, spin: float) -> tuple[Array, Array]:
        """Stiffness and damping at a spin.

        Parameters
        ----------
        spin : float
            rad/s.

        Returns
        -------
        stiffness, damping : ndarray, shape (2, 2)
            N/m and N·s/m; the stiffness of a rigid bearing is zero here.

        Raises
        ------
        InputError
            Unless each is 1, 2 or 2×2 finite numbers.
        """
        k = np.zeros((2, 2)) if self.is_rigid else self._matrix("stiffness", spin)
        return k, self._matrix("damping", spin)

    def _matrix(self, name: str, spin: float) -> Array:
        coefficients = getattr(self, name)
        given = coefficients(spin) if callable(coefficients) else coefficients
        value = real_array(given)
        if value is None or value.shape not in ((), (2,), (2, 2)) or not np.all(np.isfinite(value)):
            when = f" at {spin:.6g} rad/s" if callable(coefficients) else ""
            raise InputError(
                f"bearing at {self.at!r}: {name} must be 1, 2 or 2×2 finite numbers, "
                f"got {shown(given)}{when}"
            )
        return value if value.ndim == 2 else np.diag(np.broadcast_to(value, (2,)))


class SpeedTable:
    """Coefficients of a bearing over the spin, between the values of a table.

    Made by `speed_table`.

    Parameters
    ----------
    speeds : ndarray, shape (m,)
        rad/s.
    values : ndarray, shape (m, ...)
        Coefficients at these speeds.
    """

    def __init__(self, speeds: Array, values: Array) -> None:
        self.speeds, self.values = speeds, values
        self._between = PchipInterpolator(speeds, values, axis=0, extrapolate=False)

    def __call__(self, spin: float) -> Array:
        low, high = self.speeds[0], self.speeds[-1]
        if not low <= spin <= high:
            raise InputError(
                f"bearing: the table reaches from {low:.6g} to {high:.6g} rad/s, not to {spin:.6g}"
            )
        return np.asarray(self._between(spin))


def speed_table(speeds: ArrayLike, values: ArrayLike) -> SpeedTable:
    """Stiffness or damping of a bearing from a table over the spin.

    Parameters
    ----------
    speeds : array_like, shape (m,)
        Spins, rad/s, strictly increasing, two or more.
    values : array_like, shape (m,), (m, 2) or (m, 2, 2)
        Coefficients at these spins, as `Bearing` takes them: N/m or N·s/m.

    Returns
    -------
    SpeedTable
        A function of the spin for `Bearing`: monotone cubic between the speeds (Fritsch and
        Carlson, SIAM J. Numer. Anal. 17, 1980).

    Raises
    ------
    InputError
        For other shapes, speeds that do not increase, or values that are not finite.

    Examples
    --------
    >>> import assembly
    >>> film = assembly.speed_table([100.0, 300.0, 500.0], [2e7, 1.5e7, 1.2e7])
    >>> float(film(300.0))
    15000000.0
    """
    at, coefficients = as_numbers(speeds, "speeds"), as_numbers(values, "values")
    if at.ndim != 1 or len(at) < 2 or not np.all(np.isfinite(at)) or not np.all(np.diff(at) > 0.0):
        raise InputError(f"speeds: expected two or more speeds that increase, got {speeds!r}")
    if coefficients.shape[:1] != at.shape or coefficients.shape[1:] not in ((), (2,), (2, 2)):
        raise InputError(
            f"values: expected shape ({len(at)},), ({len(at)}, 2) or ({len(at)}, 2, 2), "
            f"got {coefficients.shape}"
        )
    if not np.all(np.isfinite(coefficients)):
        raise InputError("values: have entries that are not finite numbers")
    return SpeedTable(at, coefficients)


def segment_lengths(segments: Sequence[tuple[float, Section]]) -> Array:
    """Lengths of the segments, m; InputError unless they are pairs of length and round section."""
    if not segments:
        raise InputError("segments: expected at least one (length, section)")
    for number, segment in enumerate(segments):
        if len(segment) != 2 or not isinstance(segment[1], Section):
            raise InputError(
                f"segments: number {number}: expected (length, section) such as "
                f"(0.5, assembly.circle(0.05)), got {shown(segment)}"
            )
        LENGTH.number(segment[0], f"segments: number {number}: length")
        section = segment[1]
        if max(abs(section.Iy - section.Iz), abs(section.Iyz)) > WRITTEN * section.Iy:
            raise InputError(
                f"segments: number {number}: the section {section.name!r} is not axisymmetric; "
                "describe such a shaft in its turning frame, by assembly.beam"
            )
    return np.array([float(length) for length, _ in segments])
