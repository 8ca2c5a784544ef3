"""Floquet exponents of every size, each within its error bound, against exact exponents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la

import assembly
from assembly.system.frozen import FrozenSystem
from modal.periodic import floquet as floquet_module
from modal.periodic import magnus, slow_modes
from modal.periodic.floquet import floquet
from modal.periodic.floquet_modes import FloquetModes
from modal.periodic.galerkin import GalerkinModel, modal_basis
from modal.periodic.hill import hill_chart
from modal.periodic.periodic_modes import distances
from studies.slider_crank.machine import model as slider_crank


def covered(found: FloquetModes, due: np.ndarray) -> bool:
    """Every growth rate is within its bound of the exact one, or above it where that is open."""
    order = np.argsort(-found.exponents.real, kind="stable")
    rates, error = found.exponents.real[order], found.error[order]
    due = np.sort(due)[::-1]
    known = np.isfinite(error)
    near = np.abs(rates - due) <= error
    return bool(np.all(near[known]) and np.all(rates[~known] >= due[~known]))


@pytest.mark.slow
def test_a_strongly_damped_exponent() -> None:
    """Over 100 s the multipliers are 1, e^−300 and e^−600: the second is lost in the round-off of
    the monodromy and of its inverse."""
    due, w = np.array([0.0, -3.0, -6.0]), 2.0 * np.pi / 100.0
    B = np.array([[0.1, 0.3, -0.2], [-0.2, 0.1, 0.3], [0.3, 0.2, -0.1]])

    def A(t: float) -> np.ndarray:
        Z, dZ = np.eye(3) + B * np.cos(w * t), -w * B * np.sin(w * t)
        return np.asarray((dZ + Z * due) @ la.inv(Z))

    found = floquet(A, 100.0)
    np.testing.assert_allclose(found.exponents.real, due, atol=1e-9)
    assert found.error.max() < 1e-8
    assert covered(found, due)
    assert found.multipliers[1].real == pytest.approx(np.exp(-300.0), rel=1e-6)


@pytest.mark.slow
def test_growth_beyond_the_range_of_numbers() -> None:
    # e^2000 and e^−1500: no floating-point number, but exponents like any others.
    def A(t: float) -> np.ndarray:
        c = np.cos(2.0 * np.pi * t / 100.0)
        return np.array([[20.0 + c, 0.3], [0.0, -15.0 - c]])

    found = floquet(A, 100.0)
    np.testing.assert_allclose(found.exponents.real, [20.0, -15.0], atol=1e-8)
    assert covered(found, np.array([20.0, -15.0]))
    assert np.isinf(found.multipliers[0].real) and found.multipliers[1] == 0.0
    assert found.verdict == "unstable"
    assert "unstable in 2 multipliers (all)" in str(found)


def test_a_damper_too_strong_for_any_number() -> None:
    """x″ + d x′ + (1 + 0.3 cos 2πt) x = 0 with d = 1000: to order d⁻³ the slow exponent is −1/d,
    the fast one −d + 1/d (their sum is −d, Liouville). Beside it an undamped oscillator."""

    class Damped:
        def freeze(self, t: float) -> FrozenSystem:
            k = 1.0 + 0.3 * np.cos(2.0 * np.pi * t)
            return FrozenSystem(M=np.eye(2), D=np.diag([1e3, 0.0]), K=np.diag([k, 9.0]))

    found = floquet(Damped(), 1.0, method="dense")
    due = np.array([0.0, 0.0, -1e-3, -1e3 + 1e-3])
    np.testing.assert_allclose(found.exponents.real, due, atol=2e-9)
    assert np.all(found.error < 1e-9)


def family(seed: int) -> tuple[object, float, np.ndarray]:
    """x = Z(t) e^(Λt) c with a periodic Z: A = (Ż + ZΛ)Z⁻¹ has the eigenvalues of Λ as exponents,
    some of them double and defective."""
    rng = np.random.default_rng(seed)
    n, T = int(rng.integers(3, 7)), float(10.0 ** rng.uniform(-1.0, 1.5))
    w, scale = 2.0 * np.pi / T, 10.0 ** rng.uniform(0.0, 2.5) / T
    blocks, rates = [], []
    while len(rates) < n:
        r = rng.uniform(-scale, 0.3 * scale)
        if len(rates) + 2 <= n and rng.random() < 0.6:
            f = rng.uniform(0.0, 2.0 * w)
            pair = rng.random() < 0.5
            blocks.append(np.array([[r, f], [-f if pair else 0.0, r]]))
            rates += [r, r]
        else:
            blocks.append(np.array([[r]]))
            rates.append(r)
    L, X = la.block_diag(*blocks), la.qr(rng.normal(size=(n, n)))[0]
    B = [0.25 * b / la.norm(b, 2) for b in rng.normal(size=(2, n, n))]

    def A(t: float) -> np.ndarray:
        c, s = np.cos(w * t), np.sin(w * t)
        Z = X @ (np.eye(n) + B[0] * c + B[1] * s)
        dZ = w * X @ (B[1] * c - B[0] * s)
        return np.asarray(np.linalg.solve(Z.T, (dZ + Z @ L).T).T)

    return A, T, np.array(rates)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(25))
def test_exact_exponents_of_a_family(seed: int) -> None:
    A, T, due = family(seed)
    found = floquet(A, T)
    assert covered(found, due)
    # Not merely covered: a bound that is open or wide would cover anything.
    assert np.all(T * found.error < 1e-2)
    assert np.all(np.abs(np.sort(found.exponents.real) - np.sort(due)) * T < 1e-5)


def test_an_error_larger_than_the_growth_decides_nothing() -> None:
    nothing = np.zeros(2)
    known = FloquetModes(1.0, 0.0, nothing, np.array([-0.1, -3.0]), np.eye(2), nothing, "dense")
    assert known.verdict == "stable" and known.is_stable
    vague = FloquetModes(
        1.0, 0.0, nothing, np.array([-0.1, -3.0]), np.eye(2), np.array([0.5, 0.0]), "dense"
    )
    assert vague.verdict == "undecided" and not vague.is_stable
    open_ended = FloquetModes(
        1.0, 0.0, nothing, np.array([-0.1, -3.0]), np.eye(2), np.array([0.0, np.inf]), "dense"
    )
    assert open_ended.verdict == "stable" and open_ended.growth_bound == pytest.approx(-0.1)


@pytest.mark.slow
@pytest.mark.parametrize("instants, k", [([0.0], 2), ([0.0], 3), ([0.0, 0.3], 1), (None, 1)])
def test_the_error_of_a_reduced_model_holds_what_the_basis_leaves_out(
    instants: list[float] | None, k: int
) -> None:
    """A slider-crank on the frozen modes of one or two instants, against its whole monodromy."""
    mechanism = slider_crank(elements=1)
    period = mechanism.period
    assert period is not None
    basis = None
    if instants is not None:
        basis = modal_basis(mechanism, [share * period for share in instants], k)
    whole = floquet(mechanism, period, method="dense", tolerance=1e-9)
    reduced = floquet(mechanism, period, method="reduced", k=1, tolerance=1e-9, basis=basis)
    turn = 2.0 * np.pi / period
    for exponent, error in zip(reduced.exponents, reduced.error, strict=True):
        apart = exponent - whole.exponents
        apart = apart.real + 1j * ((apart.imag + 0.5 * turn) % turn - 0.5 * turn)
        gap = float(np.abs(apart).min())
        assert gap <= error + whole.error.max()
        assert error <= 10.0 * gap + 1e-6


@pytest.mark.slow
def test_the_whole_monodromy_of_a_damped_beam() -> None:
    """Its fastest mode loses e^−300 a period; the exponents of constant matrices are the
    eigenvalues."""
    beam = assembly.beam(
        1.0, assembly.rectangle(0.02, 0.02), assembly.steel, 2, clamped="start", planar=True
    ).with_damping(b=1e-4)
    system = beam.freeze(omega=(0.0, 0.0, 30.0))
    A = np.block(
        [
            [np.zeros((system.n, system.n)), np.eye(system.n)],
            [
                -la.solve(system.M.toarray(), x.toarray())
                for x in (system.stiffness, system.damping)
            ],
        ]
    )
    due = la.eigvals(A)
    period = 0.02
    found = floquet(system, period, method="dense")
    assert due.real.min() * period < -300.0
    assert covered(found, due.real)
    slow = np.sort(due.real)[::-1][:4]
    np.testing.assert_allclose(found.exponents.real[:4], slow, rtol=1e-7)


@pytest.mark.slow
def test_a_mode_below_round_off_is_not_the_critical_one_of_a_chart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of the fast exponent, −1e4, an upper bound alone is known; the slow one, −0.05 ω, counts."""
    monkeypatch.setattr(magnus, "MOST_MATRICES", 40)

    def family(omega: float, slow: float) -> Callable[[float], np.ndarray]:
        return lambda t: np.array([[-1e4 + np.cos(2.0 * np.pi * t), 0.0], [1.0, -slow * omega]])

    found = floquet(family(1.0, 0.05), 1.0)
    assert np.isinf(found.error[1]) and -1e4 < found.exponents[1].real < -1e3
    assert found.verdict == "stable"
    chart = hill_chart(family, period=1.0, omega=[1.0, 2.0], slow=[0.05], progress=False)
    np.testing.assert_allclose(chart["growth_rate"].values[:, 0], [-0.05, -0.1], rtol=1e-6)


class Constant:
    """A system that is frozen at every instant, and does not change."""

    def __init__(self, system: FrozenSystem) -> None:
        self.system = system

    def freeze(self, t: float) -> FrozenSystem:
        return self.system


def test_a_fast_mode_that_decays_fast_is_known_to_a_share_of_its_decay() -> None:
    """15,000 rad and e⁻³⁰⁰ a period: steps that give log μ to 1e-7 of it are enough."""
    omega, zeta, period = np.array([1.0, 5e3]), np.array([0.05, 0.02]), 3.0
    model = Constant(FrozenSystem(M=np.eye(2), D=np.diag(2.0 * zeta * omega), K=np.diag(omega**2)))
    found = floquet(model, period, method="reduced", basis=np.eye(2), k=2, tolerance=1e-7)
    due = -zeta * omega
    for exponent, error in zip(found.exponents.real, found.error, strict=True):
        gap = np.abs(due - exponent).min()
        assert gap <= error + 1e-9 and error <= 2e-5 * abs(exponent) + 1e-8


def test_errors_of_exponents_need_no_orbits(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: Any) -> Any:
        raise AssertionError("orbits were computed")

    stiffness = np.diag([1.0, 7.0])
    model = Constant(FrozenSystem(M=np.eye(2), D=np.diag([0.01, 0.1]), K=stiffness))
    with monkeypatch.context() as patched:
        patched.setattr(slow_modes, "propagated", refused)
        found = floquet(model, 2.0, method="reduced", basis=np.eye(2), k=2)
    assert np.all(found.error < 1e-9) and np.all(np.isfinite(found.orbits))


def test_a_mode_whose_orbit_is_not_known_has_no_error_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lost(*arguments: Any) -> Any:
        states, gap = run(*arguments)
        states[:, :, 2:] = np.nan
        return states, gap

    run = slow_modes.run
    monkeypatch.setattr(slow_modes, "run", lost)
    stiffness = np.diag([1.0, 7.0])
    model = Constant(FrozenSystem(M=np.eye(2), D=np.diag([0.01, 0.1]), K=stiffness))
    found = floquet(model, 2.0, method="reduced", basis=np.eye(2), k=2)
    assert np.all(found.error[:2] < 1e-4) and np.all(np.isinf(found.error[2:]))


def test_more_known_modes_are_better_than_smaller_errors() -> None:
    fewer, more = np.array([1e-9, np.inf, np.inf]), np.full(3, 1e-3)
    assert slow_modes._quality(more) < slow_modes._quality(fewer)
    assert slow_modes._quality(np.full(2, np.inf)) == (2, np.inf)


def test_residuals_of_a_free_body_are_measured() -> None:
    """K is singular, and a rigid motion at rest has no frequency that would make it definite."""
    free = FrozenSystem(M=np.eye(2), K=1e9 * np.array([[1.0, -1.0], [-1.0, 1.0]]))
    model = GalerkinModel(free, np.eye(2))
    rest = np.ones((1, 2, 1)) + 0j
    missed, _ = model.missing(np.zeros(1), rest, 0.0 * rest, 0.0 * rest)
    assert np.all(missed < 1e-6)


@pytest.mark.slow
def test_a_large_free_body_is_on_a_reduced_basis_with_residuals_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Against the frozen modes of eight instants, which the basis does not need."""
    section = assembly.rectangle(0.02, 0.03)
    beam = assembly.beam(1.0, section, assembly.steel, 36, start=(-0.5, 0.0, 0.0))
    model = assembly.moving(beam.with_damping(b=1e-6), assembly.swing(0.3, 40.0, axis=(0, 0, 1)))
    period = np.pi / 20.0
    V = modal_basis(model, period * np.arange(8) / 8, 15)
    exact = floquet(model, period, basis=V)
    monkeypatch.setattr(floquet_module, "modal_basis", None)
    found = floquet(model, period)
    assert len(found.vectors) == 2 * len(V) and np.isfinite(found.error).sum() >= 20
    slow = found.error * period < 1e-3
    assert slow.sum() >= 14 and found.growth_rate[slow].max() > 1.0
    gap = distances(exact.exponents * period, found.exponents[slow] * period)
    nearest = gap.argmin(axis=1)
    allowed = found.error[slow] + exact.error[nearest]
    # The round-off of the stiffness, of its fastest modes, is that of rigid motions.
    assert np.all(gap.min(axis=1) <= allowed * period + 1e-6)
