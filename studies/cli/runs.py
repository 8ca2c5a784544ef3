"""The commands track and map, and how long they will take."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
import xarray as xr
from numpy.typing import NDArray

import modal
from assembly.errors import ConvergenceError, InputError, ModelFileError
from assembly.parallel.ranks import agreed
from assembly.system.frozen import FrozenSystem
from modal.data.progress import phase
from modal.explorer.mode_states import evenly
from studies.model_files.loading import LoadedModel, load_model
from studies.reporting.frozen_verdicts import verdicts
from studies.reporting.output import OutputFolder
from studies.reporting.ranges import parse_axis, parse_range
from studies.reporting.tables import table

Result = tuple[str, list[Path]]
Axis = NDArray[np.float64]
EVENTS = "events and growth rates are those of the modes followed"


def run_track(
    path: Path,
    times: str | None,
    over: str | None,
    modes: int | None,
    out: Path | None = None,
    resume: bool = False,
    force: bool = False,
    yes: bool = False,
    files: Path | None = None,
    explore: bool = False,
) -> Result:
    """Tracks over time or over a parameter: table, store, dataset and figure.

    Where an instant fails, those before it are written all the same. yes: a run may take long.
    files: folder of the files that the model file names. explore: a page to explore too.
    """
    from studies.figures import sheets

    if times is not None and over is not None:
        raise ModelFileError("--times and --over exclude each other: give one of them")
    with phase("assembling", None):
        model = load_model(path, files)
        follow, freeze, values = _tracked(model, times, over, modes)
        for value in (values[0], values[-1]):
            freeze(float(value))
    place = out or Path("outputs") / path.stem
    folder = model.folder(place, force, "track", times=times, over=over, modes=modes)
    if not resume:
        with phase("estimating the time", None):
            check_track(lambda part: follow(part, progress=False), values, yes)
    try:
        tracks = follow(values, store=folder.claim() / "tracks.store", resume=resume, progress=None)
    except (ConvergenceError, modal.TrackingInterrupted) as stopped:
        if isinstance(stopped.partial, xr.Dataset):
            folder.write_dataset("tracks.nc", stopped.partial)
        raise
    except InputError:
        folder.abandon()
        raise
    with phase("writing", None):
        folder.write_dataset("tracks.nc", tracks)
        folder.draw(sheets.tracks_sheet(tracks, path.stem))
    if explore:
        name = None if over is None else parse_axis(over, "--over")[0]
        family, fixed = (model.motion, {}) if name is None else model.family((name,))
        _write_page(folder, model, tracks, family, fixed)
    with phase("verdict on all modes", None):
        k = modes or model.spec.analysis.modes
        on_all = f"{EVENTS}\n{verdicts(tracks, freeze, k)}"
    return f"{fewer(k, tracks.sizes['mode'])}{table(tracks)}\n{on_all}", folder.written


def fewer(requested: int, modes: int) -> str:
    """A line that says how many modes there are, where more were requested; else nothing."""
    return f"{requested} modes requested, there are {modes}\n" if modes < requested else ""


def _tracked(
    model: LoadedModel, times: str | None, over: str | None, modes: int | None
) -> tuple[Callable[..., xr.Dataset], Callable[[float], FrozenSystem], Any]:
    """What follows the modes over some values, what freezes one, and all values."""
    k = modes or model.spec.analysis.modes
    if over is None:
        instants = instants_of(model, times, 200)

        def along(values: Any, **options: Any) -> xr.Dataset:
            return modal.track(model.motion, times=values, k=k, **options)

        return along, model.motion.freeze, instants
    name, values = parse_axis(over, "--over")
    family, fixed = model.family((name,))

    def across(values: Any, **options: Any) -> xr.Dataset:
        return modal.track(family, k=k, **options, **{name: values}, **fixed)

    return across, lambda value: family.freeze(**{name: value}, **fixed), values


def run_map(
    path: Path,
    x: str,
    y: str,
    modes: int | None,
    out: Path | None = None,
    resume: bool = False,
    force: bool = False,
    comm: Any = None,
    yes: bool = False,
    files: Path | None = None,
    explore: bool = False,
) -> Result:
    """A stability map over two parameters: table, store, dataset and figure.

    comm: the ranks that compute it, each with its own model; the first one writes. yes: a run may
    take long. files: folder of the files that the model file names. explore: a page to explore
    too.
    """
    from studies.figures import sheets

    first = comm is None or comm.rank == 0
    with agreed(comm), phase("assembling", None if first else False):
        model = load_model(path, files)
        axes: dict[str, Any] = dict([parse_axis(x, "--x"), parse_axis(y, "--y")])
        if len(axes) < 2:
            raise ModelFileError(f"--x and --y name the same parameter {next(iter(axes))!r}")
        family, fixed = model.family(tuple(axes))
        for end in (0, -1):
            family.freeze(**{name: float(values[end]) for name, values in axes.items()}, **fixed)
    place = out or Path("outputs") / f"{path.stem}-map"
    k = modes or model.spec.analysis.modes
    with agreed(comm):
        if first:
            folder = model.folder(place, force, "map", x=x, y=y, modes=modes)
            if not resume:
                ranks = 1 if comm is None else comm.size
                with phase("estimating the time", None):
                    check_map(family, axes, fixed, k, yes, ranks)
            folder.claim()
    try:
        grid = modal.stability_map(
            family,
            k=k,
            store=place / "map.zarr",
            resume=resume,
            progress=None,
            comm=comm,
            **axes,
            **fixed,
        )
    except InputError:
        if first:
            folder.abandon()
        raise
    if not first:
        return "", []
    with phase("writing", None):
        folder.write_dataset("map.nc", grid)
        folder.draw(sheets.map_sheet(grid, path.stem))
    if explore:
        _write_page(folder, model, grid, family, fixed)
    return table(grid), folder.written


def _write_page(
    folder: OutputFolder, model: LoadedModel, dataset: xr.Dataset, family: Any, fixed: Any
) -> None:
    """The page to explore of a track or a map."""
    with phase("shapes to explore", None):
        k = model.spec.analysis.modes
        view = modal.explorer_view(
            dataset, family, title=model.path.stem, geometry=model.geometry, modes=k, **fixed
        )
        with folder.file("explore.html") as page:
            modal.write_explorer(page, view, model.path.stem)


def instants_of(model: LoadedModel, times: str | None, count: int) -> Axis:
    """The times (s) of the option, or so many of one period. Raises ModelFileError without both."""
    if times is not None:
        return parse_range(times, "--times")
    if model.period is None:
        raise ModelFileError(
            f"{model.path}: the motion has no period; give --times start:stop:count"
        )
    return np.linspace(0.0, model.period, count)


def check_map(
    family: Any, axes: Mapping[str, Axis], fixed: Any, k: int, yes: bool, ranks: int
) -> None:
    """Raises InputError for a map that takes long, unless yes."""

    def sample(side: int) -> int:
        chosen = {name: values[evenly(len(values), side)] for name, values in axes.items()}
        modal.stability_map(family, over=chosen, fixed=fixed, k=k, progress=False)
        return int(np.prod([len(values) for values in chosen.values()]))

    _check(int(np.prod([float(len(v)) for v in axes.values()])), sample, yes, ranks)


def check_track(track: Callable[[Axis], Any], values: Axis, yes: bool) -> None:
    """Raises InputError for a track that takes long, unless yes. track: follows modes over some
    values."""

    def sample(side: int) -> int:
        part = values[: 4 * side]
        track(part)
        return len(part)

    _check(len(values), sample, yes, 1)


def _check(
    points: int,
    sample: Callable[[int], int],
    yes: bool,
    ranks: int,
    *,
    many: int = 20_000,
    long: float = 900.0,
    sides: tuple[int, int, int] = (3, 3, 10),
    least: float = 1e-4,
) -> None:
    """many: points from which a sweep is estimated. long: s from which it needs --yes. sides:
    points along each axis of the samples; the first one warms up. least: s of a point, of writing
    it and of a small eigenproblem."""
    if points < many or yes:
        return
    spent, counts = [], []
    for side in sides:
        start = time.perf_counter()
        counts.append(sample(side))
        spent.append(time.perf_counter() - start)
    each = max((spent[2] - spent[1]) / max(counts[2] - counts[1], 1), least)
    seconds = spent[1] + each * points / ranks
    line = f"{_number(points)} points, about {duration(seconds)}"
    if seconds > long:
        raise InputError(f"{line} (measured on {counts[2]} of them); --yes starts it")
    click.echo(f"frozen-motion: {line}", err=True)


def _number(points: int) -> str:
    return f"{points}" if points < 10_000_000 else f"{float(points):.3g}"


def duration(seconds: float) -> str:
    """A time in its largest fitting unit."""
    for size, unit in ((86400.0 * 365.0, "years"), (86400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{max(seconds, 1.0):.0f} s"
