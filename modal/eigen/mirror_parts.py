"""The symmetric and the skew part of a matrix of one instant.

The parts of an instant are symmetric or skew by their meaning (stiffness, Coriolis, Euler terms),
so both parts of a sum are known without a transposition. Several matrices share operators, as
proportional damping, aM + bK, does with the mass and the stiffness: what is left of such a part
without a multiple of another is cheap to apply.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import scipy.sparse as sp

from assembly.linalg.combination import Combination
from assembly.linalg.mirror import symmetry_of

EQUAL = 1e-14  # relative difference of ratios that are equal but for round-off
CHEAP = 0.5  # of the entries of a matrix: a remainder with fewer replaces it


@dataclass(frozen=True)
class Part:
    """The matrix (n, n) of a sum of operators, and the sum; None where some are halves of others'
    symmetric and skew parts."""

    matrix: sp.csr_matrix
    terms: Combination | None

    def without_multiple(self, other: Part) -> tuple[float, Part | None]:
        """The part as c × other + rest; rest is None where it is zero, c is zero where the rest is
        not cheap."""
        mine, theirs = _coefficients(self.terms), _coefficients(other.terms)
        shared = [key for key in mine if key in theirs]
        if not shared:
            return 0.0, self
        key = max(shared, key=lambda key: _entries(theirs[key][1]))
        c = mine[key][0] / theirs[key][0]
        rest = []
        for name in {**mine, **theirs}:
            (a, A), (b, B) = mine.get(name, (0.0, None)), theirs.get(name, (0.0, None))
            if abs(a - c * b) > EQUAL * abs(a):
                rest.append((a - c * b, B if A is None else A))
        if not rest:
            return c, None
        terms = Combination(self.matrix.shape, tuple(rest))
        matrix = terms.tocsr()
        if matrix.nnz > CHEAP * self.matrix.nnz:
            return 0.0, self
        return c, Part(matrix, terms)


@dataclass(frozen=True)
class MirrorParts:
    """A = symmetric + skew; None for a part that is zero."""

    symmetric: Part | None
    skew: Part | None

    @classmethod
    def of(cls, terms: Combination, matrix: sp.csr_matrix) -> MirrorParts:
        """Of a combination and the matrix formed from it."""
        kinds = [symmetry_of(A) for _, A in terms.terms]
        if all(kind == 1 for kind in kinds):
            return cls(Part(matrix, terms) if kinds else None, None)
        if all(kind == -1 for kind in kinds):
            return cls(None, Part(matrix, terms))
        skew_terms, symmetric_terms = (
            Combination(
                terms.shape,
                tuple(term for term, kind in zip(terms.terms, kinds, strict=True) if kind == sign),
            )
            for sign in (-1, 1)
        )
        skew, pure = skew_terms.tocsr(), 0 not in kinds
        for (c, A), kind in zip(terms.terms, kinds, strict=True):
            if kind == 0:
                mixed = A.tocsr()
                skew = skew + 0.5 * c * (mixed - mixed.T)
        return cls(
            Part(sp.csr_matrix(matrix - skew), symmetric_terms if pure else None),
            Part(sp.csr_matrix(skew), skew_terms if pure else None),
        )


def _coefficients(terms: Combination | None) -> Mapping[int, tuple[float, Any]]:
    """The coefficient and the operator of every operator object."""
    found: dict[int, tuple[float, Any]] = {}
    for c, A in () if terms is None else terms.terms:
        found[id(A)] = (c + found.get(id(A), (0.0, A))[0], A)
    return found


def _entries(operator: Any) -> int:
    """Number of nonzeros, about, of an operator."""
    return int(operator.nnz if sp.issparse(operator) else operator.shape[0])
