"""The frozen interval: the time over which the modes of an instant represent the motion.

It ends at the first of three conditions, each with the same tolerance:

- the eigenvalue has changed: |λ(t + h) − λ(t)| = tolerance |λ|;
- its real part has changed: |Re λ(t + h) − Re λ(t)| = tolerance |Re λ|, but no less than
  1e-4 |λ|, the damping ratio below which growth rates count as equal;
- the coupling with another mode exceeds the tolerance: the interval is zero.

Both changes are taken twice, and the shorter time counts: |λ̇| h + ½ |λ̈| h² with the derivatives of
the instant, and along the track, a cubic between its instants. The derivatives know what happens
between two instants; the track knows what they do not: λ may change after its first two derivatives
vanish. Where the track ends before the change, its past stands for its future.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from modal.tracking import hermite
from modal.types import Array, Complex

FLOOR = 1e-4  # of |λ|: growth rates closer than this damping ratio count as equal


def frozen_interval(
    time: Array,
    values: NDArray[np.inexact[Any]],
    slope: NDArray[np.inexact[Any]],
    curvature: NDArray[np.inexact[Any]],
    coupling: Array,
    tolerance: float,
) -> Array:
    """The frozen interval of every instant and track, (T, R) s.

    time (T,), rising or falling; values, slope, curvature (T, R): λ, λ̇, λ̈ of tracks, NaN where a
    track has no value; coupling (T, R): largest |y_jᴴ(Ȧ − λ_iḂ)x_i| / |λ_i − λ_j|².

    Zero where the coupling exceeds the tolerance: the motion then does not excite the modes of the
    instant alone. Infinite where nothing changes, NaN where the derivatives are not known.
    """
    lam, first, second = (np.asarray(x, dtype=complex) for x in (values, slope, curvature))
    size = np.abs(lam)
    whole, real = tolerance * size, np.maximum(tolerance * np.abs(lam.real), FLOOR * size)
    interval = np.minimum(
        _first_time(whole, np.abs(first), np.abs(second)),
        _first_time(real, np.abs(first.real), np.abs(second.real)),
    )
    order = np.argsort(time)
    for r in range(lam.shape[1]):
        present = order[np.isfinite(lam[order, r])]
        gaps = np.flatnonzero(np.diff(np.searchsorted(time[order], time[present])) > 1) + 1
        for part in np.split(present, gaps):
            limits = whole[part, r], real[part, r], interval[part, r]
            interval[part, r] = _along_track(time[part], lam[part, r], first[part, r], *limits)
    with np.errstate(invalid="ignore"):
        return np.where((coupling > tolerance) & ~np.isnan(interval), 0.0, interval)


def _along_track(
    time: Array, lam: Complex, slope: Complex, allowed: Array, allowed_real: Array, longest: Array
) -> Array:
    """The time after which λ, or Re λ, has changed by what is allowed, along a track without gaps;
    the time before which it was different where the track ends first; `longest` at most.

    time (T,) rising; the others (T,).
    """
    t, values = _between(time, lam, slope)
    per_step = (len(t) - 1) // max(len(time) - 1, 1)
    out = longest.copy()
    for n in np.flatnonzero(~np.isnan(longest)):
        here = n * per_step
        start, end = np.searchsorted(t, t[here] + np.array([-1.0, 1.0]) * longest[n])
        ahead, back = slice(here, end + 1), slice(here, max(start - 1, 0) or None, -1)
        for part in (ahead, back) if end == len(t) else (ahead,):
            away, after = values[part] - lam[n], np.abs(t[part] - t[here])
            changed = min(
                _first_crossing(after, np.abs(away) - allowed[n]),
                _first_crossing(after, np.abs(away.real) - allowed_real[n]),
            )
            if changed < out[n]:
                out[n] = changed
                break
    return out


def _between(time: Array, lam: Complex, slope: Complex) -> tuple[Array, Complex]:
    """Time and λ at the instants and at hermite.PLACES between them; straight lines where a slope
    is not known."""
    if len(time) < 2:
        return time, lam
    step, change = np.diff(time), np.diff(lam)
    ends = [step * slope[:-1], step * slope[1:]]
    ends = [np.where(np.isfinite(x), x, change) for x in ends]
    inside = hermite.along(hermite.coefficients(lam[:-1], lam[1:], *ends))[:-1]
    t = time[:-1] + hermite.PLACES[:-1, None] * step
    return np.append(t.T.ravel(), time[-1]), np.append(inside.T.ravel(), lam[-1])


def _first_crossing(after: Array, excess: Array) -> float:
    """Where `excess`, negative at the start, becomes positive; infinite for nowhere."""
    n = int(np.argmax(excess >= 0.0))
    if n == 0:
        return np.inf
    part = excess[n - 1] / (excess[n - 1] - excess[n])
    return float(after[n - 1] + part * (after[n] - after[n - 1]))


def _first_time(allowed: Array, slope: Array, curvature: Array) -> Array:
    """The positive root h of slope h + ½ curvature h² = allowed; infinite for zero derivatives."""
    with np.errstate(divide="ignore", invalid="ignore"):
        speed = slope + np.sqrt(slope**2 + 2.0 * curvature * allowed)
        root = 2.0 * allowed / speed
    return np.asarray(np.where(speed == 0.0, np.inf, root))
