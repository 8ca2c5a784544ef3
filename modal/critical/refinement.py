"""One critical speed refined: Newton on Im λ(Ω) = Ω, with a bound on its error.

λ(Ω) comes from two-sided Rayleigh iteration on Q(λ) = λ²M + λC + K and its slope from the left
vector, λ′ = −yᴴ(λ²M′ + λC′ + K′)x / yᴴ(2λM + C)x (P. Lancaster, Numer. Math. 6, 1964).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from assembly.bodies.nonlinear import ITERATIONS
from assembly.errors import ConvergenceError
from assembly.magnitudes import DIFFERENCE
from assembly.system.frozen import FrozenSystem
from modal.eigen.tolerances import EPS, GROUP, ZERO
from modal.types import Complex

Freeze = Callable[[float], FrozenSystem]


@dataclass(frozen=True)
class Critical:
    """A critical speed (rad/s), a bound on its error, λ, x with unit 2-norm, and d(Im λ)/dΩ."""

    speed: float
    error: float
    eigenvalue: complex
    shape: Complex
    slope: float


# An eigenvalue with its right and left vectors.
_Pair = tuple[complex, Complex, Complex]


def refined(
    freeze: Freeze, speed: float, eigenvalue: complex, inside: float, seed: int
) -> Critical:
    """The critical speed next to `speed`, of the mode with about this eigenvalue there.

    inside: a speed at which `freeze` has values on both sides. Raises ConvergenceError where there
    is no critical speed.
    """
    rng, n = np.random.default_rng(seed), freeze(speed).n
    x, y = (rng.standard_normal(n) + 1j * rng.standard_normal(n) for _ in range(2))
    last = np.inf
    for _ in range(ITERATIONS):
        system = freeze(speed)
        (eigenvalue, x, y), error = _converged(system, (eigenvalue, x, y))
        slope = _slope(freeze, system, speed, inside, (eigenvalue, x, y))
        step = (eigenvalue.imag - speed) / (1.0 - slope.imag)
        if abs(step) <= ZERO * speed or (abs(step) <= GROUP * speed and abs(step) >= last):
            error = error / abs(1.0 - slope.imag)
            return Critical(speed + step, error, eigenvalue + slope * step, x, slope.imag)
        if not np.isfinite(step) or abs(step) > 0.5 * speed:
            break
        last = abs(step)
        speed += step
        eigenvalue += slope * step
    raise ConvergenceError(f"no critical speed found next to {speed:.6g} rad/s")


def _polynomial(system: FrozenSystem, lam: complex) -> tuple[sp.csc_matrix, sp.csc_matrix]:
    """Q(λ) and dQ/dλ."""
    M, C, K = system.M, system.damping, system.stiffness
    return sp.csc_matrix(lam**2 * M + lam * C + K), sp.csc_matrix(2.0 * lam * M + C)


def _converged(system: FrozenSystem, pair: _Pair) -> tuple[_Pair, float]:
    """The eigenpair by two-sided Rayleigh iteration, and a bound on the error of λ.

    Residuals are summed in extended precision: the stiffness of fine meshes cancels in double
    precision. The bound is the last change of λ and the round-off of the residual, entry by entry.
    """
    lam, x, y = pair
    best = np.inf
    for _ in range(ITERATIONS):
        Q, dQ = _polynomial(system, lam)
        factor = spla.splu(_regular(Q))
        x, y = factor.solve(dQ @ x), factor.solve(dQ.conj().T @ y, trans="H")
        x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
        step, round_off = _extended_step(system, lam, x, y)
        lam = lam - step
        stalled = abs(step) <= GROUP * abs(lam) and abs(step) >= best
        if stalled or abs(step) <= 4.0 * EPS * abs(lam):
            break
        best = abs(step)
    return (complex(lam), x, y), abs(step) + round_off


def _regular(Q: sp.csc_matrix) -> sp.csc_matrix:
    """Q off its singular point by round-off, so that it has a factorization."""
    return sp.csc_matrix(Q + (EPS * abs(Q).max()) * sp.identity(Q.shape[0], format="csc"))


def _slope(
    freeze: Freeze, system: FrozenSystem, speed: float, inside: float, pair: _Pair
) -> complex:
    """dλ/dΩ, by a difference towards a speed inside the range."""
    lam, x, y = pair
    step = np.copysign(DIFFERENCE * speed, inside - speed)
    change = _polynomial(freeze(speed + step), lam)[0] - _polynomial(system, lam)[0]
    pairing = y.conj() @ (_polynomial(system, lam)[1] @ x)
    return complex(-(y.conj() @ (change @ x)) / step / pairing)


def _extended_step(
    system: FrozenSystem, lam: complex, x: Complex, y: Complex
) -> tuple[complex, float]:
    """yᴴQ(λ)x / yᴴQ′(λ)x by sums in extended precision, and their round-off."""
    wide = np.clongdouble
    total, derivative, size = wide(0.0), wide(0.0), 0.0
    value, at, left = wide(lam), x.astype(wide), y.conj().astype(wide)
    for A, power in ((system.M, 2), (system.damping, 1), (system.stiffness, 0)):
        entries = A.tocoo()
        terms = left[entries.row] * entries.data.astype(np.longdouble) * at[entries.col]
        total += value**power * terms.sum()
        size += float(np.abs(lam) ** power * np.abs(terms).sum())
        if power:
            derivative += power * value ** (power - 1) * terms.sum()
    round_off = 8.0 * float(np.finfo(np.longdouble).eps) * size / abs(derivative)
    return complex(total / derivative), float(round_off + 2.0 * EPS * abs(lam))
