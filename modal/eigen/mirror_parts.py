"""The symmetric and the skew part of a matrix of one instant.

The parts of an instant are symmetric or skew by their meaning (stiffness, Coriolis, Euler terms),
so both parts of a sum are known without a transposition.
"""

from __future__ import annotations

from dataclasses import dataclass

import scipy.sparse as sp

from assembly.linalg.combination import Combination
from assembly.linalg.mirror import symmetry_of


@dataclass(frozen=True)
class MirrorParts:
    """A = symmetric + skew, both (n, n); None for a part that is zero."""

    symmetric: sp.csr_matrix | None
    skew: sp.csr_matrix | None

    @classmethod
    def of(cls, terms: Combination, matrix: sp.csr_matrix) -> MirrorParts:
        """Of a combination and the matrix formed from it."""
        kinds = [symmetry_of(A) for _, A in terms.terms]
        if all(kind == 1 for kind in kinds):
            return cls(matrix if kinds else None, None)
        if all(kind == -1 for kind in kinds):
            return cls(None, matrix)
        chosen = [(c, A) for (c, A), kind in zip(terms.terms, kinds, strict=True) if kind == -1]
        skew = Combination(terms.shape, tuple(chosen)).tocsr()
        for (c, A), kind in zip(terms.terms, kinds, strict=True):
            if kind == 0:
                mixed = A.tocsr()
                skew = skew + 0.5 * c * (mixed - mixed.T)
        return cls(sp.csr_matrix(matrix - skew), sp.csr_matrix(skew))
