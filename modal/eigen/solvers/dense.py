"""The dense reference: LAPACK on the scaled first-order form of an instant.

Conservative with positive definite stiffness K = LLᵀ, L⁻¹ML⁻ᵀ = NNᵀ, G = L⁻¹CL⁻ᵀ: in the
coordinates (Lᵀq, NᵀLᵀv) the inverse state operator is the skew matrix S = [[−G, −N], [Nᵀ, 0]], S y
= y/λ, so iS is Hermitian and every eigenvalue is exactly imaginary. A semidefinite one with plain
zeros is brought to that form. Otherwise the pencil, deflated by the 2012 paper's transformation
when there is a null chain, is solved for 1/λ, which favours the small |λ| that are wanted.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from assembly.errors import ConvergenceError
from assembly.system.null_chain import NullChain
from modal.eigen.deflation import deflate_by_similarity
from modal.eigen.quadratic import Quadratic, companion, from_parts, in_parts
from modal.eigen.solvers.pairs import Pairs
from modal.eigen.solvers.skew import largest_of_skew
from modal.types import Array, Complex

SINGULAR = 1e-14  # reciprocal condition below which 1/λ is not formed
COUPLED = 1e-12  # of its terms' size: VᵀCV that is not round-off


def dimensionless(quadratic: Quadratic) -> tuple[Array, Array, Array, float]:
    """Dense M, C, K of the scaled quadratic in units of ‖M‖ and the frequency scale γ, λ = γλ̂."""
    m, _, _ = quadratic.norms
    gamma = quadratic.frequency_scale
    M, C, K = (A.toarray() for A in (quadratic.scaled.M, quadratic.scaled.C, quadratic.scaled.K))
    return M / m, C / (gamma * m), K / (gamma**2 * m), gamma


def solve_dense(quadratic: Quadratic, chain: NullChain | None) -> Pairs:
    """All eigenpairs with Im λ ≥ 0, smallest |λ| first."""
    if chain is not None and chain.count == 2 * quadratic.n:
        nothing = np.zeros((quadratic.n, 0), dtype=complex)
        return Pairs(np.zeros(0, dtype=complex), nothing, "none", "zeros only", left=nothing)
    M, C, K, gamma = dimensionless(quadratic)
    d = quadratic.scaling
    if quadratic.conservative:
        if chain is None:
            found = definite(M, C, K)
        else:
            found = definite_but_for(chain.null / d[:, None], M, C, K)
        if found is not None:
            theta, X = found
            X = d[:, None] * X
            return Pairs(1j * gamma * theta, X, "Cholesky", "dense Hermitian").nearest(0.0)
    return _general(M, C, K, chain, d, gamma).upper().nearest(0.0)


def definite(M: Array, C: Array, K: Array, k: int | None = None) -> tuple[Array, Complex] | None:
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
    S = np.zeros((2 * n, 2 * n))
    S[:n, :n] = -0.5 * (G - G.T)
    S[:n, n:] = -N
    S[n:, :n] = N.T
    tau, Y = largest_of_skew(S, n if k is None else min(k, n))
    return 1.0 / tau, la.solve_triangular(L, Y[:n], lower=True, trans="T")


def definite_but_for(
    V: Array, M: Array, C: Array, K: Array, k: int | None = None
) -> tuple[Array, Complex] | None:
    """As `definite` for K ≥ 0 with KV = 0, VᵀCV = 0, V (n, m), without the 2m zeros; else None.

    With q = V a + E b, E the unit vectors of all but m well-chosen DOFs, the rows of V,
    divided by λ, read a = −(VᵀMV)⁻¹(VᵀME + VᵀCE/λ) b. What is left for b is a problem of size n − m
    of the same structure, with EᵀKE + (VᵀCE)ᵀ(VᵀMV)⁻¹VᵀCE as stiffness, positive definite.
    """
    n, m = V.shape
    MV, CV = M @ V, C @ V
    if np.abs(V.T @ CV).max() > COUPLED * np.linalg.norm(np.abs(C) @ np.abs(V)) * np.abs(V).max():
        return None
    pins = la.qr(V.T, mode="economic", pivoting=True)[2][:m]
    rest = np.setdiff1d(np.arange(n), pins)
    L = la.cholesky(V.T @ MV, lower=True)
    mass = la.solve_triangular(L, MV[rest].T, lower=True)
    coupling = -la.solve_triangular(L, CV[rest].T, lower=True)
    inner = np.ix_(rest, rest)
    cross = mass.T @ coupling
    found = definite(
        M[inner] - mass.T @ mass,
        C[inner] - cross + cross.T,
        K[inner] + coupling.T @ coupling,
        k,
    )
    if found is None:
        return None
    theta, b = found
    X = np.zeros((n, len(theta)), dtype=complex)
    X[rest] = b
    return theta, X - V @ la.solve_triangular(
        L, mass @ b + coupling @ b / (1j * theta), lower=True, trans="T"
    )


def _general(
    M: Array, C: Array, K: Array, chain: NullChain | None, d: Array, gamma: float
) -> Pairs:
    """All eigenpairs of the pencil, left vectors too, by LAPACK.

    For 1/λ, which is accurate for the small λ; for a singular K by QZ.
    """
    n = len(d)
    A, B = companion(M, C, K)
    deflated = None
    if chain is not None:
        scaled = np.vstack([chain.right[:n] / d[:, None], chain.right[n:] / (gamma * d[:, None])])
        deflated = deflate_by_similarity(A, B, scaled / np.linalg.norm(scaled, axis=0))
        A, B = deflated.A, deflated.B

    def pairs(triple: tuple[Complex, Complex, Complex], how: str) -> Pairs:
        lam, Y, Z = triple
        if deflated is not None:
            Y, Z = deflated.lift_left(Y), deflated.lift(lam, Z)
        # The larger of the two halves of the state carries the shape with the smaller error.
        small = np.abs(lam) < 1.0
        X = np.where(small[None, :], Z[:n], Z[n:] / np.where(small, 1.0, lam)[None, :])
        return Pairs(lam, X, how, "dense LAPACK", left=Y[-n:])

    inverse = _inverse(M, C, K) if deflated is None else _inverse_of_pencil(A, B)
    found = pairs(_qz(A, B), "none") if inverse is None else pairs(inverse, "LU")
    return found.rescaled(gamma, d)


def _inverse(M: Array, C: Array, K: Array) -> tuple[Complex, Complex, Complex] | None:
    """Finite eigenvalues, the shapes' part (n, m) of the left vectors, and right vectors (2n, m),
    from A⁻¹B = [[−K⁻¹C, −K⁻¹M], [I, 0]]; None for a singular K."""
    n = len(M)
    lu, pivots, info = la.lapack.dgetrf(K)
    if info != 0 or la.lapack.dgecon(lu, np.linalg.norm(K, 1))[0] <= SINGULAR:
        return None
    inverse = np.zeros((2 * n, 2 * n))
    inverse[:n] = -la.lu_solve((lu, pivots), np.hstack([C, M]))
    inverse[n:, :n] = np.eye(n)
    values, Y, Z = la.eig(inverse, left=True)
    finite = np.abs(values) > 1e-15 * np.abs(values).max(initial=0.0)
    wide = la.lu_solve((lu, pivots), in_parts(Y[:n, finite]), trans=1)
    return 1.0 / values[finite], -from_parts(wide), Z[:, finite]


def _inverse_of_pencil(A: Array, B: Array) -> tuple[Complex, Complex, Complex] | None:
    """Finite eigenvalues, left and right vectors of A − λB from A⁻¹B; None for a singular A."""
    lu, pivots, info = la.lapack.dgetrf(A)
    if info != 0 or la.lapack.dgecon(lu, np.linalg.norm(A, 1))[0] <= SINGULAR:
        return None
    inverse, Y, Z = la.eig(la.lu_solve((lu, pivots), B), left=True)
    finite = np.abs(inverse) > 1e-15 * np.abs(inverse).max(initial=0.0)
    Y = la.lu_solve((lu, pivots), Y[:, finite], trans=1)
    return 1.0 / inverse[finite], Y, Z[:, finite]


def _qz(A: Array, B: Array) -> tuple[Complex, Complex, Complex]:
    """Finite eigenvalues, left and right vectors of A − λB. Raises ConvergenceError."""
    try:
        eigenvalues, Y, Z = la.eig(A, B, left=True)
    except la.LinAlgError as fault:
        raise ConvergenceError(f"dense LAPACK: {fault}", None) from fault
    finite = np.isfinite(eigenvalues)
    return eigenvalues[finite], Y[:, finite], Z[:, finite]
