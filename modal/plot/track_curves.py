"""Eigenvalue tracks: frequencies and growth rates over time or over a parameter."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from xarray import DataArray, Dataset

from modal.plot.axes import TRACKS, axes, check_result, key, legend_below, styles
from modal.plot.colours import ink
from modal.plot.labels import axis_label

NOT_LINEAR = ", asinh scale"
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


def rigid_modes(tracks: Dataset) -> list[bool]:
    """Which tracks are rigid throughout, prescribed or not."""
    kinds = tracks["kind"].transpose("mode", ...).values
    return [bool(np.isin(row, ("rigid", "prescribed")).all()) for row in kinds]


def label_of(tracks: Dataset, mode: int) -> str:
    """ "mode 1" for the first track, with the name that it has most often where it has one."""
    label = f"mode {mode + 1}" + (" (rigid)" if rigid_modes(tracks)[mode] else "")
    if "name" not in tracks:
        return label
    names = tracks["name"].isel(mode=mode).values.astype(str)
    given, counts = np.unique(names[names != "none"], return_counts=True)
    return f"{label}: {given[counts.argmax()]}" if given.size else label


def frequencies(tracks: Dataset, ax: Axes | None = None, *, legend: bool = True) -> list[Line2D]:
    """Draw the frequency (Hz) of every track; events are marked where they happen.

    Parameters
    ----------
    tracks : xarray.Dataset
        Of `modal.track`, over time or a parameter.
    ax : Axes, optional
        Where to draw; a new figure by default.
    legend : bool, default True
        Whether a legend, or a colour bar for many modes, names the modes.

    Returns
    -------
    list of Line2D
        The curves of the modes.
    """
    check_result(tracks, ("frequency", "mode"), TRACKS)
    ax = axes(ax)
    dim = next(d for d in tracks["frequency"].dims if d != "mode")
    x, count = tracks[dim], tracks.sizes["mode"]
    artists = []
    for mode, style in enumerate(styles(count, rigid_modes(tracks))):
        y = tracks["frequency"].isel(mode=mode)
        artists += ax.plot(x, y, label=label_of(tracks, mode), **style)
        _mark_events(tracks.isel(mode=mode), x, y, ax, style["color"])
    _explain_events(tracks, ax)
    ax.set(xlabel=axis_label(x), ylabel=axis_label(tracks["frequency"], "frequency"))
    ax.set_ylim(bottom=0)
    if legend:
        key(ax, count)
    return artists


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


def growth_rates(tracks: Dataset, ax: Axes | None = None) -> list[Line2D]:
    """Draw Re λ and the rate corrected for the motion, σ, of the elastic tracks.

    σ is dashed; where line styles distinguish modes, it is thin instead.

    Parameters
    ----------
    tracks : xarray.Dataset
        Of `modal.track`, over time or a parameter.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    list of Line2D
        The curves of Re λ.
    """
    check_result(tracks, ("growth_rate", "mode"), TRACKS)
    ax = axes(ax)
    dim = next(d for d in tracks["frequency"].dims if d != "mode")
    x, rigid = tracks[dim], rigid_modes(tracks)
    artists = []
    looks = styles(tracks.sizes["mode"], rigid)
    thin = any(style["ls"] != "-" for style in looks)
    for mode, style in enumerate(looks):
        if bool((tracks["kind"].isel(mode=mode) == "prescribed").all()):
            continue
        artists += ax.plot(x, tracks["growth_rate"].isel(mode=mode), **style)
        sigma = tracks["growth_rate_corrected"].isel(mode=mode)
        ax.plot(x, sigma, **(style | ({"lw": 0.6} if thin else {"ls": "--", "lw": 1.0})))
    ax.axhline(0.0, color=ink(), lw=0.8)
    # Damping of high modes is orders above what decides stability: both must be legible.
    rates = tracks["growth_rate"].where(tracks["kind"] != "prescribed").values
    largest = float(np.nanmax(np.abs(rates), initial=0.0))
    label = axis_label(tracks["growth_rate"], "growth rate")
    if largest > 0.0:
        ax.set_yscale("asinh", linear_width=largest / LEGIBLE, base=0)
        ax.yaxis.set_major_formatter("{x:g}")
        label += NOT_LINEAR
    ax.margins(y=0.05)
    ax.set(xlabel=axis_label(x), ylabel=label)
    handles = [
        Line2D([], [], color="0.3", label="frozen, Re λ"),
        Line2D([], [], color="0.3", ls="-" if thin else "--", lw=0.6 if thin else 1.0,
               label="corrected, σ"),
    ]  # fmt: skip
    legend_below(ax, handles)
    return artists
