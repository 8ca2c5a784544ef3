"""A robot arm with elastic gears on its way from folded to reaching out: what its first frequency
is made of, gears or links, and how far the gears sag.

Two links in a vertical plane, a gear and a damper in each joint, a motor at the elbow, a payload.
The drives follow their commands; the spring of each gear is between motor and joint.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from numpy.polynomial import Polynomial

import assembly
import modal
from assembly.types import Array
from modal.data.variables import Table, Variable
from studies.figures import curves, sheets
from studies.figures.drawing import drawing
from studies.reporting.frozen_verdicts import verdicts
from studies.reporting.output import NOWHERE, OutputFolder
from studies.reporting.protocol import check_positive, dataset_of, merged
from studies.reporting.tables import tracks_table

__all__ = ["main", "model", "report", "rigid_links"]

JOINTS = ("shoulder", "elbow")
STILL = Polynomial([0, 0, 0, 10, -15, 6])  # from 0 to 1 of the path, at rest at both ends


@dataclass(frozen=True)
class Arm:
    """Dimensions of the arm; all are assumptions. Of the upper link or the shoulder first."""

    lengths: tuple[float, float] = (0.7, 0.5)  # m
    sections: tuple[assembly.Section, ...] = (assembly.tube(0.10, 0.088), assembly.tube(0.08, 0.07))
    elbow_motor: float = 6.0  # kg, at the elbow
    gravity: float = 9.81  # m/s²
    folded: tuple[float, float] = (1.9, -2.2)  # rad
    reaching: tuple[float, float] = (0.3, -0.3)  # rad
    damping: float = 2e-5  # s: b of the links' damping D = b K


ARM = Arm()


@dataclass(frozen=True)
class Path:
    """A joint's angle from one position of rest to another in `duration` (s)."""

    first: float
    last: float
    duration: float

    def at(self, t: float) -> tuple[float, float, float]:
        """Angle, rate and acceleration at time t (s)."""
        s = min(max(t / self.duration, 0.0), 1.0)
        span = self.last - self.first
        rate = span * float(STILL.deriv(1)(s)) / self.duration
        second = span * float(STILL.deriv(2)(s)) / self.duration**2
        return self.first + span * float(STILL(s)), rate, second


def model(
    payload: float = 5.0,
    *,
    gears: tuple[float, float] | None = (4e4, 1.5e4),
    damping: tuple[float, float] = (20.0, 6.0),
    duration: float = 1.2,
    elements: int = 6,
    material: assembly.Material = assembly.aluminium,
) -> assembly.Mechanism:
    """The arm on its path from folded to reaching out.

    Parameters
    ----------
    payload : float
        Mass at the tip, kg.
    gears : tuple of two float, optional
        Stiffness of the shoulder's and of the elbow's gear, N·m/rad; None for rigid drives.
    damping : tuple of two float
        Damping in both joints, N·m·s/rad.
    duration : float
        Time of the path, s.
    elements : int
        Beam elements of each link.
    material : Material
        Of the links.

    Returns
    -------
    Mechanism
        With the bodies "upper" and "fore" and the joints "shoulder" and "elbow".
    """

    def link(number: int, name: str, mass: float) -> assembly.Body:
        length, section = ARM.lengths[number], ARM.sections[number]
        beam = assembly.beam(length, section, material, elements, planar=True, name=name)
        return assembly.attach_mass(beam.with_damping(b=ARM.damping), "end", mass)

    paths = [Path(a, b, duration) for a, b in zip(ARM.folded, ARM.reaching, strict=True)]
    stiffness: tuple[float | None, ...] = (None, None) if gears is None else gears
    drivers = [
        assembly.driver(joint, path.at, stiffness=k, damping=c)
        for joint, path, k, c in zip(JOINTS, paths, stiffness, damping, strict=True)
    ]
    first, second = ARM.folded
    elbow = ARM.lengths[0] * np.array([np.cos(first), np.sin(first)])
    return assembly.Mechanism(
        {"upper": link(0, "upper", ARM.elbow_motor), "fore": link(1, "fore", payload)},
        [
            assembly.revolute("ground", (0, 0), "upper", "start", name="shoulder"),
            assembly.revolute("upper", "end", "fore", "start", name="elbow"),
        ],
        drivers,
        initial={"upper": (0, 0, first), "fore": (*elbow, first + second)},
        gravity=(0, -ARM.gravity, 0),
        name="robot arm",
    )


def rigid_links(payload: float, gears: tuple[float, float], angles: tuple[float, float]) -> Array:
    """Frequencies (2,), Hz, of rigid links on elastic gears at rest, in closed form.

    Parameters
    ----------
    payload : float
        Mass at the tip, kg.
    gears : tuple of two float
        Stiffness of the gears, N·m/rad.
    angles : tuple of two float
        Angles of the shoulder and of the elbow, rad.

    Notes
    -----
    M = [[α + 2β cos b, γ + β cos b], [γ + β cos b, γ]] (Craig, Introduction to Robotics, 1986), and
    the stiffness is that of the gears less the moments of the weights about both joints.
    """
    upper, fore = ARM.lengths
    lines = [assembly.aluminium.rho * section.A for section in ARM.sections]
    upper_mass, fore_mass = lines[0] * upper, lines[1] * fore
    turning = [
        line * length**3 / 3.0 + assembly.aluminium.rho * section.Iz * length
        for line, length, section in zip(lines, ARM.lengths, ARM.sections, strict=True)
    ]
    gamma = turning[1] + payload * fore**2
    moment = fore_mass * fore / 2.0 + payload * fore  # of the fore link about the elbow
    beyond = ARM.elbow_motor + fore_mass + payload  # at the elbow
    alpha = turning[0] + beyond * upper**2 + gamma
    a, b = angles
    cross = gamma + upper * moment * np.cos(b)
    M = np.array([[alpha + 2.0 * upper * moment * np.cos(b), cross], [cross, gamma]])
    K = np.diag(gears) - ARM.gravity * moment * np.sin(a + b)
    K[0, 0] -= ARM.gravity * (upper_mass * upper / 2.0 + beyond * upper) * np.sin(a)
    squares = np.linalg.eigvals(np.linalg.solve(M, K))
    return np.asarray(np.sqrt(np.sort(squares.real)) / (2.0 * np.pi))


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


def main(
    *,
    payload: float = 5.0,
    shoulder: float = 4e4,
    elbow: float = 1.5e4,
    duration: float = 1.2,
    elements: int = 6,
    modes: int = 4,
    instants: int = 49,
    out: OutputFolder = NOWHERE,
    progress: bool = False,
) -> xr.Dataset:
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
    out.write_dataset("tracks.nc", tracks)
    out.draw(sheets.tracks_sheet(tracks, "robot arm on elastic gears"))
    out.explore(lambda: modal.explorer_view(tracks, arm, title="along the path"))
    stiff = model(payload, gears=None, duration=duration, elements=elements)
    dataset = _beside(arm, stiff, tracks, times, payload, gears)
    out.write_dataset("gears.nc", dataset)
    out.draw(of_gears(dataset))
    end = float(times[-1])
    out.draw(sheets.shapes_sheet(arm, end, SHAPES, 2, columns=2, width=8.0, height=3.4))
    out.remark(verdicts(tracks, arm.freeze, modes))
    out.remark(_words(dataset))
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
    upper.set_ylim(0.0, None)
    curves.family(dataset["deflection"], "time", lower, along="joint", labels=joints, prefix="m")
    for ax in axes:
        curves.legend_right(ax)
