"""The variables of a tracks dataset from the record of a run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modal.tracking.dataset import CELL
from modal.tracking.events import find_events
from modal.tracking.frozen_interval import frozen_interval
from modal.tracking.rates import History, growth_rate_corrected
from modal.tracking.rows import KINDS
from modal.tracking.sweep import Sweep
from modal.tracking.tracks import Recorder
from modal.tracking.whirl import direction
from modal.types import Array, Complex, Index


def variables(recorder: Recorder, tolerance: float) -> dict[str, NDArray[Any]]:
    """The variables of a tracks dataset, (T, R) each.

    tolerance: of the frozen interval.
    """
    rows, tracks = recorder.rows, np.flatnonzero(recorder.state.visible)
    at, index = rows.single("at", recorder.count), rows.index_of(tracks, recorder.count)
    there = index >= 0
    lam = rows.of_modes("eigenvalue", index)
    rates = _rates(recorder, index, lam, tolerance)
    condition = rows.of_modes("condition_number", index)
    backward_error = rows.of_modes("backward_error", index)
    kind = rows.of_modes("kind", index)
    place = {int(track): n for n, track in enumerate(tracks)} | {-1: -1}
    meetings = [
        replace(m, first=place[m.first], second=place.get(m.second, -1))
        for m in recorder.meetings
        if m.first in place
    ]
    size = np.abs(lam)
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
        sense = Sweep.sense(rows.single("spin", recorder.count))
        out |= dict(whirl_number=number, whirl=direction(number, sense))
    layers = find_events(at, lam, rows.of_modes("slope", index), meetings)
    for n, layer in enumerate(layers, start=1):
        columns = (layer.event, layer.partner, layer.gap, layer.place)
        suffix = "" if n == 1 else f"_{n}"
        out |= {key + suffix: column for key, column in zip(CELL, columns, strict=True)}
    return out


def _from_before(values: Array, there: NDArray[np.bool_]) -> Array:
    """What links (T − 1, R) say, at the instant they lead to, (T, R)."""
    return np.where(there, np.concatenate([np.full((1, there.shape[1]), np.nan), values]), np.nan)


@dataclass(frozen=True)
class Rates:
    """Rates of T instants and R tracks: σ, that of the action, frozen interval, coupling."""

    corrected: Array
    action: Array
    interval: Array
    coupling: Array


def _rates(recorder: Recorder, index: Index, lam: Complex, tolerance: float) -> Rates:
    rows, rate = recorder.rows, recorder.rate
    if rate is None:
        nothing, endless = (np.where(index >= 0, value, np.nan) for value in (0.0, np.inf))
        return Rates(lam.real.copy(), lam.real.copy(), endless, nothing)
    coupled = np.abs(rate) * rows.of_modes("coupling", index)
    history = History(
        rows.single("at", recorder.count) / rate,
        lam,
        np.asarray(rate * rows.of_modes("slope", index), dtype=complex),
        np.asarray(rate**2 * rows.of_modes("curvature", index), dtype=complex),
        rows.of_modes("energy", index),
        rate * rows.of_modes("by_energy", index),
        rate * rows.of_modes("by_amplitude", index),
        coupled,
    )
    return Rates(
        growth_rate_corrected(history),
        rows.of_modes("steady", index).real,
        frozen_interval(history, tolerance),
        coupled,
    )
