"""The tracks dataset, from the record of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from modal.data.datasets import described
from modal.data.variables import TRACKS
from modal.tracking.events import event_variables
from modal.tracking.frozen_interval import frozen_interval
from modal.tracking.rates import growth_rate_corrected
from modal.tracking.rows import KINDS
from modal.tracking.sweep import Sweep
from modal.tracking.tracks import Recorder
from modal.tracking.whirl import direction


def tracks_dataset(
    name: str,
    at: NDArray[np.float64],
    variables: Mapping[str, NDArray[Any]],
    attributes: Mapping[str, Any],
) -> xr.Dataset:
    """A tracks dataset with dimensions (name, "mode") from variables (T, R); those of the swept
    values alone, (T,), are coordinates."""
    tables = {key: ((name, "mode"), values) for key, values in variables.items() if values.ndim > 1}
    of_values = {key: (name, values) for key, values in variables.items() if values.ndim == 1}
    rows = next(iter(tables.values()))[1].shape[1]
    dataset = xr.Dataset(
        tables,
        coords={name: at, "mode": np.arange(rows), **of_values},
        attrs=dict(attributes),
    )
    return described(dataset, TRACKS)


def variables(recorder: Recorder, tolerance: float) -> dict[str, NDArray[Any]]:
    """The variables of a tracks dataset, (T, R) each.

    tolerance: of the frozen interval.
    """
    rows, rate, T = recorder.rows, recorder.rate, recorder.count
    tracks = np.flatnonzero(recorder.state.visible)
    at, index = recorder.at[:T], rows.index(slice(T), tracks)
    place = {int(track): n for n, track in enumerate(tracks)} | {-1: -1}
    meetings = [
        replace(m, first=place[m.first], second=place.get(m.second, -1))
        for m in recorder.meetings
        if m.first in place
    ]

    def of(name: str) -> NDArray[Any]:
        return rows.of(name, index)

    lam = of("eigenvalue")
    size = np.abs(lam)
    if rate is None:
        corrected = action = lam.real.copy()
        coupling, interval = (np.where(index >= 0, value, np.nan) for value in (0.0, np.inf))
    else:
        energy, action, coupling = of("energy"), of("steady").real, np.abs(rate) * of("coupling")
        corrected = growth_rate_corrected(
            lam, energy, rate * of("by_energy"), rate * of("by_amplitude")
        )
        drift = rate * of("slope"), rate**2 * of("curvature")
        interval = frozen_interval(at / rate, lam, *drift, coupling, tolerance)
    out = dict(
        eigenvalue=lam,
        frequency=np.abs(lam.imag) / (2.0 * np.pi),
        damping_ratio=-lam.real / np.where(size > 0.0, size, 1.0) + 0.0,
        growth_rate=lam.real.copy(),
        growth_rate_corrected=corrected,
        growth_rate_action=action,
        kind=np.array(KINDS)[of("kind")],
        frozen_interval=interval,
        coupling=coupling,
    )
    out |= {name: of(name) for name in ("backward_error", "condition_number", "mac", "certainty")}
    if rows.tables["whirl"].shape[1]:
        number = of("whirl")
        out |= dict(whirl_number=number, whirl=direction(number, Sweep.sense(rows.spins(T))))
    return out | event_variables(at, lam, meetings)
