"""The error of a panel of decoupled groups holds, and is not far above the true one."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
from scipy.integrate import solve_ivp
from scipy.special import betainc

from modal.transient import decoupled
from modal.transient.decoupled import Frames, propagated
from modal.types import Array


def smooth_motion(
    rng: np.random.Generator, n: int, damping: float, overdamped: bool = False, spin: float = 20.0
) -> Any:
    """M, C and K (3, P, n, n) at times (P,): shapes that turn, frequencies that change, gyroscopic
    forces up to a spin; M is constant."""
    omega = np.sort(10.0 ** rng.uniform(1.0, 2.7, n))
    ratios = damping * 10.0 ** rng.uniform(-2.0, 0.0, n)
    ratios[-1] = 1.7 if overdamped else ratios[-1]
    skew = rng.standard_normal((4, n, n))
    skew = 0.5 * (skew - skew.swapaxes(1, 2)) / np.sqrt(n)
    rates, amount = rng.uniform(1.0, 6.0, 3), rng.uniform(0.05, 0.6)
    change, gyroscopic = rng.uniform(-0.3, 0.3, n), rng.uniform(0.0, spin) * skew[3]
    L = np.eye(n) + 0.2 * rng.standard_normal((n, n)) / np.sqrt(n)

    def matrices(times: Array) -> Array:
        turns = np.sin(np.outer(times, rates) + rates) @ skew[:3].reshape(3, -1)
        Q = la.expm(amount * turns.reshape(-1, n, n)) @ L
        w = omega * (1.0 + change * np.sin(2.0 * times[:, None] + 1.0))
        decay = np.broadcast_to(2.0 * ratios * omega, w.shape)
        K, C = (Q.swapaxes(1, 2) @ (d[:, :, None] * Q) for d in (w**2, decay))
        C = C + gyroscopic * np.cos(times)[:, None, None]
        return np.stack([np.broadcast_to(L.T @ L, K.shape), C, K])

    return matrices


def integrated(matrices: Any, x: Array, times: Array) -> Array:
    """States (R, 2n, m) from some (2n, m) by an explicit method with tight tolerance."""
    n, m = len(x) // 2, x.shape[1]

    def slope(t: float, x: Array) -> Any:
        M, C, K = (A[0] for A in matrices(np.array([t])))
        q, v = x.reshape(2, n, m)
        return np.concatenate([v, -la.solve(M, C @ v + K @ q)]).ravel()

    span = (times[0], times[-1])
    found: Any = solve_ivp(
        slope, span, x.ravel(), "DOP853", times, rtol=1e-12, atol=1e-12 * la.norm(x)
    )
    return np.asarray(found.y.T.reshape(-1, 2 * n, m))


def errors(matrices: Any, length: float, x: Array, thetas: tuple[float, ...]) -> Array:
    """The stated and the true error (2, P) of one panel from states (2n, m), by each θ, of those
    that are neither round-off nor as large as the states."""
    times, out = np.linspace(0.0, length, 25), []
    frames, exact = Frames.of(matrices, times), integrated(matrices, x, times)
    for k, theta in itertools.product(range(x.shape[1]), thetas):
        found = propagated(matrices, (0.0, length), x[:, k], times, 1e6, 1, theta=(theta, theta))
        assert found.panels == 1
        size, error = (
            max(la.norm(frames.amplitudes(i, row, 1.0 / length)[0]) for i, row in rows)
            for rows in (enumerate(exact[..., k]), enumerate(found.states - exact[..., k]))
        )
        if 1e-9 * size < error < size:
            out.append((found.error, error / size))
    return np.array(out).T


def starts(matrices: Any, rng: np.random.Generator) -> Array:
    """The lowest and the highest mode, and a state with all of them, (2n, 3)."""
    frames = Frames.of(matrices, np.zeros(1))
    omega, X = np.sqrt(np.abs(frames.squares[0])), frames.shapes[0]
    n = len(omega)
    x = np.zeros((2 * n, 3))
    x[:n, :2] = X[:, [0, -1]]
    x[:n, 2], x[n:, 2] = X @ rng.standard_normal(n), X @ (omega * rng.standard_normal(n))
    return x


@pytest.mark.parametrize(
    ("seed", "sharp"),
    [
        (0, 15.0),
        pytest.param(1, 6.0, marks=pytest.mark.slow),
        pytest.param(2, 4.0, marks=pytest.mark.slow),
        (3, 2.0),
        pytest.param(4, 13.0, marks=pytest.mark.slow),
        (5, 5.0),
    ],
)
def test_the_error_of_one_panel_holds(
    seed: int, sharp: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the panel, and of any θ. Without groups it errs by the transformation; where all
    modes are of one group, by the steps of exponentials; and by polynomials where it is long.

    sharp: the least ratio of the stated error to the true one is below.
    """
    monkeypatch.setattr(decoupled, "_cost_of_steps", lambda *options: (2.0, 16.0))
    rng = np.random.default_rng(seed)
    matrices = smooth_motion(rng, 2 + seed % 3, (0.0, 0.05, 0.5)[seed % 3], seed == 3)
    x = starts(matrices, rng)
    found = [errors(matrices, h, x, (16.0, 64.0, 512.0)) for h in (0.05, 0.2, 0.6, 1.5)]
    ratios = np.concatenate([stated / true for stated, true in found])
    assert ratios.min() > 1.0
    assert ratios.min() < sharp


@pytest.mark.parametrize("smoothness", [2, 4])
def test_the_error_holds_where_only_the_middle_of_a_panel_moves(
    smoothness: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At both ends the motion is at rest, so that all of the transformation is between them.
    smoothness: derivatives of the motion that are zero at the ends, and one more."""
    monkeypatch.setattr(decoupled, "_cost_of_steps", lambda *options: (2.0, 16.0))
    rng, length = np.random.default_rng(2), 0.3
    matrices = smooth_motion(rng, 3, 0.0, spin=0.0)

    def eased(times: Array) -> Any:
        parts = np.clip(times / length, 0.0, 1.0)
        return matrices(length * betainc(smoothness, smoothness, parts))

    stated, true = errors(eased, length, starts(eased, rng), (16.0,))
    assert np.all(true <= stated)
    assert (stated / true).min() < (5.0 if smoothness == 2 else 2.0)


def test_groups_that_have_decayed_take_no_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mode and its conjugate at 1e5 rad/s that are gone after 1e-3 of the panel."""
    one = np.stack([np.eye(2), np.diag([0.1, 4e4]), np.diag([1e4, 1e10])])
    frames = Frames.of(lambda times: np.repeat(one[:, None], len(times), axis=1), np.zeros(13))
    ends, made = [], decoupled._exponentials

    def counted(H: Any, length: float, y: Any, parts: Array, phase: float) -> Any:
        ends.append(parts.max())
        return made(H, length, y, parts, phase)

    monkeypatch.setattr(decoupled, "_exponentials", counted)
    x = np.array([1.0, 1e-3, 0.0, 0.0])
    states = decoupled.Panel(frames, 1.0, 32.0).run(x, np.array([0.3, 1.0]))[0]
    assert max(ends) < 1e-2
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-one[2], -one[1]]])
    np.testing.assert_allclose(states[1], la.expm(A) @ x, atol=1e-9)


def test_modes_of_one_group_are_integrated_by_steps() -> None:
    """Frequencies and their negative values that lie closer than any gap: nothing decouples, and
    steps cost less than exponentials of everything."""
    omega = np.linspace(5.0, 400.0, 30)

    def matrices(times: Array) -> Array:
        stacked = np.stack([np.eye(30), np.zeros((30, 30)), np.diag(omega**2)])
        return np.broadcast_to(stacked[:, None], (3, len(times), 30, 30))

    x, times = np.append(np.ones(30), np.zeros(30)), np.linspace(0.0, 1.0, 9)
    found = propagated(matrices, (0.0, 1.0), x, times, 1e-4, 1)
    assert (found.panels, found.error <= 1e-4) == (0, True) and found.pairs > 16
    exact = np.cos(np.outer(times, omega))
    assert np.abs(found.states[:, :30] - exact).max() <= found.error * np.sqrt(30.0)


def test_a_group_that_has_decayed_at_once_does_not_shorten_the_panel() -> None:
    """A critically damped mode and its conjugate are one group, of a fast rate."""
    omega, parts = 1e4, np.linspace(0.0, 1.0, 33)
    M, C, K = np.eye(2), np.diag([0.0, 2e8]), np.diag([omega**2, 1e16])
    x = np.array([1.0, 0.0, 0.0, 0.0])
    found = propagated(
        lambda times: np.stack([M, C, K])[:, None].repeat(len(times), axis=1),
        (0.0, 1.0), x, parts, 1e-6, 1,
    )  # fmt: skip
    assert found.panels == 1
    assert np.abs(found.states[:, 0] - np.cos(omega * parts)).max() <= 1e-10
