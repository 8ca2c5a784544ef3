"""The fundamental matrix of x' = A(t) x by a Magnus integrator of order 6.

Over a step, Φ = exp(Ω) with Ω from A at the three Gauss points (Blanes, Casas, Oteo & Ros,
Physics Reports 470, 2009, eq. 253–257). It is exact for constant A, stiff or not. It conserves the
group of A: the monodromy of an undamped mechanical system is symplectic to round-off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.errors import ConvergenceError, InputError
from modal.eigen.tolerances import EPS, HALF, ROUND_OFF, ZERO
from modal.periodic.collocation import GAUSS, SHARP, sharp_maps
from modal.periodic.product_eigen import product_of
from modal.periodic.tolerances import (
    ACCURACY,
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
    2-norm. times (p + 1,): t0 and the ends of their spans, s.
    """

    matrices: Array
    errors: Array
    times: Array


def propagator_factors(
    A: Sampled, t0: float, t1: float, tolerance: float = ZERO, breaks: Sequence[float] = (),
    scaled: bool = False, margin: float = 0.01,
) -> Factors:  # fmt: skip
    """Φ(t1, t0) as a product over spans in which no solution grows or decays by more than about
    SPREAD.

    Over each span the number of steps grows until results agree to `tolerance` (relative,
    2-norm). breaks: times between t0 and t1 where A jumps; the steps end there. scaled: A is that
    of a second-order system in scaled coordinates, slow enough for steps of collocation, which cost
    a fraction. margin: share of the tolerance to which steps go on: of such an order, two digits
    cost few more. The number of spans is limited; solutions that decay faster than that allows are
    below the round-off of the factors. Raises ConvergenceError at the largest number of steps (a
    jump not in `breaks`), InputError for a break outside the span.
    """
    inner = sorted(float(b) for b in breaks)
    if any(not t0 < b < t1 for b in inner):
        raise InputError(f"breaks: each must lie between {t0:.6g} and {t1:.6g}, got {inner}")
    ends = [t0, *inner, t1]
    n = A(np.array([t0])).shape[-1]
    most = int(np.clip(WORK / n**3, FEWEST, MOST_MATRICES))
    spans = _spans(A, ends, most)
    tolerance = max(margin * tolerance, min(tolerance, ACCURACY))
    sharp = max(tolerance / len(spans), min(tolerance, ROUND_OFF))  # the errors of all add up
    first = int(np.clip(FEWEST // len(spans), 1, 8))
    found: list[tuple[float, Array, float]] = []
    while spans:
        room, halves = most - len(found) - len(spans), []
        matrices, errors = _converged(A, np.array(spans), sharp, first, scaled)
        with np.errstate(divide="ignore"):
            logs = np.abs(np.log(np.abs(np.linalg.eigvals(matrices)))).max(axis=1)
        for (start, end), matrix, error, spread in zip(
            spans, matrices, errors.tolist(), logs.tolist(), strict=True
        ):
            if room > 0 and spread > 1.2 * SPREAD:
                middle, room = 0.5 * (start + end), room - 1
                halves += [(start, middle), (middle, end)]
            else:
                found.append((end, matrix, error))
        spans = halves
    last, parts, sizes = zip(*sorted(found, key=lambda one: one[0]), strict=True)
    return Factors(np.array(parts), np.array(sizes), np.array([t0, *last]))


def _spans(A: Sampled, ends: list[float], most: int) -> list[tuple[float, float]]:
    """Cuts the pieces between `ends` where the integral of max |Re λ(A)| passes equal parts of it
    of SPREAD or less, each into `most` spans at most."""
    at = np.union1d(np.linspace(ends[0], ends[-1], FEWEST + 1), ends)
    middles = 0.5 * (at[1:] + at[:-1])
    rates = np.abs(np.linalg.eigvals(A(middles)).real).max(axis=1)
    total, spans = np.concatenate([[0.0], np.cumsum(rates * np.diff(at))]), []
    for a, b in pairwise(ends):
        low, high = np.interp([a, b], at, total)
        count = int(np.clip(np.ceil((high - low) / SPREAD), 1, most))
        inner = np.interp(np.linspace(low, high, count + 1)[1:-1], total, at)
        spans += list(pairwise([a, *inner.tolist(), b]))
    return spans


def _converged(
    A: Sampled, spans: Array, tolerance: float, steps: int, scaled: bool, rows: int = 5
) -> tuple[Array, Array]:
    """Φ (S, n, n) over each of some spans (S, 2) and their estimated relative errors (S,).

    The error of a symmetric method is a series of even powers of the step. Of the last `rows`
    numbers of steps these are extrapolated to nothing; the estimate is that of one number less.
    steps: their number at first; steps that are not needed add round-off.
    """
    order = (SHARP if scaled else GAUSS).order
    left, shape, counts = np.arange(len(spans)), A(spans[0, :1]).shape[1:], list[int]()
    found, errors = np.empty((len(spans), *shape)), np.empty(len(spans))
    # Products of the last numbers of steps, how many of them count, and the last gaps.
    table, usable = np.empty((0, len(spans), *shape)), np.zeros(len(spans), dtype=np.intp)
    gaps = np.full((REFINEMENTS, len(spans)), np.inf)
    while len(left) and steps < MOST_STEPS:
        counts = [*counts, steps][-rows:]
        product = np.stack(list(_products(A, spans[left], steps, scaled)))
        found, table = found.astype(product.dtype), np.concatenate([table, product[None]])[-rows:]
        # Steps that are too long to mean anything do not count.
        known = np.isfinite(product).all(axis=(1, 2))
        usable = np.where(known, np.minimum(usable + 1, rows), 0)
        now, gap = product.copy(), np.full(len(left), np.inf)
        before = gap.copy()  # of one number less
        for number in np.unique(usable[usable > 1]):
            some = usable == number
            best, *less = (
                _extrapolated(counts, table[-rest:, some], order)
                for rest in range(number, max(0, number - 3), -1)
            )
            now[some], size = best, _norms(best, 2)
            gap[some] = _norms(best - less[0], 2) / size
            if number > 2:
                before[some] = _norms(less[0] - less[1], 2) / size
        gaps = np.concatenate([gaps[1:], gap[None]])
        # Two estimates, of numbers in a row or of these steps alone, must fit the order: one alone
        # can agree by chance.
        orders = order + 2.0 * np.maximum(usable - 3, 0)  # of the estimate before
        fits = np.minimum(gaps[-2] / GROWTH**orders, before / GROWTH**order)
        reached = np.maximum(gap, fits) <= tolerance
        # More steps only add round-off.
        stalled = (gap >= GAIN * gaps[0]) & (gaps.max(axis=0) < HALF)
        done = reached | stalled
        found[left[done]] = now[done]
        errors[left[done]] = np.where(reached, np.maximum(gap, EPS * steps), gaps.max(axis=0))[done]
        left, table, usable, gaps = left[~done], table[:, ~done], usable[~done], gaps[:, ~done]
        steps = int(np.ceil(GROWTH * steps))
    if len(left):
        start, end = spans[left[0]]
        raise ConvergenceError(
            f"Floquet: {counts[-1]} steps from t = {start:.6g} to {end:.6g} agree to "
            f"{gaps[-1, 0]:.1e}, not to {tolerance:.1e}; if A(t) jumps, give the times of the "
            "jumps as `breaks`",
            partial=now[~done][0],
        )
    return found, errors


def _extrapolated(counts: list[int], products: Array, order: int) -> Array:
    """From products (rows, ...) of the last of so many steps, the most last."""
    h = counts[-1] / np.array(counts[-len(products) :])
    powers = np.append(0, order + 2 * np.arange(len(h) - 1))
    weights = np.linalg.solve(h ** powers[:, None], np.eye(len(h))[0])
    return np.asarray(np.tensordot(weights, products, 1))


def _products(A: Sampled, spans: Array, steps: int, scaled: bool = False) -> Iterator[Array]:
    """Φ (n, n) over each of some spans (S, 2); not finite where the steps are too long."""
    n = A(spans[0, :1]).shape[-1]
    maps_of, numbers = (sharp_maps, len(SHARP.c) * n) if scaled else (_magnus_maps, n)
    batch = max(1, BATCH_NUMBERS // (n * numbers))
    together, inside = max(1, batch // steps), min(batch, steps)
    for some in (spans[i : i + together] for i in range(0, len(spans), together)):
        lengths = np.diff(some) / steps
        total = np.repeat(np.eye(n)[None], len(some), axis=0)
        for first in range(0, steps, inside):
            number = np.arange(first, min(first + inside, steps))
            starts = some[:, :1] + lengths * number
            with np.errstate(over="ignore", invalid="ignore"):
                maps = maps_of(A, starts.ravel(), np.repeat(lengths, len(number)))
                total = product_of(maps.reshape(*starts.shape, n, n).swapaxes(0, 1)) @ total
        yield from total


def _magnus_maps(A: Sampled, starts: Array, h: Array) -> Array:
    """Φ (m, n, n) of steps of lengths h (m,); NaN where they are too long."""
    omega = exponents(A, starts, h[:, None, None])
    bad = ~np.isfinite(omega).all(axis=(1, 2))
    omega[bad] = 0.0
    maps = exponential(omega)
    maps[bad] = np.nan
    return np.asarray(maps)


def exponents(A: Sampled, starts: Array, h: float | Array) -> Array:
    """Ω (m, n, n) of the steps from each of `starts` (m,) to start + h; h of all, or (m, 1, 1).

    NaN where a step is so long that the commutators outgrow h A: the series does not converge.
    """
    values = A((starts + np.ravel(h) * GAUSS.c[:, None]).ravel())
    first, second, third = values.reshape(3, len(starts), *values.shape[1:])
    a1 = h * second
    a2 = (np.sqrt(15.0) * h / 3.0) * (third - first)
    a3 = (10.0 * h / 3.0) * (third - 2.0 * second + first)
    c1 = _commutator(a1, a2)
    c2 = -_commutator(a1, 2.0 * a3 + c1) / 60.0
    correction = a3 / 12.0 + _commutator(-20.0 * a1 - a3 + c1, a2 + c2) / 240.0
    correction[_norms(correction) > 1.0 + _norms(a1)] = np.nan
    return np.asarray(a1 + correction)


def exponential(A: NDArray[Any]) -> Any:
    """e^A of a stack (m, n, n), by Padé's approximant of order 7, scaled and squared alike (Higham,
    SIAM J. Matrix Anal. Appl. 26, 2005). SciPy's goes matrix by matrix, in nine times the time.
    """
    largest = float(np.abs(A).sum(axis=1).max())
    squarings = max(0, int(np.ceil(np.log2(max(largest, 1.0)))))
    A = A / 2.0**squarings
    second = A @ A
    fourth, one = second @ second, np.eye(A.shape[-1])
    sixth = second @ fourth
    odd = A @ (sixth + 1512.0 * fourth + 277200.0 * second + 8648640.0 * one)
    even = 56.0 * sixth + 25200.0 * fourth + 1995840.0 * second + 17297280.0 * one
    found = one + np.linalg.solve(even - odd, 2.0 * odd)
    for _ in range(squarings):
        found = found @ found
    return found


def _norms(matrices: Array, order: int | None = None) -> Array:
    return np.asarray(np.linalg.norm(matrices, order, axis=(1, 2)))


def _commutator(A: Array, B: Array) -> Array:
    return np.asarray(A @ B - B @ A)
