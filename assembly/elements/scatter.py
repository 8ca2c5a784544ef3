"""Sums of element blocks into node-by-node sparse matrices, without a Python loop over elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from assembly.types import Array, Index


class NodePattern:
    """Which pairs of nodes share an element, and where the pair's value is stored.

    connectivities: one (E, a) array per block of cells. The pattern is that of a CSR matrix (N, N)
    with sorted columns; `slots[block]` (E, a·a) is the position in its data of every pair of an
    element.
    """

    def __init__(self, count: int, connectivities: Sequence[Index]) -> None:
        self.count = count
        pattern = sp.csr_matrix((count, count), dtype=np.int8)
        for nodes in connectivities:
            rows, cols = _pairs(nodes)
            marks = np.ones(rows.size, dtype=np.int8)
            part = sp.coo_matrix((marks, (rows, cols)), shape=(count, count)).tocsr()
            part.data[:] = 1
            pattern = pattern + part
            pattern.data[:] = 1
        pattern.sort_indices()
        self.indptr, self.indices = pattern.indptr, pattern.indices
        rows_of = np.repeat(np.arange(count, dtype=np.int64), np.diff(self.indptr))
        keys = rows_of * count + self.indices
        self.slots = [np.searchsorted(keys, _keys(nodes, count)) for nodes in connectivities]

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
        return sp.csr_matrix(
            (values.ravel(), self.indices, self.indptr), shape=(self.count, self.count)
        )

    def blocked(self, values: Array) -> sp.csr_matrix:
        """The (N d, N d) matrix of one (d, d) block per pair; values (size, d, d)."""
        d = values.shape[1]
        blocks = sp.bsr_matrix(
            (values, self.indices, self.indptr), shape=(self.count * d, self.count * d)
        )
        return sp.csr_matrix(blocks)


def _pairs(nodes: Index) -> tuple[Index, Index]:
    shape = (*nodes.shape, nodes.shape[1])
    rows = np.broadcast_to(nodes[:, :, None], shape).ravel()
    cols = np.broadcast_to(nodes[:, None, :], shape).ravel()
    return rows, cols


def _keys(nodes: Index, count: int) -> NDArray[np.int64]:
    wide = nodes.astype(np.int64)
    return (wide[:, :, None] * count + wide[:, None, :]).reshape(len(nodes), -1)
