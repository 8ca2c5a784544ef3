"""Campbell diagram: frequencies over the speed of rotation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from xarray import DataArray, Dataset

from assembly.errors import InputError
from modal.plot.axes import TRACKS, axes, check_result, key, styles
from modal.plot.labels import axis_label
from modal.plot.track_curves import label_of, rigid_modes

WHIRL = {"forward": "-", "backward": "--", "planar": ":", "none": ":"}


def campbell(
    tracks: Dataset,
    ax: Axes | None = None,
    *,
    orders: Sequence[float] = (1, 2, 3),
    whirl: bool | None = None,
    legend: bool = True,
) -> list[Line2D]:
    """Draw a Campbell diagram: frequencies (Hz) over speed (rpm).

    Parameters
    ----------
    tracks : xarray.Dataset
        Tracks over ``omega`` (rad/s) or ``speed_rpm``, from `modal.track`.
    ax : Axes, optional
        Where to draw; a new figure by default.
    orders : sequence of float, default (1, 2, 3)
        Multiples of the speed that are drawn as grey lines.
    whirl : bool, optional
        Whether the line style shows the sense of whirl: solid forward, dashed backward, dotted
        planar. Default: where the tracks have it.
    legend : bool, default True
        Whether a legend, or a colour bar for many modes, names the modes.

    Returns
    -------
    list of Line2D
        The curves of the modes.

    Raises
    ------
    InputError
        The tracks are not over a speed.
    """
    check_result(tracks, ("frequency", "mode"), TRACKS)
    ax = axes(ax)
    rpm = _rpm(tracks)
    senses = tracks["whirl"] if "whirl" in tracks and whirl is not False else None
    if whirl and senses is None:
        raise InputError("whirl: the tracks have no whirl; give whirl_axis to modal.track")
    count = tracks.sizes["mode"]
    artists = []
    for mode, style in enumerate(styles(count, rigid_modes(tracks), dashed=senses is None)):
        y, label = tracks["frequency"].isel(mode=mode).values, label_of(tracks, mode)
        if senses is None:
            artists += ax.plot(rpm, y, label=label, **style)
            continue
        ax.plot([], [], label=label, **style)
        words = senses.isel(mode=mode).values.astype(str)
        for sense, dash in _pieces(words):
            piece = np.where(_with_ends(words == sense), y, np.nan)
            artists += ax.plot(rpm, piece, **(style | {"ls": dash}))
    top = float(np.nanmax(tracks["frequency"])) * 1.08 or 1.0
    for order in orders:
        _order_line(ax, rpm, order, top)
    ax.set(xlabel="speed (rpm)", ylabel=axis_label(tracks["frequency"], "frequency"), ylim=(0, top))
    if senses is not None:
        for sense in ("forward", "backward", "planar"):
            if np.any(senses.values.astype(str) == sense):
                ax.plot([], [], WHIRL[sense], color="0.3", label=sense)
    if legend:
        key(ax, count, dashed=senses is None)
    return artists


def _rpm(tracks: Dataset) -> NDArray[Any]:
    if "omega" in tracks.dims:
        return np.asarray(tracks["omega"].values * 60.0 / (2.0 * np.pi))
    if "speed_rpm" in tracks.dims:
        return np.asarray(tracks["speed_rpm"].values)
    given: DataArray = tracks["frequency"]
    raise InputError(
        f"campbell: the tracks are over {given.dims[0]}, not over omega or speed_rpm; "
        "modal.plot.tracks draws them"
    )


def _pieces(words: NDArray[Any]) -> list[tuple[str, str]]:
    """The senses of whirl that occur in a track, with their line styles."""
    return [(sense, WHIRL.get(sense, ":")) for sense in dict.fromkeys(words.tolist())]


def _with_ends(mask: NDArray[Any]) -> NDArray[Any]:
    """With the next point after each run, so that pieces meet."""
    out = mask.copy()
    out[1:] |= mask[:-1]
    return out


def _order_line(ax: Axes, rpm: NDArray[Any], order: float, top: float) -> None:
    end = min(float(rpm.max()), top * 60.0 / order)
    if end < float(rpm.min()):  # above the frequencies that are drawn
        return
    ax.plot(rpm, order * rpm / 60.0, ":", color="0.55", lw=0.9)
    ax.annotate(
        f"{order:g}×",
        (end, order * end / 60.0),
        color="0.4",
        fontsize=8,
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        bbox=dict(boxstyle="square,pad=0.1", facecolor="white", edgecolor="none"),
        annotation_clip=False,
    )
