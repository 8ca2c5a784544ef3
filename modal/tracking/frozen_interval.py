"""The frozen interval: the time over which the modes of an instant represent the motion.

It ends at the first of three conditions, each with the same tolerance:

- the eigenvalue has changed: |λ(t + h) − λ(t)| = tolerance |λ|;
- its real part has changed: |Re λ(t + h) − Re λ(t)| = tolerance |Re λ|, but no less than
  1e-4 |λ|, the damping ratio below which growth rates count as equal;
- the coupling with another mode exceeds the tolerance: the interval is zero.

Both changes are |λ̇| h + ½ |λ̈| h² with the derivatives of the instant. The interval is finite also
where the eigenvalue is stationary, and it depends on no other instant. Where higher derivatives
matter the true time can be as short as a third of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from modal.tracking.rates import History
from modal.types import Array

FLOOR = 1e-4  # of |λ|: growth rates closer than this damping ratio count as equal


def frozen_interval(history: History, tolerance: float) -> Array:
    """The frozen interval of every instant and track, (T, R) s.

    Zero where the coupling |y_jᴴ(Ȧ − λ_iḂ)x_i| / |λ_i − λ_j|² with any other mode of the window
    exceeds the tolerance: the motion then does not excite the modes of the instant alone. Infinite
    where nothing changes, NaN where the derivatives are not known.
    """
    interval = drift_interval(history.eigenvalues, history.speed, history.curvature, tolerance)
    with np.errstate(invalid="ignore"):
        return np.where((history.mixing > tolerance) & ~np.isnan(interval), 0.0, interval)


def drift_interval(
    values: NDArray[np.inexact[Any]],
    slope: NDArray[np.inexact[Any]],
    curvature: NDArray[np.inexact[Any]],
    tolerance: float,
) -> Array:
    """The time in which λ, or its real part, changes by the tolerance, s.

    values, slope, curvature: λ, λ̇, λ̈ of one shape.
    """
    lam, first, second = (np.asarray(x, dtype=complex) for x in (values, slope, curvature))
    size = np.abs(lam)
    real = np.maximum(tolerance * np.abs(lam.real), FLOOR * size)
    whole = _first_time(tolerance * size, np.abs(first), np.abs(second))
    growth = _first_time(real, np.abs(first.real), np.abs(second.real))
    return np.minimum(whole, growth)


def _first_time(allowed: Array, slope: Array, curvature: Array) -> Array:
    """The positive root h of slope h + ½ curvature h² = allowed; infinite for zero derivatives."""
    with np.errstate(divide="ignore", invalid="ignore"):
        speed = slope + np.sqrt(slope**2 + 2.0 * curvature * allowed)
        root = 2.0 * allowed / speed
    return np.asarray(np.where(speed == 0.0, np.inf, root))
