"""Matrices of all instants of a motion on one sparsity pattern: arithmetic on their values alone.

A step of an implicit method then forms its stage matrix by a few operations on arrays, and solves
with it as a band matrix in the reverse Cuthill-McKee order (Cuthill & McKee 1969), as a dense one,
or by a sparse factorization, whichever costs least.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

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
        self.order = np.asarray(reverse_cuthill_mckee(whole, symmetric_mode=True), dtype=np.intp)
        self._layouts: dict[int, _Layout] = {}

    def layout(self, stages: int) -> _Layout:
        """Where the entries of a matrix of stages × stages blocks are stored."""
        if stages not in self._layouts:
            self._layouts[stages] = _Layout(self, stages)
        return self._layouts[stages]


@dataclass(frozen=True)
class OnPattern:
    """A matrix as its values (entries,) on a shared pattern."""

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
        return OnPattern(self.pattern, self.values[self.pattern.transposed])

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the matrix."""
        return self.pattern.shape

    @property
    def data(self) -> Array:
        """The values."""
        return self.values

    @property
    def nnz(self) -> int:
        """Number of stored values."""
        return len(self.values)

    def __matmul__(self, vector: Array) -> Array:
        products = self.values * vector[self.pattern.columns]
        return np.asarray(np.add.reduceat(products, self.pattern.starts))

    def toarray(self) -> Array:
        """The matrix (n, n)."""
        out = np.zeros(self.pattern.shape)
        out[self.pattern.rows, self.pattern.columns] = self.values
        return out


@dataclass(frozen=True)
class BlockMatrix:
    """A matrix of s × s blocks on one pattern: values (s, s, entries). Unknowns are block by
    block."""

    pattern: SharedPattern
    values: Array

    def factorized(self, dense: int = 1200) -> BandFactor | DenseFactor | Factorization:
        """The factor of the cheapest kind. Raises SingularSystemError.

        dense: equations up to which LAPACK's dense LU is used where a band does not pay.
        """
        layout = self.pattern.layout(len(self.values))
        entries = self.values.reshape(-1)
        if layout.banded:
            return BandFactor(layout, entries)
        if layout.size > dense:
            places = (entries, (layout.rows, layout.columns))
            return Factorization(sp.csr_matrix(places, shape=(layout.size,) * 2), "general")
        matrix = np.zeros((layout.size, layout.size))
        matrix[layout.rows, layout.columns] = entries
        return DenseFactor(matrix)


class _Layout:
    """Places of the entries of s × s blocks: of the whole matrix, and of its band.

    narrow: share of the equations up to which the stored width of the band pays.
    """

    def __init__(self, pattern: SharedPattern, s: int, narrow: float = 0.5) -> None:
        n, self.stages, self.order = pattern.shape[0], s, pattern.order
        self.size = s * n
        i, j = np.divmod(np.arange(s * s), s)
        self.rows = (i[:, None] * n + pattern.rows).reshape(-1)
        self.columns = (j[:, None] * n + pattern.columns).reshape(-1)
        position = np.empty(n, dtype=np.intp)
        position[self.order] = np.arange(n)
        distance = int(np.abs(position[pattern.rows] - position[pattern.columns]).max(initial=0))
        self.width = s * distance + s - 1  # subdiagonals, and superdiagonals
        self.lines = 3 * self.width + 1
        self.banded = self.lines <= narrow * self.size
        self._position, self._pattern, self._blocks = position, pattern, (i, j)

    @cached_property
    def band(self) -> Index:
        """Place of every entry in LAPACK's band storage, column by column."""
        i, j = self._blocks
        row = (self._position[self._pattern.rows] * self.stages + i[:, None]).reshape(-1)
        column = (self._position[self._pattern.columns] * self.stages + j[:, None]).reshape(-1)
        return np.asarray(column * self.lines + 2 * self.width + row - column)


class BandFactor:
    """LU of a band matrix with partial pivoting."""

    def __init__(self, layout: _Layout, entries: Array) -> None:
        self.layout = layout
        band = np.zeros(layout.lines * layout.size)
        band[layout.band] = entries
        storage = band.reshape((layout.lines, layout.size), order="F")
        self.lu, self.pivots, info = la.lapack.dgbtrf(
            storage, layout.width, layout.width, overwrite_ab=True
        )
        check_factor(info, self.lu, layout.size)

    def solve(self, b: Array) -> Array:
        """S⁻¹ b, b (N,)."""
        s, order, width = self.layout.stages, self.layout.order, self.layout.width
        permuted = b.reshape(s, -1)[:, order].T.reshape(-1)
        x, _ = la.lapack.dgbtrs(self.lu, width, width, permuted, self.pivots)
        out = np.empty((s, len(order)))
        out[:, order] = x.reshape(-1, s).T
        return out.reshape(-1)

    def destroy(self) -> None:
        """Nothing to release."""


class DenseFactor:
    """LU of a dense matrix with partial pivoting."""

    def __init__(self, matrix: Array) -> None:
        self.lu, self.pivots, info = la.lapack.dgetrf(matrix)
        check_factor(info, self.lu, len(matrix))

    def solve(self, b: Array) -> Array:
        """S⁻¹ b, b (N,)."""
        return np.asarray(la.lapack.dgetrs(self.lu, self.pivots, b)[0])

    def destroy(self) -> None:
        """Nothing to release."""


def check_factor(info: int, lu: Array, size: int) -> None:
    """Raise SingularSystemError for a factor with a zero pivot or without finite entries."""
    if info > 0 or not np.all(np.isfinite(lu)):
        raise SingularSystemError(f"a {size}×{size} step matrix is singular")
