"""The figure of the wind-turbine study."""

from __future__ import annotations

import xarray as xr
from matplotlib.axes import Axes

from modal import plot
from studies.figures.drawing import Drawing

CAMPBELL = (
    "Frequencies of the turbine in axes that do not turn, over the speed of the rotor. Each mode"
    " has the name of the coordinates that move most. Dotted: one, three and six times the speed."
)


def campbell(tracks: xr.Dataset) -> Drawing:
    """Frequencies over the speed with the names of the modes."""

    def draw(axes: list[Axes]) -> None:
        plot.campbell(tracks, axes[0], orders=(1, 3, 6))
        axes[0].set_title("wind turbine: multiblade modes")

    return Drawing("campbell.png", CAMPBELL, draw, width=7.6, height=4.6)
