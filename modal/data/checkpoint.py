"""Checkpoints: arrays and settings in one file, written whole or not at all; checksums.

The file is an .npz archive, readable by `numpy.load`, followed by a digest of its bytes. A file
whose digest is wrong is damaged and is not read. It holds no pickled objects: data classes become
named arrays (`packed`), and back (`unpacked`).
"""

from __future__ import annotations

import hashlib
import io
import json
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from assembly.errors import StorageError
from modal.data.folder import storage_faults, write_whole


def save(
    path: Path, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any],
    kept: str | Callable[[], str] = "",
) -> None:  # fmt: skip
    """Write arrays and settings in one go: a reader sees the old file or the new one, never half.

    Raises StorageError, which says what is `kept`; nothing is then left of the new one.
    """
    content = io.BytesIO()  # an archive on disk does not survive a write that fails
    np.savez(content, settings=np.array(json.dumps(dict(settings), sort_keys=True)), **arrays)
    with storage_faults(f"checkpoint {path}", kept):
        write_whole(path, content.getbuffer(), _hashed([content.getbuffer()]).digest())


def found(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]] | None:
    """The arrays and the settings that `save` wrote; None where the file is missing or damaged."""
    try:
        content = memoryview(path.read_bytes() if path.is_file() else b"")
    except OSError as fault:
        raise StorageError(f"checkpoint {path}: cannot be read: {fault.strerror}") from None
    length = _hashed([]).digest_size
    if content[-length:] != _hashed([content[:-length]]).digest():
        return None
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return arrays, json.loads(str(arrays.pop("settings")))


def stored(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The same. Raises StorageError where there is nothing."""
    parts = found(path)
    if parts is None:
        damaged = "it is damaged, cut off, or of an earlier version"
        reason = damaged if path.exists() else "No such file or directory"
        raise StorageError(f"checkpoint {path}: cannot be read: {reason}")
    return parts


def load(path: Path, settings: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Read what `save` wrote; StorageError when it is damaged or belongs to other settings."""
    arrays, before = stored(path)
    for key, value in settings.items():
        if before.get(key) != value:
            raise StorageError(
                f"checkpoint {path}: was made with {key} = {before.get(key)!r}, not {value!r}"
            )
    return arrays


Arrays = dict[str, NDArray[Any]]
T = TypeVar("T")


def packed(value: Any, name: str) -> Arrays:
    """The arrays of a data class, of a sequence or mapping of them, or of one array or number.

    Names are joined by dots below `name`; None leaves no array. Keys of mappings are whole numbers.
    """
    if value is None:
        return {}
    if is_dataclass(value):
        parts = {f.name: getattr(value, f.name) for f in fields(value)}
    elif isinstance(value, Mapping):
        keys = list(value)
        parts = {"keys": np.array(keys, dtype=np.intp)}
        parts |= {str(n): value[key] for n, key in enumerate(keys)}
    elif isinstance(value, (list, tuple)):
        parts = {"length": len(value)} | {str(n): item for n, item in enumerate(value)}
    else:
        return {name: np.asarray(value)}
    out: Arrays = {f"{name}.": np.zeros(0)}  # it is there, though all it holds may be None
    for key, part in parts.items():
        out |= packed(part, f"{name}.{key}")
    return out


def unpacked(kind: Any, name: str, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The value of type `kind` that `packed` was given; KeyError where an array is missing."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        present = name in arrays or f"{name}." in arrays
        inner = next(a for a in arguments if a is not type(None))
        return unpacked(inner, name, arrays) if present else None
    if is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return kind(  # type: ignore[operator]
            **{f.name: unpacked(hints[f.name], f"{name}.{f.name}", arrays) for f in fields(kind)}
        )
    if isinstance(origin, type) and issubclass(origin, Mapping):
        keys = arrays[f"{name}.keys"].tolist()
        items = (unpacked(arguments[1], f"{name}.{n}", arrays) for n in range(len(keys)))
        return dict(zip(keys, items, strict=True))
    if origin in (list, tuple):
        length = int(arrays[f"{name}.length"])
        return origin(unpacked(arguments[0], f"{name}.{n}", arrays) for n in range(length))
    value = arrays[name]
    return kind(value.item()) if kind in (int, float, str, bool) else value


def checksum(*items: Any) -> str:
    """Of arrays, by type, shape and values, of bytes, and of anything that JSON can hold."""
    return str(_hashed(items).hexdigest())


def checksum_of_files(*paths: Path) -> str:
    """Of the contents of files, and of which of them there are."""
    return checksum(*(path.read_bytes() if path.is_file() else None for path in paths))


def _hashed(items: Iterable[Any]) -> Any:
    total = hashlib.blake2b(digest_size=32)
    for item in items:
        if isinstance(item, np.ndarray):
            values = np.ascontiguousarray(item, dtype=item.dtype.newbyteorder("<"))
            total.update(f"{values.dtype.str}{item.shape}".encode())
            total.update(values.reshape(-1).view(np.uint8).data)
        elif isinstance(item, (bytes, memoryview)):
            total.update(item)
        else:
            total.update(json.dumps(item, sort_keys=True, default=str).encode())
    return total
