"""The sheets that many runs have: tracks over each other, a map beside its growth rates, a Campbell
diagram, mode shapes of a mechanism where it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from xarray import Dataset

import modal
from assembly import Mechanism
from assembly.types import Array, Inexact
from modal import plot
from modal.plot.axes import remove_x_label
from modal.plot.colours import colour, plain
from studies.figures.drawing import Drawing

TRACKS = (
    "Above: frequencies of the modes; a cross marks a crossing, a diamond a veering, a triangle the"
    " onset of flutter. Below: the growth rate of every elastic mode at the frozen instant (Re λ,"
    " solid) and corrected for the motion of the frozen frame (σ, dashed); above zero it grows."
    " Events are those of the modes drawn."
)
MAP = (
    "Left: the verdict on all elastic modes at each point; where it is hatched, it is undecided: no"
    " mode examined is known to be unstable, others may be. Right: the growth rate of the mode that"
    " grows most, or decays least, of those examined; the black line is the edge of the unstable"
    " points."
)


def tracks_sheet(dataset: Dataset, title: str) -> Drawing:
    """Frequencies above growth rates, as tracks.png."""

    def draw(axes: list[Axes]) -> None:
        upper, lower = axes
        plot.frequencies(dataset, upper)
        plot.growth_rates(dataset, lower)
        remove_x_label(upper)
        upper.set_title(plain(title))

    return Drawing("tracks.png", TRACKS, draw, rows=2, height=6.4, sharex=True)


def map_sheet(grid: Dataset, title: str, reading: str = "", name: str = "map.png") -> Drawing:
    """Verdict beside the largest growth rate; reading: what follows the caption."""

    def draw(axes: list[Axes]) -> None:
        left, right = axes
        plot.verdict(grid, left)
        plot.growth(grid, right)
        left.set_title("verdict")
        right.set_title("largest growth rate")
        left.figure.suptitle(plain(title))

    return Drawing(name, f"{MAP} {reading}".rstrip(), draw, columns=2, width=9.5, height=3.8)


def campbell_sheet(
    name: str, tracks: Dataset, title: str, caption: str, size: tuple[float, float], **options: Any
) -> Drawing:
    """Frequencies over the speed; size: inches; options: those of `modal.plot.campbell`."""

    def draw(axes: list[Axes]) -> None:
        plot.campbell(tracks, axes[0], **options)
        axes[0].set_title(title)

    return Drawing(name, caption, draw, width=size[0], height=size[1])


def shapes_sheet(
    mechanism: Mechanism, t: float, caption: str, digits: int, title: str = "", **layout: Any
) -> Drawing:
    """The lowest modes at time t (s), one a panel, as shapes.png; digits: of the frequencies."""

    def draw(axes: list[Axes]) -> None:
        solved = modal.solve(mechanism.freeze(t), k=len(axes))
        for mode, ax in enumerate(axes):
            deployed(mechanism.deployed(t, solved.right[:, mode]), ax)
            ax.set_title(f"mode {mode + 1}: {solved.frequency[mode]:.{digits}f} Hz")
        if title:
            axes[0].figure.suptitle(title)

    return Drawing("shapes.png", caption, draw, **layout)


def deployed(bodies: Mapping[str, tuple[Array, Inexact]], ax: Axes) -> list[Line2D]:
    """Nodes (N, 3) and complex displacements (N, 3) of every body, in fixed axes, in the x–y plane.

    The undeformed bodies are grey; the real part of the shape is drawn to the same largest
    displacement in every figure, with its opposite dotted.
    """
    share = 0.12  # of the mechanism's size: how large the largest displacement is drawn
    everywhere = np.concatenate([nodes for nodes, _ in bodies.values()])
    size = float(np.ptp(everywhere, axis=0).max())
    largest = max(float(np.abs(moved).max()) for _, moved in bodies.values()) or 1.0
    scale = share * size / largest
    artists = []
    for index, (name, (nodes, moved)) in enumerate(bodies.items()):
        marker = "s" if len(nodes) == 1 else ""
        ax.plot(*nodes[:, :2].T, color="0.75", lw=3.0, marker=marker, ms=9, zorder=1)
        for sign, style in ((1.0, "-"), (-1.0, ":")):
            points = nodes + sign * scale * moved.real
            label = name if sign > 0 else None
            look = dict(color=colour(index), marker=marker, ms=5, label=label)
            artists += ax.plot(*points[:, :2].T, style, **look)  # type: ignore[arg-type]
    for nodes, _ in bodies.values():
        if len(nodes) > 1:
            ax.plot(*nodes[[0, -1], :2].T, "o", color="black", ms=3.5, zorder=5)
    ax.set(xlabel="x (m)", ylabel="y (m)")
    ax.set_aspect("equal", adjustable="datalim")
    return artists
