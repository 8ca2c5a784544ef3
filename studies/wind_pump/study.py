"""The wind water pump with two degrees of mobility: Vlase, Negrean, Marin & Năstac, Mathematics
2020, 8, 805, section 5 and appendix B, with an elastic lever BC'.

The loop closure is derived here with one set of angles (the paper's (22)–(23) and (A6) use two, and
(A17) has the slide's velocity with the wrong sign). The paper prints no dimension of the pump and
takes its motion from a recording; l1, l2, h and all else are assumptions (see
`studies.wind_pump.machine.Pump`), with a crank at 140 rpm and a slide that swings with it. Its
Figure 6 can therefore be compared in kind, not in numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr

import modal
from assembly.errors import InputError
from modal.data.units import units_of
from studies.reporting.output import NOWHERE, OutputFolder
from studies.reporting.protocol import merged, report_of
from studies.wind_pump import data, figures
from studies.wind_pump.machine import Pump, mechanism

__all__ = ["main", "report"]

DRIVES = ("motor_torque", "slide_force")


def _kinematics(dataset: xr.Dataset) -> Iterator[str]:
    yield "kinematics by the loop closure, against finite differences (relative)"
    yield from [
        f"  {name:<22} {float(gap):.0e}"
        for name, gap in zip(
            dataset["checked"].values, dataset["difference_check"].values, strict=True
        )
    ]


def _forces(dataset: xr.Dataset) -> list[str]:
    gaps, projected = [], []
    for name in ("joint_force", *DRIVES):
        reduced, general = dataset[name], dataset[f"{name}_general"]
        gaps.append(float(abs(reduced - general).max() / abs(general).max()))
    for name in DRIVES:
        apart = float(abs(dataset[f"{name}_projected"] - dataset[name]).max())
        projected.append(f"{apart:.0e} {units_of(dataset[name])}")
    forces = [
        f"{name!s} {_largest(dataset['joint_force'].sel(force=name))}"
        for name in dataset["force"].values
    ]
    drives = [
        f"{name.replace('_', ' ')} {_largest(dataset[name])} {units_of(dataset[name])}"
        for name in DRIVES
    ]
    return [
        f"joint forces and drives: reduced equations (A43) against the general mechanism "
        f"{max(gaps):.0e} of the largest; drives by (A46) within {', '.join(projected)}",
        f"  largest: {', '.join(forces)} ({units_of(dataset['joint_force'])}); "
        + ", ".join(drives),
    ]


def _largest(values: xr.DataArray) -> str:
    return f"{float(abs(values).max()):.1f}"


def agreement(compared: modal.CrossCheck) -> str:
    """How far the frozen modes stand for the motion, in words."""
    lines = (f"  {line}" for line in str(compared).splitlines())
    return "\n".join(["can it be believed? Frozen against time integration and Floquet:", *lines])


def _eigenvalues(dataset: xr.Dataset) -> Iterator[str]:
    yield (
        "eigenvalues of the lever over a turn: frequency "
        f"({units_of(dataset['frequency'])}), least … greatest"
    )
    yield f"  {'':<20}" + "".join(f"{f'mode {m + 1}':>26}" for m in dataset["mode"].values)
    for name in dataset["variant"].values:
        f = dataset["frequency"].sel(variant=name)
        spans = [
            f"{float(f[:, m].min()):.4f} … {float(f[:, m].max()):.4f}" for m in range(f.shape[1])
        ]
        yield f"  {name:<20}" + "".join(f"{span:>26}" for span in spans)
    pinned = "".join(f"{float(v):>26.4f}" for v in dataset["pinned_frequency"].values)
    yield f"  {'pinned beam at rest':<20}{pinned}"
    rates = dataset["eigenvalue"].sel(variant="all terms").values.real
    yield f"  largest |Re λ| with all terms {np.abs(rates).max():.1e} 1/s"


def _terms(dataset: xr.Dataset) -> Iterator[str]:
    units = units_of(dataset["shift"])
    yield f"shift by each term alone ({units}), least … greatest over the turn"
    for name in dataset["term"].values:
        yield f"  {name:<20}" + _spans(dataset["shift"].sel(term=name))
    yield f"  {'all together':<20}" + _spans(dataset["together"])
    rest = dataset["together"] - dataset["shift"].sum("term")
    yield f"  {'of that, mutual':<20}" + _spans(rest)
    stress = dataset["shift"].sel(term="K_G")
    gap = abs(stress - dataset["shift_by_hand"]).max("time") / abs(stress).max("time")
    gaps = ", ".join(f"{100.0 * float(g):.1f} %" for g in gap.values)
    others = float(dataset["shift"].drop_sel(term="K_G").pipe(abs).sum("term").max())
    ratio = float(abs(stress).max()) / others
    yield f"  K_G against the axial force on a pinned beam, first order, by hand: {gaps}"
    yield (
        f"  K_G, which equation (20) of the paper leaves out, is {ratio:.0f} times all other terms "
        "of the motion together"
    )


def _spans(shift: xr.DataArray) -> str:
    low, high = shift.min("time").values, shift.max("time").values
    return "".join(f"{f'{a:+.2e} … {b:+.2e}':>26}" for a, b in zip(low, high, strict=True))


def _operations(dataset: xr.Dataset) -> Iterator[str]:
    """The paper's Table 1, and what it says of a program."""
    counts = dataset["differentiations"]
    yield "differentiations to set up the equations (the paper's Table 1), n elements of the lever"
    yield f"  {'n':<14}" + "".join(f"{n:>7}" for n in counts["lever_elements"].values)
    for name in counts["formalism"].values:
        row = counts.sel(formalism=name)
        cells = "".join(f"{int(v):>7}" for v in row.values)
        yield f"  {name!s:<14}{cells}   = {data.TABLE_1[str(name)][1]}"
    yield (
        "  They are made once, on paper: all three give the same matrices (the tests compare "
        "Kane's route with Lagrange's),"
    )
    yield "  which are assembled once and combined at every instant. No formalism costs more there."


# Checks of kinematics and forces, eigenvalues, and what makes them vary.
report = report_of(_kinematics, _forces, _eigenvalues, _terms, _operations)


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
    out: OutputFolder = NOWHERE,
    progress: bool = False,
) -> xr.Dataset:
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
            data.rigid_motion(pump, times),
            data.forces_both_ways(pump, pumping, times),
            data.eigenvalues_over_turn(pumping, times, modes, progress),
            data.by_hand(pump, times, modes),
            data.operations(),
        ],
        data.VARIABLES,
        title="wind water pump of Vlase, Negrean, Marin & Năstac (2020)",
        speed_rpm=speed_rpm,
        elements=elements,
        assumed=str(pump),
    )
    out.write_dataset("wind-pump.nc", dataset)
    tracks = modal.track(pumping, times=times[:: max(1, instants // 60)], k=modes)
    out.remark(agreement(modal.crosscheck(pumping, tracks)))
    out.explore(lambda: modal.explorer_view(tracks, pumping, title="one turn"))
    out.draw(*figures.drawings(dataset))
    out.draw(figures.first_mode(pump, pumping))
    return dataset
