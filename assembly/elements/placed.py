"""Families of a part that is placed in a body: moved, rotated, and on the body's own DOFs.

With the part's origin at r and R from the part's axes to the body's, the part has the DOFs B u and
the kinematics P c: ωₚ = Rᵀω, εₚ = Rᵀε, aₚ = Rᵀ(a_O + (ε̃ + ω̃ω̃) r) are linear in the body's twelve
coefficients c. Every matrix is BᵀXB, and a unit of the body is a combination of units of the part.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.elements.family import (
    Beyond,
    Displaced,
    ElementFamily,
    Passage,
    Wanted,
)
from assembly.elements.moments import placed_moments
from assembly.kinematics import PAIRS, UNIT_COUNT, acceleration_units
from assembly.types import Array, Index


class PlacedFamily(ElementFamily):
    """The family `inner` of a part, on the DOFs of the body that it is placed in.

    B (inner size, size): the part's DOFs, in its own axes, from those of the body. r (3,), m, and
    R (3, 3): where the part is. nodes: numbers in the body of the part's nodes. rayleigh (a, b):
    damping of the part, D = a M + b K.
    """

    def __init__(
        self,
        inner: ElementFamily,
        B: sp.csr_matrix,
        r: Array,
        R: Array,
        nodes: Index,
        rayleigh: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self.size = B.shape[1]
        self.stress_from_displacement = inner.stress_from_displacement
        self.resists_rigid_motions = inner.resists_rigid_motions
        self.inner, self.B, self.R, self.rayleigh = inner, B, R, rayleigh
        self.mass_damping = rayleigh[0] + inner.mass_damping
        self.nodes = nodes
        self.r, self.P = r, unit_kinematics(r, R)

    def drawing_cells(self) -> tuple[tuple[str, Index], ...]:
        return tuple((kind, self.nodes[cells]) for kind, cells in self.inner.drawing_cells())

    def drawing_sections(self) -> Array:
        return self.inner.drawing_sections() @ self.R.T

    def _carried(self, A: Any) -> sp.csr_matrix:
        return sp.csr_matrix(self.B.T @ A.tocsr() @ self.B)

    def mass(self) -> sp.csr_matrix:
        return self._carried(self.inner.mass())

    def stiffness(self) -> sp.csr_matrix:
        return self._carried(self.inner.stiffness())

    def frame_inertia(self) -> tuple[sp.csr_matrix, ...]:
        """The matrices of the body's units from those of the part's, Σ_k P_kj (unit k)."""
        own = [self._carried(A) for A in self.inner.frame_inertia()]
        return tuple(
            sp.csr_matrix(sum((p * A for p, A in zip(column, own, strict=True) if p), self.zero()))
            for column in self.P[:9, :9].T
        )

    def external_damping(self) -> sp.csr_matrix:
        return self._carried(self.inner.external_damping())

    def inertia_loads(self) -> Array:
        return np.asarray(self.B.T @ self.inner.inertia_loads() @ self.P)

    @cached_property
    def _proportional(self) -> sp.csr_matrix:
        """a M + b K."""
        a, b = self.rayleigh
        return sp.csr_matrix(a * self.mass() + b * self.stiffness())

    def damping(self) -> sp.csr_matrix:
        return sp.csr_matrix(self._carried(self.inner.damping()) + self._proportional)

    def geometric(self, u: Array, coefficients: Array | None) -> sp.csr_matrix:
        # What is given per unit load of the part alone is not that of the part in the body.
        known = coefficients if self.stress_from_displacement else None
        own = None if known is None else self.P @ known
        return self._carried(self.inner.geometric(self.B @ u, own))

    def strain_energy(self, passage: Passage) -> Any:
        return self.inner.strain_energy(self._own_passage(passage))

    def dissipation(self, passage: Passage) -> float:
        own = self.inner.dissipation(self._own_passage(passage))
        return float(own - passage.v @ (self._proportional @ passage.v))

    def inertia_moments(self, passage: Passage) -> Array:
        own = self.inner.inertia_moments(self._own_passage(passage))
        return placed_moments(own, self.r, self.R)

    def section_resultants(self, passage: Passage) -> Array:
        own = self.inner.section_resultants(self._own_passage(passage)).reshape(-1, 3, 3)
        out = own @ self.R.T
        out[:, 0] += self.r
        return out.reshape(-1, 9)

    def _own_passage(self, passage: Passage) -> Passage:
        return passage.once(self, lambda: passage.of_part(self.B, self.R, self.P, self.rayleigh))

    # The part's own damping is counted in `damping` as far as it is linear.

    def force(self, passage: Passage) -> Array:
        own = self.inner.force(self._own_passage(passage))
        return np.asarray(self.B.T @ own - self._proportional @ passage.v)

    def linearized(self, passage: Passage, by: Wanted) -> tuple[Array, list[Any]]:
        force, own = self.inner.linearized(self._own_passage(passage), by)
        changes = [self._carried(A) for A in own]
        if by:
            changes[1] = changes[1] - self._proportional
        return np.asarray(self.B.T @ force - self._proportional @ passage.v), changes

    def tangents(self, passage: Passage) -> tuple[Beyond, Any]:
        beyond, own = self.inner.tangents(self._own_passage(passage))
        M, C, D, K = map(self._carried, beyond)
        return Beyond(M, C, sp.csr_matrix(D - self._proportional), K), self._carried(own)

    def displaced(self, passage: Passage) -> Displaced:
        return self._changed(self.inner.displaced(self._own_passage(passage)))

    def strain_square(self, passage: Passage) -> Displaced:
        return self._changed(self.inner.strain_square(self._own_passage(passage)))

    def _changed(self, own: Displaced) -> Displaced:
        return Displaced(*(None if A is None else self._carried(A) for A in own))


def unit_kinematics(r: Array, R: Array) -> Array:
    """P (12, 12): coefficients of a part at r, R from those of the body it is placed in."""
    P = np.zeros((UNIT_COUNT, UNIT_COUNT))
    for column, (i, j) in enumerate(PAIRS):
        # ωₚωₚᵀ = Rᵀ ωωᵀ R.
        product = np.zeros((3, 3))
        product[i, j] = product[j, i] = 1.0
        product = R.T @ product @ R
        P[:6, column] = [product[pair] for pair in PAIRS]
    P[6:9, 6:9] = R.T
    P[9:] = R.T @ acceleration_units(r)
    return P
