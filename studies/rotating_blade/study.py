"""A blade on a rotor: Campbell diagrams of a beam and of a solid mesh; and the same beam spun about
its own length, where its two bending stiffnesses and its internal damping make it unstable.

The solid is a twisted, tapered, cambered steel blade of 609 ten-node tetrahedra, clamped at its
root face 0.25 m from the axis. Its frequencies without Coriolis terms are compared with CalculiX
2.20 on the same mesh (centrifugally prestressed), which has none either.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

import assembly
import modal
from assembly.errors import InputError
from modal import plot
from modal.data.datasets import described, provenance
from modal.data.variables import Table, Variable
from modal.plot.colours import ink
from studies.figures import sheets
from studies.figures.animation import Scene, animation, turning_frames
from studies.figures.drawing import Drawing
from studies.reporting.frozen_verdicts import verdicts
from studies.reporting.output import NOWHERE, OutputFolder
from studies.reporting.protocol import RPM, dataset_of
from studies.reporting.tables import tracks_table

__all__ = ["beam_model", "compare_with_calculix", "main", "report", "solid_model"]

MESH = Path(__file__).parent / "blade.msh"


@dataclass(frozen=True)
class Spins:
    """How the blades turn."""

    rotor: tuple[float, float, float] = (0.0, 0.0, 1.0)  # axis of the Campbell diagrams
    lengthwise: tuple[float, float, float] = (1.0, 0.0, 0.0)  # axis of the map
    fastest: float = 1000.0  # rad/s, of the map; and rad/s², of its angular acceleration
    speeds: int = 41  # of the spun beam's Campbell diagram
    modes: int = 4  # of the map


SPINS = Spins()
_DIMS = ("speed_rpm", "mode")

VARIABLES: Table = {
    "frequency": Variable("frequency", "Hz", _DIMS),
    "frequency_calculix": Variable("frequency by CalculiX 2.20", "Hz", _DIMS),
    "relative_difference": Variable("relative difference", "1", _DIMS),
}
# CalculiX 2.20, NLGEOM prestress with centrifugal softening, no Coriolis, Hz, modes 1 to 6.
CALCULIX = {
    0.0: (100.0647, 340.5997, 731.5815, 810.4024, 930.4326, 1473.702),
    2000.0: (109.1659, 352.4845, 734.6725, 817.9806, 936.9064, 1477.061),
    4000.0: (131.9634, 385.7126, 742.4122, 837.8646, 959.4421, 1487.212),
}

MAP_READING = (
    "Between its two bending frequencies at rest the beam diverges whatever the damping; above"
    " them its internal damping drives a flutter; angular acceleration feeds one sense of whirl and"
    " brakes the other."
)
MARKS = (
    " Circles: where a multiple of the speed meets a mode, and an excitation of that order is in"
    " resonance; numbers are speeds in rpm."
)
CAPTIONS = {
    "beam": "Frequencies of the beam over the speed of its rotor, with Coriolis terms." + MARKS,
    "solid": "Frequencies of the solid blade over the speed of its rotor, with Coriolis terms."
    + MARKS
    + " Squares: CalculiX 2.20 on the same mesh, which has no Coriolis terms.",
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
report = tracks_table  # of the last blade's tracks


def beam_model(elements: int = 20, damping: float = 0.0) -> assembly.Body:
    """A steel beam 0.5 m long, 34 × 30 mm, on a hub of radius 0.1 m.

    Parameters
    ----------
    elements : int
        Beam elements.
    damping : float
        b of the internal damping D = b K, s.
    """
    return assembly.beam(
        length=0.5,
        section=assembly.rectangle(0.034, 0.03),
        material=assembly.steel,
        elements=elements,
        clamped="start",
        offset=0.1,
        name="blade",
    ).with_damping(b=damping)


def solid_model() -> assembly.Body:
    """The solid blade, clamped at its root face; spin about z through the origin."""
    return assembly.solid(MESH, assembly.steel, clamped="clamp", name="blade")


def compare_with_calculix(body: assembly.Body) -> xr.Dataset:
    """Frequencies without Coriolis terms, compared with CalculiX 2.20 on the same mesh.

    Parameters
    ----------
    body : Body
        The solid blade.

    Returns
    -------
    Dataset
        Over speed (rpm) and mode: both frequencies, Hz, and their relative difference.
    """
    rpm = np.array(list(CALCULIX))
    theirs = np.array(list(CALCULIX.values()))
    ours = np.empty(theirs.shape)
    for i, speed in enumerate(rpm):
        system = body.freeze(omega=speed * RPM, axis=SPINS.rotor)
        ours[i] = modal.solve(system.only("K", "K_omega2", "K_G"), k=theirs.shape[1]).frequency
    dataset = dataset_of(
        VARIABLES,
        frequency=ours,
        frequency_calculix=theirs,
        relative_difference=ours / theirs - 1.0,
        speed_rpm=rpm,
        mode=np.arange(theirs.shape[1]),
    )
    dataset.attrs = provenance(title="frequencies of the solid blade beside CalculiX 2.20")
    return described(dataset, VARIABLES)


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
            shown = np.where(theirs < ax.get_ylim()[1], theirs, np.nan).ravel()
            ax.plot(speeds, shown, "s", ms=6, mfc="none", color=ink(), clip_on=False)

    return Drawing(f"campbell-{kind}.png", CAPTIONS[kind], draw, width=7.0, height=4.6)


@animation("blade.gif")
def in_plane(body: assembly.Body) -> Scene:
    """The first mode in the plane of rotation."""
    modes = modal.solve(body.freeze(omega=100.0, axis=SPINS.rotor), k=4)
    dofs = body.dofs.select(body.free)
    y, z = (np.abs(modes.right[dofs.component == c]).sum(axis=0) for c in (1, 2))
    first = int(np.argmax(y > z))
    title = f"first mode in the plane, {modes.frequency[first]:.1f} Hz at 100 rad/s"
    return title, turning_frames(body, modes.right[:, first])


def main(
    *,
    blade: Literal["both", "beam", "solid"] = "both",
    max_rpm: float = 4000.0,
    speeds: int = 21,
    modes: int = 6,
    map_points: int = 41,
    map_damping: float = 2e-6,
    out: OutputFolder = NOWHERE,
    progress: bool = False,
) -> xr.Dataset:
    """Campbell diagrams of a rotating blade (beam and solid), and its stability under acceleration.

    Parameters
    ----------
    blade : {"both", "beam", "solid"}
        Which blades to follow; the map is of the beam.
    max_rpm : float
        Largest speed, rpm.
    speeds : int
        Number of speeds from 0 to `max_rpm`.
    modes : int
        Modes to follow.
    map_points : int
        Points along each axis of the map over speed and angular acceleration; 0 for no map.
    map_damping : float
        b of the internal damping D = b K of the map's beam, s.
    out : OutputFolder, optional
        Folder for data and figures; nothing is written without it.
    progress : bool
        Whether to show progress.

    Returns
    -------
    Dataset
        Tracks of the last blade over its speed.

    Raises
    ------
    InputError
        `max_rpm` is not positive, or there are fewer than two speeds.
    """
    if not max_rpm > 0.0:
        raise InputError(f"max_rpm: must be positive, got {max_rpm}")
    if speeds < 2:
        raise InputError(f"speeds: at least 2, got {speeds}")
    omega = np.linspace(0.0, max_rpm, speeds) * RPM
    models = {"beam": beam_model, "solid": solid_model}
    chosen = list(models) if blade == "both" else [blade]
    tracks = xr.Dataset()
    for kind in chosen:
        body = models[kind]()
        tracks = modal.track(body, omega=omega, axis=SPINS.rotor, k=modes, progress=progress)
        on_all = verdicts(tracks, partial(body.freeze, axis=SPINS.rotor), modes)
        view = partial(modal.explorer_view, tracks, body, axis=SPINS.rotor)
        out.write_dataset(f"campbell-{kind}.nc", tracks)
        if kind == "beam":
            out.draw(campbell_diagram("beam", tracks))
            out.draw(in_plane(body))
            if blade == "beam":
                out.remark(on_all)
        else:
            compared = compare_with_calculix(body)
            out.write_dataset("calculix.nc", compared)
            out.remark(on_all)
            out.remark(_believed(compared))
            out.draw(campbell_diagram("solid", tracks, compared))
        out.explore(partial(view, title=f"{kind} over speed"))
    if "beam" in chosen and map_points > 0:
        damped, fastest = beam_model(damping=map_damping), SPINS.fastest
        # Between the two bending frequencies an asymmetric shaft diverges; above them internal
        # damping drives a flutter; the Euler term K(ε) is circulatory and moves both boundaries.
        spin: dict[str, Any] = dict(axis=SPINS.lengthwise, k=SPINS.modes, progress=progress)
        spun = modal.track(damped, omega=np.linspace(0.0, fastest, SPINS.speeds), **spin)
        out.write_dataset("campbell-spun.nc", spun)
        out.draw(campbell_diagram("spun", spun))
        along = np.linspace(0.0, fastest, map_points)
        across = np.linspace(-fastest, fastest, map_points)
        grid = modal.stability_map(damped, omega=along, epsilon=across, **spin)
        out.write_dataset("map.nc", grid)
        view = partial(modal.explorer_view, grid, damped, modes=SPINS.modes, axis=SPINS.lengthwise)
        out.explore(partial(view, title="beam spun about its length"))
        out.draw(sheets.map_sheet(grid, "beam spun about its own length", MAP_READING))
    return tracks


def _believed(compared: xr.Dataset) -> str:
    gap = float(np.abs(compared["relative_difference"]).max())
    return (
        "can it be believed? At constant speed the frozen matrices are those of the whole motion,"
        f" nothing is frozen away; without Coriolis terms CalculiX differs by {gap:.1e} at most"
    )
