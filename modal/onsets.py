"""Onsets of flutter and divergence along tracks, and the splits that end them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]
Complex = NDArray[np.complex128]

# Relative size below which a rate or a difference of eigenvalues is round-off.
ROUND_OFF = 1e-8


@dataclass(frozen=True)
class Onset:
    """`kind` begins at instant `index` on a track; partner: the track it involves, or −1."""

    index: int
    track: int
    kind: str
    partner: int = -1


def find_onsets(
    eigenvalues: Complex, rate: Real, doubt: Real, elastic: NDArray[np.bool_]
) -> Iterator[Onset]:
    """Onsets at the first instant of each new regime.

    eigenvalues (T, R); elastic (T, R). rate (T, R): growth without the breathing of a mode's energy
    with the motion (modal.rates.action_rate; Re λ where a parameter is steady), and doubt (T, R)
    its error, which decide for a mode that becomes unstable by itself. Two modes that lock show it
    in their eigenvalues.
    """
    known, size = np.isfinite(eigenvalues), np.abs(eigenvalues)
    with np.errstate(invalid="ignore"):
        floor = ROUND_OFF * np.maximum(size, np.nanmax(size, axis=0, initial=0.0) * ROUND_OFF)
        grows = known & (eigenvalues.real > floor)
        still = known & (np.abs(eigenvalues.imag) <= floor) & (np.abs(eigenvalues.real) > floor)
        unstable = rate > floor + doubt
    partner = np.array([_locked(row) for row in eigenvalues], dtype=int).reshape(eigenvalues.shape)
    for n in range(1, len(eigenvalues)):
        for r in np.flatnonzero(known[n] & known[n - 1] & elastic[n] & elastic[n - 1]).tolist():
            other, earlier = int(partner[n, r]), int(partner[n - 1, r])
            if still[n, r] and grows[n, r] and not (still[n - 1, r] and grows[n - 1, r]):
                yield Onset(n, r, "divergence onset")
            elif grows[n, r] and not still[n, r] and other >= 0 and earlier < 0:
                yield Onset(n, r, "flutter onset", other)
                yield Onset(n, other, "flutter onset", r)
            elif other < 0 and not still[n, r] and _turned(rate, unstable, n, r):
                yield Onset(n, r, "flutter onset")
            if earlier >= 0 and other < 0 and known[n, earlier]:
                yield Onset(n, r, "split", earlier)
            elif still[n - 1, r] and not still[n, r]:
                yield Onset(n, r, "split")


def _turned(rate: Real, unstable: NDArray[np.bool_], n: int, r: int) -> bool:
    """Whether a track is unstable from n on, two instants at least, and was not before."""
    lasts = n + 1 == len(rate) or unstable[n + 1, r]
    return bool(unstable[n, r] and lasts and not unstable[n - 1, r] and np.isfinite(rate[n - 1, r]))


def _locked(lam: Complex) -> list[int]:
    """For each track the one it is locked with: same frequency, equal and opposite departure of the
    rates, −1 for none.
    """
    difference = lam[:, None] - lam[None, :]
    size = np.abs(lam)[:, None]
    with np.errstate(invalid="ignore"):
        level = np.abs(difference.imag) <= 0.1 * np.abs(difference.real)
        oscillates = (np.abs(lam.imag) > ROUND_OFF * np.abs(lam))[:, None]
        apart = np.abs(difference.real) > ROUND_OFF * size
        opposite = lam.real[:, None] * lam.real[None, :] < 0.0
        found = level & apart & oscillates & opposite
    return [int(np.flatnonzero(row)[0]) if row.any() else -1 for row in found]
