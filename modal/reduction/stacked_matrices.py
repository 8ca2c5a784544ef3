"""Sparse matrices of one pattern at several instants, as one block-diagonal matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from assembly.linalg.combination import Pattern
from modal.types import Array


@dataclass(frozen=True)
class StackedMatrices:
    """P matrices (n, n): the blocks of `diagonal` (P n, P n)."""

    diagonal: sp.spmatrix
    count: int

    @classmethod
    def of(cls, pattern: Pattern, values: Array) -> tuple[StackedMatrices, ...]:
        """From values (P, groups, entries) on a pattern: those of each group."""
        count, groups, entries = values.shape
        n, at = pattern.shape[0], np.arange(count, dtype=np.int32)[:, None]
        indices = (pattern.indices.astype(np.int32) + n * at).ravel()
        starts = (pattern.indptr[:-1].astype(np.int32) + entries * at).ravel()
        indptr = np.append(starts, np.int32(count * entries))
        shape = (count * n, count * n)
        return tuple(
            cls(sp.csr_matrix((values[:, k].ravel(), indices, indptr), shape=shape), count)
            for k in range(groups)
        )

    @property
    def T(self) -> StackedMatrices:
        """The transposed matrices."""
        return StackedMatrices(self.diagonal.T, self.count)

    def __matmul__(self, X: Array) -> Array:
        """Products with columns X (P, n, m)."""
        found = self.diagonal @ X.reshape(-1, X.shape[-1])
        return np.asarray(found.reshape(X.shape))

    def dense(self) -> Array:
        """(P, n, n)."""
        n, whole = self.diagonal.shape[0] // self.count, self.diagonal.tocsr()
        out = np.zeros((len(whole.indptr) - 1, n))
        rows = np.repeat(np.arange(len(out)), np.diff(whole.indptr))
        out[rows, whole.indices % n] = whole.data
        return out.reshape(self.count, n, n)

    def norms(self) -> Array:
        """Frobenius norms (P,)."""
        return np.asarray(np.linalg.norm(self.diagonal.data.reshape(self.count, -1), axis=1))
