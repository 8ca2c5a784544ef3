"""Linear solves along a transient: one factorization as long as the matrix stays the same."""

from __future__ import annotations

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
        self._kept: list[tuple[Matrix, Factor]] = []  # the last used at the end

    def solve(self, S: Matrix, b: Array) -> Array:
        """S⁻¹ b, b (n,). Raises SingularSystemError."""
        for i, (matrix, _) in enumerate(self._kept):
            if matrix is S or _same(matrix, S):
                self._kept.append(self._kept.pop(i))
                break
        else:
            self._kept.append((S, factorized(S)))
            if len(self._kept) > self._most:
                self._kept.pop(0)[1].destroy()
        return np.asarray(self._kept[-1][1].solve(b))

    def destroy(self) -> None:
        for _, factor in self._kept:
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
