"""A slider-crank with an elastic rod and crank: how its modes move over a turn, where it is
unstable, and how well that agrees with time integration.

The rigid motion is the exact one of the mechanism at constant crank speed; each instant is frozen
with Coriolis, Euler, centrifugal, geometric and transport terms.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

import assembly
import modal
from assembly.errors import InputError
from assembly.system.frozen_series import FrozenSeries
from modal.data.datasets import described
from modal.data.variables import MAP
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
from studies.reporting.tables import map_table, tracks_section
from studies.slider_crank import figures
from studies.slider_crank.growth import agreement, growth_over_speed
from studies.slider_crank.machine import model
from studies.slider_crank.transient import believed, compare_with_transient
from studies.slider_crank.variables import VARIABLES

__all__ = ["main", "model", "report", "stiffness_damping"]

MAP_READING = (
    "This is not the verdict on the machine: at frozen positions the energy of a mode breathes with"
    " the motion, and what grows at some positions decays at others. Over a whole turn the Floquet"
    " exponents decide (chart.png)."
)
CHART_ELEMENTS = 2  # of the rod: all modes of a point of the chart are computed
CHART_MODES = 3
CHART_RATIOS = 9  # from 0 to 8 times the damping ratio of the study
SLOWEST = 0.6  # of the largest speed


report = report_of(tracks_section)


class SpeedFamily:
    """The slider-crank frozen at a crank speed (rpm) and a fraction of its turn.

    turns: fractions of the turn that are frozen together, at the first use of a speed.
    """

    def __init__(self, turns: ArrayLike = (), **settings: Any) -> None:
        self.turns = np.asarray(turns, dtype=float)
        self.settings = settings
        self._mechanisms: dict[float, assembly.Mechanism] = {}
        self._series: dict[float, FrozenSeries] = {}

    def at(self, speed_rpm: float, turn: float) -> tuple[assembly.Mechanism, float]:
        """The mechanism of a speed, and the time (s) of a fraction of its turn."""
        if speed_rpm not in self._mechanisms:
            self._mechanisms[speed_rpm] = model(speed_rpm=speed_rpm, **self.settings)
        mechanism = self._mechanisms[speed_rpm]
        assert mechanism.period is not None
        return mechanism, turn * mechanism.period

    def freeze(self, speed_rpm: float, turn: float) -> assembly.FrozenSystem:
        mechanism, t = self.at(speed_rpm, turn)
        place = np.flatnonzero(self.turns == turn)
        if not place.size:
            return mechanism.freeze(t)
        if speed_rpm not in self._series:
            assert mechanism.period is not None
            self._series[speed_rpm] = mechanism.freeze_many(self.turns * mechanism.period)
        return self._series[speed_rpm][int(place[0])]

    def geometry(
        self, point: Mapping[str, float], vectors: NDArray[Any]
    ) -> tuple[modal.PlacedBody, ...]:
        """The bodies at a point of the map, with the vectors of the frozen system."""
        mechanism, t = self.at(**point)
        return modal.placed_bodies(mechanism, {"time": t}, vectors)


class TurningFamily:
    """The slider-crank at a speed (rpm) and a damping ratio of its first mode at t = 0."""

    def __init__(self, per_ratio: float, **settings: Any) -> None:
        self.per_ratio, self.settings = per_ratio, settings

    def __call__(self, speed_rpm: float, first_damping: float) -> assembly.Mechanism:
        rayleigh = (0.0, first_damping * self.per_ratio)
        return model(speed_rpm=speed_rpm, rayleigh=rayleigh, **self.settings)

    @staticmethod
    def period(speed_rpm: float, first_damping: float) -> float:
        """Of a turn, s."""
        return 60.0 / speed_rpm


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


def stiffness_damping(ratio: float, **settings: Any) -> float:
    """Stiffness-proportional damping of the first mode at t = 0.

    Parameters
    ----------
    ratio : float
        Damping ratio ζ of the first mode, at least 0 and less than 1.
    **settings
        Those of `model`.

    Returns
    -------
    float
        b = 2ζ/ω of D = b K, s.

    Raises
    ------
    InputError
        The ratio is out of its range.
    """
    if not 0.0 <= ratio < 1.0:
        raise InputError(f"damping_ratio: must be at least 0 and less than 1, got {ratio}")
    first = modal.solve(model(**settings).freeze(0.0), k=1)
    return 2.0 * ratio / float(np.abs(first.eigenvalues[0]))


@study_main
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
    progress: bool = False,
) -> Outputs:
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
    for name, value in (("crank", crank), ("rod", rod), ("speed_rpm", speed_rpm)):
        if not (np.isfinite(value) and value > 0.0):
            raise InputError(f"{name} = {value:g}: must be positive")
    b = stiffness_damping(damping_ratio, speed_rpm=speed_rpm, **settings)
    settings["rayleigh"] = (0.0, b)
    mechanism = model(speed_rpm=speed_rpm, **settings)
    assert mechanism.period is not None
    times = np.linspace(0.0, mechanism.period, instants)
    tracks = modal.track(mechanism, times=times, k=modes, progress=progress)
    yield Data("tracks.nc", tracks)
    yield Remark(verdicts(tracks, mechanism.freeze, modes, ends=False))
    yield sheets.tracks_sheet(tracks, f"slider-crank over one turn at {speed_rpm:g} rpm")
    yield Exploration(lambda: modal.explorer_view(tracks, mechanism, title="one turn"))
    yield from figures.of_modes(mechanism, times)
    if turns > 0:
        compared = compare_with_transient(mechanism, tracks, turns, progress)
        yield Data("transient.nc", compared)
        yield Remark(believed(compared))
        yield from figures.of_transient(tracks, compared, speed_rpm)
    if chart_points > 0:
        coarse = settings | dict(elements=min(elements, CHART_ELEMENTS), elastic_crank=False)
        del coarse["rayleigh"]
        per_ratio = stiffness_damping(0.5, speed_rpm=speed_rpm, **coarse) / 0.5
        family = TurningFamily(per_ratio, **coarse)
        ratios = np.linspace(0.0, 8.0 * damping_ratio, max(2, min(CHART_RATIOS, chart_points)))
        chart = modal.hill_chart(
            family,
            family.period,
            k=CHART_MODES,
            speed_rpm=np.linspace(SLOWEST * max_speed_rpm, max_speed_rpm, chart_points),
            first_damping=ratios,
            progress=progress,
        )
        described(chart, {**MAP, **VARIABLES})
        yield Data("chart.nc", chart)
        title = f"Floquet verdict over whole turns, rigid crank, {coarse['elements']} elements"
        difference = frequency_difference(mechanism, model(speed_rpm=speed_rpm, **coarse))
        yield Remark(title + "\n" + map_table(chart))
        reading = chart_reading(chart, coarse["elements"], difference)
        yield sheets.map_sheet(chart, title, reading, "chart.png")
        rates = growth_over_speed(family, chart, damping_ratio)
        yield Data("growth.nc", rates)
        yield Remark(f"can it be believed? {agreement(rates)}")
        yield figures.of_growth(chart, rates)
    if map_points > 0:
        positions = np.linspace(0.0, 1.0, map_points, endpoint=False)
        frozen = SpeedFamily(positions, **settings)
        grid = modal.stability_map(
            frozen,
            speed_rpm=np.linspace(max_speed_rpm / map_points, max_speed_rpm, map_points),
            turn=positions,
            k=modes,
            progress=progress,
        )
        described(grid, {**MAP, **VARIABLES})
        yield Data("map.nc", grid)
        yield Remark("frozen positions: not the verdict on the machine\n" + map_table(grid))
        yield Exploration(
            lambda: modal.explorer_view(
                grid, frozen, title="speed and crank position", geometry=frozen.geometry
            )
        )
        yield sheets.map_sheet(
            grid, "frozen positions over speed: breathing of the energy", MAP_READING
        )
    return tracks
