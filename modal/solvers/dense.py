"""The dense reference: LAPACK on the scaled first-order form of an instant.

Conservative with positive definite stiffness K = LLᵀ, L⁻¹ML⁻ᵀ = NNᵀ, G = L⁻¹CL⁻ᵀ: in the
coordinates (Lᵀq, NᵀLᵀv) the inverse state operator is the skew matrix S = [[−G, −N], [Nᵀ, 0]], S y
= y/λ, so iS is Hermitian and every eigenvalue is exactly imaginary. Otherwise the pencil, deflated
by the 2012 paper's transformation when there is a null chain, is solved for 1/λ, which favours the
small |λ| that are wanted.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from assembly.null_chain import NullChain
from modal.deflation import deflate_by_similarity
from modal.solvers.pairs import Pairs
from modal.state import Complex, Quadratic, Real, companion

SINGULAR = 1e-14  # reciprocal condition below which 1/λ is not formed


def equilibrated(quadratic: Quadratic) -> tuple[Real, Real, Real, Real, float]:
    """Dense M, C, K of the scaled problem, the column scaling d and the frequency scale γ.

    q = d·q̂ makes the diagonal of K/‖K‖ + M/‖M‖ one (lengths and rotations then compare), λ = γλ̂.
    """
    m, _, k = quadratic.norms
    gamma = quadratic.frequency_scale
    M, C, K = (A.toarray() for A in (quadratic.M, quadratic.C, quadratic.K))
    diagonal = np.abs(np.diag(K)) / max(k, np.finfo(float).tiny) + np.abs(np.diag(M)) / m
    d = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    outer = np.outer(d, d) / (gamma**2 * m)
    return M * outer * gamma**2, C * outer * gamma, K * outer, d, gamma


def solve_dense(quadratic: Quadratic, chain: NullChain | None, k: int | None = None) -> Pairs:
    """All eigenpairs with Im λ ≥ 0 (or the k smallest when definite), smallest |λ| first."""
    M, C, K, d, gamma = equilibrated(quadratic)
    if quadratic.conservative and chain is None:
        found = definite(M, C, K, k)
        if found is not None:
            theta, X = found
            return Pairs(1j * gamma * theta, d[:, None] * X, "Cholesky", "dense Hermitian").nearest(
                0.0
            )
    A, B = companion(M, C, K)
    eigenvalues, X, how = _general(A, B, chain, d, gamma)
    pairs = Pairs(gamma * eigenvalues, d[:, None] * X, how, "dense LAPACK")
    return pairs.upper().nearest(0.0)


def definite(M: Real, C: Real, K: Real, k: int | None = None) -> tuple[Real, Complex] | None:
    """Frequencies ω > 0, ascending, and vectors of λ = iω; None unless K and M are definite.

    M, K (n, n) symmetric, C skew, dense. k: how many of the smallest.
    """
    try:
        L = la.cholesky(K, lower=True)
        N = la.cholesky(
            la.solve_triangular(L, la.solve_triangular(L, M, lower=True).T, lower=True), lower=True
        )
    except la.LinAlgError:
        return None
    n = len(M)
    G = la.solve_triangular(L, la.solve_triangular(L, C, lower=True).T, lower=True).T
    S = np.zeros((2 * n, 2 * n), dtype=complex)
    S[:n, :n] = -0.5j * (G - G.T)
    S[:n, n:] = -1j * N
    S[n:, :n] = 1j * N.T
    count = n if k is None else min(k, n)
    tau, Y = la.eigh(S, subset_by_index=[2 * n - count, 2 * n - 1], driver="evr", overwrite_a=True)
    X = la.solve_triangular(L, Y[:n, ::-1], lower=True, trans="T")
    return 1.0 / tau[::-1], X


def _general(
    A: Real, B: Real, chain: NullChain | None, d: Real, gamma: float
) -> tuple[Complex, Complex, str]:
    n = len(d)
    lift = None
    if chain is not None:
        scaled = np.vstack([chain.right[:n] / d[:, None], chain.right[n:] / (gamma * d[:, None])])
        deflated = deflate_by_similarity(A, B, scaled / np.linalg.norm(scaled, axis=0))
        A, B, lift = deflated.A, deflated.B, deflated.lift
    lu, _, info = la.lapack.dgetrf(A)
    rcond = la.lapack.dgecon(lu, np.linalg.norm(A, 1))[0] if info == 0 else 0.0
    if rcond > SINGULAR:
        inverse, Z = la.eig(la.solve(A, B), overwrite_a=True, check_finite=False)
        finite = np.abs(inverse) > 1e-15 * np.abs(inverse).max(initial=0.0)
        eigenvalues, Z = 1.0 / inverse[finite], Z[:, finite]
    else:
        eigenvalues, Z = la.eig(A, B)
        finite = np.isfinite(eigenvalues)
        eigenvalues, Z = eigenvalues[finite], Z[:, finite]
    if lift is not None:
        Z = lift(eigenvalues, Z)
    # The larger of the two halves of the state carries the shape with the smaller error.
    small = np.abs(eigenvalues) < 1.0
    X = np.where(small[None, :], Z[:n], Z[n:] / np.where(small, 1.0, eigenvalues)[None, :])
    return eigenvalues, X, "LU" if rcond > SINGULAR else "none"
