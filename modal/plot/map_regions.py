"""Stability maps over two parameters."""

from __future__ import annotations

import matplotlib.colors as mcolors
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from numpy.typing import NDArray
from xarray import Dataset

from modal.maps.classes import NAMES, classes
from modal.plot.axes import MAP, axes, check_result
from modal.plot.colours import DIVERGENCE, FLUTTER, HATCH, STABLE
from modal.plot.labels import axis_label
from modal.proofs.judge import UNDECIDED

COLOURS = (STABLE, STABLE, DIVERGENCE, FLUTTER)  # of the verdicts from UNDECIDED on


def verdict(grid: Dataset, ax: Axes | None = None) -> QuadMesh:
    """Draw the verdict of a map; undecided points are hatched.

    Parameters
    ----------
    grid : xarray.Dataset
        Of `modal.stability_map`, over two parameters; the first is drawn along x.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    QuadMesh
    """
    check_result(grid, ("verdict",), MAP)
    ax = axes(ax)
    y_name, x_name = _axes_of(grid)
    class_codes = classes(grid).transpose(y_name, x_name).values
    mesh = ax.pcolormesh(
        grid[x_name], grid[y_name], np.ma.masked_less(class_codes, UNDECIDED),
        cmap=mcolors.ListedColormap(COLOURS), vmin=UNDECIDED - 0.5, vmax=UNDECIDED + 3.5,
        shading="nearest",
    )  # fmt: skip
    hatch(grid, ax)
    patches = [
        Patch(
            facecolor=COLOURS[code - UNDECIDED],
            edgecolor=HATCH["edgecolor"],
            hatch=HATCH["hatch"] if code == UNDECIDED else None,
            label=name.replace(": ", ":\n"),
        )
        for code, name in NAMES.items()
        if np.any(class_codes == code)
    ]
    ax.legend(handles=patches, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    ax.set(xlabel=axis_label(grid[x_name]), ylabel=axis_label(grid[y_name]))
    ax.grid(False)
    return mesh


def growth(grid: Dataset, ax: Axes | None = None) -> QuadMesh:
    """Draw the largest growth rate of a map, 1/s; the black line is where it is zero.

    Parameters
    ----------
    grid : xarray.Dataset
        Of `modal.stability_map`, over two parameters; the first is drawn along x.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    QuadMesh
    """
    check_result(grid, ("growth_rate",), MAP)
    ax = axes(ax)
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
    bar.set_label(axis_label(grid["growth_rate"], "largest growth rate"))
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
    hatch(grid, ax)
    ax.set(xlabel=axis_label(grid[x_name]), ylabel=axis_label(grid[y_name]))
    ax.grid(False)
    return mesh


def hatch(grid: Dataset, ax: Axes) -> PathPatch:
    """Hatched cells of the undecided points."""
    y_name, x_name = _axes_of(grid)
    undecided = classes(grid).transpose(y_name, x_name).values == UNDECIDED
    x, y = (_edges(grid[name].values) for name in (x_name, y_name))
    cells = [_cell(x[j : j + 2], y[i : i + 2]) for i, j in np.argwhere(undecided)]
    outline = Path.make_compound_path(*cells) if cells else Path(np.zeros((0, 2)))
    patch = PathPatch(outline, fill=False, linewidth=0.0, **HATCH)
    ax.add_artist(patch)
    return patch


def _edges(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Edges of the cells around the points, halfway between them."""
    if len(points) < 2:
        return np.array([points[0] - 0.5, points[0] + 0.5])
    middle = 0.5 * (points[1:] + points[:-1])
    return np.concatenate([[2.0 * points[0] - middle[0]], middle, [2.0 * points[-1] - middle[-1]]])


def _cell(x: NDArray[np.float64], y: NDArray[np.float64]) -> Path:
    corners = [(x[0], y[0]), (x[1], y[0]), (x[1], y[1]), (x[0], y[1]), (x[0], y[0])]
    return Path(corners, closed=True)


def _axes_of(grid: Dataset) -> tuple[str, str]:
    """(vertical, horizontal): the first dimension of the map is drawn along x."""
    x_name, y_name = (str(d) for d in grid["verdict"].dims[:2])
    return y_name, x_name
