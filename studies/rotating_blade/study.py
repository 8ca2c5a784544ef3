"""A blade on a rotor: Campbell diagrams of a beam and of a solid mesh; and the same beam spun about
its own length, where its two bending stiffnesses and its internal damping make it unstable.

The solid is a twisted, tapered, cambered steel blade of 609 ten-node tetrahedra, clamped at its
root face 0.25 m from the axis. Its frequencies without Coriolis terms are compared with CalculiX
2.20 on the same mesh (centrifugally prestressed), which has none either.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import xarray as xr

import assembly
import modal
from assembly.errors import InputError
from modal.data.datasets import described, provenance
from studies.figures import sheets
from studies.reporting.frozen_verdicts import verdicts
from studies.reporting.protocol import (
    Data,
    Exploration,
    Outputs,
    Remark,
    report_of,
    study_main,
)
from studies.reporting.tables import tracks_section
from studies.rotating_blade import figures
from studies.rotating_blade.variables import VARIABLES

__all__ = ["beam_model", "compare_with_calculix", "main", "report", "solid_model"]

MESH = Path(__file__).parent / "blade.msh"
AXIS = (0.0, 0.0, 1.0)
RPM = 2.0 * np.pi / 60.0
MAP_AXIS, MAP_MODES = (1.0, 0.0, 0.0), 4
MAP_SPEED, SPUN_SPEEDS = 1000.0, 41  # rad/s

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
report = report_of(tracks_section)  # of the last blade's tracks


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
        system = body.freeze(omega=speed * RPM, axis=AXIS)
        ours[i] = modal.solve(system.only("K", "K_omega2", "K_G"), k=theirs.shape[1]).frequency
    columns = {
        "frequency": ours,
        "frequency_calculix": theirs,
        "relative_difference": ours / theirs - 1.0,
    }
    dataset = xr.Dataset(
        {name: (VARIABLES[name].dims, values) for name, values in columns.items()},
        coords={"speed_rpm": rpm, "mode": np.arange(theirs.shape[1])},
        attrs=provenance(title="frequencies of the solid blade beside CalculiX 2.20"),
    )
    return described(dataset, VARIABLES)


@study_main
def main(
    *,
    blade: Literal["both", "beam", "solid"] = "both",
    max_rpm: float = 4000.0,
    speeds: int = 21,
    modes: int = 6,
    map_points: int = 41,
    map_damping: float = 2e-6,
    progress: bool = False,
) -> Outputs:
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
        tracks = modal.track(body, omega=omega, axis=AXIS, k=modes, progress=progress)
        at_speed = partial(body.freeze, axis=AXIS)
        on_all = Remark(verdicts(tracks, at_speed, modes))
        if kind == "beam":
            yield Data("campbell-beam.nc", tracks)
            yield figures.campbell_diagram("beam", tracks)
            yield figures.animation(body, AXIS)
            if blade == "beam":
                yield on_all
        else:
            compared = compare_with_calculix(body)
            yield Data("campbell-solid.nc", tracks)
            yield Data("calculix.nc", compared)
            yield on_all
            yield Remark(_believed(compared))
            yield figures.campbell_diagram("solid", tracks, compared)
        yield Exploration(
            partial(modal.explorer_view, tracks, body, title=f"{kind} over speed", axis=AXIS)
        )
    if "beam" in chosen and map_points > 0:
        damped = beam_model(damping=map_damping)
        spun = modal.track(
            damped, omega=np.linspace(0.0, MAP_SPEED, SPUN_SPEEDS), axis=MAP_AXIS, k=MAP_MODES,
            progress=progress,
        )  # fmt: skip
        yield Data("campbell-spun.nc", spun)
        yield figures.campbell_diagram("spun", spun)
        grid = _map(damped, map_points, progress)
        yield Data("map.nc", grid)
        yield Exploration(
            partial(
                modal.explorer_view, grid, damped,
                title="beam spun about its length", modes=MAP_MODES, axis=MAP_AXIS,
            )
        )  # fmt: skip
        yield sheets.map_sheet(grid, "beam spun about its own length: verdict", MAP_READING)
    return tracks


def _believed(compared: xr.Dataset) -> str:
    gap = float(np.abs(compared["relative_difference"]).max())
    return (
        "can it be believed? At constant speed the frozen matrices are those of the whole motion,"
        f" nothing is frozen away; without Coriolis terms CalculiX differs by {gap:.1e} at most"
    )


def _map(body: assembly.Body, points: int, progress: bool) -> xr.Dataset:
    """Stability of the damped beam spun about its own length, over speed and angular acceleration.

    Between the two bending frequencies an asymmetric shaft diverges; above them internal damping
    drives a flutter; the Euler term K(ε) is circulatory and moves both boundaries.
    """
    return modal.stability_map(
        body,
        omega=np.linspace(0.0, MAP_SPEED, points),
        epsilon=np.linspace(-1000.0, 1000.0, points),
        axis=MAP_AXIS,
        k=MAP_MODES,
        progress=progress,
    )
