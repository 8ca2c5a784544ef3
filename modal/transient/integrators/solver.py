"""Linear solves along a transient: one factorization as long as the matrix stays the same."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from assembly.errors import SingularSystemError
from assembly.linalg.factorization import Factorization
from modal.types import Array

DENSE = 64  # below this LAPACK beats the overhead of a sparse solve
KEPT = 3  # a step-doubling controller alternates between h and h/2


class StepSolver:
    """Solves S x = b. S is factorized only when its entries differ from those of stored factors."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, tuple[sp.csr_matrix, _Dense | Factorization]] = OrderedDict()
        self._count = 0

    def solve(self, S: sp.csr_matrix, b: Array) -> Array:
        """S⁻¹ b, b (n,). Raises SingularSystemError."""
        for key, (matrix, factor) in self._kept.items():
            if matrix is S or _same(matrix, S):
                self._kept.move_to_end(key)
                return np.asarray(factor.solve(b))
        factor = _Dense(S) if S.shape[0] <= DENSE else Factorization(S, "general")
        self._count += 1
        self._kept[self._count] = (S, factor)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)[1][1].destroy()
        return np.asarray(factor.solve(b))

    def destroy(self) -> None:
        for _, factor in self._kept.values():
            factor.destroy()
        self._kept.clear()


class _Dense:
    def __init__(self, S: sp.csr_matrix) -> None:
        matrix = S.toarray()
        self.lu, self.pivots, info = la.lapack.dgetrf(matrix)
        if info > 0 or not np.all(np.isfinite(self.lu)):
            raise SingularSystemError(f"a {S.shape[0]}×{S.shape[0]} step matrix is singular")

    def solve(self, b: Array) -> Array:
        return np.asarray(la.lapack.dgetrs(self.lu, self.pivots, b)[0])

    def destroy(self) -> None:
        """Nothing to release."""


def _same(A: sp.csr_matrix, B: sp.csr_matrix) -> bool:
    return (
        A.shape == B.shape
        and A.nnz == B.nnz
        and np.array_equal(A.data, B.data)
        and np.array_equal(A.indices, B.indices)
        and np.array_equal(A.indptr, B.indptr)
    )
