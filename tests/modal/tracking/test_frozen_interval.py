"""The frozen interval against the eigenvalues at later instants, evaluated directly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.linalg as la

import modal
from assembly import FrozenSystem
from modal.tracking.frozen_callable import tracks_of_callable
from studies.slider_crank import machine as slider_crank_model

Matrices = tuple[np.ndarray, np.ndarray, np.ndarray]
TOLERANCE, FLOOR = 0.05, 1e-4


class Model:
    """M, C, K of a function of time."""

    def __init__(self, arrays: Callable[[float], Matrices]) -> None:
        self.arrays = arrays

    def freeze(self, t: float) -> FrozenSystem:
        M, C, K = self.arrays(t)
        return FrozenSystem(M=M, C=C, K=K)


def eigenvalues(matrices: Matrices) -> np.ndarray:
    """Of the state matrix, by LAPACK."""
    M, C, K = matrices
    n = len(M)
    lower = -la.solve(M, np.hstack([K, C]))
    return np.asarray(la.eigvals(np.vstack([np.eye(n, 2 * n, n), lower])))


def time_to_change(arrays: Callable[[float], Matrices], t: float, lam: complex, h: float) -> float:
    """The first s ≤ 3h at which λ(t + s) differs from λ(t) by 5 %, or its real part by itself."""
    now, step = lam, h / 60.0
    for s in step * np.arange(1, 181):
        values = eigenvalues(arrays(t + s))
        now = values[np.argmin(np.abs(values - now))]
        growth = max(TOLERANCE * abs(lam.real), FLOOR * abs(lam))
        if abs(now - lam) >= TOLERANCE * abs(lam) or abs(now.real - lam.real) >= growth:
            return float(s)
    return np.inf


def swing(t: float) -> Matrices:
    """x″ + 0.02 x′ + (1 + 0.3 cos 2t) x = 0, the example of the manual."""
    return np.eye(1), 0.02 * np.eye(1), np.array([[1.0 + 0.3 * np.cos(2.0 * t)]])


@pytest.mark.slow
@pytest.mark.parametrize("count", [33, 65, 129])
def test_mathieu_where_the_eigenvalue_is_stationary(count: int) -> None:
    # |λ|² = 1 + 0.3 cos 2t: 5 % of |λ| is reached at cos 2h = 1 − 2.6·(1 − 0.95²)/0.6 from t = 0,
    # at 1 − 1.4·(1.05² − 1)/0.6 from π/2 (Im λ to the damping's square, 1e-4).
    due = {
        0: 0.5 * np.arccos(1.0 - 1.3 * (1.0 - 0.95**2) / 0.3),
        (count - 1) // 2: 0.5 * np.arccos(1.0 - 0.7 * (1.05**2 - 1.0) / 0.3),
    }
    assert due[0] == pytest.approx(0.48, abs=0.01)
    times = np.linspace(0.0, np.pi, count)
    tracks = modal.track(Model(swing), times=times, k=1)
    matrix = lambda t: np.array([[0.0, 1.0], [-swing(t)[2][0, 0], -0.02]])  # noqa: E731
    for found in (tracks, tracks_of_callable(matrix, times)):
        for n, true in due.items():
            interval = float(found["frozen_interval"][n, 0])
            assert 0.93 * true < interval <= true


def test_a_growth_rate_that_changes_by_itself() -> None:
    # λ = −d ± i√(100 − d²), |λ| = 10 always; d = 0.2 + 0.1 sin t. At 0 the rate of d is 0.1 and
    # 5 % of d is reached after 0.1 s; at π/2 it is stationary: 0.1 (1 − cos h) = 0.015.
    def arrays(t: float) -> Matrices:
        return np.eye(1), np.array([[0.4 + 0.2 * np.sin(t)]]), 100.0 * np.eye(1)

    times = np.linspace(0.0, 2.0 * np.pi, 65)
    found = modal.track(Model(arrays), times=times, k=1)["frozen_interval"].values[:, 0]
    assert 0.09 < found[0] <= np.arcsin(0.1)
    assert 0.9 * np.arccos(0.85) < found[16] <= np.arccos(0.85)


def spin_up(t: float) -> Matrices:
    J = np.array([[0.0, -1.0], [1.0, 0.0]])
    speed = 0.5 + 0.02 * t
    K = np.diag([4.0, 9.0]) + 0.02 * J - speed**2 * np.eye(2)
    return np.eye(2), 2.0 * speed * J + 0.03 * np.eye(2), K


@pytest.mark.parametrize("mode", [0, 1])
def test_spin_up(mode: int) -> None:
    tracks = modal.track(Model(spin_up), times=np.linspace(0.0, 40.0, 41), k=2)
    for n in (0, 7, 15, 22):
        h = float(tracks["frozen_interval"][n, mode])
        lam = complex(tracks["eigenvalue"].values[n, mode])
        true = time_to_change(spin_up, float(tracks["time"][n]), lam, h)
        assert 0.4 * true <= h <= 1.05 * true


@pytest.mark.slow
def test_slider_crank() -> None:
    """Each interval against the slider-crank frozen at the later instants."""
    mechanism = slider_crank_model.model(elements=3)

    def arrays(t: float) -> Matrices:
        system = mechanism.freeze(t)
        return system.M.toarray(), system.damping.toarray(), system.stiffness.toarray()

    tracks = modal.track(mechanism, times=np.linspace(0.0, mechanism.period, 121), k=1)
    checked = 0
    for n in range(0, 100, 9):
        h = float(tracks["frozen_interval"][n, 0])
        if h > 0.0:
            lam = complex(tracks["eigenvalue"].values[n, 0])
            true = time_to_change(arrays, float(tracks["time"][n]), lam, h)
            assert h <= 2.0 * true
            checked += 1
    assert checked >= 5


def family(seed: int) -> tuple[Callable[[float], Matrices], float, int]:
    """A smooth family of one to three unknowns, gyroscopic and damped, and its length in time."""
    rng = np.random.default_rng(seed)
    n, rate = int(rng.integers(1, 4)), 10.0 ** rng.uniform(-2.5, -1.0)
    loose = [x + x.T for x in rng.normal(size=(4, n, n)) / np.sqrt(n)]
    K0, damping = np.diag(np.cumsum(rng.uniform(2.0, 4.0, size=n))), 10.0 ** rng.uniform(-2.0, -0.7)
    G = rng.choice([0.0, 0.5]) * rng.normal(size=(n, n))
    phase, kind = rng.uniform(0.0, 2.0 * np.pi), int(rng.integers(0, 3))

    def arrays(t: float) -> Matrices:
        s = rate * t
        a, b = [
            (np.cos(s), np.sin(s + phase)),
            (s / 6.0, (s / 6.0) ** 2),
            (np.exp(-((s - 2.0) ** 2)), np.tanh(s - 3.0)),
        ][kind]
        C = damping * (np.eye(n) + 0.2 * (a * loose[0] + b * loose[1])) + (1.0 + 0.3 * a) * (
            G - G.T
        )
        return np.eye(n), C, K0 + 0.3 * (a * loose[2] + b * loose[3])

    return arrays, 2.0 * np.pi / rate, n


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_smooth_families(seed: int) -> None:
    """Never longer than 1.1 times the true time, as far as the record reaches."""
    arrays, length, n = family(seed)
    tracks = modal.track(Model(arrays), times=np.linspace(0.0, length, 26), k=n, guard=0)
    for i in range(0, 25, 5):
        t = float(tracks["time"][i])
        for mode in range(tracks.sizes["mode"]):
            h = float(tracks["frozen_interval"][i, mode])
            if 0.0 < h and t + h <= length:
                lam = complex(tracks["eigenvalue"].values[i, mode])
                assert h <= 1.1 * time_to_change(arrays, t, lam, h)


def test_nothing_moves() -> None:
    tracks = modal.track(Model(lambda t: swing(0.3)), times=np.linspace(0.0, 9.0, 7), k=1)
    assert np.all(np.isinf(tracks["frozen_interval"]))


def cubed(t: float) -> Matrices:
    """x″ + (1 + 0.5 sin³(t − 1)) x = 0: at t = 1 the first two derivatives of λ vanish."""
    return np.eye(1), np.zeros((1, 1)), np.array([[1.0 + 0.5 * np.sin(t - 1.0) ** 3]])


# λ² = −k, so 5 % of λ is reached at sin³h = 2 (1.05² − 1) after t = 1; before it was 5 % less at
# sin³h = 2 (1 − 0.95²).
AFTER, BEFORE = np.arcsin(np.cbrt(2.0 * (1.05**2 - 1.0))), np.arcsin(np.cbrt(2.0 * (1 - 0.95**2)))


@pytest.mark.slow
@pytest.mark.parametrize("count", [7, 21, 101])
@pytest.mark.parametrize(("low", "high", "due"), [(0.0, 4.0, AFTER), (-2.0, 1.0, BEFORE)])
def test_where_two_derivatives_vanish(low: float, high: float, due: float, count: int) -> None:
    """In the middle of a track and at its end, over time forwards and backwards, and of A(t)."""
    times = np.union1d(np.linspace(low, high, count), [1.0])
    n = int(np.flatnonzero(times == 1.0)[0])
    assert AFTER == pytest.approx(0.631, abs=5e-4)
    tracks = modal.track(Model(cubed), times=times, k=1)
    back = modal.track(Model(cubed), times=times[::-1].copy(), k=1)
    callable_ = tracks_of_callable(
        lambda t: np.array([[0.0, 1.0], [-cubed(t)[2][0, 0], 0.0]]), times
    )
    for found, place in ((tracks, n), (back, len(times) - 1 - n), (callable_, n)):
        interval = float(found["frozen_interval"][place, 0])
        assert interval == pytest.approx(due, rel=0.05 if count == 7 else 0.01)


def test_a_parameter_that_falls_with_time() -> None:
    """s = 2 − t/2 falls: what is ahead in time is behind in s."""

    class Falling:
        def freeze(self, s: float) -> FrozenSystem:
            return Model(cubed).freeze(4.0 - 2.0 * s)

    s = np.linspace(0.0, 2.0, 41)
    tracks = modal.track(Falling(), s=s, rate=-0.5, k=1)
    n = int(np.argmin(np.abs(s - 1.5)))
    assert float(tracks["frozen_interval"][n, 0]) == pytest.approx(AFTER, rel=0.01)
