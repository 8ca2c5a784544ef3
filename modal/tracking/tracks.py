"""The record of a tracking run: which mode of each instant is on which track.

Only numbers are stored of past instants, one row of each table, nothing of order n. Vectors are
stored of the last instant and of modes that left the window.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modal.tracking.encounters import Encounter
from modal.tracking.following import Follower, Step
from modal.tracking.matching import Match, Overlap, align
from modal.tracking.rates import instant_rates
from modal.tracking.snapshot import Snapshot
from modal.tracking.sources import Source
from modal.tracking.sweep import Request
from modal.tracking.variation import diagonal
from modal.types import Array, Index, Mask

KINDS = ("", "elastic", "rigid", "prescribed")
NOTHING = complex(np.nan, np.nan)
# Type and fill of each table, whose row at instant n is by mode of n. spin: the only entry of its
# row; index: mode of each track, −1 for none.
TABLES: Mapping[str, tuple[str, Any]] = {
    "eigenvalue": ("c16", NOTHING),
    "energy": ("f8", np.nan),
    "backward_error": ("f8", np.nan),
    "condition_number": ("f8", np.nan),
    "kind": ("i1", 0),
    "whirl": ("f8", np.nan),
    "slope": ("c16", NOTHING),
    "curvature": ("c16", NOTHING),
    "by_energy": ("f8", np.nan),
    "by_amplitude": ("f8", np.nan),
    "coupling": ("f8", np.nan),
    "steady": ("c16", NOTHING),
    "mac": ("f8", np.nan),
    "certainty": ("f8", np.nan),
    "spin": ("f8", np.nan),
    "index": ("i2", -1),
}


class Rows:
    """The numbers of every instant of a run, by name of TABLES.

    moving: rates along a motion are requested.
    """

    def __init__(self, moving: bool = True) -> None:
        self._moving = moving
        self._rows: list[dict[str, NDArray[Any]]] = []
        self._known: tuple[Snapshot, dict[str, NDArray[Any]]] | None = None

    def put(
        self, n: int, snapshot: Snapshot, spin: float, index: Index, match: Match | None = None
    ) -> None:
        """Row n. spin: of the rotation, rad/s. match: of the instant before with this one."""
        row = self._of_modes(snapshot) | dict(spin=np.array([spin]), index=index)
        if match is not None:
            kept = match.target >= 0
            for name in ("mac", "certainty"):
                row[name] = np.full(snapshot.size, np.nan)
                row[name][match.target[kept]] = getattr(match, name)[kept]
        self._rows[n:] = [row]

    def _of_modes(self, snapshot: Snapshot) -> dict[str, NDArray[Any]]:
        """What is known of the modes of an instant, of a stack for all of its instants at once."""
        if snapshot.stack is None or (self._moving and snapshot.clusters):
            return _of_modes(snapshot, self._moving)
        stack, n = snapshot.stack
        if self._known is None or self._known[0] is not stack:
            self._known = stack, _of_modes(stack, self._moving)
        return {name: values[n] for name, values in self._known[1].items()}

    def table(self, name: str, rows: slice) -> NDArray[Any]:
        """The rows of a table, as wide as the widest of them."""
        dtype, fill = TABLES[name]
        parts = [row.get(name, ()) for row in self._rows[rows]]
        table = np.full((len(parts), max(map(len, parts), default=0)), fill, dtype)
        for line, part in zip(table, parts, strict=True):
            line[: len(part)] = part
        return table

    def block(self, start: int, stop: int) -> dict[str, NDArray[Any]]:
        """Rows start … stop − 1 of every table."""
        return {name: self.table(name, slice(start, stop)) for name in TABLES}

    def restore(self, start: int, block: Mapping[str, NDArray[Any]]) -> int:
        """Restore the rows that `block` returned, and the number of the next one."""
        count = len(block["index"])
        self._rows[start:] = [{name: v[n] for name, v in block.items()} for n in range(count)]
        return start + count

    def spins(self, count: int) -> Array:
        """Of the rotation at the first instants, (count,), rad/s."""
        return np.asarray(self.table("spin", slice(count))[:, 0])

    def index(self, rows: slice, tracks: Index | slice) -> Index:
        """Mode of given tracks at some instants, −1 for none."""
        return np.asarray(self.table("index", rows)[:, tracks], dtype=np.intp)

    def of(self, name: str, index: Index) -> NDArray[Any]:
        """A variable by track at the first T instants, (T, R), from the `index` of these."""
        table, (dtype, fill) = self.table(name, slice(len(index))), TABLES[name]
        # The first row of some variables is empty, and may have more modes than all others.
        known = (index >= 0) & (index < table.shape[1])
        values = np.full(index.shape, fill, dtype)
        values[known] = table[np.nonzero(known)[0], index[known]]
        return values


def _of_modes(s: Snapshot, moving: bool) -> dict[str, NDArray[Any]]:
    codes = [KINDS.index(kind) for kind in s.kind.ravel().tolist()]
    row = instant_rates(s, moving) | dict(
        eigenvalue=s.eigenvalues,
        energy=diagonal(s.energy_gram).real,
        backward_error=s.backward_error,
        condition_number=s.condition_number,
        kind=np.array(codes, dtype=np.int8).reshape(s.kind.shape),
    )
    return row if s.whirling is None else row | dict(whirl=s.whirling.number)


def default_guard(k: int) -> int:
    """Number of further modes that are solved for k that are followed."""
    return 2 + k // 4


@dataclass(frozen=True)
class State:
    """The state of a run after `count` instants.

    last: the snapshot of the last one. ended: the last shape of each track that left the window.
    visible (R,): tracks that are reported. extra: extra instants. meetings: how many are settled.
    """

    count: int = 0
    last: Snapshot | None = None
    ended: Mapping[int, Snapshot] = field(default_factory=dict)
    visible: Mask = field(default_factory=lambda: np.zeros(0, dtype=bool))
    extra: int = 0
    meetings: int = 0


class Recorder:
    """Takes the snapshots of successive instants and follows every mode of the window.

    A track is reported once it was among the k lowest elastic modes or the rigid ones below them,
    or grew. source: of the modes at extra instants.

    `state` is replaced in one assignment, after all of an instant is written: an interruption at
    any moment leaves the record of whole instants.
    """

    def __init__(self, request: Request, source: Source | None) -> None:
        self.k, self.rules, self.rate = request.k, request.rules, request.rate
        self.at = request.sweep.at
        self.rows, self.state = Rows(self.rate is not None), State()
        self._meetings: list[Encounter] = []
        self._source = source
        self._follower = Follower(self._extra, self.rules, float(np.ptp(self.at)))
        self._extras, self._solved = 0, dict[float, Snapshot]()

    @property
    def count(self) -> int:
        """Instants recorded."""
        return self.state.count

    @property
    def meetings(self) -> list[Encounter]:
        """The events between instants."""
        return self._meetings[: self.state.meetings]

    def restore(self, state: State, meetings: list[Encounter]) -> None:
        """Continue from a state; the rows are already restored."""
        self.state, self._meetings = state, meetings

    def add(self, snapshot: Snapshot, spin: float = np.nan) -> None:
        """Record the next instant. spin: of the rotation there, rad/s."""
        self.state = self.brought(len(snapshot.right))
        a = self.state.last
        if a is None:
            self.rows.put(0, snapshot, spin, np.arange(snapshot.size))
            self.state = State(1, snapshot, {}, self._reported(snapshot))
            return
        del self._meetings[self.state.meetings :]
        self._extras, self._solved = self.state.extra, {}
        if self.count == 1 and a.clusters:
            # The first instant: the next one determines the basis of its clusters.
            a = align(a, snapshot)
            self.rows.put(0, a, float(self.rows.spins(1)[0]), np.arange(a.size))
            self.state = replace(self.state, last=a)
        last = slice(self.count - 1, self.count)
        index = self.rows.index(last, slice(len(self.state.visible)))[0]
        present = np.flatnonzero(index >= 0)
        track = np.full(a.size, -1)
        track[index[present]] = present
        free = a.kind != "prescribed"  # known from the motion alone, and often defective
        watched = np.zeros(a.size, dtype=bool)
        watched[index[present]] = self.state.visible[present]
        watched &= free
        step = self._follower.follow(a, snapshot, watched)
        onward, reported = step.match.target, self._reported(step.b)
        # Of the guard: what happens to those that come in, or grow for a while, is reported too; a
        # growing mode that is new may be one of the two real ones that any mode became.
        growing = np.flatnonzero(step.b.growing)
        born = growing.size > 0 and np.setdiff1d(growing, onward).size > 0
        entering = (onward >= 0) & reported[onward] | born | step.may_grow
        entering &= (track >= 0) & ~watched & free
        if entering.any():
            step = self._follower.follow(a, snapshot, watched | entering)
        self._extend(a, step, spin, index, track)

    def brought(self, size: int) -> State:
        """The state with its vectors in the coordinates of a basis of `size` vectors."""
        state, source = self.state, self._source
        if source is None or state.last is None or len(state.last.right) == size:
            return state
        ended = {row: source.carried(s) for row, s in state.ended.items()}
        return replace(state, last=source.carried(state.last), ended=ended)

    def _reported(self, snapshot: Snapshot) -> Mask:
        """The k lowest elastic modes, those below them that are none, and modes that grow, (K,)."""
        elastic = snapshot.kind == "elastic"
        number = np.cumsum(elastic)
        lowest = (number <= self.k) & ((number < self.k) | elastic)
        return np.asarray(lowest | snapshot.growing)

    def _extra(self, at: float) -> Snapshot:
        assert self._source is not None
        if at not in self._solved:
            self._extras += 1
            self._solved[at] = self._source.snapshot(at)
        return self._solved[at]

    def _extend(self, a: Snapshot, step: Step, spin: float, index: Index, track: Index) -> None:
        b, match, state = step.b, step.match, self.state
        n, present = state.count, np.flatnonzero(index >= 0)
        onward = np.full(len(index), -1, dtype=np.intp)
        onward[present] = match.target[index[present]]
        ended = dict(state.ended)
        for row in np.flatnonzero((index >= 0) & (onward < 0)):
            ended[int(row)] = a.mode(int(index[row]))
        begun = np.ones(b.size, dtype=bool)
        begun[onward[onward >= 0]] = False
        new = self._returned(b, ended, onward, np.flatnonzero(begun))
        there = np.concatenate([onward, new])
        row_of = np.full(b.size, -1)
        row_of[there[there >= 0]] = np.flatnonzero(there >= 0)
        for e in step.encounters:
            first = int(track[e.first])
            second = int(track[e.second]) if e.second >= 0 else -1
            if e.newborn >= 0:
                second = int(row_of[e.newborn])
            if first >= 0 and (second >= 0 or e.second < 0):
                self._meetings.append(replace(e, first=first, second=second, newborn=-1, index=n))
        self.rows.put(n, b, spin, there, match)
        visible = np.concatenate([state.visible, np.zeros(len(new), dtype=bool)])
        visible |= (there >= 0) & self._reported(b)[there]
        grown = [m.first for m in self._meetings[state.meetings :] if "onset" in m.kind]
        visible[grown] = True
        self.state = State(n + 1, b, ended, visible, self._extras, len(self._meetings))

    def _returned(
        self, b: Snapshot, ended: dict[int, Snapshot], onward: Index, new: Index
    ) -> Index:
        """Assign returning modes to the track they left (in `onward`); the others are new."""
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
