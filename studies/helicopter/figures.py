"""Figures of the helicopter study."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

import modal
from modal import plot
from studies.figures.drawing import Drawing

VERDICTS = (
    "Largest growth rate over the rotor's speed by three methods. Above zero the rotor is unstable."
    " Shaded: a method's verdict differs from Floquet's, which is exact."
)
CAMPBELL = (
    "Frequencies of the averaged multiblade equations. Each mode has the name of the coordinates"
    " that move most: collective, regressive, progressive, reactionless, or the support."
)
MODE = (
    "The Floquet mode that grows most. Above: its harmonics on the hub and on the blades. Below:"
    " its amplitude over one turn, each curve relative to its largest value."
)


def verdicts(verdict: xr.Dataset) -> Drawing:
    """The three growth rates over the speed."""

    def draw(axes: list[Axes]) -> None:
        plot.rotor_verdict(verdict, axes[0])
        axes[0].set_title("helicopter rotor: largest growth rate")

    return Drawing("verdict.png", VERDICTS, draw)


def campbell(tracks: xr.Dataset) -> Drawing:
    """Frequencies over the speed with the names of the modes."""

    def draw(axes: list[Axes]) -> None:
        plot.campbell(tracks, axes[0])
        axes[0].set_title("multiblade coordinates, averaged over the azimuth")

    return Drawing("multiblade.png", CAMPBELL, draw)


def worst_mode(found: modal.FloquetModes, rpm: float) -> Drawing:
    """Harmonics and course over a turn of the Floquet mode that grows most."""

    def draw(axes: list[Axes]) -> None:
        count = found.vectors.shape[0] // 2
        mode = int(np.argmax(found.exponents.real + 1e-9 * (found.eigenvalues.imag > 0.0)))
        groups = {"hub": range(2), "blades": range(2, count)}
        plot.participation(found.participation_of(groups).isel(mode=mode), axes[0])
        axes[0].set_title(f"{found.frequency[mode]:.3f} Hz at {rpm:.4g} rpm")
        labels = ["hub x", "hub y", *(f"blade {b + 1}" for b in range(count - 2))]
        plot.periodic_mode(found.orbit(mode), range(count), axes[1], labels)

    return Drawing("mode.png", MODE, draw, rows=2, height=6.0)
