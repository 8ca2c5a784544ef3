"""The tracks dataset, from the record of a run, and the number of unstable modes that no track
follows, by the verdict on all modes at a few values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from assembly.errors import FrozenMotionError
from assembly.system.frozen import FrozenSystem
from modal.data.datasets import described
from modal.data.variables import TRACKS
from modal.eigen.tolerances import GROUP
from modal.proofs.judge import UNDECIDED, WORDS
from modal.proofs.verdict import ALL_MODES, stability
from modal.tracking.events import event_variables
from modal.tracking.rates import frozen_interval, growth_rate_corrected
from modal.tracking.sweep import Sweep
from modal.tracking.tracks import KINDS, Recorder
from modal.tracking.whirl import direction
from modal.types import Array, Complex


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
    if rows.table("whirl", slice(T)).shape[1]:
        number = of("whirl")
        out |= dict(whirl_number=number, whirl=direction(number, Sweep.sense(rows.spins(T))))
    return out | event_variables(at, lam, out["kind"] == "prescribed", meetings)


def unstable_not_followed(
    freeze: Callable[[float], FrozenSystem],
    at: Array,
    eigenvalues: Complex,
    error: Array,
    checks: int,
) -> NDArray[np.int32]:
    """The number of unstable modes that no track follows, (T,); −1 where it is not known.

    eigenvalues, error (T, R): of the tracks, NaN where a track has no value. checks: 0 for no
    value; otherwise the first, the last and checks − 1 of a seeded draw are examined, and where two
    of them differ, those in between that enclose the step of the change. Systems of more than
    ALL_MODES degrees of freedom are not examined.
    """
    number = np.full(len(at), -1, dtype=np.int32)
    if not checks or freeze(float(at[0])).n > ALL_MODES:
        return number

    drawn = np.random.default_rng(13).permutation(len(at))[: checks - 1]
    places = np.unique([0, len(at) - 1, *drawn]).tolist()
    spans = list(pairwise(places))
    while places:
        for n in places:
            number[n] = _beyond(freeze(float(at[n])), eigenvalues[n], error[n])
        differing = [
            (a, b)
            for a, b in spans
            if b - a > 1 and min(number[a], number[b]) >= 0 and number[a] != number[b]
        ]
        places = [(a + b) // 2 for a, b in differing]
        spans = [
            part for (a, b), m in zip(differing, places, strict=True) for part in ((a, m), (m, b))
        ]
    return number


def _beyond(system: FrozenSystem, tracks: Complex, error: Array) -> int:
    """The unstable modes of a system that are not among those of the tracks; −1 where not all modes
    are known."""
    try:
        verdict = stability(system)
    except FrozenMotionError:  # the mass is not definite, or the modes are not found
        return -1
    if verdict.verdict == WORDS[UNDECIDED] or np.isfinite(verdict.examined_to):
        return -1
    lam, bound = verdict.eigenvalues, verdict.bounds
    unstable = lam.real > bound
    distance = np.abs(lam[unstable, None] - tracks[None, :])
    near = distance <= bound[unstable, None] + error + GROUP * np.abs(lam[unstable, None])
    return int((~near.any(axis=1)).sum())
