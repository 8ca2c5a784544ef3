"""Begin or continue a stored map, and compute the tiles that are missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from tqdm import tqdm

from assembly.errors import InputError
from assembly.parallel.ranks import agreed, of_first, start_petsc
from modal.maps.methods import Method
from modal.maps.over_ranks import compute_tiles
from modal.maps.store import MapStore, Slices


def computed(
    comm: Any | None,
    make: Callable[[Any | None], tuple[MapStore, Method]],
    resume: bool,
    progress: bool | None,
) -> xr.Dataset:
    """The whole map, on all ranks of a communicator.

    make: checks the arguments and gives store and method, on every rank; it is called with the
    communicator, or None for this process alone.
    """
    several = comm if comm is not None and comm.size > 1 else None
    first = several is None or several.rank == 0
    if several is not None:
        start_petsc()
    with agreed(several):
        held, method = make(several)
        if resume and held.path is None:
            raise InputError("resume: give store, the folder of the map to continue")
    quiet = (None if progress is None else not progress) if first else True
    try:
        basis = of_first(several, lambda: begin(held, method, resume, quiet))
        with agreed(several):
            if not first:
                method.restore(basis)
                held.join()
        del basis
        fill(several, held, method, quiet)
        dataset: xr.Dataset = of_first(several, held.dataset)
        return dataset
    finally:
        method.destroy()
        held.close()


def begin(
    held: MapStore, method: Method, resume: bool, quiet: bool | None
) -> Mapping[str, NDArray[Any]]:
    """A new map, or the one in the store; the arrays of the basis that all tiles share."""
    if held.exists() and resume:
        basis: Mapping[str, NDArray[Any]] = held.reopen()
        method.restore(basis)
        held.compare(quiet)
    else:
        basis = method.prepare() or {}
        held.create(basis)
    return basis


def fill(comm: Any | None, held: MapStore, method: Method, quiet: bool | None) -> None:
    """Compute the tiles that are missing, each on one rank."""
    with tqdm(
        total=int(np.prod(held.shape)),
        initial=held.finished,
        desc="map",
        unit="point",
        disable=quiet,
    ) as bar:

        def compute(tile: Slices) -> Mapping[str, NDArray[Any]] | None:
            columns = method.tile(tile)
            shape = tuple(s.stop - s.start for s in tile)
            values = {name: column.reshape(shape) for name, column in columns.items()}
            if held.path is None and comm is not None:
                return values
            held.write(tile, values)
            return None

        def accept(tile: Slices, values: Mapping[str, NDArray[Any]] | None) -> None:
            if values is not None:
                held.write(tile, values)
            held.finished_tiles[held.place(tile)] = True
            bar.update(int(np.prod([s.stop - s.start for s in tile])))

        compute_tiles(comm, held.tiles(), compute, accept)
