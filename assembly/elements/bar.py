"""Bars: two nodes, straight, linear interpolation, axial stiffness only."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from assembly.dofs import DofMap
from assembly.elements.family import Displaced, Passage, Rates
from assembly.elements.finite_motion import FiniteMotion
from assembly.elements.moments import point_moments
from assembly.elements.scatter import ElementMap
from assembly.errors import MeshError
from assembly.kinematics import FRAME_UNITS, acceleration_units
from assembly.types import AnyArray, Array, Index


class BarFamily(FiniteMotion):
    """Bars between nodes connectivity (E, 2): axial stiffness EA (E,), N; mass ρA (E,), kg/m.

    The DOFs are any of the displacements 0–2. The strain is the engineering strain l/L − 1, so
    the force N adds K_G = N/L (I − t tᵀ). Its constant N is the mean of the exact axial force and
    is what keeps a rotated truss in equilibrium: f_int(R q) = R f_int(q). Raises MeshError when
    a bar has no length.
    """

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
        self._along = self.tangent[:, :, None] * self.tangent[:, None, :]
        self.EA = np.broadcast_to(np.asarray(EA, dtype=float), self.length.shape)
        # ∫ρA NᵀN of the scalar interpolation (E, 2, 2), or half the mass at each node.
        shape = np.eye(2) / 2.0 if lumped else np.array([[2.0, 1.0], [1.0, 2.0]]) / 6.0
        mass = np.asarray(mass_per_length, dtype=float) * self.length
        self._scalar_mass = mass[:, None, None] * shape
        forms = np.stack([np.eye(3), *FRAME_UNITS])
        blocks = np.einsum("eab,kij->ekaibj", self._scalar_mass, forms)
        self._forms = blocks.reshape(-1, 10, 6, 6)
        loads = -np.einsum("eab,ebik->eaik", self._scalar_mass, acceleration_units(self.ends))
        self._unit_loads = loads.reshape(-1, 6, 12)

    def _stretch(self, weight: Array, direction: Array) -> sp.csr_matrix:
        """Σ weight (E,) × direction (E, 3, 3) on the difference of the two end displacements."""
        difference = np.array([[1.0, -1.0], [-1.0, 1.0]])
        blocks = np.einsum("e,ab,eij->eaibj", weight, difference, direction)
        return self.map.matrix(blocks.reshape(len(self.length), 6, 6))

    def drawing_cells(self) -> tuple[tuple[str, Index], ...]:
        return (("line", self.map.connectivity),)

    def stiffness(self) -> sp.csr_matrix:
        return self._stretch(self.EA / self.length, self._along)

    def geometric(self, u: Array, coefficients: Array | None) -> sp.csr_matrix:
        moved = self.map.gather(u).reshape(-1, 2, 3)
        elongation = np.einsum("ei,ei->e", moved[:, 1] - moved[:, 0], self.tangent)
        N = self.EA * elongation / self.length
        return self._stretch(N / self.length, np.eye(3) - self._along)

    def element_forces(
        self, state: AnyArray, coefficients: Array, rates: Rates | None = None, static: bool = True
    ) -> AnyArray:
        """N along the displaced bar, and the inertia, which is linear."""
        d = state[..., :6]
        span, length = self._stretched(d)
        N: AnyArray = self.EA * (length / self.length - 1.0) if static else 0.0 * length
        inertia: AnyArray = self._linear(d, coefficients) if static else 0.0 * d
        if rates is not None:
            drag, resistance = rates
            v, a = (state[..., k : k + 6].reshape(*d.shape[:-1], 2, 3) for k in (6, 12))
            a = a + (drag[..., None, :, :] @ v[..., None])[..., 0]
            inertia = inertia + (self._scalar_mass @ a).reshape(d.shape)
            if resistance is not None:
                rate = np.sum(span * (v[..., 1, :] - v[..., 0, :]), axis=-1) / length
                N = N + resistance[:, 0, 0] * rate
        pull = (N / length)[..., None] * span
        return np.asarray(inertia + np.concatenate([-pull, pull], axis=-1))

    def _stretched(self, d: AnyArray) -> tuple[AnyArray, AnyArray]:
        """Vectors (..., E, 3) between the displaced nodes, and their lengths."""
        span = self.ends[:, 1] - self.ends[:, 0] + d[..., 3:] - d[..., :3]
        return span, np.sqrt(np.sum(span * span, axis=-1))

    def _resistance(self, b: float | Array) -> Array | None:
        """To rates of stretch, (E, 1, 1)."""
        return np.asarray(b * self.EA / self.length)[:, None, None] if np.any(b) else None

    def _strain_rates(self, passage: Passage) -> Array:
        v = self.map.gather(passage.v)
        span, length = self._stretched(self.map.gather(passage.u))
        stretch = np.sum(span * (v[..., 3:] - v[..., :3]), axis=-1) / length
        return np.asarray(stretch[..., None])

    def strain_energy(self, passage: Passage) -> Any:
        _, length = self._stretched(self.map.gather(passage.u))
        return 0.5 * np.sum(self.EA * (length - self.length) ** 2 / self.length, axis=-1)

    def inertia_moments(self, passage: Passage) -> Array:
        shape = *passage.u.shape[:-1], -1, 2, 3
        x = self.ends + self.map.gather(passage.u).reshape(shape)
        rates = self.map.gather(passage.v).reshape(shape)
        return point_moments(self._scalar_mass, x, rates)

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
