"""A stability map on disk: a zarr group written tile by tile, resumable after any interruption.

Each tile is one chunk of every variable; `done` is written last, and zarr puts a chunk in place by
renaming a finished file, so an aborted run leaves every tile either complete or not done. The group
gets its name only when it is complete with coordinates, attributes and the reduced basis that all
tiles share (modal/data/folder.py).

A stored tile is accepted when its digest is right (modal/data/integrity.py) and its fingerprint is
that of the model at the tile's points (modal/provenance/fingerprint.py); a damaged tile is computed
again, a map of another model is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from tqdm import tqdm

from assembly.errors import StorageError
from modal.data.datasets import coordinate, described, in_words
from modal.data.folder import (
    discard,
    lock,
    release,
    remove_leftovers,
    remove_stale,
    replacing,
    storage_faults,
)
from modal.data.integrity import (
    CHECKSUMS,
    DIGEST,
    checksum,
    consolidate,
    description,
    digest,
    of_attributes,
    put,
    readable,
    reserve,
    zarr_group,
)  # fmt: skip
from modal.data.variables import MAP
from modal.provenance.fingerprint import agree

IDENTITY = (  # attributes that identify a study
    "title", "model", "parameters", "fixed", "modes", "tolerance", "unknowns", "breaks",
)  # fmt: skip
COLUMNS = tuple(name for name in MAP if name != "done")  # what a tile's digest is of
BASIS = "basis/"
MODEL, TILE_PRINTS, DIGESTS = "tiles/model", "tiles/fingerprint", "tiles/digest"

Slices = tuple[slice, ...]


class Prints(Protocol):
    """The fingerprints that identify the model of a map: `model` (N, 2), of a tile (rows, 2)."""

    model: NDArray[np.float64]
    rows: int

    def tile(self, tile: Slices) -> NDArray[np.float64]: ...


@dataclass(frozen=True)
class _InMemory:
    """What is read of a zarr group, of arrays in memory."""

    arrays: Mapping[str, NDArray[Any]]
    attrs: Mapping[str, Any]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]


class MapStore:
    """The map of one study, in memory (path None) or in a zarr group at `path`."""

    def __init__(
        self,
        path: Path | None,
        axes: Mapping[str, NDArray[np.float64]],
        tile: tuple[int, ...],
        attributes: Mapping[str, Any],
        prints: Prints | None = None,
    ) -> None:
        self.path, self.axes, self.tile, self.prints = path, dict(axes), tile, prints
        self.attributes = dict(attributes) | {"parameters": ", ".join(axes)}
        self.shape = tuple(len(values) for values in axes.values())
        blocks = (-(-size // step) for size, step in zip(self.shape, tile, strict=True))
        self.finished_tiles = np.zeros(tuple(blocks), dtype=bool)
        self._group: Any = None
        self._lock: int | None = None

    def exists(self) -> bool:
        """True when this study is stored; StorageError when the path holds something else, or the
        store is damaged.
        """
        if self.path is None or not self.path.exists():
            return False
        try:
            group = zarr_group(self.path, "r")
            stored: dict[str, Any] = dict(group.attrs)
            checksums = dict(stored[CHECKSUMS])
            codes = {name: list(group[name].attrs.get("flag_values", [])) for name in MAP}
        except Exception as fault:  # damaged files raise exceptions of any kind
            raise StorageError(
                f"{self.path}: exists and is not a stability map, or its zarr.json is damaged "
                f"({type(fault).__name__}); give another store"
            ) from None
        if checksums.get("attributes") != of_attributes(stored):
            raise self._damaged("zarr.json")
        for name in IDENTITY:
            if stored.get(name) != self.attributes.get(name):
                raise StorageError(
                    f"{self.path}: holds another study ({name} is {_short(stored.get(name))}, "
                    f"asked for {_short(self.attributes.get(name))}); give another store"
                )
        for name, row in MAP.items():
            if not np.array_equal(codes[name], row.attributes.get("flag_values", [])):
                raise StorageError(
                    f"{self.path}: holds a map of another version ({name} has other codes); give "
                    "another store"
                )
        for name, values in self.axes.items():
            if not np.array_equal(self._sound(group, name, checksums), values):
                raise StorageError(
                    f"{self.path}: holds a map over other parameter values ({name}); give another "
                    "store"
                )
        for name in (*MAP, TILE_PRINTS, DIGESTS):
            self._sound(group, name, checksums, values=False)
        if self.prints and not agree(self._sound(group, MODEL, checksums), self.prints.model):
            raise self._other_model("")
        return True

    def create(self, basis: Mapping[str, NDArray[Any]] | None) -> None:
        """A new empty map, with the reduced basis its tiles will use."""
        if self.path is None:
            arrays = {name: np.full(self.shape, row.fill, row.dtype) for name, row in MAP.items()}
            self._group = _InMemory(arrays, self.attributes)
            return
        with storage_faults(self.path, "nothing was stored yet"):
            former = lock(self.path) if self.path.exists() else None
            try:
                with replacing(self.path) as made:
                    self._fill(zarr_group(made, "w"), basis or {})
                    consolidate(made)
            finally:
                release(former)
            self._open()

    def reopen(self) -> dict[str, NDArray[Any]]:
        """Continue a stored map; returns the arrays of its basis. Damaged tiles count as not done.

        Raises StorageError when the basis is damaged.
        """
        assert self.path is not None
        with storage_faults(self.path, "it is left as it was"):
            remove_stale(self.path)
            self._open()
            checksums: dict[str, str] = dict(self._group.attrs[CHECKSUMS])
            basis = {
                name.removeprefix(BASIS): self._sound(self._group, name, checksums)
                for name in checksums
                if name.startswith(BASIS)
            }
            if self._lock is not None:
                remove_leftovers(self.path)
            self._verify()
        return basis

    def compare(self, quiet: bool | None = None) -> None:
        """Compare the model with every finished tile. Raises StorageError when one is of another
        model. quiet: no bar on stderr (None: when it is not a terminal).
        """
        assert self.prints is not None
        stored = np.asarray(self._group[TILE_PRINTS][...])
        places = np.argwhere(self.finished_tiles)
        for place in tqdm(places, desc="stored tiles compared", disable=quiet, leave=False):
            tile = self._slices(place)
            if not agree(stored[tuple(place)], self.prints.tile(tile)):
                ranges = zip(self.axes.items(), tile, strict=True)
                where = [
                    f"{name} = {values[s.start]:.6g} … {values[s.stop - 1]:.6g}"
                    for (name, values), s in ranges
                ]
                raise self._other_model(" at " + ", ".join(where))

    def join(self) -> None:
        """Write tiles of a map that another rank of this run has opened, and locks."""
        if self.path is not None:
            with storage_faults(self.path, "it is left as it was"):
                self._group = zarr_group(self.path, "r+")

    def close(self) -> None:
        """Release the lock: other processes may write the map."""
        release(self._lock)
        self._lock = None

    def _open(self) -> None:
        assert self.path is not None
        self._lock = lock(self.path)
        self._group = zarr_group(self.path, "r+")

    def _fill(self, group: Any, basis: Mapping[str, NDArray[Any]]) -> None:
        names = tuple(self.axes)
        sums: dict[str, str] = {}
        for name, values in self.axes.items():
            sums[name] = put(group, name, values, (name,), coordinate(name).attributes)
        for name, row in MAP.items():
            attributes = {key: np.asarray(v).tolist() for key, v in row.attributes.items()}
            sums[name] = reserve(
                group, name, self.shape, self.tile, row.dtype, row.fill, names, attributes
            )
        for name, values in basis.items():
            sums[BASIS + name] = put(group, BASIS + name, values)
        if self.prints:
            sums[MODEL] = put(group, MODEL, self.prints.model)
            places, one = self.finished_tiles.shape, (1,) * self.finished_tiles.ndim
            for name, dtype, last in (
                (TILE_PRINTS, "float64", (self.prints.rows, 2)),
                (DIGESTS, "uint8", (DIGEST,)),
            ):
                sums[name] = reserve(group, name, places + last, one + last, dtype, 0)
        group.attrs.update(self.attributes)
        group.attrs[CHECKSUMS] = sums | {"attributes": of_attributes(dict(group.attrs))}

    def _verify(self) -> None:
        """Determine which tiles are finished; the files of the others are removed."""
        places = list(np.ndindex(self.finished_tiles.shape))
        tiles = [self._slices(place) for place in places]
        columns, sound = {}, np.ones(len(tiles), dtype=bool)
        for name in (*MAP, TILE_PRINTS, DIGESTS):
            by_point = name in MAP
            columns[name], readable_here = readable(
                self._group[name], tiles if by_point else places
            )
            sound &= readable_here
        for place, tile, whole in zip(places, tiles, sound, strict=True):
            values = {name: columns[name][tile] for name in MAP}
            own = self._digest(tile, values, columns[TILE_PRINTS][place])
            done = whole and values["done"].all()
            if done and np.array_equal(own, columns[DIGESTS][place]):
                self.finished_tiles[place] = True
            else:
                self._discard(place)

    def _discard(self, place: tuple[int, ...]) -> None:
        """Remove the files of a tile: a damaged chunk cannot be written over in part."""
        assert self.path is not None
        numbers = [str(i) for i in place]
        for name in ("done", *COLUMNS):
            discard(self.path.joinpath(name, "c", *numbers))
        discard(self.path.joinpath(TILE_PRINTS, "c", *numbers, "0", "0"))
        discard(self.path.joinpath(DIGESTS, "c", *numbers, "0"))

    def _digest(
        self, tile: Slices, values: Mapping[str, NDArray[Any]], fingerprint: NDArray[np.float64]
    ) -> NDArray[np.uint8]:
        """Of a tile's values, its place, and the map it belongs to."""
        corner = [[int(s.start), int(s.stop)] for s in tile]
        columns = [np.asarray(values[name], dtype=MAP[name].dtype) for name in COLUMNS]
        return digest(self._group.attrs[CHECKSUMS], corner, *columns, fingerprint)

    def _sound(
        self, group: Any, name: str, checksums: Mapping[str, str], values: bool = True
    ) -> NDArray[Any]:
        """The values of an array whose checksum is right; StorageError otherwise. Without `values`
        only its description is read.
        """
        try:
            for parent in name.split("/")[:-1]:
                dict(group[parent].attrs)
            found = np.asarray(group[name][...]) if values else np.zeros(0)
            if checksum(description(group[name]), found) == checksums[name]:
                return found
        except Exception:  # damaged files raise exceptions of any kind
            pass
        raise self._damaged(name)

    def _damaged(self, name: str) -> StorageError:
        return StorageError(
            f"{self.path}: {name} is damaged, missing or edited; remove the folder and compute the "
            "map again, or give another store"
        )

    def _other_model(self, where: str) -> StorageError:
        return StorageError(
            f"{self.path}: holds a map of another model (the fingerprint of its matrices "
            f"differs{where}); give another store"
        )

    def place(self, tile: Slices) -> tuple[int, ...]:
        """The number of a tile along every axis."""
        return tuple(s.start // step for s, step in zip(tile, self.tile, strict=True))

    def _slices(self, place: Iterable[int]) -> Slices:
        parts = zip(place, self.tile, self.shape, strict=True)
        return tuple(
            slice(int(i) * step, min(int(i) * step + step, size)) for i, step, size in parts
        )

    def tiles(self) -> list[Slices]:
        """The tiles that are not done, in order."""
        return [self._slices(place) for place in np.argwhere(~self.finished_tiles)]

    @property
    def finished(self) -> int:
        """Points that are done."""
        tiles = map(self._slices, np.argwhere(self.finished_tiles))
        return sum(int(np.prod([s.stop - s.start for s in tile])) for tile in tiles)

    @property
    def _stored(self) -> int:
        """Points that are done in the store, whichever rank has stored them."""
        return int(np.count_nonzero(self._group["done"][...]))

    def write(self, tile: Slices, values: Mapping[str, NDArray[Any]]) -> None:
        """Store one tile; its `done` comes last. Raises StorageError; what was finished stays."""
        total = int(np.prod(self.shape))
        place = self.place(tile)
        with storage_faults(
            self.path, lambda: f"{self._stored} of {total} points are kept; go on with resume=True"
        ):
            for name in COLUMNS:
                self._group[name][tile] = values[name]
            if self.prints:
                fingerprint = self.prints.tile(tile)
                self._group[TILE_PRINTS][place] = fingerprint
                self._group[DIGESTS][place] = self._digest(tile, values, fingerprint)
            self._group["done"][tile] = True
        self.finished_tiles[place] = True

    def dataset(self) -> xr.Dataset:
        """The map as it stands; `source` in words."""
        names = tuple(self.axes)
        variables = {name: (names, self._group[name][...]) for name in MAP}
        kept = {key: value for key, value in self._group.attrs.items() if key != CHECKSUMS}
        return in_words(described(xr.Dataset(variables, coords=self.axes, attrs=kept), MAP))


def _short(value: Any) -> str:
    return "missing" if value is None else str(value)
