"""What complex PETSc builds need: real subspaces from complex Schur vectors."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from modal.eigen.solvers.engines import real_span


def test_the_real_span_of_schur_vectors_is_an_invariant_subspace() -> None:
    """Leading complex Schur vectors of a real matrix: pairs, real values, and a member alone."""
    A = np.random.default_rng(5).standard_normal((30, 30))
    T, Z = la.schur(A, output="complex")
    values = np.diag(T)
    sizes = []
    for m in range(1, 14):
        alone = [j for j in range(m) if np.abs(values[:m] - values[j].conj()).min() > 1e-9]
        basis = real_span(Z[:, :m])
        assert basis.shape == (30, m + len(alone))
        image = A @ basis
        assert np.linalg.norm(image - basis @ (basis.T @ image)) < 1e-11 * np.linalg.norm(A)
        assert np.abs(basis.T @ basis - np.eye(basis.shape[1])).max() < 1e-12
        sizes.append(len(alone))
    assert 0 in sizes and 1 in sizes
