"""The DOFs of elements with few nodes, and sums of element arrays over them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from assembly.dofs import DofMap
from assembly.elements.family import Passage
from assembly.types import Array, Index


class ElementMap:
    """Adds element matrices (E, d, d) and vectors (E, d, ...) into those of a body's DOFs.

    connectivity (E, a): nodes. components: those of each node that the element acts on, d = a times
    their number; what the body does not have is left out. columns: numbers, of d, of those that
    some element has.
    """

    def __init__(self, dofs: DofMap, connectivity: Index, components: tuple[int, ...]) -> None:
        table = np.full((len(dofs.coordinates), 6), -1, dtype=np.intp)
        table[dofs.node, dofs.component] = np.arange(len(dofs))
        self.size = size = len(dofs)
        self.connectivity = connectivity
        self.index = index = table[connectivity][..., components].reshape(len(connectivity), -1)
        pairs = (*index.shape, index.shape[1])
        rows = np.broadcast_to(index[:, :, None], pairs).ravel()
        cols = np.broadcast_to(index[:, None, :], pairs).ravel()
        self._used = (rows >= 0) & (cols >= 0)
        keys = rows[self._used] * size + cols[self._used]
        keys, self._slot = np.unique(keys, return_inverse=True)
        self._indices = keys % size
        self._indptr = np.searchsorted(keys, np.arange(size + 1) * size)
        self._present = index >= 0
        self.columns = np.flatnonzero(self._present.any(axis=0))

    def matrix(self, elements: Array) -> sp.csr_matrix:
        """Σ of the element matrices, (size, size); exact zeros are not stored."""
        values = elements.reshape(-1)[self._used]
        data = np.bincount(self._slot, weights=values, minlength=len(self._indices))
        pattern = (data, self._indices.copy(), self._indptr.copy())
        matrix = sp.csr_matrix(pattern, shape=(self.size, self.size))
        matrix.eliminate_zeros()
        return matrix

    def vector(self, elements: Array) -> Array:
        """Σ of the element vectors (E, d, ...) into (size, ...)."""
        out = np.zeros((self.size, *elements.shape[2:]))
        np.add.at(out, self.index[self._present], elements[self._present])
        return out

    def gather(self, u: Array) -> Array:
        """The element values (E, d) of a global vector (size,), zero for absent DOFs."""
        return np.where(self._present, u[np.where(self._present, self.index, 0)], 0.0)

    def path(self, passage: Passage) -> Array:
        """Displacements, velocities and accelerations of the elements, (E, 3 d)."""
        return np.concatenate([self.gather(x) for x in (passage.u, passage.v, passage.a)], axis=-1)
