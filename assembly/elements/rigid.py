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

    def geometric(self, u: Array, coefficients: Array | None) -> sp.csr_matrix:
        if coefficients is None:
            return self.zero()
        turn = np.zeros((len(self.points), 6, 6))
        turn[:, 3:, 3:] = self.inertia.load_work(self.points, coefficients)
        return self.map.matrix(turn)

    @property
    def kind(self) -> object:
        return RigidFamily, len(self.inertia.parts)

    def joined(self, families: list[ElementFamily], dofs: DofMap, first: Index) -> ElementFamily:
        nodes = [f.map.connectivity[:, 0] + k for f, k in zip(families, first, strict=True)]  # type: ignore[attr-defined]
        inertia = joined([f.inertia for f in families])  # type: ignore[attr-defined]
        return RigidFamily(dofs, np.concatenate(nodes), inertia)

    @cached_property
    def _masses(self) -> list[Masses]:
        return [Masses(part) for part in self.inertia.parts]

    def _moved(
        self, state: AnyArray, coefficients: Array, rates: bool = True
    ) -> list[tuple[Any, list[Turn]]]:
        path = motion_of(state, coefficients, rates)
        x, turns = rows_first(self.points[:, None]) + path[:3], [Turn(path[3:])]
        return [part.moved(x, turns) for part in self._masses]

    def element_forces(
        self, state: AnyArray, coefficients: Array, rates: Rates | None = None, static: bool = True
    ) -> AnyArray:
        moved = self._moved(state, coefficients, rates is not None)
        return self._forces_on(moved, state.shape[:-2], coefficients, rates, static)

    def _forces_on(
        self, moved: Any, leading: Any, c: Array, rates: Rates | None, static: bool = True
    ) -> AnyArray:
        drag = None if rates is None else rates[0]
        force, moments = inertia_gradient(self._masses, moved, c if static else None, drag)
        forces = rows_last(np.concatenate([force, *moments], axis=0), leading)
        return np.asarray(forces[..., 0, :])

    def element_tangents(
        self, state: Array, coefficients: Array, rates: Rates, by_rates: bool = True, **law: Any
    ) -> tuple[Array, list[Array]]:
        steps, moves = stepped(state, self.map.columns), self._moves(state)
        moved, acting = self._moved(steps, coefficients, moves), rates if moves else None
        forces = self._forces_on(moved, steps.shape[:-2], coefficients, acting, **law)
        slopes = rate_slopes(self._masses, moved, rates[0]) if by_rates else []
        return self._with_slopes(forces, slopes)

    def inertia_moments(self, passage: Passage) -> Array:
        moved = self._moved(self.map.path(passage), passage.coefficients)
        found = section_moments(self._masses, moved)
        return found.reshape(*passage.u.shape[:-1], *found.shape[1:])

    def displaced(self, passage: Passage) -> Displaced:
        """M of the rotated bodies; what the load adds is in `geometric`."""
        a, d = passage.rayleigh[0], self.map.gather(passage.u)
        M = self.map.matrix(self._rate_slopes(d, passage.coefficients, 0.0)[0])
        return Displaced(None, M, a * M if a else None)
