"""A robot arm with elastic gears on its way from folded to reaching out: what its first frequency
is made of, gears or links, and how far the gears sag.

Two links in a vertical plane, a gear and a damper in each joint, a motor at the elbow, a payload.
The drives follow their commands; the spring of each gear is between motor and joint.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

import assembly
import modal
from assembly.types import Array
from modal.data.variables import Table, Variable
from studies.figures import curves, sheets
from studies.figures.drawing import drawing
from studies.reporting.frozen_verdicts import verdicts
from studies.reporting.protocol import (
    Data,
    Exploration,
    Outputs,
    Remark,
    check_positive,
    dataset_of,
    merged,
    study_main,
)
from studies.reporting.tables import tracks_table
from studies.robot_arm.machine import JOINTS, model, rigid_links

__all__ = ["main", "model", "report", "rigid_links"]

_JOINTS = ("joint", "time")

VARIABLES: Table = {
    "first_frequency": Variable("first frequency", "Hz", ("arm", "time")),
    "deflection": Variable("deflection of the gear", "rad", _JOINTS),
    "torque": Variable("torque of the drive", "N m", _JOINTS),
    "time": Variable("time", "s"),
    "arm": Variable("what is elastic", None),
    "joint": Variable("joint", None),
}
SHAPES = "The two lowest modes at the end of the path: links at both ends of their vibration."

report = tracks_table


@study_main
def main(
    *,
    payload: float = 5.0,
    shoulder: float = 4e4,
    elbow: float = 1.5e4,
    duration: float = 1.2,
    elements: int = 6,
    modes: int = 4,
    instants: int = 49,
    progress: bool = False,
) -> Outputs:
    """Modes of a robot arm with elastic gears along its path, beside rigid drives and rigid links.

    Parameters
    ----------
    payload : float
        Mass at the tip, kg.
    shoulder, elbow : float
        Stiffness of the gears, N·m/rad.
    duration : float
        Time of the path, s.
    elements : int
        Beam elements of each link.
    modes, instants : int
        Modes to follow along the path, and instants.
    out : OutputFolder, optional
        Folder for data and figures; nothing is written without it.
    progress : bool
        Whether to show progress.

    Returns
    -------
    Dataset
        Tracks of the arm with elastic gears.

    Raises
    ------
    InputError
        A stiffness, the payload or the duration is not positive.
    """
    check_positive(payload=payload, shoulder=shoulder, elbow=elbow, duration=duration)
    gears = (shoulder, elbow)
    times = np.linspace(0.0, duration, instants)
    arm = model(payload, gears=gears, duration=duration, elements=elements)
    tracks = modal.track(arm, times=times, k=modes, progress=progress)
    yield Data("tracks.nc", tracks)
    yield sheets.tracks_sheet(tracks, "robot arm on elastic gears")
    yield Exploration(lambda: modal.explorer_view(tracks, arm, title="along the path"))
    stiff = model(payload, gears=None, duration=duration, elements=elements)
    dataset = _beside(arm, stiff, tracks, times, payload, gears)
    yield Data("gears.nc", dataset)
    yield of_gears(dataset)
    end = float(times[-1])
    yield sheets.shapes_sheet(arm, end, SHAPES, 2, columns=2, width=8.0, height=3.4)
    yield Remark(verdicts(tracks, arm.freeze, modes))
    yield Remark(_words(dataset))
    return tracks


def _beside(
    arm: assembly.Mechanism,
    stiff: assembly.Mechanism,
    tracks: xr.Dataset,
    times: Array,
    payload: float,
    gears: tuple[float, float],
) -> xr.Dataset:
    """First frequencies of the three arms, deflections and torques along the path."""
    only_gears = [rigid_links(payload, gears, _angles(arm, t))[0] for t in times]
    drives = modal.track(stiff, times=times, k=1)["frequency"].isel(mode=0)
    frequency = [tracks["frequency"].isel(mode=0).values, drives.values, only_gears]
    deflections = [arm.deflections(float(t)) for t in times]
    torques = [arm.driving(float(t)) for t in times]
    parts = dataset_of(
        VARIABLES,
        first_frequency=np.array(frequency),
        deflection=[[d[joint][0] for d in deflections] for joint in JOINTS],
        torque=[[torque[joint] for torque in torques] for joint in JOINTS],
        time=times,
        arm=["gears and links", "links, rigid drives", "gears, rigid links at rest"],
        joint=list(JOINTS),
    )
    return merged([parts], VARIABLES, "a robot arm with and without its gears", payload=payload)


def _angles(arm: assembly.Mechanism, t: float) -> tuple[float, float]:
    """Angles of the shoulder and the elbow at time t (s), rad."""
    first, second = (drive.law.at(float(t))[0] for drive in arm.topology.drivers)
    return first, second


def _words(dataset: xr.Dataset) -> str:
    rows = dataset["first_frequency"].isel(time=-1).values
    sag = 1e3 * dataset["deflection"].isel(time=-1).values
    torque = dataset["torque"].isel(time=-1).values
    return (
        f"reaching out, the first frequency is {rows[0]:.2f} Hz; with rigid drives it would be"
        f" {rows[1]:.2f} Hz, with rigid links {rows[2]:.2f} Hz. The gears deflect by"
        f" {sag[0]:.2f} and {sag[1]:.2f} mrad under {torque[0]:.1f} and {torque[1]:.1f} N·m"
    )


@drawing("gears.png", rows=2, height=6.0, sharex=True)
def of_gears(axes: list[Axes], dataset: xr.Dataset) -> None:
    """Above: the first frequency along the path, of the arm with elastic gears, of the same arm
    with rigid drives, and of rigid links on the gears (closed form, at rest). Below: how far the
    gears deflect in equilibrium with weight, inertia and the dampers.
    """
    upper, lower = axes
    arms, joints = ([str(name) for name in dataset[dim].values] for dim in ("arm", "joint"))
    curves.family(dataset["first_frequency"], "time", upper, along="arm", labels=arms, styled=True)
    upper.set(ylim=(0.0, None), xlabel="")
    curves.family(dataset["deflection"], "time", lower, along="joint", labels=joints, prefix="m")
    for ax in axes:
        curves.legend_right(ax)
