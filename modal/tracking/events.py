"""Events along tracks: crossings, veerings with their gap, onsets and ends of flutter and
divergence, critical damping.

Events between two instants are classified in modal/tracking/following.py. Two cases need all
instants: a crossing exactly at an instant, and veerings whose eigenvalues do not separate again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from modal.data.growth import ROUND_OFF
from modal.tracking import hermite
from modal.types import Array, Complex

NAMES = (
    "none",
    "crossing",
    "veering",
    "critical damping",
    "unresolved",
    "split",
    "divergence onset",
    "flutter onset",
)
# The distance of two eigenvalues grows to this multiple of a veering's gap on both sides of it.
DIP = np.sqrt(2.0)


@dataclass(frozen=True)
class Meeting:
    """An event between instants `index` − 1 and `index` of track `first`, with track `second` or
    −1: the parameter, the least distance (rad/s) and the kind.
    """

    index: int
    first: int
    second: int
    at: float
    gap: float
    kind: str


@dataclass(frozen=True)
class Events:
    """event (T, R) one of NAMES, of the step before; partner (T, R) the other track, −1 for none;
    gap (T, R) rad/s of veerings or NaN; place (T, R) where, or NaN.
    """

    event: NDArray[np.str_]
    partner: NDArray[np.int32]
    gap: Array
    place: Array


def find_events(
    at: Array, eigenvalues: Complex, slope: Complex, meetings: list[Meeting]
) -> list[Events]:
    """All events of T instants and R tracks: the most severe of each cell, then the further ones.

    at (T,); eigenvalues (T, R), Im ≥ 0, rad/s; slope (T, R) their derivative. meetings: what was
    settled between instants.
    """
    found = [m for m in meetings if m.kind != "veering" or _parts(m, eigenvalues, meetings)]
    pairs = {
        (m.index, min(m.first, m.second), max(m.first, m.second)) for m in meetings if m.second >= 0
    }
    R = eigenvalues.shape[1]
    for i in range(R):
        for j in range(i + 1, R):
            found += _exact_crossings(at, eigenvalues, slope, pairs, i, j)
    direction = 1.0 if len(at) < 2 or at[-1] > at[0] else -1.0
    found.sort(key=lambda m: (direction * m.at, m.first, m.second))
    cells: dict[tuple[int, int], list[tuple[Meeting, int]]] = {}
    for m in sorted(found, key=lambda m: -NAMES.index(m.kind)):
        for one, other in ((m.first, m.second), (m.second, m.first)):
            if one >= 0:
                cells.setdefault((m.index, one), []).append((m, other))
    depth = max((len(cell) for cell in cells.values()), default=1)
    return [_layer(cells, n, eigenvalues.shape) for n in range(depth)]


def _layer(
    cells: Mapping[tuple[int, int], list[tuple[Meeting, int]]], n: int, shape: tuple[int, ...]
) -> Events:
    """The n-th event of every cell."""
    grade, partner = np.zeros(shape, dtype=int), np.full(shape, -1, dtype=np.int32)
    gap, place = np.full((2, *shape), np.nan)
    for at, cell in cells.items():
        if n < len(cell):
            m, partner[at] = cell[n]
            grade[at], place[at] = NAMES.index(m.kind), m.at
            gap[at] = m.gap if m.kind == "veering" else np.nan
    return Events(np.array(NAMES)[grade], partner, gap, place)


def _parts(m: Meeting, eigenvalues: Complex, meetings: list[Meeting]) -> bool:
    """Whether the two eigenvalues of a veering separate on both sides before they meet again."""
    pair = {m.first, m.second}
    others = [n.index for n in meetings if n is not m and {n.first, n.second} == pair]
    start = max((n for n in others if n < m.index), default=0)
    end = min((n for n in others if n > m.index), default=len(eigenvalues))
    distance = np.abs(eigenvalues[start:end, m.first] - eigenvalues[start:end, m.second])
    before, after = distance[: m.index - start], distance[m.index - start :]
    sides = [np.nanmax(x) if np.isfinite(x).any() else 0.0 for x in (before, after)]
    return bool(min(sides) >= DIP * m.gap)


def _exact_crossings(
    at: Array,
    eigenvalues: Complex,
    slope: Complex,
    settled: set[tuple[int, int, int]],
    i: int,
    j: int,
) -> list[Meeting]:
    """Crossings of two tracks that meet at an instant: their order changes over it."""
    direction = 1.0 if at[-1] >= at[0] else -1.0
    both = np.flatnonzero(np.isfinite(eigenvalues[:, i]) & np.isfinite(eigenvalues[:, j]))
    if len(both) < 2:
        return []
    lam = eigenvalues[both][:, [i, j]]
    difference, size = lam[:, 0] - lam[:, 1], np.abs(lam).max(axis=1)
    turning = np.abs(lam.imag).min(axis=1)
    apart = (np.abs(difference.imag) > ROUND_OFF * size) & (turning > ROUND_OFF * size)
    order = np.where(apart, np.sign(difference.imag), 0.0)
    ordered = np.flatnonzero(order)
    changes = np.flatnonzero(order[ordered[1:]] != order[ordered[:-1]])
    found = []
    for p, q in zip(ordered[changes], ordered[changes + 1], strict=True):
        inside = range(int(both[p]) + 1, int(both[q]) + 1)
        locked = difference[p + 1 : q]
        if any((n, i, j) in settled for n in inside) or np.any(
            np.abs(locked) > ROUND_OFF * size[p + 1 : q]
        ):
            continue
        n, m = both[p], both[q]
        if q > p + 1:
            place = float(at[both[p + 1]])
        else:
            step = at[m] - at[n]
            rates = [(slope[x, i] - slope[x, j]).imag * step for x in (n, m)]
            rates = [float(x) if np.isfinite(x) else 0.0 for x in rates]
            ends = float(difference[p].imag), float(difference[q].imag)
            place = float(at[n] + hermite.root(*ends, *rates) * step)
        index = (
            int(n) + 1 + int(np.searchsorted(direction * at[n + 1 : m], direction * place, "right"))
        )
        found.append(Meeting(index, i, j, place, 0.0, "crossing"))
    return found
