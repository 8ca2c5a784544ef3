"""Displacement elements of a continuum, in two or three dimensions: the part plane and solid
elements share.

The interpolation is isotropic, N = φ ⊗ I_d, so that with the scalar mass matrix m = ∫ρ φφᵀ

    M = m ⊗ I,  G(w) = m ⊗ w̃,  K(ω²) = m ⊗ ω̃ω̃,  load = −(m ⊗ (ε̃ + ω̃ω̃)) X − (m ⊗ I) a_O

exactly (isoparametric cells: X = Σ φ_a X_a), and the geometric stiffness ∫ ∇φ_a·σ∇φ_b is scalar
too. K is the integral of ∇φ_a ∇φ_bᵀ contracted with the elasticity tensor. Integrals are batched
matrix products over cells. K_G takes σ at the points where K is integrated, so that the discrete
equilibrium K u = load holds for σ as well: the rigid rotation then annihilates K + K(ε) + K(ω²) +
K_G to round-off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from assembly.combination import Kronecker
from assembly.elements.family import ElementFamily
from assembly.elements.reference import CELLS, Cell, at_nodes, tabulate
from assembly.elements.scatter import NodePattern
from assembly.errors import MeshError
from assembly.kinematics import CENTRIPETAL_UNITS, SKEW_UNITS, UNIT_COUNT, acceleration_units

Array = NDArray[np.float64]
Index = NDArray[np.intp]

BATCH_BYTES = 64_000_000  # of element blocks held at once
FOLD = (
    0.05  # of the mean Jacobian determinant: how far below zero it may be at a curved cell's node
)


@dataclass(frozen=True)
class CellBlock:
    """Cells of one kind: the kind's name in mesh files and the nodes (E, a) of each cell."""

    kind: str
    nodes: Index

    @property
    def cell(self) -> Cell:
        return CELLS[self.kind]


@dataclass(frozen=True)
class Batch:
    """A run of cells at the points of a rule: pair slots (e, a·a), nodes (e, a), φ (q, a), ∇φ (e,
    q, a, d) and weight × Jacobian determinant × thickness (e, q)."""

    slots: Index
    nodes: Index
    values: Array
    gradients: Array
    weights: Array

    def gradient_products(self) -> Array:
        """Σ_q w ∂_kφ_a ∂_lφ_b, (e, a, b, k, l)."""
        e, q, a, d = self.gradients.shape
        right = self.gradients.reshape(e, q, a * d)
        left = (right * self.weights[:, :, None]).transpose(0, 2, 1)
        return np.matmul(left, right).reshape(e, a, d, a, d).transpose(0, 1, 3, 2, 4)


class Continuum(ElementFamily):
    """Cells of any supported kinds on common nodes, of one material.

    points: (N, 3) in body axes, m. dimension d: 2 (unknowns ux, uy at each node) or 3. elasticity:
    (d, d, d, d), Pa. density: kg/m³. thickness: m (1 for solids). Raises MeshError for a cell whose
    Jacobian determinant is not positive at a quadrature point.
    """

    def __init__(
        self,
        points: Array,
        blocks: Sequence[CellBlock],
        dimension: int,
        elasticity: Array,
        density: float,
        thickness: float = 1.0,
    ) -> None:
        self.points, self.blocks, self.dimension = points, tuple(blocks), dimension
        self.elasticity, self.density, self.thickness = elasticity, density, thickness
        self.size = dimension * len(points)
        self._check_cells()

    @cached_property
    def pattern(self) -> NodePattern:
        return NodePattern(len(self.points), [block.nodes for block in self.blocks])

    def batches(self, purpose: Literal["stiffness", "mass"]) -> Iterator[Batch]:
        """All cells in runs of bounded memory; the purpose picks the quadrature."""
        for block, slots in zip(self.blocks, self.pattern.slots, strict=True):
            cell = block.cell
            order = cell.stiffness_order if purpose == "stiffness" else cell.mass_order
            table = tabulate(block.kind, order)
            a, d = block.nodes.shape[1], self.dimension
            per_cell = 16 * a * d * (d * d * len(table.weights) + a * d)
            step = max(1, BATCH_BYTES // per_cell)
            for start in range(0, len(block.nodes), step):
                nodes = block.nodes[start : start + step]
                gradients, volumes = self._geometry(block, start, nodes, table.gradients)
                weights = volumes * table.weights * self.thickness
                yield Batch(slots[start : start + step], nodes, table.values, gradients, weights)

    def _geometry(
        self, block: CellBlock, start: int, nodes: Index, table: Array
    ) -> tuple[Array, Array]:
        """∇φ (e, q, a, d) in body axes and the Jacobian determinant (e, q)."""
        inverse, determinant = _inverse(self._jacobian(nodes, table))
        _require_positive(determinant, block, start)
        return np.matmul(table[None], inverse.transpose(0, 1, 3, 2)), determinant

    def _jacobian(self, nodes: Index, table: Array) -> Array:
        """∂X_i/∂ξ_r, (e, q, r, i)."""
        q, a, d = table.shape
        X = self.points[nodes][:, :, :d]
        return np.matmul(table.transpose(0, 2, 1).reshape(q * d, a), X).reshape(-1, q, d, d)

    def _check_cells(self) -> None:
        """Positive Jacobians where K is integrated, and no fold at the nodes (two nodes exchanged
        in a quadratic cell leave the inner points positive)."""
        for block in self.blocks:
            inner = tabulate(block.kind, block.cell.stiffness_order).gradients
            nodal = at_nodes(block.kind).gradients
            step = max(1, BATCH_BYTES // (8 * (inner.size + nodal.size)))
            for start in range(0, len(block.nodes), step):
                nodes = block.nodes[start : start + step]
                determinant = np.linalg.det(self._jacobian(nodes, inner))
                _require_positive(determinant, block, start)
                folded = np.linalg.det(self._jacobian(nodes, nodal))
                allowed = FOLD * determinant.mean(axis=1, keepdims=True)
                _require_positive(
                    np.where(folded > -allowed, determinant.min(), folded), block, start
                )

    # Inertia: one scalar matrix.

    @cached_property
    def scalar_mass(self) -> sp.csr_matrix:
        """m = ∫ρ φφᵀ, (N, N)."""
        total = np.zeros((self.pattern.size, 1))
        for batch in self.batches("mass"):
            products = np.einsum("qa,qb->qab", batch.values, batch.values)
            blocks = batch.weights @ products.reshape(len(products), -1)
            self.pattern.add(total, batch.slots, blocks)
        return self.pattern.scalar(self.density * total)

    def mass(self) -> Any:
        return Kronecker(self.scalar_mass, np.eye(self.dimension))

    def gyroscopic(self) -> tuple[Any, ...]:
        d = self.dimension
        return tuple(Kronecker(self.scalar_mass, unit[:d, :d]) for unit in SKEW_UNITS)

    def centrifugal(self) -> tuple[Any, ...]:
        d = self.dimension
        return tuple(Kronecker(self.scalar_mass, unit[:d, :d]) for unit in CENTRIPETAL_UNITS)

    def inertia_loads(self) -> Array:
        rigid = acceleration_units(self.points)[:, : self.dimension, :]
        loads = self.scalar_mass @ rigid.reshape(len(self.points), -1)
        return np.asarray(-loads.reshape(self.size, UNIT_COUNT))

    # Elasticity.

    def stiffness(self) -> Any:
        """K: the sum over cells of ∫ ∂_kφ_a ∂_lφ_b, then one product with the elasticity tensor."""
        d = self.dimension
        total = np.zeros((self.pattern.size, d * d))
        for batch in self.batches("stiffness"):
            self.pattern.add(total, batch.slots, batch.gradient_products())
        # K_ab,ij = Σ_kl c_ikjl ∫ ∂_kφ_a ∂_lφ_b
        contraction = self.elasticity.transpose(1, 3, 0, 2).reshape(d * d, d * d)
        return self.pattern.blocked((total @ contraction).reshape(-1, d, d))

    def geometric(self, u: Array, unit: int | None) -> Any:
        """K_G = ∫ ∇φ_a·σ∇φ_b ⊗ I of the stress σ = c : ∇u at the quadrature points of K."""
        d = self.dimension
        total = np.zeros((self.pattern.size, 1))
        nodal = u.reshape(-1, d)
        for batch in self.batches("stiffness"):
            stress = self.stress(displacement_gradient(batch, nodal))
            self.pattern.add(total, batch.slots, stress_products(batch, stress))
        return Kronecker(self.pattern.scalar(total), np.eye(d))

    # Large displacements of a St. Venant–Kirchhoff material, total Lagrangian.

    def internal_force(self, u: Array, coefficients: Array) -> Array:
        """∫ F S ∇φ (size,), N, with F = I + ∇u, S = c : ½(FᵀF − I)."""
        d = self.dimension
        nodal, total = u.reshape(-1, d), np.zeros((len(self.points), d))
        for batch in self.batches("stiffness"):
            F = np.eye(d) + displacement_gradient(batch, nodal)
            first = np.matmul(F, self.stress(_green_strain(F))) * batch.weights[:, :, None, None]
            e, q, a, _ = batch.gradients.shape
            # f (e, a, i) = Σ_q Σ_k ∂_kφ_a (F S)_ik
            left = batch.gradients.transpose(0, 2, 1, 3).reshape(e, a, q * d)
            forces = np.matmul(left, first.transpose(0, 1, 3, 2).reshape(e, q * d, d))
            np.add.at(total, batch.nodes.ravel(), forces.reshape(-1, d))
        return total.ravel()

    def tangent_stiffness(self, u: Array, coefficients: Array) -> Any:
        """∂(internal force)/∂u: ∫ (F_iI ∂_Jφ_a) c_IJKL (F_jK ∂_Lφ_b) + δ_ij ∇φ_a·S∇φ_b."""
        d = self.dimension
        nodal, total = u.reshape(-1, d), np.zeros((self.pattern.size, d * d))
        moduli, one = self.elasticity.reshape(d * d, d * d), np.eye(d)
        for batch in self.batches("stiffness"):
            F = one + displacement_gradient(batch, nodal)
            e, q, a, _ = batch.gradients.shape
            strain = np.einsum("eqiI,eqaJ->eqaiIJ", F, batch.gradients).reshape(e, q, a * d, d * d)
            stress = np.matmul(strain, moduli) * batch.weights[:, :, None, None]
            left = stress.transpose(0, 2, 1, 3).reshape(e, a * d, q * d * d)
            right = strain.transpose(0, 1, 3, 2).reshape(e, q * d * d, a * d)
            blocks = np.matmul(left, right).reshape(e, a, d, a, d).transpose(0, 1, 3, 2, 4)
            initial = stress_products(batch, self.stress(_green_strain(F)))
            self.pattern.add(total, batch.slots, blocks + initial[..., None, None] * one)
        return self.pattern.blocked(total.reshape(-1, d, d))

    def stress(self, gradient: Array) -> Array:
        """σ (e, q, d, d) = c : ∇u (or S = c : E), Pa."""
        d = self.dimension
        flat = gradient.reshape(-1, d * d) @ self.elasticity.reshape(d * d, d * d).T
        return flat.reshape(gradient.shape)


def displacement_gradient(batch: Batch, nodal: Array) -> Array:
    """∂u_i/∂X_k (e, q, i, k) of nodal displacements (N, d)."""
    local = nodal[batch.nodes][:, None].transpose(0, 1, 3, 2)
    return np.matmul(local, batch.gradients)


def _require_positive(determinant: Array, block: CellBlock, start: int) -> None:
    """MeshError naming the first cell with a Jacobian determinant (e, q) that is not positive."""
    bad = np.flatnonzero(~(determinant > 0.0).all(axis=1))
    if bad.size:
        first = int(bad[0])
        raise MeshError(
            f"element {start + first} of the {block.kind} cells is inverted or degenerate: its"
            f" Jacobian determinant is {determinant[first].min():.3g}, it must be positive"
            f" (nodes {block.nodes[start + first].tolist()})"
        )


def _green_strain(F: Array) -> Array:
    """E = ½(FᵀF − I)."""
    return np.asarray(0.5 * (np.matmul(np.swapaxes(F, -1, -2), F) - np.eye(F.shape[-1])))


def stress_products(batch: Batch, stress: Array) -> Array:
    """Σ_q w ∇φ_a·σ∇φ_b, (e, a, a)."""
    e, q, a, d = batch.gradients.shape
    left = np.matmul(batch.gradients, stress) * batch.weights[:, :, None, None]
    left = left.transpose(0, 2, 1, 3).reshape(e, a, q * d)
    right = batch.gradients.transpose(0, 1, 3, 2).reshape(e, q * d, a)
    return np.matmul(left, right)


def _inverse(J: Array) -> tuple[Array, Array]:
    """Inverse and determinant of (…, d, d), d = 2 or 3, by cofactors."""
    if J.shape[-1] == 2:
        (a, b), (c, d) = np.moveaxis(J, (-2, -1), (0, 1))
        determinant = a * d - b * c
        cofactors = np.stack([np.stack([d, -b], -1), np.stack([-c, a], -1)], -2)
    else:
        rows = J[..., 0, :], J[..., 1, :], J[..., 2, :]
        columns = [np.cross(rows[(k + 1) % 3], rows[(k + 2) % 3]) for k in range(3)]
        determinant = np.einsum("...i,...i->...", rows[0], columns[0])
        cofactors = np.stack(columns, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return cofactors / determinant[..., None, None], determinant
