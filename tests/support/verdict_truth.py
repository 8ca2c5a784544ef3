"""The true stability of M q̈ + C q̇ + K q = 0, by a route that shares nothing with the package.

LAPACK on a scaled state matrix, with the condition number of every eigenvalue. Where that leaves
the sign of a growth rate open, mpmath with 50 digits on the same matrices, whose entries are taken
as exact: all eigenvalues of a small system, Newton's method on (λ, x) with residuals of 50 digits
for a larger one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

DIGITS = 50
SMALL = 9  # unknowns up to which mpmath finds all eigenvalues
ROUND_OFF = 20.0 * np.finfo(float).eps  # of the norm of the scaled state matrix
REFINED = 6  # eigenvalues of a larger system that are refined
NULL_STEPS = 3  # of inverse iteration: two eigenvalues are apart by more than the error of one
STEPS = 12  # of Newton's method
SETTLED = 1e-26  # relative change at which Newton's method stops
ZERO = 1e-20  # of |λ|: the growth rate of an undamped mode, with 50 digits


@dataclass(frozen=True)
class Truth:
    """growth: the largest Re λ, 1/s, of the elastic modes; size: its |λ|; frequency: its |Im λ|.

    resolution: what of it is not known, 1/s. exact: mpmath was asked.
    """

    growth: float
    size: float
    frequency: float
    resolution: float
    exact: bool

    @property
    def is_open(self) -> bool:
        """Whether even this route leaves the sign open."""
        return abs(self.growth) <= self.resolution and not self.exact


def truth(
    M: Array, C: Array, K: Array, zeros: int = 0, prescribed: Sequence[complex] = ()
) -> Truth:
    """The mode that grows most, of those that are not left out.

    zeros: how many zero eigenvalues rigid motions have; prescribed: further eigenvalues, rad/s,
    that the frame has.
    """
    left_out = (0.0,) * zeros + tuple(prescribed)
    n = len(M)
    scale = 1.0 / np.sqrt(np.diag(M))
    scaled = [A * np.outer(scale, scale) for A in (M, C, K)]
    rate = _rate(scaled)
    L = la.cholesky(scaled[0], lower=True)
    E, S = (
        la.solve_triangular(L, la.solve_triangular(L, A, lower=True).T, lower=True).T
        for A in scaled[1:]
    )
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-S / rate**2, -E / rate]])
    values, left, right = la.eig(A, left=True, right=True)
    pairing = np.abs((left.conj() * right).sum(axis=0))
    with np.errstate(divide="ignore"):
        resolution = ROUND_OFF * np.linalg.norm(A) / pairing
    kept = np.array(_without(values * rate, left_out))
    values, resolution, right = values[kept], resolution[kept], right[:, kept]
    worst = int(values.real.argmax())
    if values[worst].real > resolution[worst] or np.all(values.real < -resolution):
        return _judged(values[worst] * rate, resolution[worst] * rate, False)
    if n <= SMALL:
        return _of_all(M, C, K, left_out, rate)
    unclear = np.flatnonzero((values.real >= -resolution) & (values.imag >= 0.0))
    if len(unclear) > REFINED:
        return _judged(values[worst] * rate, resolution[worst] * rate, False)
    exact = [refined(M, C, K, complex(values[j]) * rate) for j in unclear]
    if not exact or any(value is None for value in exact):
        return _judged(values[worst] * rate, resolution[worst] * rate, False)
    best = max((value for value in exact if value is not None), key=lambda value: value.real)
    return _judged(complex(best), 0.0, True)


def _rate(scaled: list[Array]) -> float:
    """A frequency that makes the blocks of the state matrix compare, rad/s."""
    size = float(np.linalg.norm(scaled[2], 2))
    other = float(np.linalg.norm(scaled[1], 2))
    return max(np.sqrt(size), 1e-3 * other, np.finfo(float).tiny)


def _judged(value: complex, resolution: float, exact: bool) -> Truth:
    growth = float(value.real)
    if exact and abs(growth) <= ZERO * abs(value):
        growth = 0.0
    return Truth(growth, abs(value), abs(value.imag), float(resolution), exact)


def _without(values: Sequence[complex] | Complex, left_out: Sequence[complex]) -> list[int]:
    """Numbers of the values without the nearest to each of those that are left out."""
    kept = list(range(len(values)))
    for value in left_out:
        kept.remove(min(kept, key=lambda j: abs(values[j] - value)))
    return kept


def _of_all(M: Array, C: Array, K: Array, left_out: Sequence[complex], rate: float) -> Truth:
    """From all eigenvalues, with 50 digits."""
    n = len(M)
    with mpmath.workdps(DIGITS):
        mass, damping, stiffness = (mpmath.matrix(A.tolist()) for A in (M, C, K))
        inverse = mpmath.inverse(mass)
        E, S = inverse * damping / rate, inverse * stiffness / rate**2
        A = mpmath.zeros(2 * n, 2 * n)
        for i in range(n):
            A[i, n + i] = 1
            for j in range(n):
                A[n + i, j], A[n + i, n + j] = -S[i, j], -E[i, j]
        found = mpmath.eig(A, left=False, right=False)
        values = [found[j] for j in _without([value * rate for value in found], left_out)]
        worst = max(values, key=lambda value: value.real)
        growth = worst.real if abs(worst.real) > ZERO * abs(worst) else mpmath.mpf(0)
        parts = (growth, abs(worst), abs(worst.imag))
        return Truth(*(float(part * rate) for part in parts), 0.0, True)


def refined(M: Array, C: Array, K: Array, start: complex) -> complex | None:
    """The eigenvalue next to the start, with 30 digits; None where Newton's method does not settle.

    The bordered matrix [[Q(λ), Q′(λ)x], [cᴴ, 0]] is factorized once in double precision.
    """
    scale = 1.0 / np.sqrt(np.diag(M))

    def Q(value: complex) -> Array:
        return value**2 * M + value * C + K

    outer = np.outer(scale, scale)
    n = len(M)
    x = _nearly_null(Q(start) * outer)
    c = x.conj()
    slope = (2.0 * start * M + C) * outer @ x
    size = np.abs(slope).max()
    bordered = np.block(
        [[Q(start) * outer / size, (slope / size)[:, None]], [c[None, :], np.zeros((1, 1))]]
    )
    factor = la.lu_factor(bordered)
    with mpmath.workdps(DIGITS):
        exact = [_entries(A) for A in (M, C, K)]
        weight = np.array([mpmath.mpf(v) for v in scale.tolist()], dtype=object)
        shape = np.array([mpmath.mpc(v) for v in x.tolist()], dtype=object)
        border = np.array([mpmath.mpc(v) for v in c.tolist()], dtype=object)
        value = mpmath.mpc(start)
        last = mpmath.mpf("inf")
        for _ in range(STEPS):
            y = weight * shape
            My, Cy, Ky = (_product(entries, y) for entries in exact)
            residual = weight * (value**2 * My + value * Cy + Ky)
            norm = border @ shape - 1
            right = np.array([*(complex(v / size) for v in residual), complex(norm)])
            largest = float(np.abs(right).max())
            if largest == 0.0:
                return complex(value)
            step = la.lu_solve(factor, -right / largest)
            shape = shape + np.array(
                [mpmath.mpc(v) * largest for v in step[:n].tolist()], dtype=object
            )
            change = mpmath.mpc(complex(step[n])) * largest
            value = value + change
            if abs(change) <= SETTLED * abs(value):
                return complex(value)
            if abs(change) > 0.5 * last:
                return None
            last = abs(change)
    return None


def _nearly_null(Q: Array) -> Array:
    """The unit vector x of the smallest ‖Qx‖, by inverse iteration on QᴴQ."""
    n = len(Q)
    factor = la.lu_factor(Q + np.finfo(float).eps * np.abs(Q).max() * np.eye(n))
    x = np.random.default_rng(1).standard_normal(n) + 0j
    for _ in range(NULL_STEPS):
        x = la.lu_solve(factor, la.lu_solve(factor, x / np.linalg.norm(x), trans=2))
    return np.asarray(x / np.linalg.norm(x))


def _entries(A: Array) -> tuple[Any, Any, Any]:
    """Rows, columns and exact values of the entries of a matrix."""
    rows, columns = np.nonzero(A)
    return rows, columns, np.array([mpmath.mpf(v) for v in A[rows, columns].tolist()], dtype=object)


def _product(entries: tuple[Any, Any, Any], y: Any) -> Any:
    """A y with 50 digits, from the entries of A."""
    rows, columns, values = entries
    total = np.array([mpmath.mpc(0)] * len(y), dtype=object)
    np.add.at(total, rows, values * y[columns])
    return total
