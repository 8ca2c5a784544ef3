"""Files and folders that appear complete, and the folder of a map, which one process writes.

A new one is made in a hidden folder beside its place, `.NAME.HOST.PID.partial`, and moved when it
is complete. The folder of a process that is gone is removed at the next start; that of a living
process, or of another host, stays.
"""

from __future__ import annotations

import errno
import fcntl
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from assembly.errors import StorageError
from assembly.parallel.ranks import signals_blocked


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new file or folder that takes the place of `path` when the block ends well."""
    remove_stale(path.parent, path.name)
    temporary = path.with_name(f".{path.name}.{_host()}.{os.getpid()}.partial")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
        made = temporary / path.name
        yield made
        if path.is_dir():
            path.rename(temporary / "old")
        made.replace(path)
    finally:
        with signals_blocked():
            shutil.rmtree(temporary, ignore_errors=True)


def write_whole(path: Path, *parts: bytes | memoryview) -> None:
    """Write a file into a folder that exists: it appears complete or not at all. A signal waits
    until it is written. Raises OSError.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
    with signals_blocked(), replacing(path) as temporary, temporary.open("wb") as file:
        for part in parts:
            file.write(part)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def storage_faults(path: Path | str | None, kept: str | Callable[[], str] = "") -> Iterator[None]:
    """Raise errors of the operating system as one StorageError, which says what is kept."""
    try:
        yield
    except OSError as fault:
        if isinstance(fault, StorageError):
            raise
        is_full = fault.errno in (errno.ENOSPC, errno.EDQUOT)
        reason = "the disk is full" if is_full else fault.strerror or str(fault)
        words = kept() if callable(kept) else kept
        after = f"; {words}" if words else ""
        raise StorageError(f"{path}: could not be written: {reason}{after}") from None


def remove_stale(folder: Path, name: str | None = None) -> None:
    """Remove what killed processes of this host left unfinished in a folder: of anything, or of one
    file or folder in it."""
    for entry in list(folder.glob(".*.partial")):
        whole, _, pid = entry.name[1:].removesuffix(".partial").rpartition(".")
        place = whole.removesuffix(f".{_host()}")
        asked = place != whole if name is None else place == name
        if asked and pid.isdigit() and not _alive(int(pid)):
            shutil.rmtree(entry, ignore_errors=True)


def lock(folder: Path) -> int | None:
    """A file descriptor that holds the folder for this process until it is closed.

    The system releases it when the process ends, however it ends. None where the file system has
    no locks. Raises StorageError when another process holds the folder.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as fault:
        os.close(descriptor)
        if not isinstance(fault, BlockingIOError):
            return None
        raise StorageError(
            f"{folder}: another process is writing this map; wait for it, or give another store"
        ) from None
    return descriptor


def remove_leftovers(folder: Path) -> None:
    """Remove chunks that were half-written when a process was killed. Needs the folder's lock."""
    for entry in folder.rglob("*.partial"):
        entry.unlink(missing_ok=True)


def release(descriptor: int | None) -> None:
    """Give back what `lock` gave."""
    if descriptor is not None:
        os.close(descriptor)


def discard(path: Path) -> None:
    """Remove a file, or whatever else has taken its place, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (OSError, OverflowError) as fault:
        return not isinstance(fault, ProcessLookupError)
    return True


def _host() -> str:
    return platform.node() or "localhost"
