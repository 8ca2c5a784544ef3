"""The five quadratic forms of a frozen system that decide its stability.

With E = C + D all that multiplies the velocity and K all that multiplies the displacement,

    M symmetric,   E = damping + gyroscopic,   K = symmetric + circulatory,

damping and symmetric are the symmetric parts, gyroscopic and circulatory the skew parts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from assembly.frozen import DAMPING_PARTS, STIFFNESS_PARTS, FrozenSystem

Array = NDArray[np.float64]

ROUND_OFF = 1e-14  # of √(r_i r_j), r_i the largest entry of row i: an entry below this is zero


@dataclass(frozen=True)
class Forms:
    """Symmetric and skew parts, sparse (n, n), with entries at round-off set to zero."""

    mass: sp.csr_matrix
    damping: sp.csr_matrix
    gyroscopic: sp.csr_matrix
    symmetric: sp.csr_matrix
    circulatory: sp.csr_matrix

    @classmethod
    def of(cls, system: FrozenSystem) -> Forms:
        damping, gyroscopic = _split(system, DAMPING_PARTS)
        symmetric, circulatory = _split(system, STIFFNESS_PARTS)
        return cls(system.M, damping, gyroscopic, symmetric, circulatory)


def _split(system: FrozenSystem, names: tuple[str, ...]) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Symmetric and skew part of a sum of named parts, each operator split by itself.

    A small circulatory part is not lost beside a stiff elastic one.
    """
    n = system.n
    symmetric, skew = sp.csr_matrix((n, n)), sp.csr_matrix((n, n))
    for name in names:
        for coefficient, operator in system.parts[name].terms:
            halves = parts_of(sp.csr_matrix(operator.tocsr()))
            symmetric = symmetric + coefficient * halves[0]
            skew = skew + coefficient * halves[1]
    for total in (symmetric, skew):
        total.eliminate_zeros()
    return symmetric, skew


def parts_of(A: sp.csr_matrix) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """(A + Aᵀ)/2 and (A − Aᵀ)/2 of one operator, without entries that are round-off.

    An entry (i, j) is round-off below 1e-14 of √(r_i r_j), r_i the largest entry of row and column
    i: assembling adds numbers of that size.
    """
    if A.nnz == 0:
        return sp.csr_matrix(A.shape), sp.csr_matrix(A.shape)
    size = abs(A)
    rows = np.sqrt(np.maximum(size.max(axis=1).toarray().ravel(), size.max(axis=0).toarray().ravel()))
    halves = []
    for sign in (1.0, -1.0):
        half = sp.coo_matrix(0.5 * (A + sign * A.T))
        kept = np.abs(half.data) > ROUND_OFF * rows[half.row] * rows[half.col]
        half = sp.coo_matrix((half.data[kept], (half.row[kept], half.col[kept])), shape=half.shape)
        halves.append(sp.csr_matrix(half))
    return halves[0], halves[1]
