"""The fundamental matrix of x' = A(t) x by a Magnus integrator of order 6.

Over a step, Φ = exp(Ω) with Ω from A at the three Gauss points (Blanes, Casas, Oteo & Ros,
Physics Reports 470, 2009, eq. 253–257). It is exact for constant A, stiff or not. It conserves the
group of A: the monodromy of an undamped mechanical system is symplectic to round-off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.linalg as la

from assembly.errors import ConvergenceError, InputError
from modal.eigen.tolerances import EPS, HALF, ROUND_OFF, ZERO
from modal.periodic.collocation import GAUSS
from modal.periodic.tolerances import (
    FEWEST,
    GAIN,
    GROWTH,
    MOST_MATRICES,
    MOST_STEPS,
    REFINEMENTS,
    WORK,
)
from modal.reduction.interpolation import Sampled
from modal.transient.tolerances import BATCH_NUMBERS
from modal.types import Array

SPREAD = np.log(1e2)  # logarithm of the growth or decay over one factor


@dataclass(frozen=True)
class Factors:
    """Φ(t1, t0) = F_p ⋯ F_1: every factor is well conditioned.

    matrices (p, n, n), the first to act first. errors (p,): estimates of their relative errors,
    2-norm. lengths (p,): of their spans, s.
    """

    matrices: Array
    errors: Array
    lengths: Array


def propagator_factors(
    A: Sampled, t0: float, t1: float, tolerance: float = ZERO, breaks: Sequence[float] = ()
) -> Factors:
    """Φ(t1, t0) as a product over spans in which no solution grows or decays by more than about
    SPREAD.

    Over each span the number of steps grows until results agree to `tolerance` (relative,
    2-norm). breaks: times between t0 and t1 where A jumps; the steps end there. The number of
    spans is limited; solutions that decay faster than that allows are below the round-off of the
    factors. Raises ConvergenceError at the largest number of steps (a jump not in `breaks`),
    InputError for a break outside the span.
    """
    inner = sorted(float(b) for b in breaks)
    if any(not t0 < b < t1 for b in inner):
        raise InputError(f"breaks: each must lie between {t0:.6g} and {t1:.6g}, got {inner}")
    ends = [t0, *inner, t1]
    n = A(np.array([t0])).shape[-1]
    most = int(np.clip(WORK / n**3, FEWEST, MOST_MATRICES))
    spans = [span for piece in pairwise(ends) for span in _spans(A, *piece, most)]
    matrices: list[Array] = []
    errors, lengths = [], []
    sharp = max(tolerance / len(spans), min(tolerance, ROUND_OFF))  # the errors of all add up
    spans.reverse()
    while spans:
        start, end = spans.pop()
        matrix, error = _converged(A, n, start, end, sharp)
        if _spread(matrix) > 1.2 * SPREAD and len(matrices) + len(spans) + 2 <= most:
            middle = 0.5 * (start + end)
            spans += [(middle, end), (start, middle)]
            continue
        matrices.append(matrix)
        errors.append(error)
        lengths.append(end - start)
    return Factors(np.array(matrices), np.array(errors), np.array(lengths))


def _spans(A: Sampled, t0: float, t1: float, most: int) -> list[tuple[float, float]]:
    """Cuts [t0, t1] where the integral of max |Re λ(A)| passes multiples of SPREAD, into `most`
    spans at most."""
    at = np.linspace(t0, t1, FEWEST + 1)
    middles = 0.5 * (at[1:] + at[:-1])
    rates = np.abs(np.linalg.eigvals(A(middles)).real).max(axis=1)
    total = np.concatenate([[0.0], np.cumsum(rates * np.diff(at))])
    count = int(np.clip(np.ceil(total[-1] / SPREAD), 1, most))
    if count == 1:
        return [(t0, t1)]
    cuts = np.interp(np.linspace(0.0, total[-1], count + 1), total, at)
    cuts[0], cuts[-1] = t0, t1
    return [(float(a), float(b)) for a, b in pairwise(cuts)]


def _spread(matrix: Array) -> float:
    """Largest |log |μ|| of a factor."""
    with np.errstate(divide="ignore"):
        return float(np.abs(np.log(np.abs(la.eigvals(matrix)))).max())


def step_factors(A: Sampled, starts: Array, h: float) -> Array:
    """Φ(start + h, start) of short steps from each of `starts` (m,), (m, n, n)."""
    omega = exponents(A, starts, h)
    if omega is None:
        raise ConvergenceError("Floquet: the steps are too long for the Magnus series")
    return np.asarray(la.expm(omega))


def _converged(
    A: Sampled, n: int, t0: float, t1: float, tolerance: float, steps: int = 8
) -> tuple[Array, float]:
    """Φ(t1, t0) (n, n) and its estimated relative error.

    steps: their number at first; steps that are not needed add round-off.
    """
    before, error = _product(A, n, t0, t1, steps), np.inf
    gaps: list[float] = []
    while steps < MOST_STEPS:
        ratio = np.ceil(GROWTH * steps) / steps
        steps = round(ratio * steps)
        now = _product(A, n, t0, t1, steps)
        gaps.append(_gap(before, now))
        # Two estimates in a row must fit the order: one alone can agree by chance.
        coarser, error = error, gaps[-1] / (ratio**GAUSS.order - 1.0)
        if max(error, coarser / ratio**GAUSS.order) <= tolerance:
            return now, max(error, EPS * steps)
        recent = gaps[-REFINEMENTS:]
        if len(recent) == REFINEMENTS and recent[-1] >= GAIN * recent[0] and max(recent) < HALF:
            return now, max(recent)  # more steps only add round-off
        before = now
    raise ConvergenceError(
        f"Floquet: {steps} steps from t = {t0:.6g} to {t1:.6g} agree to {gaps[-1]:.1e}, not to "
        f"{tolerance:.1e}; if A(t) jumps, give the times of the jumps as `breaks`",
        partial=now,
    )


def _product(A: Sampled, n: int, t0: float, t1: float, steps: int) -> Array:
    """Φ(t1, t0) (n, n)."""
    h = (t1 - t0) / steps
    batch = max(1, BATCH_NUMBERS // (n * n))
    total = np.eye(n)
    for first in range(0, steps, batch):
        starts = t0 + h * np.arange(first, min(first + batch, steps))
        omega = exponents(A, starts, h)
        if omega is None:
            return np.full((n, n), np.nan)
        # Steps that are too long overflow; `_gap` takes them as such.
        with np.errstate(over="ignore", invalid="ignore"):
            for factor in la.expm(omega):
                total = factor @ total
    return total


def _gap(before: Array, now: Array) -> float:
    """‖now − before‖/‖now‖, infinite while the steps are too long to mean anything."""
    if not (np.all(np.isfinite(before)) and np.all(np.isfinite(now))):
        return np.inf
    return float(la.norm(now - before, 2) / la.norm(now, 2))


def exponents(A: Sampled, starts: Array, h: float) -> Array | None:
    """Ω (m, n, n) of the steps from each of `starts` (m,) to start + h.

    None where the steps are so long that the commutators outgrow h A: the series does not converge.
    """
    first, second, third = (A(starts + h * c) for c in GAUSS.c)
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
