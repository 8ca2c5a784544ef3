"""The fundamental matrix of x' = A(t) x by a Magnus integrator of order 6.

Over a step, Φ = exp(Ω) with Ω from A at the three Gauss points (Blanes, Casas, Oteo & Ros,
Physics Reports 470, 2009, eq. 253–257). Exact for constant A however stiff, and it keeps the
group A belongs to: the monodromy of an undamped mechanical system comes out symplectic to
round-off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from assembly.errors import ConvergenceError, InputError

Array = NDArray[np.float64]

ORDER = 6
FIRST_STEPS = 8
GROWTH = 1.5  # of the number of steps; not 2, so that no two grids share the place of a jump
MOST_STEPS = 1 << 16
BATCH_NUMBERS = 1 << 21  # entries of the exponentials made at a time
STALLED = 4  # refinements without gain …
FLOOR = 1e-7  # … of a gap this small are round-off; a jump in A would still be seen at this size


@dataclass(frozen=True)
class Propagator:
    """Φ(t1, t0) and its inverse Φ(t0, t1), each (n, n) and made of products of its own.

    Small eigenvalues of Φ drown in the round-off of the large ones; the inverse still has them.
    error: estimate of the relative error, 2-norm. steps: how many it took.
    """

    matrix: Array
    inverse: Array
    error: float
    steps: int


def propagator(
    A: Callable[[float], Array],
    t0: float,
    t1: float,
    tolerance: float = 1e-12,
    breaks: Sequence[float] = (),
) -> Propagator:
    """Φ(t1, t0), by growing the number of steps until results agree to `tolerance` (relative,
    2-norm).

    breaks: times between t0 and t1 where A jumps; the steps end there. Raises ConvergenceError
    when the steps run out (an unannounced jump does that), InputError for a break outside the
    span.
    """
    inner = sorted(float(b) for b in breaks)
    if any(not t0 < b < t1 for b in inner):
        raise InputError(f"breaks: each must lie between {t0:.6g} and {t1:.6g}, got {inner}")
    ends = [t0, *inner, t1]
    n = A(t0).shape[0]
    result, inverse, error, steps = np.eye(n), np.eye(n), 0.0, 0
    # Balancing changes the numbers of badly scaled mechanical systems, not the result.
    middle = np.asarray(A(0.5 * (ends[0] + ends[1])), dtype=float)
    _, (scale, _) = la.matrix_balance(middle, permute=False, separate=True)

    def balanced(t: float) -> Array:
        return np.asarray(A(t) * (scale[None, :] / scale[:, None]))

    for start, end in pairwise(ends):
        matrix, gap, count = _converged(balanced, start, end, tolerance)
        result = matrix @ result
        inverse = inverse @ _product(balanced, start, end, count, backwards=True)
        error += gap
        steps += count
    back = scale[:, None] / scale[None, :]
    return Propagator(result * back, inverse * back, error, steps)


def _converged(
    A: Callable[[float], Array], t0: float, t1: float, tolerance: float
) -> tuple[Array, float, int]:
    """Φ(t1, t0), its estimated relative error, and the number of steps."""
    steps, before, error = FIRST_STEPS, _product(A, t0, t1, FIRST_STEPS), np.inf
    gaps: list[float] = []
    while steps < MOST_STEPS:
        ratio = np.ceil(GROWTH * steps) / steps
        steps = round(ratio * steps)
        now = _product(A, t0, t1, steps)
        gaps.append(_gap(before, now))
        # Two estimates in a row must fit the order: one alone can agree by chance.
        coarser, error = error, gaps[-1] / (ratio**ORDER - 1.0)
        if max(error, coarser / ratio**ORDER) <= tolerance:
            return now, max(error, float(np.finfo(float).eps)), steps
        recent = gaps[-STALLED:]
        if len(recent) == STALLED and recent[-1] >= 0.5 * recent[0] and max(recent) < FLOOR:
            return now, max(recent), steps  # more steps only add round-off
        before = now
    raise ConvergenceError(
        f"Floquet: {steps} steps from t = {t0:.6g} to {t1:.6g} agree to {gaps[-1]:.1e}, not to "
        f"{tolerance:.1e}; if A(t) jumps, give the times of the jumps as `breaks`",
        partial=now,
    )


def _product(
    A: Callable[[float], Array], t0: float, t1: float, steps: int, backwards: bool = False
) -> Array:
    """Φ(t1, t0), or Φ(t0, t1) when backwards."""
    h = (t1 - t0) / steps
    n = A(t0).shape[0]
    batch = max(1, BATCH_NUMBERS // (n * n))
    total = np.eye(n)
    for first in range(0, steps, batch):
        starts = t0 + h * np.arange(first, min(first + batch, steps))
        omega = exponents(A, starts, h)
        if omega is None:
            return np.full((n, n), np.nan)
        for factor in la.expm(-omega if backwards else omega):
            total = total @ factor if backwards else factor @ total
    return total


def _gap(before: Array, now: Array) -> float:
    """‖now − before‖/‖now‖, infinite while the steps are too long to mean anything."""
    if not (np.all(np.isfinite(before)) and np.all(np.isfinite(now))):
        return np.inf
    return float(la.norm(now - before, 2) / la.norm(now, 2))


def exponents(A: Callable[[float], Array], starts: Array, h: float) -> Array | None:
    """Ω (m, n, n) of the steps from each of `starts` (m,) to start + h.

    None where the steps are so long that the commutators outgrow h A: the series does not converge.
    """
    offset = np.sqrt(0.15)  # the Gauss points of three stages are ½ and ½ ± √15/10
    first, second, third = (
        np.stack([A(float(t + h * c)) for t in starts]) for c in (0.5 - offset, 0.5, 0.5 + offset)
    )
    a1 = h * second
    a2 = (np.sqrt(15.0) * h / 3.0) * (third - first)
    a3 = (10.0 * h / 3.0) * (third - 2.0 * second + first)
    c1 = _commutator(a1, a2)
    c2 = -_commutator(a1, 2.0 * a3 + c1) / 60.0
    correction = a3 / 12.0 + _commutator(-20.0 * a1 - a3 + c1, a2 + c2) / 240.0
    if np.any(_sizes(correction) > 1.0 + _sizes(a1)):
        return None
    return np.asarray(a1 + correction)


def _sizes(A: Array) -> Array:
    return np.asarray(np.linalg.norm(A, axis=(-2, -1)))


def _commutator(A: Array, B: Array) -> Array:
    return np.asarray(A @ B - B @ A)
