"""Steps of a track on which nothing happens, found for many steps at once.

On most steps every mode goes on as itself, none starts or stops growing or oscillating, and no two
veer. Where that is clear the match and the absence of events follow from the two instants, by the
criteria of modal/tracking/matching.py and inspection.py evaluated for all steps in arrays.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from modal.tracking.inspection import (
    Search,
    distances_inside,
    regime_changes,
    regimes,
    veerings_inside,
)
from modal.tracking.matching import MERGING, Match, clusters, macs, pairings, real
from modal.tracking.snapshot import Snapshot
from modal.types import Array, Mask

# MAC from which another assignment costs more: the MACs of a mode add up to 1 at most, and the
# other parts of the cost of two modes (modal/tracking/matching.py) are less than 2 × (0.9 − 0.1).
CERTAIN = 0.9


def quiet_steps(snapshots: Sequence[Snapshot], search: Search) -> dict[tuple[float, float], Match]:
    """The matches of those steps between successive snapshots that are clear and without events,
    by the values at their ends."""
    usable = [_usable(s) for s in snapshots]
    places = [
        n
        for n in range(len(snapshots) - 1)
        if usable[n] and usable[n + 1] and snapshots[n].size == snapshots[n + 1].size
    ]
    groups: dict[tuple[int, ...], list[int]] = {}
    for n in places:
        groups.setdefault(snapshots[n].right.shape, []).append(n)
    found = {}
    for steps in groups.values():
        first, last = [snapshots[n] for n in steps], [snapshots[n + 1] for n in steps]
        if first[0].right.shape[0] == last[0].right.shape[0]:
            found.update(_quiet(first, last, search))
    return found


def _usable(s: Snapshot) -> bool:
    return (
        s.variation is not None
        and not s.defective.any()
        and bool(np.all(s.kind == "elastic"))
        and not real(s.eigenvalues).any()
        and not clusters(s.eigenvalues)
    )


def _quiet(
    first: list[Snapshot], last: list[Snapshot], search: Search
) -> dict[tuple[float, float], Match]:
    count, K = len(first), first[0].size
    a, b = _Stack(first), _Stack(last)
    forward = pairings(a.lam, a.dual, b.lam, b.right)
    backward = pairings(b.lam, b.dual, a.lam, a.right)
    direct, mirror = (x * y.swapaxes(1, 2) for x, y in zip(forward, backward, strict=True))
    none = np.zeros((count, 1, 1), dtype=bool)
    mac, _, ahead = macs(direct, mirror, none[:, 0], none[:, 0], none)
    own = np.diagonal(mac, axis1=1, axis2=2)
    quiet = (own >= CERTAIN).all(axis=1) & (ahead <= MERGING).all(axis=1)
    quiet &= _in_order(a.lam.imag, b.lam.imag)
    flags = regimes(a.steady, a.error), regimes(b.steady, b.error)
    quiet &= (flags[0] == flags[1]).all(axis=(0, 2)) & flags[0][0].all(axis=1)
    length = np.array([later.at - s.at for s, later in zip(first, last, strict=True)])[:, None]
    ends = (a.steady, b.steady, length * a.steady_slope, length * b.steady_slope)
    for reached, _ in regime_changes(ends, (a.error, b.error)):
        quiet &= ~reached.any(axis=1)
    near = distances_inside((a.lam, b.lam), (length * a.slope, length * b.slope))
    suspect = (near.approach | near.unclear).any(axis=1)
    found, every = {}, np.arange(K)
    for n in np.flatnonzero(quiet):
        match = Match(every, np.zeros(K, dtype=bool), own[n], own[n])
        step = first[n], last[n]
        if suspect[n] and veerings_inside(*step, every, near.step(n), match, set(), search) != []:
            continue
        found[step[0].at, step[1].at] = match
    return found


class _Stack:
    """Arrays of several snapshots."""

    def __init__(self, snapshots: list[Snapshot]) -> None:
        self.lam, self.dual, self.right = (
            np.stack([getattr(s, name) for s in snapshots])
            for name in ("eigenvalues", "dual", "right")
        )
        self.steady = np.stack([s.steady[0] for s in snapshots])
        self.error = np.stack([s.steady[1] for s in snapshots])
        self.slope, self.steady_slope = (
            np.stack([getattr(s.variation, name) for s in snapshots])
            for name in ("slope", "steady_slope")
        )


def _in_order(before: Array, after: Array) -> Mask:
    """Whether all frequencies (P, K) have the same order at both ends."""
    apart = [x[:, :, None] - x[:, None, :] for x in (before, after)]
    return np.asarray((apart[0] * apart[1] >= 0.0).all(axis=(1, 2)))
