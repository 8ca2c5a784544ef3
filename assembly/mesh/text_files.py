"""Reading files that a user names: regular files of bounded size only.

A device such as /dev/zero never ends, and a pipe that nobody writes to never begins.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from assembly.errors import InputError

LARGEST = 4 * 2**30  # bytes
LARGEST_SET = 20_000_000  # members
_opened: ContextVar[list[Path] | None] = ContextVar("opened", default=None)


@contextmanager
def opened_files() -> Iterator[list[Path]]:
    """Within the block, the paths of all files that are read are collected."""
    paths: list[Path] = []
    token = _opened.set(paths)
    try:
        yield paths
    finally:
        _opened.reset(token)


def regular_file(path: str | Path, error: type[InputError] = InputError) -> Path:
    """The path of a regular file that is not too large; the error naming it otherwise."""
    file = Path(path)
    try:
        status = file.stat()
    except (OSError, ValueError) as fault:
        if isinstance(fault, FileNotFoundError):
            raise error(f"{shown(path)}: no such file") from None
        reason = getattr(fault, "strerror", "NUL in the file name")
        raise error(f"{shown(path)}: cannot be read: {reason}") from None
    if not stat.S_ISREG(status.st_mode):
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "a device or a pipe"
        raise error(f"{shown(path)}: cannot be read: it is {what}, expected a file")
    if status.st_size > LARGEST:
        raise error(
            f"{shown(path)}: cannot be read: {status.st_size} bytes, at most {LARGEST} are accepted"
        )
    collected = _opened.get()
    if collected is not None:
        collected.append(file)
    return file


def read_text(
    path: str | Path, error: type[InputError] = InputError, *, replace: bool = True
) -> str:
    """The text of a regular file in UTF-8.

    replace: other bytes become a replacement character; otherwise they are an error.
    """
    file = regular_file(path, error)
    try:
        return file.read_text(encoding="utf-8", errors="replace" if replace else "strict")
    except (OSError, UnicodeDecodeError, MemoryError) as fault:
        other = "too large for the memory" if isinstance(fault, MemoryError) else "not a text file"
        reason = getattr(fault, "strerror", other)
        raise error(f"{shown(path)}: cannot be read: {reason}") from None


def shown(words: str | Path) -> str:
    """A path or a text as it is shown in one line: printable and not endless."""
    text = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(words))
    return text if len(text) <= 300 else f"{text[:150]}…{text[-100:]}"
