"""Events along tracks: crossings, veerings with their gap, onsets and ends of flutter and
divergence, critical damping.

Events between two instants are classified in modal/tracking/following.py. Two cases need all
instants: a crossing exactly at an instant, and veerings whose eigenvalues do not separate again.
"""

from __future__ import annotations

from itertools import chain, count, takewhile
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from assembly.arguments import check_kind
from assembly.errors import InputError
from modal.data.datasets import described
from modal.data.variables import EVENTS
from modal.eigen.tolerances import HALF
from modal.tracking.encounters import Encounter
from modal.types import Array, Complex, Mask

BEYOND = "unstable_not_followed"
CELL = ("event", "partner", "gap", "event_at")  # what a cell holds of an event
COLUMNS = ("event", "event_mode", "partner", "event_at", "gap")
NAMES = (
    "none",
    "crossing",
    "veering",
    "critical damping",
    "unresolved",
    "split",
    "divergence onset",
    "flutter onset",
)
# The distance of two eigenvalues grows to this multiple of a veering's gap on both sides of it.
DIP = np.sqrt(2.0)


def event_variables(
    at: Array, eigenvalues: Complex, prescribed: Mask, meetings: list[Encounter]
) -> dict[str, NDArray[Any]]:
    """All events of T instants and R tracks: the most severe of each cell in `event` (one of NAMES,
    of the step before), `partner` (the other track, −1 for none), `gap` (rad/s, of veerings) and
    `event_at`; the further ones in `event_2` and so on.

    at (T,); eigenvalues (T, R), Im ≥ 0, rad/s; prescribed (T, R): by the frame. meetings: what was
    settled between instants.
    """
    found = [m for m in meetings if m.kind != "veering" or _parts(m, eigenvalues, meetings)]
    settled = {(m.index, *sorted((m.first, m.second))) for m in meetings}
    for i, j in np.argwhere(np.triu(np.ones((eigenvalues.shape[1],) * 2), 1)).tolist():
        found += _exact_crossings(at, eigenvalues, prescribed, settled, i, j)
    direction = 1.0 if len(at) < 2 or at[-1] > at[0] else -1.0
    found.sort(key=lambda m: (-NAMES.index(m.kind), direction * m.at, m.first, m.second))
    filled = np.zeros(eigenvalues.shape, dtype=int)  # events of each cell
    out: dict[str, NDArray[Any]] = {}
    _add_layer(out, "", eigenvalues.shape)
    for m in found:
        for one, other in ((m.first, m.second), (m.second, m.first)):
            if one < 0:
                continue
            cell = m.index, one
            filled[cell] += 1
            suffix = "" if filled[cell] == 1 else f"_{filled[cell]}"
            if "event" + suffix not in out:
                _add_layer(out, suffix, eigenvalues.shape)
            values = (m.kind, other, m.gap if m.kind == "veering" else np.nan, m.at)
            for name, value in zip(CELL, values, strict=True):
                out[name + suffix][cell] = value
    return out


def _add_layer(out: dict[str, NDArray[Any]], suffix: str, shape: tuple[int, ...]) -> None:
    """Cells without events."""
    for name, empty in zip(CELL, (NAMES[0], np.int32(-1), np.nan, np.nan), strict=True):
        dtype = np.array(NAMES).dtype if name == "event" else None
        out[name + suffix] = np.full(shape, empty, dtype=dtype)


def _parts(m: Encounter, eigenvalues: Complex, meetings: list[Encounter]) -> bool:
    """Whether the two eigenvalues of a veering separate on both sides before they meet again."""
    pair = {m.first, m.second}
    others = [n.index for n in meetings if n is not m and {n.first, n.second} == pair]
    start = max((n for n in others if n < m.index), default=0)
    end = min((n for n in others if n > m.index), default=len(eigenvalues))
    distance = np.abs(eigenvalues[start:end, m.first] - eigenvalues[start:end, m.second])
    before, after = distance[: m.index - start], distance[m.index - start :]
    sides = [np.nanmax(x) if np.isfinite(x).any() else 0.0 for x in (before, after)]
    return bool(min(sides) >= DIP * m.gap)


def _exact_crossings(
    at: Array,
    eigenvalues: Complex,
    prescribed: Mask,
    settled: set[tuple[int, ...]],
    i: int,
    j: int,
) -> list[Encounter]:
    """Crossings of two tracks that meet at an instant: their order changes over it.

    Of two prescribed values, which are often one and the same, the order is round-off.
    """
    pair = [i, j]
    compared = np.isfinite(eigenvalues[:, pair]).all(axis=1) & ~prescribed[:, pair].all(axis=1)
    both = np.flatnonzero(compared)
    lam = eigenvalues[both][:, pair]
    difference, size = lam[:, 0] - lam[:, 1], HALF * np.abs(lam).max(axis=1, initial=0.0)
    apart = (np.abs(difference.imag) > size) & (np.abs(lam.imag) > size[:, None]).all(axis=1)
    order = np.where(apart, np.sign(difference.imag), 0.0)
    ordered = np.flatnonzero(order)
    found = []
    for c in np.flatnonzero(np.diff(order[ordered])):
        p, q = ordered[c], ordered[c + 1]
        n, m = int(both[p]), int(both[q])
        locked = np.abs(difference[p + 1 : q]) > size[p + 1 : q]
        if locked.any() or any((index, i, j) in settled for index in range(n + 1, m + 1)):
            continue
        if q > p + 1:
            place, m = float(at[both[p + 1]]), int(both[p + 1]) + 1
        else:
            change = difference[p].imag - difference[q].imag
            place = float(at[n] + difference[p].imag / change * (at[m] - at[n]))
        found.append(Encounter(i, j, place, 0.0, "crossing", index=m))
    return found


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
    layers = chain([""], (f"_{n}" for n in count(2)))
    for suffix in takewhile(lambda suffix: "event" + suffix in tracks, layers):
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
