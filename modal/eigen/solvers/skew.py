"""The largest eigenvalues of a real skew matrix, exactly imaginary by construction."""

from __future__ import annotations

import scipy.linalg as la

from modal.types import Array, Complex

WIDE = 120  # size from which it is first reduced in real arithmetic


def largest_of_skew(S: Array, count: int) -> tuple[Array, Complex]:
    """The `count` largest τ > 0, descending, and vectors of S y = −iτ y for a real skew S.

    A large S is first reduced to the span of the double eigenvectors of SᵀS of largest eigenvalue
    τ²: real arithmetic, several times cheaper. What squaring costs in accuracy the second step
    restores to first order.
    """
    size = len(S)
    if size > WIDE and 3 * count < size:
        _, Z = la.eigh(
            S.T @ S, subset_by_index=[size - 2 * count - 2, size - 1], check_finite=False
        )
        small = Z.T @ (S @ Z)
        tau, y = largest_of_skew(0.5 * (small - small.T), count)
        return tau, Z @ y
    tau, y = la.eigh(1j * S, subset_by_index=[size - count, size - 1], check_finite=False)
    return tau[::-1], y[:, ::-1]
