"""Columns that are orthonormal in the mass, kept together with their products with it."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]

DROP = 1e-8  # of a column's size: what is left below this is not a new direction
REPEATED = 1e-4  # the same after the first pass


class MassBasis:
    """V (n, r) with VᵀMV = I, and MV."""

    def __init__(self, mass: sp.csr_matrix) -> None:
        self.mass = mass
        self.V = np.zeros((mass.shape[0], 0))
        self.MV = np.zeros((mass.shape[0], 0))

    @property
    def size(self) -> int:
        return int(self.V.shape[1])

    def directions(self, block: Array) -> tuple[Array, Array]:
        """What the block (n, q) brings beyond V, M-orthonormal (n, p ≤ q), and M times it.

        Twice Gram–Schmidt, then the eigenvectors of the Gram matrix, which reveal the rank; and
        once more, since what is left of a column can be small. Strongest directions first.
        """
        for threshold in (DROP, REPEATED):
            product = self.mass @ block
            size = np.sqrt(np.maximum(np.einsum("ij,ij->j", block, product), 0.0))
            there = size > 0.0
            block, product = block[:, there] / size[there], product[:, there] / size[there]
            for _ in range(2):
                share = self.MV.T @ block
                block -= self.V @ share
                product -= self.MV @ share
            gram = block.T @ product
            theta, Y = la.eigh(0.5 * (gram + gram.T))
            kept = np.flatnonzero(theta > threshold**2)[::-1]
            Y = Y[:, kept] / np.sqrt(theta[kept])
            block, product = block @ Y, product @ Y
        room = self.V.shape[0] - self.size
        return block[:, :room], product[:, :room]

    def append(self, block: Array, product: Array) -> None:
        """Add columns that `directions` gave."""
        self.V = np.hstack([self.V, block])
        self.MV = np.hstack([self.MV, product])
