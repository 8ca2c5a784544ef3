"""The record of a tracking run: which mode of each instant is on which track.

Of the instants that lie behind only numbers are kept (modal/track_rows.py); vectors are held of
the last two instants and of modes that left the window.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from modal.events import Between, Meeting
from modal.following import Rules, Step, follow
from modal.links import Motion, across, coupling, link
from modal.matching import Match, Overlap, align, clusters
from modal.snapshot import Complex, Index, Mask, Real, Snapshot
from modal.track_rows import Rows


@dataclass(frozen=True)
class State:
    """Where a run stands after `count` instants.

    recent: the last two snapshots. ended: the last shape of each track that left the window.
    visible (R,): tracks that are reported. motion: of the last link. extra: extra instants.
    meetings, between: how many of each are settled.
    """

    count: int = 0
    recent: tuple[Snapshot, ...] = ()
    ended: Mapping[int, Snapshot] = field(default_factory=dict)
    visible: Mask = field(default_factory=lambda: np.zeros(0, dtype=bool))
    motion: Motion | None = None
    extra: int = 0
    meetings: int = 0
    between: int = 0


class Recorder:
    """Takes the snapshots of successive instants and follows every mode of the window.

    k: a track is reported once it was among the k lowest elastic modes or the rigid ones below
    them. solve(s): the modes at an extra instant. rate: speed of the parameter, 1 for time, None
    for a parameter that is steady at each value. carry(snapshot): the same modes in the coordinates
    of the latest snapshots.

    `state` is replaced in one assignment, after all of an instant is written: an interruption at
    any moment leaves the record of whole instants.
    """

    def __init__(
        self,
        k: int,
        solve: Callable[[float], Snapshot],
        rules: Rules,
        rate: float | None,
        carry: Callable[[Snapshot], Snapshot] | None = None,
    ) -> None:
        self.k, self.rules, self.rate = k, rules, rate
        self.rows, self.state = Rows(), State()
        self._meetings: list[Meeting] = []
        self._between: list[Between] = []
        self._solve, self._carry = solve, carry
        self._extras = 0

    @property
    def count(self) -> int:
        """Instants recorded."""
        return self.state.count

    @property
    def meetings(self) -> list[Meeting]:
        """What was settled between instants."""
        return self._meetings[: self.state.meetings]

    @property
    def between(self) -> list[Between]:
        """The extra instants and their eigenvalues."""
        return self._between[: self.state.between]

    def restore(self, state: State, meetings: list[Meeting], between: list[Between]) -> None:
        """Go on from a state; the rows are put back already."""
        self.state, self._meetings, self._between = state, meetings, between

    def add(self, snapshot: Snapshot) -> None:
        """Record the next instant."""
        if not self.count:
            self.rows.put(0, snapshot, np.arange(snapshot.size))
            self.state = State(1, (snapshot,), {}, self._lowest(snapshot))
            return
        self.bring(len(snapshot.right))
        del self._meetings[self.state.meetings :], self._between[self.state.between :]
        self._extras = self.state.extra
        a = self.state.recent[-1]
        if self.count == 1 and clusters(a.eigenvalues):
            # Nothing came before: the next instant says which basis goes on.
            a = align(a, snapshot)
            self.rows.put(0, a, np.arange(a.size))
            self.state = replace(self.state, recent=(a,))
        index = self.rows.index(self.count - 1, len(self.state.visible))
        present = np.flatnonzero(index >= 0)
        track = np.full(a.size, -1)
        track[index[present]] = present
        watched = np.zeros(a.size, dtype=bool)
        watched[index[present]] = self.state.visible[present]
        step = follow(a, snapshot, self._slope(a), watched, self._extra, self.rules)
        self._extend(a, step, index, track)

    def bring(self, size: int) -> None:
        """Bring what is held into the coordinates of a basis of `size` vectors."""
        state = self.state
        if self._carry is not None and state.count and len(state.recent[-1].right) != size:
            recent = tuple(self._carry(s) for s in state.recent)
            ended = {row: self._carry(s) for row, s in state.ended.items()}
            self.state = replace(state, recent=recent, ended=ended)

    def _lowest(self, snapshot: Snapshot) -> Mask:
        """The k lowest elastic modes and the rigid ones below them, (K,)."""
        elastic = np.cumsum(snapshot.kind == "elastic")
        return np.asarray((elastic <= self.k) & ((elastic < self.k) | (snapshot.kind == "elastic")))

    def _extra(self, at: float) -> Snapshot:
        self._extras += 1
        return self._solve(at)

    def _last_step(self) -> tuple[Index, Mask]:
        """Of the modes of the instant before the last: their modes at the last, −1 for none, and
        whether they went on as the conjugate.
        """
        n, tracks = self.count - 1, len(self.state.visible)
        old, new = self.rows.index(n - 1, tracks), self.rows.index(n, tracks)
        there = np.flatnonzero(old >= 0)
        target = np.full(len(there), -1, dtype=np.intp)
        target[old[there]] = new[there]
        return target, self.rows.tables["flipped"].rows(n, n + 1, len(there))[0]

    def _slope(self, a: Snapshot) -> Complex:
        """dλ/ds of the modes of the last instant from the one before, zero where there is none."""
        slope = np.zeros(a.size, dtype=complex)
        if self.count < 2:
            return slope
        before = self.state.recent[-2]
        target, flipped = self._last_step()
        old = np.flatnonzero(target >= 0)
        lam = np.where(flipped[old], before.eigenvalues[old].conj(), before.eigenvalues[old])
        slope[target[old]] = (a.eigenvalues[target[old]] - lam) / (a.at - before.at)
        return slope

    def _extend(self, a: Snapshot, step: Step, index: Index, track: Index) -> None:
        b, match, state = step.b, step.match, self.state
        n, present = state.count, np.flatnonzero(index >= 0)
        onward = np.full(len(index), -1, dtype=np.intp)
        onward[present] = match.target[index[present]]
        known = link(step.overlap, match, self.rate is not None)
        ended = dict(state.ended)
        for row in np.flatnonzero((index >= 0) & (onward < 0)):
            ended[int(row)] = a.mode(int(index[row]))
        new = self._returned(b, ended, onward, np.setdiff1d(np.arange(b.size), onward))
        there = np.concatenate([onward, new])
        for at, lam in step.between:
            values = np.full(len(index), complex(np.nan, np.nan))
            values[present] = lam[index[present]]
            self._between.append(Between(n, at, values))
        for e in step.encounters:
            rows = (int(track[e.first]), int(track[e.second]))
            if min(rows) >= 0:
                self._meetings.append(Meeting(n, *rows, e.at, e.gap, e.kind))
        coupled = self.coupling(known.motion, b.at)
        self.rows.put(n, b, there, known, coupled, self._two_steps(b, match))
        visible = np.concatenate([state.visible, np.zeros(len(new), dtype=bool)])
        visible |= (there >= 0) & self._lowest(b)[there]
        self.state = State(
            n + 1, (a, b), ended, visible, known.motion,
            self._extras, len(self._meetings), len(self._between),
        )  # fmt: skip

    def _returned(
        self, b: Snapshot, ended: dict[int, Snapshot], onward: Index, new: Index
    ) -> Index:
        """Put modes that come back on the track they left (in `onward`); what is left is new."""
        for row, last in list(ended.items()):
            if not new.size:
                break
            overlap = Overlap.between(last, b)
            best = int(new[np.argmax(overlap.mac[0, new])])
            if overlap.mac[0, best] > self.rules.known_mac:
                onward[row] = best
                new = new[new != best]
                del ended[row]
        return new

    def _two_steps(self, b: Snapshot, match: Match) -> tuple[Real, Real]:
        """Overlaps of the instant before the last with b, (K,) each."""
        if self.rate is None or len(self.state.recent) < 2:
            return np.zeros(0), np.zeros(0)
        target, flipped = self._last_step()
        there = np.flatnonzero(target >= 0)
        flipped[there] ^= match.mirrored[target[there]]
        target[there] = match.target[target[there]]
        return across(self.state.recent[0], target, b, flipped)

    def coupling(self, after: Motion | None = None, at: float = np.nan) -> Real:
        """Of the modes of the last instant, (K,). after: the link from it to the value `at`."""
        if self.rate is None:
            return np.zeros(0)
        a, motion = self.state.recent[-1], self.state.motion
        ahead = None if after is None else (after.from_first, (at - a.at) / self.rate)
        behind = None
        if motion is not None:
            behind = (motion.from_second, (a.at - self.state.recent[-2].at) / self.rate)
        return coupling(a.eigenvalues, a.energy_gram, behind, ahead)
