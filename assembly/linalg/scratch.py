"""The folder of factors that are kept on disk, one for each process.

It is removed with the factors. That of a process that was killed is removed when another run starts
with the same place: its lock, which the system releases with the process, is then free.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assembly.errors import InputError, StorageError

LONGEST = 200  # bytes of a path that MUMPS takes, with its file names
VARIABLE = "MUMPS_OOC_TMPDIR"  # where MUMPS reads the folder from


@contextmanager
def scratch(place: Path) -> Iterator[Path]:
    """A new folder in `place` for the factors of this process; removed at the end of the block.

    Raises InputError for a path that is too long or a file, StorageError where no folder can be
    made.
    """
    place = Path(place).absolute()
    if len(os.fsencode(place)) > LONGEST:
        raise InputError(f"out_of_core: {place}: longer than the {LONGEST} bytes that MUMPS takes")
    prefix = f"factors.{platform.node() or 'localhost'}."
    try:
        place.mkdir(parents=True, exist_ok=True)
        with _locked(place, wait=True):  # a new folder is not yet locked for a moment
            _remove_stale(place, prefix)
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
            descriptor = _lock(folder, wait=False)
    except OSError as fault:
        if isinstance(fault, FileExistsError | NotADirectoryError):
            raise InputError(f"out_of_core: {place} is not a folder") from None
        raise StorageError(f"out_of_core: {place}: {fault.strerror or fault}") from None
    former = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(folder)
    try:
        yield folder
    finally:
        os.environ.pop(VARIABLE)
        if former is not None:
            os.environ[VARIABLE] = former
        shutil.rmtree(folder, ignore_errors=True)
        if descriptor is not None:
            os.close(descriptor)


def _remove_stale(place: Path, prefix: str) -> None:
    """Remove the folders of this host whose process is gone."""
    for folder in place.glob(f"{prefix}*"):
        descriptor = _lock(folder, wait=False)
        if descriptor is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(descriptor)


@contextmanager
def _locked(folder: Path, wait: bool) -> Iterator[None]:
    descriptor = _lock(folder, wait)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _lock(folder: Path, wait: bool) -> int | None:
    """A descriptor that holds the folder until it is closed; None where it cannot be had."""
    descriptor = None
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        return descriptor
    except OSError:  # held by a living process, or a file system without locks
        if descriptor is not None:
            os.close(descriptor)
        return None
