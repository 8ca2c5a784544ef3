"""The symmetric and the skew part of a matrix of one instant.

The parts of an instant are symmetric or skew by their meaning (stiffness, Coriolis, Euler terms),
so both parts of a sum are known without a transposition.
"""

from __future__ import annotations

import scipy.sparse as sp

from assembly.linalg.combination import Combination
from assembly.linalg.mirror import symmetry_of


def mirror_parts(terms: Combination, matrix: sp.csr_matrix) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """S and N of A = S + N, S symmetric and N skew, from the terms of A and A itself."""
    kinds = [symmetry_of(A) for _, A in terms.terms]
    if all(kind == 1 for kind in kinds):
        return matrix, sp.csr_matrix(matrix.shape)
    if all(kind == -1 for kind in kinds):
        return sp.csr_matrix(matrix.shape), matrix
    signed = zip(terms.terms, kinds, strict=True)
    skew = Combination(terms.shape, tuple(term for term, kind in signed if kind == -1)).tocsr()
    for (c, A), kind in zip(terms.terms, kinds, strict=True):
        if kind == 0:
            mixed = A.tocsr()
            skew = skew + 0.5 * c * (mixed - mixed.T)
    return sp.csr_matrix(matrix - skew), sp.csr_matrix(skew)
