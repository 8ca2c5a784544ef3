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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.elements.cells import Batch, Cells
from assembly.elements.family import Beyond, Displaced, ElementFamily, Passage
from assembly.elements.moments import point_moments
from assembly.kinematics import FRAME_UNITS, UNIT_COUNT, acceleration_units
from assembly.linalg.combination import Combination, Kronecker
from assembly.magnitudes import ENTRIES
from assembly.types import Array, Index

Blocks = Callable[["Law", Batch], Array]  # of the pairs of nodes of a batch of cells


@dataclass(frozen=True)
class Law:
    """What cells are made of: elasticity (d, d, d, d), Pa, and density, kg/m³."""

    elasticity: Array
    density: float

    def stress(self, gradient: Array) -> Array:
        """σ (e, q, d, d) = c : ∇u (or S = c : E), Pa."""
        d = gradient.shape[-1]
        flat = gradient.reshape(-1, d * d) @ self.elasticity.reshape(d * d, d * d).T
        return np.asarray(flat.reshape(gradient.shape))


class Continuum(ElementFamily):
    """Cells of any supported kinds and materials on common nodes.

    cells: of dimension d, 2 (DOFs ux, uy at each node) or 3. laws: of the materials that the
    blocks of cells name by number.
    """

    resists_rigid_motions = False

    def __init__(self, cells: Cells, laws: Sequence[Law]) -> None:
        self.cells, self.points = cells, cells.points
        self.blocks, self.dimension = cells.blocks, cells.dimension
        self.laws = tuple(laws)
        self.size = cells.dimension * len(cells.points)

    def drawing_cells(self) -> tuple[tuple[str, Index], ...]:
        return tuple((block.kind, block.nodes) for block in self.blocks)

    # Inertia: one scalar matrix.

    @cached_property
    def scalar_mass(self) -> sp.csr_matrix:
        """m = ∫ρ φφᵀ, (N, N)."""
        pattern = self.cells.pattern
        total = np.zeros((pattern.size, 1))
        for k, law in enumerate(self.laws):
            for slots, blocks in self.cells.mass_products(k):
                pattern.add(total, slots, law.density * blocks)
        return pattern.scalar(total)

    def mass(self) -> Any:
        return Kronecker(self.scalar_mass, np.eye(self.dimension))

    def frame_inertia(self) -> tuple[Any, ...]:
        d = self.dimension
        return tuple(Kronecker(self.scalar_mass, unit[:d, :d]) for unit in FRAME_UNITS)

    def inertia_loads(self) -> Array:
        rigid = acceleration_units(self.points)[:, : self.dimension, :]
        loads = self.scalar_mass @ rigid.reshape(len(self.points), -1)
        return np.asarray(-loads.reshape(self.size, UNIT_COUNT))

    # Elasticity.

    def stiffness(self) -> Any:
        """K: the sum over cells of ∫ ∂_kφ_a ∂_lφ_b, then one product with the elasticity tensor."""
        d, pattern = self.dimension, self.cells.pattern
        total = np.zeros((pattern.size, d * d))
        products = np.empty((pattern.size, d * d)) if len(self.laws) > 1 else total
        for k, law in enumerate(self.laws):
            products[:] = 0.0
            for batch in self.cells.batches(k):
                pattern.add(products, batch.slots, batch.gradient_products())
            # K_ab,ij = Σ_kl c_ikjl ∫ ∂_kφ_a ∂_lφ_b
            elasticity = law.elasticity.transpose(1, 3, 0, 2).reshape(d * d, d * d)
            run = ENTRIES // d**4
            for start in range(0, pattern.size, run):
                rows = slice(start, start + run)
                part = products[rows] @ elasticity
                total[rows] = part if products is total else total[rows] + part
        return pattern.symmetric(total.reshape(-1, d, d))

    def geometric(self, u: Array, coefficients: Array | None) -> Any:
        """K_G = ∫ ∇φ_a·σ∇φ_b ⊗ I of the stress σ = c : ∇u at the quadrature points of K."""
        d = self.dimension

        def blocks(law: Law, batch: Batch) -> Array:
            return batch.stress_products(law.stress(self._gradient(batch, u)))

        return Kronecker(self.cells.pattern.scalar(self._summed(blocks, 1)), np.eye(d))

    # Large displacements of a St. Venant–Kirchhoff material, total Lagrangian.

    def force(self, passage: Passage) -> Array:
        """∫ F S ∇φ (size,), N, with F = I + ∇u, S = c : (E + b Ė), E = ½(FᵀF − I), and a M v."""
        d, (a_mass, b) = self.dimension, passage.rayleigh
        total = np.zeros((len(self.points), d))
        for law, batch in self._batches():
            F = self._deformation(batch, passage.u)
            strain = _green_strain(F)
            if b:
                strain += b * _strain_rate(F, self._gradient(batch, passage.v))
            first = np.matmul(F, law.stress(strain)) * batch.weights[:, :, None, None]
            e, q, a, _ = batch.gradients.shape
            # f (e, a, i) = Σ_q Σ_k ∂_kφ_a (F S)_ik
            left = batch.gradients.transpose(0, 2, 1, 3).reshape(e, a, q * d)
            forces = np.matmul(left, first.transpose(0, 1, 3, 2).reshape(e, q * d, d))
            np.add.at(total, batch.nodes.ravel(), forces.reshape(-1, d))
        return np.asarray(total.ravel() + a_mass * (self.mass() @ passage.v))

    def strain_energy(self, passage: Passage) -> float:
        """∫ ½ S : E, J."""
        total = 0.0
        for law, batch in self._batches():
            E = _green_strain(self._deformation(batch, passage.u))
            density = np.sum(law.stress(E) * E, axis=(-2, -1))
            total += 0.5 * float(np.sum(batch.weights * density))
        return total

    def dissipation(self, passage: Passage) -> float:
        """∫ b Ė : c : Ė, W."""
        total, b = 0.0, passage.rayleigh[1]
        for law, batch in self._batches() if b else ():
            F, rate = self._deformation(batch, passage.u), self._gradient(batch, passage.v)
            rate = _strain_rate(F, rate)
            total += b * float(
                np.sum(batch.weights * np.sum(law.stress(rate) * rate, axis=(-2, -1)))
            )
        return total

    def inertia_moments(self, passage: Passage) -> Array:
        d, x = self.dimension, self.points.copy()
        rates = np.zeros_like(x)
        x[:, :d] += passage.u.reshape(-1, d)
        rates[:, :d] = passage.v.reshape(-1, d)
        return point_moments(self.scalar_mass, x, rates)[None]

    def tangents(self, passage: Passage) -> tuple[Beyond, Any]:
        """By u ∫ (F_iI ∂_Jφ_a) c_IJKL (F_jK ∂_Lφ_b) + δ_ij ∇φ_a·S∇φ_b; by v its first term."""
        a, b = passage.rayleigh
        D = K = self.zero()

        def elastic(law: Law, batch: Batch) -> Array:
            F = self._deformation(batch, passage.u)
            return _stressed(law, batch, F, F, _green_strain(F))

        def viscous(law: Law, batch: Batch) -> Array:
            F = self._deformation(batch, passage.u)
            return _products(law, batch, F, F)

        def turned(law: Law, batch: Batch) -> Array:
            F, rate = self._deformation(batch, passage.u), self._gradient(batch, passage.v)
            return _stressed(law, batch, F, rate, _strain_rate(F, rate))

        if a:
            D = a * self.mass().tocsr()
        if b:
            D = sp.csr_matrix(D + b * self._blocked(viscous))
            K = K if passage.rests else b * self._blocked(turned)
        return Beyond(self.zero(), self.zero(), D, K), self._blocked(elastic)

    def displaced(self, passage: Passage) -> Displaced:
        """∫ (H_iI ∂_Jφ_a) c_iJ.. + transposed, H = ∇u: the strains of the turned cells."""

        def blocks(law: Law, batch: Batch) -> Array:
            H = self._gradient(batch, passage.u)
            half = _products(law, batch, np.broadcast_to(np.eye(self.dimension), H.shape), H)
            return np.asarray(half + half.transpose(0, 2, 1, 4, 3))

        return self._of_turned(blocks, passage.rayleigh[1])

    def strain_square(self, passage: Passage) -> Displaced:
        """∫ (H_iI ∂_Jφ_a) c_IJKL (H_jK ∂_Lφ_b)."""

        def blocks(law: Law, batch: Batch) -> Array:
            H = self._gradient(batch, passage.u)
            return _products(law, batch, H, H)

        return self._of_turned(blocks, passage.rayleigh[1])

    def _of_turned(self, blocks: Blocks, b: float) -> Displaced:
        d = self.dimension
        K = self.cells.pattern.symmetric(self._summed(blocks, d * d).reshape(-1, d, d))
        return Displaced(K, None, Combination.of(self.size, [b], [K]) if b else None)

    def _gradient(self, batch: Batch, u: Array) -> Array:
        """∇u at the points of a batch of cells."""
        return batch.displacement_gradient(u.reshape(-1, self.dimension))

    def _deformation(self, batch: Batch, u: Array) -> Array:
        """I + ∇u at the points of a batch of cells."""
        return np.eye(self.dimension) + self._gradient(batch, u)

    def _blocked(self, blocks: Blocks) -> sp.csr_matrix:
        d = self.dimension
        return self.cells.pattern.blocked(self._summed(blocks, d * d).reshape(-1, d, d))

    def _summed(self, blocks: Blocks, width: int) -> Array:
        """Σ of the blocks (e, a, a, width) of all cells, (pairs, width)."""
        total = np.zeros((self.cells.pattern.size, width))
        for law, batch in self._batches():
            self.cells.pattern.add(total, batch.slots, blocks(law, batch))
        return total

    def _batches(self) -> Iterator[tuple[Law, Batch]]:
        for k, law in enumerate(self.laws):
            for batch in self.cells.batches(k):
                yield law, batch


def _products(law: Law, batch: Batch, F: Array, H: Array) -> Array:
    """Σ_q w (F_iI ∂_Jφ_a) c_IJKL (H_jK ∂_Lφ_b), (e, a, b, i, j); F, H (e, q, d, d)."""
    e, q, a, d = batch.gradients.shape
    first, second = (
        np.einsum("eqiI,eqaJ->eqaiIJ", X, batch.gradients).reshape(e, q, a * d, -1) for X in (F, H)
    )
    stress = np.matmul(first, law.elasticity.reshape(d * d, d * d))
    stress *= batch.weights[:, :, None, None]
    left = stress.transpose(0, 2, 1, 3).reshape(e, a * d, q * d * d)
    right = second.transpose(0, 1, 3, 2).reshape(e, q * d * d, a * d)
    blocks = np.matmul(left, right).reshape(e, a, d, a, d)
    return np.asarray(blocks.transpose(0, 1, 3, 2, 4))


def _stressed(law: Law, batch: Batch, F: Array, H: Array, strain: Array) -> Array:
    """Those, and δ_ij Σ_q w ∇φ_a·S∇φ_b of the stress S of a strain."""
    initial = batch.stress_products(law.stress(strain))
    return np.asarray(_products(law, batch, F, H) + initial[..., None, None] * np.eye(F.shape[-1]))


def _green_strain(F: Array) -> Array:
    """E = ½(FᵀF − I)."""
    return np.asarray(0.5 * (np.matmul(np.swapaxes(F, -1, -2), F) - np.eye(F.shape[-1])))


def _strain_rate(F: Array, rate: Array) -> Array:
    """Ė = ½(FᵀĠ + ĠᵀF) of the gradient Ġ of velocities."""
    mixed = np.matmul(np.swapaxes(F, -1, -2), rate)
    return np.asarray(0.5 * (mixed + np.swapaxes(mixed, -1, -2)))
