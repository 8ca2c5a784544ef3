"""What freezing leaves out: the corrected growth rate and the frozen interval.

The corrected growth rate has the first-order effect of the motion that freezing neglects.

With B ẋ = A(t) x, x = (q, q̇), and a(t) x_i(t) exp ∫λ_i for the i-th mode, the product with the
left vector gives ȧ yᴴBx + a yᴴBẋ = 0 up to the coupling with other modes, so that

    σ = Re[λ − (yᴴBẋ)/(yᴴBx)],   x of unit energy.

B = diag(I, M(t)) and A are of the same instant, so a mass that changes needs no further term. A
phase of x(t) adds an imaginary number only; its size matters, and is fixed by the energy E = q̇ᴴMq̇
+ qᴴ sym(K) q. With x moved so that yᴴBẋ = 0, this is σ = Re λ + ½ d/dt ln xᴴEx, and

    ẋ_i = Σ_j c_j x_j,   c_j = y_jᴴ(Ȧ − λ_iḂ)x_i / (λ_i − λ_j),

over the other modes of the window and all conjugates. Modes outside the window enter only through
the product of two small quantities. The modes of a conservative instant are orthogonal in E and do
not contribute. In other cases their contribution has the order of the damping times the speed of
the motion. All quantities are of the instant alone (modal/tracking/variation.py) and do not depend
on the distance of the next instant.

Where the energy is not positive along a track (a mode at or past flutter has none) the size is
√(qᴴMq), the amplitude of the displacement, instead.

The frozen interval is the time over which the modes of an instant represent the motion. It ends at
the first of three conditions, each with the same tolerance:

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

from modal.eigen.tolerances import HALF
from modal.tracking import hermite
from modal.tracking.snapshot import Snapshot
from modal.tracking.variation import diagonal
from modal.types import Array, Complex

FLOOR = 1e-4  # of |λ|: growth rates closer than this damping ratio count as equal


def instant_rates(s: Snapshot, moving: bool) -> dict[str, NDArray[Any]]:
    """Rates of the K modes of an instant, per unit of the swept value; none where these are not
    known, the slope alone where nothing moves.

    slope, curvature (K,): dλ/ds, d²λ/ds². by_energy, by_amplitude (K,): ½ d/ds ln of the energy and
    of the squared amplitude of a mode that moves with yᴴBẋ = 0. coupling (K,): largest
    |y_jᴴ(A′ − λ_iB′)x_i| / |λ_i − λ_j|². steady (K,): λ without the terms that only exchange
    energy, rad/s. Of a stack of instants without clusters, (P, K).
    """
    v, lam = s.variation, s.eigenvalues
    if v is None:
        return {"steady": lam}
    if not moving:
        return {"slope": v.slope, "steady": v.steady}
    distance = distances(lam)
    with np.errstate(invalid="ignore", divide="ignore"):
        mixing = v.change / distance
        # x_iᴴ E ẋ_i, ẋ_i = Σ_j speed[0, j, i] x_j + speed[1, j, i] x̄_j
        speed = np.nan_to_num(mixing, nan=0.0, posinf=0.0, neginf=0.0).swapaxes(-1, -2)
        onward, mirrored = speed[..., 0, :, :], speed[..., 1, :, :]
        by_energy, by_amplitude = (
            (0.5 * diagonal(of.rate) + (gram * onward + of.mirrored * mirrored).sum(axis=-1)).real
            / diagonal(gram).real
            for of, gram in ((v.energy, s.energy_gram), (v.mass, s.mass_gram))
        )
    return {
        "slope": v.slope,
        "curvature": v.curvature,
        "by_energy": by_energy,
        "by_amplitude": by_amplitude,
        "coupling": _largest_coupling(mixing, np.abs(distance), s),
        "steady": v.steady,
    }


def distances(lam: Complex) -> Complex:
    """λ_i − λ_j and λ_i − λ̄_j at [:, j, i] of λ (K,), NaN inside a cluster: it is one subspace."""
    row = lam[..., None, None, :]
    apart = row - np.stack([lam, lam.conj()], axis=-2)[..., None]
    return np.where(np.abs(apart) <= HALF * np.abs(row), np.nan, apart)


def _largest_coupling(mixing: Complex, distance: Array, s: Snapshot) -> Array:
    """The largest coupling of each mode i (K,); mixing (2, j, i): part of ẋ_i along x_j and x̄_j.

    Modes of one eigenvalue are one subspace: what counts is the energy of the part that lies in it,
    whatever its basis. Of a stack of instants without clusters, (P, K).
    """
    gram, energy = s.energy_gram, diagonal(s.energy_gram).real
    with np.errstate(invalid="ignore", divide="ignore"):
        own, other = energy[..., None, None, :], energy[..., None, :, None]
        ratio = np.sqrt(np.where((own > 0.0) & (other > 0.0), other / own, 1.0))
        coupling = np.abs(mixing) * ratio / distance
        for members in s.clusters if energy.ndim == 1 else ():
            if not np.all(energy[members] > 0.0):
                continue
            G = gram[np.ix_(members, members)]
            for block, form in ((0, G), (1, G.conj())):
                c = mixing[block][members]
                part = (c.conj() * (form @ c)).sum(axis=0).real
                whole = np.sqrt(np.maximum(part, 0.0) / np.where(energy > 0.0, energy, np.nan))
                coupling[block][members] = whole / distance[block][members]
    return np.asarray(np.max(np.where(np.isfinite(coupling), coupling, 0.0), axis=(-3, -2)))


def growth_rate_corrected(
    eigenvalues: Complex,
    energy: Array,
    by_energy: Array,
    by_amplitude: Array,
    positive: float = 1e-2,
) -> Array:
    """σ(t) of tracks, (T, R) 1/s; NaN where the model is not known next to an instant.

    energy: twice the energy at qᴴMq = 1. by_energy, by_amplitude: of `instant_rates`, per second.
    positive: part of |λ|² qᴴMq above which the energy of a mode counts as positive.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        share = energy / np.abs(eigenvalues) ** 2
        has_energy = np.all((share > positive) | np.isnan(energy), axis=0)
    return np.asarray(eigenvalues.real + np.where(has_energy[None, :], by_energy, by_amplitude))


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
