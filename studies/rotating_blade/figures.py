"""Figures of the rotating-blade study."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

import assembly
import modal
from modal import plot
from modal.plot.colours import ink
from studies.figures.animation import Animation, turning_frames
from studies.figures.drawing import Drawing
from studies.figures.motion import Frame

MARKS = (
    " Circles: where a multiple of the speed meets a mode, and an excitation of that order is in"
    " resonance; numbers are speeds in rpm."
)
CAPTIONS = {
    "beam": "Frequencies of the beam over the speed of its rotor, with Coriolis terms." + MARKS,
    "solid": "Frequencies of the solid blade over the speed of its rotor, with Coriolis terms."
    + MARKS + " Squares: CalculiX 2.20 on the same mesh, which has no Coriolis terms.",
    "spun": "Frequencies of the damped beam spun about its own length, in the axes that turn with"
    " it, forward and backward whirl apart. It diverges between its two bending frequencies; above"
    " them its internal damping makes it flutter: triangles mark the onsets, the band what is"
    " unstable." + MARKS,
}
TITLES = {
    "beam": "rotating blade (beam)",
    "solid": "rotating blade (solid)",
    "spun": "beam spun about its length",
}


def campbell_diagram(
    kind: str, followed: xr.Dataset, compared: xr.Dataset | None = None
) -> Drawing:
    """Frequencies over the rotor speed; with CalculiX's where there is a comparison."""

    def draw(axes: list[Axes]) -> None:
        (ax,) = axes
        plot.campbell(followed, ax)
        ax.set_title(f"{TITLES[kind]}: frequencies over speed")
        if compared is not None:
            theirs = compared["frequency_calculix"].values
            speeds = np.repeat(compared["speed_rpm"], theirs.shape[1])
            ax.plot(speeds, theirs.ravel(), "s", ms=6, mfc="none", color=ink(), scaley=False)

    return Drawing(f"campbell-{kind}.png", CAPTIONS[kind], draw, width=7.0, height=4.6)


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
