"""Quadratic pencils λ²M + λC + K of P instants, as batches of real matrices (P, m, m)."""

from __future__ import annotations

import numpy as np

from modal.types import Array, Complex

Triple = tuple[Array, Array, Array]


def product(A: Array, X: Complex) -> Complex:
    """Real matrices (P, m, m) times complex columns (P, m, K), in real arithmetic."""
    wide: Array = A @ _parts(X)
    return wide.view(complex)


def solved(A: Array, X: Complex) -> Complex:
    """A⁻¹ of complex columns (P, m, K), in real arithmetic."""
    return np.ascontiguousarray(np.linalg.solve(A, _parts(X))).view(complex)


def _parts(X: Complex) -> Array:
    """Real and imaginary parts of the columns, in turn, (P, m, 2K)."""
    return np.ascontiguousarray(X, dtype=complex).view(float)


def quadratic(matrices: Triple, lam: Complex, Q: Complex) -> Complex:
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
    """
    P, m, _ = M.shape
    inverse = np.zeros((P, 2 * m, 2 * m))
    inverse[:, :m] = -np.linalg.solve(K, np.concatenate([C, M], axis=2))
    inverse[:, m:, :m] = np.eye(m)
    # The reciprocals of the eigenvalues: the lowest modes are the largest.
    reciprocal, X = np.linalg.eig(inverse)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.where(reciprocal != 0.0, 1.0 / reciprocal, np.inf)
    lower = values.imag < 0.0
    order = np.argsort(np.where(lower, np.inf, np.abs(values)), axis=1, kind="stable")[:, :count]
    lam = np.take_along_axis(values, order, 1).astype(complex)
    if not np.all(np.isfinite(lam)) or np.take_along_axis(lower, order, 1).any():
        return None
    # Rows of X⁻¹ are left vectors yᴴ of [[−K⁻¹C, −K⁻¹M], [I, 0]]: u = K⁻ᵀ y₁. LAPACK returns pairs
    # x̄, x in this order. With the real parts of x and the imaginary ones in their places all is
    # real, and the row of x is half that of the first minus i/2 times that of the second.
    second = reciprocal.imag < 0.0
    parts = np.where(second[:, None], X.imag, X.real)
    paired = np.take_along_axis(second, order, 1)
    places = np.concatenate([order, order - paired], axis=1)
    unit = np.zeros((P, 2 * m, places.shape[1]))
    np.put_along_axis(unit, places[:, None], 1.0, axis=1)
    own, first = np.split(np.linalg.solve(transposed(parts), unit)[:, :m], 2, axis=2)
    rows = np.where(paired[:, None], 0.5 * (first - 1j * own), own)
    q = np.take_along_axis(X[:, :m], order[:, None], 2).astype(complex)
    u = solved(transposed(K), rows.conj())
    return lam, q / np.linalg.norm(q, axis=1, keepdims=True), u
