"""Elements whose nodes are connected to a body's nodes by rigid arms.

An inner node at arm r from node a moves by u + φ × r + ½ φ × (φ × r) and turns by φ. The second
order lets the force g that the arm passes to the inner node work on it: g rᵀ, made symmetric, less
(g·r) I, on φ.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.dofs import SPATIAL, DofMap
from assembly.elements.beam import BeamFamily
from assembly.elements.family import Displaced, Passage, Rates
from assembly.elements.finite_motion import FiniteMotion
from assembly.elements.large_rotation import moved_by, spin_transposed, turned_by
from assembly.elements.scatter import ElementMap
from assembly.elements.taylor import Taylor, cross, value_of
from assembly.kinematics import skew
from assembly.types import AnyArray, Array, Index


class OffsetFamily(FiniteMotion):
    """Beams on nodes of their own, connected rigidly to a body's nodes.

    dofs: of the body. inner: the family, made on inner_dofs. holder (N,): the body's node that
    holds each inner node; the arms are the differences of their positions.
    """

    def __init__(self, dofs: DofMap, inner: BeamFamily, inner_dofs: DofMap, holder: Index) -> None:
        self.size, self.inner, self.holder = len(dofs), inner, holder
        self.arms = inner_dofs.coordinates - dofs.coordinates[holder]
        self.map = ElementMap(dofs, holder[inner.map.connectivity], SPATIAL)
        self._nodes = ElementMap(dofs, holder[:, None], SPATIAL)
        self._inner_nodes = ElementMap(inner_dofs, np.arange(len(holder))[:, None], SPATIAL)
        blocks = np.tile(np.eye(6), (len(holder), 1, 1))
        blocks[:, :3, 3:] = -skew(self.arms)
        self.B = self._between(blocks)
        first, second = inner.map.connectivity.T
        B = np.zeros((len(first), 12, 12))
        B[:, :6, :6], B[:, 6:, 6:] = blocks[first], blocks[second]
        self._unit_loads = B.swapaxes(-1, -2) @ inner._unit_loads
        self._damping = B.swapaxes(-1, -2) @ inner._damping @ B
        self._forms = B.swapaxes(-1, -2)[:, None] @ inner._forms @ B[:, None]
        self._element_arms = self.arms[inner.map.connectivity]

    def drawing_cells(self) -> tuple[tuple[str, Index], ...]:
        return tuple((kind, self.holder[nodes]) for kind, nodes in self.inner.drawing_cells())

    def drawing_sections(self) -> Array:
        return self.inner.drawing_sections()

    def _between(self, blocks: Array) -> sp.csr_matrix:
        """The sparse (inner size, size) matrix of a block (6, 6) for every inner node."""
        rows = np.broadcast_to(self._inner_nodes.index[:, :, None], blocks.shape).ravel()
        cols = np.broadcast_to(self._nodes.index[:, None, :], blocks.shape).ravel()
        used = (rows >= 0) & (cols >= 0)
        entries = (blocks.ravel()[used], (rows[used], cols[used]))
        return sp.csr_matrix(entries, shape=(self.inner.size, self.size))

    def _carried(self, A: Any) -> sp.csr_matrix:
        return sp.csr_matrix(self.B.T @ A.tocsr() @ self.B)

    def stiffness(self) -> sp.csr_matrix:
        return self._carried(self.inner.stiffness())

    def geometric(self, u: Array, unit: int | None) -> sp.csr_matrix:
        own = self.B @ u
        forces = self.inner.stiffness() @ own
        if unit is not None:
            forces = forces - self.inner.inertia_loads()[:, unit]
        g = self._inner_nodes.gather(forces)[:, :3]
        outer = g[:, :, None] * self.arms[:, None, :]
        work = np.zeros((len(g), 6, 6))
        dot = np.einsum("ni,ni->n", g, self.arms)[:, None, None]
        work[:, 3:, 3:] = 0.5 * (outer + outer.transpose(0, 2, 1)) - dot * np.eye(3)
        return self._carried(self.inner.geometric(own, unit)) + self._nodes.matrix(work)

    # Large displacements: u + R r − r, and the forces that do the same work.

    def _moved(self, d: Any) -> Any:
        """The motion (..., E, 12) of the elements' own nodes."""
        parts = []
        for k in range(2):
            u, phi = d[..., 6 * k : 6 * k + 3], d[..., 6 * k + 3 : 6 * k + 6]
            parts += [u + moved_by(phi, self._element_arms[:, k] + 0.0 * phi), phi]
        return np.concatenate(parts, axis=-1)

    def element_forces(
        self, state: AnyArray, coefficients: Array, rates: Rates | None = None, static: bool = True
    ) -> AnyArray:
        """Those of the beams at the ends of the turned arms."""
        path: Any = state if rates is None else Taylor.of(*np.split(state, 3, axis=-1))
        own = self._moved(path)
        own = own if rates is None else np.concatenate(list(own.data), axis=-1)
        forces = self.inner.element_forces(own, coefficients, rates, static)
        out, d = forces.copy(), value_of(path)
        for k in range(2):
            turn = slice(6 * k + 3, 6 * k + 6)
            pull = turned_by(-d[..., turn], forces[..., 6 * k : 6 * k + 3])
            arms = self._element_arms[:, k] + 0.0 * pull
            out[..., turn] += spin_transposed(d[..., turn], cross(arms, pull))
        return out

    def check_range(self, d: Array) -> None:
        self.inner.check_range(self._moved(d))

    def _resistance(self, b: float | Array) -> Array | None:
        return self.inner._resistance(b)

    def displaced(self, passage: Passage) -> Displaced:
        """With the arms turned: T₁ = ∂T/∂u, of ½ φ × (φ × r)."""
        inner, (a, b), T1 = self.inner, passage.rayleigh, self._arms_turned(passage.u)
        K, M = inner.stiffness().tocsr(), inner.mass().tocsr()
        own = inner.displaced(replace(passage, u=self.B @ passage.u))

        def total(A: Any, change: Any) -> sp.csr_matrix:
            mixed = T1.T @ A @ self.B
            out = mixed + mixed.T
            return sp.csr_matrix(out if change is None else out + self._carried(change))

        D = total(a * M + b * K + inner.damping(), own.D)
        return Displaced(total(K, own.K), total(M, own.M), D if D.nnz else None)

    def _arms_turned(self, u: Array) -> sp.csr_matrix:
        """T₁ of both ends' arms."""
        phi = self._nodes.gather(u)[:, 3:]
        r, turned = skew(self.arms), skew(np.cross(phi, self.arms))
        blocks = np.zeros((len(phi), 6, 6))
        blocks[:, :3, 3:] = -0.5 * (skew(phi) @ r + turned)
        return self._between(blocks)

    def strain_square(self, passage: Passage) -> Displaced:
        inner, b, T1 = self.inner, passage.rayleigh[1], self._arms_turned(passage.u)
        K = inner.stiffness().tocsr()
        own = replace(passage, u=self.B @ passage.u, rayleigh=(0.0, b))
        first, second = inner.displaced(own), inner.strain_square(own)

        def total(A: Any, change: Any, square: Any) -> sp.csr_matrix:
            out = T1.T @ A @ T1
            if change is not None:
                mixed = T1.T @ change @ self.B
                out = out + mixed + mixed.T
            return sp.csr_matrix(out if square is None else out + self._carried(square))

        D = total(b * K + inner.damping(), first.D, second.D)
        return Displaced(total(K, first.K, second.K), None, D if D.nnz else None)

    def section_resultants(self, passage: Passage) -> Array:
        return self.inner.section_resultants(self._inner_passage(passage))

    def strain_energy(self, passage: Passage) -> float:
        return self.inner.strain_energy(self._inner_passage(passage))

    def inertia_moments(self, passage: Passage) -> Array:
        return self.inner.inertia_moments(self._inner_passage(passage))

    def _inner_passage(self, passage: Passage) -> Passage:
        """That of the inner nodes."""
        d: Any = Taylor.of(*(self._nodes.gather(x) for x in (passage.u, passage.v, passage.a)))
        moved = d[:, :3] + moved_by(d[:, 3:], self.arms + 0.0 * d[:, 3:])
        whole = np.concatenate([moved, d[:, 3:]], axis=-1)
        u, v, a = (self._inner_nodes.vector(x) for x in whole.data)
        return replace(passage, u=u, v=v, a=a)
