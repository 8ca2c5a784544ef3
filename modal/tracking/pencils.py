"""Quadratic pencils λ²M + λC + K of P instants, as batches of real matrices (P, m, m)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from modal.types import Array, Complex, Index, Mask

Triple = tuple[Array, Array, Array]


class Applied(Protocol):
    """Matrices of P instants that are multiplied with columns (P, m, K)."""

    def __matmul__(self, X: Array) -> Array: ...


APART = 1e-6  # of |λ|: other eigenvalues are at least so far from one whose vector is solved for
RESIDUAL = 1e-11  # of |λ|²‖M‖ + |λ|‖C‖ + ‖K‖: largest residual of a vector that is solved for


def product(A: Applied, X: Complex) -> Complex:
    """Real matrices (P, m, m) times complex columns (P, m, K), in real arithmetic."""
    wide = A @ _parts(X)
    return wide.view(complex)


def solved(A: Array, X: Complex) -> Complex:
    """A⁻¹ of complex columns (P, m, K), in real arithmetic."""
    return np.ascontiguousarray(np.linalg.solve(A, _parts(X))).view(complex)


def _parts(X: Complex) -> Array:
    """Real and imaginary parts of the columns, in turn, (P, m, 2K)."""
    return np.ascontiguousarray(X, dtype=complex).view(float)


def quadratic(matrices: Sequence[Applied], lam: Complex, Q: Complex) -> Complex:
    """(λ²M + λC + K) q of each mode, (P, m, K)."""
    M, C, K = matrices
    row = lam[:, None, :]
    out = product(M, Q)
    out *= row
    out += product(C, Q)
    out *= row
    out += product(K, Q)
    return out


def pairing(M: Array, C: Array, lam: Complex, U: Complex, Q: Complex) -> Complex:
    """uᴴ(2λM + C)q of each mode, (P, K)."""
    image = product(M, Q)
    image *= 2.0 * lam[:, None, :]
    image += product(C, Q)
    return np.asarray((U.conj() * image).sum(axis=1))


def transposed(A: Array) -> Array:
    """Of each instant."""
    return A.swapaxes(-1, -2)


def norms(A: Array) -> Array:
    """Frobenius norms (P,)."""
    flat = A.reshape(len(A), -1)
    return np.asarray(np.sqrt(np.einsum("pi,pi->p", flat, flat)))


def lowest_eigenpairs(
    M: Array, C: Array, K: Array, count: int
) -> tuple[Complex, Complex, Complex] | None:
    """The `count` eigenpairs of smallest |λ|, Im λ ≥ 0, of each instant: values (P, count), right
    vectors of unit norm and left ones (P, m, count); None where an instant has fewer.

    Raises LinAlgError where K, or the matrix of the right vectors, is singular.

    One solve with T(λ) = λ²M + λC + K at a computed λ gives its vector (Peters and Wilkinson, SIAM
    Rev. 21 (1979) 339). T is bordered, so that the solve is regular however singular T is. Instants
    where an eigenvalue has a near one, or a vector a large residual, take all eigenvectors of
    LAPACK.
    """
    P, m, _ = M.shape
    inverse = np.zeros((P, 2 * m, 2 * m))
    inverse[:, :m] = -np.linalg.solve(K, np.concatenate([C, M], axis=2))
    inverse[:, m:, :m] = np.eye(m)
    values, order = _lowest(np.asarray(np.linalg.eigvals(inverse), dtype=complex), count)
    lam = np.take_along_axis(values, order, 1)
    if not np.all(np.isfinite(lam)) or (lam.imag < 0.0).any():
        return None
    gap = np.abs(lam[:, :, None] - values[:, None, :])
    np.put_along_axis(gap, order[:, :, None], np.inf, axis=2)
    sound = (gap.min(axis=2) > APART * np.abs(lam)).all(axis=1)
    alone = np.flatnonzero(sound)
    q, u = np.empty((2, P, m, count), dtype=complex)
    if alone.size:
        q[alone], u[alone], sound[alone] = _of_single(M[alone], C[alone], K[alone], lam[alone])
    rest = np.flatnonzero(~sound)
    if rest.size:
        lam[rest], q[rest], u[rest] = _of_all_vectors(inverse[rest], K[rest], count)
    return lam, q, u


def _of_single(M: Array, C: Array, K: Array, lam: Complex) -> tuple[Complex, Complex, Mask]:
    """Right and left vectors (P, m, k) of simple eigenvalues (P, k), and the instants (P,) where
    their residuals are small."""
    P, m, _ = M.shape
    powers = np.stack([lam**2, lam, np.ones_like(lam)], axis=2)
    flat = np.stack([A.reshape(P, -1) for A in (M, C, K)], axis=1)
    size = np.abs(powers) @ np.stack([norms(A) for A in (M, C, K)], axis=1)[..., None]
    # [[T, sb], [sbᵀ, 0]] (x, μ) = (0, s): bᵀx = 1, and the residual of x is −sμb, |b| = 1.
    bordered = np.zeros((*lam.shape, m + 1, m + 1), dtype=complex)
    for part, weights in ((bordered.real, powers.real), (bordered.imag, powers.imag)):
        part[..., :m, :m] = (weights @ flat).reshape(*lam.shape, m, m)
    start = np.random.default_rng(31).standard_normal(m)
    border = size * (start / np.linalg.norm(start))
    bordered[..., :m, m], bordered[..., m, :m] = border, border
    load = np.zeros((*lam.shape, m + 1, 1), dtype=complex)
    load[..., m, :] = size
    sound, vectors = np.ones(P, dtype=bool), []
    for B in (bordered, bordered.swapaxes(2, 3)):
        solution = np.linalg.solve(B, load)[..., 0]
        x, residual = solution[..., :m], np.abs(solution[..., m])
        length = np.linalg.norm(x, axis=2)
        sound &= (residual <= RESIDUAL * length).all(axis=1)
        vectors.append((x / length[..., None]).swapaxes(1, 2))
    return vectors[0], vectors[1].conj(), sound


def _lowest(reciprocal: Complex, count: int) -> tuple[Complex, Index]:
    """The eigenvalues (P, 2m) from their reciprocals, and the places of those of smallest |λ|, Im λ
    ≥ 0: the largest of the inverse problem."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(reciprocal != 0.0, 1.0 / reciprocal, np.inf)
    size = np.where(values.imag < 0.0, np.inf, np.abs(values))
    return values, np.argsort(size, axis=1, kind="stable")[:, :count]


def _of_all_vectors(inverse: Array, K: Array, count: int) -> tuple[Complex, Complex, Complex]:
    """As `lowest_eigenpairs`, from all eigenvectors of [[−K⁻¹C, −K⁻¹M], [I, 0]]."""
    m = K.shape[1]
    reciprocal, X = (np.asarray(part, dtype=complex) for part in np.linalg.eig(inverse))
    values, order = _lowest(reciprocal, count)
    # Rows of X⁻¹ are left vectors yᴴ: u = K⁻ᵀ y₁.
    unit = np.zeros((*X.shape[:2], count))
    np.put_along_axis(unit, order[:, None], 1.0, axis=1)
    rows = np.linalg.solve(transposed(X), unit.astype(complex))
    q = np.take_along_axis(X[:, :m], order[:, None], 2)
    u = solved(transposed(K), rows[:, :m].conj())
    return np.take_along_axis(values, order, 1), q / np.linalg.norm(q, axis=1, keepdims=True), u
