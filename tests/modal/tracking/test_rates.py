"""Growth rates along a motion against the integrated equations."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as la
from scipy.integrate import solve_ivp, trapezoid

import modal
from assembly import FrozenSystem
from modal.tracking.stencil import Stencil
from modal.tracking.variation import Derivatives, _main_directions, variations

J = np.array([[0.0, -1.0], [1.0, 0.0]])


Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


class Model:
    """M, everything on the velocity, everything on the displacement: the equations as they
    stand."""

    def arrays(self, t: float) -> Arrays:
        raise NotImplementedError

    def freeze(self, t: float) -> FrozenSystem:
        M, C, K = self.arrays(t)
        return FrozenSystem(M=M, C=C, K=K)


class SpinUp(Model):
    """A rotor of two unknowns, k = 4 and 9, Ω = 0.5 + 0.02 t."""

    def arrays(self, t: float) -> Arrays:
        speed, rate = 0.5 + 0.02 * t, 0.02
        K = np.diag([4.0, 9.0]) + rate * J - speed**2 * np.eye(2)
        return np.eye(2), 2.0 * speed * J, K


class Growing(Model):
    """A mass, a damper and a coupling that all change, with C as Ṁ demands nothing: any M, C, K."""

    def arrays(self, t: float) -> Arrays:
        M = np.array([[2.0 + 0.3 * np.sin(0.05 * t), 0.2], [0.2, 1.0 + 0.01 * t]])
        C = np.array([[0.02, -0.5 - 0.01 * t], [0.5 + 0.01 * t, 0.03]])
        K = np.array([[5.0 + 0.05 * t, 0.4], [0.4, 20.0 + 0.2 * np.cos(0.1 * t)]])
        return M, C, K


def first_order(arrays: Arrays) -> np.ndarray:
    """B⁻¹A of the instant, dense."""
    M, C, K = arrays
    n = len(M)
    lower = -np.linalg.solve(M, np.hstack([K, C]))
    return np.vstack([np.hstack([np.zeros((n, n)), np.eye(n)]), lower])


def unit_pair(arrays: Arrays, near: complex) -> tuple[np.ndarray, np.ndarray]:
    """x of unit energy and left vector z of B⁻¹A for the eigenvalue nearest to `near`, by
    LAPACK."""
    lam, left, right = la.eig(first_order(arrays), left=True, right=True)
    i = int(np.argmin(np.abs(lam - near)))
    M, _, K = arrays
    E = la.block_diag(0.5 * (K + K.T), M)
    x = right[:, i]
    return x / np.sqrt((x.conj() @ E @ x).real), left[:, i]


def true_log_amplitude(model: Model, start: complex, end: complex, t: float) -> float:
    """Change of ln |a| of the solution started in a mode, a its part along the same mode at the
    end."""
    x0, _ = unit_pair(model.arrays(0.0), start)
    run = solve_ivp(
        lambda s, x: first_order(model.arrays(s)) @ x,
        (0.0, t),
        x0.astype(complex),
        method="DOP853",
        rtol=1e-10,
        atol=1e-12,
    )
    x1, z1 = unit_pair(model.arrays(t), end)
    return float(np.log(np.abs(z1.conj() @ run.y[:, -1] / (z1.conj() @ x1))))


def test_spin_up_of_the_design() -> None:
    """σ integrates to the true change of log-amplitude to 1e-3, Re λ alone to half of it
    (numbers of a fine integration)."""
    times = np.linspace(0.0, 40.0, 81)
    tracks = modal.track(SpinUp(), times=times, k=2)
    lam = tracks["eigenvalue"].values
    true = true_log_amplitude(SpinUp(), lam[0, 0], lam[-1, 0], 40.0)
    corrected = trapezoid(tracks["growth_rate_corrected"].values[:, 0], times)
    frozen = trapezoid(tracks["growth_rate"].values[:, 0], times)
    assert true == pytest.approx(-0.26411, abs=2e-5)
    assert corrected == pytest.approx(true, rel=1e-3)
    assert corrected == pytest.approx(-0.26409, abs=2e-5)
    assert frozen == pytest.approx(-0.13515, abs=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [0, 1])
def test_changing_mass_damping_and_stiffness(mode: int) -> None:
    times = np.linspace(0.0, 30.0, 121)
    tracks = modal.track(Growing(), times=times, k=2)
    lam = tracks["eigenvalue"].values[:, mode]
    true = true_log_amplitude(Growing(), lam[0], lam[-1], 30.0)
    corrected = trapezoid(tracks["growth_rate_corrected"].values[:, mode], times)
    frozen = trapezoid(lam.real, times)
    assert corrected == pytest.approx(true, rel=2e-3)
    assert abs(frozen - true) > 20.0 * abs(corrected - true)


class Damped(Model):
    """Damping of one coordinate, strong enough that modes are not orthogonal in energy."""

    def arrays(self, t: float) -> Arrays:
        C = np.array([[3.0, -0.5 - 0.2 * t], [0.5 + 0.2 * t, 0.1]])
        K = np.array([[9.0 + t, 2.0], [2.0, 12.0 + np.sin(t)]])
        return np.array([[2.0 + 0.3 * t, 0.2], [0.2, 1.0]]), C, K


def test_corrected_rate_against_eigenvectors_of_lapack() -> None:
    """σ = Re λ − d ln|zᴴx(s)|/ds with x(s) of unit energy, by central differences of LAPACK's."""
    model, t, h = Damped(), 0.7, 1e-4
    tracks = modal.track(model, times=[0.0, t, 1.0], k=2)
    for mode in range(2):
        lam = complex(tracks["eigenvalue"].values[1, mode])
        _, z = unit_pair(model.arrays(t), lam)
        size = [
            np.log(np.abs(z.conj() @ unit_pair(model.arrays(s), lam)[0])) for s in (t - h, t + h)
        ]
        expected = lam.real - (size[1] - size[0]) / (2.0 * h)
        found = float(tracks["growth_rate_corrected"].values[1, mode])
        assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
def test_rates_of_an_instant_do_not_depend_on_the_other_instants() -> None:
    """t = 20 among few instants, among many, and at either end of the sweep. The frozen interval
    also looks along the track, a cubic between the instants."""

    def at_middle(times: np.ndarray) -> np.ndarray:
        tracks = modal.track(SpinUp(), times=times, k=2)
        n = int(np.flatnonzero(times == 20.0)[0])
        names = ("growth_rate_corrected", "growth_rate_action", "frozen_interval", "coupling")
        return np.array([tracks[name].values[n] for name in names])

    many = at_middle(np.linspace(10.0, 30.0, 161))
    for times in (np.array([10.0, 20.0, 30.0]), np.array([20.0, 25.0]), np.array([12.0, 20.0])):
        few = at_middle(times)
        np.testing.assert_allclose(few[[0, 1, 3]], many[[0, 1, 3]], rtol=1e-7, atol=1e-10)
        np.testing.assert_allclose(few[2], many[2], rtol=0.03)


def test_constant_motion_needs_no_correction() -> None:
    class Steady:
        def freeze(self, t: float) -> FrozenSystem:
            return Growing().freeze(3.0)

    tracks = modal.track(Steady(), times=np.linspace(0.0, 1.0, 7), k=2)
    np.testing.assert_allclose(tracks["growth_rate_corrected"], tracks["growth_rate"], atol=1e-12)
    assert np.all(tracks["frozen_interval"] > 1e9)


@pytest.mark.slow
def test_a_parameter_with_a_rate_is_the_motion_itself() -> None:
    """The same spin-up, over Ω at dΩ/dt = 0.02 instead of over time."""

    class OverSpeed:
        def freeze(self, omega: float) -> FrozenSystem:
            return SpinUp().freeze((omega - 0.5) / 0.02)

    times = np.linspace(0.0, 40.0, 41)
    over_time = modal.track(SpinUp(), times=times, k=2)
    over_speed = modal.track(OverSpeed(), omega=0.5 + 0.02 * times, rate=0.02, k=2)
    steady = modal.track(OverSpeed(), omega=0.5 + 0.02 * times, k=2)
    for name in ("growth_rate_corrected", "frozen_interval", "coupling"):
        np.testing.assert_allclose(over_speed[name], over_time[name], rtol=1e-6, atol=1e-12)
    np.testing.assert_array_equal(steady["growth_rate_corrected"], steady["growth_rate"])


def test_drift_and_coupling_match_the_derivative_of_the_matrices() -> None:
    """λ̇ = yᴴȦx and the coupling |y_jᴴȦx_i| / |λ_i − λ_j|² with Ȧ by central differences of the
    matrices; the drift to second order, λ̈ by a difference of LAPACK's eigenvalues."""
    times, h = np.linspace(10.0, 12.0, 5), 1e-4
    tracks = modal.track(SpinUp(), times=times, k=2, interval_change=0.05)
    t = times[2]
    A = first_order(SpinUp().arrays(t))
    rate = (first_order(SpinUp().arrays(t + h)) - first_order(SpinUp().arrays(t - h))) / (2.0 * h)
    lam, left, right = la.eig(A, left=True, right=True)
    K = SpinUp().arrays(t)[2]
    E = la.block_diag(0.5 * (K + K.T), np.eye(2))
    right = right / np.sqrt(np.einsum("ij,ik,kj->j", right.conj(), E, right).real)
    left = left / np.einsum("ij,ij->j", left.conj(), right).conj()
    G = left.conj().T @ rate @ right
    for mode in range(2):
        i = int(np.argmin(np.abs(lam - tracks["eigenvalue"].values[2, mode])))
        others = [j for j in range(4) if j != i]
        coupling = max(abs(G[j, i]) / abs(lam[i] - lam[j]) ** 2 for j in others)
        sides = [la.eigvals(first_order(SpinUp().arrays(t + d))) for d in (-0.1, 0.1)]
        before, after = (side[np.argmin(np.abs(side - lam[i]))] for side in sides)
        second = abs(after - 2.0 * lam[i] + before) / 0.01
        # The positive root of |λ̇| h + ½ |λ̈| h² = 0.05 |λ|.
        speed = abs(G[i, i])
        interval = (np.sqrt(speed**2 + 0.1 * second * abs(lam[i])) - speed) / second
        assert tracks["coupling"].values[2, mode] == pytest.approx(coupling, rel=5e-3)
        # The largest curvature up to the end of the interval is a little larger than the first.
        assert 0.9 * interval < tracks["frozen_interval"].values[2, mode] <= 1.005 * interval


def test_slopes_of_the_steady_eigenvalues_have_the_shapes_outside_the_window() -> None:
    """Four of 40 modes of a damped system whose stiffest shapes are a thousand times those of the
    window: without what the vectors hold of these the slopes are off by more than their size."""
    n, h, k = 40, 1e-4, 4
    rng = np.random.default_rng(5)
    mass, gyroscopic, damping, stiff, *turns = rng.standard_normal((7, n, n))
    sizes = np.diag(np.append(np.arange(1.0, 5.0), np.geomspace(1e3, 1e4, n - 4)))

    def arrays(t: float) -> np.ndarray:
        turn = la.expm(0.1 * np.sin(t) * (turns[0] - turns[0].T))
        M = np.eye(n) + 0.002 * np.sin(0.7 * t) * (mass + mass.T)
        G = 0.05 * np.cos(t) * (gyroscopic - gyroscopic.T)
        K = turn @ sizes**2 @ turn.T + 0.01 * (stiff - stiff.T)
        return np.stack([M, G + 0.001 * damping @ damping.T, K])

    def rate(t: float, part: int) -> np.ndarray:
        ends = [arrays(t + j * h)[part] for j in (-2, -1, 1, 2)]
        return (ends[0] - 8.0 * ends[1] + 8.0 * ends[2] - ends[3]) / (12.0 * h)

    def steady(t: float) -> np.ndarray:
        M, C, K = arrays(t)
        skew = rate(t, 1)
        state = first_order((M, C - rate(t, 0), K - 0.25 * (skew - skew.T)))
        values = la.eigvals(state)
        return values[values.imag > 0.0][np.argsort(np.abs(values[values.imag > 0.0]))][:k]

    t = 0.4
    here = arrays(t)
    values, left, right = la.eig(first_order(here), left=True)
    wanted = [np.argmin(np.abs(values - lam)) for lam in steady(t)]
    U = np.linalg.solve(here[0].T, left[n:, wanted])[None]
    first = np.stack([rate(t, part) for part in range(3)])
    step = 1e-3
    second = (arrays(t + step) - 2.0 * here + arrays(t - step)) / step**2
    at = Derivatives(*(x[:, None] for x in (here, first, second, first)))
    found = variations(at, values[None, wanted], right[None, :n, wanted], U, 1.0)
    slope = (steady(t + step) - steady(t - step)) / (2.0 * step)
    np.testing.assert_allclose(found.steady[0], steady(t), rtol=1e-5)
    assert np.all(np.abs(found.steady_slope[0].real - slope.real) <= 0.02 * np.abs(slope.real))
    assert np.all(np.abs(found.steady_slope[0].imag - slope.imag) <= 0.02 * np.abs(slope.imag))


def test_steady_eigenvalues_do_not_depend_on_the_coordinates() -> None:
    """A window of 1 to 100 rad/s of 40 shapes, in coordinates in which its vectors are nearly
    parallel: what they differ by is small, and stiff."""
    n, k = 40, 4
    rng = np.random.default_rng(5)
    A, B, damping, first, second, turn = rng.standard_normal((6, n, n))
    sizes = np.append(np.geomspace(1.0, 100.0, k), np.geomspace(1e3, 1e4, n - k))
    K = np.diag(sizes**2) + 0.01 * (A - A.T)
    here = np.stack([np.eye(n), 0.1 * (B - B.T) + 1e-3 * damping @ damping.T, K])
    rates = 0.01 * np.stack([first + first.T, second, sizes[:, None] * (A + A.T) * sizes])
    values, left, right = la.eig(first_order(here), left=True)
    upper = np.flatnonzero(values.imag > 0.0)
    wanted = upper[np.argsort(np.abs(values[upper]))][:k]
    Q, U = right[:n, wanted], np.linalg.solve(here[0].T, left[n:, wanted])

    def found(P: np.ndarray) -> np.ndarray:
        at = Derivatives(*((P.T @ x @ P)[:, None] for x in (here, rates, 0.0 * rates, rates)))
        own = (np.linalg.solve(P, X)[None] for X in (Q, U))
        result = variations(at, values[None, wanted], *own, 1.0)
        return np.concatenate([result.steady[0], result.steady_slope[0]])

    P = la.qr(turn)[0] * np.append(np.ones(2), np.full(n - 2, 1e6))
    np.testing.assert_allclose(found(P), found(np.eye(n)), rtol=1e-6)


def test_main_directions_where_the_softest_stiffness_is_round_off() -> None:
    """The lowest eigenvalue may be positive, and a Cholesky factorization still fail."""
    n, lam = 40, 1e-3j * np.arange(1.0, 5.0)
    for seed in range(300):
        rng = np.random.default_rng(seed)
        turn = la.qr(rng.standard_normal((n, n)))[0]
        sizes = np.append(rng.uniform(0.0, 300.0, 6), np.geomspace(3e3, 1e18, n - 6))
        K = (turn * sizes) @ turn.T
        near = np.stack([np.eye(n), np.zeros((n, n)), 0.5 * (K + K.T)])
        X = rng.standard_normal((n, 4)) + 0j
        W = _main_directions(near, float(np.linalg.eigvalsh(near[2])[0]), lam, X, X)
        rest = X - W @ np.linalg.lstsq(W, X, rcond=None)[0]
        assert np.linalg.norm(rest) <= 1e-9 * np.linalg.norm(X)


@pytest.mark.slow
def test_copies_of_a_model_have_its_rates() -> None:
    """Three equal rotors under a random rotation of their unknowns: every mode is threefold, its
    basis arbitrary, and each has the rates, the interval and the coupling of the single one."""
    Q, _ = np.linalg.qr(np.random.default_rng(5).normal(size=(6, 6)))

    class Copies(Model):
        def arrays(self, t: float) -> Arrays:
            M, C, K = (Q.T @ np.kron(np.eye(3), A) @ Q for A in SpinUp().arrays(t))
            return M, C, K

    times = np.linspace(0.0, 40.0, 41)
    single, copies = (modal.track(m, times=times, k=6) for m in (SpinUp(), Copies()))
    lam = copies["eigenvalue"].values
    assert lam.shape == (41, 6)
    own = [int(np.argmin(np.abs(single["eigenvalue"].values[0] - value))) for value in lam[0]]
    assert sorted(own) == [0, 0, 0, 1, 1, 1]
    for name in ("growth_rate_corrected", "growth_rate_action", "frozen_interval", "coupling"):
        expected = single[name].values[:, own]
        np.testing.assert_allclose(copies[name].values, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_frozen_interval_is_zero_where_the_coupling_is_strong() -> None:
    class FastVeering:
        def freeze(self, t: float) -> FrozenSystem:
            return FrozenSystem(M=np.eye(2), K=[[100.0 + 40.0 * t, 0.5], [0.5, 100.0 - 40.0 * t]])

    tracks = modal.track(FastVeering(), times=np.linspace(-1.0, 1.0, 201), k=2)
    assert tracks["frozen_interval"].values[100, 0] == 0.0
    assert np.all(tracks["frozen_interval"].values[[0, -1]] > 0.0)


@pytest.mark.parametrize("at", [0.0, 0.001, 0.4, 0.999, 1.0])
@pytest.mark.parametrize("moving", [True, False])
def test_stencil_is_exact_for_polynomials_inside_the_sweep(at: float, moving: bool) -> None:
    stencil = Stencil.near(at, 1e-3, 0.0, 1.0, moving)
    x, top = stencil.values, 4 if moving else 2
    assert x.min() >= 0.0 and x.max() <= 1.0 and x[stencil.centre] == at
    for power in range(top + 1):
        first = power * at ** max(power - 1, 0)
        second = power * (power - 1) * at ** max(power - 2, 0)
        assert stencil.first @ x**power == pytest.approx(first, abs=1e-9)
        # Three values make the second derivative, exact to the second degree.
        assert stencil.second @ x**power == pytest.approx(second, abs=1e-5 if power <= 2 else 0.1)
        if power <= (2 if moving else 1):
            assert stencil.check @ x**power == pytest.approx(first, abs=1e-5)


class Periodic(Model):
    """Spin Ω(t) = 0.6 + 0.3 sin νt with its Euler term, a damping that breathes; ν = 0.05."""

    period = 2.0 * np.pi / 0.05

    def arrays(self, t: float) -> Arrays:
        speed, rate = 0.6 + 0.3 * np.sin(0.05 * t), 0.015 * np.cos(0.05 * t)
        C = 2.0 * speed * J + (0.01 + 0.005 * np.cos(0.05 * t)) * np.diag([1.0, 2.0])
        return np.eye(2), C, np.diag([4.0, 9.0]) + rate * J - speed**2 * np.eye(2)


@pytest.mark.slow
def test_mean_over_a_period_is_the_floquet_exponent() -> None:
    """Multipliers of the monodromy matrix by scipy; the mean of σ agrees to second order in the
    rate."""
    model = Periodic()
    run = solve_ivp(
        lambda t, x: (first_order(model.arrays(t)) @ x.reshape(4, 4)).ravel(),
        (0.0, model.period),
        np.eye(4).ravel(),
        method="DOP853",
        rtol=1e-9,
        atol=1e-11,
    )
    exponents = np.log(np.abs(la.eigvals(run.y[:, -1].reshape(4, 4)))) / model.period
    times = np.linspace(0.0, model.period, 241)
    tracks = modal.track(model, times=times, k=2)
    means = trapezoid(tracks["growth_rate_corrected"].values, times, axis=0) / model.period
    frozen = trapezoid(tracks["growth_rate"].values, times, axis=0) / model.period
    np.testing.assert_allclose(np.sort(means), np.sort(exponents)[::2], rtol=1e-3)
    assert np.abs(np.sort(means) - np.sort(frozen)).max() < 2e-3  # Re λ has the same mean nearly,
    spread = np.ptp(tracks["growth_rate_corrected"].values - tracks["growth_rate"].values, axis=0)
    assert np.all(spread > 1e-3)  # but not the same course
    assert "flutter onset" not in tracks["event"].values
