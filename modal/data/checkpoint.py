"""Checkpoints: arrays and settings in one file, written whole or not at all.

The file is an .npz archive, readable by `numpy.load`, followed by a digest of its bytes. A file
whose digest is wrong is damaged and is not read.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from assembly.errors import StorageError
from modal.data.integrity import DIGEST

PARTIAL = ".partial"  # ends the name of a file that is being written
BLOCK = 1 << 20  # bytes that are read at once for the digest


def save(path: Path, arrays: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]) -> None:
    """Write arrays and settings in one go: a reader sees the old file or the new one, never half.

    Raises StorageError; nothing is then left of the new one.
    """
    partial = path.with_name(path.name + PARTIAL)
    text = np.array(json.dumps(dict(settings), sort_keys=True))
    try:
        with open(partial, "wb") as file:
            stream = _Stream(file)
            np.savez(cast(BinaryIO, stream), settings=text, **arrays)
            stream.write(stream.digest.digest())
            if stream.fault is not None:
                raise stream.fault
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as fault:
        raise StorageError(f"checkpoint {path}: cannot be written: {fault.strerror}") from fault
    finally:
        partial.unlink(missing_ok=True)


class _Stream:
    """A file for `zipfile`, which does not survive a write that fails: it keeps the first fault,
    and the digest of what was written."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.fault: OSError | None = None
        self.digest = hashlib.blake2b(digest_size=DIGEST)

    def write(self, data: Any) -> int:
        if self.fault is None:
            try:
                self._file.write(data)
            except OSError as fault:
                self.fault = fault
        self.digest.update(data)
        return memoryview(data).nbytes

    def read(self, size: int = -1) -> bytes:
        """What tells numpy that this is a file."""
        raise io.UnsupportedOperation("read")

    def flush(self) -> None:
        pass


def load(path: Path, settings: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Read what `save` wrote; StorageError when it is damaged or belongs to other settings."""
    try:
        _check_digest(path)
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except OSError as fault:
        own = isinstance(fault, StorageError)
        reason = str(fault) if own else f"checkpoint {path}: cannot be read: {fault.strerror}"
        raise StorageError(reason) from None
    stored = json.loads(str(arrays.pop("settings")))
    for key, value in settings.items():
        if stored.get(key) != value:
            raise StorageError(
                f"checkpoint {path}: was made with {key} = {stored.get(key)!r}, not {value!r}"
            )
    return arrays


def _check_digest(path: Path) -> None:
    """Raises StorageError unless the file ends with the digest of what precedes."""
    total = hashlib.blake2b(digest_size=DIGEST)
    with open(path, "rb") as file:
        left = os.fstat(file.fileno()).st_size - DIGEST
        while left > 0:
            block = file.read(min(left, BLOCK))
            total.update(block)
            left -= len(block) or left
        if file.read() != total.digest():
            raise StorageError(
                f"checkpoint {path}: cannot be read: it is damaged, cut off, or of an earlier "
                "version"
            )
