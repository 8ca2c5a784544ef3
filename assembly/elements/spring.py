"""Springs and dampers at nodes: within the body, or (dampers) against the fixed surroundings."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from assembly.dofs import SPATIAL, DofMap
from assembly.elements.family import ElementFamily
from assembly.elements.scatter import ElementMap
from assembly.types import Array, Index


class SpringFamily(ElementFamily):
    """Springs and dampers on the difference of the motions (u, φ) of two nodes at one place.

    connectivity (E, 2), or (E, 1) for springs between a node and the body's frame. stiffness and
    damping: symmetric (E, 6, 6), SI units. The difference of the motions of two nodes at one place
    is zero in every rigid motion, and the springs carry no force before the body is loaded. They
    stay linear, in body axes, at large displacements.
    """

    def __init__(self, dofs: DofMap, connectivity: Index, stiffness: Array, damping: Array) -> None:
        self.size = len(dofs)
        self.map = ElementMap(dofs, connectivity, SPATIAL)
        difference = np.array([[1.0, -1.0], [-1.0, 1.0]])
        self._signs = difference if connectivity.shape[1] == 2 else np.ones((1, 1))
        self._stiffness, self._damping = stiffness, damping

    def _between(self, values: Array) -> sp.csr_matrix:
        return self.map.matrix(np.stack([np.kron(self._signs, value) for value in values]))

    @cached_property
    def _linear(self) -> sp.csr_matrix:
        return self._between(self._stiffness)

    def stiffness(self) -> sp.csr_matrix:
        return self._linear

    def damping(self) -> sp.csr_matrix:
        return self._between(self._damping)


class SurroundingsDamperFamily(ElementFamily):
    """Dampers between nodes (E,) and the fixed surroundings, d (E, 3, 3), N·s/m.

    Force −d(v_O + ω̃(X + u) + u̇). In a rotating frame they are circulatory, K_D = d ω̃; the body
    makes the load −d(v_O + ω̃X) of its steady motion (`BodyStatics.damper_loads`).
    """

    def __init__(self, dofs: DofMap, nodes: Index, damping: Array) -> None:
        self.size = len(dofs)
        self.map = ElementMap(dofs, nodes[:, None], (0, 1, 2))
        self._damping = damping

    def external_damping(self) -> sp.csr_matrix:
        return self.map.matrix(self._damping)
