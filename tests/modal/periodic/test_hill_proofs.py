"""Hill charts say what their verdicts rest on: all multipliers, or the slow ones alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import assembly
import modal
from assembly.mechanisms.mechanism import Mechanism
from modal.periodic.floquet_modes import periodic_verdict
from modal.proofs.judge import COUNT, MODES, UNSTABLE_MODE
from studies.slider_crank.machine import model as slider_crank
from studies.slider_crank.study import chart_reading
from tests.support.full_growth import full_growth

UNDECIDED, STABLE, FLUTTER = -1, 0, 2


@dataclass(frozen=True)
class Masses:
    """Coupled masses between springs, one of which is modulated once in 2π s."""

    a: float
    q: float
    count: int = 2

    def freeze(self, t: float) -> assembly.FrozenSystem:
        n = self.count
        K = np.diag(2.0 + 3.0 * np.arange(n)) - 0.2 * (np.eye(n, k=1) + np.eye(n, k=-1))
        K[0, 0] = self.a + self.q * np.cos(t)
        return assembly.FrozenSystem(M=np.eye(n), D=0.05 * np.eye(n), K=K)


@pytest.mark.slow
@pytest.mark.parametrize("points", [2, 3])
def test_a_small_system_is_proved_with_few_points_and_with_many(points: int) -> None:
    """Up to seven points are computed by themselves, more by shared shapes."""
    axes: dict[str, Any] = dict(a=np.linspace(0.3, 2.0, points), q=np.linspace(0.2, 1.4, points))
    chart = modal.hill_chart(Masses, 2.0 * np.pi, **axes)
    for i, a in enumerate(axes["a"]):
        for j, q in enumerate(axes["q"]):
            found = modal.floquet(Masses(float(a), float(q)), 2.0 * np.pi)
            unstable = found.verdict == "unstable"
            assert (int(chart.verdict[i, j]) > STABLE) == unstable
            assert int(chart.proof[i, j]) == (UNSTABLE_MODE if unstable else COUNT)
    assert np.any(chart.verdict.values == STABLE)


@pytest.mark.parametrize(
    "growth, bound, proof, due",
    [
        (-1.0, 0.1, COUNT, STABLE),
        (-1.0, 0.1, MODES, UNDECIDED),  # other modes were not examined
        (-0.01, 170.0, COUNT, UNDECIDED),  # a bound 17,000 times the growth
        (0.0, 1e-9, COUNT, STABLE),  # an undamped motion, to a thousandth of growth a period
        (0.5, 0.1, MODES, FLUTTER),
    ],
)
def test_what_a_verdict_needs(growth: float, bound: float, proof: int, due: int) -> None:
    exponents = np.array([growth + 3.0j, growth - 3.0j, -5.0])
    found = periodic_verdict(exponents, np.array([bound, bound, 0.0]), 1.0, proof)
    assert found.verdict == due
    assert found.proof == {UNDECIDED: MODES, STABLE: COUNT, FLUTTER: UNSTABLE_MODE}[due]


@pytest.mark.slow
def test_where_modes_are_not_examined_nothing_is_called_stable() -> None:
    """89 masses: more than the space of shapes has."""

    def family(a: float, q: float) -> Masses:
        return Masses(a, q, 89)

    axes: dict[str, Any] = dict(a=[0.3, 1.0, 2.0], q=[0.1, 0.2, 0.3])
    chart = modal.hill_chart(family, 2.0 * np.pi, k=3, **axes)
    examined = chart.proof.values != MODES
    assert np.all(chart.verdict.values[~examined] == UNDECIDED) and not np.all(examined)


@pytest.mark.slow
def test_all_modes_of_a_soft_model_decide_every_point() -> None:
    """24 masses whose modes all decay alike: no proof tells slow and fast ones, and none is due."""
    axes: dict[str, Any] = dict(a=[0.3, 1.0, 2.0], q=[0.1, 0.3, 0.8])
    chart = modal.hill_chart(lambda a, q: Masses(a, q, 24), 2.0 * np.pi, k=3, **axes)
    assert np.all(chart.verdict.values >= STABLE)
    assert np.any(chart.verdict.values > STABLE) and np.any(chart.proof.values == COUNT)
    for i, j in [(0, 2), (1, 1), (2, 2)]:
        due = full_growth(Masses(axes["a"][i], axes["q"][j], 24), 2.0 * np.pi, 200)
        assert abs(float(chart.growth_rate[i, j]) - due) <= float(chart.error_bound[i, j]) + 1e-8


@pytest.mark.slow
def test_all_points_of_a_stiff_mechanism_are_decided() -> None:
    """Overdamped fast modes, slow ones with tongues; against Gauss steps of all DOFs."""

    def family(speed_rpm: float, first_damping: float) -> Mechanism:
        rayleigh = (0.0, 1.2e-3 * first_damping)
        return slider_crank(speed_rpm=speed_rpm, elements=2, rayleigh=rayleigh)

    def period(speed_rpm: float, first_damping: float) -> float:
        return 60.0 / speed_rpm

    speeds, dampings = np.array([3000.0, 4800.0, 5400.0]), np.array([0.001, 0.005, 0.01])
    chart = modal.hill_chart(family, period, k=3, speed_rpm=speeds, first_damping=dampings)
    assert np.all(chart.verdict.values >= STABLE)
    assert np.any(chart.verdict.values > STABLE) and np.any(chart.verdict.values == STABLE)
    for i, j in [(0, 0), (1, 1), (2, 2)]:
        T = 60.0 / speeds[i]
        due = full_growth(family(float(speeds[i]), float(dampings[j])), T, 1500)
        assert abs(float(chart.growth_rate[i, j]) - due) <= float(chart.error_bound[i, j]) + 1e-4
    unstable = int((chart.verdict.values > STABLE).sum())
    assert f"Decided: 9 of 9 points, {unstable} unstable" in chart_reading(chart, 2, 0.1)


@pytest.mark.slow
def test_stable_points_of_a_mechanism_of_120_degrees_of_freedom_are_decided() -> None:
    """20 elements a link, well damped: the slow modes decay, the others are proved to."""

    def family(speed_rpm: float, damping: float) -> Mechanism:
        return slider_crank(speed_rpm=speed_rpm, elements=20, rayleigh=(0.0, 1e-6 * damping))

    chart = modal.hill_chart(
        family, lambda speed_rpm, damping: 60.0 / speed_rpm, k=3,
        speed_rpm=np.linspace(3000.0, 3300.0, 4), damping=[20.0, 40.0],
    )  # fmt: skip
    if np.any(chart.growth_rate + chart.error_bound >= 0.0):
        pytest.fail("the slow modes do not all decay")
    assert np.mean(chart.verdict.values >= STABLE) >= 0.9
    assert np.all(chart.proof.values[chart.verdict.values == STABLE] == COUNT)
