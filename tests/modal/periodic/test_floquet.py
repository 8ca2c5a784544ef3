"""Floquet multipliers against the tables and exact exponents of
tests/references/A9_floquet.json."""

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from assembly.errors import InputError
from assembly.system.frozen import FrozenSystem
from modal.periodic.floquet import floquet
from modal.periodic.magnus import propagator_factors
from modal.periodic.product_eigen import product_of
from modal.reduction.interpolation import one_by_one
from tests.support.floquet_cases import (
    Matrix,
    TurningSprings,
    markus_yamabe,
    mathieu,
    meissner,
    vinograd,
    wu,
)
from tests.support.paths import REFERENCES

Array = NDArray[Any]

REFERENCE = json.loads((REFERENCES / "A9_floquet.json").read_text())["values"]


def numbers(label: str) -> list[float]:
    return [float(part.split("=")[1]) for part in label.split(",")]


@pytest.mark.parametrize("label", REFERENCE["mathieu_exponents"])
def test_mathieu_growth_rates(label: str) -> None:
    due = REFERENCE["mathieu_exponents"][label]
    found = floquet(mathieu(*numbers(label)), np.pi)
    assert found.growth_rate.max() == pytest.approx(float(due["growth_rate"]), abs=1e-12)
    assert found.is_stable == due["stable"]
    trace = found.multipliers.sum()
    assert trace.real == pytest.approx(float(due["trace_over_pi"]), abs=1e-11)


BOUNDARIES = [
    (float(label.split("=")[1]), name, float(value))
    for label, row in REFERENCE["mathieu_characteristic"]["values"].items()
    for name, value in row.items()
]


@pytest.mark.parametrize("q, name, a", BOUNDARIES)
def test_mathieu_boundaries(q: float, name: str, a: float) -> None:
    # On a boundary the trace is +2 (a solution of period π, even index) or −2 (odd index). The
    # table has 14 to 15 digits and |d trace/da| reaches 1e2 at q = 10.
    due = 2.0 if int(name[1]) % 2 == 0 else -2.0
    trace = floquet(mathieu(a, q), np.pi).multipliers.sum().real
    assert trace == pytest.approx(due, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name, outward", [("b1", -1.0), ("a1", 1.0), ("b2", -1.0), ("a2", 1.0)])
def test_mathieu_boundary_is_found_to_1e_6_by_the_verdict(name: str, outward: float) -> None:
    # Between b_n and a_n the tongue is unstable; bisect on the verdict alone.
    a = float(REFERENCE["mathieu_characteristic"]["values"]["q=1"][name])
    stable, unstable = a + 0.01 * outward, a - 0.01 * outward
    while abs(stable - unstable) > 1e-7:
        middle = 0.5 * (stable + unstable)
        if floquet(mathieu(middle, 1.0), np.pi).is_stable:
            stable = middle
        else:
            unstable = middle
    assert 0.5 * (stable + unstable) == pytest.approx(a, abs=1e-6)


@pytest.mark.parametrize("label", REFERENCE["meissner"]["values"])
def test_meissner_growth_rates(label: str) -> None:
    due = REFERENCE["meissner"]["values"][label]
    found = floquet(meissner(*numbers(label)), 2.0 * np.pi, breaks=[np.pi])
    assert found.growth_rate.max() == pytest.approx(float(due["growth_rate"]), abs=1e-12)
    assert found.is_stable == due["stable"]
    assert found.multipliers.sum().real == pytest.approx(float(due["trace_over_2pi"]), abs=1e-12)


def test_an_unannounced_jump_is_found() -> None:
    # Jumps at π and 2π: the second lies within the period when that starts at 0.1.
    due = floquet(meissner(1.0, 0.6), 2.0 * np.pi, breaks=[np.pi])
    found = floquet(meissner(1.0, 0.6), 2.0 * np.pi, t0=0.1)
    assert found.growth_rate.max() == pytest.approx(due.growth_rate.max(), abs=1e-10)
    assert found.multipliers.sum().real == pytest.approx(due.multipliers.sum().real, abs=1e-10)


COUNTEREXAMPLES = [
    (markus_yamabe, np.pi, "Markus-Yamabe"),
    (markus_yamabe, 2 * np.pi, "Markus-Yamabe"),
    (vinograd, np.pi / 3, "Vinograd"),
    (wu, np.pi / 6, "Wu (frozen unstable, yet stable)"),
    (wu, np.pi, "Wu (frozen unstable, yet stable)"),
]


@pytest.mark.parametrize("A, period, name", COUNTEREXAMPLES)
def test_counterexamples_have_their_exact_exponents(A: Matrix, period: float, name: str) -> None:
    due = REFERENCE["time_varying_counterexamples"][name]["exact_exponents"]
    found = floquet(A, period)
    np.testing.assert_allclose(sorted(found.exponents.real), sorted(due), atol=1e-10)
    assert found.error.max() < 1e-9


MECHANICAL = REFERENCE["time_varying_counterexamples"][
    "mechanical: q_tt + R(Ot) diag(a,b) R(Ot)^T q=0"
]["cases"]


@pytest.mark.parametrize("label", MECHANICAL)
def test_turning_springs(label: str) -> None:
    Omega, a, b = numbers(label)
    due = float(MECHANICAL[label]["exact_max_growth"])
    found = floquet(TurningSprings(Omega, a, b), np.pi / Omega)
    assert found.growth_rate.max() == pytest.approx(due, abs=1e-10)
    assert found.is_stable == (due == 0.0)


def test_propagator_factors_multiply_to_the_propagator() -> None:
    A = mathieu(3.0, 1.0)
    exact = solve_ivp(
        lambda t, x: (A(t) @ x.reshape(2, 2)).ravel(), (0, np.pi), np.eye(2).ravel(),
        method="DOP853", rtol=1e-13, atol=1e-14,
    ).y[:, -1].reshape(2, 2)  # fmt: skip
    made = propagator_factors(one_by_one(A), 0.0, np.pi)
    whole = np.linalg.multi_dot([np.eye(2), *made.matrices[::-1], np.eye(2)])
    np.testing.assert_allclose(whole, exact, atol=1e-12)


def test_estimated_errors_of_propagator_factors() -> None:
    """Of random rotations, by the factors of a tolerance a hundred thousand times smaller."""
    evaluated, shares = 0, []
    for seed in range(30):
        rng, times = np.random.default_rng(seed), list[float]()
        size, waves = 10.0 ** rng.uniform(0.5, 2.3), int(rng.integers(1, 6))
        parts = rng.standard_normal((2 * waves + 1, 3, 3))
        parts[1:] *= 0.3
        A = rotations(size * (parts - parts.swapaxes(1, 2)), times)
        made = propagator_factors(A, 0.0, 1.0, 1e-8)
        evaluated += len(times)
        exact = propagator_factors(A, 0.0, 1.0, 1e-13)
        error = np.linalg.norm(product_of(made.matrices) - product_of(exact.matrices), 2)
        assert error <= 1e-10
        shares.append(error / made.errors.sum())
    assert 0.1 < max(shares) <= 2.0
    assert evaluated < 30 * 2900  # of the last five numbers of steps, two in a row: 3,100 each


def rotations(parts: Array, times: list[float]) -> Any:
    """Sums of a mean, of cosines and of sines (2 h + 1, n, n); times: where they are evaluated."""

    def A(t: Array) -> Any:
        times.extend(t)
        turns = 2.0 * np.pi * np.outer(t, np.arange(1, len(parts) // 2 + 1))
        waves = np.hstack([np.ones((len(t), 1)), np.cos(turns), np.sin(turns)])
        return np.tensordot(waves, parts, 1)

    return A


def test_numbers_of_steps_are_extrapolated() -> None:
    """Steps of order 6 alone evaluate A 6,360 times for this accuracy."""
    A, times = one_by_one(mathieu(3.0, 1.0)), []

    def counted(at: np.ndarray) -> np.ndarray:
        times.extend(at)
        return A(at)

    made = propagator_factors(counted, 0.0, 4.0 * np.pi)
    exact = propagator_factors(A, 0.0, np.pi)
    whole, turn = np.eye(2), np.eye(2)
    for factor in made.matrices:
        whole = factor @ whole
    for factor in exact.matrices:
        turn = factor @ turn
    np.testing.assert_allclose(whole, np.linalg.matrix_power(turn, 4), rtol=1e-10)
    assert len(times) < 2500


def test_a_stiff_conservative_monodromy_stays_on_the_unit_circle() -> None:
    # Frequencies of 1 and 300 rad/s with gyroscopic coupling; the group is kept at any step.
    class Stiff:
        def freeze(self, t: float) -> FrozenSystem:
            K = np.diag([1.0, 9e4]) * (1.0 + 0.1 * np.cos(2 * np.pi * t))
            return FrozenSystem(M=np.eye(2), C=np.array([[0.0, -3.0], [3.0, 0.0]]), K=K)

    found = floquet(Stiff(), 1.0, tolerance=1e-8)
    np.testing.assert_allclose(np.abs(found.multipliers), 1.0, atol=1e-9)


@pytest.mark.parametrize(
    "period, message", [(-1.0, "positive"), (float("nan"), "positive"), (0.5, "does not repeat")]
)
def test_bad_periods_are_named(period: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        floquet(wu, period)
