"""Bars: two nodes, straight, linear interpolation, axial stiffness only."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from assembly.dofs import DofMap
from assembly.elements.family import Beyond, Displaced, ElementFamily, Passage
from assembly.elements.moments import point_moments
from assembly.elements.scatter import ElementMap
from assembly.errors import MeshError
from assembly.kinematics import CENTRIPETAL_UNITS, SKEW_UNITS, acceleration_units
from assembly.types import Array, Index


class BarFamily(ElementFamily):
    """Bars between nodes connectivity (E, 2): axial stiffness EA (E,), N; mass ρA (E,), kg/m.

    The DOFs are any of the displacements 0–2. The strain is the engineering strain l/L − 1, so
    the force N adds K_G = N/L (I − t tᵀ). Its constant N is the mean of the exact axial force and
    is what keeps a rotated truss in equilibrium: f_int(R q) = R f_int(q). Raises MeshError when
    a bar has no length.
    """

    resists_rigid_motions = False

    def __init__(
        self,
        dofs: DofMap,
        connectivity: Index,
        EA: ArrayLike,
        mass_per_length: ArrayLike,
        lumped: bool = False,
    ) -> None:
        self.size = len(dofs)
        self.map = ElementMap(dofs, connectivity, (0, 1, 2))
        self.ends = dofs.coordinates[connectivity]
        span = self.ends[:, 1] - self.ends[:, 0]
        self.length = np.linalg.norm(span, axis=1)
        if np.any(self.length <= 0.0):
            raise MeshError(
                f"bar {int(np.argmin(self.length))}: its two nodes are at the same place"
            )
        self.tangent = span / self.length[:, None]
        self.EA = np.broadcast_to(np.asarray(EA, dtype=float), self.length.shape)
        self.mass_per_length = np.broadcast_to(
            np.asarray(mass_per_length, float), self.length.shape
        )

        self.lumped = lumped

    @cached_property
    def _scalar_mass(self) -> Array:
        """∫ρA NᵀN of the scalar interpolation (E, 2, 2), or half the mass at each node."""
        shape = np.eye(2) / 2.0 if self.lumped else np.array([[2.0, 1.0], [1.0, 2.0]]) / 6.0
        return np.asarray((self.mass_per_length * self.length)[:, None, None] * shape)

    def _inertia(self, a: Array) -> sp.csr_matrix:
        """∫ρA Nᵀ a N for a (3, 3)."""
        blocks = np.einsum("eab,ij->eaibj", self._scalar_mass, a)
        return self.map.matrix(blocks.reshape(len(self.length), 6, 6))

    def _stretch(self, weight: Array, direction: Array) -> sp.csr_matrix:
        """Σ weight (E,) × direction (E, 3, 3) on the difference of the two end displacements."""
        difference = np.array([[1.0, -1.0], [-1.0, 1.0]])
        blocks = np.einsum("e,ab,eij->eaibj", weight, difference, direction)
        return self.map.matrix(blocks.reshape(len(self.length), 6, 6))

    @cached_property
    def _along(self) -> Array:
        return np.asarray(self.tangent[:, :, None] * self.tangent[:, None, :])

    def drawing_cells(self) -> tuple[tuple[str, Index], ...]:
        return (("line", self.map.connectivity),)

    def mass(self) -> sp.csr_matrix:
        return self._inertia(np.eye(3))

    def stiffness(self) -> sp.csr_matrix:
        return self._stretch(self.EA / self.length, self._along)

    def gyroscopic(self) -> tuple[sp.csr_matrix, ...]:
        return tuple(self._inertia(unit) for unit in SKEW_UNITS)

    def centrifugal(self) -> tuple[sp.csr_matrix, ...]:
        return tuple(self._inertia(unit) for unit in CENTRIPETAL_UNITS)

    def inertia_loads(self) -> Array:
        nodal = acceleration_units(self.ends)
        loads = -np.einsum("eab,ebik->eaik", self._scalar_mass, nodal)
        return self.map.vector(loads.reshape(len(self.length), 6, -1))

    def geometric(self, u: Array, unit: int | None) -> sp.csr_matrix:
        moved = self.map.gather(u).reshape(-1, 2, 3)
        elongation = np.einsum("ei,ei->e", moved[:, 1] - moved[:, 0], self.tangent)
        N = self.EA * elongation / self.length
        return self._stretch(N / self.length, np.eye(3) - self._along)

    def _stretched(self, u: Array) -> tuple[Array, Array, Array]:
        """Length, direction and axial force of the displaced bars."""
        moved = self.ends + self.map.gather(u).reshape(-1, 2, 3)
        span = moved[:, 1] - moved[:, 0]
        length = np.linalg.norm(span, axis=1)
        return length, span / length[:, None], self.EA * (length / self.length - 1.0)

    def internal_force(self, passage: Passage) -> Array:
        """N along the displaced bar."""
        _, n, N = self._stretched(passage.u)
        pull = N[:, None] * n
        return self.map.vector(np.concatenate([-pull, pull], axis=1))

    def strain_energy(self, passage: Passage) -> float:
        length, _, N = self._stretched(passage.u)
        return float(0.5 * N @ (length - self.length))

    def inertia_moments(self, passage: Passage) -> Array:
        x = self.ends + self.map.gather(passage.u).reshape(-1, 2, 3)
        rates = self.map.gather(passage.v).reshape(-1, 2, 3)
        bars = zip(self._scalar_mass, x, rates, strict=True)
        return np.array([point_moments(m, *at) for m, *at in bars])

    def tangent_stiffness(self, passage: Passage) -> sp.csr_matrix:
        length, n, N = self._stretched(passage.u)
        along = n[:, :, None] * n[:, None, :]
        stiff = self._stretch(self.EA / self.length, along)
        return sp.csr_matrix(stiff + self._stretch(N / length, np.eye(3) - along))

    def displaced(self, passage: Passage) -> Displaced:
        """The bars turn by n₁ = (I − ttᵀ)Δu/L: EA/L (n₁tᵀ + tn₁ᵀ)."""
        mixed = self._turn(passage.u)[:, :, None] * self.tangent[:, None, :]
        return self._of_turned(mixed + mixed.swapaxes(-1, -2), passage.rayleigh[1])

    def strain_square(self, passage: Passage) -> Displaced:
        across = self._turn(passage.u)
        return self._of_turned(across[:, :, None] * across[:, None, :], passage.rayleigh[1])

    def _turn(self, u: Array) -> Array:
        """n₁ (E, 3)."""
        moved = self.map.gather(u).reshape(-1, 2, 3)
        apart = (moved[:, 1] - moved[:, 0]) / self.length[:, None]
        along = np.einsum("ei,ei->e", apart, self.tangent)
        return np.asarray(apart - along[:, None] * self.tangent)

    def _of_turned(self, directions: Array, b: float) -> Displaced:
        K = self._stretch(self.EA / self.length, directions)
        return Displaced(K, None, b * K if b else None)

    def viscous_stiffness(self, passage: Passage) -> sp.csr_matrix:
        _, n, _ = self._stretched(passage.u)
        return self._stretch(self.EA / self.length, n[:, :, None] * n[:, None, :])

    def rate_tangents(self, passage: Passage) -> Beyond:
        M, C, D, K = super().rate_tangents(passage)
        b = passage.rayleigh[1]
        if b and not passage.rests:
            length, n, _ = self._stretched(passage.u)
            v = self.map.gather(passage.v).reshape(-1, 2, 3)
            apart = v[:, 1] - v[:, 0]
            rate = np.einsum("ei,ei->e", apart, n)
            across = np.eye(3) - n[:, :, None] * n[:, None, :]
            turned = rate[:, None, None] * across
            turned = turned + n[:, :, None] * np.einsum("ei,eij->ej", apart, across)[:, None, :]
            K = K + b * self._stretch(self.EA / (self.length * length), turned)
        return Beyond(M, C, D, sp.csr_matrix(K))
