"""A slider-crank with an elastic rod and crank: how its modes move over a turn, where it is
unstable, and how well that agrees with time integration.

The rigid motion is the exact one of the mechanism at constant crank speed; each instant is frozen
with Coriolis, Euler, centrifugal, geometric and transport terms.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import xarray as xr

import assembly
import modal
from modal.data.datasets import described
from modal.data.variables import MAP
from studies.figures import sheets
from studies.reporting.frozen_verdicts import verdicts
from studies.reporting.output import NOWHERE, OutputFolder
from studies.reporting.protocol import check_positive, one_turn
from studies.reporting.tables import map_table, tracks_table
from studies.slider_crank import comparison, figures
from studies.slider_crank.machine import SpeedFamily, model, stiffness_damping

__all__ = ["main", "model", "report", "stiffness_damping"]

MAP_READING = (
    "This is not the verdict on the machine: at frozen positions the energy of a mode breathes with"
    " the motion, and what grows at some positions decays at others. Over a whole turn the Floquet"
    " exponents decide (chart.png)."
)

report = tracks_table


def chart_reading(chart: xr.Dataset, elements: int, difference: float) -> str:
    """What a chart over speed and damping says, from its values.

    elements: of the rod of the machine that the chart is of; difference: the relative difference of
    its lowest frequency at t = 0 from that of the study's machine.
    """
    verdict = chart.verdict.transpose("speed_rpm", "first_damping").values
    unstable, decided = verdict > 0, verdict >= 0
    words = [
        "Floquet exponents of whole turns, all modes of a machine with a rigid crank and"
        f" {elements} elements of the rod: its lowest frequency at t = 0 differs by"
        f" {100.0 * difference:.2g} % from that of the machine with an elastic crank, and the"
        " tongues are displaced with it."
        f" Decided: {decided.sum()} of {decided.size} points,"
        f" {unstable.sum()} unstable (parametric resonances, where sums of mean frequencies are"
        " multiples of the speed)."
    ]
    if unstable.any():
        largest = float(chart.first_damping.values[unstable.any(axis=0)].max())
        words.append(f"The largest damping ratio of an unstable point is {largest:.2g}.")
    # A point is stable and the next one of the same speed, with more damping, is not.
    worse = ((verdict[:, :-1] == 0) & unstable[:, 1:]).any(axis=1)
    if worse.any():
        at = ", ".join(f"{speed:.0f}" for speed in chart.speed_rpm.values[worse])
        words.append(f"More damping makes a stable machine unstable at {at} rpm.")
    elif unstable.any():
        words.append("More damping makes no stable point unstable.")
    return " ".join(words)


def frequency_difference(fine: assembly.Mechanism, coarse: assembly.Mechanism) -> float:
    """The relative difference of the lowest frequency of two machines at t = 0."""
    exact, other = (modal.solve(machine.freeze(0.0), k=1).frequency for machine in (fine, coarse))
    return abs(float(other[0] / exact[0]) - 1.0)


def main(
    *,
    crank: float = 0.15,
    rod: float = 0.30,
    speed_rpm: float = 1500.0,
    elements: int = 20,
    damping_ratio: float = 0.005,
    modes: int = 6,
    instants: int = 121,
    turns: int = 2,
    map_points: int = 0,
    chart_points: int = 40,
    max_speed_rpm: float = 6500.0,
    out: OutputFolder = NOWHERE,
    progress: bool = False,
) -> xr.Dataset:
    """Modes of a slider-crank with an elastic rod over a turn, stability over speed, and a
    transient.

    Parameters
    ----------
    crank, rod : float
        Lengths, m.
    speed_rpm : float
        Speed of the crank, rpm.
    elements : int
        Beam elements of each link.
    damping_ratio : float
        Internal damping ratio of the first mode.
    modes, instants : int
        Modes to follow over one turn, and instants of the turn.
    turns : int
        Turns of the time integration; 0 for none.
    map_points : int
        Points along each axis of the map of frozen positions over speed; 0 for no map.
    chart_points : int
        Speeds of the Floquet chart over speed and damping, which is of a rigid crank and at most 2
        elements of the rod; at most 9 damping ratios. 0 for none.
    max_speed_rpm : float
        Largest speed of the map and of the chart, rpm.
    out : OutputFolder, optional
        Folder for data and figures; nothing is written without it.
    progress : bool
        Whether to show progress.

    Returns
    -------
    Dataset
        Tracks over one turn.

    Raises
    ------
    MechanismError
        The crank cannot turn over.
    InputError
        A length or the speed is not positive.
    """
    settings: dict[str, Any] = dict(crank=crank, rod=rod, elements=elements)
    check_positive(crank=crank, rod=rod, speed_rpm=speed_rpm)
    b = stiffness_damping(damping_ratio, speed_rpm=speed_rpm, **settings)
    settings["rayleigh"] = (0.0, b)
    mechanism = model(speed_rpm=speed_rpm, **settings)
    times = one_turn(mechanism, instants)
    tracks = modal.track(mechanism, times=times, k=modes, progress=progress)
    out.write_dataset("tracks.nc", tracks)
    out.remark(verdicts(tracks, mechanism.freeze, modes, ends=False))
    out.draw(sheets.tracks_sheet(tracks, f"slider-crank over one turn at {speed_rpm:g} rpm"))
    out.explore(lambda: modal.explorer_view(tracks, mechanism, title="one turn"))
    out.draw(figures.of_modes(mechanism, float(times[len(times) // 8])))
    out.draw(figures.first_mode(mechanism))
    if turns > 0:
        compared = comparison.compare_with_transient(mechanism, tracks, turns, progress)
        out.write_dataset("transient.nc", compared)
        out.remark(comparison.believed(compared))
        out.draw(figures.of_transient(compared))
        out.draw(figures.overview(tracks, compared, speed_rpm))
    if chart_points > 0:
        # All modes of a point of the chart are computed: at most 2 elements of the rod.
        coarse = settings | dict(elements=min(elements, 2), elastic_crank=False)
        del coarse["rayleigh"]
        per_ratio = stiffness_damping(0.5, speed_rpm=speed_rpm, **coarse) / 0.5

        def family(speed_rpm: float, first_damping: float) -> assembly.Mechanism:
            rayleigh = (0.0, first_damping * per_ratio)
            return model(speed_rpm=speed_rpm, rayleigh=rayleigh, **coarse)

        ratios = np.linspace(0.0, 8.0 * damping_ratio, max(2, min(9, chart_points)))
        chart = modal.hill_chart(
            family,
            lambda speed_rpm, first_damping: 60.0 / speed_rpm,
            k=3,
            speed_rpm=np.linspace(0.6 * max_speed_rpm, max_speed_rpm, chart_points),
            first_damping=ratios,
            progress=progress,
        )
        described(chart, {**MAP, **comparison.VARIABLES})
        out.write_dataset("chart.nc", chart)
        title = f"Floquet verdict over whole turns, rigid crank, {coarse['elements']} elements"
        difference = frequency_difference(mechanism, model(speed_rpm=speed_rpm, **coarse))
        out.remark(title + "\n" + map_table(chart))
        reading = chart_reading(chart, coarse["elements"], difference)
        out.draw(sheets.map_sheet(chart, title, reading, "chart.png"))
        rates = comparison.growth_over_speed(family, chart, damping_ratio)
        out.write_dataset("growth.nc", rates)
        out.remark(f"can it be believed? {comparison.agreement(rates)}")
        out.draw(figures.of_growth(chart, rates))
    if map_points > 0:
        positions = np.linspace(0.0, 1.0, map_points, endpoint=False)
        frozen = SpeedFamily(**settings)
        grid = modal.stability_map(
            frozen,
            speed_rpm=np.linspace(max_speed_rpm / map_points, max_speed_rpm, map_points),
            turn=positions,
            k=modes,
            progress=progress,
        )
        described(grid, {**MAP, **comparison.VARIABLES})
        out.write_dataset("map.nc", grid)
        out.remark("frozen positions: not the verdict on the machine\n" + map_table(grid))
        view = partial(modal.explorer_view, grid, frozen, geometry=frozen.geometry)
        out.explore(partial(view, title="speed and crank position"))
        title = "frozen positions over speed: breathing of the energy"
        out.draw(sheets.map_sheet(grid, title, MAP_READING))
    return tracks
