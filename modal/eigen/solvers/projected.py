"""The lowest modes of a small dense projection of an instant, right and left vectors.

The stiffness of the projection is next to the identity, so the first-order form is inverted: its
largest eigenvalues 1/λ belong to the lowest modes. The zero eigenvalues of a free body are removed
from it first; its null fields are then the first coordinates, which the stiffness does not reach.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from assembly.errors import ConvergenceError
from modal.eigen.deflation import deflate_by_similarity
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


def general_modes(
    M: Array, C: Array, K: Array, k: int, null: int = 0, zeros: int = 0
) -> tuple[Complex, Complex, Complex]:
    """The k smallest |λ|, Im λ ≥ 0, of (λ²M + λC + K)x = 0, (m, m); right and left vectors.

    null: number of null fields, the first coordinates; zeros: of zero eigenvalues, left out.
    """
    m = len(M)
    gamma = 1.0 / np.sqrt(
        np.linalg.norm(M, 2)
    )  # next to the lowest frequency, since K is next to I
    C = gamma * C
    A, B = companion(gamma**2 * M, C, K)
    deflated = None
    if zeros:
        deflated = deflate_by_similarity(A, B, _null_chain(C, K, null, zeros))
        A, B = deflated.A, deflated.B
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
    if deflated is not None:
        Z, Y = deflated.lift(lam, Z), deflated.lift_left(Y)
    small = np.abs(lam) < 1.0
    X = np.where(small, Z[:m], Z[m:] / np.where(small, 1.0, lam))
    return gamma * lam, X + 0j, Y[m:] + 0j


def _null_chain(C: Array, K: Array, null: int, zeros: int) -> Array:
    """The Jordan chains (2m, zeros) of the zero eigenvalues: null fields V, then (w, V c).

    K w = −C V c, for the combinations c with V^T C V c = 0.
    """
    m, second = len(K), zeros - null
    _, _, Zt = la.svd(C[:null, :null])
    c = Zt[null - second :].T
    chain = np.zeros((2 * m, zeros))
    chain[:null, :null] = np.eye(null)
    chain[null:m, null:] = -la.solve(K[null:, null:], C[null:, :null] @ c)
    chain[m : m + null, null:] = c
    return chain


def _factor(A: Array) -> Array:
    """N with NNᵀ = A: Cholesky's, or from eigenvectors where A is semidefinite to round-off."""
    N, info = la.lapack.dpotrf(A, lower=1, clean=1)
    if info == 0:
        return np.asarray(N)
    sizes, U = la.eigh(A)
    return np.asarray(U * np.sqrt(np.maximum(sizes, 0.0)))
