"""The dense reference: LAPACK on the scaled first-order form of an instant.

Conservative with positive definite stiffness K = LLᵀ, L⁻¹ML⁻ᵀ = NNᵀ, G = L⁻¹CL⁻ᵀ: in the
coordinates (Lᵀq, NᵀLᵀv) the inverse state operator is the skew matrix S = [[−G, −N], [Nᵀ, 0]], S y
= y/λ, so iS is Hermitian and every eigenvalue is exactly imaginary; where G = 0 they are 1/i times
the singular values of N. A semidefinite one with plain
zeros is brought to that form. Otherwise the pencil, deflated by the 2012 paper's transformation
when there is a null chain, is solved for 1/λ, which favours the small |λ| that are wanted.

Some eigenpairs of a Hermitian matrix: LAPACK's zheevr leaves its fast method, multiple relatively
robust representations (Dhillon and Parlett, Linear Algebra Appl. 387 (2004) 1), for bisection and
inverse iteration where not all eigenpairs are asked for. Here dstemr, which takes a range, follows
the reduction to tridiagonal form: up to twice as fast, but not with double eigenvalues.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from assembly.errors import ConvergenceError
from assembly.system.null_chain import NullChain
from modal.eigen.deflation import deflate_by_similarity
from modal.eigen.quadratic import Quadratic, companion, from_parts, in_parts
from modal.eigen.spectrum import Pairs, levels, separated, sizes
from modal.eigen.tolerances import EPS, GROUP, ROUND_OFF, ZERO
from modal.types import Array, Complex


def dimensionless(quadratic: Quadratic) -> tuple[Array, Array, Array, float]:
    """Dense M, C, K of the scaled quadratic in units of ‖M‖ and the frequency scale γ, λ = γλ̂."""
    m, _, _ = quadratic.norms
    gamma = quadratic.frequency_scale
    M, C, K = (A.toarray() for A in (quadratic.scaled.M, quadratic.scaled.C, quadratic.scaled.K))
    return M / m, C / (gamma * m), K / (gamma**2 * m), gamma


def solve_dense(quadratic: Quadratic, chain: NullChain | None) -> Pairs:
    """All eigenpairs with Im λ ≥ 0, smallest |λ| first."""
    n = quadratic.n
    if chain is not None and chain.count == 2 * n:
        nothing = np.zeros((n, 0), dtype=complex)
        return Pairs(np.zeros(0, dtype=complex), nothing, "none", "zeros only", left=nothing)
    M, C, K, gamma = dimensionless(quadratic)
    d = quadratic.scaling
    if quadratic.conservative:
        null = np.zeros((n, 0)) if chain is None else chain.null
        found = definite_but_for(null / d[:, None], M, C, K)
        if found is not None:
            theta, X = found
            X = d[:, None] * X
            return Pairs(1j * gamma * theta, X, "Cholesky", "dense Hermitian").nearest(0.0)
    states = None
    if chain is not None:
        states = np.vstack([chain.right[:n] / d[:, None], chain.right[n:] / (gamma * d[:, None])])
    lam, X, Y = general(M, C, K, states)
    X, Y = d[:, None] * X, d[:, None] * Y
    return Pairs(gamma * lam, X, "LU", "dense LAPACK", left=Y).upper().nearest(0.0)


def definite(M: Array, C: Array, K: Array, k: int | None = None) -> tuple[Array, Complex] | None:
    """Frequencies ω > 0, ascending, and vectors of λ = iω; None unless M and K are definite.

    M, K (n, n) symmetric, C skew, dense. k: how many of the smallest.
    """
    n = len(M)
    L, indefinite = la.lapack.dpotrf(K, lower=1, clean=1)
    if indefinite:
        return None
    half = la.solve_triangular(L, M, lower=True)
    mass = la.solve_triangular(L, half.T, lower=True)
    N, indefinite = la.lapack.dpotrf(0.5 * (mass + mass.T), lower=1, clean=1)
    if indefinite:
        return None
    if not C.any():
        Y, tau, _ = la.svd(N)
        return 1.0 / tau[:k], la.solve_triangular(L, Y[:, :k], lower=True, trans="T") + 0j
    G = la.solve_triangular(L, la.solve_triangular(L, C, lower=True).T, lower=True).T
    S = np.zeros((2 * n, 2 * n))
    S[:n, :n] = -0.5 * (G - G.T)
    S[:n, n:] = -N
    S[n:, :n] = N.T
    tau, Y = largest_of_skew(S, min(k or n, n))
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
    if m == 0:
        return definite(M, C, K, k)
    MV, CV = M @ V, C @ V
    if np.abs(V.T @ CV).max() > ZERO * np.linalg.norm(np.abs(C) @ np.abs(V)) * np.abs(V).max():
        return None
    pins = la.qr(V.T, mode="economic", pivoting=True)[2][:m]
    rest = np.setdiff1d(np.arange(n), pins)
    L = la.cholesky(V.T @ MV, lower=True)
    mass = la.solve_triangular(L, MV[rest].T, lower=True)
    coupling = -la.solve_triangular(L, CV[rest].T, lower=True)
    inner = np.ix_(rest, rest)
    cross = mass.T @ coupling
    M, C = M[inner] - mass.T @ mass, C[inner] - cross + cross.T
    found = definite(M, C, K[inner] + coupling.T @ coupling, k)
    if found is None:
        return None
    theta, b = found
    X = np.zeros((n, len(theta)), dtype=complex)
    X[rest] = b
    return theta, X - V @ la.solve_triangular(
        L, mass @ b + coupling @ b / (1j * theta), lower=True, trans="T"
    )


def general(
    M: Array,
    C: Array,
    K: Array,
    chain: Array | None = None,
    singular: float = ROUND_OFF,
    first: float = 2.0**-4,
) -> tuple[Complex, Complex, Complex]:
    """All finite eigenvalues, right and left vectors (n, ·).

    For 1/λ, which is accurate for the small λ, without C for 1/λ²; for a singular K, for 1/(λ − σ)
    with σ between the small and the large ones. chain (2n, r): the chains of zero eigenvalues,
    which are left out. singular: reciprocal condition of K below which it is. first: the least σ
    that is tried, of the frequency scale. Raises ConvergenceError.
    """
    n = len(M)
    A, B = companion(M, C, K)
    deflated = None
    if chain is not None:
        deflated = deflate_by_similarity(A, B, chain / np.linalg.norm(chain, axis=0))
        A, B = deflated.A, deflated.B
    factor, shift = _factored(K if deflated is None else A, singular), 0.0
    by_halves = factor is not None and deflated is None
    squares = by_halves and not C.any()
    while factor is None and shift < 1.0:
        shift = 2.0 * shift or first
        factor = _factored(A - shift * B, ROUND_OFF)
    if factor is None:
        raise ConvergenceError("dense LAPACK: the equations have no determined eigenvalues", None)
    try:
        if squares:
            inverse = -la.lu_solve(factor, M)
        elif by_halves:
            inverse = np.eye(2 * n, k=-n)
            inverse[:n] = -la.lu_solve(factor, np.hstack([C, M]))
        else:
            inverse = la.lu_solve(factor, B)
        mu, Y, Z = la.eig(inverse, left=True, check_finite=False)
    except (la.LinAlgError, ValueError) as fault:
        raise ConvergenceError(f"dense LAPACK: {fault}", None) from fault
    mu, Z, Y = separated(mu, Z, Y, float(np.linalg.norm(inverse)))
    # A smaller 1/(λ − σ) is that of an infinite λ.
    finite = np.abs(mu) > 4.0 * EPS * np.abs(mu).max(initial=0.0)
    mu, Y, Z = mu[finite], Y[:, finite], Z[:, finite]
    if squares:
        mu = np.sqrt(mu + 0j)
        mu, Y, Z = np.concatenate([mu, -mu]), np.tile(Y, 2), np.tile(Z, (2, 2))
    lam = shift + 1.0 / mu + 0j
    Y = from_parts(la.lu_solve(factor, in_parts(-Y[:n] if by_halves else Y), trans=1))
    if deflated is not None:
        Y, Z = deflated.lift_left(Y), deflated.lift(lam, Z)
    # The larger of the two halves of the state carries the shape with the smaller error.
    small = np.abs(lam) < 1.0
    X = np.where(small, Z[:n], Z[n:] / np.where(small, 1.0, lam))
    return lam, X, Y[-n:]


def _factored(A: Array, least: float) -> tuple[Array, Array] | None:
    """LU factors, or None of a matrix whose reciprocal condition is at most `least`."""
    lu, pivots, info = la.lapack.dgetrf(A)
    singular = info != 0 or la.lapack.dgecon(lu, np.linalg.norm(A, 1))[0] <= least
    return None if singular else (lu, pivots)


def lowest(
    M: Array, C: Array, K: Array, k: int, damped: bool, null: int = 0, zeros: int = 0
) -> tuple[Complex, Complex, Complex]:
    """The k lowest λ, Im λ ≥ 0, right and left vectors of a projection (m, m), K next to I.

    damped: overdamped modes are ordered by their shapes. null: number of null fields, the first
    coordinates, which the stiffness does not reach; zeros: of zero eigenvalues, left out.
    """
    gamma = 1.0 / np.sqrt(np.linalg.norm(M, 2))  # next to the lowest frequency
    C = gamma * C
    chain = _null_chain(C, K, null, zeros) if zeros else None
    # An eigenvalue far below the lowest of the others takes the digits of all in 1/λ.
    lam, X, Y = general(gamma**2 * M, C, K, chain, GROUP)
    keep = np.flatnonzero(lam.imag >= 0.0)
    lam, X, Y = gamma * lam[keep], X[:, keep] + 0j, Y[:, keep] + 0j
    size = np.abs(lam)
    if damped:
        size = sizes(lam, *(np.einsum("ij,ij->j", X.conj(), A @ X) for A in (K, M)))
    order = np.lexsort((np.abs(lam), levels(size)))[:k]
    return lam[order], X[:, order], Y[:, order]


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


def eigenpairs_in_order(H: Complex, first: int, last: int) -> tuple[Array, Complex]:
    """The eigenpairs number first … last of H (n, n), ascending from 0; its lower triangle is used.

    Returns
    -------
    values : ndarray, shape (last − first + 1,)
    vectors : ndarray, shape (n, last − first + 1)
        Orthonormal.
    """
    n, count, lapack = len(H), last - first + 1, la.lapack
    by_index = 2  # dstemr: the eigenvalues number … to …
    if n > 1:
        room = int(lapack.zhetrd_lwork(n, lower=1)[0].real)
        reflectors, d, e, tau, failed = lapack.zhetrd(H, lower=1, lwork=room)
        if not failed:
            e = np.append(e, 0.0)
            _, values, Z, failed = lapack.dstemr(d, e, by_index, 0.0, 0.0, first + 1, last + 1)
        if not failed:
            vectors = np.asfortranarray(Z[:, :count], dtype=complex)
            vectors[1:] = lapack.zunmqr(
                "L", "N", reflectors[1:, :-1], tau, vectors[1:], lwork=room
            )[0]
            return values[:count], vectors
    values, vectors = np.linalg.eigh(H)
    return values[first : last + 1], vectors[:, first : last + 1]


def largest_of_skew(S: Array, count: int) -> tuple[Array, Complex]:
    """The `count` largest τ > 0, descending, and vectors of S y = −iτ y for a real skew S."""
    tau, y = eigenpairs_in_order(1j * S, len(S) - count, len(S) - 1)
    return tau[::-1], y[:, ::-1]
