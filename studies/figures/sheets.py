"""The two sheets every run has: tracks over each other, a map beside its growth rates."""

from __future__ import annotations

from matplotlib.axes import Axes
from xarray import Dataset

from modal import plot
from modal.plot.colours import plain
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
        upper.set(xlabel="", title=plain(title))

    return Drawing("tracks.png", TRACKS, draw, rows=2, height=6.4, sharex=True)


def map_sheet(grid: Dataset, title: str, reading: str = "", name: str = "map.png") -> Drawing:
    """Verdict beside the largest growth rate; reading: what follows the caption."""

    def draw(axes: list[Axes]) -> None:
        left, right = axes
        plot.verdict(grid, left)
        plot.growth(grid, right)
        left.set_title(plain(title))
        right.set_title("largest growth rate")

    return Drawing(name, f"{MAP} {reading}".rstrip(), draw, columns=2, width=9.5, height=3.8)
