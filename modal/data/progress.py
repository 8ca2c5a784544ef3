"""Progress bars on stderr: shown on a terminal, or as the caller says."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from tqdm import tqdm

Item = TypeVar("Item")


def hidden(progress: bool | None) -> bool:
    """Whether no bar is to be drawn; None stands for "on a terminal only"."""
    return not sys.stderr.isatty() if progress is None else not progress


def shown(
    items: Iterable[Item],
    what: str,
    unit: str,
    progress: bool | None,
    total: int | None = None,
    first: int = 0,
) -> Iterable[Item]:
    """The items, with a bar that counts them from `first` on."""
    options: Any = dict(desc=what, unit=unit, total=total, initial=first)
    bar: Iterable[Item] = _bar(progress, iterable=items, **options)
    return bar


def phase(what: str, progress: bool | None) -> AbstractContextManager[Any]:
    """The name of a phase that has no steps to count."""
    bar: AbstractContextManager[Any] = _bar(
        progress, desc=what, total=1, bar_format="{desc} … {elapsed}"
    )
    return bar


def _bar(progress: bool | None, **options: Any) -> Any:
    return tqdm(file=sys.stderr, disable=hidden(progress), leave=False, **options)
