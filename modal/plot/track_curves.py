"""Eigenvalue tracks: frequencies and growth rates over time or over a parameter, and paths of the
eigenvalues in the complex plane with the box of instability.
"""

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
    distinct,
    key,
    legend_below,
    styles,
)
from modal.plot.colours import ink
from modal.plot.placement import beside_ends, beside_points, line_ends
from modal.proofs.box import Box
from modal.tracking.events import events

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


def numbers_of(tracks: Dataset) -> list[str]:
    """The names of the modes at the ends of their lines."""
    labels = (label_of(tracks, mode) for mode in range(tracks.sizes["mode"]))
    return [label.removeprefix("mode ") for label in labels]


def _prepared(tracks: Dataset, variable: str, ax: Axes | None) -> tuple[Axes, str]:
    """The axes to draw on, and the swept dimension of tracks that have the variable."""
    check_result(tracks, (variable, "mode"), TRACKS)
    return axes(ax), next(str(d) for d in tracks[variable].dims if d != "mode")


def frequencies(tracks: Dataset, ax: Axes | None = None, *, legend: bool = True) -> list[Line2D]:
    """Draw the frequency (Hz) of every track; events are marked where they happen.

    Modes are named by their numbers at the ends of their lines.

    Parameters
    ----------
    tracks : xarray.Dataset
        Of `modal.track`, over time or a parameter.
    ax : Axes, optional
        Where to draw; a new figure by default.
    legend : bool, default True
        Whether modes are named, by a colour bar where they are many, and a legend explains marks.

    Returns
    -------
    list of Line2D
        The curves of the modes.
    """
    ax, dim = _prepared(tracks, "frequency", ax)
    x, count = tracks[dim], tracks.sizes["mode"]
    artists = []
    for mode, style in enumerate(styles(count, rigid_modes(tracks))):
        y = tracks["frequency"].isel(mode=mode)
        artists += ax.plot(x, y, label=label_of(tracks, mode), **style)
    marks, found = [], event_spots(tracks)
    for kind, spots in found.items():
        look: Any = {"color": "0.3", "marker": EVENT_MARKERS[kind], "ls": "none", "mfc": "none"}
        marks += ax.plot(*np.transpose(spots), ms=5, label=kind, **look)
    ax.set(xlabel=axis_label(x), ylabel=axis_label(tracks["frequency"], "frequency"))
    ax.set_ylim(bottom=0)
    if not legend:
        return artists
    if count > distinct():
        key(ax, count)
    else:
        ax.margins(x=0.0)  # names stand outside, beside the ends
        hertz = tracks["frequency"].transpose(dim, "mode").values
        spots = [spot for places in found.values() for spot in places]
        ends, names = line_ends(x.values, hertz, numbers_of(tracks), spots=spots)
        beside_ends(ax, ends)
        beside_points(ax, [], names)
    if marks:
        legend_below(ax, marks)
    return artists


def event_spots(tracks: Dataset, at_once: float = 2e-3) -> dict[str, list[tuple[float, float]]]:
    """Places (of the swept parameter) and frequencies (Hz) of the events of tracks, by kind.

    Events of one kind that are closer than the part `at_once` of the range are one.
    """
    out: dict[str, list[tuple[float, float]]] = {}
    if "event" not in tracks:
        return out
    dim = next(d for d in tracks["frequency"].dims if d != "mode")
    rising = tracks.sortby(dim)
    x, hertz = rising[dim].values, rising["frequency"].transpose(dim, "mode").values
    listed, numbers = events(tracks), tracks["mode"].values.tolist()
    columns = (listed[name].values for name in ("event", "event_mode", "event_at"))
    for kind, label, place in zip(*columns, strict=True):
        if label < 0:  # of a mode that no track follows
            continue
        y = hertz[:, numbers.index(label)]
        there = np.isfinite(y)
        spots = out.setdefault(str(kind), [])
        if not any(abs(spot[0] - place) < at_once * np.ptp(x) for spot in spots):
            spots.append((float(place), float(np.interp(place, x[there], y[there]))))
    return {kind: out[kind] for kind in EVENT_MARKERS if kind in out}


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
    ax, dim = _prepared(tracks, "growth_rate", ax)
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
    label = axis_label(tracks["growth_rate"], "growth rate") + asinh_scale(ax, "y", rates)
    ax.margins(x=0.0, y=0.05)
    ax.set(xlabel=axis_label(x), ylabel=label)
    handles = [
        Line2D([], [], color="0.3", label="frozen, Re λ"),
        Line2D([], [], color="0.3", ls="-" if thin else "--", lw=0.6 if thin else 1.0,
               label="corrected, σ"),
    ]  # fmt: skip
    legend_below(ax, handles)
    return artists


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
    ax, dim = _prepared(tracks, "eigenvalue", ax)
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
