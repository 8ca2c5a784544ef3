"""Rigid bodies and lumped masses with inertia, at nodes of a body.

The second-order displacement φ×s + ½φ×(φ×s) of every mass point contributes to K_G of the inertia
load (docs/theory.md, "Geometric stiffness is not optional"): `SectionInertia.load_work`, here with
the whole body in place of a section.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.dofs import DofMap
from assembly.elements.family import Displaced, ElementFamily, Passage, Rates
from assembly.elements.finite_motion import FiniteMotion
from assembly.elements.large_rotation import (
    Masses,
    Turn,
    inertia_gradient,
    motion_of,
    rate_slopes,
    rows_first,
    rows_last,
    stepped,
)
from assembly.elements.moments import section_moments
from assembly.elements.scatter import ElementMap
from assembly.elements.section_inertia import SectionInertia, joined
from assembly.elements.taylor import Taylor
from assembly.kinematics import UNIT_COUNT
from assembly.types import AnyArray, Array, Index


class RigidFamily(FiniteMotion):
    """Rigid masses at nodes (E,); inertia about each node: m (E,), η (E, 3), J (E, 3, 3)."""

    def __init__(self, dofs: DofMap, nodes: Index, inertia: SectionInertia) -> None:
        self.size, self.inertia = len(dofs), inertia
        self.points = dofs.coordinates[nodes]
        self.map = ElementMap(dofs, nodes[:, None], (0, 1, 2, 3, 4, 5))
        self._forms, self._unit_loads = inertia.forms(), inertia.loads(self.points)

    def spin_gyroscopic(self) -> sp.csr_matrix:
        """𝒢 per unit of spin about x, in a frame that does not spin."""
        return self.map.matrix(self.inertia.spin(np.array([1.0, 0.0, 0.0])))

    def geometric(self, u: Array, unit: int | None) -> sp.csr_matrix:
        if unit is None:
            return self.zero()
        turn = np.zeros((len(self.points), 6, 6))
        turn[:, 3:, 3:] = self.inertia.load_work(self.points, np.eye(UNIT_COUNT)[unit])
        return self.map.matrix(turn)

    @property
    def kind(self) -> object:
        return RigidFamily, len(self.inertia.parts)

    def joined(self, families: list[ElementFamily], dofs: DofMap, first: Index) -> ElementFamily:
        nodes = [f.map.connectivity[:, 0] + k for f, k in zip(families, first, strict=True)]  # type: ignore[attr-defined]
        inertia = joined([f.inertia for f in families])  # type: ignore[attr-defined]
        return RigidFamily(dofs, np.concatenate(nodes), inertia)

    def element_forces(
        self, state: AnyArray, coefficients: Array, rates: Rates | None = None, static: bool = True
    ) -> AnyArray:
        return self._forces_and_vectors(state, coefficients, rates, static)[0]

    def _forces_and_vectors(
        self, state: AnyArray, coefficients: Array, rates: Rates | None, static: bool = True
    ) -> tuple[AnyArray, list[Any]]:
        motion, drag = coefficients if static else None, None if rates is None else rates[0]
        path = motion_of(state, coefficients, rates is not None)
        x, turns = self._places + path[:3], [Turn(path[3:])]
        force, moments, vectors = inertia_gradient(self._masses, x, turns, motion, drag)
        forces = rows_last(np.concatenate([force, *moments], axis=0), state.shape[:-2])
        return forces[..., 0, :], vectors

    @cached_property
    def _masses(self) -> list[Masses]:
        return [Masses(part) for part in self.inertia.parts]

    @cached_property
    def _places(self) -> AnyArray:
        return rows_first(self.points[:, None])

    def element_tangents(
        self, state: Array, coefficients: Array, rates: Rates, by_rates: bool = True, **law: Any
    ) -> tuple[Array, list[Array]]:
        steps = stepped(state, self.map.columns)
        forces, vectors = self._forces_and_vectors(steps, coefficients, rates, **law)
        slopes = rate_slopes(self._masses, vectors, rates[0]) if by_rates else ()
        shape = state.shape[:-1]
        return self._with_slopes(forces, [A.reshape(*shape, *A.shape[-2:]) for A in slopes])

    def inertia_moments(self, passage: Passage) -> Array:
        u, v = self.map.gather(passage.u), self.map.gather(passage.v)
        path = Taylor.of(u, v, 0.0 * v)
        ones = np.ones(len(self.points))
        return section_moments(self.inertia, ones, self.points + path[..., :3], [path[..., 3:]])

    def displaced(self, passage: Passage) -> Displaced:
        """M of the rotated bodies; what the load adds is in `geometric`."""
        a, d = passage.rayleigh[0], self.map.gather(passage.u)
        M = self.map.matrix(self._rate_slopes(d, passage.coefficients, 0.0)[0])
        return Displaced(None, M, a * M if a else None)
