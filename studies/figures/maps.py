"""Stability maps over two parameters."""

from __future__ import annotations

import matplotlib.colors as mcolors
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.patches import Patch
from xarray import Dataset

from studies.figures.style import DIVERGENCE, FLUTTER, STABLE
from studies.figures.tracks import axis_label

VERDICTS = ("stable", "divergence", "flutter")


def verdict(grid: Dataset, ax: Axes) -> QuadMesh:
    """Stable, divergence and flutter regions; the legend names those that occur."""
    y_name, x_name = _axes_of(grid)
    colours = mcolors.ListedColormap([STABLE, DIVERGENCE, FLUTTER])
    values = grid["verdict"].transpose(y_name, x_name).values
    mesh = ax.pcolormesh(
        grid[x_name], grid[y_name], values, cmap=colours, vmin=-0.5, vmax=2.5, shading="nearest"
    )
    present = [k for k in range(3) if np.any(values == k)]
    patches = [Patch(facecolor=colours(k), edgecolor="0.6", label=VERDICTS[k]) for k in present]
    ax.legend(handles=patches, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    ax.set(xlabel=axis_label(grid[x_name]), ylabel=axis_label(grid[y_name]))
    ax.grid(False)
    return mesh


def growth(grid: Dataset, ax: Axes) -> QuadMesh:
    """The largest growth rate over the elastic modes, 1/s; the black line is where it is zero."""
    y_name, x_name = _axes_of(grid)
    values = grid["growth_rate"].transpose(y_name, x_name).values
    limit = float(np.nanmax(np.abs(values))) or 1.0
    # Slow growth is growth too: a linear scale would show only the strongest instability.
    threshold = limit / 300.0
    norm = mcolors.SymLogNorm(linthresh=threshold, vmin=-limit, vmax=limit)
    mesh = ax.pcolormesh(
        grid[x_name], grid[y_name], values, cmap="PuOr_r", norm=norm, shading="nearest"
    )
    powers = 10.0 ** np.arange(np.ceil(np.log10(3.0 * threshold)), np.log10(limit))
    bar = ax.figure.colorbar(mesh, ax=ax, ticks=[*-powers[::-1], 0.0, *powers])
    bar.minorticks_off()
    bar.set_label("largest growth rate (1/s)")
    unstable = grid["verdict"].transpose(y_name, x_name).values > 0
    if unstable.any() and not unstable.all():
        ax.contour(
            grid[x_name],
            grid[y_name],
            unstable.astype(float),
            levels=[0.5],
            colors="black",
            linewidths=0.9,
        )
    ax.set(xlabel=axis_label(grid[x_name]), ylabel=axis_label(grid[y_name]))
    ax.grid(False)
    return mesh


def _axes_of(grid: Dataset) -> tuple[str, str]:
    """(vertical, horizontal): the first dimension of the map is drawn along x."""
    x_name, y_name = (str(d) for d in grid["verdict"].dims[:2])
    return y_name, x_name
