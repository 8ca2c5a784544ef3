"""Matrices of a motion sampled once and read off a polynomial afterwards.

For smooth matrices the coefficients fall exponentially, so a few dozen instants give A(t)
everywhere to round-off, and an instant costs no assembly any more: trigonometric polynomials over
a period, Chebyshev polynomials over any other span. That the polynomial holds between its instants
is looked at, and comes with it: whoever uses one says so.

Along a speed or a damping the matrices of a motion are polynomials of low degree; along a length or
a ratio their Chebyshev coefficients fall geometrically. The degree of a tensor product of Chebyshev
polynomials of several parameters grows along each until values between the nodes agree; a value at
a place off all axes is the last check.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray
from scipy.fft import dct

from modal.eigen.tolerances import EPS, WEAK, ZERO
from modal.reduction.tolerances import FEWEST_SAMPLES, MOST_SAMPLES
from modal.types import Array

TAIL = 0.25  # of the coefficients, the highest, which must be negligible
NOISE = 1e-10  # of an entry's size: largest error, there and where coefficients stop falling
GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)
CHECKS = 7  # places of the span, on no grid of samples, where polynomial and A are compared


@dataclass(frozen=True)
class Interpolant:
    """Arrays A(t) from a polynomial through their values: call it with t, s, or use `many`.

    Attributes
    ----------
    basis : callable
        Values (m, c) of the polynomials at times (m,).
    table : ndarray, shape (c, ...)
        Coefficients.
    instants : int
        Number of instants the polynomial goes through.
    deviation : float
        Largest difference from A found between the instants, relative to the size of the entries
        over the span.
    differentiated : callable
        The coefficients of dA/dt from those of A.
    errors : ndarray, shape (...), optional
        Largest difference from A found between the instants, of every entry.
    """

    basis: Callable[[Array], Array]
    table: Array
    instants: int
    deviation: float
    differentiated: Callable[[Array], Array]
    errors: Array | None = None

    def __call__(self, t: float) -> Array:
        return np.asarray(self.many(np.array([t]))[0])

    def many(self, times: Array) -> Array:
        """A at `times` (m,): (m, ...)."""
        values = self.basis(times) @ self.table.reshape(len(self.table), -1)
        return np.asarray(values.reshape(len(times), *self.table.shape[1:]))

    @cached_property
    def derivative(self) -> Interpolant:
        """The interpolant of dA/dt."""
        return replace(self, table=self.differentiated(self.table), errors=None)

    def mapped(self, left: Array, right: Array) -> Interpolant:
        """The interpolant of left A(t) right."""
        return replace(self, table=left @ self.table @ right, errors=None)

    def __str__(self) -> str:
        return (
            f"matrices read off a polynomial through {self.instants} instants, "
            f"within {self.deviation:.0e} of their size between them"
        )


class SeparatedArrays:
    """Rows of arrays A(t) (groups, N), each group a sum of as few fixed rows as its coefficients
    have directions within the polynomial's deviation: the matrices of a mechanism have a fraction
    of its terms."""

    def __init__(self, interpolant: Interpolant) -> None:
        tables, deviation = interpolant.table.swapaxes(0, 1), interpolant.deviation
        factors = [_separated(table, deviation) for table in tables]
        self._rows = [rows for _, rows in factors]
        self._ends = np.cumsum([len(rows) for rows in self._rows])[:-1]
        self._weights = replace(interpolant, table=np.hstack([weights for weights, _ in factors]))

    def many(self, times: Array) -> list[Array]:
        """Each group at `times` (m,): (m, N)."""
        weights = np.split(self._weights.many(times), self._ends, axis=1)
        parts = zip(weights, self._rows, strict=True)
        return [share @ rows for share, rows in parts]


def _separated(table: Array, deviation: float) -> tuple[Array, Array]:
    """Factors (c, r) and (r, N) of coefficients (c, N), within `deviation` of every entry's
    size."""
    sizes = np.abs(table).max(axis=0)
    scale = np.where(sizes > 0.0, sizes, 1.0)
    left, strengths, right = la.svd(table / scale, full_matrices=False)
    rank = int(np.sum(strengths > max(deviation, EPS * strengths[0])))
    return left[:, :rank] * strengths[:rank], right[:rank] * scale


Sampled = Callable[[Array], Array]  # A at times (m,): (m, ...)
Sizes = Callable[[Array], Array]  # of samples (m, ...): what errors of each entry are relative to


def one_by_one(A: Callable[[float], Array]) -> Sampled:
    """A function of one time as one of several."""
    return lambda times: np.stack([A(float(t)) for t in times])


def entry_sizes(values: Array) -> Array:
    """Largest size of every entry of matrices (m, n, n) over the samples, down to the round-off of
    its row: entries of less than WEAK of the largest are differences of larger terms."""
    scale = np.abs(values).max(axis=0)
    scale = np.maximum(scale, WEAK * scale.max(axis=-1, keepdims=True))
    return np.asarray(np.where(scale > 0.0, scale, 1.0))


def interpolant(
    A: Sampled, t0: float, t1: float, period: float | None, sizes: Sizes = entry_sizes,
    most: int = MOST_SAMPLES,
) -> Interpolant | None:  # fmt: skip
    """By trigonometric polynomials over more than half a period, else by Chebyshev's; None where
    `most` samples do not suffice."""
    if period is not None and t1 - t0 > 0.5 * period:
        return periodic_interpolant(A, t0, period, sizes, most)
    return chebyshev_interpolant(A, t0, t1, sizes, most)


def periodic_interpolant(
    A: Sampled, t0: float, period: float, sizes: Sizes = entry_sizes, most: int = MOST_SAMPLES
) -> Interpolant | None:
    """A(t) of a smooth periodic A, to about 1e-13 of its size in every entry; None when A is not
    smooth."""

    def nodes(count: int) -> Array:
        return np.asarray(t0 + period * np.arange(count) / count)

    made = partial(_fourier, t0=t0, period=period)
    return _refined(A, (t0, t0 + period), nodes, _waves, made, sizes, most)


def _waves(values: Array) -> NDArray[np.complex128]:
    """The Fourier coefficients that samples (m, ...) over a period determine, lowest first."""
    return np.asarray(np.fft.rfft(values, axis=0)[: (len(values) + 1) // 2] / len(values))


def _refined(
    A: Sampled,
    span: tuple[float, float],
    nodes: Callable[[int], Array],
    transform: Callable[[Array], NDArray[Any]],
    made: Callable[[NDArray[Any], int], Interpolant],
    sizes: Sizes,
    most: int,
) -> Interpolant | None:
    """The interpolant from the coefficients that count; None where these are too many.

    nodes: times; every second one of twice as many are those of as many. Samples are doubled until
    the highest quarter of the coefficients is negligible, or is the round-off of A itself.
    """
    count, values = FEWEST_SAMPLES, A(nodes(FEWEST_SAMPLES))
    while True:
        coefficients, scale = transform(values), sizes(values)
        size = _largest(coefficients, scale)
        if _resolved(size):
            return _checked(made(coefficients[: _retained(size)], len(values)), A, span, scale)
        if 2 * count > most:
            return None
        count *= 2
        times = nodes(count)
        finer = np.empty((len(times), *values.shape[1:]))
        finer[::2], finer[1::2] = values, A(times[1::2])
        values = finer


def fourier_interpolant(values: Array, t0: float, period: float, weak: float = 0.0) -> Interpolant:
    """The trigonometric polynomial through values (m, ...) at m equal parts of the period.

    weak: the highest coefficients below this share of the largest are left out.
    """
    coefficients = _waves(values)
    size = _largest(coefficients, np.ones(1))
    last = int(np.flatnonzero(size >= weak * size.max()).max())
    return _fourier(coefficients[: last + 1], len(values), t0, period)


def _fourier(
    coefficients: NDArray[np.complex128], samples: int, t0: float, period: float
) -> Interpolant:
    """The polynomial through so many samples from its lowest coefficients (c, ...)."""
    count = len(coefficients)
    weights = np.where(np.arange(count) == 0, 1.0, 2.0)
    terms = coefficients * weights.reshape(-1, *(1,) * (coefficients.ndim - 1))
    turn = 2.0 * np.pi * np.arange(count) / period

    def waves(times: Array) -> Array:
        # Products of a few low and high ones: a sine costs as much as ten of them.
        part = int(np.ceil(np.sqrt(count)))
        turns = np.exp(1j * np.outer(times - t0, 2.0 * np.pi / period * np.arange(part)))
        high = np.exp(1j * np.outer(times - t0, 2.0 * np.pi / period * part * np.arange(part)))
        all_of = (high[:, :, None] * turns[:, None]).reshape(len(times), -1)[:, :count]
        return np.concatenate([all_of.real, -all_of.imag], axis=1)

    def differentiated(table: Array) -> Array:
        cosines, sines = np.split(table, 2)
        rate = turn.reshape(-1, *(1,) * (table.ndim - 1))
        return np.concatenate([-rate * sines, rate * cosines])

    # Coefficients come out of the transform one entry after the other.
    table = np.ascontiguousarray(np.concatenate([terms.real, terms.imag]))
    return Interpolant(waves, table, samples, 0.0, differentiated)


def chebyshev_interpolant(
    A: Sampled, t0: float, t1: float, sizes: Sizes = entry_sizes, most: int = MOST_SAMPLES
) -> Interpolant | None:
    """A(t) on [t0, t1] of a smooth A, to 1e-12 of the size of every entry; None if not
    smooth."""
    middle, half = 0.5 * (t0 + t1), 0.5 * (t1 - t0)

    def transform(values: Array) -> Array:
        degree = len(values) - 1
        coefficients = dct(values, 1, axis=0) / degree
        coefficients[[0, -1]] *= 0.5
        return np.asarray(coefficients)

    def nodes(degree: int) -> Array:
        return np.asarray(middle + half * np.cos(np.pi * np.arange(degree + 1) / degree))

    made = partial(_chebyshev, t0=t0, t1=t1)
    return _refined(A, (t0, t1), nodes, transform, made, sizes, most)


def polynomial_fit(times: Array, values: Array) -> Interpolant | None:
    """The Chebyshev series through arrays (m, ...) that are known at times (m,); None
    where none of a degree far below m goes through all of them to round-off."""
    t0, t1 = float(times.min()), float(times.max())
    degree = min(len(times) // 4, int(np.sqrt(len(times))))
    if t1 == t0:
        return None
    places = (2.0 * times - t0 - t1) / (t1 - t0)
    rows = values.reshape(len(values), -1)
    fit = np.polynomial.chebyshev.chebfit(places, rows, degree)
    sizes = np.abs(rows).max(axis=0)
    # The round-off of a coefficient is multiplied by the square of its number in a derivative.
    fit[np.abs(fit) <= ZERO * sizes] = 0.0
    found = _chebyshev(fit.reshape(-1, *values.shape[1:]), len(times), t0, t1)
    off = np.abs(found.many(times) - values).reshape(len(rows), -1).max(axis=0)
    return found if np.all(off <= ZERO * sizes) else None


def _chebyshev(coefficients: Array, samples: int, t0: float, t1: float) -> Interpolant:
    """The series through so many samples on [t0, t1] from its lowest coefficients (c, ...)."""
    middle, half = 0.5 * (t0 + t1), 0.5 * (t1 - t0)
    order = np.arange(len(coefficients))

    def polynomials(times: Array) -> Array:
        angle = np.arccos(np.clip((times - middle) / half, -1.0, 1.0))
        return np.asarray(np.cos(np.outer(angle, order)))

    def differentiated(table: Array) -> Array:
        slopes = np.polynomial.chebyshev.chebder(table, scl=1.0 / half, axis=0)
        return np.concatenate([slopes, np.zeros((len(table) - len(slopes), *table.shape[1:]))])

    return Interpolant(polynomials, coefficients, samples, 0.0, differentiated)


def _largest(coefficients: NDArray[Any], scale: Array) -> Array:
    """The largest entry of every coefficient (m, ...), relative to the sizes."""
    relative = np.abs(coefficients) / scale
    return np.asarray(relative.reshape(len(relative), -1).max(axis=1, initial=0.0))


def _resolved(size: Array, flat: float = 0.25) -> bool:
    """Whether the coefficients of relative size (m,), lowest first, have fallen to nothing, or to
    the level where the round-off of A keeps them from falling further: where the last part is at
    least the share `flat` of the part before it."""
    last, before = (int((1.0 - part * TAIL) * len(size)) for part in (1, 2))
    tail = float(size[last:].max())
    return tail <= ZERO or (tail <= NOISE and tail >= flat * float(size[before:last].max()))


def _retained(size: Array) -> int:
    """How many coefficients to use: up to the last one above the level of the highest quarter."""
    tail = float(size[int((1.0 - TAIL) * len(size)) :].max())
    return int(np.flatnonzero(size > max(tail, 1e-16)).max(initial=0)) + 1


def irregular(count: int) -> Array:
    """Places in (0, 1) that no regular grid and no symmetric position has."""
    return np.asarray(np.arange(1, count + 1) * GOLDEN % 1.0)


def _checked(
    found: Interpolant, A: Sampled, span: tuple[float, float], scale: Array
) -> Interpolant | None:
    """The interpolant with what it is off between its instants; None when that is too much."""
    times = span[0] + (span[1] - span[0]) * irregular(CHECKS)
    errors = np.abs(found.many(times) - A(times)).max(axis=0)
    deviation = float((errors / scale).max(initial=0.0))
    return replace(found, deviation=deviation, errors=errors) if deviation <= NOISE else None


DEGREES = (2, 4, 8, 16)  # nested nodes: every second one of the next degree


@dataclass(frozen=True)
class ParameterPolynomial:
    """An array as a function of parameters in a box.

    low, high (d,): the box. degrees (d,): of each axis, 0 where the box has no width. table
    (nodes, ...): Chebyshev coefficients, the last axis of the box running fastest. deviation: the
    largest difference found between the nodes, relative to the sizes.
    """

    low: Array
    high: Array
    degrees: tuple[int, ...]
    table: Array
    deviation: float = 0.0

    def __call__(self, point: Array) -> Array:
        """The array at a point (d,)."""
        weights = np.ones(1)
        for x, low, high, degree in zip(point, self.low, self.high, self.degrees, strict=True):
            width = high - low
            place = (2.0 * x - low - high) / width if width > 0.0 else 0.0
            angle = np.arccos(np.clip(place, -1.0, 1.0))
            weights = np.outer(weights, np.cos(angle * np.arange(degree + 1))).ravel()
        found = weights @ self.table.reshape(len(self.table), -1)
        return np.asarray(found.reshape(self.table.shape[1:]))


def parameter_polynomial(
    evaluate: Callable[[Array], Array],
    low: Array,
    high: Array,
    tolerance: float,
    sizes: Callable[[Array], Array | float],
    most: int = 150,
) -> ParameterPolynomial | None:
    """The polynomial of `evaluate(point)` over a box; None where it does not reach the tolerance.

    sizes: of a value, what differences of its entries are relative to. most: nodes.
    """
    values: dict[tuple[float, ...], Array] = {}

    def point(place: tuple[float, ...]) -> Array:
        return np.asarray(0.5 * ((high - low) * np.array(place) + high + low))

    def at(place: tuple[float, ...]) -> Array:
        if place not in values:
            values[place] = evaluate(point(place))
        return values[place]

    def gap(found: ParameterPolynomial, place: tuple[float, ...]) -> float:
        exact = at(place)
        off = float((np.abs(found(point(place)) - exact) / sizes(exact)).max(initial=0.0))
        return off if np.isfinite(off) else np.inf

    wide = [n for n in range(len(low)) if high[n] > low[n]]
    degrees = [DEGREES[0] if n in wide else 0 for n in range(len(low))]
    off = {n: tuple(GOLDEN if n == m else 0.0 for m in range(len(low))) for n in wide}
    irrational = 1.0 - 2.0 * ((np.arange(len(low)) + 2) * GOLDEN % 1.0)
    anywhere = tuple(float(irrational[n]) if n in wide else 0.0 for n in range(len(low)))
    while int(np.prod([degree + 1 for degree in degrees])) <= most:
        found = _through(at, low, high, tuple(degrees))
        gaps = {n: gap(found, place) for n, place in off.items()}
        worst = max(gaps.values(), default=0.0)
        last = gap(found, anywhere) if wide and worst <= tolerance else np.inf
        if not wide or last <= tolerance:
            return replace(found, deviation=max(worst, last) if wide else 0.0)
        raised = [n for n in wide if gaps[n] > tolerance] or wide
        if any(degrees[n] == DEGREES[-1] for n in raised):
            return None
        for n in raised:
            degrees[n] = DEGREES[DEGREES.index(degrees[n]) + 1]
    return None


def _through(
    at: Callable[[tuple[float, ...]], Array], low: Array, high: Array, degrees: tuple[int, ...]
) -> ParameterPolynomial:
    """Through the values at the tensor product of the nodes."""
    axes = [_nodes(degree) for degree in degrees]
    values = np.stack([at(place) for place in itertools.product(*axes)])
    bases = [np.cos(np.outer(np.arccos(axis), np.arange(len(axis)))) for axis in axes]
    return ParameterPolynomial(low, high, degrees, tensor_coefficients(values, bases))


def tensor_coefficients(values: Array, bases: Sequence[Array]) -> Array:
    """Those (nodes, ...) of a tensor product of polynomials from its values (nodes, ...) at one of
    nodes, the last axis running fastest; bases: of each axis, the polynomials at its nodes."""
    table = values.reshape(*map(len, bases), -1)
    for n, basis in enumerate(bases):
        table = np.moveaxis(np.tensordot(np.linalg.inv(basis), table, axes=(1, n)), 0, n)
    return np.asarray(table.reshape(values.shape))


def _nodes(degree: int) -> tuple[float, ...]:
    """Chebyshev extreme points; the same numbers in every degree that has them."""
    if degree == 0:
        return (0.0,)
    return tuple(float(np.round(np.cos(np.pi * i / degree), 15)) + 0.0 for i in range(degree + 1))
