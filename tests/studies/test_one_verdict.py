"""One machine has one verdict: reports print no lines that contradict one another."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
import xarray as xr

import assembly
import modal
from assembly.gallery import four_bar
from modal.checks.diagnosis import Diagnosis
from studies import slider_crank
from studies.cli.check import floquet_lines, verdict_lines
from studies.registry import MODULES, study
from studies.reporting.frozen_verdicts import verdicts
from studies.reporting.output import Nowhere
from tests.support.contradictions import contradictions

# Settings with which a study takes the least time.
SMALL: dict[str, dict[str, Any]] = {
    "helicopter": dict(speeds=2, min_rpm=240.0, max_rpm=260.0),
    "measured-motion": dict(instants=7, repeats=2, modes=1, response_turn=0.05),
    "robot-arm": dict(elements=1, modes=2, instants=7),
    "rotating-bar": dict(
        elements=2, duration=0.004, step=1e-4, timing_repeats=1, timing_duration=4e-4
    ),
    "rotating-blade": dict(blade="beam", speeds=5, map_points=3, modes=3),
    "slider-crank": dict(elements=2, modes=2, instants=17, turns=1, map_points=2, chart_points=2),
    "solid-rod": dict(cells=12, across=1, instants=5, modes=2),
    "two-zeros": dict(modes=3, instants=12, large_elements=40),
    "wind-pump": dict(instants=13),
    "wind-turbine": dict(speeds=2, modes=4, tower_elements=2),
}


def printed(machine: Any, tracks: xr.Dataset, compared: modal.CrossCheck, k: int) -> str:
    """The parts of the command check that judge."""
    lines = [*floquet_lines(compared), verdicts(tracks, machine.freeze, k)]
    return "\n".join([*lines, *verdict_lines(modal.PropertyReport(()), compared)])


def made_up(outcome: Any, stands: bool, floquet: Any) -> Any:
    """A cross-check of one mode."""
    dataset = xr.Dataset({"frozen_share": ("mode", [1.0 if stands else 0.5])}, {"mode": [0]})
    diagnoses = (Diagnosis(outcome, "drift" if outcome == "frozen misleads" else "", ""),)
    return modal.CrossCheck(dataset, diagnoses, floquet)


@pytest.mark.parametrize("method", ["dense", "reduced"])
@pytest.mark.parametrize("rate, error", [(-1.0, 1e-6), (1.0, 1e-6), (1e-3, 2e-1)])
def test_no_outcome_of_a_cross_check_contradicts_its_floquet_verdict(
    method: str, rate: float, error: float
) -> None:
    exponents = np.array([rate + 0j])
    floquet = modal.FloquetModes(
        1.0, 0.0, np.exp(exponents), exponents, np.ones((1, 1), complex), np.array([error]), method
    )
    for outcome, stands in itertools.product(
        ("confirmed", "frozen misleads", "undecided"), (True, False)
    ):
        compared = made_up(outcome, stands, floquet)
        report = modal.PropertyReport(())
        text = "\n".join([*floquet_lines(compared), *verdict_lines(report, compared)])
        assert not contradictions(text), text
        assert compared.headline in text


def random_mechanism(seed: int) -> tuple[assembly.Mechanism, float]:
    """A driven four-bar or slider-crank of beams, undamped or not, and its period, s."""
    rng = np.random.default_rng(seed)
    rate, damping = float(rng.uniform(10.0, 60.0)), float(rng.choice([0.0, 1e-6]))

    def link(length: float) -> assembly.Body:
        section = assembly.rectangle(0.01, 0.012)
        return assembly.beam(length, section, assembly.steel, 1, planar=True).with_damping(
            b=damping
        )

    crank = float(rng.uniform(0.06, 0.1))
    if seed % 2:
        rpm = 30.0 * rate / np.pi
        made = slider_crank.model(crank=crank, rod=0.35, speed_rpm=rpm, elements=1)
    else:
        lengths = (crank, float(rng.uniform(0.28, 0.32)), float(rng.uniform(0.24, 0.28)))
        made = four_bar(link, lengths, base=0.3, speed=rate)
    return made, 2.0 * np.pi / rate


def checked(seed: int, k: int = 2) -> str:
    machine, period = random_mechanism(seed)
    times = np.linspace(0.0, period, 33)
    tracks = modal.track(machine, times=times, k=k, progress=False)
    compared = modal.crosscheck(machine, tracks, period=period)
    return printed(machine, tracks, compared, k)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_random_mechanisms_have_one_verdict(seed: int) -> None:
    text = checked(seed)
    assert not contradictions(text), text


def test_an_instant_of_a_mechanism_has_a_rate_and_no_verdict() -> None:
    """Undamped, 300 rpm: the mass changes with the position, and every instant grows or decays."""
    machine, period = random_mechanism(0)
    tracks = modal.track(machine, times=np.linspace(0.0, period, 9), k=1, progress=False)
    lines = verdicts(tracks, machine.freeze, 1).splitlines()
    assert lines[0].startswith("rate of the instant")
    assert all(re.search(r": [+-][\d.e-]+ ± [\d.e-]+ 1/s at [\d.]+ Hz$", x) for x in lines[1:])


def test_the_printed_result_on_an_instant_of_a_mechanism_is_no_verdict() -> None:
    """The mass has the rate ½ (C + Cᵀ): that of M at neighbouring times, by differences."""
    machine, period = random_mechanism(0)
    t, step = 0.3 * period, 1e-6 * period
    system = machine.freeze(t)
    before, after = (machine.freeze(t + s).M.toarray() for s in (-step, step))
    rate = 0.5 * (system.C + system.C.T).toarray()
    np.testing.assert_allclose(rate, (after - before) / (2.0 * step), atol=1e-6 * abs(rate).max())
    assert system.mass_changes
    result = modal.stability(system, k=2)
    lines = str(result).splitlines()
    assert result.mass_changes and result.verdict == "flutter"
    assert lines[0].startswith(
        "rate of an instant whose mass changes with time, no verdict on the motion: +"
    )
    assert "(proof:" not in str(result)
    # The equation without the rates, and a link that only turns: their verdicts stand.
    held = machine.freeze(t, transport=False)
    assert not held.mass_changes and " (proof: " in str(modal.stability(held))
    arm = assembly.beam(1.0, assembly.rectangle(0.02, 0.03), assembly.steel, 1, planar=True)
    hinge = assembly.revolute("ground", (0, 0), "arm", (0, 0), name="hinge")
    turning = assembly.Mechanism({"arm": arm}, [hinge], [assembly.driver("hinge", 50.0)])
    assert not turning.freeze(0.37).mass_changes


def test_the_printed_cross_check_begins_with_the_floquet_verdict() -> None:
    class Swing:
        period = np.pi

        def freeze(self, t: float) -> assembly.FrozenSystem:
            K = 1.0 + 0.3 * np.cos(2.0 * t)
            return assembly.FrozenSystem(M=[[1.0]], D=[[0.02]], K=[[K]])

    tracks = modal.track(Swing(), times=np.linspace(0.0, np.pi, 33), k=1, progress=False)
    lines = str(modal.crosscheck(Swing(), tracks)).splitlines()
    assert lines[0].startswith("verdict: unstable, a vibration grows at +0.06")
    assert lines[1].startswith("frozen, corrected: mean rates of the instants")


def test_a_steady_motion_has_the_verdict_of_its_instants() -> None:
    """The equations do not change: the frozen verdict is that of the motion."""
    beam = assembly.beam(
        1.0, assembly.rectangle(0.02, 0.03), assembly.steel, 2, clamped="start"
    ).with_damping(a=1.0)
    turning = assembly.moving(beam, assembly.spin(omega=50.0, axis=(0, 0, 1)))
    tracks = modal.track(turning, times=np.linspace(0.0, 0.1, 5), k=1, progress=False)
    lines = verdicts(tracks, turning.freeze, 1).splitlines()
    assert "time = 0 s: stable (proof: energy)" in lines[1]


def test_contradictions_are_seen() -> None:
    """The rules themselves, on reports that are wrong."""
    grows = (
        "flutter (proof: mode): 1 unstable of 9 modes found\n  largest growth rate {} ± 1e-9 1/s"
    )
    none = "  all 18 multipliers of the model: none grows; largest growth rate -1 ± 1e-9 1/s"
    table = "map of 2 x = 2 points\n  stable (all modes)  {} points (100.0 %)\n{}"
    rates = "  largest growth rate {} 1/s at x = 1\n  largest error bound 1e-9"
    for wrong in (
        f"{none}\nverdict: unstable, a vibration grows",
        f"{none}\nverdict: stable\n  time = 0 s: {grows.format(1.0)}",
        "verdict: stable\nverdict: undecided",
        f"omega = 1: stable (proof: count)\nomega = 1: {grows.format(2.0)}",
        grows.format(-3.0),
        grows.format(3.0).replace("flutter", "stable"),
        table.format(2, rates.format(0.5)),
    ):
        assert contradictions(wrong), wrong
    for right in (
        f"{none}\nverdict: stable, no vibration grows",
        grows.format(3.0),
        table.format(2, rates.format(-0.5)),
    ):
        assert not contradictions(right), right


class Remarks(Nowhere):
    """Keeps the remarks of a study, and nothing else."""

    def __init__(self) -> None:
        self.remarks = []

    def remark(self, text: str) -> None:
        self.remarks.append(text)


def report_of(name: str) -> str:
    """What a study prints, without its files."""
    chosen = study(name)
    settings = chosen.settings | SMALL[name]
    read = Remarks()
    dataset = chosen.main(**settings, out=read, progress=False)
    return "\n".join([chosen.report(dataset), *read.remarks])


def test_every_study_is_read() -> None:
    assert set(SMALL) == set(MODULES)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_studies_print_no_contradiction(name: str) -> None:
    text = report_of(name)
    assert not contradictions(text), text
