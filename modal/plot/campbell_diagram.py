"""Campbell diagram: frequencies over the speed of rotation, and what happens along them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from xarray import Dataset

from assembly.errors import InputError
from modal.data.growth import growing
from modal.plot.axes import (
    TRACKS,
    axes,
    axis_label,
    check_result,
    distinct,
    key,
    legend_below,
    styles,
)
from modal.plot.colours import FLUTTER, ink
from modal.plot.placement import End, beside_ends, beside_points, line_ends
from modal.plot.track_curves import (
    EVENT_MARKERS,
    event_spots,
    label_of,
    numbers_of,
    rigid_modes,
)
from modal.tracking.events import events

WHIRL: Any = {"forward": "-", "backward": "--", "planar": (0, (6, 1.5, 1, 1.5)), "none": ":"}
ORDER: Any = {"color": "0.55", "lw": 0.6, "zorder": 1.5}
UNSTABLE: Any = {"color": FLUTTER, "alpha": 0.4, "lw": 5.0, "solid_capstyle": "butt", "zorder": 1.8}
MARK: Any = {"ms": 5, "mfc": "none", "zorder": 3}
MARKED = {
    kind: (marker, "crossing of modes" if kind == "crossing" else kind)
    for kind, marker in EVENT_MARKERS.items()
    if kind != "critical damping"
}
ENDS_OF_GROWTH = ("flutter onset", "divergence onset", "split")

Marks = dict[str, list[tuple[float, float]]]


def campbell(
    tracks: Dataset,
    ax: Axes | None = None,
    *,
    orders: Sequence[float] = (1, 2, 3),
    whirl: bool | None = None,
    legend: bool = True,
) -> list[Line2D]:
    """Draw a Campbell diagram: frequencies (Hz) over speed (rpm).

    Crossings of a mode with a multiple of the speed, crossings and veerings of modes, and onsets of
    instability are marked, with their speed in rpm. A broad band is behind the part of a line whose
    mode is unstable. Modes are named at the ends of their lines. The frequencies shown are those up
    to which something happens; modes above are counted in the figure.

    Parameters
    ----------
    tracks : xarray.Dataset
        Tracks over ``omega`` (rad/s) or ``speed_rpm``, from `modal.track`.
    ax : Axes, optional
        Where to draw; a new figure by default.
    orders : sequence of float, default (1, 2, 3)
        Multiples of the speed that are drawn as thin lines.
    whirl : bool, optional
        Whether the line style shows the sense of whirl: solid forward, dashed backward, dash-dotted
        planar. Default: where a mode of the tracks whirls.
    legend : bool, default True
        Whether a legend explains styles and marks; a colour bar stands for the names of many modes.

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
    dim, to_rpm = _speed(tracks)
    ax = axes(ax)
    rpm = tracks[dim].values * to_rpm
    hertz = tracks["frequency"].transpose(dim, "mode").values
    senses = _senses(tracks, dim, whirl)
    count = tracks.sizes["mode"]
    unstable = growing(tracks).transpose(dim, "mode").values
    ends_of_growth = [to_rpm * places for places in _ends_of_growth(tracks)]
    artists = []
    for mode, style in enumerate(styles(count, rigid_modes(tracks), dashed=senses is None)):
        y, label = hertz[:, mode], label_of(tracks, mode)
        if unstable[:, mode].any():
            ax.plot(*_band(rpm, y, unstable[:, mode], ends_of_growth[mode]), **UNSTABLE)
        if senses is None:
            artists += ax.plot(rpm, y, label=label, **style)
            continue
        for sense in dict.fromkeys(senses[:, mode].tolist()):
            piece = np.where(_with_ends(senses[:, mode] == sense), y, np.nan)
            look = style | {"ls": WHIRL.get(sense, ":")}
            artists += ax.plot(rpm, piece, label=label, **look)
    marks = dict(_marks(tracks, rpm, hertz, to_rpm, orders))
    top = _top(marks, hertz)
    ax.margins(x=0.0)  # names stand outside, beside the ends
    ax.set(xlabel="speed (rpm)", ylabel=axis_label(tracks["frequency"], "frequency"), ylim=(0, top))
    named = count <= distinct(dashed=senses is None)
    spots = [spot for places in marks.values() for spot in places]
    ends, names = line_ends(rpm, hertz, numbers_of(tracks), top, spots) if named else ([], [])
    for order in orders:
        ends += _order_line(ax, rpm, order, top)
    drawn = []
    for kind, places in marks.items():
        marker, name = MARKED.get(kind, ("o", kind))
        drawn += ax.plot(
            *np.transpose(places), ls="none", marker=marker, label=name, color=ink(), **MARK
        )
    beside_ends(ax, ends)
    digits = max(0, 2 - int(np.floor(np.log10(np.ptp(rpm) or 1e3))))  # three of the range
    labels = [(x, y, f"{x:.{digits}f}") for x, y in spots if y < top]
    beside_points(ax, labels, names)
    if legend:
        shown = [w for w in WHIRL if w != "none" and senses is not None and np.any(senses == w)]
        handles = [Line2D([], [], color=ink(), ls=WHIRL[w], label=w) for w in shown]
        if unstable.any():
            handles.append(Line2D([], [], label="unstable", **UNSTABLE))
        if handles or drawn:
            legend_below(ax, handles + drawn, _beyond(hertz, top))
        if not named:
            key(ax, count, dashed=senses is None)
    return artists


def _speed(tracks: Dataset) -> tuple[str, float]:
    """Name of the speed of the tracks, and rpm of its unit."""
    for dim, to_rpm in (("omega", 30.0 / np.pi), ("speed_rpm", 1.0)):
        if dim in tracks.dims:
            return dim, to_rpm
    raise InputError(
        f"campbell: the tracks are over {tracks['frequency'].dims[0]}, not over omega or "
        "speed_rpm; modal.plot.tracks draws them"
    )


def _senses(tracks: Dataset, dim: str, whirl: bool | None) -> NDArray[Any] | None:
    """Senses of whirl (T, R), or None where line styles do not show them."""
    if whirl and "whirl" not in tracks:
        raise InputError("whirl: the tracks have no whirl; give whirl_axis to modal.track")
    if whirl is False or "whirl" not in tracks:
        return None
    words = tracks["whirl"].transpose(dim, "mode").values.astype(str)
    return words if whirl or np.isin(words, ("forward", "backward")).any() else None


def _ends_of_growth(tracks: Dataset) -> list[NDArray[np.float64]]:
    """Places of the sweep, by mode, where instability begins or ends."""
    numbers = tracks["mode"].values.tolist()
    if "event" not in tracks:
        return [np.zeros(0) for _ in numbers]
    listed = events(tracks)
    ends = np.isin(listed["event"].values.astype(str), ENDS_OF_GROWTH)
    return [listed["event_at"].values[ends & (listed["event_mode"].values == n)] for n in numbers]


def _band(
    rpm: NDArray[Any], hertz: NDArray[Any], unstable: NDArray[Any], places: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Speeds and frequencies of the unstable part of a line, from its onset to its end."""
    there = np.isfinite(hertz)
    order = np.argsort(rpm[there])
    at_places = np.interp(places, rpm[there][order], hertz[there][order])
    x = np.concatenate([rpm, places])
    y = np.concatenate([np.where(unstable, hertz, np.nan), at_places])
    rising = np.argsort(x, kind="stable")
    return x[rising], y[rising]


def _marks(
    tracks: Dataset, rpm: NDArray[Any], hertz: NDArray[Any], to_rpm: float, orders: Sequence[float]
) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """What happens, by kind: speeds (rpm) and frequencies (Hz)."""
    spots: list[tuple[float, float]] = []
    for order in orders:
        for y in hertz.T:
            above = y - order * rpm / 60.0
            below, there = above < 0.0, np.isfinite(above)
            for i in np.flatnonzero((below[:-1] != below[1:]) & there[:-1] & there[1:]):
                part = above[i] / (above[i] - above[i + 1])
                x = rpm[i] + part * (rpm[i + 1] - rpm[i])
                if x != 0.0:  # at rest a mode of no frequency is on every order
                    spots.append((float(x), float(order * x / 60.0)))
    if spots:
        yield "crossing with an order", spots
    for kind, places in event_spots(tracks).items():
        if kind in MARKED:
            yield kind, [(x * to_rpm, y) for x, y in places]


def _top(marks: Marks, hertz: NDArray[Any], headroom: float = 1.2) -> float:
    """Upper end of the frequency axis: all modes where nothing happens.

    A mode that begins below it is in full. headroom: of the largest frequency at which something
    happens.
    """
    largest = float(np.nanmax(hertz, initial=0.0))
    spots = [y for places in marks.values() for _, y in places]
    if not spots:
        return headroom * largest or 1.0
    top = headroom * max(spots)
    for y in sorted(hertz.T, key=lambda y: float(np.nanmin(y, initial=np.inf))):
        if np.nanmin(y, initial=np.inf) < top:
            top = max(top, 1.04 * float(np.nanmax(y)))
    return min(top, headroom * largest)


def _beyond(hertz: NDArray[Any], top: float) -> str | None:
    """Number and frequencies of the modes above the axis."""
    above = np.nanmin(hertz, axis=0, initial=np.inf) > top
    above &= np.isfinite(hertz).any(axis=0)
    if not above.any():
        return None
    words = f"{above.sum()} mode{'s' if above.sum() > 1 else ''} above"
    return f"{words}, {np.nanmin(hertz[:, above]):.4g} to {np.nanmax(hertz[:, above]):.4g} Hz"


def _order_line(ax: Axes, rpm: NDArray[Any], order: float, top: float) -> list[End]:
    """Draw an order; its end, if it leaves the figure on the right."""
    low, high = float(rpm.min()), min(float(rpm.max()), top * 60.0 / order)
    if high < low:  # above the frequencies that are drawn
        return []
    ax.plot([low, high], [order * low / 60.0, order * high / 60.0], **ORDER)
    if high == rpm.max():
        return [End(high, order * high / 60.0, f"{order:g}×", ORDER["color"])]
    ax.annotate(f"{order:g}×", (high, top), (-3, -2), textcoords="offset points", ha="right",
                va="top", fontsize="small", color=ORDER["color"])  # fmt: skip
    return []


def _with_ends(mask: NDArray[Any]) -> NDArray[Any]:
    """With the next point after each run, so that pieces meet."""
    out = mask.copy()
    out[1:] |= mask[:-1]
    return out
