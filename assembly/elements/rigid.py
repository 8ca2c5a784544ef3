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
from assembly.elements.large_rotation import STEP, inertia_gradient, jacobian
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

    @property
    def kind(self) -> object:
        return RigidFamily, len(self.inertia.parts)

    def joined(self, families: list[ElementFamily], dofs: DofMap, first: Index) -> ElementFamily:
        nodes = [f.map.connectivity[:, 0] + k for f, k in zip(families, first, strict=True)]  # type: ignore[attr-defined]
        inertia = SectionInertia.joined([f.inertia for f in families])  # type: ignore[attr-defined]
        return RigidFamily(dofs, np.concatenate(nodes), inertia)

    def _forces(
        self, state: AnyArray, coefficients: Array | None, drag: Array | None = None
    ) -> AnyArray:
        """Inertia forces (..., E, 6), of `coefficients` and of rates (`inertia_gradient`).

        state (..., E, 6): displacements; with drag, their velocities and accelerations, too.
        """
        path: Any = state if drag is None else Taylor.of(*np.split(state, 3, axis=-1))
        moved, turn = self.points + path[..., :3], path[..., 3:]
        force, (moment,) = inertia_gradient(self.inertia, moved, [turn], coefficients, drag)
        return np.concatenate([force, moment], axis=-1)

    def _linear(self, coefficients: Array) -> Array:
        forms = self.inertia.forms()[:, 1:]
        c = np.broadcast_to(coefficients[..., :9], (len(forms), 9))
        return np.asarray(np.einsum("ekij,ek->eij", forms, c))

    def internal_force(self, u: Array, coefficients: Array) -> Array:
        """The inertia of the rotated bodies beyond the linear one."""
        y = self.map.gather(u)
        forces = self._forces(y, coefficients)
        forces = forces + (self.inertia.loads(self.points) @ coefficients[..., None])[..., 0]
        return self.map.vector(forces - (self._linear(coefficients) @ y[..., None])[..., 0])

    def tangent_stiffness(self, u: Array, coefficients: Array) -> sp.csr_matrix:
        J = jacobian(lambda y: self._forces(y, coefficients), self.map.gather(u))
        return self.map.matrix(J - self._linear(coefficients))

    def inertia_moments(self, u: Array, v: Array, coefficients: Array) -> Array:
        return np.asarray(self.element_moments(u, v, coefficients).sum(axis=0))

    def element_moments(self, u: Array, v: Array, coefficients: Array) -> Array:
        y, rate = self.map.gather(u), self.map.gather(v)
        path: Any = Taylor.of(y, rate, 0.0 * rate)
        moved, turn = self.points + path[..., :3], path[..., 3:]
        return section_moments(self.inertia, np.ones(len(y)), moved, [turn])

    def _linear_rates(self, omega: Array) -> tuple[Array, Array]:
        """M and 2G(ω), (E, 6, 6)."""
        forms = self.inertia.forms()
        omega = np.broadcast_to(2.0 * omega, (len(forms), 3))
        return forms[:, 0], np.einsum("ekij,ek->eij", forms[:, 7:10], omega)

    def rate_force(self, passage: Passage) -> Array:
        return self._beyond(passage, None)

    def force(self, passage: Passage) -> Array:
        return self._beyond(passage, passage.coefficients)

    def _beyond(self, passage: Passage, coefficients: Array | None) -> Array:
        """All forces, less what the body itself counts."""
        state = self.map.path(passage)
        d, v, a = (x[..., None] for x in np.split(state, 3, axis=-1))
        M, C = self._linear_rates(passage.omega)
        linear = M @ a + C @ v
        if coefficients is not None:
            load = self.inertia.loads(self.points) @ coefficients[..., None]
            linear = linear + self._linear(coefficients) @ d - load
        return self.map.vector(self._forces(state, coefficients, passage.drag) - linear[..., 0])

    def rate_tangents(self, passage: Passage) -> Beyond:
        at, a = self.map.path(passage), np.asarray(passage.rayleigh[0])[..., None, None]
        linear_M, linear_C = self._linear_rates(passage.omega)
        J = jacobian(lambda state: self._forces(state, None, passage.drag), at)
        K, C, M = np.split(J, 3, axis=-1)
        M = 0.5 * (M + M.transpose(0, 2, 1))
        D = a * M  # the damping in proportion to mass has the velocities' M
        C = C - D
        if passage.rests:
            C, K = 0.5 * (C - C.transpose(0, 2, 1)), np.zeros_like(M)
        matrices = (M - linear_M, C - linear_C, D, K)
        return Beyond(*(self.map.matrix(matrix) for matrix in matrices))

    def displaced(self, u: Array, coefficients: Array, rayleigh: tuple[float, float]) -> Displaced:
        """M of the rotated bodies; what the load adds is in `geometric`."""
        y, units = self.map.gather(u), np.eye(6)[:, None]
        turned = np.broadcast_to(1j * STEP * y, (6, *y.shape))
        state = np.concatenate([turned, 0.0 * turned, units + 0.0 * turned], axis=-1)
        forces = self._forces(state, None, np.zeros((3, 3))).imag / STEP
        M = self.map.matrix(np.moveaxis(forces, 0, -1))
        return Displaced(None, M, rayleigh[0] * M if rayleigh[0] else None)
