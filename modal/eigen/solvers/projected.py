"""The lowest modes of a small dense projection of an instant, right and left vectors.

The stiffness of the projection is next to the identity, so the first-order form is inverted: its
largest eigenvalues 1/λ belong to the lowest modes.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from assembly.errors import ConvergenceError
from modal.eigen.double_eigenvalues import separated
from modal.eigen.quadratic import companion
from modal.eigen.solvers.skew import largest_of_skew
from modal.types import Array, Complex

NEGLIGIBLE = 1e-13  # of the largest |1/λ|: infinite to round-off


def definite_modes(M: Array, C: Array, k: int) -> tuple[Complex, Complex]:
    """The k lowest λ = iω and vectors for stiffness I, M ≥ 0 and a skew C, (m, m)."""
    m = len(M)
    N = _factor(0.5 * (M + M.T))
    S = np.zeros((2 * m, 2 * m))  # as in solvers/dense.py, with L = I
    S[:m, :m] = -0.5 * (C - C.T)
    S[:m, m:] = -N
    S[m:, :m] = N.T
    tau, Y = largest_of_skew(S, min(k, m))
    return 1j / tau, Y[:m]


def general_modes(M: Array, C: Array, K: Array, k: int) -> tuple[Complex, Complex, Complex]:
    """The k smallest |λ|, Im λ ≥ 0, of (λ²M + λC + K)x = 0, (m, m); right and left vectors."""
    m = len(M)
    gamma = 1.0 / np.sqrt(
        np.linalg.norm(M, 2)
    )  # next to the lowest frequency, since K is next to I
    A, B = companion(gamma**2 * M, gamma * C, K)
    try:
        factor = la.lu_factor(A, check_finite=False)
        inverse = la.lu_solve(factor, B, check_finite=False)
        mu, Y, Z = la.eig(inverse, left=True, check_finite=False)
    except (la.LinAlgError, ValueError) as fault:
        raise ConvergenceError(f"the projected problem failed: {fault}", None) from None
    mu, Z, Y = separated(mu, Z, Y, float(np.linalg.norm(inverse)))
    keep = np.flatnonzero(
        (np.abs(mu) > NEGLIGIBLE * np.abs(mu).max(initial=0.0)) & (mu.imag <= 0.0)
    )
    keep = keep[np.argsort(-np.abs(mu[keep]), kind="stable")[:k]]
    lam = 1.0 / mu[keep] + 0j
    Y = la.lu_solve(factor, Y[:, keep], trans=1, check_finite=False)
    Z = Z[:, keep]
    small = np.abs(lam) < 1.0
    X = np.where(small, Z[:m], Z[m:] / np.where(small, 1.0, lam))
    return gamma * lam, X + 0j, Y[m:] + 0j


def _factor(A: Array) -> Array:
    """N with NNᵀ = A: Cholesky's, or from eigenvectors where A is semidefinite to round-off."""
    N, info = la.lapack.dpotrf(A, lower=1, clean=1)
    if info == 0:
        return np.asarray(N)
    sizes, U = la.eigh(A)
    return np.asarray(U * np.sqrt(np.maximum(sizes, 0.0)))
