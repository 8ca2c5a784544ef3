"""One instant of a moving mechanism with its mode, and the pictures of an animation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from modal.plot.colours import colour, plain

Array = NDArray[np.float64]
MARGIN = 0.06  # of the picture's size
FEW_NODES = 16


@dataclass(frozen=True)
class Strand:
    """A line of one body: where it is (N, 2) undeformed and (N, 2) with the mode, m, fixed axes."""

    name: str
    rest: Array
    moved: Array


Frame = Sequence[Strand]


def still(frame: Frame, ax: Axes) -> list[tuple[Line2D, Line2D]]:
    """The undeformed bodies grey, the vibrating ones in colour; one pair of lines a strand."""
    artists = []
    for index, strand in enumerate(frame):
        alone = len(strand.rest) == 1
        # Nodes are marked where they are few: motion along a line is seen by them alone.
        marker = "s" if alone else "o" if len(strand.rest) <= FEW_NODES else ""
        (grey,) = ax.plot(
            *strand.rest.T, color="0.8", lw=3.5, marker="s" if alone else "", ms=10, zorder=1
        )
        (lively,) = ax.plot(
            *strand.moved.T,
            color=colour(index),
            lw=2.0,
            marker=marker,
            ms=6 if alone else 3.5,
            label=plain(strand.name),
        )
        artists.append((grey, lively))
    ax.set(xlabel="x (m)", ylabel="y (m)")
    ax.set_aspect("equal")
    return artists


def advance(artists: Sequence[tuple[Line2D, Line2D]], frame: Frame) -> None:
    """Move the lines of `still` to another instant."""
    for (grey, lively), strand in zip(artists, frame, strict=True):
        grey.set_data(*strand.rest.T)
        lively.set_data(*strand.moved.T)


def frame_all(frames: Sequence[Frame], ax: Axes) -> None:
    """Limits that hold every frame."""
    low, high = extent(frames)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))


def extent(frames: Sequence[Frame]) -> tuple[Array, Array]:
    """Lower left and upper right corner (2,) of all frames with a margin, m."""
    points = np.concatenate([p for f in frames for s in f for p in (s.rest, s.moved)])
    low, high = points.min(axis=0), points.max(axis=0)
    pad = MARGIN * float((high - low).max())
    return low - pad, high + pad


def height_of(frames: Sequence[Frame]) -> float:
    """A height for a picture 6.4 inches wide that leaves little of it empty, inches."""
    low, high = extent(frames)
    ratio = float((high[1] - low[1]) / (high[0] - low[0]))
    return float(np.clip(4.4 * ratio + 0.9, 2.2, 5.6))
