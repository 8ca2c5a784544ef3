"""The axes that a plot draws on, and what tells many curves apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from xarray import Dataset

from assembly.arguments import check_kind
from assembly.errors import InputError
from modal.plot.colours import DASHES, PALETTE, RIGID, colour, dashes


def axes(ax: Axes | None, **options: Any) -> Axes:
    """The axes given, or those of a new figure."""
    if ax is not None:
        check_kind(ax, Axes, "ax", "axes of matplotlib")
        return ax
    made: Axes = plt.subplots(layout="constrained", **options)[1]
    return made


TRACKS = "tracks of modal.track"
MAP = "a map of modal.stability_map"
RESPONSE = "a response of modal.frequency_response or modal.unbalance_response"


def check_result(result: object, variables: Sequence[str], what: str) -> None:
    """Raises InputError, saying what was expected, unless the result is a dataset with these."""
    check_kind(result, Dataset, "plot", what)
    if not set(variables) <= {*result.data_vars, *result.dims}:  # type: ignore[attr-defined]
        names = ", ".join(map(str, result.dims))  # type: ignore[attr-defined]
        raise InputError(f"plot: expected {what}, got a dataset over {names}")


def distinct(dashed: bool = True) -> int:
    """Number of curves that a legend can name: by colour and line style, or by colour alone."""
    return len(PALETTE) * (len(DASHES) // 2 if dashed else 1)


def styles(count: int, rigid: Sequence[bool] = (), dashed: bool = True) -> list[dict[str, Any]]:
    """Colour and line style of each of the curves; no two that a legend names are alike.

    dashed: whether line styles may distinguish curves, where they mean nothing else.
    """
    if count > distinct(dashed):
        shades = colormaps["viridis"](np.linspace(0.0, 0.92, count))
        found: list[dict[str, Any]] = [{"color": shade, "ls": "-", "lw": 0.9} for shade in shades]
    else:
        found = [{"color": colour(k), "ls": dashes(k)} for k in range(count)]
    for k, still in enumerate(rigid):
        if still:
            found[k] = {"color": RIGID, "ls": "-"}
    return found


def key(ax: Axes, count: int, what: str = "mode", dashed: bool = True) -> None:
    """A legend for few curves, a colour bar of their numbers for many; dashed: as of `styles`."""
    if count > distinct(dashed):
        scale = ScalarMappable(Normalize(1, count), colormaps["viridis"])
        ax.figure.colorbar(scale, ax=ax, label=f"number of the {what}")
    else:
        columns = 1 if count <= len(PALETTE) else 2
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), ncols=columns)
