"""Begin or continue a stored map, and compute the tiles that are missing, over the ranks of a run.

The first rank hands out the tiles and computes tiles itself in between. The others hold one tile in
reserve, so that they do not wait for it. A fault on any rank ends the map on all of them; tiles in
work are finished first. Signals are for the first rank: mpiexec sends them to all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from tqdm import tqdm

from assembly.errors import InputError
from assembly.parallel.ranks import (
    agreed,
    of_first,
    portable,
    receive,
    signals_blocked,
    signals_ignored,
    start_petsc,
    wait,
)
from modal.maps.methods import Method
from modal.maps.store import MapStore, Slices

Columns = Mapping[str, NDArray[Any]]


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
    """Compute the tiles that are missing, each on one rank. The first fault of any rank is raised
    on all of them."""
    total, done = int(np.prod(held.shape)), held.finished
    with tqdm(total=total, initial=done, desc="map", unit="point", disable=quiet) as bar:

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

        if comm is None:
            for tile in held.tiles():
                accept(tile, compute(tile))
        elif comm.rank == 0:
            _Distribution(comm, held.tiles(), compute, accept).run()
        else:
            with signals_ignored():
                _take_part(comm, compute)


class _Distribution:
    """The first rank's side."""

    def __init__(
        self,
        comm: Any,
        tiles: Sequence[Slices],
        compute: Callable[[Slices], Columns | None],
        accept: Callable[[Slices, Columns | None], None],
    ) -> None:
        self.comm, self.compute, self.accept = comm, compute, accept
        self.waiting = deque(tiles)
        self.held: dict[int, int] = dict.fromkeys(range(1, comm.size), 0)  # tiles of each rank
        self.fault: BaseException | None = None

    def run(self) -> None:
        try:
            self._loop()
        except BaseException as fault:
            self.fault = self.fault or fault
            self.waiting.clear()
            while any(self.held.values()):
                self._take_report()
        outcome = None if self.fault is None else portable(self.fault)
        for rank in self.held:
            self.comm.send(outcome, dest=rank)
        if self.fault is not None:
            raise self.fault

    def _loop(self) -> None:
        self._hand_out()
        while self.waiting or any(self.held.values()):
            while self.comm.Iprobe():
                self._take_report()
            if self.fault is not None:
                raise self.fault
            if self.waiting:
                tile = self.waiting.popleft()
                self.accept(tile, self.compute(tile))
            elif any(self.held.values()):
                wait(lambda: bool(self.comm.Iprobe()))

    def _hand_out(self) -> None:
        """One tile for every rank, and one in reserve while there are more than ranks."""
        for depth in (1, 2):
            for rank, count in self.held.items():
                enough = depth == 1 or len(self.waiting) > self.comm.size
                if count < depth and self.waiting and enough:
                    with signals_blocked():
                        self.comm.send(self.waiting.popleft(), dest=rank)
                        self.held[rank] += 1

    def _take_report(self) -> None:
        wait(lambda: bool(self.comm.Iprobe()))
        with signals_blocked():
            rank, tile, columns, fault = self.comm.recv()
            self.held[rank] -= 1
        if fault is None:
            self.accept(tile, columns)
            self._hand_out()
        elif self.fault is None:
            self.fault = fault


def _take_part(comm: Any, compute: Callable[[Slices], Columns | None]) -> None:
    """The side of the other ranks."""
    own: Exception | None = None
    while True:
        tile = receive(comm, source=0)
        if not isinstance(tile, tuple):
            break
        columns = None
        if own is None:
            try:
                columns = compute(tile)
            except Exception as fault:
                own = fault
        sent = None if own is None else portable(own)
        comm.send((comm.rank, tile, columns, sent), dest=0)
    if tile is not None:
        raise own or tile
