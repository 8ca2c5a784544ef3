"""Critical speeds of a rotor: `modal.critical_speeds`.

A whirl e^{iΩt} of M q̈ + Ω𝒢 q̇ + (K + Ω²K₂) q = 0, without damping, is synchronous where
(K − Ω²B) q = 0 with the Hermitian B = M − i𝒢 − K₂ (M. I. Friswell et al., Dynamics of Rotating
Machines, 2010, section 6.5). All forward and backward criticals are eigenvalues, K positive
definite.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import ArrayLike, DTypeLike, NDArray

from assembly.errors import AccuracyError, InputError
from assembly.magnitudes import EQUAL, check_count
from assembly.system.frozen import FrozenSystem
from modal.critical.campbell_crossings import campbell_crossings
from modal.critical.refinement import Critical, Freeze, refined
from modal.eigen.tolerances import GROUP, ZERO
from modal.proofs.verdict import AFFORDABLE
from modal.tracking.whirl import Whirl, direction
from modal.types import Array, Complex


@dataclass(frozen=True, eq=False)
class CriticalSpeeds:
    """Critical speeds of a rotor, rising. Made by `critical_speeds`.

    It is used as an array of the speeds: ``len``, indexing, iteration, ``numpy.asarray``.

    Attributes
    ----------
    speeds : ndarray, shape (m,)
        rad/s.
    error_bound : ndarray, shape (m,)
        Bound on the error of each, rad/s, from the residual of its mode and the condition of the
        eigenvalue.
    eigenvalues : ndarray of complex, shape (m,)
        λ of the mode at its critical speed, rad/s: Im λ is the speed.
    shapes : ndarray of complex, shape (n, m)
        Mode shapes with unit 2-norm.
    whirl : ndarray of str, shape (m,)
        "forward", "backward", "planar" or "none", where the places of the degrees of freedom are
        known.
    complete : bool
        Whether none is known to be missing below the last one, or in the whole range where fewer
        than k were found: by a count, or as the eigenvalues of one eigenproblem.
    method : str
        "eigenproblem": one Hermitian eigenproblem in the speed. "Campbell": crossings of followed
        modes with the line Im λ = Ω.
    """

    speeds: Array
    error_bound: Array
    eigenvalues: Complex
    shapes: Complex
    whirl: NDArray[np.str_]
    complete: bool
    method: str

    def __len__(self) -> int:
        return len(self.speeds)

    def __getitem__(self, index: Any) -> Any:
        return self.speeds[index]

    def __iter__(self) -> Iterator[float]:
        return iter(self.speeds.tolist())

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> Array:
        return np.array(self.speeds, dtype=dtype)

    @property
    def damping_ratio(self) -> Array:
        """−Re λ / |λ|, (m,)."""
        return np.asarray(-self.eigenvalues.real / np.abs(self.eigenvalues))

    @property
    def certified(self) -> bool:
        """Whether every speed is known to 1e-9 and none is missing."""
        return self.complete and bool(np.all(self.error_bound <= EQUAL * self.speeds))

    def __str__(self) -> str:
        state = "none missing" if self.complete else "completeness not confirmed"
        lines = [
            f"{len(self)} critical speeds ({self.method}, {state})",
            "       rad/s            rpm    damping  whirl       error, rad/s",
        ]
        rows = zip(self.speeds, self.damping_ratio, self.whirl, self.error_bound, strict=True)
        for speed, damping, whirl, error in rows:
            rpm = speed * 30.0 / np.pi
            lines.append(f"  {speed:12.9g}  {rpm:12.7g}  {damping:8.1e}  {whirl:<9} {error:13.1e}")
        return "\n".join(lines)


def critical_speeds(
    model: Any,
    span: tuple[float, float],
    k: int = 6,
    *,
    axis: ArrayLike = (1.0, 0.0, 0.0),
    points: int = 41,
    **parameters: Any,
) -> CriticalSpeeds:
    """The speeds at which a mode whirls with the speed of the rotation, Im λ(Ω) = Ω.

    Parameters
    ----------
    model : object with ``freeze(omega)``
        A rotor in axes that do not spin, such as `assembly.rotor` makes.
    span : tuple of float
        Range of speeds, rad/s, not negative.
    k : int, default 6
        Number of critical speeds, the lowest of the range; fewer where there are fewer. A double
        one, as of a shaft alike in all planes without gyroscopic moments, counts twice.
    axis : array_like, shape (3,)
        Axis of the rotation, for the direction of whirl.
    points : int, default 41
        Speeds at which the modes are followed, where one eigenproblem does not give them.
    **parameters
        Other arguments of `freeze`, constant.

    Returns
    -------
    CriticalSpeeds
        Speeds (rad/s) each to 1e-9, with their error bounds. Printable.

    Raises
    ------
    InputError
        An argument cannot be used.
    AccuracyError
        A speed is not known to 1e-9: the eigenvalue is too ill-conditioned, or touches the line.
    ConvergenceError
        The modes could not be followed.

    Notes
    -----
    Without damping, and with matrices that are polynomials of the speed, λ = iΩ is the Hermitian
    eigenproblem (K − Ω²(M − i𝒢 − K₂)) q = 0, of which LAPACK finds all eigenvalues.
    Otherwise the modes are followed over the speed, every crossing is refined by Newton, and the
    crossings are counted against the modes below the line at both ends. See docs/theory.md,
    "Critical speeds".

    Examples
    --------
    A disc of 20 kg on a massless shaft of 2e6 N/m, k = 2e6: ω = √(k/m) in both planes.

    >>> import numpy as np, modal
    >>> from assembly import FrozenSystem
    >>> class Jeffcott:
    ...     def freeze(self, omega):
    ...         return FrozenSystem(M=20.0 * np.eye(2), K=2e6 * np.eye(2))
    >>> found = modal.critical_speeds(Jeffcott(), (0.0, 1000.0), k=2)
    >>> np.asarray(found).round(6).tolist()
    [316.227766, 316.227766]
    >>> found.certified
    True
    """
    low, high = _checked(model, span, k, points)

    def freeze(omega: float) -> FrozenSystem:
        system = model.freeze(omega=float(omega), **parameters)
        if not isinstance(system, FrozenSystem):
            raise InputError(f"model: freeze returned {type(system).__name__}, no FrozenSystem")
        return system

    found, complete, method = _by_eigenproblem(freeze, low, high, k) or (
        *campbell_crossings(freeze, low, high, k, points),
        "Campbell",
    )
    found = sorted(found, key=lambda c: c.speed)
    for one in found:
        if not one.error <= EQUAL * one.speed:
            raise AccuracyError(
                f"critical speed {one.speed:.9g} rad/s is known to {one.error:.1e} rad/s only"
            )
    speeds, errors = np.array([c.speed for c in found]), np.array([c.error for c in found])
    eigenvalues = np.array([c.eigenvalue for c in found], dtype=complex)
    shapes = np.array([c.shape for c in found]).reshape(len(found), -1).T
    whirl = np.array([_whirl(freeze, c, axis) for c in found], dtype=str)
    return CriticalSpeeds(speeds, errors, eigenvalues, shapes, whirl, complete, method)


def _checked(model: Any, span: Any, k: Any, points: Any) -> tuple[float, float]:
    if not hasattr(model, "freeze"):
        raise InputError(
            f"model: expected an object with freeze(omega), got {type(model).__name__}"
        )
    try:
        low, high = (float(v) for v in span)
    except (TypeError, ValueError):
        raise InputError(f"span: expected two speeds, rad/s, got {span!r}") from None
    if not (0.0 <= low < high < np.inf):
        raise InputError(f"span: expected 0 ≤ lowest < highest speed, rad/s, got {span!r}")
    check_count(k, "k")
    check_count(points, "points", 3)
    return low, high


def _by_eigenproblem(
    freeze: Freeze, low: float, high: float, k: int
) -> tuple[list[Critical], bool, str] | None:
    """The critical speeds of an undamped rotor, or None where they are no such eigenproblem."""
    speeds = tuple(low + part * (high - low) for part in (0.0, 0.37, 1.0, 0.71))
    every = synchronous_speeds(tuple(freeze(w) for w in speeds), speeds)
    if every is None:
        return None
    inside = every[(every >= low) & (every <= high)][:k]
    middle = 0.5 * (low + high)
    found = [refined(freeze, w, 1j * w, middle, seed) for seed, w in enumerate(inside.tolist())]
    # Complete: each of LAPACK's eigenvalues was refined to itself.
    own = [abs(one.speed - w) <= GROUP * w for one, w in zip(found, inside, strict=True)]
    return found, all(own), "eigenproblem"


def _whirl(freeze: Freeze, one: Critical, axis: ArrayLike) -> str:
    system = freeze(one.speed)
    if system.dofs is None:
        return "none"
    size = np.sqrt(abs(one.shape.conj() @ (system.M @ one.shape)))
    forms = Whirl(axis).forms(system, one.shape[:, None] / size)
    if forms is None:
        return "none"
    return str(direction(forms.number[None], np.ones((1, 1)))[0, 0])


def synchronous_speeds(
    systems: tuple[FrozenSystem, ...], speeds: tuple[float, ...]
) -> Array | None:
    """All critical speeds of a conservative rotor, rad/s, rising, from its systems at four speeds.

    None where the rotor is too large for LAPACK, damped, not positive definite, or depends on the
    speed in another way: three speeds make the pencil, the fourth is to fit it.
    """
    if systems[0].n > AFFORDABLE or not all(s.is_conservative for s in systems):
        return None
    parts = ("M", "damping", "stiffness")
    M, C, K = ([getattr(s, part).toarray() for s in systems] for part in parts)
    if any(_misfit(m, M[0]) for m in M[1:]):
        return None
    G = C[2] / speeds[2]
    if any(_misfit(c, w * G, np.abs(C[2]).max()) for c, w in zip(C, speeds, strict=True)):
        return None
    second = (K[2] - K[0]) / (speeds[2] ** 2 - speeds[0] ** 2)
    first = K[0] - speeds[0] ** 2 * second
    if any(_misfit(k, first + w**2 * second) for k, w in zip(K, speeds, strict=True)):
        return None
    L, indefinite = la.lapack.dpotrf(first, lower=1, clean=1)
    if indefinite:
        return None
    half = la.solve_triangular(L, M[0] - 1j * G - second, lower=True)
    inner = la.solve_triangular(L, half.conj().T, lower=True)
    values = la.eigvalsh(0.5 * (inner + inner.conj().T))[::-1]
    return np.asarray(1.0 / np.sqrt(values[values > np.finfo(float).eps * np.abs(values).max()]))


def _misfit(A: Array, expected: Array, size: float = 0.0) -> bool:
    scale = max(float(np.abs(expected).max()), size)
    return bool(np.abs(A - expected).max() > ZERO * scale)
