"""Gauss–Legendre quadrature on [0, 1], with the integrals from 0 to each of its points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.polynomial import legendre

from assembly.types import Array


@dataclass(frozen=True)
class LineRule:
    """Points (Q,) and weights (Q,) on [0, 1]; `running` (Q, Q) integrates up to each point.

    `running` integrates the interpolating polynomial, so it is exact to degree Q − 1.
    """

    points: Array
    weights: Array
    running: Array


@cache
def gauss(count: int) -> LineRule:
    """The rule with `count` points, exact to degree 2·count − 1."""
    x, w = legendre.leggauss(count)
    P = legendre.legvander(x, count)
    integrals = np.empty((count, count))
    integrals[:, 0] = (x + 1.0) / 2.0
    for k in range(1, count):
        integrals[:, k] = (P[:, k + 1] - P[:, k - 1]) / (2.0 * (2 * k + 1))
    # The inverse of the square Legendre matrix follows from discrete orthogonality.
    inverse = (np.arange(count) + 0.5)[:, None] * P[:, :count].T * w
    return LineRule((x + 1.0) / 2.0, w / 2.0, integrals @ inverse)
