"""Labels that stand clear of one another: at the ends of lines, and beside points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from modal.plot.axes import figure_of

LINE = 1.15  # height of a line of text over its font size
STEP = 0.45  # of the font size, from a point out
ON_ONE_ANOTHER = 4.0  # points between the centres of two marks
SIDES = ((0, 1), (0, -1), (-1, 1), (1, -1), (-1, -1), (1, 1), (-1, 0), (1, 0))  # of a point


Label = tuple[float, float, str]  # place in data coordinates, text


@dataclass(frozen=True)
class End:
    """The right end of a line in data coordinates, and its name."""

    x: float
    y: float
    name: str
    color: str | None = None


def line_ends(
    x: NDArray[Any],
    curves: NDArray[Any],
    names: Sequence[str],
    top: float = np.inf,
    spots: Sequence[tuple[float, float]] = (),
) -> tuple[list[End], list[Label]]:
    """Where the curves (x, curve) are named: right ends at the edge, below `top`, and places on the
    curves that end inside, farthest from all spots and other curves."""
    ends, inside = [], []
    size = np.array([np.ptp(x), min(top, float(np.nanmax(curves, initial=1.0)))])
    for n, (y, name) in enumerate(zip(curves.T, names, strict=True)):
        there = np.flatnonzero(np.isfinite(y) & (y <= top))
        if not there.size:
            continue
        last = there[np.argmax(x[there])]
        if x[last] == x.max():
            ends.append(End(float(x[last]), float(y[last]), name))
            continue
        others = [np.column_stack([x, z]) for m, z in enumerate(curves.T) if m != n]
        crowd = np.concatenate([np.reshape(spots, (-1, 2)), *others])
        apart = (np.column_stack([x, y])[there, None] - crowd) / size
        nearest = np.nanmin(np.hypot(apart[..., 0], apart[..., 1]), axis=1, initial=1.0)
        free = there[nearest.argmax()]
        inside.append((float(x[free]), float(y[free]), name))
    return ends, inside


class _Placing(Artist):
    """Places labels each time its axes are drawn, before they are: their final size counts."""

    def __init__(self, place: Callable[[], None]) -> None:
        super().__init__()
        self.place = place
        self.set_zorder(-np.inf)
        self.set_in_layout(False)

    def draw(self, renderer: Any) -> None:
        self.place()


def beside_ends(ax: Axes, ends: Sequence[End], same: float = 2.0) -> None:
    """Name lines that end at the edge of the axes, to the right of their ends. Lines that lie on
    one another, with ends closer than `same` points, share a name.
    """
    ends = sorted(ends, key=lambda end: end.y)
    leader = dict(arrowstyle="-", lw=0.5, color="0.55", shrinkA=0.0, shrinkB=1.0)
    names = [
        ax.annotate(
            end.name, (end.x, end.y), (12.0, 0.0), textcoords="offset points", va="center",
            fontsize="small", color=end.color or rcParams["text.color"], annotation_clip=False,
            arrowprops=leader,
        )
        for end in ends
    ]  # fmt: skip

    def place() -> None:
        heights = _points(ax, [(end.x, end.y) for end in ends])[:, 1]
        groups: list[list[int]] = []
        for n in range(len(ends)):
            if groups and heights[n] - heights[groups[-1][0]] < same:
                groups[-1].append(n)
            else:
                groups.append([n])
        centres = np.array([heights[group].mean() for group in groups])
        shifts = spread(centres, LINE * _font_size()) - centres
        for group, shift in zip(groups, shifts, strict=True):
            names[group[0]].set_text(", ".join(ends[n].name for n in group))
            names[group[0]].set_position((12.0, float(shift)))
            for n in group:
                names[n].set_visible(n == group[0])

    if ends:
        place()
        ax.add_artist(_Placing(place))


def spread(centres: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """Rising positions at least `gap` apart whose squared distances to the given ones are least.

    Positions less rank × gap are an isotonic regression.
    """
    ranks = gap * np.arange(len(centres))
    return np.asarray(isotonic_regression(centres - ranks).x + ranks)


def beside_points(
    ax: Axes, labels: Sequence[Label], names: Sequence[Label] = (), digit: float = 0.62
) -> None:
    """Write each text next to its point, where it hides least of lines, points and other texts.
    Points whose marks lie on one another share a text.

    names: of lines, at a place on each; no other label is taken for that of such a place. digit:
    its width over the font size.
    """
    outline = [withStroke(linewidth=2.0, foreground=ax.get_facecolor())]
    texts = [
        ax.annotate(
            text, (x, y), (0.0, 0.0), textcoords="offset points", ha="center", va="center",
            fontsize="small", zorder=4, path_effects=outline,
        )
        for x, y, text in [*names, *labels]
    ]  # fmt: skip
    raster = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 9)] * 2), -1).reshape(-1, 2)
    lines = ax.get_lines()
    written = [text for _, _, text in [*names, *labels]]

    def place() -> None:
        size = _font_size()
        curves = [_dense(_points(ax, np.column_stack(line.get_data()))) for line in lines]
        obstacles = np.concatenate([np.zeros((0, 2)), *curves])
        frame = np.sort(_points(ax, np.column_stack([ax.get_xlim(), ax.get_ylim()])), axis=0)
        spots = _points(ax, [p[:2] for p in [*names, *labels]])
        groups = _together(spots, len(names))
        written_at: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
        for n, (text, spot) in enumerate(zip(texts, spots, strict=True)):
            text.set_visible(groups[n] == n)
            if groups[n] != n:
                continue
            text.set_text(", ".join(dict.fromkeys(written[m] for m in np.flatnonzero(groups == n))))
            half = 0.5 * np.array([digit * len(text.get_text()), LINE]) * size
            foreign = groups != n
            foreign[: len(names)] = False
            costs, centres = [], []
            for distance in (1.0, 2.0, 3.0, 4.0, 5.0):
                for side in SIDES:
                    away = np.array([min(distance, 2.0), distance]) * STEP * size
                    centre = spot + np.array(side) * (half + away)
                    centre = np.clip(centre, frame[0] + half, frame[1] - half)
                    hidden = (np.abs(obstacles - centre) < half + 1.0).all(axis=1).sum()
                    apart = np.hypot(*np.maximum(np.abs(spots - centre) - half, 0.0).T)
                    taken = apart < 1.5 * apart[n]  # it could be taken for theirs
                    nearer = (taken & foreign).sum() + 3 * (apart < 2.0).sum()
                    on_texts = sum(
                        bool((np.abs(centre - other) < half + extent).all())
                        for other, extent in written_at
                    )
                    costs.append(hidden + 3.0 * distance + 100.0 * nearer + 1000.0 * on_texts)
                    centres.append(centre)
            best = centres[int(np.argmin(costs))]
            text.set_position(tuple(best - spot))
            written_at.append((best, half))
            box = np.repeat(best + (half + 6.0) * raster, 5, axis=0)
            obstacles = np.concatenate([obstacles, box])

    if texts:
        place()
        ax.add_artist(_Placing(place))


def _together(spots: NDArray[np.float64], alone: int) -> NDArray[np.intp]:
    """For each spot the number of the first one on which its mark lies; `alone` lead by
    themselves."""
    first = np.arange(len(spots))
    for n in range(alone, len(spots)):
        before = np.flatnonzero(first[:n] == np.arange(n))
        before = before[before >= alone]
        near = before[np.hypot(*(spots[before] - spots[n]).T) < ON_ONE_ANOTHER]
        if near.size:
            first[n] = near[0]
    return first


def _points(ax: Axes, data: object) -> NDArray[np.float64]:
    """Places on the figure in points of 1/72 inch."""
    places = np.asarray(data, dtype=float).reshape(-1, 2)
    return np.asarray(ax.transData.transform(places)) * 72.0 / figure_of(ax).dpi


def _dense(curve: NDArray[np.float64]) -> NDArray[np.float64]:
    """Places along a curve, about two points apart."""
    steps = np.hypot(*np.diff(curve, axis=0).T)
    at = np.concatenate([[0.0], np.cumsum(np.nan_to_num(steps))])
    if len(curve) < 2 or at[-1] == 0.0:
        return np.asarray(curve[np.isfinite(curve).all(axis=1)])
    fine = np.linspace(0.0, at[-1], 1 + min(2000, int(at[-1] / 2.0)))
    dense = np.column_stack([np.interp(fine, at, curve[:, k]) for k in range(2)])
    return np.asarray(dense[np.isfinite(dense).all(axis=1)])


def _font_size() -> float:
    return float(FontProperties(size="small").get_size_in_points())
