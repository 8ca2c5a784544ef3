"""The axes that a plot draws on, their labels, and what tells many curves apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import colormaps, rcParams
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.ticker import AsinhLocator
from matplotlib.transforms import ScaledTranslation, Transform
from numpy.typing import NDArray
from xarray import DataArray, Dataset

from assembly.arguments import check_kind
from assembly.errors import InputError
from modal.data.units import units_of
from modal.plot.colours import DASHES, PALETTE, RIGID, colour, dashes, plain


def axes(ax: Axes | None, **options: Any) -> Axes:
    """The axes given, or those of a new figure."""
    if ax is not None:
        check_kind(ax, Axes, "ax", "axes of matplotlib")
        return ax
    axes: Axes = plt.subplots(layout="constrained", **options)[1]
    return axes


def figure_of(ax: Axes) -> Figure:
    """The figure that the axes are in, not a part of it."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


TRACKS = "tracks of modal.track"
MAP = "a map of modal.stability_map"
RESPONSE = "a response of modal.frequency_response or modal.unbalance_response"


def check_result(result: object, variables: Sequence[str], what: str) -> None:
    """Raises InputError, saying what was expected, unless the result is a dataset with these."""
    check_kind(result, Dataset, "plot", what)
    if not set(variables) <= {*result.data_vars, *result.dims}:  # type: ignore[attr-defined]
        names = ", ".join(map(str, result.dims))  # type: ignore[attr-defined]
        raise InputError(f"plot: expected {what}, got a dataset over {names}")


def words_of(variable: DataArray) -> str:
    """The long name of a coordinate or variable, for a label."""
    return plain(str(variable.attrs.get("long_name", variable.name)).replace("_", " "))


def axis_label(variable: DataArray, words: str | None = None, prefix: str = "") -> str:
    """`long name (units)` of a coordinate or variable.

    Parameters
    ----------
    variable : DataArray
        Its attributes `units` and `long_name` are shown.
    words : str, optional
        Shown in place of the long name, where that is too long for an axis or names one curve of
        several.
    prefix : {"", "m", "µ"}
        Prefix of the unit, for values drawn with the factor of `PREFIXES`.
    """
    name = words or words_of(variable)
    units = units_of(variable)
    return f"{name} ({prefix}{units})" if units else name


def distinct(dashed: bool = True) -> int:
    """Number of curves that a legend can name: by colour and line style, or by colour alone."""
    return len(PALETTE) * (len(DASHES) // 2 if dashed else 1)


def styles(count: int, rigid: Sequence[bool] = (), dashed: bool = True) -> list[dict[str, Any]]:
    """Colour and line style of each of the curves; no two that a legend names are alike.

    dashed: whether line styles may distinguish curves, where they mean nothing else.
    """
    if count > distinct(dashed):
        shades = colormaps["viridis"](np.linspace(0.0, 0.92, count))
        styles: list[dict[str, Any]] = [{"color": shade, "ls": "-", "lw": 0.9} for shade in shades]
    else:
        styles = [{"color": colour(k), "ls": dashes(k)} for k in range(count)]
    for k, still in enumerate(rigid):
        if still:
            styles[k] = {"color": RIGID, "ls": "-"}
    return styles


def asinh_scale(
    ax: Axes, which: str, values: NDArray[Any], legible: float = 100.0, ticks: int = 7
) -> str:
    """Make an axis ("x" or "y") linear near zero and logarithmic far away, where values differ from
    zero; what its label says of that.

    legible: how much smaller than the largest a value is drawn in proportion.
    """
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    if largest == 0.0:
        return ""
    width = largest / legible
    getattr(ax, f"set_{which}scale")("asinh", linear_width=width, base=0)
    axis = getattr(ax, f"{which}axis")
    axis.set_major_locator(AsinhLocator(width, numticks=ticks, base=0))
    axis.set_major_formatter(lambda x, _: f"{float(f'{x:.2g}'):g}".replace("-", "\N{MINUS SIGN}"))
    return ", asinh scale"


def key(ax: Axes, count: int, what: str = "mode", dashed: bool = True) -> None:
    """A legend for few curves, a colour bar of their numbers for many; dashed: as of `styles`.

    The legend is beside the axes where that takes a fifth of the figure or less, else below.
    """
    if count > distinct(dashed):
        scale = ScalarMappable(Normalize(1, count), colormaps["viridis"])
        ax.figure.colorbar(scale, ax=ax, label=f"number of the {what}")
    else:
        columns = 1 if count <= len(PALETTE) else 2
        legend = ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), ncols=columns)
        if legend.get_window_extent().width > figure_of(ax).bbox.width / 5.0:
            legend_below(ax, ax.get_legend_handles_labels()[0])


NEAR = 0.8  # font sizes from the axes down to a legend below them
ROW = 1.7  # font sizes that the tick labels of the x axis take, and that its label takes
WIDER = 1.2  # width of a legend over that of its axes


def legend_below(ax: Axes, handles: Sequence[Any], title: str | None = None) -> None:
    """A legend in short rows below the label of the x axis.

    The label of the y axis ends at the top of axes that are shorter than it, beside the legend.
    below: font sizes from the axes down to below their label. column: inches that an entry takes.
    """
    width = WIDER * ax.get_position().width * figure_of(ax).bbox.width
    for columns in range(max(1, len(handles)), 0, -1):
        legend = ax.legend(
            handles=handles, title=title, ncols=columns,
            loc="upper center", bbox_to_anchor=(0.5, 0.0), bbox_transform=_below(ax),
            fontsize="small", title_fontsize="small", frameon=False, columnspacing=1.0,
            handletextpad=0.5, borderpad=0.0, borderaxespad=0.0,
        )  # fmt: skip
        if legend.get_window_extent().width <= width:
            break
    if ax.yaxis.label.get_window_extent().height > ax.get_window_extent().height:
        ax.set_ylabel(ax.get_ylabel(), loc="top")


def remove_x_label(ax: Axes) -> None:
    """Remove the label of the x axis; a legend below moves up."""
    ax.set_xlabel("")
    legend = ax.get_legend()
    if legend is not None:
        legend.set_bbox_to_anchor((0.5, 0.0), transform=_below(ax))


def _below(ax: Axes) -> Transform:
    """Coordinates of the axes, moved down by what stands below the x axis."""
    ticked = ax.xaxis.get_tick_params()["labelbottom"]
    sizes = NEAR + ROW * (ticked + bool(ax.get_xlabel()))
    points = FontProperties(size=rcParams["axes.labelsize"]).get_size_in_points()
    down = ScaledTranslation(0.0, -sizes * points / 72.0, figure_of(ax).dpi_scale_trans)
    return ax.transAxes + down
