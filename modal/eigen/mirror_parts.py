"""The symmetric and the skew part of a sum of operators.

An operator that is symmetric or skew (assembly/linalg/symmetric.py) counts as that, so that its
round-off is no damping and no circulatory force; only others are split.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.linalg.combination import Combination
from assembly.linalg.symmetric import ROUND_OFF, SMALL, symmetry_of


def parts_of(
    n: int, terms: Iterable[tuple[float, Any]], matrix: sp.csr_matrix | None = None
) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """The symmetric and the skew part of Σ c_j A_j, (n, n), from its terms (c_j, A_j).

    matrix: the sum, where it is formed already.
    """
    sums: dict[int, Combination] = {kind: Combination((n, n)) for kind in (1, -1, 0)}
    for weight, operator in terms:
        kind = symmetry_of(operator)
        sums[kind] = sums[kind] + Combination((n, n), ((weight, operator),))
    if matrix is not None and sum(not part.is_zero for part in sums.values()) == 1:
        zero = sp.csr_matrix((n, n))
        if not sums[1].is_zero:
            return matrix, zero
        if not sums[-1].is_zero:
            return zero, matrix
    symmetric, skew = sums[1].tocsr(), sums[-1].tocsr()
    if not sums[0].is_zero:
        general = sums[0].tocsr()
        symmetric = symmetric + _half(general, 1.0)
        skew = skew + _half(general, -1.0)
    return sp.csr_matrix(symmetric), sp.csr_matrix(skew)


def _half(A: sp.csr_matrix, sign: float) -> sp.csr_matrix:
    """(A ± Aᵀ)/2 without entries that are round-off to `is_symmetric` or `is_skew`."""
    if A.shape[0] <= SMALL:
        full = A.toarray()
        rows = np.sqrt(np.maximum(np.abs(full).max(axis=1), np.abs(full).max(axis=0)))
        part = 0.5 * (full + sign * full.T)
        part[2.0 * np.abs(part) <= ROUND_OFF * np.outer(rows, rows)] = 0.0
        return sp.csr_matrix(part)
    rows = np.sqrt(abs(A).maximum(abs(A.T)).max(axis=1).toarray().ravel())
    half = sp.coo_matrix(0.5 * (A + sign * A.T))
    significant = 2.0 * np.abs(half.data) > ROUND_OFF * rows[half.row] * rows[half.col]
    return sp.csr_matrix(
        (half.data[significant], (half.row[significant], half.col[significant])), shape=half.shape
    )
