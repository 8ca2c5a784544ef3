"""The record of a tracking run: which mode of each instant is on which track, and all that follows
from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from modal.events import Meeting, find_events
from modal.following import Rules, Step, follow
from modal.matching import (
    CLUSTER,
    Complex,
    Index,
    Mask,
    Overlap,
    Real,
    Snapshot,
    align,
    clusters,
    diagonal_pairing,
)
from modal.rates import History, frozen_interval, growth_rate_corrected
from modal.whirl import direction


@dataclass(frozen=True)
class _Scalars:
    """What is kept of an instant: everything of a snapshot but its vectors."""

    at: float
    eigenvalues: Complex
    energy: Real
    backward_error: Real
    condition_number: Real
    kind: NDArray[np.str_]
    whirl: Real | None


@dataclass(frozen=True)
class _Link:
    """From one instant to the next, by track (R,) or pair of tracks (R, R) of those known at the
    time.

    mac (R,). flipped (R,): continued as the conjugate. ahead, behind (R,): |y_n B x_{n+1}|,
    |y_{n+1} B x_n|. from_first, from_second (2, R, R): y_j B x_i of the two directions over the
    track's own, x_i and for conjugate y_j. turn (R, R): angle by which shape i turns into shape j.
    """

    mac: Real
    flipped: Mask
    ahead: Real
    behind: Real
    from_first: Complex
    from_second: Complex
    turn: Real


class Recorder:
    """Takes the snapshots of successive instants and follows every mode of the window.

    k: a track is reported once it was among the k lowest elastic modes or the rigid ones below
    them. solve(s): the modes at an extra
    instant.
    """

    def __init__(self, k: int, solve: Callable[[float], Snapshot], rules: Rules) -> None:
        self.k, self.rules, self.extra = k, rules, 0
        self._solve = solve
        self._recent: list[Snapshot] = []
        self._scalars: list[_Scalars] = []
        self._index: list[Index] = []
        self._links: list[_Link] = []
        self._second: list[tuple[Real, Real]] = []
        self._meetings: list[Meeting] = []
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
        flipped = np.zeros(len(index), dtype=bool)
        flipped[present] = match.mirrored[index[present]]
        mac = np.full(len(index), np.nan)
        mac[present] = match.mac[index[present]]
        overlap = step.overlap or Overlap.between(align(a, b), b)
        self._links.append(_link(a, b, overlap, index, onward, flipped, mac))
        new = np.setdiff1d(np.arange(b.size), onward)
        self._index.append(np.concatenate([onward, new]))
        self._visible = np.concatenate([self._visible, np.zeros(len(new), dtype=bool)])
        lowest = self._lowest(b)
        self._visible |= (self._index[-1] >= 0) & lowest[self._index[-1]]
        self._scalars.append(_scalars(b))
        for e in step.encounters:
            rows = (int(track[e.first]), int(track[e.second]))
            if min(rows) >= 0:
                self._meetings.append(Meeting(self.count - 1, *rows, e.at, e.gap, e.kind))
        if len(self._recent) == 2:
            self._second.append(self._across(self._recent[0], b))
        self._recent = [self._recent[-1], b]

    def _across(self, a: Snapshot, c: Snapshot) -> tuple[Real, Real]:
        """|y_aBx_c| and |y_cBx_a| of each track over two instants."""
        i, j = self._index[-3], self._index[-1][: len(self._index[-3])]
        both = np.flatnonzero((i >= 0) & (self._index[-2][: len(i)] >= 0) & (j >= 0))
        flipped = self._links[-2].flipped[both] ^ self._links[-1].flipped[both]
        ahead, behind = np.full((2, len(i)), np.nan)
        ahead[both] = diagonal_pairing(a, i[both], c, j[both], flipped)
        behind[both] = diagonal_pairing(c, j[both], a, i[both], flipped)
        return ahead, behind

    def variables(self, rate: float | None, tolerance: float, sense: Real) -> dict[str, np.ndarray]:
        """The variables of a tracks dataset, (T, rows) each.

        rate: speed of the parameter, 1 for time, None for a parameter that is steady at each value.
        tolerance: of the frozen interval. sense (T, 1): of the rotation, ±1.
        """
        R = len(self._index[-1])
        index = np.stack([_pad(i, R, -1) for i in self._index])
        rows = np.flatnonzero(self._visible)

        def gather(values: list[np.ndarray], missing: complex | str) -> np.ndarray:
            out = [
                np.where(i >= 0, v[np.maximum(i, 0)], missing)
                for i, v in zip(index, values, strict=True)
            ]
            return np.stack(out)[:, rows]

        scalars = self._scalars
        lam = gather([s.eigenvalues for s in scalars], complex(np.nan, np.nan))
        flips = np.stack(
            [np.zeros(R, dtype=bool), *(_pad(k.flipped, R, False) for k in self._links)]
        )[:, rows]
        branch = np.where(np.cumsum(flips, axis=0) % 2 == 1, lam.conj(), lam)
        at = np.array([s.at for s in scalars])
        history = History(
            at=at if rate is None else at / rate,
            eigenvalues=branch,
            energy=gather([s.energy for s in scalars], np.nan),
            overlaps=self._stencils(R)[:, :, rows],
            mixing=np.zeros(lam.shape),
        )
        coupling = self._coupling(branch, index, rows, history.at)
        if rate is None:
            corrected, interval = lam.real.copy(), np.where(np.isnan(lam.real), np.nan, np.inf)
            coupling = np.where(np.isnan(lam.real), np.nan, 0.0)
        else:
            history = replace(history, mixing=coupling)
            corrected = growth_rate_corrected(history)
            interval = frozen_interval(history, tolerance)
        kind = gather([s.kind for s in scalars], "")
        turns = np.stack(
            [_pad2(k.turn, R)[np.ix_(rows, rows)] for k in self._links]
            or [np.zeros((len(rows),) * 2)]
        )
        place = {int(row): n for n, row in enumerate(rows)}
        meetings = [
            replace(m, first=place[m.first], second=place[m.second])
            for m in self._meetings
            if m.first in place and m.second in place
        ]
        events = find_events(at, branch, corrected, kind == "elastic", turns, meetings)
        size = np.abs(lam)
        mac = np.stack([np.full(R, np.nan), *(_pad(k.mac, R, np.nan) for k in self._links)])[
            :, rows
        ]
        out = dict(
            eigenvalue=lam,
            frequency=np.abs(lam.imag) / (2.0 * np.pi),
            damping_ratio=-lam.real / np.where(size > 0.0, size, 1.0) + 0.0,
            growth_rate=lam.real.copy(),
            growth_rate_corrected=corrected,
            backward_error=gather([s.backward_error for s in scalars], np.nan),
            condition_number=gather([s.condition_number for s in scalars], np.nan),
            mac=np.where(np.isnan(lam.real), np.nan, mac),
            event=events.event,
            kind=kind,
            frozen_interval=interval,
            coupling=coupling,
            partner=events.partner,
            gap=events.gap,
        )
        if all(s.whirl is not None for s in scalars):
            number = gather([s.whirl for s in scalars if s.whirl is not None], np.nan)
            out |= dict(whirl_number=number, whirl=direction(number, sense))
        return out

    def _stencils(self, R: int) -> Real:
        """|y_nB_n x_m| for m = n − 2 … n + 2, (T, 5, R)."""
        out = np.full((self.count, 5, R), np.nan)
        out[:, 2] = 1.0
        for n, link in enumerate(self._links):
            out[n, 3] = _pad(link.ahead, R, np.nan)
            out[n + 1, 1] = _pad(link.behind, R, np.nan)
        for n, (ahead, behind) in enumerate(self._second):
            out[n, 4] = _pad(ahead, R, np.nan)
            out[n + 2, 0] = _pad(behind, R, np.nan)
        return out

    def _coupling(self, branch: Complex, index: Index, rows: Index, at: Real) -> Real:
        """Largest |y_jᴴBẋ_i| / |λ_i − λ_j| over the other modes of the window and all conjugates,
        (T, len(rows)).
        """
        out = np.full((self.count, len(rows)), np.nan)
        for n, scalars in enumerate(self._scalars):
            parts, span = [], 0.0
            if n + 1 < self.count:
                parts.append(self._links[n].from_first)
                span += at[n + 1] - at[n]
            if n > 0:
                parts.append(-self._links[n - 1].from_second)
                span += at[n] - at[n - 1]
            if not parts:
                continue
            R = min(p.shape[-1] for p in parts)
            rate = np.abs(sum(p[:, :R, :R] for p in parts) / span)
            own = index[n, :R]
            lam = np.where(own >= 0, scalars.eigenvalues[np.maximum(own, 0)], np.nan)
            energy = np.where(own >= 0, scalars.energy[np.maximum(own, 0)], np.nan)
            with np.errstate(invalid="ignore", divide="ignore"):
                ratio = np.sqrt(
                    np.where((energy > 0)[:, None] & (energy > 0), energy[:, None] / energy, 1.0)
                )
                apart = np.abs(lam[None, :] - lam[:, None])
                apart[apart <= CLUSTER * np.abs(lam)] = np.nan  # one subspace, no coupling inside
                same = rate[0] / apart
                other = rate[1] / np.abs(lam[None, :] - lam.conj()[:, None])
                np.fill_diagonal(same, np.nan)
                np.fill_diagonal(other, np.where(lam.imag == 0.0, np.nan, np.diag(other)))
                both = np.stack([same * ratio, other * ratio])
            known = np.flatnonzero(rows < R)
            found = both[:, :, rows[known]]
            worst = np.max(np.where(np.isfinite(found), found, 0.0), axis=(0, 1))
            out[n, known] = np.where(np.isnan(branch[n, known].real), np.nan, worst)
        return out


def _link(
    a: Snapshot,
    b: Snapshot,
    overlap: Overlap,
    index: Index,
    onward: Index,
    flipped: Mask,
    mac: Real,
) -> _Link:
    """The link of two instants, from index space to tracks."""
    R = len(index)
    kept = np.flatnonzero((index >= 0) & (onward >= 0))
    i, j, turned = index[kept], onward[kept], flipped[kept]
    both = np.ix_(i, j)
    forward = np.where(turned, overlap.mirrored[both], overlap.forward[both])
    # y_j of the conjugate with x_i is the conjugate of y_j with x̄_i.
    forward_twin = np.where(turned, overlap.forward[both], overlap.mirrored[both]).conj()
    backward = np.where(turned[:, None], overlap.mirrored_back[both], overlap.backward[both])
    backward_twin = np.where(
        turned[:, None], overlap.backward[both], overlap.mirrored_back[both]
    ).conj()
    ahead, behind = np.full((2, R), np.nan)
    ahead[kept], behind[kept] = np.abs(np.diag(forward)), np.abs(np.diag(backward))
    from_first, from_second = np.full((2, 2, R, R), np.nan, dtype=complex)
    turn = np.zeros((R, R))
    pairs = np.ix_(kept, kept)
    with np.errstate(divide="ignore", invalid="ignore"):
        from_first[0][pairs] = forward / np.diag(forward)[None, :]
        from_first[1][pairs] = forward_twin / np.diag(forward)[None, :]
        from_second[0][pairs] = backward.T / np.diag(backward)[None, :]
        from_second[1][pairs] = backward_twin.T / np.diag(backward)[None, :]
    table = np.where(turned, overlap.mirrored_mac[both], overlap.mac[both])
    turn[pairs] = np.arcsin(np.sqrt(np.clip(table, 0.0, 1.0)))
    return _Link(mac, flipped, ahead, behind, from_first, from_second, turn)


def _scalars(s: Snapshot) -> _Scalars:
    return _Scalars(
        s.at, s.eigenvalues, s.energy, s.backward_error, s.condition_number, s.kind, s.whirl
    )


def _pad(values: np.ndarray, length: int, fill: object) -> np.ndarray:
    out = np.full(length, fill, dtype=values.dtype)
    out[: len(values)] = values
    return out


def _pad2(values: np.ndarray, length: int) -> np.ndarray:
    out = np.zeros((length, length), dtype=values.dtype)
    out[: len(values), : len(values)] = values
    return out
