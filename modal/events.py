"""Events along tracks: crossings, veerings with their gap, onsets and ends of flutter and
divergence, critical damping.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modal.onsets import ROUND_OFF, find_onsets

Real = NDArray[np.float64]
Complex = NDArray[np.complex128]

NAMES = (
    "none",
    "crossing",
    "veering",
    "critical damping",
    "split",
    "divergence onset",
    "flutter onset",
)
# A veering is followed from its least distance to this multiple of it on both sides, …
BRACKET = 3.0
# … or as far as there are instants, but to this multiple at least. On the way the two shapes of a
# pure veering turn by ½ Σ atan √(multiple² − 1), those of uncoupled modes not at all; this
# part of it counts.
DIP = np.sqrt(2.0)
TURN = 0.6


@dataclass(frozen=True)
class Meeting:
    """Two tracks met between instants `index` − 1 and `index`: at which parameter, least distance
    (rad/s), what.
    """

    index: int
    first: int
    second: int
    at: float
    gap: float
    kind: str


@dataclass(frozen=True)
class Between:
    """An extra instant before instant `index`: where, and the eigenvalue of each track (R,), NaN
    for none.
    """

    index: int
    at: float
    eigenvalues: Complex


@dataclass(frozen=True)
class Events:
    """event (T, R) one of NAMES; partner (T, R) the other track, −1 for none; gap (T, R) rad/s of
    veerings or NaN.
    """

    event: NDArray[np.str_]
    partner: NDArray[np.int32]
    gap: Real


class _Board:
    """Events are written in any order; the graver one stays."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.grade = np.zeros(shape, dtype=int)
        self.partner = np.full(shape, -1, dtype=np.int32)
        self.gap = np.full(shape, np.nan)

    def write(self, n: int, row: int, kind: str, partner: int = -1, gap: float = np.nan) -> None:
        grade = NAMES.index(kind)
        if grade > self.grade[n, row]:
            self.grade[n, row], self.partner[n, row], self.gap[n, row] = grade, partner, gap

    def events(self) -> Events:
        return Events(np.array(NAMES)[self.grade], self.partner, self.gap)


def find_events(
    at: Real,
    eigenvalues: Complex,
    error: Real,
    rate: Real,
    doubt: Real,
    elastic: NDArray[np.bool_],
    turns: NDArray[np.floating[Any]],
    meetings: list[Meeting],
    between: list[Between],
) -> Events:
    """All events of T instants and R tracks.

    at (T,); eigenvalues (T, R), Im ≥ 0, and their error (T, R), rad/s; rate, doubt (T, R): growth
    rate for onsets and its error (modal/onsets.py); elastic (T, R). turns (T − 1, R, R): the angle
    by which the shape of one track turns into that of another from an instant to the next, rad.
    meetings: what the follower settled between instants. between: the extra instants it took.
    """
    board = _Board(eigenvalues.shape)
    settled = set()
    for m in meetings:
        gap = m.gap if m.kind == "veering" else np.nan
        board.write(m.index, m.first, m.kind, m.second, gap)
        board.write(m.index, m.second, m.kind, m.first, gap)
        settled |= {(m.index, m.first, m.second), (m.index, m.second, m.first)}
    R = eigenvalues.shape[1]
    for i in range(R):
        for j in range(i + 1, R):
            _pair_events(board, at, eigenvalues, turns, settled, between, i, j)
    for onset in find_onsets(eigenvalues, error, rate, doubt, elastic):
        board.write(onset.index, onset.track, onset.kind, onset.partner)
    return board.events()


def _pair_events(
    board: _Board,
    at: Real,
    eigenvalues: Complex,
    turns: NDArray[np.floating[Any]],
    settled: set[tuple[int, int, int]],
    between: list[Between],
    i: int,
    j: int,
) -> None:
    both = np.flatnonzero(np.isfinite(eigenvalues[:, i]) & np.isfinite(eigenvalues[:, j]))
    if len(both) < 2:
        return
    difference = eigenvalues[both, i] - eigenvalues[both, j]
    size = np.maximum(np.abs(eigenvalues[both, i]), np.abs(eigenvalues[both, j]))
    turning = np.minimum(np.abs(eigenvalues[both, i].imag), np.abs(eigenvalues[both, j].imag))
    apart = (np.abs(difference.imag) > ROUND_OFF * size) & (turning > ROUND_OFF * size)
    order = np.where(apart, np.sign(difference.imag), 0.0)
    ordered = np.flatnonzero(order)
    changes = np.flatnonzero(order[ordered[1:]] != order[ordered[:-1]])
    for p, q in zip(ordered[changes], ordered[changes + 1], strict=True):
        inside = range(int(both[p]) + 1, int(both[q]) + 1)
        locked = difference[p + 1 : q]
        if any((n, i, j) in settled for n in inside) or np.any(
            np.abs(locked) > ROUND_OFF * size[p + 1 : q]
        ):
            continue
        board.write(int(both[q]), i, "crossing", j)
        board.write(int(both[q]), j, "crossing", i)
    distance = np.abs(difference)
    lows = np.flatnonzero((distance[1:-1] <= distance[:-2]) & (distance[1:-1] < distance[2:])) + 1
    for p in lows:
        n = int(both[p])
        if {(n, i, j), (n + 1, i, j)} & settled or distance[p] <= ROUND_OFF * size[p]:
            continue
        wide = distance >= BRACKET * distance[p]
        before, after = np.flatnonzero(wide[:p]), np.flatnonzero(wide[p:])
        start = int(before[-1]) if len(before) else 0
        end = p + int(after[0]) if len(after) else len(both) - 1
        if order[start] != order[end] or np.any(
            difference[start : end + 1].real ** 2 > distance[start : end + 1] ** 2 / 2
        ):
            continue
        wider = np.array([distance[start], distance[end]]) / distance[p]
        if wider.min() < DIP:
            continue
        turned = turns[both[start] : both[end]]
        expected = 0.5 * np.arctan(np.sqrt(wider**2 - 1.0)).sum()
        if max(turned[:, i, j].sum(), turned[:, j, i].sum()) > TURN * expected:
            here = slice(p - 1, p + 2)
            first, last = int(both[p - 1]), int(both[p + 1])
            cuts = [x for x in between if first < x.index <= last]
            gap = _least(
                np.concatenate(
                    [difference[here], [x.eigenvalues[i] - x.eigenvalues[j] for x in cuts]]
                ),
                np.concatenate([at[both[here]], [x.at for x in cuts]]),
            )
            board.write(n, i, "veering", j, gap)
            board.write(n, j, "veering", i, gap)


def _least(difference: Complex, place: Real) -> float:
    """The least distance, on the parabola of the squared difference through the instant where it
    is least and its neighbours.
    """
    known = np.isfinite(difference)
    order = np.argsort(place[known])
    difference, place = difference[known][order], place[known][order]
    p = int(np.clip(np.abs(difference).argmin(), 1, len(place) - 2))
    here = slice(p - 1, p + 2)
    c2, c1, c0 = np.polyfit(
        (place[here] - place[p]) / (place[p + 1] - place[p - 1]), difference[here] ** 2, 2
    )
    if c2 == 0.0:
        return float(np.abs(difference[p]))
    least = np.sqrt(abs(c0 - c1**2 / (4.0 * c2)))
    return float(min(least, np.abs(difference).min()))
