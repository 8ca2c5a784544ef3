"""Linear solves along a transient: one factorization as long as the matrix stays the same."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from assembly.linalg.factorization import Factorization
from modal.transient.shared_pattern import BandFactor, BlockMatrix, DenseFactor, OnPattern
from modal.types import Array

Matrix: TypeAlias = "sp.csr_matrix | OnPattern | BlockMatrix"
Factor: TypeAlias = "BandFactor | DenseFactor | Factorization"


class StepSolver:
    """Solves S x = b. S is factorized only when its entries differ from those of stored factors.

    most: factors that are kept; a step-doubling controller alternates between h and h/2.
    """

    def __init__(self, most: int = 3) -> None:
        self._most = most
        self._kept: OrderedDict[int, tuple[Matrix, Factor]] = OrderedDict()
        self._count = 0

    def solve(self, S: Matrix, b: Array) -> Array:
        """S⁻¹ b, b (n,). Raises SingularSystemError."""
        for key, (matrix, factor) in self._kept.items():
            if matrix is S or _same(matrix, S):
                self._kept.move_to_end(key)
                return np.asarray(factor.solve(b))
        factor = factorized(S)
        self._count += 1
        self._kept[self._count] = (S, factor)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)[1][1].destroy()
        return np.asarray(factor.solve(b))

    def destroy(self) -> None:
        for _, factor in self._kept.values():
            factor.destroy()
        self._kept.clear()


def factorized(S: Matrix) -> Factor:
    if isinstance(S, OnPattern):
        return BlockMatrix(S.pattern, S.values[None, None]).factorized()
    if isinstance(S, BlockMatrix):
        return S.factorized()
    return Factorization(S, "general")


def _same(A: Matrix, B: Matrix) -> bool:
    if isinstance(A, OnPattern | BlockMatrix):
        if not isinstance(B, type(A)):
            return False
        return np.array_equal(A.values, B.values)
    return (
        not isinstance(B, OnPattern | BlockMatrix)
        and A.shape == B.shape
        and A.nnz == B.nnz
        and np.array_equal(A.data, B.data)
        and np.array_equal(A.indices, B.indices)
        and np.array_equal(A.indptr, B.indptr)
    )
