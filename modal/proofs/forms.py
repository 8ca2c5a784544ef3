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

ROUND_OFF = 1e-13  # of the size of an entry's summands: an entry below this is zero


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
    """Symmetric and skew part of a sum of named parts."""
    n = system.n
    total, size = sp.csr_matrix((n, n)), sp.csr_matrix((n, n))
    for name in names:
        if not system.parts[name].is_zero:
            part = getattr(system, name)
            total, size = total + part, size + abs(part)
    return parts_of(total, size)


def parts_of(
    A: sp.csr_matrix, size: sp.csr_matrix | None = None
) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """(A + Aᵀ)/2 and (A − Aᵀ)/2 without entries that are round-off.

    size: sums of the absolute values of the summands of each entry; |A| where not given. An entry
    (i, j) is round-off below 1e-13 of size_ij + size_ji + √(size_ii size_jj): assembling adds
    numbers of that size.
    """
    size = abs(A) if size is None else size
    halves = []
    both = sp.csr_matrix(size + size.T)
    diagonal = np.sqrt(size.diagonal())
    for sign in (1.0, -1.0):
        half = sp.coo_matrix(0.5 * (A + sign * A.T))
        if half.nnz:
            scale = np.asarray(both[half.row, half.col]).ravel()
            scale = scale + diagonal[half.row] * diagonal[half.col]
            kept = np.abs(half.data) > ROUND_OFF * scale
            half = sp.coo_matrix(
                (half.data[kept], (half.row[kept], half.col[kept])), shape=half.shape
            )
        halves.append(sp.csr_matrix(half))
    return halves[0], halves[1]
