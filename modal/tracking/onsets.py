"""Onsets and ends of flutter and divergence between two instants, and critical damping."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from modal.eigen.tolerances import HALF
from modal.tracking.encounters import Encounter
from modal.tracking.matching import Match
from modal.tracking.snapshot import Snapshot
from modal.types import Array, Complex, Index, Mask


def onsets_between(
    a: Snapshot, b: Snapshot, match: Match, watched: Mask, counted: bool
) -> Iterator[Encounter]:
    """The onsets and ends of regimes between a and b, each once, in the middle.

    counted: the step is too short for two events. The numbers of growing modes then confirm an
    onset: where one mode begins to grow as another ceases to, they have exchanged their names.
    """
    if same_regimes(a, b, match):
        return
    begun = np.setdiff1d(np.arange(b.size), match.target)
    kept = np.flatnonzero(match.target >= 0)
    target = match.target[kept]
    lam = np.full((2, a.size + len(begun)), complex(np.nan, np.nan))
    error, watched_here = np.zeros(lam.shape), np.zeros(lam.shape[1], dtype=bool)
    (lam[0, : a.size], error[0, : a.size]), (onward, error_b) = a.steady, b.steady
    lam[1, kept], error[1, kept] = onward[target], error_b[target]
    lam[1, a.size :], error[1, a.size :] = onward[begun], error_b[begun]
    prescribed = (a.kind[kept] == "prescribed") | (b.kind[target] == "prescribed")
    watched_here[kept] = watched[kept] & ~prescribed
    before, after = (_numbers_growing(s) for s in (a, b))
    confirmed = {
        "flutter onset": after[0] > before[0],
        "divergence onset": after[1] > before[1],
        "split": sum(after) < sum(before),
    }
    done = set()
    for first, second, kind in find_onsets(lam, error, watched_here):
        if first >= a.size or (first, kind) in done or (counted and not confirmed.get(kind, True)):
            continue
        done.add((first, kind))
        newborn = int(begun[second - a.size]) if second >= a.size else -1
        partner = -1 if second >= a.size else second
        yield Encounter(first, partner, 0.5 * (a.at + b.at), 0.0, kind, newborn)


def _numbers_growing(s: Snapshot) -> tuple[int, int]:
    """How many modes flutter, and how many diverge."""
    oscillates = s.regimes[0]
    return int((s.growing & oscillates).sum()), int((s.growing & ~oscillates).sum())


def same_regimes(a: Snapshot, b: Snapshot, match: Match) -> Mask:
    """Whether every mode continues, and `find_onsets` sees it at b as at a; of P steps (P,)."""
    lam, error = a.steady
    onward, error_b = (match.onward(x) for x in b.steady)
    floor = HALF * np.maximum(np.abs(lam), np.abs(onward))
    same = (_seen(lam, error, floor) == _seen(onward, error_b, floor)).all(axis=0)
    same &= match.target >= 0
    return np.asarray(same.all(axis=-1) & (a.size == b.size))


def _seen(lam: Complex, error: Array, floor: Array) -> Mask:
    """Whether modes oscillate, are real, and grow, (3, R); floor: below which a part of λ is
    round-off."""
    with np.errstate(invalid="ignore"):
        oscillates = np.abs(lam.imag) > floor
        real = ~oscillates & (np.abs(lam.real) > floor)
        return np.stack([oscillates, real, lam.real > floor + error])


@dataclass(frozen=True)
class _Regime:
    """Of each mode at one instant: whether it oscillates, is real, and grows, and the mode it is
    locked with, or −1."""

    oscillates: Mask
    real: Mask
    grows: Mask
    partner: Index


def find_onsets(
    eigenvalues: Complex, error: Array, watched: Mask
) -> Iterator[tuple[int, int, str]]:
    """Mode, partner or −1, and kind of the events between two instants.

    eigenvalues (2, R), without the terms that only exchange energy between motion and vibration
    (modal/tracking/variation.py), NaN where a mode is not there; error (2, R): of them, rad/s.

    "flutter onset": an oscillation begins to grow, with the mode it locked with, if any.
    "divergence onset": a mode becomes real and grows; where its decaying root stays on the track,
    on that and on the track of the growing one. "split": either ends. "critical damping": a
    mode ceases, or begins again, to oscillate while it decays.
    """
    floor = HALF * np.abs(eigenvalues)
    with np.errstate(invalid="ignore"):
        floor = np.fmax(floor, HALF * floor[::-1])
    old, new = (_regime(*row) for row in zip(eigenvalues, error, floor, strict=True))
    known = watched & np.isfinite(eigenvalues).all(axis=0)

    def pair(r: int, kind: str, other: int) -> Iterator[tuple[int, int, str]]:
        yield r, other, kind
        if other >= 0:
            yield other, r, kind

    for r in np.flatnonzero(known).tolist():
        locked, was_locked = int(new.partner[r]), int(old.partner[r])
        flutters, fluttered = (x.oscillates[r] and x.grows[r] for x in (new, old))
        diverges, diverged = (x.real[r] and x.grows[r] for x in (new, old))
        if diverges and not diverged:
            yield r, -1, "divergence onset"
        elif flutters and not fluttered:
            yield from pair(r, "flutter onset", locked if was_locked < 0 else -1)
        elif fluttered and new.oscillates[r] and not flutters:
            parts = locked < 0 <= was_locked and known[was_locked]
            yield from pair(r, "split", was_locked if parts else -1)
        elif diverged and not diverges and not flutters:
            yield r, -1, "split"
        elif new.real[r] and old.oscillates[r]:
            # The growing root of the pair whose other root r goes on as: the two of them add up to
            # twice the pair's damping, so they are nearly opposite.
            begun = np.flatnonzero(new.real & new.grows & ~np.isfinite(eigenvalues[0]))
            other = -1
            if begun.size:
                sums = np.abs(eigenvalues[1, begun] + eigenvalues[1, r])
                other = int(begun[np.argmin(sums)])
            yield from pair(r, "critical damping" if other < 0 else "divergence onset", other)
        elif new.oscillates[r] and old.real[r] and not flutters:
            yield r, -1, "critical damping"


def _regime(lam: Complex, error: Array, floor: Array, level: float = 0.1) -> _Regime:
    """Modes of one instant, (R,).

    Two modes are locked when they have the same frequency, and equal and opposite departures of
    the rates: when the frequencies differ by less than the part `level` of the rates.
    """
    with np.errstate(invalid="ignore"):
        oscillates, real, grows = _seen(lam, error, floor)
        difference = lam[:, None] - lam[None, :]
        locked = np.abs(difference.imag) <= level * np.abs(difference.real)
        locked &= np.abs(difference.real) > HALF * np.abs(lam)[:, None]
        locked &= lam.real[:, None] * lam.real[None, :] < 0.0
        locked &= np.logical_and.outer(oscillates, oscillates)
        partner = np.where(locked.any(axis=1), locked.argmax(axis=1), -1)
        return _Regime(oscillates, real, grows, partner)
