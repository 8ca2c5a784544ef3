"""Modes of the mean of periodic matrices: what is left is taken away wave by wave."""

from __future__ import annotations

import numpy as np
import pytest

from modal.periodic import decoupling
from modal.periodic.decoupling import decoupled_modes, periodic_changes, second_order
from modal.periodic.magnus import propagator_factors
from modal.periodic.periodic_modes import distances
from modal.periodic.product_eigen import product_modes
from modal.periodic.slow_motion import derivative
from modal.reduction.interpolation import fourier_interpolant
from modal.types import Array, Complex

T = 2.0 * np.pi
PHASES = T * np.arange(32) / 32


def test_changes_take_couplings_away_to_first_order() -> None:
    rng = np.random.default_rng(3)
    d = rng.normal(size=5) + 1j * rng.normal(size=5)
    waves = np.exp(1j * PHASES[:, None, None] * np.array([-2, 0, 1])[:, None, None, None])
    E = (waves * (rng.normal(size=(3, 1, 5, 5)) + 0.3j)).sum(axis=0)
    E[:, range(5), range(5)] = 0.0
    apart = d[:, None] - d
    np.fill_diagonal(apart, np.inf)
    W = periodic_changes(E, apart, T)
    left = E - (d[:, None] * W - W * d) + derivative(W, T)
    np.testing.assert_allclose(left, 0.0, atol=1e-13)


@pytest.mark.parametrize("wave", [-3, 0, 5])
def test_what_couplings_change_is_bounded_sharply(wave: int) -> None:
    """Of one wave the exponents are those of constant matrices: in coordinates that turn with
    it."""
    d, a, b = np.array([0.2 + 1.0j, -0.1 + (1.4 - wave) * 1j]), 1e-3, 2e-3 + 1e-3j
    E = np.zeros((32, 2, 2), dtype=complex)
    E[:, 0, 1], E[:, 1, 0] = a * np.exp(1j * wave * PHASES), b * np.exp(-1j * wave * PHASES)
    apart = d[:, None] - d
    np.fill_diagonal(apart, np.inf)
    terms, strong = second_order(E, apart, T)
    turned = np.array([[d[0], a], [b, d[1] + 1j * wave]])
    moved = np.abs(np.linalg.eigvals(turned)[:, None] - d[0]).min()
    assert moved <= terms[0, 1] * (1.0 + 1e-4) and terms[0, 1] <= 1.01 * moved
    assert not strong.any()


def oscillators(frequencies: Array, coupling: float) -> Array:
    """A (32, 2n, 2n) of damped oscillators whose stiffness and Coriolis terms vary."""
    rng = np.random.default_rng(7)
    n = len(frequencies)
    shape, skew = rng.normal(size=(2, n, n))
    A = np.zeros((32, 2 * n, 2 * n))
    A[:, :n, n:] = np.diag(frequencies)
    for part, t in zip(A, PHASES, strict=True):
        part[n:, :n] = -np.diag(frequencies) + coupling * np.cos(2.0 * t) * (shape + shape.T)
        part[n:, n:] = coupling * np.cos(t) * (skew - skew.T) - 0.01 * np.eye(n)
    return A


def exact_logs(A: Array) -> Complex:
    made = propagator_factors(fourier_interpolant(A, 0.0, T).many, 0.0, T)
    return product_modes(made.matrices, made.errors).logs


def test_modes_that_are_near_but_hardly_coupled_are_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frequencies little more than a rate of the motion apart: every mode is a group."""
    A = oscillators(20.0 + 1.37 * np.arange(12), 0.02)
    exact = exact_logs(A)
    monkeypatch.setattr(decoupling, "propagator_factors", None)
    found = decoupled_modes(fourier_interpolant(A, 0.0, T).many, 0.0, T, 1e-8, 1e-8)
    assert found is not None and found.error.max() < 1e-7
    assert np.all(distances(exact, found.logs).min(axis=1) <= found.error + 1e-11)


def test_equal_modes_that_do_not_change_each_other_are_not_propagated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two copies of the same oscillators in coordinates that mix them: every mode is double."""
    A = np.kron(oscillators(20.0 + 9.1 * np.arange(3), 0.1), np.eye(2))
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(12, 12)))[0]
    A = turn @ A @ turn.T
    exact = exact_logs(A)
    monkeypatch.setattr(decoupling, "propagator_factors", None)
    found = decoupled_modes(fourier_interpolant(A, 0.0, T).many, 0.0, T, 1e-8, 1e-8)
    assert found is not None and found.error.max() < 1e-7
    assert np.all(distances(exact, found.logs).min(axis=1) <= found.error + 1e-11)
    np.testing.assert_allclose(found.logs.sum().real, exact.sum().real, atol=1e-9)
    states = found.states()  # of the periodic parts: x' = A x
    rate = derivative(states, T) + states * found.rates
    np.testing.assert_allclose(
        rate, np.stack([a @ x for a, x in zip(interpolated(A, len(states)), states, strict=True)]),
        atol=1e-5 * np.abs(rate).max(),
    )  # fmt: skip


def interpolated(A: Array, count: int) -> Array:
    return fourier_interpolant(A, 0.0, T).many(T * np.arange(count) / count)
