"""Rigid bodies and lumped masses with inertia, at nodes of a body.

The second-order displacement φ×s + ½φ×(φ×s) of every mass point contributes to K_G of the inertia
load (docs/theory.md, "Geometric stiffness is not optional"): `SectionInertia.load_work`, here with
the whole body in place of a section.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.dofs import DofMap
from assembly.elements.element_map import ElementMap
from assembly.elements.family import ElementFamily
from assembly.elements.large_rotation import STEP, inertia_gradient, jacobian, rate_gradient
from assembly.elements.moments import section_moments
from assembly.elements.passage import Beyond, Displaced, Passage
from assembly.elements.section_inertia import SectionInertia
from assembly.elements.taylor import Taylor
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

    def inertia_moments(self, u: Array, v: Array, coefficients: Array) -> Array:
        y, rate = self.map.gather(u), self.map.gather(v)
        path: Any = Taylor.of(y, rate, 0.0 * rate)
        moved, turn = self.points + path[..., :3], path[..., 3:]
        return section_moments(self.inertia, np.ones(len(y)), moved, [turn])

    def _rates(self, state: AnyArray, omega: Array, a: float = 0.0) -> AnyArray:
        """Inertia forces (E, 6) of velocities and accelerations; state (..., E, 18)."""
        path: Any = Taylor.of(*np.split(state, 3, axis=-1))
        moved, turn = self.points + path[..., :3], path[..., 3:]
        force, (moment,) = rate_gradient(self.inertia, moved, [turn], omega, a)
        return np.concatenate([force, moment], axis=-1)

    def rate_force(self, passage: Passage) -> Array:
        u, v, a = (self.map.gather(x) for x in (passage.u, passage.v, passage.a))
        forms, omega = self.inertia.forms(), passage.omega
        C = np.einsum("ekij,k->eij", forms[:, 7:10], 2.0 * omega)
        forces = self._rates(np.concatenate([u, v, a], axis=-1), omega, passage.rayleigh[0])
        linear = forms[:, 0] @ a[..., None] + C @ v[..., None]
        return self.map.vector(forces - linear[..., 0])

    def rate_tangents(self, passage: Passage) -> Beyond:
        at = np.concatenate(
            [self.map.gather(x) for x in (passage.u, passage.v, passage.a)], axis=-1
        )
        omega, a = passage.omega, passage.rayleigh[0]
        forms = self.inertia.forms()
        J = jacobian(lambda state: self._rates(state, omega), at)
        M, C = J[..., 12:], J[..., 6:12]
        if passage.rests:
            C = 0.5 * (C - C.transpose(0, 2, 1))
        K, D = np.zeros_like(M) if passage.rests else J[..., :6], np.zeros_like(M)
        if a:
            drag = jacobian(lambda state: self._rates(state, 0.0 * omega, a), at)
            drag = drag - jacobian(lambda state: self._rates(state, 0.0 * omega), at)
            D, K = drag[..., 6:12], K + (0.0 if passage.rests else drag[..., :6])
        C = C - np.einsum("ekij,k->eij", forms[:, 7:10], 2.0 * omega)
        matrices = (0.5 * (M + M.transpose(0, 2, 1)) - forms[:, 0], C, D, K)
        return Beyond(*(self.map.matrix(matrix) for matrix in matrices))

    def displaced(self, u: Array, coefficients: Array, rayleigh: tuple[float, float]) -> Displaced:
        """M of the rotated bodies; what the load adds is in `geometric`."""
        y, units = self.map.gather(u), np.eye(6)[:, None]
        turned = np.broadcast_to(1j * STEP * y, (6, *y.shape))
        state = np.concatenate([turned, 0.0 * turned, units + 0.0 * turned], axis=-1)
        forces = self._rates(state, np.zeros(3)).imag / STEP
        M = self.map.matrix(np.moveaxis(forces, 0, -1))
        return Displaced(None, M, rayleigh[0] * M if rayleigh[0] else None)
