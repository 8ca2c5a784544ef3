"""Onsets and ends of flutter and divergence along tracks, and critical damping."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from modal.data.growth import ROUND_OFF
from modal.types import Array, Complex, Index, Mask

OnsetKind = Literal["flutter onset", "divergence onset", "split", "critical damping"]

# Two modes are locked when their frequencies differ by less than this part of their rates.
LEVEL = 0.1


@dataclass(frozen=True)
class Onset:
    """`kind` begins at instant `index` on a track; partner: the track it involves, or −1."""

    index: int
    track: int
    kind: OnsetKind
    partner: int = -1


@dataclass(frozen=True)
class _Regimes:
    """The regime of each mode at each instant, (T, R): whether it oscillates, is real, is real and
    grows, oscillates and grows; the track it is locked with, or −1."""

    oscillates: Mask
    real: Mask
    diverges: Mask
    flutters: Mask
    partner: Index


def find_onsets(eigenvalues: Complex, error: Array, counted: Mask) -> Iterator[Onset]:
    """The events at each instant, assigned to the first instant of the new regime.

    eigenvalues (T, R), without the terms that only exchange energy between motion and vibration
    (modal/tracking/variation.py); error (T, R): of them, rad/s; counted (T, R): what
    the frame prescribes is left out.

    "flutter onset": an oscillation begins to grow, with the mode it locked with, if any.
    "divergence onset": a mode becomes real and grows; where its decaying root stays on the track,
    on that and on the track of the growing one. "split": either ends. "critical damping": a
    mode ceases, or begins again, to oscillate while it decays.
    """
    now = _regimes(eigenvalues, error)
    known = np.isfinite(eigenvalues) & counted
    for n in range(1, len(eigenvalues)):
        for r in np.flatnonzero(known[n] & known[n - 1]).tolist():
            other, earlier = int(now.partner[n, r]), int(now.partner[n - 1, r])
            if now.diverges[n, r] and not now.diverges[n - 1, r]:
                yield Onset(n, r, "divergence onset")
            elif now.flutters[n, r] and not now.flutters[n - 1, r]:
                locks = other >= 0 > earlier
                yield from _pair(n, r, "flutter onset", other if locks else -1)
            elif now.flutters[n - 1, r] and now.oscillates[n, r] and not now.flutters[n, r]:
                parts = earlier >= 0 > other
                there = parts and bool(known[n, earlier])
                yield from _pair(n, r, "split", earlier if there else -1)
            elif now.diverges[n - 1, r] and not now.diverges[n, r] and not now.flutters[n, r]:
                yield Onset(n, r, "split")
            elif now.real[n, r] and now.oscillates[n - 1, r]:
                twin = _growing_twin(eigenvalues, now, n, r)
                yield from _pair(n, r, "critical damping" if twin < 0 else "divergence onset", twin)
            elif now.oscillates[n, r] and now.real[n - 1, r] and not now.flutters[n, r]:
                yield Onset(n, r, "critical damping")


def _growing_twin(eigenvalues: Complex, now: _Regimes, n: int, r: int) -> int:
    """The track that begins at n as the growing root of the pair whose other root r goes on as; −1
    for none. The two of them add up to twice the pair's damping, so they are nearly opposite.
    """
    begun = np.flatnonzero(now.diverges[n] & ~np.isfinite(eigenvalues[n - 1]))
    if not begun.size:
        return -1
    return int(begun[np.argmin(np.abs(eigenvalues[n, begun] + eigenvalues[n, r]))])


def _pair(n: int, r: int, kind: OnsetKind, other: int) -> Iterator[Onset]:
    yield Onset(n, r, kind, other)
    if other >= 0:
        yield Onset(n, other, kind, r)


def _regimes(eigenvalues: Complex, error: Array) -> _Regimes:
    known, size = np.isfinite(eigenvalues), np.abs(eigenvalues)
    with np.errstate(invalid="ignore"):
        floor = ROUND_OFF * np.maximum(size, np.nanmax(size, axis=0, initial=0.0) * ROUND_OFF)
        grows = known & (eigenvalues.real > floor + error)
        oscillates = known & (np.abs(eigenvalues.imag) > floor)
        real = known & ~oscillates & (np.abs(eigenvalues.real) > floor)
    partner = np.array([_locked(row) for row in eigenvalues], dtype=np.intp)
    partner = partner.reshape(eigenvalues.shape)
    return _Regimes(oscillates, real, real & grows, oscillates & grows, partner)


def _locked(lam: Complex) -> list[int]:
    """For each track the one it is locked with: same frequency, equal and opposite departure of the
    rates, −1 for none.
    """
    difference = lam[:, None] - lam[None, :]
    size = np.abs(lam)[:, None]
    with np.errstate(invalid="ignore"):
        level = np.abs(difference.imag) <= LEVEL * np.abs(difference.real)
        oscillates = np.abs(lam.imag) > ROUND_OFF * np.abs(lam)
        apart = np.abs(difference.real) > ROUND_OFF * size
        opposite = lam.real[:, None] * lam.real[None, :] < 0.0
        found = level & apart & np.logical_and.outer(oscillates, oscillates) & opposite
    return [int(np.flatnonzero(row)[0]) if row.any() else -1 for row in found]
