"""Floquet multipliers by groups of modes that decouple, against the product of Magnus steps."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.linalg as la
from numpy.testing import assert_allclose

import assembly
import modal
from modal.periodic import decoupling, floquet, slow_motion
from modal.periodic.decoupling import decoupled_modes
from modal.periodic.magnus import Factors, exponential, propagator_factors
from modal.periodic.periodic_modes import PropagatedModes
from modal.periodic.product_eigen import product_modes, product_of
from modal.periodic.slow_motion import derivative, falls
from modal.periodic.tolerances import SMOOTH
from modal.reduction.interpolation import (
    Sampled,
    fourier_interpolant,
    one_by_one,
    periodic_interpolant,
)
from modal.transient.equations import Balanced, energy_root
from studies import slider_crank

T = 2.0 * np.pi


@pytest.mark.parametrize("size", [1e-3, 1.0, 40.0])
def test_exponentials_of_a_stack_are_those_of_scipy(size: float) -> None:
    rng = np.random.default_rng(2)
    A = rng.normal(size=(5, 6, 6)) + 1j * rng.normal(size=(5, 6, 6))
    A *= size / np.linalg.norm(A, 1, axis=(1, 2))[:, None, None]
    A[1:] *= 0.5
    exact = la.expm(A)
    off = np.abs(exponential(A) - exact).max(axis=(1, 2)) / np.abs(exact).max(axis=(1, 2))
    assert off.max() < 1e-14 * max(1.0, size)
    assert_allclose(exponential(A.real), la.expm(A.real), rtol=1e-10, atol=1e-13)


def followed_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modes followed from instant to instant, where those of the mean would serve as well."""
    monkeypatch.setattr(decoupling, "coupled", lambda B, *_: np.ones(B.shape[1:], dtype=bool))


class Oscillators:
    """q̈ + (G + D) q̇ + K(t) q = 0: two slow modes and two fast ones, coupled by all terms.

    drive: amplitude of K's variation at twice the first frequency, a parametric resonance.
    """

    def __init__(self, drive: float, damping: float) -> None:
        rng = np.random.default_rng(5)
        skew = rng.normal(size=(4, 4))
        self.G, self.D = 0.1 * (skew - skew.T), damping * np.diag([1.0, 2.0, 3.0, 0.5])
        shape = rng.normal(size=(4, 4))
        self.shape = drive * (shape + shape.T) + np.diag([3.0 * drive, 0.0, 0.0, 0.0])
        self.K = np.diag([3.0, 4.6, 61.3, 140.7]) ** 2

    def first_order(self, t: float) -> np.ndarray:
        K = self.K + self.shape * np.cos(6.0 * t) + 9.0 * np.diag([0, 0, 1, -2.0]) * np.sin(t)
        zero = np.zeros((4, 4))
        return np.block([[zero, np.eye(4)], [-K, -(1.0 + 0.2 * np.cos(t)) * self.G - self.D]])


class Overdamped(Oscillators):
    """One fast mode is overdamped: real eigenvalues near −65 and −395."""

    def __init__(self, drive: float) -> None:
        super().__init__(drive, 0.05)
        self.K[2, 2] = 160.0**2
        self.D[2, 2] = 460.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        *(Oscillators(*of) for of in ((0.0, 0.0), (1.5, 0.0), (1.5, 0.05), (3.0, 0.05))),
        Overdamped(1.5),
    ],
)
def test_decoupled_modes_are_those_of_the_whole_monodromy(model: Oscillators) -> None:
    smooth = periodic_interpolant(one_by_one(model.first_order), 0.3, T)
    assert smooth is not None
    A = Balanced.diagonal(smooth, 0.3).many
    found = decoupled_modes(A, 0.3, T)
    assert found is not None
    made = propagator_factors(A, 0.3, 0.3 + T)
    exact = product_modes(made.matrices, made.errors)
    apart = np.abs(np.exp(1j * (found.logs[:, None] - exact.logs).imag) - 1.0)
    apart = np.hypot(apart, (found.logs[:, None] - exact.logs).real)
    nearest = apart.argmin(axis=1)
    assert len(set(nearest)) == 8
    gap = apart[np.arange(8), nearest]
    assert np.all(gap <= found.error + exact.error[nearest] + 1e-10)
    assert gap.max() <= 1e-7
    if model.shape.any():  # the resonance is there, and both find it
        assert found.logs.real.max() > 0.05
    whole = np.eye(8)
    for factor in made.matrices:
        whole = factor @ whole
    for log, vector in zip(found.logs, found.vectors.T, strict=True):
        residual = whole @ vector - np.exp(log) * vector
        assert np.linalg.norm(residual) <= 1e-4 * np.linalg.norm(vector)


@pytest.mark.parametrize("model", [Oscillators(1.5, 0.05), Overdamped(1.5)])
def test_sharp_factors_are_those_of_magnus_steps(model: Oscillators) -> None:
    """In coordinates of equal energy, which are scaled ones."""
    smooth = periodic_interpolant(one_by_one(model.first_order), 0.3, T)
    assert smooth is not None
    root = energy_root(np.eye(4), model.K)
    A = smooth.mapped(root, np.linalg.inv(root)).many
    upper = A(np.array([0.7]))[0, :4]
    assert_allclose(upper[:, :4], 0.0, atol=1e-12)
    assert_allclose(upper[:, 4:], np.diag(upper[:, 4:].diagonal()), atol=1e-10)
    here, other = (propagator_factors(A, 0.3, 0.3 + T, scaled=scaled) for scaled in (False, True))
    whole, same = (product_of(made.matrices) for made in (here, other))
    errors = here.errors.sum() + other.errors.sum() + 1e-12
    assert_allclose(same, whole, rtol=0, atol=errors * np.linalg.norm(whole, 2))


def test_instants_are_not_doubled_for_round_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where twice as many do not halve what is not resolved, it joins the error, if that is
    accepted."""
    smooth = periodic_interpolant(one_by_one(Oscillators(1.5, 0.05).first_order), 0.3, T)
    assert smooth is not None
    A, counts = Balanced.diagonal(smooth, 0.3).many, []

    def round_off(found: decoupling._Decoupling) -> None:
        counts.append(len(found.X))
        found.resolved = False
        found.unresolved = np.full(8, 1e-9)

    monkeypatch.setattr(decoupling._Decoupling, "resolve", round_off)
    found = decoupled_modes(A, 0.3, T, 1e-10, 1e-5)
    assert found is not None
    assert sorted(set(counts)) == [counts[0], 2 * counts[0]]
    assert np.all(found.error >= 1e-9)
    assert decoupled_modes(A, 0.3, T, 1e-10, 0.5e-9) is None


def test_factors_of_fast_decay_take_few_evaluations() -> None:
    """Hundreds of factors share the steps of a period: not eight of each at least."""
    times: list[int] = []

    def A(t: np.ndarray) -> np.ndarray:
        times.append(len(t))
        slow = np.stack([np.array([[-0.1, 1.0], [-1.0 - 0.3 * np.cos(x), -0.1]]) for x in t])
        return np.block([[slow, np.zeros((len(t), 2, 1))], [np.full((len(t), 1, 3), -300.0)]])

    made = propagator_factors(A, 0.0, 2.0 * np.pi)
    assert len(made.matrices) > 300
    assert sum(times) < 60 * len(made.matrices)
    exact = propagator_factors(lambda t: A(t)[:, :2, :2], 0.0, 2.0 * np.pi)
    assert_allclose(product_of(made.matrices)[:2, :2], product_of(exact.matrices), atol=1e-10)


def test_shapes_that_turn_away_from_where_they_began() -> None:
    """Springs and dampers that turn by half a turn: constant matrices in the axes that turn with
    them, so that exact multipliers are known. Halfway no shape is left in those of the start."""
    K, D, J = np.diag([40.0, 90.0]) ** 2, np.diag([0.3, 1.1]), np.array([[0.0, -1.0], [1.0, 0.0]])

    def first_order(t: float) -> np.ndarray:
        R = np.cos(t) * np.eye(2) + np.sin(t) * J
        return np.block([[np.zeros((2, 2)), np.eye(2)], [-R @ K @ R.T, -R @ D @ R.T]])

    turning = np.block([[np.zeros((2, 2)), np.eye(2)], [np.eye(2) - K - D @ J, -2.0 * J - D]])
    with mpmath.workdps(30):  # LAPACK's are off by a twentieth of the error
        values, _ = mpmath.eig(mpmath.matrix(turning.tolist()))
        exact = np.array([complex(-mpmath.exp(x * mpmath.pi)) for x in values])  # turned by π
    smooth = periodic_interpolant(one_by_one(first_order), 0.0, np.pi)
    assert smooth is not None
    found = decoupled_modes(Balanced.diagonal(smooth, 0.0).many, 0.0, np.pi)
    assert found is not None and found.error.max() <= 1e-10
    gap = np.abs(np.exp(found.logs)[:, None] / exact - 1.0)
    assert sorted(gap.argmin(axis=1)) == [0, 1, 2, 3]
    assert np.all(gap.min(axis=1) <= found.error)


def test_rigid_motions_leave_blocks_of_the_size_of_their_rates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The frozen modes of a free body include rigid ones with vectors next to parallel. Frames
    that begin with them make blocks a million times as large as the rates."""
    sizes = []

    def watched(
        waves: Sampled, t0: float, t1: float, tolerance: float, breaks: list[float]
    ) -> Factors:
        sizes.append(t1 * np.linalg.norm(waves(np.linspace(t0, t1, 50)), 2, axis=(1, 2)).max())
        assert sizes[-1] < 1e3
        return propagator_factors(waves, t0, t1, tolerance, breaks)

    monkeypatch.setattr(decoupling, "propagator_factors", watched)
    body = assembly.beam(1.0, assembly.rectangle(0.02, 0.01), assembly.steel, 2)
    found = modal.floquet(
        assembly.moving(body, assembly.swing(0.3, 60.0, axis=(0, 0, 1))), T / 60.0
    )
    assert found.is_complete and found.error[0] < 1e-6 and len(sizes) > 1


def test_modes_that_turn_into_each_other_are_one_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two fast modes veer within a tenth of a period, 24 rates apart: frames of each alone take
    four times the instants."""
    followed_only(monkeypatch)
    coupling = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])

    def first_order(t: float) -> np.ndarray:
        K = np.diag([9.0, 1e6, 1e6]) + 2.4e4 * coupling
        K += 2e5 * np.cos(t) * np.diag([0.0, 1.0, -1.0])
        return np.block([[np.zeros((3, 3)), np.eye(3)], [-K, -0.01 * np.eye(3)]])

    smooth = periodic_interpolant(one_by_one(first_order), 0.0, T)
    assert smooth is not None
    A, sizes = Balanced.diagonal(smooth, 0.0).many, []
    modes = decoupling._Decoupling.modes
    monkeypatch.setattr(
        decoupling._Decoupling,
        "modes",
        lambda self, *of: (sizes.append(len(self.X)), modes(self, *of))[1],
    )
    found = decoupled_modes(A, 0.0, T)
    monkeypatch.setattr(decoupling, "MOST_MATRICES", 0)
    apart = decoupled_modes(A, 0.0, T)
    assert found is not None and apart is not None
    assert 4 * sizes[0] <= sizes[1]
    assert_allclose(np.sort(found.logs.real), np.sort(apart.logs.real), atol=1e-8)


def test_instants_are_not_doubled_where_that_cannot_suffice() -> None:
    assert falls(np.inf, 1e-2, 1e-6, 8.0)
    assert falls(1e-3, 9e-5, 1e-6, 2.0)
    assert not falls(2e-4, 1.8e-4, 1e-6, 8.0)
    assert not falls(1e-4, 2e-4, 1e-6, 8.0)


@pytest.mark.parametrize("unit", [1.0, 1.0 + 2.0j])
def test_polynomials_of_groups_are_those_of_all_their_waves(unit: complex) -> None:
    rng = np.random.default_rng(3)
    waves = np.arange(32)[:, None, None]
    sizes = 10.0 ** (-12.0 * waves / 32) * rng.normal(size=(32, 3, 3))
    angles = 2.0 * np.pi * np.arange(64) / 64
    values = unit * (sizes * np.cos(waves * angles[:, None, None, None] + sizes)).sum(axis=1)
    times = rng.uniform(0.0, 2.5, 200)
    parts = fourier_interpolant(np.ascontiguousarray(values).view(float), 0.0, 2.5)
    exact = parts.many(times).view(values.dtype)
    found = slow_motion.resampled(values, 2.5)(times)
    assert np.abs(found - exact).max() <= 1e-14 * np.abs(values).max()


def test_fast_modes_that_would_need_more_instants_are_given_up_early(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Overdamped modes of 1e7 rad a period: what their frames are off by is multiplied by that. In
    the axes that turn by φ(t) the slow mode has log μ = −T − ∫ φ'²/1e7 dt."""
    made: list[int] = []
    start = decoupling._Decoupling._start
    monkeypatch.setattr(
        decoupling._Decoupling, "_start",
        lambda self, *frames: (made.append(len(self.A)), start(self, *frames))[1],
    )  # fmt: skip

    def first_order(t: float) -> np.ndarray:
        turn = 0.005 / (1.0032 - np.cos(t))
        R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        return R @ np.diag([-1.0, -1e7]) @ R.T

    A = one_by_one(first_order)
    assert decoupled_modes(A, 0.0, T) is None and max(made) == 128
    found = decoupled_modes(A, 0.0, T, allowed=1e3)
    assert found is not None
    exact = -6.2831877021033  # by quadrature
    assert abs(found.logs.real.max() - exact) <= found.error[1] < 1e-7
    made.clear()
    monkeypatch.setattr(decoupling, "WORK", 64 * 2**3 / 4)
    assert decoupled_modes(A, 0.0, T, allowed=1e3, cheap=True) is None and max(made) == 32


def test_what_is_known_halfway_is_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    transformed = decoupling._Decoupling._transformed
    monkeypatch.setattr(
        decoupling._Decoupling, "_transformed",
        lambda self, A, *of: (counts.append(len(A)), transformed(self, A, *of))[1],
    )  # fmt: skip
    smooth = periodic_interpolant(one_by_one(Oscillators(1.5, 0.05).first_order), 0.3, T)
    assert smooth is not None
    found = decoupling._Decoupling(Balanced.diagonal(smooth, 0.3).many, 0.3, T, 64)
    assert found.settle()
    found.resolve()
    before = len(counts)
    found.refine()
    again = transformed(found, found.A, found.X, found._slopes())
    assert len(found.B) == 128 and found.settle() and len(counts) == before
    assert np.abs(found.B - again).max() <= 1e-10 * np.abs(again).max()


def test_what_the_last_instants_leave_is_accepted_up_to_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = Oscillators(1.5, 0.05)
    smooth = periodic_interpolant(one_by_one(model.first_order), 0.3, T)
    assert smooth is not None
    A, size = Balanced.diagonal(smooth, 0.3).many, 0.0

    def unresolved(self: decoupling._Decoupling) -> None:
        self.unresolved = np.full(8, size)
        self.resolved = False

    monkeypatch.setattr(decoupling, "MOST_INSTANTS", 64)
    monkeypatch.setattr(decoupling._Decoupling, "resolve", unresolved)
    known = decoupled_modes(A, 0.3, T)
    size = 3e-7
    assert decoupled_modes(A, 0.3, T, allowed=2e-7) is None
    found = decoupled_modes(A, 0.3, T, allowed=4e-7)
    assert known is not None and found is not None
    assert np.all(found.error >= 3e-7 + known.error) and found.error.min() <= 3.1e-7


def test_modes_that_never_stay_apart_are_left_to_the_whole_monodromy() -> None:
    def mathieu(t: float) -> np.ndarray:
        return np.array([[0.0, 1.0], [-1.0 - 0.5 * np.cos(t), -0.1]])

    smooth = periodic_interpolant(one_by_one(mathieu), 0.0, T)
    assert smooth is not None
    assert decoupled_modes(Balanced.diagonal(smooth, 0.0).many, 0.0, T) is None


def test_groups_are_as_accurate_as_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A smaller tolerance than the default is not answered by the accuracy of the default."""
    machine, accuracies = slider_crank.model(elements=1, elastic_crank=False), []

    def watched(*arguments: Any) -> PropagatedModes | None:
        accuracies.append(arguments[3])
        return decoupled_modes(*arguments)

    monkeypatch.setattr(floquet, "decoupled_modes", watched)
    assert machine.period is not None
    default = modal.floquet(machine, machine.period)
    asked = modal.floquet(machine, machine.period, tolerance=1e-9)
    modal.floquet(machine, machine.period, method="dense")
    assert accuracies[0] == SMOOTH > 10.0 * max(accuracies[1:])
    exact = np.sort(asked.exponents.imag)
    assert_allclose(np.sort(default.exponents.imag), exact, atol=1e-7 / machine.period)


def test_all_multipliers_of_a_stiff_mechanism_by_default() -> None:
    """Liouville: the product of all multipliers is exp(−∫ tr D) with D = a M, a T per degree of
    freedom, as the consistent form has C + Cᵀ = 2Ṁ, whose part vanishes over a turn."""
    a = 3.0
    machine = slider_crank.model(elements=3, elastic_crank=False, rayleigh=(a, 0.0))
    free = slider_crank.model(elements=3, elastic_crank=False)
    assert machine.period is not None
    found = modal.floquet(machine, machine.period)
    assert found.method == "dense" and found.is_complete and found.verdict == "stable"
    undamped = modal.floquet(free, machine.period)
    assert_allclose(undamped.exponents.real, 0.0, atol=1e-5)
    # The rod alone is damped: some of the trace is that of the crank and the slider.
    assert -a * len(found.exponents) / 2.0 <= found.exponents.real.sum() < 0.0


def test_a_group_of_each_conjugate_pair_is_propagated(monkeypatch: pytest.MonkeyPatch) -> None:
    followed_only(monkeypatch)
    sizes = []

    def watched(waves: Sampled, *arguments: Any) -> Factors:
        sizes.append((waves(np.zeros(1)).shape[1], np.iscomplexobj(waves(np.zeros(1)))))
        return propagator_factors(waves, *arguments)

    monkeypatch.setattr(decoupling, "propagator_factors", watched)
    smooth = periodic_interpolant(one_by_one(Oscillators(1.5, 0.05).first_order), 0.0, T)
    assert smooth is not None
    found = decoupled_modes(Balanced.diagonal(smooth, 0.0).many, 0.0, T)
    # The two slow modes are one group that is its own conjugate, and real.
    assert found is not None and sizes == [(4, False)]
    states = found.states()
    for log, error, vector, state in zip(
        found.logs, found.error, found.vectors.T, states.T, strict=True
    ):
        other = int(np.argmin(np.abs(found.logs - log.conj())))
        assert_allclose(found.logs[other], log.conj(), rtol=1e-12)
        assert_allclose(error, found.error[other], rtol=1e-2)
        assert abs(np.vdot(vector.conj(), found.vectors[:, other])) > 1.0 - 1e-8
        assert_allclose(np.abs(states.T[other]), np.abs(state), atol=1e-3 * np.abs(state).max())


def test_real_modes_that_turn_over_within_a_period() -> None:
    """Their directions come back with the other sign, so that no real frame closes."""

    def first_order(t: float) -> np.ndarray:
        c, s = np.cos(0.5 * t), np.sin(0.5 * t)
        R = np.array([[c, -s], [s, c]])
        return R @ np.diag([-40.0, -90.0 - 5.0 * np.cos(t)]) @ R.T

    found = decoupled_modes(one_by_one(first_order), 0.0, T)
    assert found is not None
    factors = propagator_factors(one_by_one(first_order), 0.0, T)
    exact = product_modes(factors.matrices, factors.errors)
    assert_allclose(np.sort(found.logs.real), np.sort(exact.logs.real), rtol=1e-10)
    assert_allclose(np.abs(found.logs.imag), np.pi, rtol=1e-12)


def test_shapes_of_groups_come_from_their_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    """p' + ν p = A p over a period, of which two decay by e^-232 and e^-852 in one group."""
    calls = 0

    def counted(*arguments: Any) -> Factors:
        nonlocal calls
        calls += 1
        return propagator_factors(*arguments)

    def first_order(t: float) -> np.ndarray:
        D = 15.0 * (1.0 - np.cos(t)) * np.array([[18.0, 1.0, 0.0], [1.0, 5.0, 0.0], [0.0] * 3])
        K = np.diag([300.0**2, 310.0**2, 9.0]) + 9.0 * np.cos(t) * np.ones((3, 3))
        return np.block([[np.zeros((3, 3)), np.eye(3)], [-K, -D - 0.1 * np.eye(3)]])

    smooth = periodic_interpolant(one_by_one(first_order), 0.0, T)
    assert smooth is not None
    A = Balanced.diagonal(smooth, 0.0).many
    monkeypatch.setattr(decoupling, "propagator_factors", counted)
    found = decoupled_modes(A, 0.0, T, parts=32)
    assert found is not None and found.logs.real.min() < -850.0 and calls > 0
    before, states = calls, found.states(32)
    assert calls == before and np.isfinite(states).all()
    more = found.states()
    assert calls > before
    assert_allclose(more[:: len(more) // 32], states, atol=1e-8)
    images = A(T * np.arange(len(more)) / len(more)) @ more
    residual = derivative(more, T) + more * found.rates - images
    size = np.abs(images).max(axis=(0, 1))
    assert np.all(np.abs(residual).max(axis=(0, 1)) <= 1e-5 * size)  # to the highest wave


def test_a_group_that_is_joined_with_its_conjugate_is_real() -> None:
    smooth = periodic_interpolant(one_by_one(Oscillators(1.5, 0.05).first_order), 0.3, T)
    assert smooth is not None
    found = decoupling._Decoupling(Balanced.diagonal(smooth, 0.3).many, 0.3, T, 128)
    assert found.settle()
    real = found.twin == np.arange(8)
    assert real.any() and np.abs(found.X[:, :, real].imag).max() == 0.0
    found.resolve()
    due = np.sort(found.modes().logs.real)
    group = next(group for group in found.groups if found.twin[group[0]] not in group)
    coupling = np.zeros((8, 8))
    coupling[np.ix_(group, found.twin[group])] = 1.0
    assert found._join(coupling + coupling.T)
    joined = next(other for other in found.groups if group[0] in other)
    assert_allclose(found.twin[joined], joined)
    assert np.abs(found.B[:, joined][:, :, joined].imag).max() <= 1e-12 * np.abs(found.B).max()
    assert found.settle() and np.abs(found.X[:, :, joined].imag).max() == 0.0
    found.resolve()
    assert_allclose(np.sort(found.modes().logs.real), due, atol=1e-8)
