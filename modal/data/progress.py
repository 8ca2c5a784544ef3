"""Progress bars on stderr: shown on a terminal, or as the caller says."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from tqdm import tqdm

Item = TypeVar("Item")
Result = TypeVar("Result")


def hidden(progress: bool | None) -> bool:
    """Whether no bar is to be drawn; None stands for "on a terminal only"."""
    return not sys.stderr.isatty() if progress is None else not progress


def shown(
    items: Iterable[Item], what: str, unit: str, progress: bool | None, total: int | None = None
) -> Iterable[Item]:
    """The items, with a bar that counts them."""
    bar: Iterable[Item] = tqdm(
        items,
        desc=what,
        unit=unit,
        total=total,
        file=sys.stderr,
        disable=hidden(progress),
        leave=False,
    )
    return bar


@contextmanager
def counted(
    function: Callable[[float], Result], what: str, unit: str, progress: bool | None
) -> Iterator[Callable[[float], Result]]:
    """The function, with a bar that counts its calls, of a number not known in advance."""
    with tqdm(desc=what, unit=unit, file=sys.stderr, disable=hidden(progress), leave=False) as bar:

        def call(t: float) -> Result:
            result = function(t)
            bar.update()
            return result

        yield call


@contextmanager
def phase(what: str, progress: bool | None) -> Iterator[None]:
    """The name of a phase that has no steps to count."""
    with tqdm(
        desc=what,
        total=1,
        file=sys.stderr,
        disable=hidden(progress),
        leave=False,
        bar_format="{desc} … {elapsed}",
    ):
        yield
