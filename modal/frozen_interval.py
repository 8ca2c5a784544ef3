"""How long the modes of a frozen instant stand for the motion.

Three things end it, each at the same tolerance:

- the eigenvalue has moved: |λ(t + h) − λ(t)| = tolerance |λ|;
- its real part has moved by itself: |Re λ(t + h) − Re λ(t)| = tolerance |Re λ|, but no less than
  1e-4 |λ|, the damping ratio below which growth rates count as equal;
- the coupling with another mode exceeds the tolerance: the interval is zero.

Both changes are bounded by |λ̇| h + ½ max|λ̈| h², the maximum over [t, t + h] (Taylor's theorem),
so that an instant at which the eigenvalue is stationary has a finite interval too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from modal.diagnosis import FLOOR
from modal.rates import History

Real = NDArray[np.float64]
Complex = NDArray[np.complex128]

WIDER = 1.25  # growth of the number of instants over which the largest curvature is taken


def frozen_interval(history: History, tolerance: float) -> Real:
    """The frozen interval of every instant and track, (T, R) s.

    λ̇ is that of the instant; the largest |λ̈| is that of the cubics through the recorded values and
    slopes. Zero where the coupling |y_jᴴ(Ȧ − λ_iḂ)x_i| / |λ_i − λ_j|² with any other mode of the
    window exceeds the tolerance, for then not even the instant's own modes are what the motion
    excites. Infinite where nothing moves, NaN where the slope is not known.
    """
    slope, curvature = history.speed, curvatures(history.at, history.eigenvalues, history.speed)
    interval = drift_intervals(history.at, history.eigenvalues, slope, curvature, tolerance)
    with np.errstate(invalid="ignore"):
        return np.where(
            (history.mixing > tolerance) & ~np.isnan(interval), np.zeros_like(interval), interval
        )


def curvatures(at: Real, values: NDArray[np.inexact], slope: NDArray[np.inexact]) -> Complex:
    """The largest |Re λ̈| + i |Im λ̈| at every instant, (T, R), of the cubics on both sides of it."""
    out = np.zeros(values.shape, dtype=complex)
    if len(at) < 2:
        return out
    h = np.diff(at)[:, None]
    mean = np.diff(values, axis=0) / h
    left = (6.0 * mean - 4.0 * slope[:-1] - 2.0 * slope[1:]) / h
    right = (2.0 * slope[:-1] + 4.0 * slope[1:] - 6.0 * mean) / h
    for rows, found in ((slice(None, -1), left), (slice(1, None), right)):
        found = np.nan_to_num(found)
        out[rows] = _larger(out[rows], np.abs(found.real) + 1j * np.abs(found.imag))
    return out


def drift_intervals(
    at: Real,
    values: NDArray[np.inexact],
    slope: NDArray[np.inexact],
    curvature: NDArray[np.inexact],
    tolerance: float,
) -> Real:
    """The time in which λ, or its real part by itself, changes by the tolerance, (T, R) s.

    at (T,): instants; values, slope, curvature (T, R): λ, λ̇, λ̈. The curvature of an instant is the
    largest from the instant before it to the first one after the interval's end.
    """
    bound = np.abs(curvature.real) + 1j * np.abs(curvature.imag)
    bound = _larger(_larger(_shifted(bound, -1), bound), _shifted(bound, 1))
    interval = np.full(values.shape, np.nan)
    reach = 1
    while True:
        found = _drift_interval(values, slope, bound, tolerance)
        end = np.append(at, np.full(reach, np.inf))[reach:]
        settled = np.isnan(interval) & (found <= (end - at)[:, None])
        interval[settled] = found[settled]
        if reach >= len(at) or not np.any(np.isnan(interval) & ~np.isnan(found)):
            return interval
        farther = int(np.ceil(WIDER * reach))
        bound = _larger(bound, _shifted(bound, farther - reach))
        reach = farther


def _drift_interval(
    values: NDArray[np.inexact],
    slope: NDArray[np.inexact],
    curvature: NDArray[np.inexact],
    tolerance: float,
) -> Real:
    """The drift interval with |Re λ̈| and |Im λ̈| bounded by the parts of `curvature`, s."""
    lam, first, second = (np.asarray(x, dtype=complex) for x in (values, slope, curvature))
    size = np.abs(lam)
    real = np.maximum(tolerance * np.abs(lam.real), FLOOR * size)
    whole = _first_time(tolerance * size, np.abs(first), np.abs(second))
    growth = _first_time(real, np.abs(first.real), np.abs(second.real))
    return np.minimum(whole, growth)


def _first_time(allowed: Real, slope: Real, curvature: Real) -> Real:
    """The positive root h of slope h + ½ curvature h² = allowed; infinite where nothing moves."""
    with np.errstate(divide="ignore", invalid="ignore"):
        speed = slope + np.sqrt(slope**2 + 2.0 * curvature * allowed)
        root = 2.0 * allowed / speed
    return np.asarray(np.where(speed == 0.0, np.inf, root))


def _shifted(values: Complex, count: int) -> Complex:
    """The values `count` instants later (before, when negative), zero beyond the ends."""
    out = np.zeros_like(values)
    if count > 0:
        out[:-count] = values[count:]
    else:
        out[-count:] = values[:count]
    return out


def _larger(first: Complex, second: Complex) -> Complex:
    """The larger real parts and the larger imaginary parts."""
    real, imag = np.maximum(first.real, second.real), np.maximum(first.imag, second.imag)
    return np.asarray(real + 1j * imag)
