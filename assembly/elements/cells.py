"""Cells of any supported kinds on common nodes: their geometry at quadrature points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assembly.elements.reference import CELLS, Cell, at_nodes, tabulate
from assembly.elements.scatter import NodePattern
from assembly.elements.taylor import cross
from assembly.errors import MeshError
from assembly.magnitudes import ENTRIES
from assembly.types import Array, Index

# Of the mean Jacobian determinant: how far below zero it may be at a node of a curved cell.
FOLD = 0.05


@dataclass(frozen=True)
class CellBlock:
    """Cells of one kind and material: the kind's name in mesh files, the nodes (E, a) of each cell.

    law: the number of the cells' material. numbers (E,): of the cells among all of their kind.
    """

    kind: str
    nodes: Index
    law: int = 0
    numbers: Index | None = None

    @property
    def cell(self) -> Cell:
        return CELLS[self.kind]


@dataclass(frozen=True)
class Batch:
    """A run of cells at the points of a rule.

    slots (e, a·a): where pairs of nodes are stored. nodes (e, a). gradients (e, q, a, d): ∇φ, 1/m.
    weights (e, q): rule's weight × Jacobian determinant × thickness.
    """

    slots: Index
    nodes: Index
    gradients: Array
    weights: Array

    def gradient_products(self) -> Array:
        """Σ_q w ∂_kφ_a ∂_lφ_b, (e, a, b, k, l)."""
        e, q, a, d = self.gradients.shape
        right = self.gradients.reshape(e, q, a * d)
        left = (right * self.weights[:, :, None]).transpose(0, 2, 1)
        return np.asarray(np.matmul(left, right).reshape(e, a, d, a, d).transpose(0, 1, 3, 2, 4))

    def stress_products(self, stress: Array) -> Array:
        """Σ_q w ∇φ_a·σ∇φ_b (e, a, a) of a stress (e, q, d, d)."""
        e, q, a, d = self.gradients.shape
        left = np.matmul(self.gradients, stress) * self.weights[:, :, None, None]
        left = left.transpose(0, 2, 1, 3).reshape(e, a, q * d)
        right = self.gradients.transpose(0, 1, 3, 2).reshape(e, q * d, a)
        return np.asarray(np.matmul(left, right))

    def displacement_gradient(self, nodal: Array) -> Array:
        """∂u_i/∂X_k (e, q, i, k) of nodal displacements (N, d)."""
        local = nodal[self.nodes][:, None].transpose(0, 1, 3, 2)
        return np.asarray(np.matmul(local, self.gradients))


class Cells:
    """Blocks of cells on nodes (N, 3) in the first `dimension` directions, and their thickness.

    volumes: of each block, m³.

    Raises MeshError for a cell that is inverted, degenerate or folded.
    """

    def __init__(
        self, points: Array, blocks: Sequence[CellBlock], dimension: int, thickness: float = 1.0
    ) -> None:
        self.points, self.blocks = points, tuple(blocks)
        self.dimension, self.thickness = dimension, thickness
        self.volumes = [self._checked_volume(block) for block in self.blocks]
        self._kept: dict[int, list[Batch]] = {}

    @cached_property
    def pattern(self) -> NodePattern:
        return NodePattern(len(self.points), [block.nodes for block in self.blocks])

    def batches(self, law: int, kept: int = 500) -> Iterator[Batch]:
        """Cells of one material at the points of the stiffness, in runs of bounded memory.

        Those of a mesh of up to so many cells are kept.
        """
        if sum(len(block.nodes) for block in self.blocks) > kept:
            return self._made(law)
        if law not in self._kept:
            self._kept[law] = list(self._made(law))
        return iter(self._kept[law])

    def _made(self, law: int) -> Iterator[Batch]:
        for block, slots in self._of(law):
            table = tabulate(block.kind, block.cell.stiffness_order)
            q, a, d = table.gradients.shape
            for run in _runs(block, 16 * a * d * (q * d * d + a * d)):
                nodes = block.nodes[run]
                inverse, determinant = _inverse(self._jacobian(nodes, table.gradients))
                gradients = np.matmul(table.gradients[None], inverse.transpose(0, 1, 3, 2))
                weights = determinant * table.weights * self.thickness
                yield Batch(slots[run], nodes, gradients, weights)

    def mass_products(self, law: int) -> Iterator[tuple[Index, Array]]:
        """Runs of slots (e, a·a) and ∫ φ_a φ_b (e, a·a) of cells of one material."""
        for block, slots in self._of(law):
            table = tabulate(block.kind, block.cell.mass_order)
            q, a, d = table.gradients.shape
            products = np.einsum("qa,qb->qab", table.values, table.values).reshape(q, a * a)
            products *= table.weights[:, None] * self.thickness
            for run in _runs(block, 16 * (2 * q * d * d + a * a)):
                determinant = _determinant(self._jacobian(block.nodes[run], table.gradients))
                yield slots[run], determinant @ products

    def _of(self, law: int) -> Iterator[tuple[CellBlock, Index]]:
        pairs = zip(self.blocks, self.pattern.slots, strict=True)
        return (pair for pair in pairs if pair[0].law == law)

    def _jacobian(self, nodes: Index, table: Array) -> Array:
        """∂X_i/∂ξ_r, (e, q, r, i)."""
        q, a, d = table.shape
        X = self.points[nodes][:, :, :d]
        return np.asarray(
            np.matmul(table.transpose(0, 2, 1).reshape(q * d, a), X).reshape(-1, q, d, d)
        )

    def _checked_volume(self, block: CellBlock) -> float:
        """The volume of a block with positive Jacobians where the stiffness is integrated, and no
        fold at the nodes: two nodes exchanged in a quadratic cell leave the inner points
        positive."""
        inner, volume = tabulate(block.kind, block.cell.stiffness_order), 0.0
        nodal = at_nodes(block.kind).gradients
        for run in _runs(block, 32 * (inner.gradients.size + nodal.size)):
            determinant = _determinant(self._jacobian(block.nodes[run], inner.gradients))
            folded = _determinant(self._jacobian(block.nodes[run], nodal))
            volume += self.thickness * float((determinant @ inner.weights).sum())
            allowed = FOLD * determinant.mean(axis=1)
            bad = ~((determinant.min(axis=1) > 0.0) & (folded.min(axis=1) > -allowed))
            if bad.any():
                k = int(np.flatnonzero(bad)[0])
                worst = min(determinant[k].min(), folded[k].min())
                known = np.arange(len(block.nodes)) if block.numbers is None else block.numbers
                raise MeshError(
                    f"element {known[run.start + k]} of the {block.kind} cells is inverted or"
                    f" degenerate: its Jacobian determinant is {worst:.3g}, it must be positive"
                    f" (nodes {block.nodes[run.start + k].tolist()})"
                )
        return volume


def _runs(block: CellBlock, bytes_per_cell: int) -> Iterator[slice]:
    step = max(1, 8 * ENTRIES // bytes_per_cell)
    for start in range(0, len(block.nodes), step):
        yield slice(start, start + step)


def _determinant(J: Array) -> Array:
    """Determinant of (…, d, d), d = 2 or 3."""
    if J.shape[-1] == 2:
        return np.asarray(J[..., 0, 0] * J[..., 1, 1] - J[..., 0, 1] * J[..., 1, 0])
    crossed = cross(J[..., 1, :], J[..., 2, :], axis=-1)
    return np.asarray(np.einsum("...i,...i->...", J[..., 0, :], crossed))


def _inverse(J: Array) -> tuple[Array, Array]:
    """Inverse and determinant of (…, d, d), d = 2 or 3, by cofactors."""
    determinant = _determinant(J)
    inverse = np.empty_like(J)
    if J.shape[-1] == 2:
        inverse[..., 0, 0], inverse[..., 1, 1] = J[..., 1, 1], J[..., 0, 0]
        inverse[..., 0, 1], inverse[..., 1, 0] = -J[..., 0, 1], -J[..., 1, 0]
    else:
        for k in range(3):
            inverse[..., k] = cross(J[..., (k + 1) % 3, :], J[..., (k + 2) % 3, :], axis=-1)
    inverse /= determinant[..., None, None]
    return inverse, determinant
