"""A stability map on disk: a zarr group written tile by tile, resumable after any interruption.

Each tile is one chunk of every variable. The group gets its name only when it is complete with
coordinates and attributes (modal/data/folder.py). Beside the variables, in `tiles`, stand
checkpoints (modal/data/checkpoint.py):

    study.npz   what is mapped: attributes, axes, the fingerprints of the model, the reduced basis
                that all tiles share, and a checksum of every file of an empty map
    I.J.npz     of the tile (I, J): its fingerprint, and a checksum of its chunks

The checkpoint of a tile is written last: an aborted run leaves every tile either complete or not
done. A stored tile is accepted when its checksum is right and its fingerprint is that of the model
at the tile's points (modal/provenance/fingerprint.py); a damaged tile is computed again, a map of
another model is refused.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from tqdm import tqdm

from assembly.errors import StorageError
from assembly.parallel.ranks import signals_blocked
from modal.data.checkpoint import checksum_of_files, found, save, stored
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
from modal.data.variables import MAP
from modal.proofs.judge import Verdict
from modal.provenance.fingerprint import agree
from modal.reduction.space import beginning

IDENTITY = (  # attributes that identify a study
    "title", "model", "parameters", "fixed", "modes", "tolerance", "unknowns", "breaks",
)  # fmt: skip
TILES, STUDY = "tiles", "study.npz"
AXIS, BASIS, MODEL = "axis/", "basis/", "model"
CODES = {name: row.attributes.get("flag_values", np.zeros(0)).tolist() for name, row in MAP.items()}

Slices = tuple[slice, ...]


class Prints(Protocol):
    """The fingerprints that identify the model of a map: `model` (N, 2), of a tile (rows, 2)."""

    model: NDArray[np.float64]

    def tile(self, tile: Slices) -> NDArray[np.float64]: ...


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
        self._variables: Any = None  # by name: arrays, or a zarr group
        self._run = ""
        self._lock: int | None = None

    def exists(self) -> bool:
        """True when this study is stored; StorageError when the path holds something else, or the
        store is damaged.
        """
        if self.path is None or not self.path.exists():
            return False
        if not self._checkpoint().is_file():
            raise self._refused(
                "exists and is not a stability map, or one of an earlier version, or damaged"
            )
        arrays, settings = stored(self._checkpoint())
        for name in IDENTITY:
            before, now = (held.get(name) for held in (settings["attributes"], self.attributes))
            if before != now:
                raise self._refused(
                    f"holds another study ({name} is {_short(before)}, asked for {_short(now)})"
                )
        for name, codes in CODES.items():
            if settings["codes"].get(name) != codes:
                raise self._refused(f"holds a map of another version ({name} has other codes)")
        for name, values in self.axes.items():
            if not np.array_equal(arrays[AXIS + name], values):
                raise self._refused(f"holds a map over other parameter values ({name})")
        for name, checksum in settings["files"].items():
            if checksum_of_files(self.path / name) != checksum:
                raise StorageError(
                    f"{self.path}: {name} is damaged, missing or edited; remove the folder and "
                    "compute the map again, or give another store"
                )
        if self.prints and not agree(arrays[MODEL], self.prints.model):
            raise self._other_model("")
        return True

    def create(self, basis: Mapping[str, NDArray[Any]] | None) -> None:
        """A new empty map, with the reduced basis its tiles will use."""
        if self.path is None:
            self._variables = {
                name: np.full(self.shape, row.fill, row.dtype) for name, row in MAP.items()
            }
            return
        with storage_faults(self.path, "nothing was stored yet"):
            former = lock(self.path) if self.path.exists() else None
            try:
                with replacing(self.path) as made:
                    self._fill(made, basis or {})
            finally:
                release(former)
            self._lock = lock(self.path)
        self.join()

    def reopen(self) -> dict[str, NDArray[Any]]:
        """Continue a stored map; returns the arrays of its basis. Damaged tiles count as not done.

        Raises StorageError when the basis is damaged.
        """
        assert self.path is not None
        with storage_faults(self.path, "it is left as it was"):
            remove_stale(self.path.parent, self.path.name)
            self._lock = lock(self.path)
            self.join()
            if self._lock is not None:
                remove_stale(self.path / TILES)
                remove_leftovers(self.path)
            for place in np.ndindex(self.finished_tiles.shape):
                self.finished_tiles[place] = self._is_sound(place)
                if not self.finished_tiles[place]:
                    for file in (*self._chunks(place), self._checkpoint(place)):
                        discard(file)  # a damaged chunk cannot be written over in part
        arrays, settings = stored(self._checkpoint())
        self.attributes = settings["attributes"]
        return beginning(BASIS, arrays)

    def compare(self, quiet: bool | None = None) -> None:
        """Compare the model with every finished tile. Raises StorageError when one is of another
        model. quiet: no bar on stderr (None: when it is not a terminal).
        """
        assert self.prints is not None
        places = np.argwhere(self.finished_tiles)
        for place in tqdm(places, desc="stored tiles compared", disable=quiet, leave=False):
            tile, (arrays, _) = self._slices(place), stored(self._checkpoint(place))
            if not agree(arrays["fingerprint"], self.prints.tile(tile)):
                ranges = zip(self.axes.items(), tile, strict=True)
                where = [
                    f"{name} = {values[s.start]:.6g} … {values[s.stop - 1]:.6g}"
                    for (name, values), s in ranges
                ]
                raise self._other_model(" at " + ", ".join(where))

    def join(self) -> None:
        """Write tiles of a map that this rank, or another one of this run, has opened and locks."""
        if self.path is not None:
            import zarr

            with storage_faults(self.path, "it is left as it was"):
                self._variables = zarr.open_group(self.path, mode="r+", use_consolidated=False)
            self._run = stored(self._checkpoint())[1]["run"]

    def close(self) -> None:
        """Release the lock: other processes may write the map."""
        release(self._lock)
        self._lock = None

    def _fill(self, folder: Path, basis: Mapping[str, NDArray[Any]]) -> None:
        """Make the files of an empty map."""
        import zarr

        group = zarr.open_group(folder, mode="w", zarr_format=3)
        group.attrs.update(self.attributes)
        group.create_group(TILES)
        for name, values in self.axes.items():
            group.create_array(
                name, data=values, chunks=values.shape, compressors=None, dimension_names=(name,),
                attributes=coordinate(name).attributes,
            )  # fmt: skip
        for name, row in MAP.items():
            group.create_array(
                name, shape=self.shape, chunks=self.tile, dtype=row.dtype, fill_value=row.fill,
                compressors=None, dimension_names=tuple(self.axes),
                attributes={key: np.asarray(v).tolist() for key, v in row.attributes.items()},
            )  # fmt: skip
        with warnings.catch_warnings():  # xarray reads it; zarr says that other programs may not
            warnings.filterwarnings("ignore", message="Consolidated metadata is currently not part")
            zarr.consolidate_metadata(folder)
        files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
        arrays = {AXIS + name: values for name, values in self.axes.items()}
        arrays |= {BASIS + name: values for name, values in basis.items()}
        if self.prints:
            arrays[MODEL] = self.prints.model
        settings = {
            "run": uuid.uuid4().hex,
            "attributes": self.attributes,
            "codes": CODES,
            "files": {str(file.relative_to(folder)): checksum_of_files(file) for file in files},
        }
        save(folder / TILES / STUDY, arrays, settings)

    def _checkpoint(self, place: Iterable[int] | None = None) -> Path:
        """Of a tile, or of the study."""
        assert self.path is not None
        name = STUDY if place is None else ".".join(str(i) for i in place) + ".npz"
        return self.path / TILES / name

    def _chunks(self, place: Iterable[int]) -> list[Path]:
        """The files of a tile."""
        assert self.path is not None
        return [self.path.joinpath(name, "c", *(str(i) for i in place)) for name in MAP]

    def _settings(self, place: Iterable[int]) -> dict[str, Any]:
        """What is stored with a tile: the run, its place, and the checksum of its chunks."""
        chunks = checksum_of_files(*self._chunks(place))
        return {"run": self._run, "place": [int(i) for i in place], "chunks": chunks}

    def _is_sound(self, place: tuple[int, ...]) -> bool:
        """Whether a tile is as it was written."""
        checkpoint = found(self._checkpoint(place))
        return checkpoint is not None and checkpoint[1] == self._settings(place)

    def _other_model(self, where: str) -> StorageError:
        return self._refused(
            f"holds a map of another model (the fingerprint of its matrices differs{where})"
        )

    def _refused(self, reason: str) -> StorageError:
        return StorageError(f"{self.path}: {reason}; give another store")

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

    def _points(self, places: Iterable[Iterable[int]]) -> int:
        """Points of some tiles."""
        return sum(int(np.prod([s.stop - s.start for s in self._slices(p)])) for p in places)

    @property
    def finished(self) -> int:
        """Points that are done."""
        return self._points(np.argwhere(self.finished_tiles))

    def _kept(self) -> str:
        """What is done in the store, whichever rank has stored it, in words."""
        places = np.ndindex(self.finished_tiles.shape)
        count = self._points(place for place in places if self._checkpoint(place).exists())
        return f"{count} of {int(np.prod(self.shape))} points are kept; go on with resume=True"

    @signals_blocked()
    def write(self, tile: Slices, values: Mapping[str, NDArray[Any]]) -> None:
        """Store one tile; a signal waits until it is whole. Raises StorageError; what was finished
        stays.
        """
        place = self.place(tile)
        with storage_faults(self.path, self._kept):
            for name in MAP:
                self._variables[name][tile] = values[name] if name != "done" else True
        if self.prints:
            fingerprint = {"fingerprint": self.prints.tile(tile)}
            save(self._checkpoint(place), fingerprint, self._settings(place), self._kept)
        self.finished_tiles[place] = True

    def dataset(self) -> xr.Dataset:
        """The map as it stands; `source` in words."""
        names = tuple(self.axes)
        variables = {name: (names, self._variables[name][...]) for name in MAP}
        dataset = xr.Dataset(variables, coords=self.axes, attrs=self.attributes)
        return in_words(described(dataset, MAP))


def _short(value: Any) -> str:
    return "missing" if value is None else str(value)


def columns(verdicts: Sequence[Verdict], source: NDArray[np.int8]) -> dict[str, NDArray[Any]]:
    """Verdicts of points as the columns of the dataset."""
    names = [name for name in MAP if name not in ("source", "done")]
    found = {name: np.array([getattr(v, name) for v in verdicts]) for name in names}
    return found | {"source": source}
