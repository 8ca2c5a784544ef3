"""Stability maps over two or more parameters (DESIGN.md, sections 3 and 5).

Every body shares its operators over the whole map, so one certified reduced basis
(modal/reduction/reducer.py) serves all points; where its certificate does not reach the tolerance,
the points of that tile get a few vectors of their own. A tile's result depends on nothing but the
stored basis, so a map that was interrupted and gone on with equals an unbroken one bit by bit.
Models that make new matrices at each instant (mechanisms) are solved point by point.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from tqdm import tqdm

from assembly.errors import InputError
from modal.data.datasets import constants_text, provenance
from modal.maps.grid import Grid, Model, split
from modal.maps.methods import Method, method_of
from modal.maps.store import MapStore

TILE_POINTS = 100


def stability_map(
    model: Model,
    *,
    over: Mapping[str, ArrayLike] | None = None,
    k: int = 6,
    store: str | os.PathLike[str] | None = None,
    resume: bool = False,
    tolerance: float = 1e-6,
    checks: int = 1,
    fixed: Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    **parameters: Any,
) -> xr.Dataset:
    """The verdict on the k lowest elastic modes at every point of a grid of parameters.

    model: has `freeze(**parameters)`. parameters: arguments of `freeze`; one-dimensional arrays of
    numbers span the grid (two or more of them), everything else, `axis` and what is in `fixed` is
    passed on as it is. store: a zarr folder that receives the map tile by tile; resume=True goes on
    with one that was interrupted. tolerance: of the eigenvalues, relative. checks: points, chosen
    by a seeded draw, that are looked at in full order (modal/reduction/spot_check.py). threads: of
    the small eigenproblems (default: all processors). progress: a bar on stderr (default: when it
    is a terminal). Returns the "map" dataset of DESIGN.md, section 5. Raises InputError for bad
    arguments, StorageError when the store holds the map of something else, is damaged beyond its
    tiles, or cannot be written, AccuracyError when a check fails; what was finished stays in the
    store. Tiles of the store that are damaged are computed again.
    """
    axes, constants = split(parameters, fixed or {}, over)
    if not isinstance(k, (int, np.integer)) or k < 1:
        raise InputError(f"k: expected a whole number of modes, 1 or more, got {k!r}")
    if not 0.0 < tolerance < 1.0:
        raise InputError(f"tolerance: expected a number between 0 and 1, got {tolerance!r}")
    grid = Grid(model, axes, constants)
    method = method_of(grid, int(k), tolerance, checks, threads or os.cpu_count() or 1)
    path = None if store is None else Path(store)
    held = MapStore(
        path,
        axes,
        tile_shape(grid.shape),
        attributes(grid, method, int(k), tolerance),
        None if path is None else method.prints(),
    )
    try:
        quiet = None if progress is None else not progress
        if held.exists() and resume:
            method.restore(held.reopen())
            held.compare(quiet)
        else:
            held.create(method.prepare())
        tiles = held.tiles()
        total = int(np.prod(grid.shape))
        with tqdm(
            total=total, initial=held.finished, desc="map", unit="point", disable=quiet
        ) as bar:
            for tile in tiles:
                values = method.tile(tile)
                shape = tuple(s.stop - s.start for s in tile)
                held.write(tile, {name: column.reshape(shape) for name, column in values.items()})
                bar.update(int(np.prod(shape)))
        return held.dataset()
    finally:
        method.destroy()
        held.close()


def tile_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    side = max(1, round(TILE_POINTS ** (1.0 / len(shape))))
    return tuple(min(side, size) for size in shape)


def attributes(grid: Grid, method: Method, k: int, tolerance: float) -> dict[str, Any]:
    """Provenance, and what tells one study from another."""
    system = grid.freeze(grid.point([0] * len(grid.shape)))
    return provenance() | {
        "title": "stability map",
        "model": type(grid.model).__name__,
        "fixed": constants_text(grid.constants),
        "modes": k,
        "tolerance": tolerance,
        "unknowns": system.n,
        "solver": method.solver,
    }
