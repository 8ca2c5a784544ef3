"""A mode shape in space: the model at rest in grey, deformed in colour."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import rcParams
from matplotlib.font_manager import FontProperties
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d import Axes3D
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection
from numpy.typing import NDArray

from assembly.errors import InputError
from modal.eigen.modes import Modes
from modal.exchange.shape_set import line_segments, outer_faces, shape_set
from modal.types import Array, Index

SHARE = 0.12  # of the size of the model: the largest displacement in the drawing


def shape(
    model: Any,
    modes: Modes | NDArray[np.inexact[Any]],
    number: int = 1,
    ax: Axes3D | None = None,
    *,
    t: float = 0.0,
    phase: float = 0.0,
) -> list[Line3DCollection | Poly3DCollection]:
    """Draw a mode shape in space.

    Parameters
    ----------
    model : Body, moving body, Rotor or Mechanism
        The model that was frozen.
    modes : Modes or array_like, shape (n, k)
        Modes of the frozen system, or vectors over its degrees of freedom.
    number : int, default 1
        Number of the mode, from 1.
    ax : Axes3D, optional
        Where to draw (``projection="3d"``); a new figure by default.
    t : float, default 0.0
        Instant at which a mechanism was frozen, s.
    phase : float, default 0.0
        Angle ωt at which a complex shape is drawn, rad.

    Returns
    -------
    list of artists
        The lines of beams and the outer faces of solids, deformed.

    Raises
    ------
    InputError
        There is no such mode, or the model has no geometry.
    """
    shapes = shape_set(model, modes, t)
    if not 1 <= number <= len(shapes):
        raise InputError(f"number: modes count from 1 to {len(shapes)}, got {number}")
    if ax is None:
        ax = plt.figure(layout="constrained").add_subplot(projection="3d")
    moved = (shapes.displacements[number - 1] * np.exp(1j * phase)).real
    size = float(np.ptp(shapes.points, axis=0).max()) or 1.0
    largest = float(np.abs(shapes.displacements[number - 1]).max()) or 1.0
    deformed = shapes.points + SHARE * size / largest * moved
    lines, faces = line_segments(shapes.cells), outer_faces(shapes.cells)
    artists: list[Line3DCollection | Poly3DCollection] = []
    if len(lines):
        ax.add_collection3d(Line3DCollection(shapes.points[lines], colors="0.75", lw=1.0))
        colours = plt.get_cmap("viridis")(_amount(moved, lines, largest))
        artists.append(Line3DCollection(deformed[lines], colors=colours, lw=2.0))
    for group in faces:
        colours = plt.get_cmap("viridis")(_amount(moved, group, largest))
        artists.append(Poly3DCollection(deformed[group], facecolors=colours, lw=0.2, ec="0.3"))
    for artist in artists:
        ax.add_collection3d(artist)
    _frame(ax, np.vstack([shapes.points, deformed]))
    hertz = shapes.frequency[number - 1]
    ax.set_title(f"mode {number}" + ("" if np.isnan(hertz) else f", {hertz:.4g} Hz"))
    return artists


def _amount(moved: Array, nodes: Index, largest: float) -> Array:
    """Mean displacement of each line or face over the largest of the shape."""
    return np.asarray(np.linalg.norm(moved, axis=1)[nodes].mean(axis=1) / largest)


def _frame(ax: Axes3D, points: Array) -> None:
    """Equal scales on the three axes, few ticks."""
    low, high = points.min(axis=0), points.max(axis=0)
    middle, half = 0.5 * (low + high), 0.55 * float((high - low).max())
    ax.set(
        xlim=(middle[0] - half, middle[0] + half),
        ylim=(middle[1] - half, middle[1] + half),
        zlim=(middle[2] - half, middle[2] + half),
        xlabel="x (m)",
        ylabel="y (m)",
        zlabel="z (m)",
    )
    ax.set_box_aspect(None, zoom=0.88)  # room for the labels of the axes
    size = FontProperties(size=rcParams["axes.labelsize"]).get_size_in_points()
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.set_major_locator(MaxNLocator(nbins=4))
        axis.labelpad = max(4.0, size - 6.0)
