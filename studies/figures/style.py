"""The look all figures share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from assembly.mesh.text_files import shown

# Okabe & Ito's eight colours, told apart by all common kinds of colour vision.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")
RIGID = "#8A8A8A"
STABLE, DIVERGENCE, FLUTTER = "#E8EEF4", "#E69F00", "#D55E00"
HATCH: Any = {"hatch": "////", "edgecolor": "#7A8894"}  # where a verdict is not on all modes

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


def colour(index: int) -> str:
    """The palette's colour for a mode number."""
    return PALETTE[index % len(PALETTE)]


def plain(text: str) -> str:
    """A name that a user chose, for a title or a label: no formula, one line, not endless."""
    line = shown(text)
    return (line if len(line) <= 60 else line[:59] + "…").replace("$", r"\$")
