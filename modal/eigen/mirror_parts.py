"""The symmetric and the skew part of a matrix of one instant.

The parts of an instant are symmetric or skew by their meaning (stiffness, Coriolis, Euler terms),
so both parts of a sum are known without a transposition. Several matrices share operators, as
proportional damping, aM + bK, does with the mass and the stiffness: what is left of such a part
without a multiple of another is cheap to apply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.linalg.combination import Combination, Kronecker, Lazy, Patterned
from assembly.linalg.mirror import symmetry_of

EQUAL = 1e-14  # relative difference of ratios that are equal but for round-off
CHEAP = 0.5  # of the entries of the largest operator: a remainder of smaller ones replaces it


class Part:
    """A sum of operators (n, n), and its matrix, which is formed at its first use.

    terms: the sum; None where some operators are halves of others' symmetric and skew parts.
    """

    def __init__(self, form: Callable[[], sp.csr_matrix], terms: Combination | None) -> None:
        self._form, self.terms = form, terms

    @cached_property
    def matrix(self) -> sp.csr_matrix:
        """The sum as one sparse matrix."""
        return self._form()

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
        largest = max(_entries(A) for _, A in mine.values())
        if any(_entries(A) > CHEAP * largest for _, A in rest):
            return 0.0, self
        terms = Combination(rest[0][1].shape, tuple(rest))
        return c, Part(terms.tocsr, terms)


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
            return cls(Part(lambda: matrix, terms) if kinds else None, None)
        if all(kind == -1 for kind in kinds):
            return cls(None, Part(lambda: matrix, terms))
        skew_terms, symmetric_terms = (
            Combination(
                terms.shape,
                tuple(term for term, kind in zip(terms.terms, kinds, strict=True) if kind == sign),
            )
            for sign in (-1, 1)
        )
        pure = 0 not in kinds

        def formed() -> sp.csr_matrix:
            total = skew_terms.tocsr()
            for (c, A), kind in zip(terms.terms, kinds, strict=True):
                if kind == 0:
                    mixed = A.tocsr()
                    total = total + 0.5 * c * (mixed - mixed.T)
            return sp.csr_matrix(total)

        skew = Part(formed, skew_terms if pure else None)
        symmetric = Part(
            lambda: sp.csr_matrix(matrix - skew.matrix), symmetric_terms if pure else None
        )
        return cls(symmetric, skew)


def _coefficients(terms: Combination | None) -> Mapping[int, tuple[float, Any]]:
    """The coefficient and the operator of every operator object."""
    found: dict[int, tuple[float, Any]] = {}
    for c, A in () if terms is None else terms.terms:
        found[id(A)] = (c + found.get(id(A), (0.0, A))[0], A)
    return found


def _entries(operator: Any) -> int:
    """Number of nonzeros, about, of an operator."""
    inner: Any = operator.operator if isinstance(operator, Lazy) else operator
    if isinstance(inner, Kronecker):
        return int(inner.m.nnz * np.count_nonzero(inner.a))
    if isinstance(inner, Patterned):
        return len(inner.pattern.indices)
    return int(inner.nnz if sp.issparse(inner) else inner.shape[0])
