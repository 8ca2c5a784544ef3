"""The look all figures share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

RC: Any = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}


@contextmanager
def figure(
    rows: int = 1, columns: int = 1, width: float = 7.0, height: float = 4.0, sharex: bool = False
) -> Iterator[tuple[Figure, list[Axes]]]:
    """A figure in the shared look and its axes as a flat list."""
    with plt.rc_context(RC):
        drawn, axes = plt.subplots(
            rows, columns, figsize=(width, height), squeeze=False, sharex=sharex
        )
        yield drawn, list(axes.ravel())
