"""The five quadratic forms of a frozen system that decide its stability.

With E = C + D all that multiplies the velocity and K all that multiplies the displacement,

    M symmetric,   E = damping + gyroscopic,   K = symmetric + circulatory,

damping and symmetric are the symmetric parts, gyroscopic and circulatory the skew parts. An
operator that is symmetric or skew (assembly/linalg/mirror.py) counts as that, so that its round-off
is no damping and no circulatory force.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.linalg.combination import Combination
from assembly.linalg.mirror import ROUND_OFF, SMALL, symmetry_of
from assembly.system.frozen import DAMPING_PARTS, STIFFNESS_PARTS, FrozenSystem


@dataclass(frozen=True)
class Forms:
    """Symmetric and skew parts, sparse (n, n)."""

    mass: sp.csr_matrix
    damping: sp.csr_matrix
    gyroscopic: sp.csr_matrix
    symmetric: sp.csr_matrix
    circulatory: sp.csr_matrix

    @classmethod
    def of(cls, system: FrozenSystem) -> Forms:
        damping, gyroscopic = parts_of(system.n, system.combined(DAMPING_PARTS).terms)
        symmetric, circulatory = parts_of(system.n, system.combined(STIFFNESS_PARTS).terms)
        return cls(system.M, damping, gyroscopic, symmetric, circulatory)


def parts_of(n: int, terms: Iterable[tuple[float, Any]]) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """The symmetric and the skew part of Σ c_j A_j, (n, n), from its terms (c_j, A_j)."""
    sums: dict[int, Combination] = {kind: Combination((n, n)) for kind in (1, -1, 0)}
    for weight, operator in terms:
        kind = symmetry_of(operator)
        sums[kind] = sums[kind] + Combination((n, n), ((weight, operator),))
    symmetric, skew = sums[1].tocsr(), sums[-1].tocsr()
    if not sums[0].is_zero:
        general = sums[0].tocsr()
        symmetric = symmetric + _half(general, 1.0)
        skew = skew + _half(general, -1.0)
    return sp.csr_matrix(symmetric), sp.csr_matrix(skew)


def _half(A: sp.csr_matrix, sign: float) -> sp.csr_matrix:
    """(A ± Aᵀ)/2 without entries that are round-off to assembly.mirror.is_symmetric or is_skew."""
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
