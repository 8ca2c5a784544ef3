"""Discs and bearings of a rotor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assembly.errors import InputError
from assembly.materials.materials import Material
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
    """

    at: float
    mass: float
    polar: float
    diametral: float

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
        function of the spin (rad/s) that returns one of these. `inf` holds the shaft rigidly.
    damping : float, array_like of shape (2,) or (2, 2), or callable
        Viscous damping in the same form, N·s/m.
    """

    at: float
    stiffness: Coefficients
    damping: Coefficients = 0.0

    @property
    def is_rigid(self) -> bool:
        """Whether the bearing holds the shaft rigidly (stiffness=inf)."""
        return (
            not callable(self.stiffness)
            and np.ndim(self.stiffness) == 0
            and np.isinf(np.asarray(self.stiffness, dtype=float))
        )

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
        value = np.asarray(
            coefficients(spin) if callable(coefficients) else coefficients, dtype=float
        )
        if value.shape not in ((), (2,), (2, 2)) or not np.all(np.isfinite(value)):
            raise InputError(
                f"bearing at {self.at!r}: {name} must be 1, 2 or 2×2 finite numbers, "
                f"got {value.tolist()} at {spin:.6g} rad/s"
            )
        return value if value.ndim == 2 else np.diag(np.broadcast_to(value, (2,)))
