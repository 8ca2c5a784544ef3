"""Stability maps over two parameters."""

from __future__ import annotations

import matplotlib.colors as mcolors
import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path
from numpy.typing import NDArray
from scipy.interpolate import RegularGridInterpolator
from scipy.ndimage import distance_transform_edt, generate_binary_structure, maximum_filter
from xarray import Dataset

from modal.maps.classes import NAMES, classes
from modal.plot.axes import MAP, axes, axis_label, check_result, legend_below
from modal.plot.colours import DIVERGENCE, FLUTTER, HATCH, MARK, STABLE, UNDECIDED
from modal.proofs import judge

COLOURS = (UNDECIDED, STABLE, DIVERGENCE, FLUTTER)  # of the verdicts from undecided on
MARKS = {judge.DIVERGENCE: "\\\\\\", judge.FLUTTER: "..."}  # hatches of what is unstable


def verdict(grid: Dataset, ax: Axes | None = None) -> QuadMesh:
    """Draw the verdict of a map; undecided points are hatched.

    The boundary is where the growth rate, interpolated between the points, is zero. Next to a
    stable point whose decay is not resolved (no damping) it is halfway to the next point.

    Parameters
    ----------
    grid : xarray.Dataset
        Of `modal.stability_map`, over two parameters; the first is drawn along x.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    QuadMesh
        The verdicts on a refined grid.
    """
    check_result(grid, ("verdict",), MAP)
    ax = axes(ax)
    grid = _upright(grid)
    x, y, codes = _refined(grid)
    mesh = ax.pcolormesh(
        x, y, np.ma.masked_less(codes, judge.UNDECIDED), cmap=mcolors.ListedColormap(COLOURS),
        vmin=judge.UNDECIDED - 0.5, vmax=judge.FLUTTER + 0.5, shading="nearest", rasterized=True,
    )  # fmt: skip
    with rc_context({"hatch.color": MARK, "hatch.linewidth": 0.5}):
        for code, pattern in MARKS.items():
            if np.any(codes == code) and min(codes.shape) > 1:
                region = (codes == code).astype(float)
                ax.contourf(x, y, region, levels=[0.5, 1.5], colors="none", hatches=[pattern])
    _finish(grid, ax)
    points = classes(grid).values
    patches = [
        Patch(
            facecolor=COLOURS[code - judge.UNDECIDED],
            edgecolor=HATCH["edgecolor"] if code <= judge.STABLE else MARK,
            hatch=HATCH["hatch"] if code == judge.UNDECIDED else MARKS.get(code),
            linewidth=0.5,
            label=name.partition(":")[0],
        )
        for code, name in NAMES.items()
        if np.any(points == code)
    ]
    legend_below(ax, patches)
    return mesh


def _field(grid: Dataset) -> NDArray[np.float64]:
    """Growth rates (along y, along x) whose sign is the verdict: positive where unstable.

    A stable point without resolved decay has the negative of its largest unstable neighbour's
    rate, so that zero is halfway between them.
    """
    codes = classes(grid).values
    unstable = codes > judge.STABLE
    rates, error = (
        np.nan_to_num(grid[name].values) if name in grid else np.zeros(codes.shape)
        for name in ("growth_rate", "error_bound")
    )
    rates = np.where(unstable, np.maximum(rates, np.finfo(float).tiny), rates)
    if not unstable.any():
        return np.full(codes.shape, -1.0)
    cross = generate_binary_structure(2, 1)
    beside = maximum_filter(np.where(unstable, rates, 0.0), footprint=cross)
    least = 1e-9 * float(rates[unstable].max())
    opposite = -np.maximum(beside, least)
    resolved = rates < -np.maximum(error, least)
    return np.where(unstable, rates, np.where(resolved, rates, opposite))


def _refined(
    grid: Dataset, cells: int = 400
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]:
    """x, y and the class of every place of a fine grid, the points of the map among them.

    The class of an undecided point, or of one that is not computed, fills the whole of its cell.
    cells: along an axis of the drawing.
    """
    codes = classes(grid).values
    old = [grid[name].values.astype(float) for name in grid["verdict"].dims]
    if min(codes.shape) < 2:
        return old[1], old[0], codes
    steps = [max(1, cells // len(v)) for v in old]
    at = [np.arange((len(v) - 1) * n + 1) / n for v, n in zip(old, steps, strict=True)]
    y, x = (np.interp(a, np.arange(len(v)), v) for a, v in zip(at, old, strict=True))
    field = RegularGridInterpolator([np.arange(len(v)) for v in old], _field(grid))
    unstable = field(np.stack(np.meshgrid(*at, indexing="ij"), -1)) > 0.0
    nearest = np.ix_(*[np.rint(a).astype(int) for a in at])
    nearest_code, kinds = codes[nearest], codes
    if (codes > judge.STABLE).any():
        _, place = distance_transform_edt(codes <= judge.STABLE, return_indices=True)
        kinds = codes[tuple(place)]
    open_cells = nearest_code <= judge.UNDECIDED
    return (
        x,
        y,
        np.where(open_cells, nearest_code, np.where(unstable, kinds[nearest], judge.STABLE)),
    )


def _boundary(grid: Dataset, ax: Axes) -> None:
    """The line between stable and unstable, at the interpolated zero of the growth rate."""
    field = _field(grid)
    if min(field.shape) > 1 and (field > 0.0).any() and (field < 0.0).any():
        y, x = (grid[name] for name in grid["verdict"].dims)
        ax.contour(x, y, field, levels=[0.0], colors="black", linewidths=0.9)


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
    grid = _upright(grid)
    y, x = (grid[name] for name in grid["verdict"].dims)
    values = grid["growth_rate"].values
    limit = float(np.nanmax(np.abs(values))) or 1.0
    # Slow growth is growth too: a linear scale would show only the strongest instability.
    threshold = limit / 300.0
    norm = mcolors.SymLogNorm(linthresh=threshold, vmin=-limit, vmax=limit)
    mesh = ax.pcolormesh(x, y, values, cmap="PuOr_r", norm=norm, shading="nearest")
    powers = 10.0 ** np.arange(np.ceil(np.log10(3.0 * threshold)), np.log10(limit))
    bar = ax.figure.colorbar(mesh, ax=ax, ticks=[*-powers[::-1], 0.0, *powers])
    bar.minorticks_off()
    bar.set_label(axis_label(grid["growth_rate"], "largest growth rate"))
    _finish(grid, ax)
    return mesh


def hatch(grid: Dataset, ax: Axes) -> PathPatch:
    """Hatched cells of the undecided points; the first dimension of the map is drawn along y."""
    undecided = classes(grid).values == judge.UNDECIDED
    y, x = (_edges(grid[name].values) for name in grid["verdict"].dims)
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


def _upright(grid: Dataset) -> Dataset:
    """The map with the dimension along y, its second one, first."""
    x_name, y_name = grid["verdict"].dims[:2]
    return grid.transpose(y_name, x_name, ...)


def _finish(grid: Dataset, ax: Axes) -> None:
    """The boundary, the hatches of undecided points and the names of the axes."""
    _boundary(grid, ax)
    hatch(grid, ax)
    y, x = (axis_label(grid[name]) for name in grid["verdict"].dims)
    ax.set(xlabel=x, ylabel=y)
    ax.grid(False)
