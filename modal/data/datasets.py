"""Variables, units and names of the tracks dataset, and provenance attributes.

docs/datasets.md describes the datasets for their readers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

import numpy as np
import xarray as xr

# Units and names of every variable of a tracks dataset.
TRACK_VARIABLES: Mapping[str, tuple[str, str]] = {
    "eigenvalue": ("rad s-1", "eigenvalue of the frozen instant"),
    "frequency": ("Hz", "frequency of vibration, |Im λ| / 2π"),
    "damping_ratio": ("1", "damping ratio, −Re λ / |λ|"),
    "growth_rate": ("s-1", "growth rate of the frozen instant, Re λ"),
    "growth_rate_corrected": ("s-1", "growth rate σ with the first-order effect of the motion"),
    "growth_rate_action": ("s-1", "growth rate of the action, energy over frequency, of a mode"),
    "backward_error": ("1", "backward error of the eigenpair"),
    "condition_number": ("1", "relative condition number of the eigenvalue"),
    "mac": ("1", "modal assurance criterion to the previous instant, from left and right vectors"),
    "certainty": ("1", "least MAC believed on the way from the previous instant"),
    "event": ("1", "what happens to the mode at the instant"),
    "kind": ("1", "rigid or elastic"),
    "frozen_interval": ("s", "how long the modes of the instant stand for the motion"),
    "coupling": ("1", "largest coupling with another mode by the motion, |yᴴȦx| / |λ_i − λ_j|²"),
    "partner": ("1", "the other mode of the event, −1 for none"),
    "gap": ("rad s-1", "least distance of the two eigenvalues of a veering"),
    "event_at": ("", "where the event happens, between the instant before and this one"),
    "whirl_number": (
        "1",
        "whirl about the axis: +1 circular, positive sense; −1 circular, negative sense; 0 planar",
    ),
    "whirl": ("1", "sense of whirl to the rotation: forward, backward, planar or none"),
}

# The list of all events, along the dimension "occurrence".
OCCURRENCES: Mapping[str, tuple[str, str]] = {
    "occurrence_event": ("1", "what happens"),
    "occurrence_mode": ("1", "the mode it happens to"),
    "occurrence_partner": ("1", "the other mode, −1 for none"),
    "occurrence_at": ("", "where it happens"),
    "occurrence_gap": ("rad s-1", "least distance of the two eigenvalues of a veering"),
}

# Units and names of parameters that are swept often; any other is taken as it is.
COORDINATES: Mapping[str, tuple[str, str]] = {
    "time": ("s", "time"),
    "omega": ("rad s-1", "angular velocity"),
    "epsilon": ("rad s-2", "angular acceleration"),
    "acceleration": ("m s-2", "acceleration of the frame's origin"),
    "speed_rpm": ("min-1", "speed of rotation"),
}


def tracks_dataset(
    name: str,
    at: np.ndarray,
    variables: Mapping[str, np.ndarray],
    attributes: Mapping[str, Any],
    events: Sequence[Any] = (),
) -> xr.Dataset:
    """A tracks dataset: dims (name, "mode"), every variable (T, R) with its units and long_name,
    and the list of all events along "occurrence". Units left empty are those of the swept value.
    """
    dims = (name, "mode")
    units, long_name = COORDINATES.get(name, ("1", name))
    columns = {
        "occurrence_event": np.array([m.kind for m in events], dtype=str),
        "occurrence_mode": np.array([m.first for m in events], dtype=np.int32),
        "occurrence_partner": np.array([m.second for m in events], dtype=np.int32),
        "occurrence_at": np.array([m.at for m in events], dtype=float),
        "occurrence_gap": np.array([m.gap if m.kind == "veering" else np.nan for m in events]),
    }
    data: dict[str, Any] = {}
    for key, values in variables.items():
        own, named = TRACK_VARIABLES[key]
        data[key] = (dims, values, {"units": own or units, "long_name": named})
    for key, values in columns.items():
        own, named = OCCURRENCES[key]
        data[key] = (("occurrence",), values, {"units": own or units, "long_name": named})
    rows = next(iter(variables.values())).shape[1]
    coordinates = {
        name: (name, at, {"units": units, "long_name": long_name}),
        "mode": ("mode", np.arange(rows), {"units": "1", "long_name": "number of the track"}),
    }
    return xr.Dataset(data, coords=coordinates, attrs=dict(attributes))


def provenance(**entries: Any) -> dict[str, str]:
    """Attributes that say where a dataset comes from: package version, date, and what is given, as
    text.
    """
    try:
        version = metadata.version("frozen-motion")
    except metadata.PackageNotFoundError:
        version = "not installed"
    known = {"Conventions": "CF-1.11", "package": "frozen-motion", "package_version": version}
    known["date"] = datetime.now(UTC).isoformat(timespec="seconds")
    return known | {key: plain(value) for key, value in entries.items()}


def plain(value: Any) -> str:
    """A value as text that stays readable in a file: strings as they are, the rest as JSON, repr
    where that fails.
    """
    if isinstance(value, str):
        return value
    return json.dumps(value, default=_simple, ensure_ascii=False)


def _simple(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return repr(value)


def constants_text(constants: Mapping[str, Any]) -> str:
    """The constants as JSON; an object that JSON cannot hold by the name of its type."""
    values = {k: v if isinstance(v, str) else np.asarray(v).tolist() for k, v in constants.items()}
    return json.dumps(values, sort_keys=True, default=lambda value: type(value).__name__)
