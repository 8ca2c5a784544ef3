"""The largest eigenvalues of a real skew matrix, exactly imaginary by construction."""

from __future__ import annotations

import numpy as np

from modal.eigen.hermitian import eigenpairs_in_order
from modal.types import Array, Complex

WIDE = 100  # size from which it is first reduced in real arithmetic


def largest_of_skew(S: Array, count: int) -> tuple[Array, Complex]:
    """The `count` largest τ > 0, descending, and vectors of S y = −iτ y for a real skew S.

    A large S is first reduced to the span of the double eigenvectors of SᵀS of largest eigenvalue
    τ²: real arithmetic, several times cheaper. What squaring costs in accuracy the second step
    restores to first order.
    """
    size = len(S)
    if size > WIDE and 3 * count < size:
        Z = np.linalg.eigh(S.T @ S)[1][:, size - 2 * count - 2 :]
        small = Z.T @ (S @ Z)
        tau, y = largest_of_skew(0.5 * (small - small.T), count)
        return tau, Z @ y
    tau, y = eigenpairs_in_order(1j * S, size - count, size - 1)
    return tau[::-1], y[:, ::-1]
