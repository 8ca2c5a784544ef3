"""How long a sweep will take, measured on a few of its points before it starts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

import modal
from assembly.errors import InputError

Axis = NDArray[np.float64]


def check_map(
    family: Any, axes: Mapping[str, Axis], fixed: Any, k: int, yes: bool, ranks: int
) -> None:
    """Raises InputError for a map that takes long, unless yes."""

    def sample(side: int) -> int:
        chosen = {name: _part(values, side) for name, values in axes.items()}
        modal.stability_map(family, over=chosen, fixed=fixed, k=k, progress=False)
        return int(np.prod([len(values) for values in chosen.values()]))

    _check(int(np.prod([float(len(v)) for v in axes.values()])), sample, yes, ranks)


def check_track(track: Callable[[Axis], Any], values: Axis, yes: bool) -> None:
    """Raises InputError for a track that takes long, unless yes. track: follows modes over some
    values."""

    def sample(side: int) -> int:
        part = values[: 4 * side]
        track(part)
        return len(part)

    _check(len(values), sample, yes, 1)


def _part(values: Axis, count: int) -> Axis:
    chosen = np.unique(np.linspace(0, len(values) - 1, count).round().astype(int))
    return np.asarray(values[chosen])


def _check(
    points: int,
    sample: Callable[[int], int],
    yes: bool,
    ranks: int,
    *,
    many: int = 20_000,
    long: float = 900.0,
    sides: tuple[int, int, int] = (3, 3, 10),
    least: float = 1e-4,
) -> None:
    """many: points from which a sweep is estimated. long: s from which it needs --yes. sides:
    points along each axis of the samples; the first one warms up. least: s of a point, of writing
    it and of a small eigenproblem."""
    if points < many or yes:
        return
    spent, counts = [], []
    for side in sides:
        start = time.perf_counter()
        counts.append(sample(side))
        spent.append(time.perf_counter() - start)
    each = max((spent[2] - spent[1]) / max(counts[2] - counts[1], 1), least)
    seconds = spent[1] + each * points / ranks
    line = f"{_number(points)} points, about {duration(seconds)}"
    if seconds > long:
        raise InputError(f"{line} (measured on {counts[2]} of them); --yes starts it")
    click.echo(f"frozen-motion: {line}", err=True)


def _number(points: int) -> str:
    return f"{points}" if points < 10_000_000 else f"{float(points):.3g}"


def duration(seconds: float) -> str:
    """A time in its largest fitting unit."""
    for size, unit in ((86400.0 * 365.0, "years"), (86400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{max(seconds, 1.0):.0f} s"
