"""What complex PETSc builds need: real subspaces from complex Schur vectors."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from modal.solvers.slepc import closed_under_conjugation, real_span


def test_a_last_value_without_its_partner_is_left_out() -> None:
    pairs = np.array([3.0, 2.0 + 1.0j, 2.0 - 1.0j, 1.0j, -1.0j])
    assert closed_under_conjugation(pairs) == 5
    assert closed_under_conjugation(pairs[:4]) == 3
    assert closed_under_conjugation(np.array([1.0j, 1.0 + 1.0j])) == 0
    doubled = np.array([1.0j, 1.0j, -1.0j, 0.5])  # the second of a double pair has no partner
    assert closed_under_conjugation(doubled) == 0
    assert closed_under_conjugation(np.array([1.0j, -1.0j, 1.0j])) == 2


def test_the_real_span_of_schur_vectors_is_the_invariant_subspace() -> None:
    """Leading complex Schur vectors of a real matrix, of pairs and a real value, 1e-12."""
    A = np.random.default_rng(5).standard_normal((30, 30))
    T, Z = la.schur(A, output="complex")
    values = np.diag(T)
    closed = [m for m in range(1, 12) if closed_under_conjugation(values[:m]) == m]
    assert closed
    for m in closed:
        basis = real_span(Z[:, :m])
        assert basis.shape == (30, m)
        image = A @ basis
        assert np.linalg.norm(image - basis @ (basis.T @ image)) < 1e-12 * np.linalg.norm(A)
        assert np.abs(basis.T @ basis - np.eye(m)).max() < 1e-12
