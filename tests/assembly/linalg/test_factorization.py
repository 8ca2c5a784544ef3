"""Factorizations: structure, blocks, inertia, and memory given back."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import scipy.sparse as sp

from assembly.errors import SingularSystemError
from assembly.linalg.factorization import Factorization
from assembly.linalg.mumps import nested_dissection
from assembly.linalg.without_petsc import SuperLUFactor, unpivoted_inertia


def laplacian(side: int) -> sp.csr_matrix:
    """The seven-point Laplacian on side³ points: eigenvalues 2 Σ (1 − cos kπ/(side + 1))."""
    line = sp.diags([2.0 * np.ones(side), -np.ones(side - 1), -np.ones(side - 1)], [0, 1, -1])
    one = sp.identity(side)
    parts = [(line, one, one), (one, line, one), (one, one, line)]
    return sp.csr_matrix(sum(sp.kron(sp.kron(a, b), c) for a, b, c in parts))


def resident() -> float:
    """Resident memory of this process, MiB."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096 / 2**20


@pytest.mark.parametrize("structure", ["spd", "symmetric", "general"])
@pytest.mark.parametrize("small", [0, 10**6])
def test_solves_vectors_and_blocks(structure: str, small: int) -> None:
    A = laplacian(7)
    if structure == "general":
        A = sp.csr_matrix(A + sp.diags([np.linspace(0.1, 0.5, A.shape[0] - 2)], [2]))
    b = np.random.default_rng(0).standard_normal((A.shape[0], 3))
    with Factorization(A, structure, small=small) as factor:
        for rhs in (b, b[:, 0], b[:, :1], b + 1j * b[::-1]):
            assert np.abs(A @ factor.solve(rhs) - rhs).max() < 1e-12
            assert np.abs(A.T @ factor.solve_transposed(rhs) - rhs).max() < 1e-12


def test_inertia_counts_the_eigenvalues_below_a_shift() -> None:
    side, shift = 6, 4.1
    one = 2.0 * (1.0 - np.cos(np.arange(1, side + 1) * np.pi / (side + 1)))
    expected = int((one[:, None, None] + one[:, None] + one < shift).sum())
    A = sp.csr_matrix(laplacian(side) - shift * sp.identity(side**3))
    with Factorization(A, "symmetric", small=0) as factor:
        assert factor.negative_pivots == expected


@pytest.mark.parametrize("ordered", [False, True])
def test_inertia_without_pivoting_is_that_of_dense_eigenvalues(ordered: bool) -> None:
    """What complex builds count with: a random symmetric matrix against LAPACK."""
    rng = np.random.default_rng(3)
    random = sp.random(400, 400, density=0.01, random_state=rng, data_rvs=rng.standard_normal)
    A = sp.csr_matrix(random + random.T + sp.diags(rng.standard_normal(400)))
    order = nested_dissection(A) if ordered else None
    expected = int((np.linalg.eigvalsh(A.toarray()) < 0.0).sum())
    assert unpivoted_inertia(A, order) == expected


def test_inertia_without_pivoting_refuses_what_needs_pivots() -> None:
    """A leading part next to singular makes the factor grow by 1e14."""
    nearly = sp.csr_matrix(np.array([[1e-14, 1.0, 1.0], [1.0, 1.0, 0.0], [1.0, 0.0, 2.0]]))
    for A in (nearly, sp.csr_matrix(np.array([[0.0, 1.0], [1.0, 0.0]]))):
        with pytest.raises(SingularSystemError, match="inertia"):
            unpivoted_inertia(A, np.arange(A.shape[0]))


def test_a_symmetric_matrix_that_needs_pivots_is_solved_and_its_inertia_counted() -> None:
    """A saddle point: zeros and very small numbers on the diagonal, against LAPACK."""
    rng = np.random.default_rng(7)
    B = sp.random(60, 60, density=0.1, random_state=rng, data_rvs=rng.standard_normal)
    B = B + sp.identity(60)
    A = sp.csr_matrix(sp.bmat([[1e-18 * sp.identity(60), B], [B.T, None]]))
    b = rng.standard_normal(120)
    with Factorization(A, "symmetric", small=0) as factor:
        x = factor.solve(b)
        assert factor.negative_pivots == int((np.linalg.eigvalsh(A.toarray()) < 0.0).sum())
    np.testing.assert_allclose(x, np.linalg.solve(A.toarray(), b), rtol=1e-8, atol=1e-9)


def test_superlu_in_a_given_order_solves_in_the_matrix_own() -> None:
    A = laplacian(6)
    b = np.random.default_rng(1).standard_normal((A.shape[0], 2))
    order = nested_dissection(A)
    assert sorted(order) == list(range(A.shape[0]))
    factor = SuperLUFactor(A, "spd", order)
    assert np.abs(A @ factor.solve(b, transpose=False) - b).max() < 1e-12
    assert np.abs(A @ factor.solve(b[:, 0], transpose=True) - b[:, 0]).max() < 1e-12


def test_a_zero_on_the_diagonal_is_not_exchanged_away() -> None:
    """[[0, 1], [1, 0]] has eigenvalues ±1; with rows exchanged its pivots would be 1 and 1."""
    with pytest.raises(SingularSystemError):
        Factorization(sp.csr_matrix(np.array([[0.0, 1.0], [1.0, 0.0]])), "spd")


@pytest.mark.parametrize("small", [0, 10**6])
def test_an_indefinite_matrix_is_not_accepted_as_definite(small: int) -> None:
    A = sp.csr_matrix(laplacian(5) - 3.0 * sp.identity(125))
    with pytest.raises(SingularSystemError):
        Factorization(A, "spd", small=small)


def test_memory_is_given_back() -> None:
    """Ten factorizations of 8,000 unknowns, each of some 20 MB, leave less than one behind."""
    A = laplacian(20)

    def cycle() -> None:
        factor = Factorization(A, "spd")
        factor.solve(np.ones((A.shape[0], 4)))
        factor.destroy()

    for _ in range(2):
        cycle()
    gc.collect()
    before = resident()
    for _ in range(10):
        cycle()
    gc.collect()
    assert resident() - before < 20.0
