"""The wind water pump with two degrees of mobility: Vlase, Negrean, Marin & Năstac, Mathematics
2020, 8, 805, section 5 and appendix B, with an elastic lever BC'.

The loop closure is derived here with one set of angles (the paper's (22)–(23) and (A6) use two, and
(A17) has the slide's velocity with the wrong sign). The paper prints no dimension of the pump and
takes its motion from a recording; l1, l2, h and all else are assumptions (see
`studies.wind_pump.machine.Pump`), with a crank at 140 rpm and a slide that swings with it. Its
Figure 6 can therefore be compared in kind, not in numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr
from numpy.typing import NDArray

import assembly
import modal
from assembly.errors import InputError
from studies.reporting.protocol import Data, Exploration, Outputs, Remark, merged, study_main
from studies.wind_pump import figures
from studies.wind_pump.machine import Pump, mechanism
from studies.wind_pump.operations import operations
from studies.wind_pump.rigid import FORCES, joint_forces, motion
from studies.wind_pump.summary import agreement, report
from studies.wind_pump.terms import eigenvalues_over_turn, pinned_frequency, stress_shift
from studies.wind_pump.variables import VARIABLES

__all__ = ["main", "report"]

Array = NDArray[np.float64]
JOINTS = ("A", "B", "C", "D")
# Sixth-order central first difference.
DIFFERENCE = {1: 3.0 / 4.0, 2: -3.0 / 20.0, 3: 1.0 / 60.0}


@study_main
def main(
    *,
    speed_rpm: float = 140.0,
    elements: int = 10,
    instants: int = 121,
    modes: int = 2,
    l1: float = 0.10,
    l2: float = 0.60,
    h: float = 0.35,
    width: float = 0.008,
    progress: bool = False,
) -> Outputs:
    """A wind water pump: kinematics, joint forces, and the eigenvalues of its elastic lever.

    Parameters
    ----------
    speed_rpm : float
        Speed of the crank, rpm.
    elements : int
        Beam elements of the lever BC'.
    instants, modes : int
        Instants of one turn and eigenvalues at each.
    l1, l2, h : float
        Lengths of crank, lever and swing, m (assumed; the paper prints none).
    width : float
        Width of the lever in the plane of motion, m (assumed).
    out : OutputFolder, optional
        Folder for data and figures; nothing is written without it.
    progress : bool
        Whether to show progress.

    Returns
    -------
    Dataset
        Kinematics, joint forces by both routes, eigenvalues with and without K_G and transport
        terms, and the share of every term.

    Raises
    ------
    MechanismError
        The loop does not close over the whole turn.
    InputError
        Too few instants or modes, or a speed that is not positive.
    """
    if instants < 8 or modes < 1 or not speed_rpm > 0.0:
        raise InputError("instants: at least 8; modes: at least 1; speed_rpm: positive")
    pump = Pump(l1=l1, l2=l2, h=h, width=width, speed_rpm=speed_rpm)
    pumping = mechanism(pump, elements)
    times = np.linspace(0.0, 2.0 * np.pi / pump.omega, instants)
    dataset = merged(
        [
            rigid_motion(pump, times),
            forces_both_ways(pump, pumping, times),
            eigenvalues_over_turn(pumping, times, modes, progress),
            by_hand(pump, times, modes),
            operations(),
        ],
        VARIABLES,
        title="wind water pump of Vlase, Negrean, Marin & Năstac (2020)",
        speed_rpm=speed_rpm,
        elements=elements,
        assumed=str(pump),
    )
    yield Data("wind-pump.nc", dataset)
    tracks = modal.track(pumping, times=times[:: max(1, instants // 60)], k=modes)
    yield Remark(agreement(modal.crosscheck(pumping, tracks)))
    yield Exploration(lambda: modal.explorer_view(tracks, pumping, title="one turn"))
    yield from figures.drawings(dataset)
    yield figures.animation(pump, pumping)
    return dataset


def rigid_motion(pump: Pump, times: Array) -> xr.Dataset:
    """Angles of lever and swing and their derivatives by the loop closure, with the largest
    difference from finite differences, relative to the largest value.
    """
    motions = [motion(pump, t) for t in times]
    step = 2.0 * np.pi / pump.omega / 600.0
    angles = np.array([m.angles for m in motions])
    rates = np.array([m.angle_rates for m in motions])
    accelerations = np.array([m.angle_accelerations for m in motions])
    centres = np.array([m.a for m in motions])
    checks: dict[str, tuple[Array, Callable[[float], Array]]] = {
        "angular velocity": (rates, lambda t: motion(pump, t).angles),
        "angular acceleration": (accelerations, lambda t: motion(pump, t).angle_rates),
        "acceleration": (centres, lambda t: _velocities(pump, t)),
    }
    gaps = []
    for values, integral in checks.values():
        changes = [
            [c * (integral(t + j * step) - integral(t - j * step)) for j, c in DIFFERENCE.items()]
            for t in times
        ]
        derived = np.sum(changes, axis=1) / step
        gaps.append(np.abs(derived - values).max() / np.abs(values).max())
    dims = ("time", "link")
    return xr.Dataset(
        {
            "angle": (dims, angles),
            "angular_velocity": (dims, rates),
            "angular_acceleration": (dims, accelerations),
            "difference_check": ("checked", np.array(gaps)),
        },
        coords={"time": times, "link": ["lever", "swing"], "checked": list(checks)},
    )


def by_hand(pump: Pump, times: Array, modes: int) -> xr.Dataset:
    """Frequencies of the lever pinned at both ends, and their shift by the axial force."""
    half_waves = np.arange(1, modes + 1)
    return xr.Dataset(
        {
            "shift_by_hand": (
                ("time", "mode"),
                np.stack([stress_shift(pump, times, n) for n in half_waves], axis=1),
            ),
            "pinned_frequency": ("mode", np.array([pinned_frequency(pump, n) for n in half_waves])),
        },
        coords={"time": times, "mode": np.arange(modes)},
    )


def _velocities(pump: Pump, t: float) -> Array:
    """Velocities (10,) of the paper's {a}: A q̇, since A is the derivative of the places by q."""
    now = motion(pump, t)
    return np.asarray(now.A @ now.rate)


def forces_both_ways(pump: Pump, pumping: assembly.Mechanism, times: Array) -> xr.Dataset:
    """Joint forces and drives by the reduced equations (A43)–(A46) and by the general mechanism."""
    reduced, projected, general = (np.empty((len(times), n)) for n in (10, 2, 10))
    for k, t in enumerate(times):
        reduced[k], projected[k] = joint_forces(pump, t)
        reactions, drives = pumping.reactions(t), pumping.driving(t)
        general[k, :8] = np.concatenate([reactions[name].force[:2] for name in JOINTS])
        general[k, 8:] = drives["A"], drives["guide"]
    columns = {"": reduced, "_general": general}
    data: dict[str, tuple[tuple[str, ...], Array]] = {}
    for suffix, values in columns.items():
        data[f"joint_force{suffix}"] = ("time", "force"), values[:, :8]
        data[f"motor_torque{suffix}"] = ("time",), values[:, 8]
        data[f"slide_force{suffix}"] = ("time",), values[:, 9]
    data["motor_torque_projected"] = ("time",), projected[:, 0]
    data["slide_force_projected"] = ("time",), projected[:, 1]
    return xr.Dataset(data, coords={"time": times, "force": list(FORCES[:8])})
