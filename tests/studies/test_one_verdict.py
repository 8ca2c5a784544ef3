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
from studies.cli.check_verdict import floquet_lines, verdict_lines
from studies.reporting.frozen_verdicts import verdicts

# The words of the Floquet exponents and the beginnings of the one verdict that goes with them.
AGREEING = {
    "none grows": ("verdict: stable", "verdict: no vibration of the slowest modes grows"),
    "one grows": ("verdict: unstable",),
    "undecided, the error is larger than the growth": ("verdict: undecided",),
}
FROZEN = re.compile(r"\b(stable|flutter|divergence|undecided) \(proof: ")


def contradictions(text: str) -> list[str]:
    """What is wrong with the report on a periodic motion."""
    lines = text.splitlines()
    wrong = [line for line in lines if FROZEN.search(line)]
    headlines = [line for line in lines if line.startswith("verdict:")]
    if len(headlines) != 1:
        return [*wrong, *headlines, f"{len(headlines)} verdicts"]
    floquet = next(line for line in lines if "multipliers of the" in line)
    starts = next(starts for words, starts in AGREEING.items() if words in floquet)
    return wrong if headlines[0].startswith(starts) else [*wrong, floquet, *headlines]


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
@pytest.mark.parametrize("seed", range(50))
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


def test_a_steady_motion_has_the_verdict_of_its_instants() -> None:
    """The equations do not change: the frozen verdict is that of the motion."""
    beam = assembly.beam(
        1.0, assembly.rectangle(0.02, 0.03), assembly.steel, 2, clamped="start"
    ).with_damping(a=1.0)
    turning = assembly.moving(beam, assembly.spin(omega=50.0, axis=(0, 0, 1)))
    tracks = modal.track(turning, times=np.linspace(0.0, 0.1, 5), k=1, progress=False)
    lines = verdicts(tracks, turning.freeze, 1).splitlines()
    assert "time = 0 s: stable (proof: energy)" in lines[1]
