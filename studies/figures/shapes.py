"""Mode shapes drawn on a mechanism where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from modal.plot.colours import colour

SHARE = 0.12  # of the mechanism's size: how large the largest displacement is drawn


def deployed(
    bodies: Mapping[str, tuple[NDArray[np.float64], NDArray[np.inexact[Any]]]], ax: Axes
) -> list[Line2D]:
    """Nodes (N, 3) and complex displacements (N, 3) of every body, in fixed axes, in the x–y plane.

    The undeformed bodies are grey; the real part of the shape is drawn to the same largest
    displacement in every figure, with its opposite dotted.
    """
    everywhere = np.concatenate([nodes for nodes, _ in bodies.values()])
    size = float(np.ptp(everywhere, axis=0).max())
    largest = max(float(np.abs(moved).max()) for _, moved in bodies.values()) or 1.0
    scale = SHARE * size / largest
    artists = []
    for index, (name, (nodes, moved)) in enumerate(bodies.items()):
        marker = "s" if len(nodes) == 1 else ""
        ax.plot(nodes[:, 0], nodes[:, 1], color="0.75", lw=3.0, marker=marker, ms=9, zorder=1)
        for sign, style in ((1.0, "-"), (-1.0, ":")):
            points = nodes + sign * scale * moved.real
            artists += ax.plot(
                points[:, 0],
                points[:, 1],
                style,
                color=colour(index),
                marker=marker,
                ms=5,
                label=name if sign > 0 else None,
            )
    for nodes, _ in bodies.values():
        if len(nodes) > 1:
            ends = nodes[[0, -1]]
            ax.plot(ends[:, 0], ends[:, 1], "o", color="black", ms=3.5, zorder=5)
    ax.set(xlabel="x (m)", ylabel="y (m)")
    ax.set_aspect("equal", adjustable="datalim")
    return artists
