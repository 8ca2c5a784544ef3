"""Transients beside what the frozen modes predict."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from xarray import Dataset

from modal.plot.colours import colour
from modal.plot.labels import axis_label
from studies.figures import curves


def displacement(compared: Dataset, ax: Axes) -> list[Line2D]:
    """Displacement (mm) over time."""
    moved = compared["displacement"]
    return curves.family(moved, "time", ax, prefix="m", words="displacement", lw=0.8)


def amplitude(compared: Dataset, ax: Axes) -> list[Line2D]:
    """Amplitude of the mode (one at the start): integrated, and predicted with and without
    drift."""
    t = compared["instant"]
    artists = ax.plot(t, compared["amplitude"], color="0.35", lw=2.6, label="time integration")
    artists += ax.plot(
        t, compared["amplitude_corrected"], "--", color=colour(1), label="predicted by σ"
    )
    artists += ax.plot(
        t, compared["amplitude_frozen"], ":", color=colour(0), label="predicted by Re λ alone"
    )
    ax.set(xlabel=axis_label(t), ylabel="amplitude (√energy)", ylim=(0, None))
    ax.legend(loc="best")
    return artists
