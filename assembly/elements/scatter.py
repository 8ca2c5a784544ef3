"""Sums of element arrays into sparse matrices and vectors, without a Python loop over elements: on
pairs of nodes for cells, on any DOFs for elements with few nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from assembly.dofs import DofMap
from assembly.elements.family import Passage
from assembly.linalg.symmetric import LARGE, Symmetric, row_runs
from assembly.magnitudes import ENTRIES
from assembly.types import Array, Index


class NodePattern:
    """Which pairs of nodes share an element, and where the pair's value is stored.

    connectivities: one (E, a) array per block of cells. The pattern is that of a CSR matrix (N, N)
    with sorted columns; `slots[block]` (E, a·a) is the position in its data of every pair of an
    element.
    """

    def __init__(self, count: int, connectivities: Sequence[Index]) -> None:
        self.count = count
        pattern = sp.csr_matrix((count, count), dtype=np.int32)
        for nodes in connectivities:
            starts = nodes.shape[1] * np.arange(len(nodes) + 1)
            marks = np.ones(nodes.size, dtype=np.int32)
            cells = sp.csr_matrix((marks, nodes.ravel(), starts), shape=(len(nodes), count))
            pattern = pattern + cells.T @ cells
        pattern.sort_indices()
        self.indptr, self.indices = pattern.indptr, pattern.indices
        rows_of = np.repeat(np.arange(count, dtype=np.int64), np.diff(self.indptr))
        keys = rows_of * count + self.indices
        kind = np.int32 if len(keys) <= np.iinfo(np.int32).max else np.int64
        self.slots = [_slots(keys, nodes, count, kind) for nodes in connectivities]

    @property
    def size(self) -> int:
        """The number of stored pairs."""
        return len(self.indices)

    def add(self, total: Array, slots: Index, blocks: Array) -> None:
        """total (size, c) += blocks (pairs, c) at the slots (pairs,), in place."""
        pairs, low, high = slots.size, int(slots.min()), int(slots.max()) + 1
        # Neighbouring cells have neighbouring slots in a mesh in good order: sum over their range.
        place = (np.ones(pairs), slots.ravel() - low, np.arange(pairs + 1))
        gather = sp.csc_matrix(place, shape=(high - low, pairs))
        total[low:high] += gather @ blocks.reshape(pairs, -1)

    def scalar(self, values: Array) -> sp.csr_matrix:
        """The (N, N) matrix of one value per pair."""
        arrays = values.ravel(), self.indices, self.indptr
        return sp.csr_matrix(arrays, shape=(self.count, self.count))

    def blocked(self, values: Array) -> sp.csr_matrix:
        """The (N d, N d) matrix of one (d, d) block per pair; values (size, d, d)."""
        size, arrays = self.count * values.shape[1], (values, self.indices, self.indptr)
        return sp.csr_matrix(sp.bsr_matrix(arrays, shape=(size, size)))

    def symmetric(self, values: Array) -> Symmetric | sp.csr_matrix:
        """The symmetric (N d, N d) matrix of one (d, d) block per pair; by its upper triangle where
        it is large.
        """
        d = values.shape[1]
        if self.count * d < LARGE:
            return self.blocked(values)
        rows = row_runs(self.indptr, ENTRIES // d**2)
        parts = [_upper_rows(values, self.indices, self.indptr, run) for run in rows]
        entries, columns, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
        indptr = np.concatenate([[0], np.cumsum(counts)])
        if indptr[-1] <= np.iinfo(np.int32).max:
            indptr, columns = indptr.astype(np.int32), columns.astype(np.int32, copy=False)
        shape = (self.count * d, self.count * d)
        return Symmetric(sp.csr_matrix((entries, columns, indptr), shape=shape))


def _upper_rows(
    values: Array, indices: Index, indptr: Index, rows: slice
) -> tuple[Array, Index, Index]:
    """Entries of runs of block rows on and above the diagonal: values, columns, counts by row."""
    d = values.shape[1]
    first, last = indptr[rows.start], indptr[rows.stop]
    count = rows.stop - rows.start
    starts = indptr[rows.start : rows.stop + 1] - first
    arrays, width = (values[first:last], indices[first:last], starts), (len(indptr) - 1) * d
    part = sp.bsr_matrix(arrays, shape=(count * d, width))
    upper = sp.triu(part, k=rows.start * d, format="csr")
    return upper.data, upper.indices, np.diff(upper.indptr)


def _slots(keys: NDArray[np.int64], nodes: Index, count: int, kind: type) -> Index:
    """The position of every pair (E, a·a) among the keys, in runs that take little memory."""
    slots: Index = np.empty((len(nodes), nodes.shape[1] ** 2), dtype=kind)
    step = max(1, ENTRIES // nodes.shape[1] ** 2)
    for start in range(0, len(nodes), step):
        run = nodes[start : start + step].astype(np.int64)
        pairs = run[:, :, None] * count + run[:, None, :]
        slots[start : start + step] = np.searchsorted(keys, pairs.reshape(len(run), -1))
    return slots


class Entries(NamedTuple):
    """Values (..., entries) of matrices at the places (rows, cols), each once."""

    rows: Index
    cols: Index
    values: Array


def sums(slots: Index, values: Array, size: int) -> Array:
    """Sums (..., size) of the values (..., n) with the same slot (n,)."""
    each = values.reshape(-1, values.shape[-1])
    at = slots + size * np.arange(len(each))[:, None]
    found = np.bincount(at.ravel(), each.ravel(), size * len(each))
    return np.asarray(found.reshape(*values.shape[:-1], size), dtype=float)


class ElementMap:
    """Adds element matrices (..., E, d, d) and vectors (..., E, d) into those of a body's DOFs.

    connectivity (E, a): nodes. components: those of each node that the element acts on, d = a times
    their number; what the body does not have is left out. columns: numbers, of d, of those that
    some element has.
    """

    def __init__(self, dofs: DofMap, connectivity: Index, components: tuple[int, ...]) -> None:
        self.size = size = len(dofs)
        self.connectivity = connectivity
        numbers = dofs.table[connectivity][..., components]
        self.index = index = numbers.reshape(len(connectivity), -1)
        pairs = (*index.shape, index.shape[1])
        rows = np.broadcast_to(index[:, :, None], pairs).ravel()
        cols = np.broadcast_to(index[:, None, :], pairs).ravel()
        self._used = (rows >= 0) & (cols >= 0)
        keys = rows[self._used] * size + cols[self._used]
        keys, self._slot = np.unique(keys, return_inverse=True)
        self._rows, self._indices = np.divmod(keys, size)
        self._indptr = np.searchsorted(keys, np.arange(size + 1) * size)
        self._present = index >= 0
        self.columns = np.flatnonzero(self._present.any(axis=0))

    def entries(self, elements: Array) -> Entries:
        """Σ of element matrices (..., E, d, d)."""
        values = elements.reshape(*elements.shape[:-3], -1)[..., self._used]
        return Entries(self._rows, self._indices, sums(self._slot, values, len(self._indices)))

    def matrix(self, elements: Array) -> sp.csr_matrix:
        """Σ of the element matrices (E, d, d), (size, size); exact zeros are not stored."""
        pattern = (self.entries(elements).values, self._indices.copy(), self._indptr.copy())
        matrix = sp.csr_matrix(pattern, shape=(self.size, self.size))
        matrix.eliminate_zeros()
        return matrix

    def vectors(self, elements: Array) -> Array:
        """Σ of element vectors (..., E, d) into (..., size)."""
        return sums(self.index[self._present], elements[..., self._present], self.size)

    def gather(self, u: Array) -> Array:
        """The element values (..., E, d) of global vectors (..., size), zero for absent DOFs."""
        return np.where(self._present, u[..., np.where(self._present, self.index, 0)], 0.0)

    def path(self, passage: Passage) -> Array:
        """Displacements, velocities and accelerations of the elements, (..., E, 3 d)."""
        return np.concatenate([self.gather(x) for x in (passage.u, passage.v, passage.a)], axis=-1)
