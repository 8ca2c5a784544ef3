"""Root loci: eigenvalues in the complex plane over a parameter, and the box of instability."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import AsinhLocator
from xarray import Dataset

from modal import Box
from studies.figures.labels import axis_label
from studies.figures.style import RIGID, colour
from studies.figures.tracks import LEGIBLE

TICKS = 7
BOX: Any = {"facecolor": "#FBE9D7", "edgecolor": "#D55E00"}


def root_locus(tracks: Dataset, ax: Axes) -> list[Line2D]:
    """Paths of the eigenvalues, Im λ over Re λ; a circle marks the start, a disc the end."""
    dim = next(d for d in tracks["eigenvalue"].dims if d != "mode")
    first, last = (float(tracks[dim][i]) for i in (0, -1))
    artists = []
    for mode in range(tracks.sizes["mode"]):
        track = tracks.isel(mode=mode)
        rigid = bool(np.all(track["kind"].values.ravel() == "rigid"))
        shade = RIGID if rigid else colour(mode)
        values = track["eigenvalue"].values
        values = values[np.isfinite(values)]
        artists += ax.plot(values.real, values.imag, color=shade, label=f"mode {mode + 1}")
        for end, face in ((0, "white"), (-1, shade)):
            ax.plot(values.real[end], values.imag[end], "o", ms=4, color=shade, mfc=face)
    ax.axvline(0.0, color="black", lw=0.8)
    largest = float(np.nanmax(np.abs(tracks["eigenvalue"].values.real), initial=0.0))
    if largest > 0.0:
        ax.set_xscale("asinh", linear_width=largest / LEGIBLE, base=0)
        ax.xaxis.set_major_locator(AsinhLocator(largest / LEGIBLE, numticks=TICKS, base=0))
        ax.xaxis.set_major_formatter("{x:.2g}")
        ax.margins(x=0.08)
    ax.set(
        xlabel="Re λ (1/s)",
        ylabel=axis_label(tracks["eigenvalue"], "Im λ"),
        title=f"{axis_label(tracks[dim])}: {first:g} (circle) to {last:g} (disc)",
    )
    return artists


def instability_box(box: Box, ax: Axes) -> Rectangle:
    """The upper half of the box, 0 ≤ Im λ ≤ W and 0 ≤ Re λ ≤ growth: no mode outside is unstable.

    A box without a bound fills what the axes show of the right half plane.
    """
    left, right = ax.get_xlim()
    right = max(right, 1e-2 * abs(left))
    top = ax.get_ylim()[1]
    width, height = (box.growth, box.angular_frequency) if box.is_bounded else (2 * right, 2 * top)
    patch = Rectangle((0.0, 0.0), width, height, label="every unstable mode", zorder=0.5, **BOX)
    ax.add_artist(patch)
    ax.set(xlim=(left, right), ylim=(0.0, top))
    return patch
