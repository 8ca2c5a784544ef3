"""Frozen against unfrozen: the counter-examples are caught, with their reasons, and sound models
pass."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import assembly
import modal
from assembly.errors import InputError
from assembly.system.frozen import FrozenSystem
from modal.checks import unfrozen
from modal.checks.crosscheck import crosscheck
from modal.checks.diagnosis import (
    DRIFT,
    NON_NORMAL,
    PRESTRESS,
    RESONANCE,
    Evidence,
    announced,
    diagnose,
)
from modal.tracking.frozen_callable import tracks_of_callable
from modal.transient.small_steps import batches
from studies.slider_crank.machine import model as slider_crank
from tests.support.floquet_cases import TurningSprings, markus_yamabe, mathieu, vinograd, wu
from tests.support.paths import REFERENCES

Array = NDArray[Any]

REFERENCE = json.loads((REFERENCES / "A9_floquet.json").read_text())["values"]
CASES = REFERENCE["time_varying_counterexamples"]


@pytest.mark.parametrize(
    "A, period, name, reasons",
    [
        (markus_yamabe, np.pi, "Markus-Yamabe", [NON_NORMAL]),
        (vinograd, np.pi / 3, "Vinograd", [NON_NORMAL, DRIFT]),
        (wu, np.pi / 6, "Wu (frozen unstable, yet stable)", [DRIFT, DRIFT]),
    ],
)
def test_counterexamples_are_flagged_with_their_exponents(
    A: Callable[[float], Array], period: float, name: str, reasons: list[str]
) -> None:
    check = crosscheck(A, period=period)
    assert [d.outcome for d in check.diagnoses] == ["frozen misleads"] * len(reasons)
    assert [d.reason for d in check.diagnoses] == reasons
    exact = sorted(CASES[name]["exact_exponents"])
    found = sorted(check.dataset.floquet_rate.values)
    np.testing.assert_allclose(found, exact[-len(found) :], atol=1e-9)
    frozen = CASES[name]["frozen"]
    if not isinstance(frozen, str):
        np.testing.assert_allclose(sorted(check.dataset.frozen_rate.values), frozen, atol=1e-9)


def test_corrected_rate_of_a_slowly_turning_matrix() -> None:
    # x = R(εt) y turns x' = R A₀ Rᵀ x into y' = (A₀ − εJ) y: the exponents are exact, and σ has
    # them to first order in ε (real eigenvalues, so that they do shift).
    A0, J, epsilon = np.array([[-1.0, 4.0], [0.5, -3.0]]), np.array([[0.0, -1.0], [1.0, 0.0]]), 0.01

    def A(t: float) -> Array:
        c, s = np.cos(epsilon * t), np.sin(epsilon * t)
        R = np.array([[c, -s], [s, c]])
        return R @ A0 @ R.T

    tracks = tracks_of_callable(A, np.linspace(0.0, 5.0, 11))
    exact = np.sort(np.linalg.eigvals(A0 - epsilon * J).real)
    frozen = np.sort(np.linalg.eigvals(A0).real)
    found = np.sort(tracks.growth_rate_corrected.values, axis=1)
    assert np.abs(frozen - exact).max() > 5e-3
    np.testing.assert_allclose(found, np.tile(exact, (11, 1)), atol=2e-4)


def test_parametric_resonance_is_named() -> None:
    check = crosscheck(mathieu(1.0, 0.1), period=np.pi)
    assert check.diagnoses[0].reason == RESONANCE
    growth = float(REFERENCE["mathieu_exponents"]["a=1,q=0.1"]["growth_rate"])
    assert float(check.dataset.floquet_rate[0]) == pytest.approx(growth, abs=1e-9)
    assert crosscheck(mathieu(2.0, 0.5), period=np.pi).confirmed


@pytest.mark.slow
@pytest.mark.parametrize("Omega, misleads", [(1.1, True), (0.9, False), (1.25, False)])
def test_turning_springs_are_a_combination_resonance_between_their_speeds(
    Omega: float, misleads: bool
) -> None:
    # ω₁ = 1 and ω₂ = 1.2 rad/s; unstable for 1 < Ω < 1.2, where 2π/T = 2Ω is near ω₁ + ω₂.
    check = crosscheck(TurningSprings(Omega, 1.0, 1.44), period=np.pi / Omega, k=2)
    assert check.misleading == misleads and check.confirmed != misleads
    if misleads:
        assert {d.reason for d in check.diagnoses} == {RESONANCE}
        due = float(CASES["mechanical: q_tt + R(Ot) diag(a,b) R(Ot)^T q=0"]["cases"][
            "O=1.1,a=1,b=1.44"
        ]["exact_max_growth"])  # fmt: skip
        np.testing.assert_allclose(check.dataset.floquet_rate, due, atol=1e-9)


class SpinUp:
    """A rotor: springs 4 and 9 in its own frame, Ω = 0.5 + 0.02 t."""

    def freeze(self, t: float) -> FrozenSystem:
        Omega, J = 0.5 + 0.02 * t, np.array([[0.0, -1.0], [1.0, 0.0]])
        return FrozenSystem(
            M=np.eye(2), C=2 * Omega * J, K=np.diag([4.0, 9.0]), K_epsilon=0.02 * J,
            K_omega2=-(Omega**2) * np.eye(2),
        )  # fmt: skip


@pytest.mark.slow
def test_spin_up_example() -> None:
    # Change of log-amplitude over 40 s: −0.26411, −0.26409 from σ, −0.13515 from Re λ.
    tracks = modal.track(SpinUp(), times=np.linspace(0.0, 40.0, 201), k=2)
    check = crosscheck(SpinUp(), tracks)
    data = check.dataset.isel(mode=0)
    assert 40.0 * float(data.transient_rate) == pytest.approx(-0.26411, abs=5e-6)
    assert 40.0 * float(data.corrected_rate) == pytest.approx(-0.26409, abs=5e-6)
    assert 40.0 * float(data.frozen_rate) == pytest.approx(-0.13515, abs=5e-6)
    assert [d.reason for d in check.diagnoses] == [DRIFT, DRIFT]


class Spinning:
    """A beam at constant speed: frozen is exact."""

    def __init__(self, prestress: Any, omega: float = 400.0) -> None:
        self.prestress, self.omega = prestress, omega
        self.beam = assembly.beam(
            length=1.0, section=assembly.rectangle(0.02, 0.02), material=assembly.steel,
            elements=6, clamped="start",
        )  # fmt: skip

    def freeze(self, t: float) -> FrozenSystem:
        return self.beam.freeze(omega=(0.0, 0.0, self.omega), prestress=self.prestress)


def test_constant_rotation_is_confirmed_and_missing_prestress_is_not() -> None:
    times = np.linspace(0.0, 0.02, 21)
    assert crosscheck(Spinning("linear"), times=times, k=3).confirmed
    # Without K_G the chordwise bending (102.6 rad/s at rest) diverges beyond that speed.
    with pytest.warns(UserWarning, match="K_G"):
        check = crosscheck(Spinning(None), times=times, k=3)
    assert PRESTRESS in {d.reason for d in check.diagnoses}


@pytest.mark.slow
def test_slider_crank_is_confirmed() -> None:
    mechanism = slider_crank(elements=3)
    tracks = modal.track(mechanism, times=np.linspace(0.0, 0.04, 61), k=1)
    check = crosscheck(mechanism, tracks, turns=20)
    assert check.confirmed, str(check)
    # Twenty turns: no growth beyond what coupling blurs, and no more energy than the motion lends.
    data = check.dataset.isel(mode=0)
    assert abs(float(data.transient_rate)) < 3.0 * float(data.transient_uncertainty) + 1e-6
    assert float(data.transient_uncertainty) < 0.02
    assert float(data.gain) < 1.2
    assert np.abs(check.dataset.floquet_rate).max() < 1e-6  # undamped: on the unit circle
    text = str(check)
    assert "confirmed" in text and "Floquet" in text
    for name in ("frozen_rate", "floquet_rate"):
        assert {"units", "long_name"} <= set(check.dataset[name].attrs)


class Overdamped:
    """A vibration at about 1 rad/s, and a shape that decays at 1,127 and 8,873 1/s."""

    def freeze(self, t: float) -> FrozenSystem:
        return FrozenSystem(
            M=np.eye(2), C=np.diag([0.1, 1e4]), K=[[1.0 + 0.01 * np.cos(t), 1e-3], [1e-3, 1e7]]
        )


def test_modes_that_have_decayed_do_not_set_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []

    def counted(*arguments: Any) -> Any:
        counts.append(arguments[3])
        return batches(*arguments)

    monkeypatch.setattr(unfrozen, "batches", counted)
    check = crosscheck(Overdamped(), period=2.0 * np.pi, k=4)
    assert float(check.dataset.transient_rate[0]) == pytest.approx(-0.05, rel=1e-3)
    # A period turns the fastest root by 55,751 rad, the first part of it by 871.
    assert sum(counts) < 4000


class Damped:
    """Two shapes at 1 and 40 rad/s, damped by 0.01 and 0.1 of critical, for ever."""

    def freeze(self, t: float) -> FrozenSystem:
        omega = np.array([1.0, 40.0])
        return FrozenSystem(
            M=np.eye(2), C=np.diag(2.0 * np.array([0.01, 0.1]) * omega), K=np.diag(omega**2)
        )


@pytest.mark.parametrize("turned", [0.9, 1.4, 2.0])
def test_the_error_of_the_steps_of_a_transient_is_that_of_their_longest(turned: float) -> None:
    lam = np.array([-0.01 + 1j * np.sqrt(1.0 - 1e-4), -4.0 + 40j * np.sqrt(0.99)])
    # Parts of two steps, each of which turns the faster mode by so many rad.
    at = np.linspace(0.0, 64.0 * 2.0 * turned / 40.0, 65)
    found = unfrozen.Unfrozen(Damped(), 0.0, float(at[-1]), 2)
    lams = np.tile(lam, (65, 1))
    run = unfrozen.follow_transients(found, at, lams, lams.real)
    error = np.abs(run.rate - lam.real)
    assert np.all(error <= run.uncertainty + 1e-12)
    assert run.uncertainty[1] < 3.0 * error[1] < 3e-4 * abs(lam[1].real)


def test_matrices_of_a_free_body_are_smooth_on_its_frozen_modes() -> None:
    section = assembly.rectangle(0.013, 0.013)
    beam = assembly.beam(1.0, section, assembly.steel, 10, planar=True, offset=-0.5)
    swinging = assembly.moving(beam, assembly.swing(0.39, 294.0, axis=(0.0, 0.0, 1.0)))
    found = unfrozen.Unfrozen(swinging, 0.0, swinging.period, 6, swinging.period)
    assert found.basis is not None and found.interpolated is not None
    assert found.interpolated.deviation < 1e-12


GOOD = Evidence(
    frozen_rate=-1.0, corrected_rate=-1.0, transient_rate=-1.0, transient_uncertainty=0.001,
    floquet_rate=np.nan, floquet_error=np.nan, size=100.0, gain=1.0, abscissa=0.0,
    basis_gap=1e-9, prestressed=True, resonance="",
)  # fmt: skip


@pytest.mark.parametrize(
    "changes, outcome, remark",
    [
        ({}, "confirmed", ""),
        (dict(frozen_rate=np.nan), "undecided", "more modes"),
        (dict(basis_gap=0.1), "undecided", "reduced space"),
        (dict(transient_rate=-3.0, transient_uncertainty=5.0), "undecided", "longer span"),
        (dict(gain=50.0), "frozen misleads", "50"),
        (dict(transient_rate=-3.0, corrected_rate=-3.0), "frozen misleads", "corrected"),
        (dict(floquet_rate=2.0, floquet_error=1e-9, resonance="ω0 + ω0"), "frozen misleads", "ω0"),
    ],
)
def test_diagnosis_rules(changes: dict[str, Any], outcome: str, remark: str) -> None:
    from dataclasses import replace

    found = diagnose(replace(GOOD, **changes))
    assert found.outcome == outcome
    assert remark in found.remark


def test_announced_resonances() -> None:
    # 2π/T = 3: modes 1.0 and 2.02 add to 3.02; 2 · 1.5 = 3; nothing else is near.
    found = announced([1.0, 2.02, 1.5], 2 * np.pi / 3.0, width=0.02)
    together = "ω0 + ω1 ≈ 1 · 2π/T (off by 0.02 rad/s)"
    assert found == [together, together, "ω2 + ω2 ≈ 1 · 2π/T (off by 0 rad/s)"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (dict(model=wu), "period"),
        (dict(model=wu, period=np.pi / 6, rate_tolerance=2.0), "rate_tolerance"),
        (dict(model=wu, times=[0.0, 1.0]), "times"),
        (dict(model=wu, times=[0.0, 0.1, 0.3], period=np.pi / 6, turns=2), "exactly one"),
    ],
)
def test_bad_input_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        crosscheck(**arguments)
