"""Matrices of the steps of a transient, and their factors.

The matrices of all instants of a smooth motion are on one sparsity pattern: arithmetic is that of
their values alone. A step of an implicit method then forms its stage matrix by a few operations on
arrays, and solves with it as a band matrix in the reverse Cuthill-McKee order (Cuthill & McKee
1969), as a dense one, or by a sparse factorization, whichever costs least. Other motions have
sparse matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from assembly.errors import SingularSystemError
from assembly.linalg.combination import Pattern
from assembly.linalg.factorization import Factorization
from modal.types import Array, Index


class SharedPattern:
    """A symmetric sparsity (n, n) with the whole diagonal, that contains a given one."""

    def __init__(self, pattern: Pattern) -> None:
        n = pattern.shape[0]
        self.shape = pattern.shape
        data = np.ones(len(pattern.indices))
        entries = sp.csr_matrix((data, pattern.indices, pattern.indptr), shape=self.shape)
        whole = sp.csr_matrix(entries + entries.T + sp.identity(n))
        whole.sort_indices()
        self.rows = np.repeat(np.arange(n), np.diff(whole.indptr))
        self.columns = whole.indices.astype(np.intp)
        self.starts = whole.indptr[:-1].astype(np.intp)
        keys = self.rows * n + self.columns
        given = np.repeat(np.arange(n), np.diff(pattern.indptr)) * n + pattern.indices
        self.places = np.searchsorted(keys, given)  # of the given pattern's entries
        self.transposed = np.searchsorted(keys, self.columns * n + self.rows)
        self.full = len(self.rows) == n * n
        self.order = np.asarray(reverse_cuthill_mckee(whole, symmetric_mode=True), dtype=np.intp)


@dataclass(frozen=True)
class OnPattern:
    """A matrix as its values (entries,) on a shared pattern; those (P, entries) of several, or
    blocks (s, s, entries) of one."""

    pattern: SharedPattern
    values: Array

    def __add__(self, other: OnPattern) -> OnPattern:
        return OnPattern(self.pattern, self.values + other.values)

    def __sub__(self, other: OnPattern) -> OnPattern:
        return OnPattern(self.pattern, self.values - other.values)

    def __mul__(self, factor: float) -> OnPattern:
        return OnPattern(self.pattern, self.values * factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> OnPattern:
        return OnPattern(self.pattern, self.values / divisor)

    @property
    def T(self) -> OnPattern:
        """The transpose."""
        return OnPattern(self.pattern, self.values.take(self.pattern.transposed, axis=-1))

    @property
    def data(self) -> Array:
        """The values."""
        return self.values

    @property
    def nnz(self) -> int:
        """Number of stored values."""
        return len(self.values)

    def __matmul__(self, vectors: Array) -> Array:
        if self.pattern.full:
            matrices = self.values.reshape(*self.values.shape[:-1], *self.pattern.shape)
            return np.asarray((matrices @ vectors[..., None])[..., 0])
        products = self.values * vectors.take(self.pattern.columns, axis=-1)
        return np.asarray(np.add.reduceat(products, self.pattern.starts, axis=-1))

    def toarray(self) -> Array:
        """The matrix (n, n)."""
        out = np.zeros(self.pattern.shape)
        out[self.pattern.rows, self.pattern.columns] = self.values
        return out


Matrix: TypeAlias = "sp.csr_matrix | OnPattern"


@lru_cache(maxsize=4)
def _layout(pattern: SharedPattern, stages: int, narrow: float = 0.5) -> tuple[Index, int, bool]:
    """Places (s s entries,) of the entries of s × s blocks, with the DOFs in the order of the
    pattern and the stages of each together, the number of subdiagonals, and whether the places are
    those of LAPACK's band storage, column by column, or of a matrix, row by row.

    narrow: share of the equations up to which the stored width of a band pays.
    """
    position, stage = np.argsort(pattern.order), np.arange(stages)
    rows = stages * position[pattern.rows] + stage[:, None, None]
    columns = stages * position[pattern.columns] + stage[:, None]
    size, width = stages * len(position), int(np.abs(rows - columns).max())
    lines = 3 * width + 1
    if lines <= narrow * size:
        return (columns * lines + 2 * width + rows - columns).ravel(), width, True
    return (rows * size + columns).ravel(), width, False


class PatternFactor:
    """LU with partial pivoting, of the cheapest kind, of one matrix or s × s blocks on a pattern.
    Unknowns are block by block. Raises SingularSystemError.

    dense: equations up to which LAPACK's dense LU is used where a band does not pay.
    """

    def __init__(self, matrix: OnPattern, dense: int = 1200) -> None:
        self.order = matrix.pattern.order
        self.stages = 1 if matrix.values.ndim == 1 else len(matrix.values)
        places, width, self.banded = _layout(matrix.pattern, self.stages)
        size = self.stages * len(self.order)
        self._solve: Callable[[Array], Any]
        if not self.banded and size > dense:
            entries = matrix.values.ravel(), np.divmod(places, size)
            factor = Factorization(sp.csr_matrix(entries, shape=(size, size)), "general")
            self._solve, self.destroy = factor.solve, factor.destroy  # type: ignore[method-assign]
            return
        storage = np.zeros((size, 3 * width + 1 if self.banded else size))
        storage.reshape(-1)[places] = matrix.values.ravel()
        if self.banded:
            lu, pivots, info = la.lapack.dgbtrf(storage.T, width, width, overwrite_ab=True)
            self._solve = lambda b: la.lapack.dgbtrs(lu, width, width, b, pivots)[0]
        else:
            lu, pivots, info = la.lapack.dgetrf(storage)
            self._solve = lambda b: la.lapack.dgetrs(lu, pivots, b)[0]
        if info > 0 or not np.all(np.isfinite(lu)):
            raise SingularSystemError(f"a {size}×{size} step matrix is singular")

    def solve(self, b: Array) -> Array:
        """S⁻¹ b, b (N,)."""
        blocks = b.reshape(self.stages, -1)
        out = np.empty_like(blocks)
        out[:, self.order] = self._solve(blocks[:, self.order].T.ravel()).reshape(-1, self.stages).T
        return out.ravel()

    def destroy(self) -> None:
        """Nothing to release."""


Factor: TypeAlias = "PatternFactor | Factorization"


def factorized(S: Matrix) -> Factor:
    return PatternFactor(S) if isinstance(S, OnPattern) else Factorization(S, "general")


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


def _same(A: Matrix, B: Matrix) -> bool:
    names = ("values",) if isinstance(A, OnPattern) else ("data", "indices", "indptr")
    return isinstance(B, type(A)) and all(
        np.array_equal(getattr(A, name), getattr(B, name)) for name in names
    )
