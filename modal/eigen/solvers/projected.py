"""The lowest modes of a small dense projection of an instant, right and left vectors.

The zero eigenvalues of a free body are removed from it; its null fields are then the first
coordinates, which the stiffness does not reach.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from assembly.errors import ConvergenceError
from modal.eigen.deflation import deflate_by_similarity
from modal.eigen.double_eigenvalues import separated
from modal.eigen.solvers.skew import largest_of_skew
from modal.types import Array, Complex

ROUND_OFF = 1e-15  # of the largest eigenvalue of the mass: below it a shape has none
LEAST = 1e-6  # of the fourth frequency: least one that scales a coordinate


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
    T, frequency = _coordinates(M, K)
    E, S = T.T @ C @ T, T.T @ K @ T
    # States (Ωp, v), q = T p: skew but for damping, circulatory forces and what is unstable.
    A = np.zeros((2 * len(S), 2 * len(S)))
    A[: len(S), len(S) :] = np.diag(frequency)
    A[len(S) :, : len(S)] = -S / frequency
    A[len(S) :, len(S) :] = -E
    deflated = None
    if zeros:
        chain = _null_chain(T.T @ M[:, :null], E, S, zeros)
        chain[: len(S)] *= frequency[:, None]
        deflated = deflate_by_similarity(A, np.eye(len(A)), chain)
        A = deflated.matrix
    try:
        lam, Y, Z = la.eig(A, left=True, check_finite=False)
    except (la.LinAlgError, ValueError) as fault:
        raise ConvergenceError(f"the projected problem failed: {fault}", None) from None
    lam, Z, Y = separated(lam, Z, Y, float(np.linalg.norm(A)))
    keep = np.flatnonzero(lam.imag >= 0.0)
    keep = keep[np.argsort(np.abs(lam[keep]), kind="stable")[:k]]
    lam, Y, Z = lam[keep] + 0j, Y[:, keep], Z[:, keep]
    if deflated is not None:
        Y = deflated.lift_left(la.solve(deflated.B.T, Y))
        Z = deflated.lift(lam, Z)
    return lam, T @ (Z[: len(S)] / frequency[:, None]) + 0j, T @ Y[len(S) :] + 0j


def _coordinates(M: Array, K: Array) -> tuple[Array, Array]:
    """T (m, p) with TᵀMT = I that makes the symmetric part of K diagonal, and its frequencies."""
    sizes, U = la.eigh(0.5 * (M + M.T))
    keep = sizes > ROUND_OFF * sizes[-1]
    T = U[:, keep] / np.sqrt(sizes[keep])
    squares, Z = la.eigh(0.5 * T.T @ (K + K.T) @ T)
    frequency = np.sqrt(np.abs(squares))
    least = LEAST * frequency[np.argsort(frequency)[min(3, len(frequency) - 1)]]
    return T @ Z, np.maximum(frequency, max(least, np.finfo(float).tiny))


def _null_chain(V: Array, C: Array, K: Array, zeros: int) -> Array:
    """The Jordan chains (2m, zeros) of the zero eigenvalues: (V, 0), then (w, V c).

    K w = −C V c, for the combinations c of the null fields V with VᵀCV c = 0.
    """
    _, _, Zt = la.svd(V.T @ C @ V)
    c = Zt[2 * V.shape[1] - zeros :].T
    w = -np.linalg.solve(K + np.linalg.norm(K) * V @ V.T, C @ V @ c)  # M is I: V is orthonormal
    return np.vstack([np.hstack([V, w]), np.hstack([0.0 * V, V @ c])])


def _factor(A: Array) -> Array:
    """N with NNᵀ = A: Cholesky's, or from eigenvectors where A is semidefinite to round-off."""
    N, info = la.lapack.dpotrf(A, lower=1, clean=1)
    if info == 0:
        return np.asarray(N)
    sizes, U = la.eigh(A)
    return np.asarray(U * np.sqrt(np.maximum(sizes, 0.0)))
