"""Cubic Hermite interpolation between two instants, from values and slopes at both."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]

# Places between two instants, as a part of their distance, at which a cubic is evaluated.
PLACES = np.linspace(0.0, 1.0, 33)
POWERS = PLACES[:, None] ** np.arange(4)


def coefficients(start: Values, end: Values, slope: Values, onward: Values) -> list[Values]:
    """c₀ … c₃ of Σ c_m τ^m on 0 … 1; slope, onward: d/dτ at its two ends."""
    change = end - start
    second = 3.0 * change - 2.0 * slope - onward
    third = slope + onward - 2.0 * change
    return [start, slope, second, third]


def value(c: list[Values], tau: Any) -> Values:
    """The cubic at τ."""
    return np.asarray(c[0] + tau * (c[1] + tau * (c[2] + tau * c[3])))


def along(c: list[Values]) -> Values:
    """The cubic at PLACES, which are added as the first axis."""
    table = np.stack([np.asarray(each) for each in c])
    return np.asarray((POWERS @ table.reshape(4, -1)).reshape(len(PLACES), *table.shape[1:]))


def error(start: Values, end: Values, slope: Values, onward: Values) -> Values:
    """Error of the cubic: the difference of the change and the trapezoidal rule of the slopes.

    It is h³f‴/12 for a smooth f, of higher order than the slopes and of lower order than the error
    of the cubic, h⁴f⁗/384, which a quarter of it covers where f varies over more than a few h.
    """
    return np.asarray(0.25 * np.abs(end - start - 0.5 * (slope + onward)))


def lowest(values: Values) -> Values:
    """τ of the least of real values (PLACES, N), by a parabola through three of them, (N,)."""
    p = np.argmin(values, axis=0)
    inner = np.clip(p, 1, len(PLACES) - 2)
    before, here, after = values[inner + np.arange(-1, 2)[:, None], np.arange(len(p))]
    bend = before - 2.0 * here + after
    bent = (bend > 0.0) & (p == inner)
    shift = np.where(bent, 0.5 * (before - after) / np.where(bent, bend, 1.0), 0.0)
    return np.asarray(PLACES[p] + shift * (PLACES[1] - PLACES[0]))


def lowest_inside(values: Values) -> float:
    """The same of values (PLACES,) where it is inside; the middle where it is at an end."""
    tau = float(lowest(values[:, None])[0])
    return tau if 0.02 < tau < 0.98 else 0.5


def root(start: float, end: float, slope: float, onward: float) -> float:
    """τ where the cubic changes sign from start to end, which are of opposite sign."""
    c = coefficients(*(np.asarray(x) for x in (start, end, slope, onward)))
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if (value(c, middle) > 0.0) == (start > 0.0):
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
