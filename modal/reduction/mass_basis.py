"""Columns that are orthonormal in the mass, kept together with their products with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as la

from modal.eigen.solvers.shape_basis import lift
from modal.eigen.tolerances import HALF
from modal.types import Array

# Of a column's size: what is left below this after the first pass is not a new direction.
CLEAR = np.sqrt(HALF)


class MassBasis:
    """V (n, r) with VᵀMV = I, and MV."""

    def __init__(self, mass: Any) -> None:
        self.mass = mass
        self.V = self.MV = np.empty((mass.shape[0], 0), order="F")

    @property
    def size(self) -> int:
        return int(self.V.shape[1])

    def directions(self, block: Array) -> tuple[Array, Array]:
        """What the block (n, q) brings beyond V, M-orthonormal (n, p ≤ q), and M times it.

        Gram–Schmidt, twice where less than half of a square is left (one pass enlarges what V lacks
        in orthogonality by what is lost, block after block); then the eigenvectors of the
        Gram matrix, which reveal the rank; and all once more where a direction was small. Strongest
        directions first.
        """
        for threshold in (HALF, CLEAR):
            product = np.asfortranarray(self.mass @ block)
            size = np.sqrt(np.maximum(np.einsum("ij,ij->j", block, product), 0.0))
            there = size > 0.0
            block, product = block[:, there] / size[there], product[:, there] / size[there]
            for _ in range(2):
                share = self.MV.T @ block
                block -= lift(self.V, share)
                product -= lift(self.MV, share)
                gram = block.T @ product
                theta, Y = la.eigh(0.5 * (gram + gram.T))
                clear = len(theta) > 0 and theta[0] > 0.5
                if clear:
                    break
            kept = np.flatnonzero(theta > threshold**2)[::-1]
            Y = Y[:, kept] / np.sqrt(theta[kept])
            block, product = lift(block, Y), lift(product, Y)
            if clear:
                break
        room = self.V.shape[0] - self.size
        return block[:, :room], product[:, :room]

    def append(self, block: Array, product: Array) -> None:
        """Add columns that `directions` gave."""
        self.V = np.asfortranarray(np.hstack([self.V, block]))
        self.MV = np.asfortranarray(np.hstack([self.MV, product]))
