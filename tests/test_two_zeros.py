"""The zero eigenvalues of the rigid motion: both deflations against each other and a 50-digit
reference."""

from __future__ import annotations

import numpy as np
import pytest
from quadratics import free, upper_spectrum

from modal import solve
from modal.deflation import Projector, deflate_by_similarity, transposed_chain
from modal.state import Quadratic, companion


@pytest.mark.parametrize(
    ("m", "coupled", "zeros"), [(1, False, 2), (2, False, 4), (2, True, 2), (3, True, 4)]
)
def test_deflations_agree_with_fifty_digits(m: int, coupled: bool, zeros: int) -> None:
    system = free(8, m, seed=10 * m + coupled, coupled=coupled)
    reference = upper_spectrum(system)
    # K V is zero to round-off only, and a Jordan block of size two splits by its square root.
    elastic = reference[np.abs(reference) > 1e-6 * np.abs(reference).max()]
    found = solve(system, k=len(elastic), backend="dense")
    assert found.deflated == zeros
    np.testing.assert_allclose(found.eigenvalues, elastic, rtol=1e-9)
    assert 2 * len(elastic) + zeros == 2 * system.n


@pytest.mark.parametrize("backend", ["slepc", "scipy"])
@pytest.mark.parametrize(("m", "coupled"), [(1, False), (3, False), (3, True), (6, False)])
def test_sparse_projection_agrees_with_dense_transformation(
    backend: str, m: int, coupled: bool
) -> None:
    system = free(70, m, seed=m, coupled=coupled)
    dense = solve(system, k=6, backend="dense")
    sparse = solve(system, k=6, backend=backend)
    np.testing.assert_allclose(sparse.eigenvalues, dense.eigenvalues, rtol=1e-9)
    assert sparse.deflated == dense.deflated == system.null_chain.count


def test_transformation_leaves_a_matrix_two_smaller() -> None:
    system = free(40, 1, seed=7)
    A, B = companion(system.M.toarray(), system.C.toarray(), system.K.toarray())
    matrix = deflate_by_similarity(A, B, system.null_chain.right).matrix
    assert matrix.shape == (78, 78)
    left = np.sort(np.abs(np.linalg.eigvals(matrix)))
    np.testing.assert_allclose(
        left[::2], np.abs(solve(system, k=39, backend="dense").eigenvalues), rtol=1e-7
    )


def test_projector_is_the_spectral_one_on_both_sides() -> None:
    """P² = P, and P commutes with B⁻¹A: only then are the other eigenvalues untouched."""
    system = free(30, 2, seed=3, coupled=False)
    quadratic, chain = Quadratic(system), system.null_chain
    for q, c in ((quadratic, chain), (quadratic.transposed, transposed_chain(quadratic, chain))):
        A, B = companion(q.M.toarray(), q.C.toarray(), q.K.toarray())
        P = Projector(q, c)(np.eye(60))
        S = np.linalg.solve(B, A)
        np.testing.assert_allclose(P @ P, P, atol=1e-11)
        np.testing.assert_allclose(P @ S, S @ P, atol=1e-10 * np.abs(S).max())
        np.testing.assert_allclose(P @ c.right, 0.0, atol=1e-11)
