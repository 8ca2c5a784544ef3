"""Floquet analysis of elastic bodies: a crank-driven beam's parametric tongue; reduced against
full."""

from typing import Any

import numpy as np
import pytest

import assembly
import modal
from assembly.errors import ConvergenceError
from assembly.gallery import four_bar
from assembly.system.frozen import FrozenSystem
from modal.checks.diagnosis import RESONANCE
from modal.periodic import slow_modes
from modal.periodic.floquet import floquet
from modal.reduction.interpolation import (
    chebyshev_interpolant,
    one_by_one,
    periodic_interpolant,
)
from studies import slider_crank
from tests.support.floquet_cases import mathieu

ROOT = dict(
    length=1.0, section=assembly.rectangle(0.02, 0.02), material=assembly.steel, elements=8,
    clamped="start", planar=True,
)  # fmt: skip


class CrankDriven:
    """A clamped beam carried along its own axis by a long crank drive: a_O = −r Ω² cos Ωt along
    x."""

    def __init__(self, Omega: float, radius: float, damping: tuple[float, float] = (0, 0)) -> None:
        self.Omega, self.radius, self.period = Omega, radius, 2 * np.pi / Omega
        self.beam: Any = assembly.beam(**ROOT).with_damping(*damping)  # type: ignore[arg-type]

    def freeze(self, t: float) -> FrozenSystem:
        along = -self.radius * self.Omega**2 * np.cos(self.Omega * t)
        return self.beam.freeze(acceleration=(along, 0.0, 0.0))


def first_mode(beam: Any) -> tuple[float, float]:
    """ω₁ of the beam at rest, and φᵀK_Gφ of its unit-mass shape per 1 m/s² along x."""
    rest = beam.freeze()
    modes = modal.solve(rest, k=1, backend="dense")
    shape = modes.right[:, 0].real
    shape = shape / np.sqrt(shape @ (rest.M @ shape))
    pushed = beam.freeze(acceleration=(1.0, 0.0, 0.0))
    return float(modes.eigenvalues[0].imag), float(shape @ (pushed.K_G @ shape))


@pytest.mark.parametrize(
    "detuning", [0.3, *(pytest.param(x, marks=pytest.mark.slow) for x in (0.0, 2.0))]
)
def test_crank_driven_beam_has_its_parametric_tongue(detuning: float) -> None:
    # One mode: y″ + (ω₁² − κ r Ω² cos Ωt) y = 0 is Mathieu's equation in τ = Ωt/2 with
    # a = 4 ω₁²/Ω² and q = 2 κ r; the other modes change it in second order of q. To first order it
    # grows at √(σ₀² − (Ω/2 − ω₁)²) inside |Ω/2 − ω₁| < σ₀ = q ω₁/2.
    omega, kappa = first_mode(assembly.beam(**ROOT))  # type: ignore[arg-type]
    sigma = 0.01 * omega
    q = 2.0 * sigma / omega
    Omega = 2.0 * (omega + detuning * sigma)
    model = CrankDriven(Omega, q / (2.0 * abs(kappa)))
    found = floquet(model, model.period, k=2)
    one_mode = floquet(mathieu(4.0 * omega**2 / Omega**2, q), np.pi)
    growth = one_mode.growth_rate.max() * Omega / 2.0
    assert found.growth_rate.max() == pytest.approx(growth, abs=2e-3 * sigma)
    assert found.is_stable == (detuning > 1.0)
    if detuning < 1.0:
        assert growth == pytest.approx(sigma * np.sqrt(1.0 - detuning**2), rel=0.02)


@pytest.mark.slow
def test_floquet_vectors_of_the_reduced_model_come_back_multiplied() -> None:
    # One period of the full model, by another integrator, takes x to μ x.
    omega, kappa = first_mode(assembly.beam(**ROOT))  # type: ignore[arg-type]
    model = CrankDriven(2.0 * omega, 0.02 / abs(kappa))
    found = floquet(model, model.period, k=2, method="reduced", tolerance=1e-8)
    x, mu = found.vectors[:, 0], found.multipliers[0]
    assert abs(mu) > 1.06
    ends = []
    for part in (x.real, x.imag):
        run = modal.integrate(
            model, (0.0, model.period), part, "hamilton", method="gauss6",
            step=model.period / 100, probes="all",
        )  # fmt: skip
        ends.append(np.concatenate([run.displacement[-1], run.velocity[-1]]))
    n = len(x) // 2
    scale = np.concatenate([np.full(n, omega), np.ones(n)])
    gap = np.linalg.norm(scale * (ends[0] + 1j * ends[1] - mu * x))
    # Vectors are as good as the basis (1e-4 in energy), multipliers as its square.
    assert gap < 5e-4 * np.linalg.norm(scale * x)


@pytest.mark.slow
def test_the_tongue_is_announced_and_the_frozen_verdict_misleads() -> None:
    omega, kappa = first_mode(assembly.beam(**ROOT))  # type: ignore[arg-type]
    model = CrankDriven(2.0 * omega, 0.01 / abs(kappa))
    times = np.linspace(0.0, 4 * model.period, 65)
    check = modal.crosscheck(model, times=times, k=2)
    assert check.diagnoses[0].reason == RESONANCE
    assert check.diagnoses[1].outcome == "confirmed"
    assert float(check.dataset.floquet_rate[0]) == pytest.approx(0.01 * omega, rel=0.02)


def test_floquet_of_a_constant_body_is_its_spectrum() -> None:
    class Turning:
        beam = assembly.beam(**ROOT)  # type: ignore[arg-type]

        def freeze(self, t: float) -> FrozenSystem:
            return self.beam.freeze(omega=(0.0, 0.0, 50.0))

    period = 2 * np.pi / 50.0
    found = floquet(Turning(), period, k=2, tolerance=1e-7)
    modes = modal.solve(Turning().freeze(0.0), k=2)
    for lam in modes.eigenvalues:
        assert np.abs(found.multipliers - np.exp(lam * period)).min() < 1e-6


def damped_link(length: float) -> assembly.Body:
    """One soft element: of three, turning at 60 rad/s, the lowest frequency is some five times
    that."""
    material = assembly.Material(E=2e8, nu=0.3, rho=1500.0)
    section = assembly.rectangle(0.02, 0.02)
    return assembly.beam(length, section, material, 1, planar=True).with_damping(b=6e-5)


class Counted:
    """A mechanism that counts how often it is frozen."""

    def __init__(self, mechanism: assembly.Mechanism) -> None:
        self.mechanism, self.count = mechanism, 0

    def freeze(self, t: float) -> FrozenSystem:
        self.count += 1
        return self.mechanism.freeze(t)


@pytest.mark.slow
def test_floquet_vectors_of_a_mechanism_come_back_multiplied() -> None:
    """The whole monodromy, off a polynomial through a few instants, against a transient that
    freezes at every stage; Lagrange's and Hamilton's form give the same turn."""
    model = Counted(four_bar(damped_link))
    period = model.mechanism.period
    assert period is not None
    found = floquet(model, period, method="dense", tolerance=1e-9)
    assert found.interpolated is not None and found.interpolated.deviation < 1e-11
    assert model.count - 512 < 2 * (found.interpolated.instants + 20)  # 512: where it is sampled
    assert f"through {found.interpolated.instants} instants" in str(found)
    mu, x = found.multipliers[0], found.vectors[:, 0]
    assert abs(mu.imag) > 0.01 * abs(mu)
    cases: list[tuple[Any, str, int, float]] = [
        ("hamilton", "gauss6", 100, 1e-4),
        ("lagrange", "generalized-alpha", 400, 4e-2),
    ]
    for formalism, method, steps, tolerance in cases:
        run = modal.integrate(
            model, (0.0, period), x.real, formalism, method=method, step=period / steps,
            probes="all", every=steps,
        )  # fmt: skip
        end = np.concatenate([run.displacement[-1], run.velocity[-1]])
        gap = np.linalg.norm(end - (mu * x).real)
        assert gap < tolerance * np.linalg.norm(mu * x), formalism


def test_a_polynomial_that_misses_something_is_not_used() -> None:
    """A narrow bump between all samples leaves their spectrum clean; the look between them sees
    it."""
    place, width = 0.5 * (np.sqrt(5.0) - 1.0), 1e-3

    def bumpy(t: float) -> np.ndarray:
        bump = np.exp(-(((t - place) / width) ** 2))
        return np.array([[0.0, 1.0], [-4.0 - np.cos(2.0 * np.pi * t) - bump, 0.0]])

    def smooth(t: float) -> np.ndarray:
        return np.array([[0.0, 1.0], [-4.0 - np.cos(2.0 * np.pi * t), 0.0]])

    assert periodic_interpolant(one_by_one(bumpy), 0.0, 1.0) is None
    found = periodic_interpolant(one_by_one(smooth), 0.0, 1.0)
    assert found is not None and found.deviation < 1e-14
    assert chebyshev_interpolant(one_by_one(smooth), 0.0, 0.7) is not None


def test_matrices_with_round_off_of_their_own_are_read_off_a_polynomial() -> None:
    """Coefficients that stop falling at 1e-12, as those of a slender mechanism do, stop the
    sampling; a level that is not flat, or too high, does not."""

    def noisy(level: float) -> Any:
        def A(t: float) -> np.ndarray:
            noise = np.random.default_rng(int(1e9 * (t % 1.0))).normal(size=(2, 2))
            smooth = 2.0 + np.cos(2.0 * np.pi * t) / (1.5 + np.sin(2.0 * np.pi * t))
            return np.asarray([[1.0, 2.0], [3.0, smooth]] + level * noise)

        return A

    found = periodic_interpolant(one_by_one(noisy(1e-11)), 0.0, 1.0)
    assert found is not None and found.instants <= 128
    assert 1e-12 < found.deviation < 1e-10
    assert periodic_interpolant(one_by_one(noisy(1e-8)), 0.0, 1.0) is None


def test_coefficients_that_still_fall_are_no_round_off() -> None:
    """A quarter of the coefficients lowers them to 0.13: of 64 instants the last are 9e-11, and
    the polynomial misses twice as much between them."""

    def A(t: float) -> np.ndarray:
        small = (1.0 - 0.775 * np.cos(t)) / (1.0 - 1.55 * np.cos(t) + 0.775**2)
        return np.array([[np.cos(t) + 8.2e-8 * small]])

    found = periodic_interpolant(one_by_one(A), 0.0, 2.0 * np.pi)
    assert found is not None and found.instants == 128 and found.deviation < 1e-12


def test_an_analysis_that_knows_no_mode_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    modes = slow_modes._Slow.modes

    def none(*arguments: Any) -> Any:
        found, conditions = modes(*arguments)
        return found.chosen(np.arange(0)), conditions[:0]

    monkeypatch.setattr(slow_modes._Slow, "modes", none)
    mechanism = slider_crank.model(elements=1)
    with pytest.raises(ConvergenceError, match="the multipliers are not found to"):
        modal.floquet(mechanism, mechanism.period, k=2, method="reduced")


def test_modes_that_all_decay_below_the_range_of_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """e^-1000 over a period, by groups that decouple and by steps that damp what they do not
    resolve: steps of Gauss would alias it to about unity."""
    mechanism = slider_crank.model(elements=1, speed_rpm=60.0, rayleigh=(0.0, 1e-3))
    period = mechanism.period
    assert period is not None
    every = modal.floquet(mechanism, period, method="dense")
    apart = modal.floquet(mechanism, period, k=2, method="reduced")
    assert np.all(apart.error < 1e-6)
    np.testing.assert_allclose(apart.growth_rate, every.growth_rate[: len(apart.error)], rtol=1e-9)
    monkeypatch.setattr(slow_modes, "decoupled_modes", lambda *arguments, **options: None)
    found = modal.floquet(mechanism, period, k=2, method="reduced")
    # Which one of a conjugate pair comes first is round-off.
    upper, expected = (x.exponents.real + 1j * abs(x.exponents.imag) for x in (found, every))
    wrong = abs(upper - expected[: len(upper)]) * period
    assert np.all(wrong <= found.error + every.error[: len(upper)]) and np.all(found.error < 1e-4)
    assert found.verdict == "stable" and not found.is_complete


def test_fewer_modes_where_steps_of_all_that_are_wanted_cannot_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of three modes two decay to nothing, in too many steps; the other has few coordinates. No
    step is taken where the number of steps that it would be compared with is too large."""
    mechanism = slider_crank.model(elements=1, speed_rpm=5.0, rayleigh=(0.0, 1e-3))
    period = mechanism.period
    assert period is not None
    every = modal.floquet(mechanism, period, method="dense")
    tried, decoupled = list[int](), slow_modes.decoupled_modes

    def not_at_first(A: Any, t0: float, *arguments: Any, **options: Any) -> Any:
        tried.append(A(np.array([t0])).shape[1])
        return None if len(tried) == 1 else decoupled(A, t0, *arguments, **options)

    monkeypatch.setattr(slow_modes, "decoupled_modes", not_at_first)
    monkeypatch.setattr(slow_modes, "MOST_STEPS", 8)
    monkeypatch.setattr(slow_modes, "second_order_monodromy", None)
    found = modal.floquet(mechanism, period, k=3, method="reduced")
    assert tried == [6, 2]
    apart = np.abs(found.exponents[:, None] - every.exponents)
    assert np.all(apart.min(axis=1) <= found.error + every.error[apart.argmin(axis=1)])
    assert np.all(found.error < 1e-6)


def test_a_growth_that_frozen_modes_do_not_have():
    """Inertia of the swing buckles the beam sideways: e^40 a period, and as much decay. In one
    factor of the period round-off hides what decays, and no number of steps is enough."""
    beam = assembly.beam(1.0, assembly.rectangle(0.01, 0.02), assembly.steel, 2, clamped="start")
    model = assembly.moving(beam, assembly.swing(0.5, 500.0, axis=(0.0, 0.0, 1.0)))
    period = 2.0 * np.pi / 500.0
    found = modal.floquet(model, period, method="reduced", k=4)
    exact = modal.floquet(model, period, method="dense")
    fastest = found.exponents.real.argmax()
    growth = exact.exponents.real.max()
    assert growth * period > 39.0
    assert abs(found.exponents[fastest].real - growth) <= found.error[fastest] <= 1e-5 * growth


def test_the_rigid_motions_of_a_swinging_free_beam_are_known() -> None:
    """In units of their own frequencies, nearly zero, they would hide all others in the round-off
    of their growth. Of an undamped body log μ come in pairs of both signs."""
    section = assembly.rectangle(0.02, 0.02)
    beam = assembly.beam(1.0, section, assembly.steel, 6, start=(-0.5, 0.0, 0.0))
    swung = assembly.moving(beam, assembly.swing(0.36, 400.0, axis=(0, 0, 1)))
    found = floquet(swung, 2.0 * np.pi / 400.0, method="reduced", k=8)
    known = np.isfinite(found.error)
    assert known.sum() >= 10 and found.error[known].max() * found.period < 1e-3
    growth = found.growth_rate[known] * found.period
    assert growth.max() > 12.0
    np.testing.assert_allclose(growth, -growth[::-1], atol=1e-4)


def test_slow_modes_beside_faster_growth() -> None:
    """The shapes of slow modes of a fast swing are known although others, not among the slow ones,
    grow by more within a period."""
    body = assembly.beam(1.0, assembly.rectangle(0.01, 0.02), assembly.steel, 4, clamped="start")
    model, period = assembly.moving(body, assembly.swing(0.5, 500.0, axis=(0, 0, 1))), np.pi / 250.0
    found = floquet(model, period, method="reduced", k=3)
    exact = floquet(model, period, method="dense")
    assert exact.growth_rate.max() > found.growth_rate.max() + 1000.0
    assert np.isfinite(found.error).all()
    apart = np.abs(found.exponents[:, None].real - exact.exponents.real).min(axis=1)
    assert np.all(apart <= found.error + exact.error.max())
