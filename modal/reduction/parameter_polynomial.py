"""Arrays that depend smoothly on parameters, from tensor products of Chebyshev polynomials.

Along a speed or a damping the matrices of a motion are polynomials of low degree; along a length or
a ratio their Chebyshev coefficients fall geometrically. The degree along each axis grows until
values between the nodes agree; a value at a place off all axes is the last check.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from modal.reduction.interpolation import GOLDEN
from modal.types import Array

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

    def at(place: tuple[float, ...]) -> Array:
        if place not in values:
            values[place] = evaluate(0.5 * ((high - low) * np.array(place) + high + low))
        return values[place]

    wide = [n for n in range(len(low)) if high[n] > low[n]]
    degrees = [DEGREES[0] if n in wide else 0 for n in range(len(low))]
    off = {n: tuple(GOLDEN if n == m else 0.0 for m in range(len(low))) for n in wide}
    irrational = 1.0 - 2.0 * ((np.arange(len(low)) + 2) * GOLDEN % 1.0)
    anywhere = tuple(float(irrational[n]) if n in wide else 0.0 for n in range(len(low)))
    while int(np.prod([degree + 1 for degree in degrees])) <= most:
        found = _through(at, low, high, tuple(degrees))
        gaps = {n: _gap(found, at, place, sizes) for n, place in off.items()}
        worst = max(gaps.values(), default=0.0)
        last = _gap(found, at, anywhere, sizes) if wide and worst <= tolerance else np.inf
        if not wide or last <= tolerance:
            return ParameterPolynomial(
                low, high, found.degrees, found.table, max(worst, last) if wide else 0.0
            )
        raised = [n for n in wide if gaps[n] > tolerance] or wide
        if any(degrees[n] == DEGREES[-1] for n in raised):
            return None
        for n in raised:
            degrees[n] = DEGREES[DEGREES.index(degrees[n]) + 1]
    return None


def _gap(
    found: ParameterPolynomial,
    at: Callable[[tuple[float, ...]], Array],
    place: tuple[float, ...],
    sizes: Callable[[Array], Array | float],
) -> float:
    exact = at(place)
    point = 0.5 * ((found.high - found.low) * np.array(place) + found.high + found.low)
    gap = float((np.abs(found(point) - exact) / sizes(exact)).max(initial=0.0))
    return gap if np.isfinite(gap) else np.inf


def _through(
    at: Callable[[tuple[float, ...]], Array], low: Array, high: Array, degrees: tuple[int, ...]
) -> ParameterPolynomial:
    """Through the values at the tensor product of the nodes."""
    axes = [_nodes(degree) for degree in degrees]
    values = np.stack([at(place) for place in itertools.product(*axes)])
    shape = values.shape[1:]
    table = values.reshape(*(len(axis) for axis in axes), -1)
    for n, degree in enumerate(degrees):
        if degree:
            order = np.arange(degree + 1)
            inverse = np.linalg.inv(np.cos(np.outer(np.arccos(axes[n]), order)))
            table = np.moveaxis(np.tensordot(inverse, table, axes=(1, n)), 0, n)
    return ParameterPolynomial(low, high, degrees, table.reshape(-1, *shape))


def _nodes(degree: int) -> tuple[float, ...]:
    """Chebyshev extreme points; the same numbers in every degree that has them."""
    if degree == 0:
        return (0.0,)
    return tuple(float(np.round(np.cos(np.pi * i / degree), 15)) + 0.0 for i in range(degree + 1))
