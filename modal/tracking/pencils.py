"""Quadratic pencils λ²M + λC + K of P instants, as batches of real matrices (P, m, m)."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from modal.types import Array, Complex

Triple: TypeAlias = Array | tuple[Array, Array, Array]


def product(A: Array, X: Complex) -> Complex:
    """Real matrices (P, m, m) times complex columns (P, m, K), in real arithmetic."""
    wide = A @ _parts(X)
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
