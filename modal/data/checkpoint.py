"""Checkpoints: arrays and settings in one file, written whole or not at all."""

from __future__ import annotations

import io
import json
import os
import zlib
from pathlib import Path
from typing import Any, BinaryIO, cast
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from assembly.errors import StorageError

PARTIAL = ".partial"  # ends the name of a file that is being written
# What reading a damaged file may raise.
DAMAGED = (OSError, ValueError, KeyError, EOFError, NotImplementedError, BadZipFile, zlib.error)


def save(path: Path, arrays: dict[str, NDArray[Any]], settings: dict[str, Any]) -> None:
    """Write arrays and settings in one go: a reader sees the old file or the new one, never half.

    Raises StorageError; nothing is then left of the new one.
    """
    partial = path.with_name(path.name + PARTIAL)
    text = np.array(json.dumps(settings, sort_keys=True))
    try:
        with open(partial, "wb") as file:
            stream = _Stream(file)
            np.savez(cast(BinaryIO, stream), settings=text, **arrays)
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
    """A file for `zipfile`, which does not survive a write that fails: it keeps the first fault."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.fault: OSError | None = None

    def write(self, data: Any) -> int:
        if self.fault is None:
            try:
                self._file.write(data)
            except OSError as fault:
                self.fault = fault
        return memoryview(data).nbytes

    def read(self, size: int = -1) -> bytes:
        """What tells numpy that this is a file."""
        raise io.UnsupportedOperation("read")

    def flush(self) -> None:
        pass


def load(path: Path, settings: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """Read what `save` wrote; StorageError when it is unreadable or belongs to other settings."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        stored = json.loads(str(arrays.pop("settings")))
    except DAMAGED as fault:
        raise StorageError(f"checkpoint {path}: cannot be read: {fault}") from fault
    for key, value in settings.items():
        if stored.get(key) != value:
            raise StorageError(
                f"checkpoint {path}: was made with {key} = {stored.get(key)!r}, not {value!r}"
            )
    return arrays
