"""A stability map on disk: a zarr group written tile by tile, resumable after any interruption.

Each tile is one chunk of every variable; `done` is written last, and zarr puts a chunk in place by
renaming a finished file, so a killed run leaves every tile either whole or not done. The group
itself appears under its name only when complete with coordinates, attributes and the reduced basis
that all tiles share.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr
from numpy.typing import NDArray

from assembly.errors import StorageError

VARIABLES: dict[str, tuple[str, float | int | bool, str, str]] = {
    "growth_rate": ("float64", np.nan, "s-1", "largest growth rate over the elastic modes"),
    "unstable_modes": ("int32", 0, "1", "elastic modes whose growth rate exceeds its error bound"),
    "verdict": ("int8", 0, "1", "stability of the elastic modes"),
    "proof": ("int8", 0, "1", "what the verdict rests on"),
    "critical_frequency": ("float64", np.nan, "Hz", "frequency of the mode of largest growth rate"),
    "error_bound": ("float64", np.nan, "s-1", "error bound of the growth rate"),
    "source": ("int8", 0, "1", "how the point was solved"),
    "done": ("bool", False, "1", "the point is finished"),
}
FLAGS = {
    "verdict": ("stable", "divergence", "flutter"),
    "proof": ("lowest_modes_only", "energy", "count", "lyapunov", "unstable_mode"),
    "source": ("reduced", "full"),
}
UNITS = {
    "omega": "rad s-1",
    "epsilon": "rad s-2",
    "acceleration": "m s-2",
    "t": "s",
    "speed_rpm": "rpm",
}
LONG_NAMES = {"omega": "angular velocity", "epsilon": "angular acceleration", "t": "time"}
IDENTITY = (
    "model",
    "fixed",
    "modes",
    "tolerance",
    "unknowns",
    "fingerprint",
)  # what makes a study the same
FINGERPRINT_TOLERANCE = 1e-9  # numbers of one model, computed on different machines

Slices = tuple[slice, ...]


class MapStore:
    """The map of one study, in memory (path None) or in a zarr group at `path`."""

    def __init__(
        self,
        path: Path | None,
        axes: Mapping[str, NDArray[np.float64]],
        tile: tuple[int, ...],
        attributes: Mapping[str, Any],
    ) -> None:
        self.path, self.axes, self.tile, self.attributes = path, dict(axes), tile, dict(attributes)
        self.shape = tuple(len(values) for values in axes.values())
        self._group: Any = None

    def exists(self) -> bool:
        """True when this very study is stored; StorageError when something else has the name."""
        if self.path is None or not self.path.exists():
            return False
        try:
            group = zarr.open_group(self.path, mode="r")
            stored = dict(group.attrs)
            same = all(name in group for name in (*self.axes, *VARIABLES))
            same = same and all(
                np.array_equal(np.asarray(group[name]), values)
                for name, values in self.axes.items()
            )
        except (OSError, ValueError, KeyError) as fault:
            raise StorageError(
                f"{self.path}: exists and is not a stability map ({type(fault).__name__})"
            ) from None
        if not same:
            raise StorageError(
                f"{self.path}: holds a map over other parameter values; give another store"
            )
        for name in IDENTITY:
            if not _equal(stored.get(name), self.attributes.get(name)):
                raise StorageError(
                    f"{self.path}: holds another study ({name} is {_short(stored.get(name))}, "
                    f"asked for {_short(self.attributes.get(name))}); give another store"
                )
        return True

    def create(self, basis: Mapping[str, NDArray[Any]] | None) -> None:
        """A new empty map, with the reduced basis its tiles will use."""
        if self.path is None:
            self._group = zarr.open_group(zarr.storage.MemoryStore(), mode="w", zarr_format=3)
            self._fill(self._group, basis)
            return
        partial = self.path.with_name(f".{self.path.name}.{os.getpid()}.partial")
        with storage_faults(self.path, "nothing was stored yet"):
            try:
                partial.parent.mkdir(parents=True, exist_ok=True)
                self._fill(zarr.open_group(partial, mode="w", zarr_format=3), basis)
                if self.path.exists():
                    shutil.rmtree(self.path)
                partial.rename(self.path)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
            self._group = zarr.open_group(self.path, mode="r+")

    def reopen(self) -> dict[str, NDArray[Any]]:
        """Go on with a stored map; returns the arrays of its basis."""
        with storage_faults(self.path, "it is left as it was"):
            self._group = zarr.open_group(self.path, mode="r+")
            if "basis" not in self._group:
                return {}
            return {name: np.asarray(array[...]) for name, array in self._group["basis"].arrays()}

    def _fill(self, group: Any, basis: Mapping[str, NDArray[Any]] | None) -> None:
        names = tuple(self.axes)
        for name, values in self.axes.items():
            array = group.create_array(
                name,
                shape=values.shape,
                dtype="float64",
                chunks=values.shape,
                dimension_names=(name,),
            )
            array[:] = values
            array.attrs.update(units=UNITS.get(name, "1"), long_name=LONG_NAMES.get(name, name))
        for name, (dtype, fill, units, long_name) in VARIABLES.items():
            array = group.create_array(
                name,
                shape=self.shape,
                dtype=dtype,
                chunks=self.tile,
                fill_value=fill,
                dimension_names=names,
            )
            array.attrs.update(units=units, long_name=long_name)
            if name in FLAGS:
                array.attrs.update(
                    flag_values=list(range(len(FLAGS[name]))), flag_meanings=" ".join(FLAGS[name])
                )
        if basis is not None:
            kept = group.create_group("basis")
            for name, values in basis.items():
                values = np.asarray(values)
                array = kept.create_array(
                    name, shape=values.shape, dtype=values.dtype, chunks=values.shape or None
                )
                array[...] = values
        group.attrs.update(self.attributes)

    def tiles(self) -> list[Slices]:
        """The tiles that are not done, in order."""
        done = self._group["done"][...]
        counts = [range(0, size, step) for size, step in zip(self.shape, self.tile, strict=True)]
        every = np.stack(
            np.meshgrid(*[np.array(c) for c in counts], indexing="ij"), axis=-1
        ).reshape(-1, len(counts))
        cut = [
            tuple(
                slice(int(a), min(int(a) + step, size))
                for a, step, size in zip(corner, self.tile, self.shape, strict=True)
            )
            for corner in every
        ]
        return [tile for tile in cut if not done[tile].all()]

    @property
    def finished(self) -> int:
        """Points that are done."""
        return int(np.count_nonzero(self._group["done"][...]))

    def write(self, tile: Slices, values: Mapping[str, NDArray[Any]]) -> None:
        """Store one tile; its `done` comes last. Raises StorageError; what was finished stays."""
        total = int(np.prod(self.shape))
        with storage_faults(
            self.path, lambda: f"{self.finished} of {total} points are kept; go on with resume=True"
        ):
            for name in VARIABLES:
                if name != "done":
                    self._group[name][tile] = values[name]
            self._group["done"][tile] = True

    def dataset(self) -> xr.Dataset:
        """The map as it stands; `source` in words."""
        names = tuple(self.axes)
        variables: dict[str, Any] = {}
        for name in VARIABLES:
            array = self._group[name]
            attributes = dict(array.attrs)
            data = array[...]
            if name == "source":
                data = np.array(FLAGS["source"])[data]
                attributes = {key: attributes[key] for key in ("units", "long_name")}
            variables[name] = (names, data, attributes)
        axes = {name: ((name,), self.axes[name], dict(self._group[name].attrs)) for name in names}
        return xr.Dataset(variables, coords=axes, attrs=dict(self._group.attrs))


@contextmanager
def storage_faults(path: Path | None, state: Any) -> Iterator[None]:
    """Turn the operating system's refusals into one StorageError line that says what is kept."""
    try:
        yield
    except StorageError:
        raise
    except OSError as fault:
        reason = (
            "the disk is full"
            if fault.errno in (errno.ENOSPC, errno.EDQUOT)
            else fault.strerror or str(fault)
        )
        kept = state() if callable(state) else state
        raise StorageError(f"{path}: {reason}; {kept}") from None


def _equal(stored: Any, asked: Any) -> bool:
    if isinstance(asked, list) and isinstance(stored, list) and len(asked) == len(stored):
        try:
            return bool(np.allclose(stored, asked, rtol=FINGERPRINT_TOLERANCE, atol=0.0))
        except (TypeError, ValueError):
            return stored == asked
    return bool(stored == asked)


def _short(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(f"{v:.4g}" for v in value[:2]) + ", …]"
    return "missing" if value is None else str(value)
