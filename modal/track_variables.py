"""The variables of a tracks dataset from the record of a run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modal.events import find_events
from modal.rates import History, action_rate, frozen_interval, growth_rate_corrected
from modal.snapshot import Complex, Index, Real
from modal.track_rows import KINDS, Rows
from modal.tracks import Recorder
from modal.whirl import direction

# Values of a stencil that are evaluated at a time: a long sweep goes track by track.
TOGETHER = 2_000_000


@dataclass(frozen=True)
class Rates:
    """Rates of T instants and R tracks: σ, σ of the action and its error, frozen interval,
    coupling."""

    corrected: Real
    action: Real
    doubt: Real
    interval: Real
    coupling: Real


def variables(recorder: Recorder, tolerance: float, sense: Real) -> dict[str, NDArray[Any]]:
    """The variables of a tracks dataset, (T, R) each.

    tolerance: of the frozen interval. sense (T, 1): of the rotation, ±1.
    """
    rows, tracks = recorder.rows, np.flatnonzero(recorder.state.visible)
    at, index = rows.at(recorder.count), rows.index_of(tracks, recorder.count)
    there = index >= 0
    lam = rows.of_modes("eigenvalue", index)
    rates = _rates(recorder, at, index, lam, tolerance)
    condition = rows.of_modes("condition_number", index)
    backward_error = rows.of_modes("backward_error", index)
    kind = rows.of_modes("kind", index)
    place = {int(track): n for n, track in enumerate(tracks)}
    meetings = [
        replace(m, first=place[m.first], second=place[m.second])
        for m in recorder.meetings
        if m.first in place and m.second in place
    ]
    between = [
        replace(x, eigenvalues=_widened(x.eigenvalues, len(recorder.state.visible))[tracks])
        for x in recorder.between
    ]
    size = np.abs(lam)
    with np.errstate(invalid="ignore"):  # a defective value: infinite × 0
        error = np.where(backward_error > 0.0, condition * backward_error * size, 0.0)
    events = find_events(
        at, lam, error, rates.action, rates.doubt, kind == KINDS.index("elastic"),
        rows.turns(index), meetings, between,
    )  # fmt: skip
    out = dict(
        eigenvalue=lam,
        frequency=np.abs(lam.imag) / (2.0 * np.pi),
        damping_ratio=-lam.real / np.where(size > 0.0, size, 1.0) + 0.0,
        growth_rate=lam.real.copy(),
        growth_rate_corrected=rates.corrected,
        growth_rate_action=rates.action,
        backward_error=backward_error,
        condition_number=condition,
        mac=_from_before(rows.of_links("mac", index), there),
        certainty=_from_before(rows.of_links("certainty", index), there),
        kind=np.array(KINDS)[kind],
        frozen_interval=rates.interval,
        coupling=rates.coupling,
    )
    if rows.tables["whirl"].width:
        number = rows.of_modes("whirl", index)
        out |= dict(whirl_number=number, whirl=direction(number, sense))
    return out | dict(event=events.event, partner=events.partner, gap=events.gap)


def _from_before(values: Real, there: NDArray[np.bool_]) -> Real:
    """What links (T − 1, R) say, at the instant they lead to, (T, R)."""
    return np.where(there, np.concatenate([np.full((1, there.shape[1]), np.nan), values]), np.nan)


def _widened(values: Complex, width: int) -> Complex:
    out = np.full(width, complex(np.nan, np.nan))
    out[: len(values)] = values
    return out


def _rates(
    recorder: Recorder, at: Real, index: Index, lam: Complex, tolerance: float
) -> Rates:
    there, rate = index >= 0, recorder.rate
    if rate is None:
        nothing, endless = (np.where(there, value, np.nan) for value in (0.0, np.inf))
        return Rates(lam.real.copy(), lam.real.copy(), nothing, endless, nothing.copy())
    rows = recorder.rows
    coupled = np.concatenate([rows.of_links("coupling", index), np.full((1, len(lam[0])), np.nan)])
    last = recorder.coupling()
    coupled[-1] = np.where(there[-1], last[np.maximum(index[-1], 0)], np.nan)
    parts = []
    together = max(1, TOGETHER // (5 * len(at)))
    for first in range(0, lam.shape[1], together):
        few = slice(first, first + together)
        history = _history(rows, at / rate, index[:, few], lam[:, few], coupled[:, few])
        corrected = growth_rate_corrected(history)
        parts.append(
            (corrected, *action_rate(history, corrected), frozen_interval(history, tolerance))
        )
    return Rates(*(np.concatenate(part, axis=1) for part in zip(*parts, strict=True)), coupled)


def _history(rows: Rows, at: Real, index: Index, lam: Complex, coupled: Real) -> History:
    """The history of some tracks, from the links of one and of two steps."""
    T, R = lam.shape
    overlaps = np.full((T, 5, R), np.nan)
    overlaps[:, 2] = 1.0
    overlaps[:-1, 3] = rows.of_links("ahead", index)
    overlaps[1:, 1] = rows.of_links("behind", index)
    overlaps[:-2, 4] = rows.of_two("ahead_two", index)
    overlaps[2:, 0] = rows.of_two("behind_two", index)
    odd = np.zeros((T, R), dtype=bool)
    odd[1:] = np.logical_xor.accumulate(rows.of_links("flipped", index), axis=0)
    branch = np.where(odd, lam.conj(), lam)
    return History(at, branch, rows.of_modes("energy", index), overlaps, coupled)
