"""What the commands track, map and check do with a model file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

import modal
from assembly.errors import ConvergenceError, ModelFileError
from assembly.parallel.ranks import agreed
from assembly.system.frozen import FrozenSystem
from studies.model_files.loading import LoadedModel, load_model
from studies.reporting.frozen_verdicts import verdicts
from studies.reporting.output import OutputFolder
from studies.reporting.ranges import parse_axis, parse_range
from studies.reporting.tables import table

Result = tuple[str, list[Path]]
DEFAULT_INSTANTS = 200
EVENTS = "events and growth rates are those of the modes followed"


def run_track(
    path: Path,
    times: str | None,
    over: str | None,
    modes: int | None,
    out: Path | None,
    resume: bool,
    force: bool,
) -> Result:
    """Tracks over time or over a parameter: table, store, dataset and figure.

    Where an instant fails, those before it are written all the same.
    """
    from studies.figures import sheets

    if times is not None and over is not None:
        raise ModelFileError("--times and --over exclude each other: give one of them")
    model = load_model(path)
    axis = parse_axis(over, "--over") if over is not None else None
    instants = parse_range(times, "--times") if times is not None else None
    if axis is None and instants is None:
        instants = _default_instants(model)
    family, fixed = (model.motion, {}) if axis is None else model.family((axis[0],))
    folder = OutputFolder(out or Path("outputs") / path.stem, f"track {path.name}", force)
    k = modes or model.spec.analysis.modes
    freeze = model.motion.freeze
    storage: dict[str, Any] = dict(store=folder.claim() / "tracks.store", resume=resume)
    try:
        if axis is None:
            tracks = modal.track(model.motion, times=instants, k=k, progress=None, **storage)
        else:
            swept: dict[str, Any] = {axis[0]: axis[1]}
            freeze = _along(family, axis[0], fixed)
            tracks = modal.track(family, k=k, progress=None, **storage, **swept, **fixed)
    except (ConvergenceError, modal.TrackingInterrupted) as stopped:
        if isinstance(stopped.partial, xr.Dataset):
            folder.write_dataset("tracks.nc", stopped.partial)
        raise
    folder.write_dataset("tracks.nc", tracks)
    sheets.tracks_sheet(tracks, path.stem).write(folder)
    on_all = f"{EVENTS}\n{verdicts(tracks, freeze, k)}"
    return f"{table(tracks)}\n{on_all}", folder.written


def run_map(
    path: Path,
    x: str,
    y: str,
    modes: int | None,
    out: Path | None,
    resume: bool,
    force: bool,
    comm: Any = None,
) -> Result:
    """A stability map over two parameters: table, store, dataset and figure.

    comm: the ranks that compute it, each with its own model; the first one writes.
    """
    from studies.figures import sheets

    first = comm is None or comm.rank == 0
    with agreed(comm):
        model = load_model(path)
        axes: dict[str, Any] = dict([parse_axis(x, "--x"), parse_axis(y, "--y")])
        if len(axes) < 2:
            raise ModelFileError(f"--x and --y name the same parameter {next(iter(axes))!r}")
        family, fixed = model.family(tuple(axes))
    place = out or Path("outputs") / f"{path.stem}-map"
    with agreed(comm):
        if first:
            folder = OutputFolder(place, f"map {path.name}", force)
            folder.claim()
    grid = modal.stability_map(
        family,
        k=modes or model.spec.analysis.modes,
        store=place / "map.zarr",
        resume=resume,
        progress=None,
        comm=comm,
        **axes,
        **fixed,
    )
    if not first:
        return "", []
    folder.write_dataset("map.nc", grid)
    sheets.map_sheet(grid, f"{path.stem}: verdict").write(folder)
    return table(grid), folder.written


def _along(family: Any, name: str, fixed: dict[str, Any]) -> Callable[[float], FrozenSystem]:
    """The family frozen at a value of the named parameter."""
    return lambda value: family.freeze(**{name: value}, **fixed)


def _default_instants(model: LoadedModel) -> Any:
    period = model.period
    if period is None:
        raise ModelFileError(f"{model.path}: the motion has no period; give --times or --over")
    return np.linspace(0.0, period, DEFAULT_INSTANTS)
