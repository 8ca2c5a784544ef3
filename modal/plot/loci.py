"""Root loci: eigenvalues in the complex plane over a parameter, and the box of instability."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from xarray import Dataset

from modal.plot.axes import (
    TRACKS,
    asinh_scale,
    axes,
    axis_label,
    check_result,
    legend_below,
    styles,
)
from modal.plot.colours import ink
from modal.plot.track_curves import rigid_modes
from modal.proofs.box import Box

BOX: Any = {"facecolor": "#FBE9D7", "edgecolor": "#D55E00"}


def root_locus(tracks: Dataset, ax: Axes | None = None) -> list[Line2D]:
    """Draw the paths of the eigenvalues, Im λ over Re λ: from a circle to a disc.

    Parameters
    ----------
    tracks : xarray.Dataset
        Of `modal.track`, over time or a parameter.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    list of Line2D
        The paths.
    """
    check_result(tracks, ("eigenvalue", "mode"), TRACKS)
    ax = axes(ax)
    dim = next(d for d in tracks["eigenvalue"].dims if d != "mode")
    first, last = (float(tracks[dim][i]) for i in (0, -1))
    artists = []
    for mode, style in enumerate(styles(tracks.sizes["mode"], rigid_modes(tracks))):
        values, shade = tracks["eigenvalue"].isel(mode=mode).values, style["color"]
        values = values[np.isfinite(values)]
        artists += ax.plot(values.real, values.imag, label=f"mode {mode + 1}", **style)
        for end, face in ((0, ax.get_facecolor()), (-1, shade)):
            ax.plot(values.real[end], values.imag[end], "o", ms=4, color=shade, mfc=face)
    ax.axvline(0.0, color=ink(), lw=0.8)
    label = "Re λ (1/s)" + asinh_scale(ax, "x", tracks["eigenvalue"].values.real)
    ax.margins(x=0.08)
    ax.set(xlabel=label, ylabel=axis_label(tracks["eigenvalue"], "Im λ"))
    ends = [
        Line2D([], [], color=ink(), ls="none", marker="o", ms=4, mfc=face, label=f"{value:g}")
        for value, face in ((first, "none"), (last, ink()))
    ]
    legend_below(ax, ends, axis_label(tracks[dim]))
    return artists


def instability_box(box: Box, ax: Axes) -> Rectangle:
    """Draw the upper half of the box of possible instability: no mode outside is unstable.

    Parameters
    ----------
    box : Box
        0 ≤ Im λ ≤ W and 0 ≤ Re λ ≤ growth; one without a bound fills what the axes show of the
        right half plane.
    ax : Axes
        The axes of a root locus.

    Returns
    -------
    Rectangle
    """
    left, right = ax.get_xlim()
    right = max(right, 1e-2 * abs(left))
    top = ax.get_ylim()[1]
    width, height = (box.growth, box.angular_frequency) if box.is_bounded else (2 * right, 2 * top)
    patch = Rectangle((0.0, 0.0), width, height, label="every unstable mode", zorder=0.5, **BOX)
    ax.add_artist(patch)
    ax.set(xlim=(left, right), ylim=(0.0, top))
    return patch
