"""Checksums that show whether a stored map is as it was written.

Attributes, axes, the basis and the description of every array have a checksum in the attributes of
the group. Every tile has a digest of its values, its place and its map in an array of its own, so
that a chunk that is damaged, missing, or another tile's is noticed.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

CHECKSUMS = "checksums"  # the attribute that holds them
DIGEST = 32  # bytes


def checksum(*items: Any) -> str:
    """Of arrays, by type, shape and values, and of anything that JSON can hold."""
    return str(_hashed(items).hexdigest())


def digest(*items: Any) -> NDArray[np.uint8]:
    """The same as an array (DIGEST,)."""
    return np.frombuffer(_hashed(items).digest(), dtype=np.uint8)


def _hashed(items: Iterable[Any]) -> Any:
    total = hashlib.blake2b(digest_size=DIGEST)
    for item in items:
        if isinstance(item, np.ndarray):
            values = np.ascontiguousarray(item, dtype=item.dtype.newbyteorder("<"))
            total.update(f"{values.dtype.str}{item.shape}".encode())
            total.update(values.reshape(-1).view(np.uint8).data)
        else:
            total.update(json.dumps(item, sort_keys=True, default=str).encode())
    return total


def description(array: Any) -> list[Any]:
    """What a zarr array says of itself: type, shape, chunks, fill value, dimensions, attributes."""
    sizes = [list(array.shape), list(array.chunks)]
    names = array.metadata.dimension_names
    return [str(array.dtype), sizes, str(array.fill_value), names, dict(array.attrs)]


def zarr_group(path: Path, mode: Literal["r", "r+", "w"]) -> Any:
    """The zarr group of a folder; arrays are described by themselves."""
    import zarr

    if mode != "w":
        return zarr.open_group(path, mode=mode, use_consolidated=False)
    return zarr.open_group(path, mode=mode, zarr_format=3)


def consolidate(folder: Path) -> None:
    """Copy the metadata of all arrays of a finished zarr folder into its own, for readers.

    The copy is in no checksum: a map is verified by the metadata of the arrays themselves.
    """
    import zarr

    with warnings.catch_warnings():  # xarray reads it; zarr says that other programs may not
        warnings.filterwarnings("ignore", message="Consolidated metadata is currently not part")
        zarr.consolidate_metadata(folder)


def of_attributes(attributes: Mapping[str, Any]) -> str:
    """The checksum of a group's attributes, other than the checksums themselves."""
    return checksum({name: value for name, value in attributes.items() if name != CHECKSUMS})


def reserve(
    group: Any, name: str, shape: tuple[int, ...], chunks: tuple[int, ...], dtype: Any, fill: Any,
    dimensions: tuple[str, ...] | None = None, attributes: Mapping[str, Any] | None = None,
) -> str:  # fmt: skip
    """Make an empty array in a zarr group, plain values and a CRC in every chunk; the checksum of
    its description.
    """
    from zarr.codecs import Crc32cCodec

    if "/" in name:
        group.require_group(name.rpartition("/")[0])
    array = group.create_array(
        name, shape=shape, chunks=tuple(max(1, size) for size in chunks), dtype=dtype,
        fill_value=fill, dimension_names=dimensions, attributes=dict(attributes or {}),
        compressors=[Crc32cCodec()],
    )  # fmt: skip
    return checksum(description(array), np.zeros(0))


def put(
    group: Any, name: str, values: NDArray[Any],
    dimensions: tuple[str, ...] | None = None, attributes: Mapping[str, Any] | None = None,
) -> str:  # fmt: skip
    """Store an array in a zarr group as one chunk; the checksum of description and values."""
    reserve(group, name, values.shape, values.shape, values.dtype, 0, dimensions, attributes)
    group[name][...] = values
    return checksum(description(group[name]), values)


def readable(array: Any, tiles: Sequence[Any]) -> tuple[NDArray[Any], list[bool]]:
    """The values of a zarr array, and for every tile whether it could be read.

    A decoder of damaged data may raise any exception. Tiles that could not be read hold the fill
    value.
    """
    values = np.full(array.shape, array.fill_value, dtype=array.dtype)
    sound = []
    for tile in tiles:
        try:
            values[tile] = array[tile]
            sound.append(True)
        except Exception:
            sound.append(False)
    return values, sound
