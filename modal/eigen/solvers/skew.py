"""The largest eigenvalues of a real skew matrix, exactly imaginary by construction."""

from __future__ import annotations

from modal.eigen.hermitian import eigenpairs_in_order
from modal.types import Array, Complex


def largest_of_skew(S: Array, count: int) -> tuple[Array, Complex]:
    """The `count` largest τ > 0, descending, and vectors of S y = −iτ y for a real skew S."""
    tau, y = eigenpairs_in_order(1j * S, len(S) - count, len(S) - 1)
    return tau[::-1], y[:, ::-1]
