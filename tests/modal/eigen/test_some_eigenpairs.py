"""Some eigenpairs of small matrices, and solves that are done together: against LAPACK and one by
one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp

from assembly.linalg.combination import Combination, Kronecker, Lazy
from modal.eigen.solvers.dense import definite, eigenpairs_in_order, general, largest_of_skew


@pytest.mark.parametrize("n", [1, 2, 3, 20, 70])
@pytest.mark.parametrize("clustered", [False, True])
def test_eigenpairs_of_a_range_are_those_of_all(n: int, clustered: bool) -> None:
    """Against LAPACK's divide and conquer; half of the eigenvalues equal, or none."""
    rng = np.random.default_rng(n)
    Q = la.qr(rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n)))[0]
    values = rng.uniform(-1.0, 1.0, n)
    values[: n // 2] = 0.25 if clustered else values[: n // 2]
    H = (Q * values) @ Q.conj().T
    H = 0.5 * (H + H.conj().T)
    first, last = n // 3, min(n - 1, n // 3 + 9)
    found, vectors = eigenpairs_in_order(H, first, last)
    np.testing.assert_allclose(found, np.sort(values)[first : last + 1], atol=1e-13)
    np.testing.assert_allclose(H @ vectors, vectors * found, atol=1e-12)
    np.testing.assert_allclose(vectors.conj().T @ vectors, np.eye(len(found)), atol=1e-12)


@pytest.mark.parametrize("size", [12, 60, 140])
def test_largest_of_a_skew_matrix(size: int) -> None:
    """Against all of LAPACK's eigenvalues."""
    A = np.random.default_rng(size).standard_normal((size, size))
    S = A - A.T
    tau, Y = largest_of_skew(S, 5)
    np.testing.assert_allclose(tau, np.sort(la.eigvalsh(1j * S))[::-1][:5], rtol=1e-12)
    np.testing.assert_allclose(S @ Y, -1j * tau * Y, atol=1e-9 * tau[0])


def test_diagonals_and_products_without_the_matrix() -> None:
    rng = np.random.default_rng(5)
    m = sp.random(6, 6, 0.5, format="csr", random_state=3) + sp.identity(6, format="csr")
    kron = Kronecker(sp.csr_matrix(m), rng.standard_normal((3, 3)))
    lazy = Lazy(kron.shape, lambda: kron)
    total = Combination.of(18, [2.0, 1.0], [lazy, sp.identity(18, format="csr")])
    dense = total.tocsr().toarray()
    np.testing.assert_allclose(total.diagonal(), np.diag(dense))
    x = rng.standard_normal((18, 2))
    np.testing.assert_allclose(total @ x, dense @ x)
    np.testing.assert_array_equal(Combination((18, 18)) @ x, np.zeros((18, 2)))


def test_shapes_at_rest_are_real() -> None:
    """Without velocity terms they are singular vectors of a real matrix of half the size."""
    rng = np.random.default_rng(3)
    A, B = rng.standard_normal((2, 20, 20))
    M, K = np.eye(20) + A @ A.T, B @ B.T + np.diag(np.arange(1.0, 21.0))
    omega, X = definite(M, np.zeros((20, 20)), K)
    assert not X.imag.any()
    assert np.allclose(omega**2, la.eigh(K, M, eigvals_only=True), rtol=1e-10)


@pytest.mark.parametrize("massless", [0, 2])
def test_without_velocity_terms_lapack_finds_squares(
    massless: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Circulatory forces alone, on masses and on degrees of freedom without: both vectors of all
    modes, flutter, divergence and oscillations, from a matrix of half the size."""
    n, orders, eig = 12, [], la.eig
    rng = np.random.default_rng(8)
    A, N = rng.standard_normal((2, n, n))
    M = np.diag(np.where(np.arange(n) < massless, 0.0, 1.0 + np.arange(n)))
    K = np.diag(np.arange(n) - 2.5) ** 3 + A @ A.T + 5.0 * (N - N.T)

    def recorded(a: np.ndarray, **options: bool) -> object:
        orders.append(len(a))
        return eig(a, **options)

    monkeypatch.setattr(la, "eig", recorded)
    lam, X, Y = general(M, np.zeros((n, n)), K)
    assert orders == [n]
    assert len(lam) == 2 * (n - massless)
    truth = eig(-K, M, right=False)
    squares = truth[np.abs(truth) < 1e6]
    near = np.abs(lam[:, None] ** 2 - squares) <= 1e-9 * np.abs(squares)
    assert np.all(near.sum(axis=0) == 2)
    for vectors, matrix in ((X, K), (Y, K.T)):
        square = lam**2 if matrix is K else lam.conj() ** 2
        residual = (M @ vectors) * square + matrix @ vectors
        terms = np.abs(square) * np.linalg.norm(M @ vectors, axis=0)
        assert np.all(np.linalg.norm(residual, axis=0) <= 1e-9 * terms)
