"""Plain curves of a dataset's variable: one line a value of one of its dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.lines import Line2D
from xarray import DataArray

from modal.data.units import PREFIXES
from modal.plot.axes import axis_label
from modal.plot.colours import colour, dashes

# Line styles that tell curves apart in print too.
STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))


def family(
    data: DataArray,
    x: str,
    ax: Axes,
    *,
    along: str | None = None,
    labels: Sequence[str] | None = None,
    prefix: str = "",
    words: str | None = None,
    styled: bool = False,
    first: int = 0,
    **options: object,
) -> list[Line2D]:
    """Lines of data over x, one for every entry of dimension `along`.

    Parameters
    ----------
    data : DataArray
        What is drawn; its attributes give the label of the y axis.
    x : str
        Coordinate along the x axis.
    ax : Axes
        Where to draw.
    along : str, optional
        The other dimension; None for a single line.
    labels : sequence of str, optional
        Labels of the lines.
    prefix, words
        Unit prefix and name of the y axis, as in `axis_label`.
    styled : bool
        Whether lines differ in style as well as in colour.
    first : int
        Number of the first colour.
    **options
        Passed on to `Axes.plot`.
    """
    rows = [data] if along is None else [data.isel({along: i}) for i in range(data.sizes[along])]
    artists = []
    for i, row in enumerate(rows):
        style = STYLES[i % len(STYLES)] if styled else dashes(first + i)
        label = None if labels is None else labels[i]
        artists += ax.plot(
            row[x].values,
            PREFIXES[prefix] * row.values,
            ls=style,
            color=colour(first + i),
            label=label,
            **options,  # type: ignore[arg-type]
        )
    ax.set(xlabel=axis_label(data[x]), ylabel=axis_label(data, words, prefix))
    return artists


def graded(
    data: DataArray,
    x: str,
    ax: Axes,
    *,
    along: str,
    prefix: str,
) -> list[Line2D]:
    """Many lines of one ordered dimension, graded from dark to light, with a colour bar."""
    values = data[along].values
    shades = colormaps["viridis"](np.linspace(0.0, 0.92, len(values)))
    artists = []
    for i, shade in enumerate(shades):
        artists += ax.plot(
            data[x].values, PREFIXES[prefix] * data.isel({along: i}), color=shade, lw=1.1
        )
    ax.set(xlabel=axis_label(data[x]), ylabel=axis_label(data, None, prefix))
    steps = ListedColormap(shades)
    edges = np.arange(len(values) + 1) - 0.5
    scale = ScalarMappable(BoundaryNorm(edges, steps.N), steps)
    bar = ax.figure.colorbar(scale, ax=ax, label=axis_label(data[along]))
    bar.set_ticks([float(i) for i in range(len(values))], labels=[str(v) for v in values])
    return artists


def legend_right(ax: Axes, title: str | None = None) -> None:
    """The legend to the right of the axes, where it hides nothing."""
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), title=title)
