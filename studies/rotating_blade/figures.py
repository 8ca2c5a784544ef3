"""Figures of the rotating-blade study."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

import assembly
import modal
from modal import plot
from studies.figures.animation import Animation, turning_frames
from studies.figures.drawing import Drawing
from studies.figures.motion import Frame

CAPTIONS = {
    "beam": "Frequencies of the beam over the speed of its rotor, with Coriolis terms. Dotted: one,"
    " two and three times the speed; where such a line meets a mode, an excitation of that order"
    " is in resonance.",
    "solid": "Frequencies of the solid blade over the speed of its rotor, with Coriolis terms."
    " Circles: CalculiX 2.20 on the same mesh, which has no Coriolis terms. Dotted: one, two and"
    " three times the speed.",
}


def campbell_diagram(
    kind: str, followed: xr.Dataset, compared: xr.Dataset | None = None
) -> Drawing:
    """Frequencies over the rotor speed; with CalculiX's where there is a comparison."""

    def draw(axes: list[Axes]) -> None:
        (ax,) = axes
        plot.campbell(followed, ax, legend=False)
        ax.set_title(f"rotating blade ({kind}): frequencies over speed, with Coriolis")
        if compared is not None:
            theirs = compared["frequency_calculix"].values
            circles = ax.plot(compared["speed_rpm"], theirs, "o", ms=4, mfc="none", color="black")
            circles[0].set_label("CalculiX, no Coriolis")
        ax.legend(loc="upper left", bbox_to_anchor=(1.04, 1.0))

    return Drawing(f"campbell-{kind}.png", CAPTIONS[kind], draw, width=7.0, height=4.4)


def animation(body: assembly.Body, axis: tuple[float, float, float]) -> Animation:
    """The first mode in the plane of rotation."""

    def scene() -> tuple[str, list[Frame]]:
        modes = modal.solve(body.freeze(omega=100.0, axis=axis), k=4)
        dofs = body.dofs.select(body.free)
        in_plane = np.abs(modes.right[dofs.component == 1]).sum(axis=0)
        across = np.abs(modes.right[dofs.component == 2]).sum(axis=0)
        first = int(np.argmax(in_plane > across))
        title = f"first mode in the plane, {modes.frequency[first]:.1f} Hz at 100 rad/s"
        return title, turning_frames(body, modes.right[:, first])

    return Animation("blade.gif", scene)
