"""Rigid bodies and lumped masses with inertia, at nodes of a body.

The second-order displacement φ×s + ½φ×(φ×s) of every mass point contributes to K_G of the inertia
load (docs/theory.md, "Geometric stiffness is not optional"): `SectionInertia.load_work`, here with
the whole body in place of a section.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from assembly.dofs import DofMap
from assembly.elements.element_map import ElementMap
from assembly.elements.family import ElementFamily
from assembly.elements.large_rotation import inertia_gradient, jacobian
from assembly.elements.section_inertia import SectionInertia
from assembly.types import AnyArray, Array, Index


class RigidFamily(ElementFamily):
    """Rigid masses at nodes (E,); inertia about each node: m (E,), η (E, 3), J (E, 3, 3)."""

    def __init__(self, dofs: DofMap, nodes: Index, inertia: SectionInertia) -> None:
        self.size, self.inertia = len(dofs), inertia
        self.points = dofs.coordinates[nodes]
        self.map = ElementMap(dofs, nodes[:, None], (0, 1, 2, 3, 4, 5))

    def mass(self) -> sp.csr_matrix:
        return self.map.matrix(self.inertia.forms()[:, 0])

    def centrifugal(self) -> tuple[sp.csr_matrix, ...]:
        forms = self.inertia.forms()
        return tuple(self.map.matrix(forms[:, k]) for k in range(1, 7))

    def gyroscopic(self) -> tuple[sp.csr_matrix, ...]:
        forms = self.inertia.forms()
        return tuple(self.map.matrix(forms[:, k]) for k in range(7, 10))

    def spin_gyroscopic(self) -> sp.csr_matrix:
        """𝒢 per unit of spin about x, in a frame that does not spin."""
        return self.map.matrix(self.inertia.spin(np.array([1.0, 0.0, 0.0])))

    def inertia_loads(self) -> Array:
        return self.map.vector(self.inertia.loads(self.points))

    def geometric(self, u: Array, unit: int | None) -> sp.csr_matrix:
        if unit is None:
            return self.zero()
        turn = np.zeros((len(self.points), 6, 6))
        turn[:, 3:, 3:] = self.inertia.load_work(self.points, unit)
        return self.map.matrix(turn)

    def _gradient(self, y: AnyArray, coefficients: Array) -> AnyArray:
        force, (moment,) = inertia_gradient(
            self.inertia, self.points, y[..., :3], [y[..., 3:]], coefficients
        )
        return np.concatenate([force, moment], axis=-1)

    def _linear(self, coefficients: Array) -> Array:
        return np.asarray(np.einsum("ekij,k->eij", self.inertia.forms()[:, 1:], coefficients[:9]))

    def internal_force(self, u: Array, coefficients: Array) -> Array:
        """The inertia of the rotated bodies beyond the linear one."""
        y = self.map.gather(u)
        forces = self._gradient(y, coefficients)
        forces = forces + self.inertia.loads(self.points) @ coefficients
        return self.map.vector(forces - (self._linear(coefficients) @ y[..., None])[..., 0])

    def tangent_stiffness(self, u: Array, coefficients: Array) -> sp.csr_matrix:
        y = self.map.gather(u)
        J = jacobian(lambda state: self._gradient(state, coefficients), y)
        return self.map.matrix(J - self._linear(coefficients))
