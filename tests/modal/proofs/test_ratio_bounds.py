"""Bounds of ratios of quadratic forms by Lanczos, against LAPACK on the full matrices."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp

from modal.eigen.quadratic import Quadratic
from modal.eigen.tolerances import SMALL
from modal.proofs.ratios import FAILURE, is_definite, lanczos, largest_ratio, skew_ratio
from tests.support.fine_meshes import fine_column

N = SMALL + 100  # iterative


def plate(seed: int) -> tuple[sp.csr_matrix, sp.csr_matrix, sp.csr_matrix]:
    """K, a mass and a change of K, of a chain of pairs of random springs and masses."""
    rng = np.random.default_rng(seed)
    half = N // 2
    bend = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(half, half))
    K = sp.block_diag([bend, 1.1 * bend]) + sp.diags(1e-4 * rng.random(N))
    M = sp.diags(np.exp(rng.uniform(-0.3, 0.3, N)))
    B = sp.diags(rng.standard_normal(N)) + 0.1 * sp.block_diag([-bend, bend])
    return sp.csr_matrix(K), sp.csr_matrix(M), sp.csr_matrix(B)


@pytest.mark.parametrize("seed", range(4))
def test_a_skew_ratio_is_bounded_closely(seed: int) -> None:
    """ρ((iB, A)) by LAPACK. A uniform gain between both halves, as K(ε) has."""
    K, M, _ = plate(seed)
    D = sp.csr_matrix(6.0 * M + 1e-1 * K)
    half = N // 2
    cross = sp.diags(M.diagonal()[:half])
    B = sp.csr_matrix(sp.bmat([[None, cross], [-cross, None]]))
    true = np.abs(la.eigh(1j * B.toarray(), D.toarray(), eigvals_only=True)).max()
    bound = skew_ratio(B, D)
    assert true <= bound <= 1.3 * true


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_bounds_beside_known_vectors_contain_all_ratios(seed: int) -> None:
    """Extreme eigenvalues of (M, K) and (B, K) on the complement of the 12 lowest modes."""
    K, M, B = plate(seed)
    dense = K.toarray()
    X = la.eigh(dense, M.toarray(), subset_by_index=[0, 11])[1]
    X = X / np.sqrt(np.einsum("ij,ij->j", X, dense @ X))
    rest = la.null_space((dense @ X).T)
    inner = rest.T @ dense @ rest
    ends = [la.eigh(rest.T @ A @ rest, inner, eigvals_only=True)[[0, -1]] for A in (M, B)]
    factor = la.cho_factor(dense)
    found = lanczos(
        lambda b: la.cho_solve(factor, b), dense.__matmul__, [M.__matmul__, B.__matmul__],
        np.sqrt(M.diagonal()), semidefinite=[True, False], without=(X, dense @ X), steps=24,
    )  # fmt: skip
    for (low, high), (first, last) in zip(found, ends, strict=True):
        assert low <= first and last <= high
    assert found[0][1] <= 1.6 * ends[0][1]


def test_an_iteration_ends_where_its_bound_is_harmless() -> None:
    """Fewer solves, a wider bound that is valid still."""
    K, M, _ = plate(0)
    factor = la.cho_factor(K.toarray())
    solves = []

    def solve(b: np.ndarray) -> np.ndarray:
        solves.append(b.shape[1])
        return np.asarray(la.cho_solve(factor, b))

    true = la.eigh(M.toarray(), K.toarray(), eigvals_only=True)[-1]
    scale = np.sqrt(K.diagonal())
    ((_, whole),) = lanczos(
        solve, K.__matmul__, [M.__matmul__], scale, semidefinite=[True], steps=30
    )
    assert len(solves) == 30
    solves.clear()
    ((_, early),) = lanczos(
        solve, K.__matmul__, [M.__matmul__], scale, semidefinite=[True], steps=30,
        enough=[20.0 * true],
    )  # fmt: skip
    assert len(solves) < 20
    assert true <= whole <= early <= 20.0 * true


@pytest.mark.parametrize("n", [40, 4000])
@pytest.mark.parametrize("steps", [12, 30])
def test_a_bound_is_as_wide_as_the_theorem_demands(n: int, steps: int) -> None:
    """One large eigenvalue, found to round-off: what is added is the ε that can be missed.

    Kuczyński and Woźniakowski: k steps from one random start miss more than ε with a probability
    of at most 1.648 √n exp(−√ε (2k − 1)).
    """
    values = np.concatenate([np.linspace(0.01, 0.02, n - 1), [1.0]])
    ((low, high),) = lanczos(
        lambda b: b, lambda x: x, [lambda x: values[:, None] * x], np.ones(n),
        semidefinite=[True], steps=steps,
    )  # fmt: skip
    missed = 1.0 - 1.0 / high
    probability = 1.648 * np.sqrt(n) * np.exp(-np.sqrt(missed) * (2 * steps - 1))
    assert low == 0.0 and probability == pytest.approx(FAILURE, rel=1e-6)


def test_the_largest_of_ratios_of_a_fine_mesh_is_found() -> None:
    """398 unknowns: LAPACK's bisection for one eigenvalue of (M, D) fails."""
    quadratic = Quadratic(fine_column(np.random.default_rng(304000)).system)
    M, D = quadratic.M, quadratic.damping_parts[0]
    inverse = 1.0 / la.eigvalsh(D.toarray(), M.toarray())[0]
    assert largest_ratio(M, D) == pytest.approx(inverse, rel=1e-3)


@pytest.mark.parametrize("copies", [3, 300])
def test_a_hermitian_matrix_is_definite_up_to_the_last_digits(copies: int) -> None:
    """[[4, 3ic], [−3ic, 9]] has the determinant 36 − 9c²: definite below c = 2."""
    for c, definite in ((2.0 - 1e-10, True), (2.0 + 1e-10, False)):
        block = np.array([[4.0, 3.0j * c], [-3.0j * c, 9.0]])
        assert is_definite(sp.csr_matrix(sp.kron(np.eye(copies), block))) == definite
