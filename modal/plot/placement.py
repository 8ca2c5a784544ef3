"""Labels that stand clear of one another: at the ends of lines, and beside points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

LINE = 1.15  # height of a line of text over its font size
WIDTH = 0.62  # of a digit
SAME = 2.0  # points: ends closer than this are one


@dataclass(frozen=True)
class End:
    """The right end of a line in data coordinates, and its name.

    at_edge: whether the axes end there too.
    """

    x: float
    y: float
    name: str
    at_edge: bool = True
    color: str | None = None


def beside_ends(ax: Axes, ends: Sequence[End]) -> None:
    """Name lines to the right of their ends. Lines that lie on one another share a name."""
    edge = sorted((end for end in ends if end.at_edge), key=lambda end: end.y)
    heights = _points(ax, [(end.x, end.y) for end in edge])[:, 1]
    groups: list[list[int]] = []
    for n in range(len(edge)):
        if groups and heights[n] - heights[groups[-1][0]] < SAME:
            groups[-1].append(n)
        else:
            groups.append([n])
    centres = np.array([heights[group].mean() for group in groups])
    shifts = spread(centres, LINE * _font_size()) - centres
    for group, shift in zip(groups, shifts, strict=True):
        first = edge[group[0]]
        _name(ax, first, ", ".join(edge[n].name for n in group), (12.0, float(shift)))
    for end in ends:
        if not end.at_edge:
            _name(ax, end, end.name, (4.0, 0.0))


def _name(ax: Axes, end: End, text: str, offset: tuple[float, float]) -> None:
    leader = dict(arrowstyle="-", lw=0.5, color="0.55", shrinkA=0.0, shrinkB=1.0)
    ax.annotate(
        text, (end.x, end.y), offset, textcoords="offset points", va="center", fontsize="small",
        color=end.color or rcParams["text.color"], annotation_clip=False,
        arrowprops=leader if end.at_edge else None,
    )  # fmt: skip


def spread(centres: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """Rising positions at least `gap` apart whose squared distances to the given ones are least.

    Neighbours that are too close form a block about their mean (pool adjacent violators).
    """
    blocks: list[tuple[float, int]] = []  # mean of position − rank × gap, number of labels
    for n, centre in enumerate(centres):
        mean, count = float(centre) - n * gap, 1
        while blocks and blocks[-1][0] > mean:
            before, size = blocks.pop()
            mean, count = (mean * count + before * size) / (count + size), count + size
        blocks.append((mean, count))
    return np.repeat([b[0] for b in blocks], [b[1] for b in blocks]) + gap * np.arange(len(centres))


def beside_points(ax: Axes, labels: Sequence[tuple[float, float, str]]) -> None:
    """Write each text next to its point, where it hides least of lines, points and other texts."""
    if not labels:
        return
    size = _font_size()
    curves = [_dense(_points(ax, np.column_stack(line.get_data()))) for line in ax.get_lines()]
    obstacles = np.concatenate([c for c in curves if len(c)])
    frame = np.sort(_points(ax, np.column_stack([ax.get_xlim(), ax.get_ylim()])), axis=0)
    background = ax.get_facecolor()
    raster = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 9)] * 2), -1).reshape(-1, 2)
    for (x, y, text), spot in zip(labels, _points(ax, [p[:2] for p in labels]), strict=True):
        half = 0.5 * np.array([WIDTH * len(text), LINE]) * size
        best = None
        for distance in (1.0, 2.0):
            for side in ((0, 1), (0, -1), (-1, 1), (1, -1), (-1, -1), (1, 1), (-1, 0), (1, 0)):
                centre = spot + np.array(side) * (half + 4.0 * distance)
                hidden = (np.abs(obstacles - centre) < half + 1.0).all(axis=1).sum()
                outside = (centre - half < frame[0]).any() or (centre + half > frame[1]).any()
                cost = hidden + 3.0 * distance + 1000.0 * outside
                if best is None or cost < best[0]:
                    best = (cost, centre)
        assert best is not None
        ax.annotate(
            text, (x, y), tuple(best[1] - spot), textcoords="offset points", ha="center",
            va="center", fontsize="small", zorder=4,
            path_effects=[withStroke(linewidth=2.0, foreground=background)],
        )  # fmt: skip
        box = best[1] + half * raster
        obstacles = np.concatenate([obstacles, np.repeat(box, 5, axis=0)])


def _points(ax: Axes, data: object) -> NDArray[np.float64]:
    """Places on the figure in points of 1/72 inch, after its layout."""
    ax.figure.draw_without_rendering()
    places = np.asarray(data, dtype=float).reshape(-1, 2)
    return np.asarray(ax.transData.transform(places)) * 72.0 / ax.figure.dpi


def _dense(curve: NDArray[np.float64]) -> NDArray[np.float64]:
    """Places along a curve, about two points apart."""
    steps = np.hypot(*np.diff(curve, axis=0).T)
    at = np.concatenate([[0.0], np.cumsum(np.nan_to_num(steps))])
    if len(curve) < 2 or at[-1] == 0.0:
        return curve[np.isfinite(curve).all(axis=1)]
    fine = np.linspace(0.0, at[-1], 1 + min(2000, int(at[-1] / 2.0)))
    dense = np.column_stack([np.interp(fine, at, curve[:, k]) for k in range(2)])
    return dense[np.isfinite(dense).all(axis=1)]


def _font_size() -> float:
    return float(FontProperties(size="small").get_size_in_points())
