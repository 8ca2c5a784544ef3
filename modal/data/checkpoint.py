"""Checkpoints: arrays and settings in one file, written whole or not at all; checksums.

The file is an .npz archive, readable by `numpy.load`, followed by a digest of its bytes. A file
whose digest is wrong is damaged and is not read.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.errors import StorageError
from modal.data.folder import storage_faults, write_whole

DIGEST = 32  # bytes


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


def stored(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays and the settings that `save` wrote. Raises StorageError when it is damaged."""
    try:
        content = memoryview(path.read_bytes())
    except OSError as fault:
        raise StorageError(f"checkpoint {path}: cannot be read: {fault.strerror}") from None
    if content[-DIGEST:] != _hashed([content[:-DIGEST]]).digest():
        raise StorageError(
            f"checkpoint {path}: cannot be read: it is damaged, cut off, or of an earlier version"
        )
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    return arrays, json.loads(str(arrays.pop("settings")))


def load(path: Path, settings: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Read what `save` wrote; StorageError when it is damaged or belongs to other settings."""
    arrays, found = stored(path)
    for key, value in settings.items():
        if found.get(key) != value:
            raise StorageError(
                f"checkpoint {path}: was made with {key} = {found.get(key)!r}, not {value!r}"
            )
    return arrays


def checksum(*items: Any) -> str:
    """Of arrays, by type, shape and values, of bytes, and of anything that JSON can hold."""
    return str(_hashed(items).hexdigest())


def checksum_of_files(*paths: Path) -> str:
    """Of the contents of files, and of which of them there are."""
    return checksum(*(path.read_bytes() if path.is_file() else None for path in paths))


def _hashed(items: Iterable[Any]) -> Any:
    total = hashlib.blake2b(digest_size=DIGEST)
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
