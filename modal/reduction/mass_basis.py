"""Columns that are orthonormal in the mass, kept together with their products with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as la

from modal.eigen.solvers.shape_basis import lift
from modal.eigen.tolerances import HALF, WEAK
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

        Gram–Schmidt, twice where less than half of a square is left; then the eigenvectors of the
        Gram matrix, which reveal the rank; and all once more where a direction was next to lost.
        The product is formed of what is left: an error of MV would grow by what is lost, block
        after block. Strongest directions first.
        """
        for threshold in (HALF, CLEAR):
            share = self.MV.T @ block
            block = np.asfortranarray(block - lift(self.V, share))
            product = np.asfortranarray(self.mass @ block)
            square = (share**2).sum(axis=0) + np.einsum("ij,ij->j", block, product)
            there = square > 0.0
            size = np.sqrt(square[there])
            block, product = block[:, there] / size, product[:, there] / size
            theta, Y = _axes(block, product)
            if theta.min(initial=1.0) < 0.5:
                share = self.MV.T @ block
                block -= lift(self.V, share)
                product -= lift(self.MV, share)
                theta, Y = _axes(block, product)
            kept = np.flatnonzero(theta > threshold**2)[::-1]
            Y = Y[:, kept] / np.sqrt(theta[kept])
            block, product = lift(block, Y), lift(product, Y)
            if theta.min(initial=1.0) > WEAK:
                break
        room = self.V.shape[0] - self.size
        return block[:, :room], product[:, :room]

    def append(self, block: Array, product: Array) -> None:
        """Add columns that `directions` gave."""
        self.V = np.asfortranarray(np.hstack([self.V, block]))
        self.MV = np.asfortranarray(np.hstack([self.MV, product]))


def _axes(block: Array, product: Array) -> tuple[Array, Array]:
    """Eigenvalues, rising, and eigenvectors of the Gram matrix of a block and its product."""
    gram = block.T @ product
    theta, Y = la.eigh(0.5 * (gram + gram.T))
    return theta, Y
