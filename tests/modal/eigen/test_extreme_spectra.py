"""Spectra known by construction at the edges: overdamped, many zeros, clusters, units far apart."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import assembly
from assembly import FrozenSystem, InputError, gallery
from assembly.errors import ConvergenceError
from modal import solve
from modal.eigen.inverse_iteration import iterated, refined
from modal.eigen.quadratic import Quadratic
from modal.eigen.spectrum import Pairs
from tests.support.quadratics import gyroscopic

BACKENDS = ("dense", "scipy", "slepc")


def congruent(n: int, seed: int, **diagonal: np.ndarray) -> FrozenSystem:
    """XᵀAX of diagonal or small given matrices, X random and well conditioned; M = XᵀX."""
    r = np.random.default_rng(seed)
    X = la.qr(r.standard_normal((n, n)))[0] * r.uniform(0.7, 1.4, n)
    parts = {"M": X.T @ X}
    for name, A in diagonal.items():
        full = X.T @ (np.diag(A) if A.ndim == 1 else A) @ X
        parts[name] = 0.5 * (full - full.T) if name == "C" else 0.5 * (full + full.T)
    parts["M"] = 0.5 * (parts["M"] + parts["M"].T)
    return FrozenSystem(**parts)


def by_size(values: np.ndarray) -> np.ndarray:
    return values[np.lexsort((values.imag, values.real, np.abs(values).round(9)))]


@pytest.mark.parametrize("backend", BACKENDS)
def test_overdamped_systems_have_two_real_modes_for_every_unknown(backend: str) -> None:
    """λ² + dλ + k = 0 for every unknown: all 2n, which is more than n, are there to be had."""
    n, r = 30, np.random.default_rng(0)
    d, k = r.uniform(20.0, 200.0, n), r.uniform(1.0, 50.0, n)
    system = congruent(n, 1, D=d, K=k)
    root = np.sqrt(d**2 - 4.0 * k)
    slow = -2.0 * k / (d + root)
    order = np.argsort(k)  # k = ω² of the shape of both
    exact = np.stack([slow[order], -0.5 * (d + root)[order]], axis=1).ravel() + 0j
    for count in (8, 28, 30, 45, 60, 75):
        modes = solve(system, k=count, backend=backend)
        np.testing.assert_allclose(modes.eigenvalues, exact[:count], rtol=1e-9)
        assert np.all(modes.eigenvalues.imag == 0.0)
        assert modes.backward_error.max() <= 1e-12
    around = solve(system, k=40, backend=backend, target=-5.0 + 0.5j).eigenvalues
    nearest = np.sort(np.abs(exact - (-5.0 + 0.5j)))[:40]
    np.testing.assert_allclose(np.abs(around - (-5.0 + 0.5j)), nearest, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("nulls", [1, 16, 17, 40])
def test_a_null_space_of_any_size_is_found(backend: str, nulls: int) -> None:
    n = 40
    omega = np.concatenate([np.zeros(nulls), np.linspace(3.0, 9.0, n - nulls)])
    modes = solve(congruent(n, 2, K=omega**2), k=6, backend=backend)
    assert modes.deflated == 2 * nulls
    np.testing.assert_allclose(modes.eigenvalues, 1j * omega[nulls:][:6], rtol=1e-9)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("target", [None, 0.5j])
def test_gyroscopic_and_damping_forces_without_stiffness(backend: str, target: complex) -> None:
    """K = 0: λ = ±ig of every pair and n zeros; with damping −d of every unknown and n zeros."""
    n = 24
    g, d = np.linspace(1.0, 4.0, n // 2), np.linspace(0.5, 6.0, n)
    C = np.zeros((n, n))
    C[np.arange(0, n, 2), np.arange(1, n, 2)] = -g
    C[np.arange(1, n, 2), np.arange(0, n, 2)] = g
    spinning = solve(congruent(n, 3, C=C), k=5, backend=backend, target=target)
    assert spinning.deflated == n and np.all(spinning.eigenvalues.real == 0.0)
    np.testing.assert_allclose(spinning.eigenvalues.imag, g[:5], rtol=1e-9)
    damped = solve(congruent(n, 4, D=d), k=5, backend=backend, target=target)
    assert damped.deflated == n
    np.testing.assert_allclose(damped.eigenvalues, -d[:5], rtol=1e-9)
    assert len(solve(FrozenSystem(M=np.eye(n)), k=5, backend=backend, target=target)) == 0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", ["conservative", "damped", "indefinite"])
def test_units_far_apart_change_nothing(kind: str, backend: str) -> None:
    """SMS, SCS, SKS with entries of S from 1e-9 to 1e9 have the spectrum of M, C, K."""
    options = dict(conservative={}, damped=dict(damping=0.3), indefinite=dict(shift=3.0))[kind]
    system = gyroscopic(24, seed=6, **options)
    S = 10.0 ** np.random.default_rng(6).uniform(-9.0, 9.0, system.n)
    scaled = FrozenSystem(
        **{p: getattr(system, p).toarray() * np.outer(S, S) for p in ("M", "C", "D", "K")}
    )
    for target in (None, 4.0j, 3.0, -1.0 + 4.0j):
        plain = solve(system, k=6, backend="dense", target=target)
        modes = solve(scaled, k=6, backend=backend, target=target)
        np.testing.assert_allclose(
            by_size(modes.eigenvalues), by_size(plain.eigenvalues), rtol=1e-8, atol=1e-10
        )
        np.testing.assert_array_equal(
            by_size(modes.eigenvalues).real == 0.0, by_size(plain.eigenvalues).real == 0.0
        )
        assert modes.backward_error.max() <= 1e-12
        pairing = Quadratic(scaled).pairing(modes.eigenvalues, modes.left, modes.right)
        np.testing.assert_allclose(pairing, 1.0, rtol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("times", [3, 4, 5, 6])
def test_repeated_eigenvalues_come_as_often_as_they_are(times: int, backend: str) -> None:
    n = 40
    omega = np.sort(np.random.default_rng(times).uniform(1.0, 30.0, n))
    omega[2 : 2 + times] = omega[2]
    for damping in (0.0, 0.02):
        system = congruent(n, 10 + times, K=omega**2, D=2.0 * damping * omega)
        exact = omega * (-damping + 1j * np.sqrt(1.0 - damping**2))
        for seed in range(3):
            modes = solve(system, k=2 + times, backend=backend, seed=seed)
            np.testing.assert_allclose(modes.eigenvalues, exact[: 2 + times], rtol=1e-10)
            block = modes.right[:, 2:]
            assert la.svdvals(block / np.linalg.norm(block, axis=0)).min() > 1e-3
            around = solve(system, k=times, backend=backend, target=1.001j * omega[2], seed=seed)
            np.testing.assert_allclose(around.eigenvalues, exact[2 : 2 + times], rtol=1e-10)


def test_condition_of_a_cluster_bounds_how_a_perturbation_splits_it() -> None:
    """A triple frequency under random changes of K, M of norm 1e-7: no member moves farther."""
    omega = np.array([1.0, 2.0, 2.0, 2.0, 5.0, 7.0])
    system = congruent(6, 5, K=omega**2)
    modes = solve(system, k=4, backend="dense")
    r, size, worst = np.random.default_rng(1), 1e-7, 0.0
    for _ in range(30):
        changed = {}
        for name in ("M", "K"):
            A, E = getattr(system, name).toarray(), r.standard_normal((6, 6))
            E = E + E.T
            changed[name] = A + size * np.linalg.norm(A, 2) * E / np.linalg.norm(E, 2)
        moved = solve(FrozenSystem(**changed), k=4, backend="dense").eigenvalues
        change = np.abs(moved - modes.eigenvalues)
        worst = max(worst, (change / (size * modes.condition_number * 2.0 * omega[:4])).max())
        assert np.all(change <= size * modes.condition_number * np.abs(modes.eigenvalues) * 1.01)
    assert worst > 1e-2  # and the bound is not idle


def test_pairs_iterated_apart_stay_apart() -> None:
    """Three eigenvalues 1e-7 apart, told with errors of 1e-5: found anew, each once."""
    omega = np.array([1.0, 4.0, 4.0 * (1 + 1e-7), 4.0 * (1 + 3e-7), 9.0, 12.0])
    C = np.zeros((6, 6))
    C[0, 5], C[5, 0] = 0.05, -0.05
    system = congruent(6, 7, K=omega**2, C=C, D=0.01 * omega)
    quadratic = Quadratic(system)
    exact = solve(system, k=12, backend="dense")
    r = np.random.default_rng(2)
    told = exact.eigenvalues * (1.0 + 1e-5 * r.standard_normal(6))
    X = exact.right + 1e-5 * r.standard_normal((6, 6))
    poor = Pairs(told, X, "LU", "told")
    better = refined(quadratic, poor, np.arange(6))
    assert quadratic.backward_error(better.eigenvalues, better.right).max() <= 1e-12
    np.testing.assert_allclose(
        np.sort_complex(better.eigenvalues), np.sort_complex(exact.eigenvalues), rtol=1e-10
    )
    group = iterated(quadratic, better.take(np.array([1, 2, 3])))
    assert group is not None and group.left is not None
    assert quadratic.transposed.backward_error(group.eigenvalues, group.left.conj()).max() <= 1e-12


def test_pairs_that_meet_are_iterated_again_together() -> None:
    """Two approximations nearer to one eigenvalue than to the other: both are found."""
    omega = np.array([1.0, 4.0, 4.0 * (1 + 2e-5), 9.0, 12.0])
    system = congruent(5, 8, K=omega**2, D=0.01 * omega)
    quadratic = Quadratic(system)
    exact = solve(system, k=10, backend="dense")
    one, other = exact.eigenvalues[1:3]
    told = np.array([one * (1.0 + 2e-6), one * (1.0 + 5e-6)])
    x, y = exact.right[:, 1], exact.right[:, 2]
    poor = Pairs(told, np.stack([x + 0.3 * y, 0.3 * x + y], axis=1), "LU", "told")
    better = refined(quadratic, poor, np.arange(2))
    np.testing.assert_allclose(np.sort_complex(better.eigenvalues), [other, one], rtol=1e-10)
    assert quadratic.backward_error(better.eigenvalues, better.right).max() <= 1e-12


def test_a_fault_of_arpack_is_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise spla.ArpackError(-9)

    monkeypatch.setattr(spla, "eigs", fail)
    monkeypatch.setattr(import_module("modal.eigen.solve"), "SMALL", 100)  # no LAPACK
    with pytest.raises(ConvergenceError, match="ARPACK failed"):
        solve(gyroscopic(150, seed=4, damping=0.3), k=5, backend="scipy")


@pytest.mark.parametrize("backend", ["scipy", "slepc"])
def test_overdamped_modes_that_accumulate_do_not_stall_a_small_instant(backend: str) -> None:
    """Internal damping bK with bω ≫ 1: λ = −(2/b)/(1 + √(1 − 4/(bω)²)) crowd at −1/b."""
    b = 1e-2
    beam = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 9, clamped="start")
    rest = beam.freeze()
    omega = np.sqrt(la.eigh(rest.K.toarray(), rest.M.toarray())[0])
    over = omega[omega > 2.0 / b]
    slow = -(2.0 / b) / (1.0 + np.sqrt(1.0 - 4.0 / (b * over) ** 2))
    modes = solve(beam.with_damping(0.0, b).freeze(), k=12, backend=backend)
    light = -0.5 * b * omega**2 + 1j * omega * np.sqrt(1.0 - (0.5 * b * omega) ** 2 + 0j)
    pairs = np.stack([slow, over**2 / slow], axis=1).ravel()
    expected = np.concatenate([light[omega < 2.0 / b], pairs])[:12]
    np.testing.assert_allclose(modes.eigenvalues, expected, rtol=1e-8)
    assert modes.backward_error.max() <= 1e-12


def test_overdamped_modes_beyond_slow_ones_on_soft_springs_are_found() -> None:
    """More than SMALL unknowns with D = bK: λ² + bω²λ + ω² = 0. The six motions on the springs do
    not tell that the modes crowd at −1/b behind them, where a Krylov method does not converge."""
    b, springs = 2e-3, np.zeros(666)
    free = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 110, clamped=None)
    springs[[*range(6), *range(-6, 0)]] = 3.0
    M, K = free.freeze().M, sp.csr_matrix(free.freeze().K + sp.diags(springs))
    omega = np.sqrt(la.eigh(K.toarray(), M.toarray(), eigvals_only=True, subset_by_index=[0, 9]))
    slow, over = omega[:7], omega[7:]
    vibrating = -0.5 * b * slow**2 + 1j * slow * np.sqrt(1.0 - (0.5 * b * slow) ** 2)
    real = -(2.0 / b) / (1.0 + np.sqrt(1.0 - 4.0 / (b * over) ** 2))
    expected = np.concatenate([vibrating, np.stack([real, over**2 / real], axis=1).ravel()])[:10]
    modes = solve(FrozenSystem(M=M, K=K, D=b * K), k=10)
    np.testing.assert_allclose(modes.eigenvalues, expected, rtol=2e-4)  # of K at the springs
    np.testing.assert_allclose(modes.eigenvalues[6:], expected[6:], rtol=1e-6)
    assert (
        np.abs(modes.eigenvalues - expected) <= modes.error_bound + 1e-12 * np.abs(expected)
    ).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_right_and_left_chains_have_one_length(backend: str) -> None:
    """A square beam that turns about a point: WᵀCV is round-off on one side, not on the other."""
    section = assembly.rectangle(0.03, 0.03)
    body = assembly.beam(1.0, section, assembly.steel, 9, pinned="start")
    system = body.freeze(omega=(30.0, 20.0, -50.0))
    chain = system.null_chain
    assert chain is not None and chain.left.shape == chain.right.shape
    modes = solve(system, k=6, backend=backend)
    assert len(modes) == 6 and modes.backward_error.max() <= 1e-12


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("n", [3, 30])
def test_matrices_of_any_size_of_numbers(n: int, backend: str) -> None:
    """The same system with all entries 1e-200 times: the same modes; no mass at all is an error."""
    system = gyroscopic(n, seed=9, damping=0.2)
    small = FrozenSystem(**{p: 1e-200 * getattr(system, p).toarray() for p in ("M", "C", "D", "K")})
    plain, modes = (solve(s, k=3, backend=backend) for s in (system, small))
    np.testing.assert_allclose(modes.eigenvalues, plain.eigenvalues, rtol=1e-9)
    with pytest.raises(InputError, match="M"):
        solve(FrozenSystem(M=np.zeros((n, n)), K=np.eye(n)), k=2, backend=backend)


def test_one_eigenvalue_far_below_the_others_takes_no_digits_from_them() -> None:
    """A free sheet that spins up, held by one damper outside: λ = 2e-5 and 4e4 rad/s in one search.
    In 1/λ the others would lose eight digits, and the block method would not converge."""
    corner = (-0.963, -0.0655)
    body = gallery.sheet(49, 4, "q8", size=(1.926, 0.131), origin=corner, clamped=None)
    node = int(np.argmin(body.dofs.coordinates[:, :2].sum(axis=1)))
    held = assembly.attach_damper(body, node, 3e4)
    system = held.freeze(omega=(0, 0, 0), epsilon=(0, 0, 1.2e3))
    modes = solve(system, k=20)
    assert modes.method == "block Rayleigh–Ritz"
    assert np.abs(modes.eigenvalues).min() < 1e-8 * np.abs(modes.eigenvalues[-1])
    n, M, C, K = system.n, system.M, system.damping, system.stiffness
    for lam in modes.eigenvalues[[5, 10, 19]]:
        shift = lam * (1.0 + 1e-3)
        Q = spla.splu((shift**2 * M + shift * C + K).astype(complex).tocsc())

        def inverse(x: np.ndarray, Q: spla.SuperLU = Q, shift: complex = shift) -> np.ndarray:
            q, v = x[:n], x[n:]  # (A − σ)⁻¹ of the state matrix, with M⁻¹ multiplied out
            first = Q.solve(-(M @ v + C @ q + shift * (M @ q)))
            return np.concatenate([first, q + shift * first])

        operator = spla.LinearOperator((2 * n, 2 * n), matvec=inverse, dtype=complex)
        mu = spla.eigs(operator, k=1, v0=np.ones(2 * n, dtype=complex), return_eigenvectors=False)
        assert abs(shift + 1.0 / mu[0] - lam) <= 1e-9 * abs(lam)
