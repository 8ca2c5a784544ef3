"""The tracks dataset, and the list of the events in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from assembly.arguments import check_kind
from assembly.errors import InputError
from modal.data.datasets import described
from modal.data.variables import EVENTS, TRACKS

BEYOND = "unstable_not_followed"
CELL = ("event", "partner", "gap", "event_at")  # what a cell holds of an event
COLUMNS = ("event", "event_mode", "partner", "event_at", "gap")


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


def events(tracks: xr.Dataset) -> xr.Dataset:
    """List of all events of a tracks dataset, each once, in the order of the tracks.

    Parameters
    ----------
    tracks : xarray.Dataset
        Tracks of `modal.track`, or a part of them: the list is of the modes and values in it.

    Returns
    -------
    xarray.Dataset
        Over "occurrence": event (its kind), event_mode and partner (numbers of the tracks, −1 for
        no partner and for a mode that no track follows), event_at (place, in the unit of the swept
        parameter), gap (rad/s, of veerings). ``events(tracks).to_dataframe()`` is a table.

    Raises
    ------
    InputError
        The dataset has no variable `event` over one parameter and "mode".

    Notes
    -----
    A cell of `tracks` holds the most severe event since the previous value in `event`, `event_at`,
    `partner` and `gap`; further events of the same cell are in `event_2`, `event_at_2` and so on.
    An event of two tracks is in the cells of both. A step over which `unstable_not_followed`
    changes is an "unresolved" event of the mode −1: follow more modes.

    Examples
    --------
    >>> import numpy as np, modal
    >>> from assembly import FrozenSystem
    >>> class Crossing:
    ...     def freeze(self, s):
    ...         return FrozenSystem(M=np.eye(2), C=np.zeros((2, 2)), K=np.diag([4.0 + s, 5.0]))
    >>> tracks = modal.track(Crossing(), s=np.linspace(0.0, 2.1, 4), k=2)
    >>> found = modal.events(tracks)
    >>> found.event.values.tolist(), found.event_at.round(6).values.tolist()
    (['crossing'], [1.0])
    """
    expected = "tracks of modal.track, over one parameter and mode"
    check_kind(tracks, xr.Dataset, "events", expected)
    dims = tracks["event"].dims if "event" in tracks else ()
    swept = [str(d) for d in dims if d != "mode"]
    if len(swept) != 1 or "mode" not in dims:
        raise InputError(f"events: expected {expected}")
    name, modes, at = swept[0], tracks["mode"].values, tracks[swept[0]].values
    rows: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for suffix in ["", *_suffixes(tracks)]:
        kinds = tracks["event" + suffix].transpose(name, "mode").values.astype(str)
        cells = {
            key: tracks[key + suffix].transpose(name, "mode").values
            for key in CELL[1:]
            if key + suffix in tracks
        }
        for i, j in np.argwhere((kinds != "none") & (kinds != "")):
            partner = int(cells["partner"][i, j]) if "partner" in cells else -1
            place = float(cells["event_at"][i, j]) if "event_at" in cells else float(at[i])
            gap = float(cells["gap"][i, j]) if "gap" in cells else np.nan
            pair = [int(modes[j]), partner]
            first, second = sorted(pair) if partner >= 0 else pair
            kind = str(kinds[i, j])
            rows[i, place, first, second, kind] = (kind, first, second, place, gap)
    order = -1.0 if len(at) > 1 and at[-1] < at[0] else 1.0
    beyond = tracks[BEYOND].values if BEYOND in tracks else np.zeros(0)
    for i in 1 + np.flatnonzero((beyond[:-1] >= 0) & (beyond[1:] >= 0) & (np.diff(beyond) != 0)):
        middle = 0.5 * float(at[i - 1] + at[i])
        rows[i, middle] = ("unresolved", -1, -1, middle, np.nan)
    listed = sorted(rows.values(), key=lambda row: (order * row[3], row[1], row[2]))
    types = (str, np.int32, np.int32, float, float)
    dataset = xr.Dataset(
        {
            key: ("occurrence", np.array([row[n] for row in listed], dtype=kind))
            for n, (key, kind) in enumerate(zip(COLUMNS, types, strict=True))
        },
        coords={"occurrence": np.arange(len(listed))},
    )
    dataset = described(dataset, EVENTS)
    dataset["event_at"].attrs["units"] = tracks[name].attrs.get("units", "1")
    return dataset


def _suffixes(tracks: xr.Dataset) -> list[str]:
    """Endings "_2", "_3", … of the further events of a cell."""
    out: list[str] = []
    while f"event_{len(out) + 2}" in tracks:
        out.append(f"_{len(out) + 2}")
    return out
