"""The two sheets every run has: tracks over each other, a map beside its growth rates."""

from __future__ import annotations

from xarray import Dataset

from studies.figures import maps, tracks
from studies.figures.style import figure, plain
from studies.reporting.output import OutputFolder

TRACKS = (
    "Above: frequencies of the modes; a cross marks a crossing, a diamond a veering, a triangle the"
    " onset of flutter. Below: the growth rate of every elastic mode at the frozen instant (Re λ,"
    " solid) and corrected for the motion of the frozen frame (σ, dashed); above zero it grows."
    " Events are those of the modes drawn."
)
MAP = (
    "Left: the verdict on all elastic modes at each point; where it is hatched, only the lowest"
    " modes were examined and none of them is unstable. Right: the growth rate of the mode that"
    " grows most, or decays least, of those examined; the black line is the edge of the unstable"
    " points."
)


def write_tracks(
    dataset: Dataset, title: str, out: OutputFolder, caption: str = TRACKS
) -> None:
    """Frequencies above growth rates, as tracks.png."""
    with figure(2, 1, height=6.4, sharex=True) as (drawn, (upper, lower)):
        tracks.frequencies(dataset, upper)
        tracks.growth_rates(dataset, lower)
        upper.set(xlabel="", title=plain(title))
        upper.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))
        out.write_figure("tracks.png", drawn, caption)


def write_map(grid: Dataset, title: str, out: OutputFolder, caption: str = MAP) -> None:
    """Verdict beside the largest growth rate, as map.png."""
    with figure(1, 2, width=9.5, height=3.8) as (drawn, (left, right)):
        maps.verdict(grid, left)
        maps.growth(grid, right)
        left.set_title(plain(title))
        right.set_title("largest growth rate")
        out.write_figure("map.png", drawn, caption)
