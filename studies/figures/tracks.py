"""Eigenvalue tracks: frequencies and growth rates over time or over a parameter."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from xarray import DataArray, Dataset

from studies.figures.labels import axis_label
from studies.figures.style import RIGID, colour


def _mode_label(tracks: Dataset, mode: int) -> str:
    kinds = tracks["kind"].isel(mode=mode).values.ravel()
    return f"mode {mode + 1}" + (" (rigid)" if np.all(kinds == "rigid") else "")


def frequencies(tracks: Dataset, ax: Axes) -> list[Line2D]:
    """Frequency (Hz) of every mode; events are marked where they happen."""
    dim = next(d for d in tracks["frequency"].dims if d != "mode")
    x = tracks[dim]
    artists = []
    for mode in range(tracks.sizes["mode"]):
        label = _mode_label(tracks, mode)
        shade = RIGID if label.endswith("(rigid)") else colour(mode)
        y = tracks["frequency"].isel(mode=mode)
        artists += ax.plot(x, y, color=shade, label=label)
        _mark_events(tracks.isel(mode=mode), x, y, ax, shade)
    _explain_events(tracks, ax)
    ax.set(xlabel=axis_label(x), ylabel=axis_label(tracks["frequency"], "frequency"))
    ax.set_ylim(bottom=0)
    return artists


LEGIBLE = 100.0  # how much smaller than the largest a growth rate is drawn in proportion

EVENT_MARKERS = {
    "crossing": "x",
    "veering": "D",
    "flutter onset": "^",
    "divergence onset": "v",
    "split": "s",
    "critical damping": "+",
    "unresolved": "$?$",
}


def _explain_events(tracks: Dataset, ax: Axes) -> None:
    """The markers that occur, named in the legend."""
    for event, marker in EVENT_MARKERS.items():
        if np.any(tracks["event"].values.astype(str) == event):
            ax.plot([], [], marker, color="0.3", markersize=5, fillstyle="none", label=event)


def _mark_events(track: Dataset, x: DataArray, y: DataArray, ax: Axes, shade: str) -> None:
    for event, marker in EVENT_MARKERS.items():
        where = np.flatnonzero(track["event"].values.astype(str) == event)
        if where.size:
            ax.plot(
                x.values[where],
                y.values[where],
                marker,
                color=shade,
                markersize=5,
                fillstyle="none",
            )


def growth_rates(tracks: Dataset, ax: Axes) -> list[Line2D]:
    """Re λ (solid) and the rate corrected for the motion of the frozen frame, σ (dashed), 1/s."""
    dim = next(d for d in tracks["frequency"].dims if d != "mode")
    x = tracks[dim]
    artists = []
    for mode in range(tracks.sizes["mode"]):
        if np.all(tracks["kind"].isel(mode=mode).values.ravel() == "rigid"):
            continue
        shade = colour(mode)
        artists += ax.plot(x, tracks["growth_rate"].isel(mode=mode), color=shade)
        ax.plot(x, tracks["growth_rate_corrected"].isel(mode=mode), "--", color=shade, lw=1.0)
    ax.axhline(0.0, color="black", lw=0.8)
    # Damping of high modes is orders above what decides stability: both must be legible.
    largest = float(np.nanmax(np.abs(tracks["growth_rate"].where(tracks["kind"] != "rigid"))))
    if largest > 0.0:
        ax.set_yscale("asinh", linear_width=largest / LEGIBLE, base=0)
        ax.yaxis.set_major_formatter("{x:g}")
    ax.margins(y=0.05)
    ax.set(xlabel=axis_label(x), ylabel=axis_label(tracks["growth_rate"], "growth rate"))
    handles = [
        Line2D([], [], color="0.3", label="frozen, Re λ"),
        Line2D([], [], color="0.3", ls="--", lw=1.0, label="corrected, σ"),
    ]
    ax.legend(handles=handles, loc="best", ncols=2)
    return artists


def campbell(tracks: Dataset, ax: Axes, orders: tuple[int, ...] = (1, 2, 3)) -> list[Line2D]:
    """A Campbell diagram: frequencies over speed (rpm) with the excitation orders as grey lines."""
    rpm = tracks["omega"] * 60.0 / (2.0 * np.pi)
    artists = []
    for mode in range(tracks.sizes["mode"]):
        label = _mode_label(tracks, mode)
        shade = RIGID if label.endswith("(rigid)") else colour(mode)
        y = tracks["frequency"].isel(mode=mode)
        artists += ax.plot(rpm, y, color=shade, label=label)
    top = float(np.nanmax(tracks["frequency"])) * 1.08
    for order in orders:
        ax.plot(rpm, order * rpm / 60.0, ":", color="0.55", lw=0.9)
        end = min(float(rpm[-1]), top * 60.0 / order)
        ax.annotate(
            f"{order}×",
            (end, order * end / 60.0),
            color="0.4",
            fontsize=8,
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            bbox=dict(boxstyle="square,pad=0.1", facecolor="white", edgecolor="none"),
            annotation_clip=False,
        )
    ylabel = axis_label(tracks["frequency"], "frequency")
    ax.set(xlabel="speed (rpm)", ylabel=ylabel, ylim=(0, top))
    return artists
