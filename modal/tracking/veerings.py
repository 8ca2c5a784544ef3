"""Least distances of two eigenvalues inside a step that are veerings, or where to cut the step.

A veering is distinguished from an approach of two modes by the rate at which the shapes turn into
each other at the least distance g. A pure veering has Δ = (λ_i − λ_j)² = g² + c²s², the angle
½ atan(cs/g) and the rate c/2g.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modal.data.growth import ROUND_OFF
from modal.tracking import hermite
from modal.tracking.encounters import Encounter
from modal.tracking.matching import Match
from modal.tracking.snapshot import Snapshot
from modal.types import Array, Complex, Index, Mask

# Fraction of the turning rate of a pure veering from which an approach is a veering.
TURN = 0.6
# Fraction of it, predicted from a distance, from which an approach is followed to its end.
SUSPECTED = 0.25
# A veering is closer than this fraction of the frequency.
WIDEST = 0.25
# A veering is located to this part of its width.
OF_WIDTH = 1e-2
# The error of the cubic may be this part of a distance to an event.
CLEAR = 0.5


@dataclass
class Search:
    """tolerance: to which an onset is located, in units of the swept value. left: extra instants
    that may still be spent on the step.
    """

    tolerance: float
    left: int


@dataclass(frozen=True)
class Doubt:
    """A step that is not accepted: where to cut it, and the modes of the expected event."""

    at: float
    first: int
    second: int = -1

    def unresolved(self) -> Encounter:
        return Encounter(self.first, self.second, self.at, 0.0, "unresolved")


def veerings_inside(
    a: Snapshot,
    b: Snapshot,
    number: NDArray[Any],
    near: Distances,
    match: Match,
    settled: set[frozenset[int]],
    search: Search,
) -> Doubt | list[Encounter]:
    """The least distances of two modes inside the step that are veerings, or where to cut.

    number (R,): modes of a whose distances are `near`. settled: pairs whose events are known.
    """
    length, found = b.at - a.at, []
    p, q = near.pairs
    d, size, between, passes, unclear = near.ends, near.size, near.along, near.passes, near.unclear
    approach = near.approach
    for n in np.flatnonzero(approach | unclear):
        i, j = int(number[p[n]]), int(number[q[n]])
        if frozenset((i, j)) in settled:
            continue
        ends = [x[n] for x in d]
        dip = _dip(ends) if approach[n] and not passes[n] else None
        if dip is not None and not unclear[n]:
            if dip.gap > 2.0 * WIDEST * size[n] or not _suspected(a, b, match, i, j, ends, dip):
                continue
        if dip is None:
            if not unclear[n]:
                continue
            # Two crossings inside the step have the other order between them.
            order = between[:, n].imag * np.sign(ends[0].imag)
            tau = hermite.lowest(order if passes[n] else np.abs(between[:, n]))
            tau = tau if 0.02 < tau < 0.98 else 0.5
            doubt = Doubt(a.at + tau * length, i, j)
        else:
            width = dip.gap / max(abs(ends[2]), abs(ends[3]), 1e-300)
            edge = max(search.tolerance / abs(length), OF_WIDTH * width)
            if min(dip.tau, 1.0 - dip.tau) <= edge:
                at_b = dip.tau > 0.5
                turn = _turn(b if at_b else a, *(_numbers(match, i, j) if at_b else (i, j)))
                place = a.at + dip.tau * length
                narrow = dip.gap <= WIDEST * size[n]
                if narrow and 2.0 * turn * abs(length) * dip.gap >= TURN * dip.speed:
                    found.append(Encounter(i, j, place, dip.gap, "veering"))
                continue
            doubt = Doubt(a.at + dip.tau * length, i, j)
        if search.left > 0:
            return doubt
        found.append(doubt.unresolved())
    return found


@dataclass(frozen=True)
class Distances:
    """The differences of all pairs of modes inside a step.

    pairs: places of the modes of each pair. ends: at both ends, and their slopes times the length
    of the step; size: the larger |λ|. along (PLACES, pairs): between the ends. passes: whether
    the order of frequency changes; unclear, approach: whether it may, and whether the distance has
    a least value inside.
    """

    pairs: tuple[Index, Index]
    ends: list[Complex]
    size: Array
    along: Complex
    passes: Mask
    unclear: Mask
    approach: Mask


def distances_inside(lam: tuple[Complex, Complex], slope: tuple[Complex, Complex]) -> Distances:
    """From λ and slopes times the length of the step at both ends, each (R,)."""
    p, q = np.triu_indices(lam[0].shape[-1], 1)
    d = [x[..., p] - x[..., q] for x in (*lam, *slope)]
    absolute = np.abs(lam[0])
    size = np.maximum(absolute[..., p], absolute[..., q])
    usable = (np.abs(d[0]) > ROUND_OFF * size) & (np.abs(d[1]) > ROUND_OFF * size)
    for x in lam:
        moving = np.abs(x.imag)
        usable &= np.minimum(moving[..., p], moving[..., q]) > ROUND_OFF * size
    usable &= np.isfinite(d[2]) & np.isfinite(d[3]) & (d[0].imag * d[1].imag > 0.0)
    approach = ((d[0].conj() * d[2]).real < 0.0) & ((d[1].conj() * d[3]).real >= 0.0)
    along = hermite.along(hermite.coefficients(*d))
    nearest = np.abs(along).min(axis=0)
    passes = (along.imag * np.sign(d[0].imag)).min(axis=0) < 0.0
    unclear = usable & (passes | (hermite.error(*d) > CLEAR * nearest))
    return Distances((p, q), d, size, along, passes, unclear, usable & approach)


@dataclass(frozen=True)
class _Dip:
    """Least distance of two eigenvalues: τ, rad/s, and √(Δ″/2) there, per length of the step."""

    tau: float
    gap: float
    speed: float


def _dip(ends: list[complex]) -> _Dip:
    """From the cubic of Δ = (λ_i − λ_j)² over the step."""
    start, end, slope, onward = ends
    squares = start**2, end**2, 2.0 * start * slope, 2.0 * end * onward
    c = hermite.coefficients(*(np.asarray(x) for x in squares))
    tau = hermite.lowest(np.abs(hermite.along(c)))
    bend = abs(complex(c[2] + 3.0 * c[3] * tau))
    return _Dip(tau, float(np.sqrt(np.abs(hermite.value(c, tau)))), float(np.sqrt(bend)))


def _numbers(match: Match, i: int, j: int) -> tuple[int, int]:
    return int(match.target[i]), int(match.target[j])


def _turn(s: Snapshot, i: int, j: int) -> float:
    """Rate at which the shapes of two modes turn into each other, rad per unit of the sweep."""
    assert s.variation is not None
    change = s.variation.change[0]
    distance = abs(s.eigenvalues[i] - s.eigenvalues[j])
    return float(np.sqrt(abs(change[i, j] * change[j, i])) / max(distance, 1e-300))


def _suspected(
    a: Snapshot, b: Snapshot, match: Match, i: int, j: int, ends: list[complex], dip: _Dip
) -> bool:
    """Whether the shapes turn, at either end, as they do on the way to a veering of this gap.

    At distance D a veering of gap g turns by 2θ′ = g √(D² − g²)/D² × |d|D|/ds| … and g follows.
    """
    length = abs(b.at - a.at)
    one, two = _turn(a, i, j), _turn(b, *_numbers(match, i, j))
    for turn, distance, slope in ((one, ends[0], ends[2]), (two, ends[1], ends[3])):
        wide = 4.0 * (turn * length) ** 2 * abs(distance) ** 2
        along = abs((np.conj(distance) * slope).real) / abs(distance)
        predicted = abs(distance) * np.sqrt(wide / max(along**2 + wide, 1e-300))
        if predicted >= SUSPECTED * dip.gap:
            return True
    return False
