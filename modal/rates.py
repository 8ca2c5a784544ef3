"""What freezing leaves out, to first order: the corrected growth rate.

With B ẋ = A(t) x, x = (q, q̇), and a(t) x_i(t) exp ∫λ_i for the i-th mode, the product with the
left vector gives ȧ yᴴBx + a yᴴBẋ = 0 up to the coupling with other modes, so that

    σ = Re[λ − (yᴴBẋ)/(yᴴBx)],   x of unit energy                    (DESIGN.md, "What freezing
    leaves out")

B = diag(I, M(t)) and A are of the same instant, so a mass that changes needs no further term. A
phase of x(t) adds an imaginary number only; its size matters, and is fixed by the energy q̇ᴴMq̇ +
qᴴ sym(K_total) q. Where that energy is not positive along a track (a mode at or past flutter has
none) the size is √(qᴴMq), the amplitude of the displacement, instead.

ẋ comes from the neighbouring instants: the modulus of f(s) = yᴴB(t) x(s) / yᴴB(t) x(t) is free of
the phases of x(s), and Re yᴴBẋ / yᴴBx = d ln|f| / ds at s = t, by a stencil of up to five instants,
fourth order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]
Complex = NDArray[np.complex128]

REACH = 2
# An overlap whose square is below this says that the neighbour lies beyond a veering or a cluster:
# not differentiable.
SMOOTH = 0.5
# The energy of a mode counts as positive above this part of |λ|² qᴴMq.
POSITIVE = 1e-2
# Part of the motion's own effect on growth rates that first order may leave in the action's.
RESIDUE = 0.05


@dataclass(frozen=True)
class History:
    """T instants of R tracks; NaN where a track has no value.

    at (T,): time or parameter. eigenvalues (T, R) on their own branches (Im may change sign).
    energy (T, R): twice the energy at qᴴMq = 1. overlaps (T, 5, R): |f| of instants n − 2 … n + 2,
    the middle one 1. mixing (T, R): the largest |y_jᴴBẋ_i| / |λ_i − λ_j| over the other modes j and
    their conjugates, per unit of `at`.
    """

    at: Real
    eigenvalues: Complex
    energy: Real
    overlaps: Real
    mixing: Real


@lru_cache(maxsize=4096)
def _weights(offsets: tuple[float, ...], order: int) -> tuple[float, ...]:
    """Weights w with Σ w_m f(offset_m) = f'(0), or f''(0) for order 2, exact for polynomials of
    degree len − 1."""
    x = np.array(offsets)
    reach = np.abs(x).max()
    powers = np.vander(x / reach, increasing=True).T
    right = np.zeros(len(x))
    right[order] = order / reach**order
    return tuple(np.linalg.solve(powers, right).tolist())


def derivative(
    at: Real, values: NDArray[np.inexact], usable: NDArray[np.bool_], order: int = 1
) -> NDArray[np.inexact]:
    """d/ds, or d²/ds² for order 2, at each instant from the five around it.

    at (T,); values, usable (T, 5, R): values at instants n − 2 … n + 2 and which of them count. NaN
    where no neighbour does. The usable ones nearest to n, without a hole between, make the stencil.
    """
    T, _, R = values.shape
    usable = usable.copy()
    usable[:, 0] &= usable[:, 1]
    usable[:, 4] &= usable[:, 3]
    usable[:, 2] = usable[:, 1] | usable[:, 3]
    weights = np.zeros((T, 5, R))
    filled = np.where(usable, values, 0.0)
    codes = (usable * np.array([1, 2, 4, 8, 16])[:, None]).sum(axis=1)
    span = max(float(np.ptp(at)), 1e-300)
    for n in range(T):
        for code in np.unique(codes[n]):
            chosen = np.array([m for m in range(5) if code >> m & 1], dtype=np.intp)
            if len(chosen) <= order:
                continue
            offsets = tuple(round(float(at[n + m - REACH] - at[n]) / span, 13) for m in chosen)
            columns = np.flatnonzero(codes[n] == code)
            weights[n][np.ix_(chosen, columns)] = (
                np.array(_weights(offsets, order))[:, None] / span**order
            )
    out = (weights * filled).sum(axis=1)
    return np.where(usable.sum(axis=1) > order, out, np.nan)


def neighbours(values: NDArray[np.inexact]) -> NDArray[np.inexact]:
    """(T, 5, R) of a (T, R): the values at n − 2 … n + 2, NaN beyond the ends."""
    padded = np.pad(values, ((REACH, REACH), (0, 0)), constant_values=np.nan)
    return np.stack([padded[m : m + len(values)] for m in range(2 * REACH + 1)], axis=1)


def smooth(history: History) -> NDArray[np.bool_]:
    """(T, 5, R): which neighbours continue the same shape."""
    with np.errstate(invalid="ignore"):
        found = np.isfinite(history.overlaps) & (history.overlaps**2 > SMOOTH)
    return found & np.isfinite(neighbours(history.eigenvalues))


def growth_rate_corrected(history: History) -> Real:
    """σ(t), (T, R) 1/s, of a history over time; NaN where a track has no neighbouring instant."""
    with np.errstate(invalid="ignore"):
        share = history.energy / np.abs(history.eigenvalues) ** 2
        positive = np.all((share > POSITIVE) | np.isnan(history.energy), axis=0)
    return _rate(history, np.where(positive[None, :], np.abs(history.energy), 1.0))


def action_rate(history: History, corrected: Real) -> tuple[Real, Real]:
    """The rate σ with x of unit action, energy over frequency, and its doubt, (T, R) 1/s.

    NaN where a mode has no action. The doubt is the difference to a stencil of lower order and
    RESIDUE of the largest effect of the motion on the track, |σ − Re λ| (corrected: σ): what it
    leaves in second order.

    Along an undamped motion the action of a mode is an adiabatic invariant (Landau and Lifshitz,
    Mechanics, §49): its energy breathes with its frequency, its action does not. So this rate shows
    damping and instability alone. The energy may be negative, a mode at flutter has no action.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        action = history.energy / history.eigenvalues.imag
        some = np.abs(history.energy) > POSITIVE * np.abs(history.eigenvalues) ** 2
        some &= history.eigenvalues.imag != 0.0
    square = np.where(some, np.abs(action), np.nan)
    rate = _rate(history, square)
    effect = np.abs(corrected - history.eigenvalues.real)
    largest = np.max(np.where(np.isfinite(effect), effect, 0.0), axis=0, initial=0.0)
    return rate, np.abs(rate - _rate(history, square, narrow=True)) + RESIDUE * largest


def _rate(history: History, square: Real, narrow: bool = False) -> Real:
    """Re[λ − yᴴBẋ / yᴴBx] with x of unit size, whose square is (T, R) at qᴴMq = 1."""
    with np.errstate(invalid="ignore", divide="ignore"):
        size = 0.5 * np.log(square)
        logs = np.log(history.overlaps) - (neighbours(size) - size[:, None, :])
    usable = smooth(history) & np.isfinite(logs)
    if narrow:
        usable[:, [0, -1]] = False
    rate = derivative(history.at, logs, usable)
    return np.asarray(history.eigenvalues.real - rate)
