"""Free vibration of small models by Radau collocation and decoupled groups: errors hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicHermiteSpline

import assembly
import modal
from assembly import FrozenSystem
from assembly.linalg.combination import Pattern
from modal.reduction.interpolated_motion import InterpolatedMotion
from modal.transient import free_vibration
from modal.transient.collocated import PHASE, STAGES, Collocation, Sparse
from modal.transient.decoupled import Frames, propagated
from modal.transient.step_matrices import SharedPattern
from modal.types import Array
from studies import slider_crank


def machine(elements: int = 5, **options: Any) -> Any:
    return slider_crank.model(elements=elements, **options)


def sizes_in(omega: Array) -> Any:
    """Sizes of states in uncoupled modes: of those that a length of time turns by 8 rad, and of
    others."""

    def sizes(states: Array, length: float) -> tuple[Array, Array]:
        all_of, slow = (
            np.hypot(states[:, : len(omega)], states[:, len(omega) :] / omega),
            omega * length <= PHASE,
        )
        return la.norm(all_of[:, slow], axis=1), la.norm(all_of[:, ~slow], axis=1)

    return sizes


def oscillators(frequencies: Array, rates: Array) -> tuple[Any, Any]:
    """Matrices of uncoupled modes of decay rates at all times, and sizes of states."""
    n = len(frequencies)
    one = np.stack([np.eye(n), np.diag(2.0 * rates), np.diag(frequencies**2)])
    return lambda times: np.repeat(one[:, None], len(times), axis=1), sizes_in(frequencies)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("rate", [0.0, 0.3, 40.0, 1e6])
def test_the_error_of_collocation_holds_for_slow_fast_and_overdamped_modes(
    tolerance: float, rate: float
) -> None:
    """Three modes at 1, 50 and 3000 rad/s, of which the fastest moves by more than the tolerance:
    steps that leave it out are an error."""
    omega = np.array([1.0, 50.0, 3000.0])
    matrices, sizes = oscillators(omega, np.array([0.01, 0.2, rate]))
    span, parts = 0.4, np.linspace(0.0, 1.0, 41)[1:]
    x = np.array([1.0, 0.1, 1e-2, 0.0, 2.0, 5.0])
    _, C, K = matrices(np.zeros(1))[:, 0]
    A = np.block([[np.zeros((3, 3)), np.eye(3)], [-K, -C]])
    exact = np.stack([la.expm(A * span * p) @ x for p in parts])
    run = Collocation(matrices, span)
    size = float(sizes(x[None], 0.0)[0][0])
    states, error, within = run.run(0.0, span, x, parts, (tolerance, tolerance), sizes, size)
    assert error <= tolerance
    assert within <= tolerance
    far = sizes(states - exact, 0.0)[0] / max(size, sizes(exact, 0.0)[0].max())
    assert far.max() <= error + within
    assert far[-1] <= error


def test_collocation_of_order_eleven_takes_few_steps() -> None:
    """The number of pairs grows with the sixth root of the tolerance; the error at the end falls by
    2¹¹ where the step is halved."""
    matrices, sizes = oscillators(np.array([7.0]), np.zeros(1))
    x, ends, counts = np.array([1.0, 0.0]), [], []
    for tolerance in (1e-2, 1e-5, 1e-8):
        run = Collocation(matrices, 6.0)
        states, *_ = run.run(0.0, 6.0, x, np.ones(1), (tolerance, tolerance), sizes, 1.0)
        counts.append(run.pairs)
        ends.append(abs(states[0, 0] - np.cos(42.0)))
    assert counts == sorted(counts)
    assert counts[-1] <= 64
    orders = np.diff(np.log(ends)) / -np.diff(np.log(counts))
    assert np.all(orders > STAGES + 2)


def test_the_steps_of_a_motion_that_grows_are_as_long_as_those_of_one_that_does_not() -> None:
    """By e⁴⁰, in one length of time: errors are relative to the largest state so far."""
    one = np.array([[[1.0]], [[0.0]], [[-1600.0]]])
    run = Collocation(lambda times: np.repeat(one[:, None], len(times), axis=1), 1.0)
    sizes, x = sizes_in(np.array([40.0])), np.array([1.0, 40.0])
    end, error, within = run.run(0.0, 1.0, x, np.ones(1), (1e-5, 1e-5), sizes, 1.0)
    assert run.pairs <= 32
    assert abs(end[0, 0] * np.exp(-40.0) - 1.0) <= error + within <= 2e-5


def test_the_steps_of_heavy_damping_that_moves_are_as_long_as_its_slow_modes_allow() -> None:
    """Iterations with constant matrices do not converge for modes from 1 to 1e5 rad/s whose
    shapes turn within a step."""
    omega, span, ends = np.geomspace(1.0, 1e5, 70), 3.0, np.ones(1)
    skew = np.random.default_rng(1).standard_normal((70, 70))
    skew = 0.1 * (skew - skew.T)

    def matrices(times: Array) -> Array:
        Q = la.expm(np.sin(times)[:, None, None] * skew)
        K, C = (Q.swapaxes(1, 2) @ (d[:, None] * Q) for d in (omega**2, 6.0 * omega))
        return np.stack([np.broadcast_to(np.eye(70), K.shape), C, K])

    x = np.append(np.eye(1, 70)[0], np.zeros(70))
    run = Collocation(matrices, span)
    run.run(0.0, span, x, ends, (1e-5, 1e-5), sizes_in(omega), 1.0)
    assert run.pairs <= 30


@pytest.mark.parametrize("fastest", [1e5, 30.0])
def test_sparse_matrices_give_the_states_of_dense_ones(fastest: float) -> None:
    """Of shapes that turn within a step, with a stiffness that is not symmetric: with heavy damping
    one factorization of all stages, else GMRES."""
    n, span = 70, 1.0
    omega, zeta = np.geomspace(1.0, fastest, n), 3.0 if fastest > 1e3 else 0.0
    skew = np.random.default_rng(1).standard_normal((n, n))
    skew = 0.1 * (skew - skew.T)
    full = Pattern(n, np.tile(np.arange(n), n), np.arange(0, n * n + 1, n))
    shared = SharedPattern(full)

    def matrices(times: Array) -> Array:
        Q = la.expm(np.sin(times)[:, None, None] * skew)
        K, C = (Q.swapaxes(1, 2) @ (d[:, None] * Q) for d in (omega**2, 2.0 * zeta * omega))
        return np.stack([np.broadcast_to(np.eye(n), K.shape), C, K + skew])

    def sparse(times: Array) -> Sparse:
        return Sparse(shared, matrices(times)[:, :, shared.rows, shared.columns])

    x, parts = np.append(np.ones(n) / omega, np.zeros(n)), np.linspace(0.0, 1.0, 11)[1:]
    tolerances = (1e-3, 1e-3)
    runs = [Collocation(source, span) for source in (matrices, sparse)]
    dense, parted = (
        run.run(0.0, span, x, parts, tolerances, sizes_in(omega), 1.0)[0] for run in runs
    )
    np.testing.assert_allclose(parted, dense, rtol=0.0, atol=1e-7 * np.abs(dense).max())
    assert any(known.failed for known in runs[1]._constant.values()) == (fastest > 1e3)


@pytest.mark.parametrize("kind", ["mechanism", "body"])
def test_large_models_that_move_are_integrated_with_sparse_factors(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Against groups of modes and dense collocation, which small models have."""
    model: Any = machine(3)
    if kind == "body":
        blade = assembly.beam(
            0.5, assembly.rectangle(0.02, 0.01), assembly.steel, 8, clamped="start", planar=True
        )
        model = assembly.moving(blade, assembly.ramp(4000.0, 20.0))
    here = model.freeze(0.0)
    start = modal.solve(here, k=4).right[:, -1].real, np.zeros(here.n)

    def run(tolerance: float) -> Any:
        return modal.integrate(
            model, (0.0, 0.02), start, displacement_tolerance=tolerance, probes="all"
        )

    exact = run(1e-7)
    monkeypatch.setattr(free_vibration, "SMALL", 4)
    found = run(1e-4)
    assert found.attrs["solver"] == "Radau collocation"
    assert found.attrs["displacement_error_estimate"] <= 1e-4
    spline = CubicHermiteSpline(exact.time.values, exact.displacement.values, exact.velocity.values)

    def size(q: Array) -> Any:
        return np.sqrt((q.T * (here.M @ q.T)).sum(axis=0)).max()

    last = spline(found.time.values[-1:])
    assert size(found.displacement.values[-1:] - last) <= 1e-4 * size(found.displacement.values)
    assert np.abs(found.energy_defect).max() <= 1e-3 * found.energy.max()


def test_steps_of_many_degrees_of_freedom_solve_sparse_equations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where no basis serves: the states of dense equations, which few degrees of freedom have."""
    model, products = machine(8, rayleigh=(0.0, 0.1)), list[int]()
    here, product = model.freeze(0.0), Sparse.product
    start = modal.solve(here, k=4).right[:, -1].real, np.zeros(here.n)

    def counted(self: Sparse, states: tuple[Array, Array, Array]) -> Array:
        products.append(len(states[0]))
        return product(self, states)

    monkeypatch.setattr(Sparse, "product", counted)
    monkeypatch.setattr(free_vibration, "small_transient", lambda *_: None)

    def run() -> Any:
        return modal.integrate(model, (0.0, 0.02), start, displacement_tolerance=1e-6, probes="all")

    dense = run()
    assert not products
    monkeypatch.setattr(free_vibration, "FEW", 4)
    sparse = run()
    assert len(products)
    assert sparse.attrs["solver"] == dense.attrs["solver"] == "Radau collocation"
    size = np.abs(dense.displacement.values).max()
    assert np.abs(sparse.displacement - dense.displacement).max() <= 1e-8 * size


def test_collocation_follows_matrices_that_move() -> None:
    """Against an explicit method with tight tolerance, of another family."""
    mechanism = machine(3)
    motion = InterpolatedMotion.of(mechanism, 0.0, mechanism.period)
    assert motion is not None
    M, _, K = (A[0] for A in motion.matrices(np.array([0.0])))
    squares, V = la.eigh(0.5 * (K + K.T), M, subset_by_index=[0, 3])
    small, span = motion.projected(V), 0.1 * mechanism.period
    x = np.array([1.0, 0.3, 0.1, 0.0, 0.0, 900.0, 0.0, 0.0])

    def slope(t: float, x: Array) -> Array:
        m, c, k = (A[0] for A in small(np.array([t])))
        return np.concatenate([x[4:], -la.solve(m, c @ x[4:] + k @ x[:4])])

    sizes = sizes_in(np.sqrt(squares))
    parts = np.linspace(0.0, 1.0, 12)[1:]
    exact = solve_ivp(
        slope, (0.0, span), x, method="DOP853", rtol=1e-12, atol=1e-12, t_eval=span * parts
    ).y.T
    for tolerance in (1e-4, 1e-8):
        run = Collocation(small, span)
        states, error, within = run.run(0.0, span, x, parts, (tolerance, tolerance), sizes, 1.0)
        size = max(1.0, sizes(exact, 0.0)[0].max())
        assert sizes(states - exact, 0.0)[0].max() <= size * (error + within) + 1e-10


@pytest.mark.slow
@pytest.mark.parametrize(("damping", "sharp"), [(0.0, 3.0), (1e-5, np.inf)])
def test_records_between_the_ends_of_panels_are_as_accurate_as_stated(
    damping: float, sharp: float
) -> None:
    """Of one panel of a quarter turn, whose ends are at rest and whose middle is not."""
    mechanism = machine(10, rayleigh=(0.0, damping))
    span = 0.25 * mechanism.period
    motion = InterpolatedMotion.of(mechanism, 0.0, span)
    assert motion is not None
    times = np.linspace(0.0, span, 17)
    frames = Frames.of(motion.matrices, times)
    x = np.concatenate([frames.shapes[0][:, 0], np.zeros(frames.shapes.shape[1])])
    fine = propagated(motion.matrices, (0.0, span), x, times, 1e-8, 2).states
    ratios = []
    for tolerance in (0.3, 1e-3, 1e-5):
        found = propagated(motion.matrices, (0.0, span), x, times, tolerance, 1)
        size, error = (
            max(la.norm(frames.amplitudes(i, row, 1.0 / span)[0]) for i, row in enumerate(rows))
            for rows in (fine, found.states - fine)
        )
        assert error <= found.error * size <= tolerance * size
        ratios.append(found.error * size / error)
    assert min(ratios) < sharp


def test_a_large_constant_system_with_damping() -> None:
    """A chain of 600 masses from a low mode and a velocity, against exponentials."""
    n, span, rng = 600, 40.0, np.random.default_rng(3)
    K = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n), format="csr")
    dampers = sp.diags(np.where(np.arange(n) == 200, 3.0, 1e-4))
    system = FrozenSystem(M=sp.identity(n), C=sp.csr_matrix((n, n)), K=K, D=dampers)
    q = np.sin(np.pi * np.arange(1, n + 1) / (n + 1) * 3.0)
    v = 0.1 * np.convolve(rng.normal(size=n + 40), np.hanning(41), "valid")
    found = modal.integrate(system, (0.0, span), (q, v), displacement_tolerance=1e-4, probes="all")
    assert found.attrs["solver"] == "Radau collocation"
    A = sp.block_array([[None, sp.identity(n)], [-K, -dampers]]).tocsr()
    exact = spla.expm_multiply(A, np.concatenate([q, v]), 0.0, span, 4, endpoint=True)
    every = (len(found.time) - 1) // 3
    far = found.displacement.values[::every] - exact[:, :n]
    size = np.sqrt(q @ q + v @ spla.spsolve(K.tocsc(), v))
    stated = found.attrs["displacement_error_estimate"]
    assert la.norm(far, axis=1).max() <= stated * size <= 1e-4 * size
    energy = found.energy.values
    assert np.abs(found.energy_defect.values).max() <= 1e-3 * energy.max()
