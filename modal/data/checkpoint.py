"""Checkpoints: arrays and settings in one file, written whole or not at all.

The file is an .npz archive, readable by `numpy.load`, followed by a digest of its bytes. A file
whose digest is wrong is damaged and is not read.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.errors import StorageError
from modal.data.folder import storage_faults, write_whole
from modal.data.integrity import DIGEST


def save(
    path: Path, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any], kept: str = ""
) -> None:
    """Write arrays and settings in one go: a reader sees the old file or the new one, never half.

    Raises StorageError, which says what is `kept`; nothing is then left of the new one.
    """
    content = io.BytesIO()  # an archive on disk does not survive a write that fails
    np.savez(content, settings=np.array(json.dumps(dict(settings), sort_keys=True)), **arrays)
    with storage_faults(f"checkpoint {path}", kept):
        write_whole(path, content.getbuffer(), _digest(content.getbuffer()))


def load(path: Path, settings: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Read what `save` wrote; StorageError when it is damaged or belongs to other settings."""
    try:
        content = memoryview(path.read_bytes())
    except OSError as fault:
        raise StorageError(f"checkpoint {path}: cannot be read: {fault.strerror}") from None
    if content[-DIGEST:] != _digest(content[:-DIGEST]):
        raise StorageError(
            f"checkpoint {path}: cannot be read: it is damaged, cut off, or of an earlier version"
        )
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    stored = json.loads(str(arrays.pop("settings")))
    for key, value in settings.items():
        if stored.get(key) != value:
            raise StorageError(
                f"checkpoint {path}: was made with {key} = {stored.get(key)!r}, not {value!r}"
            )
    return arrays


def _digest(content: memoryview) -> bytes:
    return hashlib.blake2b(content, digest_size=DIGEST).digest()
