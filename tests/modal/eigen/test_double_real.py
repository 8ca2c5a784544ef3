"""Double real eigenvalues, which LAPACK returns as pairs r ± iδ: both are modes.

Two copies of an overdamped system, mixed by a rotation, have every eigenvalue of the one twice;
the reference solves the one, whose eigenvalues are simple.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as la

import modal
from assembly.system.frozen import FrozenSystem
from modal.eigen.modes import Modes
from modal.eigen.spectrum import separated

Matrices = tuple[np.ndarray, np.ndarray, np.ndarray]


def overdamped(rng: np.random.Generator, m: int, diverging: bool) -> Matrices:
    """M, C, K (m, m) with real eigenvalues; diverging: K indefinite."""

    def definite() -> np.ndarray:
        X = rng.standard_normal((m, m))
        return X @ X.T + 0.1 * np.eye(m)

    M, K, C = definite() + m * np.eye(m), definite(), definite()
    if diverging:
        K = K - 2.0 * np.median(la.eigvalsh(K)) * np.eye(m)
    fastest = np.sqrt(np.abs(la.eigvalsh(K, M)).max())
    return M, C + 3.0 * fastest * la.eigvalsh(M).max() * np.eye(m), K


def eigenvalues(matrices: Matrices) -> np.ndarray:
    """All of them, in the order of `modal.solve`: those that decay by √(xᵀKx/xᵀMx)."""
    M, C, K = matrices
    m = len(M)
    A = np.block([[np.zeros((m, m)), np.eye(m)], [-la.solve(M, K), -la.solve(M, C)]])
    found, X = la.eig(A)
    assert abs(found.imag).max() == 0.0
    X = X[m:]  # the velocity carries the shape of fast modes
    shape = np.sqrt(abs(np.sum(X * (K @ X), axis=0) / np.sum(X * (M @ X), axis=0)))
    return found.real[np.argsort(np.where(found.real < 0.0, shape, found.real))]


def copied(rng: np.random.Generator, matrices: Matrices, copies: int) -> FrozenSystem:
    """Uncoupled copies of the system in rotated unknowns."""
    n = copies * len(matrices[0])
    Q = la.qr(rng.standard_normal((n, n)))[0]
    wide = [Q @ np.kron(np.eye(copies), A) @ Q.T for A in matrices]
    M, C, K = (0.5 * (A + A.T) for A in wide)
    return FrozenSystem(M=M, C=C, K=K)


def check(system: FrozenSystem, modes: Modes, exact: np.ndarray) -> None:
    """The eigenvalues, their number above zero, and left vectors biorthogonal to the right."""
    lam = modes.eigenvalues
    assert np.all(lam.imag == 0.0)
    np.testing.assert_allclose(np.sort(lam.real), np.sort(exact), rtol=1e-6)
    assert (lam.real > 0.0).sum() == (exact > 0.0).sum()
    sums = lam[:, None] + lam[None, :]
    Yh = modes.left.conj().T
    pairing = sums * (Yh @ system.M @ modes.right) + Yh @ system.C @ modes.right
    np.testing.assert_allclose(np.diag(pairing), 1.0, rtol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("diverging", [False, True])
def test_doubled_overdamped_systems(diverging: bool) -> None:
    """All modes, counted, of 4 to 11 unknowns (an odd number: one unknown by itself)."""
    for seed in range(40 if diverging else 80):
        rng = np.random.default_rng(seed)
        matrices = overdamped(rng, int(rng.integers(2, 6)), diverging)
        system = copied(rng, matrices, 2)
        exact = np.repeat(eigenvalues(matrices), 2)
        if seed % 2:  # one more unknown, of its own, stable and slow
            parts = {name: la.block_diag(getattr(system, name).toarray(), v)
                     for name, v in (("M", 1.0), ("C", 5e-4), ("K", 5e-8))}  # fmt: skip
            system = FrozenSystem(**parts)
            exact = np.append(exact, np.roots([1.0, 5e-4, 5e-8]).real)
        modes = modal.solve(system, k=2 * system.n, certify=True)
        assert modes.certified
        check(system, modes, exact)


@pytest.mark.parametrize("backend", ["slepc", "scipy", "dense"])
@pytest.mark.parametrize("diverging", [False, True])
@pytest.mark.parametrize("copies", [2, 3])
def test_copies_beyond_the_dense_sizes(copies: int, diverging: bool, backend: str) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        matrices = overdamped(rng, int(rng.integers(10, 16)), diverging)
        system = copied(rng, matrices, copies)
        modes = modal.solve(system, k=2 * copies, certify=True, backend=backend)
        check(system, modes, np.repeat(eigenvalues(matrices), copies)[: 2 * copies])


def test_a_map_counts_both_modes_of_a_double_divergence() -> None:
    rng = np.random.default_rng(4)
    matrices = overdamped(rng, 5, True)
    system = copied(rng, matrices, 2)

    class Model:
        def freeze(self, a: float, b: float) -> FrozenSystem:
            return FrozenSystem(
                M=system.parts["M"],
                C=system.parts["C"].scaled(a),
                K=system.parts["K"].scaled(b),
            )

    values = np.linspace(1.0, 2.0, 6)
    grid = modal.stability_map(Model(), a=values, b=values, k=20)
    M, C, K = matrices
    unstable = [[2 * (eigenvalues((M, a * C, b * K)) > 0.0).sum() for b in values] for a in values]
    assert grid.unstable_modes.values.tolist() == unstable


def test_a_pair_about_to_become_real_stays_a_pair() -> None:
    """λ = −c(1 ± i·1e-9): next to critical damping, a defective value, and not double."""
    c = 3.0
    system = FrozenSystem(
        M=np.eye(2), C=np.diag([2.0 * c, 0.1]), K=np.diag([c**2 * (1.0 + 1e-18), 50.0])
    )
    modes = modal.solve(system, k=4)
    near = modes.eigenvalues[abs(modes.eigenvalues + c) < 1e-3]
    assert np.isfinite(modes.right).all() and len(near) + (near.imag > 0.0).sum() == 2


def test_separated_keeps_vectors_biorthogonal_and_pairs_of_their_own() -> None:
    """A real matrix with a double value, which is perturbed at round-off, and a genuine pair."""
    rng = np.random.default_rng(5)
    block = np.array([[0.0, 1e-15], [-1e-15, 0.0]])
    inner = la.block_diag(-2.0 * np.eye(2) + block, [[-1.0, 3.0], [-3.0, -1.0]], 5.0)
    T = rng.standard_normal((5, 5))
    lam, X = np.linalg.eig(inner)
    X = T @ X
    Y = la.inv(X).conj().T
    lam, X, Y = separated(lam, X, Y, 5.0)
    np.testing.assert_allclose(np.sort_complex(lam), [-2.0, -2.0, -1.0 - 3.0j, -1.0 + 3.0j, 5.0])
    np.testing.assert_allclose(Y.conj().T @ X, np.eye(5), atol=1e-11)
    assert np.all(X[:, lam.imag == 0.0].imag == 0.0)


def test_a_pair_next_to_a_defective_value_is_not_taken_for_two() -> None:
    """[[r, 1], [−δ², r]] has r ± iδ and, but for δ, one vector: r twice would lack a second."""
    r, delta = 2.0, 1e-9
    A = np.array([[r, 1.0], [-(delta**2), r]])
    lam = np.array([r + 1j * delta, r - 1j * delta])
    X = np.array([[1.0, 1.0], [1j * delta, -1j * delta]])
    Y = la.inv(X).conj().T
    found, right, left = separated(lam, X, Y, float(la.norm(A)))
    for A_, values, vectors in ((A, found, right), (A.T, found.conj(), left)):
        residual = la.norm(A_ @ vectors - vectors * values, axis=0) / la.norm(vectors, axis=0)
        assert np.all(residual <= 1e-8)
