"""Clusters, exact structure and verdicts, over seeded random families."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as la

from assembly import FrozenSystem
from modal import solve
from modal.eigen.quadratic import Quadratic
from modal.eigen.solvers.block import BlockSolver
from modal.eigen.solvers.engines import krylov_schur
from modal.eigen.solvers.krylov import solve_krylov
from modal.eigen.solvers.shift_invert import ShiftInvert
from tests.support.quadratics import gyroscopic, upper_spectrum

BACKENDS = ("dense", "scipy", "slepc")


def clustered(seed: int) -> tuple[FrozenSystem, np.ndarray]:
    """A gyroscopic instant with known clustered frequencies, and these, ascending.

    With X random and well conditioned, M = XᵀX and blocks of a rotor in K and C: two unknowns with
    stiffness a, mass 1 and C = [[0, −g], [g, 0]] have the frequencies √(a + g²/4) ± g/2.
    """
    r = np.random.default_rng(seed)
    pairs = int(r.integers(20, 30))
    n = 2 * pairs
    centres = np.sort(r.uniform(1.0, 30.0, pairs))
    for _ in range(3):  # clusters of two to four rotors, 1e-8 to 1e-3 apart
        first, size = int(r.integers(0, pairs - 4)), int(r.integers(2, 5))
        spread = 10.0 ** r.uniform(-8, -3)
        centres[first : first + size] = centres[first] * (1.0 + spread * np.arange(size))
    g = np.where(r.random(pairs) < 0.3, 0.0, r.uniform(0.0, 0.5, pairs))
    g[::4] = g[0]  # equal splits make clusters of whole rotors
    K0, C0 = np.repeat(centres**2, 2), np.zeros((n, n))
    C0[np.arange(0, n, 2), np.arange(1, n, 2)] = -g
    C0[np.arange(1, n, 2), np.arange(0, n, 2)] = g
    X = np.linalg.qr(r.standard_normal((n, n)))[0] * r.uniform(0.7, 1.4, n)
    root = np.sqrt(centres**2 + 0.25 * g**2)
    expected = np.sort(np.concatenate([root - 0.5 * g, root + 0.5 * g]))
    sym = lambda A: 0.5 * (A + A.T)  # noqa: E731
    skew = lambda A: 0.5 * (A - A.T)  # noqa: E731
    return FrozenSystem(
        M=sym(X.T @ X), C=skew(X.T @ C0 @ X), K=sym(X.T @ np.diag(K0) @ X)
    ), expected


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_no_mode_of_a_cluster_is_missed_or_doubled(backend: str) -> None:
    """Random gyroscopic problems, clusters down to 1e-8 relative: every frequency, once."""
    for seed in range(0, 200, 1 if backend == "slepc" else 4):
        system, expected = clustered(seed)
        k = 6 + seed % 7
        modes = solve(system, k=k, backend=backend)
        assert len(modes) == k
        np.testing.assert_allclose(
            modes.eigenvalues.imag, expected[:k], rtol=2e-10, err_msg=f"seed {seed}"
        )
        assert np.all(modes.eigenvalues.real == 0.0)
        assert modes.backward_error.max() <= 1e-12
        # Once each: shapes of one eigenvalue are independent.
        assert np.linalg.cond(np.vstack([modes.right, modes.right * modes.eigenvalues])) < 1e8


@pytest.mark.slow
@pytest.mark.parametrize("method", ["block", "krylov"])
def test_sparse_methods_themselves_miss_none(method: str) -> None:
    """The same family without the short cut that small definite instants take by LAPACK.

    "block" is the method of definite instants, "krylov" SLEPc's one-vector method with its second
    look.
    """
    for seed in range(0, 200, 2 if method == "block" else 4):
        system, expected = clustered(seed)
        k = 6 + seed % 7
        if method == "block":
            solver = BlockSolver(Quadratic(system))
            found = solver.find(k)
            solver.destroy()
        else:
            operator = ShiftInvert(Quadratic(system), None)
            found = solve_krylov(operator, k, krylov_schur, "Krylov–Schur")
            operator.destroy()
        np.testing.assert_allclose(found.eigenvalues[:k].imag, expected[:k], rtol=2e-10)
        assert np.all(found.eigenvalues.real == 0.0)


def test_no_mode_of_independent_parts_is_lost() -> None:
    """Two equal systems and a third, their unknowns shuffled: every frequency twice, or once."""
    one, other = gyroscopic(20, seed=1), gyroscopic(15, seed=2)
    order = np.random.default_rng(0).permutation(55)
    parts = {}
    for name in "MCK":
        blocks = [getattr(s, name).toarray() for s in (one, one, other)]
        parts[name] = la.block_diag(*blocks)[np.ix_(order, order)]
    modes = solve(FrozenSystem(**parts), k=12)
    single = [solve(s, k=12, backend="dense").eigenvalues.imag for s in (one, one, other)]
    np.testing.assert_allclose(
        modes.eigenvalues.imag, np.sort(np.concatenate(single))[:12], rtol=1e-10
    )


@pytest.mark.slow
def test_conservative_systems_have_no_real_part() -> None:
    """Every size, spread and backend: Re λ is exactly zero, not small."""
    for seed in range(300):
        r = np.random.default_rng(seed)
        n = int(r.integers(1, 40))
        system = gyroscopic(n, seed)
        spread = np.exp(r.uniform(-4, 4, n))
        parts = {name: getattr(system, name).toarray() * np.outer(spread, spread) for name in "MCK"}
        modes = solve(FrozenSystem(**parts), k=min(n, 8), backend=BACKENDS[seed % 3])
        assert np.all(modes.eigenvalues.real == 0.0) and np.all(modes.eigenvalues.imag > 0.0)


@pytest.mark.slow
def test_gyroscopic_stabilisation_has_the_verdict_of_fifty_digits() -> None:
    """K indefinite, C large or small: unstable exactly where the 50-digit spectrum leaves the
    axis."""
    verdicts = []
    for seed in range(10):
        r = np.random.default_rng(seed)
        n = 2 * int(r.integers(1, 4))
        A = r.standard_normal((n, n))
        G = r.standard_normal((n, n)) * r.choice([0.3, 2.0, 6.0])
        system = FrozenSystem(M=np.eye(n), C=G - G.T, K=-A @ A.T - 0.05 * np.eye(n))
        exact = upper_spectrum(system, digits=50)
        unstable = bool(exact.real.max() > 1e-20)
        for backend in BACKENDS:
            modes = solve(system, k=2 * n, backend=backend)
            assert len(modes) == len(exact)
            assert bool(modes.eigenvalues.real.max() > 0.0) == unstable, seed
            assert unstable or np.all(modes.eigenvalues.real == 0.0)
        verdicts.append(unstable)
    assert 0 < sum(verdicts) < 10  # both verdicts occur


@pytest.mark.slow
def test_larger_indefinite_system_agrees_with_thirty_digits() -> None:
    """16 definite and 6 gyroscopically stabilised DOFs, coupled: eigenvalues on and off the
    axis."""
    r = np.random.default_rng(11)
    n = 22
    B = r.standard_normal((n, n))
    K = B @ B.T / n + np.diag(np.where(np.arange(n) < 16, 2.0, -6.0))
    C = 0.3 * (B - B.T)
    for i in range(16, n, 2):
        C[i, i + 1], C[i + 1, i] = C[i, i + 1] - 9.0, C[i + 1, i] + 9.0
    system = FrozenSystem(M=np.eye(n), C=C, K=0.5 * (K + K.T))
    exact = upper_spectrum(system, digits=30)[:10]
    on_axis = np.abs(exact.real) < 1e-20
    assert 0 < on_axis.sum() < 10
    for backend in BACKENDS:
        found = solve(system, k=10, backend=backend).eigenvalues
        distance = np.abs(found[:, None] - exact[None, :])
        nearest = distance.argmin(axis=1)
        assert sorted(nearest) == list(range(10))
        assert np.all(distance.min(axis=1) <= 1e-9 * np.abs(found))
        np.testing.assert_array_equal(found.real == 0.0, on_axis[nearest])


@pytest.mark.parametrize("backend", BACKENDS)
def test_undamped_circulatory_systems_grow_only_where_they_flutter(backend: str) -> None:
    """M q̈ + K q = 0, K not symmetric: −λ² = (a + b)/2 ± √((a − b)²/4 − p²) of blocks [a p; −p b].

    Real λ² by closed form: Re λ is exactly zero; complex ones: both members of the quadruple.
    """
    r = np.random.default_rng(3)
    pairs = 15
    a = np.sort(r.uniform(1.0, 400.0, pairs))
    b, p = a * r.uniform(1.1, 1.5, pairs), a * r.uniform(0.0, 0.04, pairs)
    flutter = np.arange(pairs) % 5 == 2
    p[flutter] = b[flutter] - a[flutter]
    K = np.zeros((2 * pairs, 2 * pairs))
    even, odd = np.arange(0, 2 * pairs, 2), np.arange(1, 2 * pairs, 2)
    K[even, even], K[odd, odd], K[even, odd], K[odd, even] = a, b, p, -p
    X = np.linalg.qr(r.standard_normal(K.shape))[0] * r.uniform(0.7, 1.4, 2 * pairs)
    root = np.sqrt((0.25 * (a - b) ** 2 - p**2).astype(complex))
    squares = -np.concatenate([0.5 * (a + b) + root, 0.5 * (a + b) - root])
    exact = np.sqrt(squares)
    exact = np.where(exact.imag < 0.0, -exact, exact)
    modes = solve(FrozenSystem(M=X.T @ X, K=X.T @ K @ X), k=12, backend=backend)
    nearest = np.abs(modes.eigenvalues[:, None] - exact[None, :]).argmin(axis=1)
    assert len(set(nearest)) == 12
    np.testing.assert_allclose(modes.eigenvalues, exact[nearest], rtol=1e-9)
    growing = np.abs(exact[nearest].real) > 1e-6
    assert 1 < growing.sum() < 10
    np.testing.assert_array_equal(modes.eigenvalues.real != 0.0, growing)
