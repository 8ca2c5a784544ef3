"""The record of a tracking run: which mode of each instant is on which track, and all that follows
from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from modal.events import Between, Meeting, find_events
from modal.following import Rules, Step, follow
from modal.frozen_interval import frozen_interval
from modal.links import Link, across, coupling, link, stencils
from modal.matching import Overlap, align, clusters
from modal.rates import History, action_rate, growth_rate_corrected
from modal.snapshot import Complex, Index, Mask, Real, Snapshot
from modal.whirl import direction


@dataclass(frozen=True)
class _Scalars:
    """What is kept of an instant: everything of a snapshot but its vectors."""

    at: float
    eigenvalues: Complex
    energy_gram: Complex
    backward_error: Real
    condition_number: Real
    kind: NDArray[np.str_]
    whirl: Real | None


@dataclass(frozen=True)
class _Rates:
    """Rates of T instants and R tracks: σ, σ of the action and its error, frozen interval,
    coupling."""

    corrected: Real
    action: Real
    doubt: Real
    interval: Real
    coupling: Real


class Recorder:
    """Takes the snapshots of successive instants and follows every mode of the window.

    k: a track is reported once it was among the k lowest elastic modes or the rigid ones below
    them. solve(s): the modes at an extra instant. moving: the rates of a motion will be asked for.
    """

    def __init__(
        self, k: int, solve: Callable[[float], Snapshot], rules: Rules, moving: bool
    ) -> None:
        self.k, self.rules, self.moving, self.extra = k, rules, moving, 0
        self._solve = solve
        self._recent: list[Snapshot] = []
        self._scalars: list[_Scalars] = []
        self._index: list[Index] = []
        self._links: list[Link] = []
        self._second: list[tuple[Real, Real]] = []
        self._meetings: list[Meeting] = []
        self._between: list[Between] = []
        self._ended: dict[int, Snapshot] = {}
        self._visible = np.zeros(0, dtype=bool)

    @property
    def count(self) -> int:
        """Instants recorded."""
        return len(self._scalars)

    def add(self, snapshot: Snapshot) -> None:
        """Record the next instant."""
        if not self._recent:
            self._start(snapshot)
            return
        a = self._recent[-1]
        if self.count == 1 and clusters(a.eigenvalues):
            a = align(a, snapshot)  # nothing came before: the next instant says which basis goes on
            self._recent[-1], self._scalars[0] = a, _scalars(a)
        index = self._index[-1]
        present = np.flatnonzero(index >= 0)
        track = np.full(a.size, -1)
        track[index[present]] = present
        watched = np.zeros(a.size, dtype=bool)
        watched[index[present]] = self._visible[present]
        step = follow(a, snapshot, self._slope(a), watched, self._extra, self.rules)
        self._extend(a, step, index, track)

    def _start(self, snapshot: Snapshot) -> None:
        self._recent = [snapshot]
        self._scalars = [_scalars(snapshot)]
        self._index = [np.arange(snapshot.size)]
        self._visible = self._lowest(snapshot)

    def _lowest(self, snapshot: Snapshot) -> Mask:
        """The k lowest elastic modes and the rigid ones below them, (K,)."""
        elastic = np.cumsum(snapshot.kind == "elastic")
        return np.asarray((elastic <= self.k) & ((elastic < self.k) | (snapshot.kind == "elastic")))

    def _extra(self, at: float) -> Snapshot:
        self.extra += 1
        return self._solve(at)

    def _slope(self, a: Snapshot) -> Complex:
        """dλ/ds of the modes of the last instant from the one before, zero where there is none."""
        slope = np.zeros(a.size, dtype=complex)
        if self.count < 2:
            return slope
        before, link = self._scalars[-2], self._links[-1]
        old, new = self._index[-2], self._index[-1][: len(self._index[-2])]
        both = np.flatnonzero((old >= 0) & (new >= 0))
        lam = before.eigenvalues[old[both]]
        lam = np.where(link.flipped[both], lam.conj(), lam)
        slope[new[both]] = (a.eigenvalues[new[both]] - lam) / (a.at - before.at)
        return slope

    def _extend(self, a: Snapshot, step: Step, index: Index, track: Index) -> None:
        b, match = step.b, step.match
        present = np.flatnonzero(index >= 0)
        onward = np.full(len(index), -1, dtype=np.intp)
        onward[present] = match.target[index[present]]
        self._links.append(link(step.overlap, match, index, onward, self.moving))
        for row in np.flatnonzero((index >= 0) & (onward < 0)):
            self._ended[int(row)] = a.mode(int(index[row]))
        new = self._returned(b, onward, np.setdiff1d(np.arange(b.size), onward))
        self._index.append(np.concatenate([onward, new]))
        self._visible = np.concatenate([self._visible, np.zeros(len(new), dtype=bool)])
        lowest = self._lowest(b)
        self._visible |= (self._index[-1] >= 0) & lowest[self._index[-1]]
        self._scalars.append(_scalars(b))
        for at, lam in step.between:
            values = np.full(len(index), complex(np.nan, np.nan))
            values[present] = lam[index[present]]
            self._between.append(Between(self.count - 1, at, values))
        for e in step.encounters:
            rows = (int(track[e.first]), int(track[e.second]))
            if min(rows) >= 0:
                self._meetings.append(Meeting(self.count - 1, *rows, e.at, e.gap, e.kind))
        if self.moving and len(self._recent) == 2:
            self._second.append(self._two_steps(b))
        self._recent = [self._recent[-1], b]

    def _returned(self, b: Snapshot, onward: Index, new: Index) -> Index:
        """Put modes that come back on the track they left (in `onward`); what is left is new."""
        for row, last in list(self._ended.items()):
            if not new.size:
                break
            overlap = Overlap.between(last, b)
            best = int(new[np.argmax(overlap.mac[0, new])])
            if overlap.mac[0, best] > self.rules.known_mac:
                onward[row] = best
                new = new[new != best]
                del self._ended[row]
        return new

    def _two_steps(self, c: Snapshot) -> tuple[Real, Real]:
        i, j = self._index[-3], self._index[-1][: len(self._index[-3])]
        i = np.where(self._index[-2][: len(i)] >= 0, i, -1)
        flipped = self._links[-2].flipped ^ self._links[-1].flipped[: len(i)]
        return across(self._recent[0], i, c, j, flipped)

    def variables(self, rate: float | None, tolerance: float, sense: Real) -> dict[str, np.ndarray]:
        """The variables of a tracks dataset, (T, rows) each.

        rate: speed of the parameter, 1 for time, None for a parameter that is steady at each value.
        tolerance: of the frozen interval. sense (T, 1): of the rotation, ±1.
        """
        R, scalars = len(self._index[-1]), self._scalars
        index = _table(self._index, R, -1)
        rows = np.flatnonzero(self._visible)
        there, width = index >= 0, max(len(s.eigenvalues) for s in scalars)

        def gather(values: list[np.ndarray], missing: complex | str) -> np.ndarray:
            found = np.take_along_axis(_table(values, width, missing), np.maximum(index, 0), 1)
            return np.where(there, found, np.array(missing, dtype=found.dtype))

        lam = gather([s.eigenvalues for s in scalars], complex(np.nan, np.nan))
        unflipped = np.zeros(R, dtype=bool)
        flips = _table([unflipped, *(k.flipped for k in self._links)], R, False)
        branch = np.where(np.cumsum(flips, axis=0) % 2 == 1, lam.conj(), lam)
        at = np.array([s.at for s in scalars])
        energy = gather([np.diag(s.energy_gram).real for s in scalars], np.nan)
        rates = self._rates(at, lam, branch, energy, rate, tolerance)
        kind = gather([s.kind for s in scalars], "")
        condition = gather([s.condition_number for s in scalars], np.nan)
        backward_error = gather([s.backward_error for s in scalars], np.nan)
        turns = np.zeros((self.count - 1, R, R))
        for n, known in enumerate(self._links):
            size = len(known.turn)
            turns[n, :size, :size] = known.turn
        place = {int(row): n for n, row in enumerate(rows)}
        meetings = [
            replace(m, first=place[m.first], second=place[m.second])
            for m in self._meetings
            if m.first in place and m.second in place
        ]
        turns = turns[:, rows][:, :, rows]
        between = [
            replace(x, eigenvalues=_table([x.eigenvalues], R, complex(np.nan, np.nan))[0, rows])
            for x in self._between
        ]
        elastic = kind[:, rows] == "elastic"
        action, doubt = rates.action[:, rows], rates.doubt[:, rows]
        size = np.abs(lam)
        with np.errstate(invalid="ignore"):  # a defective value: infinite × 0
            error = np.where(backward_error > 0.0, condition * backward_error * size, 0.0)[:, rows]
        events = find_events(
            at, lam[:, rows], error, action, doubt, elastic, turns, meetings, between
        )
        unknown = np.full(R, np.nan)
        mac = _table([unknown, *(k.mac for k in self._links)], R, np.nan)
        certainty = _table([unknown, *(k.certainty for k in self._links)], R, np.nan)
        out = dict(
            eigenvalue=lam,
            frequency=np.abs(lam.imag) / (2.0 * np.pi),
            damping_ratio=-lam.real / np.where(size > 0.0, size, 1.0) + 0.0,
            growth_rate=lam.real.copy(),
            growth_rate_corrected=rates.corrected,
            growth_rate_action=rates.action,
            backward_error=backward_error,
            condition_number=condition,
            mac=np.where(there, mac, np.nan),
            certainty=np.where(there, certainty, np.nan),
            kind=kind,
            frozen_interval=rates.interval,
            coupling=rates.coupling,
        )
        if all(s.whirl is not None for s in scalars):
            number = gather([s.whirl for s in scalars if s.whirl is not None], np.nan)
            out |= dict(whirl_number=number, whirl=direction(number, sense))
        found = {name: values[:, rows] for name, values in out.items()}
        return found | dict(event=events.event, partner=events.partner, gap=events.gap)

    def _rates(
        self,
        at: Real,
        lam: Complex,
        branch: Complex,
        energy: Real,
        rate: float | None,
        tolerance: float,
    ) -> _Rates:
        there = np.isfinite(lam.real)
        if rate is None:
            nothing = np.where(there, 0.0, np.nan)
            endless = np.where(there, np.inf, np.nan)
            return _Rates(lam.real.copy(), lam.real.copy(), nothing, endless, nothing)
        motions = [known.motion for known in self._links if known.motion is not None]
        overlaps = stencils(motions, self._second, lam.shape[1])
        coupled = coupling(at / rate, lam, self._energy_gram, motions)
        history = History(at / rate, branch, energy, overlaps, coupled)
        interval = frozen_interval(history, tolerance)
        corrected = growth_rate_corrected(history)
        action, doubt = action_rate(history, corrected)
        return _Rates(corrected, action, doubt, interval, coupled)

    def _energy_gram(self, n: int) -> Complex:
        """λ̄_iλ_j q_iᴴMq_j + q_iᴴ sym(K) q_j of the tracks at instant n, NaN where one is not."""
        R, index = len(self._index[-1]), self._index[n]
        kept = np.flatnonzero(index >= 0)
        gram = np.full((R, R), complex(np.nan, np.nan))
        gram[np.ix_(kept, kept)] = self._scalars[n].energy_gram[np.ix_(index[kept], index[kept])]
        return gram


def _scalars(s: Snapshot) -> _Scalars:
    return _Scalars(
        s.at, s.eigenvalues, s.energy_gram, s.backward_error, s.condition_number, s.kind, s.whirl
    )


def _table(rows: list[np.ndarray], width: int, fill: complex | str) -> np.ndarray:
    """Rows (T,) of uneven length as one array (T, width), `fill` beyond their ends."""
    out = np.full((len(rows), width), fill, dtype=np.result_type(*{r.dtype for r in rows}))
    for n, row in enumerate(rows):
        out[n, : len(row)] = row
    return out
