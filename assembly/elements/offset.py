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
from assembly.elements.element_map import ElementMap
from assembly.elements.family import ElementFamily
from assembly.elements.large_rotation import jacobian, moved_by, spin_transposed, turned_by
from assembly.elements.passage import Beyond, Displaced, Passage
from assembly.elements.placed import CarriedFamily
from assembly.elements.taylor import Taylor
from assembly.kinematics import skew
from assembly.types import AnyArray, Array, Index


class OffsetFamily(CarriedFamily):
    """A family on nodes of its own, connected rigidly to a body's nodes.

    dofs: of the body. inner: the family, made on inner_dofs. holder (N,): the body's node that
    holds each inner node; the arms are the differences of their positions.
    """

    def __init__(
        self, dofs: DofMap, inner: ElementFamily, inner_dofs: DofMap, holder: Index
    ) -> None:
        self.size, self.inner, self.holder = len(dofs), inner, holder
        self.arms = inner_dofs.coordinates - dofs.coordinates[holder]
        self.map = ElementMap(dofs, holder[:, None], SPATIAL)
        self.inner_map = ElementMap(inner_dofs, np.arange(len(holder))[:, None], SPATIAL)
        blocks = np.tile(np.eye(6), (len(holder), 1, 1))
        blocks[:, :3, 3:] = -skew(self.arms)
        self.B = self._between(blocks)

    def drawing_cells(self) -> tuple[tuple[str, Index], ...]:
        return tuple((kind, self.holder[nodes]) for kind, nodes in self.inner.drawing_cells())

    def drawing_sections(self) -> Array:
        return self.inner.drawing_sections()

    def _between(self, blocks: Array) -> sp.csr_matrix:
        """The sparse (inner size, size) matrix of a block (6, 6) for every inner node."""
        rows = np.broadcast_to(self.inner_map.index[:, :, None], blocks.shape).ravel()
        cols = np.broadcast_to(self.map.index[:, None, :], blocks.shape).ravel()
        used = (rows >= 0) & (cols >= 0)
        entries = (blocks.ravel()[used], (rows[used], cols[used]))
        return sp.csr_matrix(entries, shape=(self.inner.size, self.size))

    def inertia_loads(self) -> Array:
        return np.asarray(self.B.T @ self.inner.inertia_loads())

    def geometric(self, u: Array, unit: int | None) -> sp.csr_matrix:
        own = self.B @ u
        forces = self.inner.stiffness() @ own
        if unit is not None:
            forces = forces - self.inner.inertia_loads()[:, unit]
        g = self.inner_map.gather(forces)[:, :3]
        outer = g[:, :, None] * self.arms[:, None, :]
        work = np.zeros((len(g), 6, 6))
        dot = np.einsum("ni,ni->n", g, self.arms)[:, None, None]
        work[:, 3:, 3:] = 0.5 * (outer + outer.transpose(0, 2, 1)) - dot * np.eye(3)
        return self._carried(self.inner.geometric(own, unit)) + self.map.matrix(work)

    # Large displacements: u + R r − r, and the forces that do the same work.

    def _inner_motion(self, u: Array) -> Array:
        d = self.map.gather(u)
        moved = np.concatenate([d[:, :3] + moved_by(d[:, 3:], self.arms), d[:, 3:]], axis=1)
        return self.inner_map.vector(moved)

    def _pulled(self, phi: AnyArray, force: Array) -> AnyArray:
        """Moments (N, 3) on φ of forces (N, 3) at the ends of the turned arms."""
        return spin_transposed(phi, np.cross(self.arms + 0.0 * phi, turned_by(-phi, force)))

    def internal_force(self, u: Array, coefficients: Array) -> Array:
        """The inner family's forces at the ends of the turned arms."""
        inner = self.inner.internal_force(self._inner_motion(u), coefficients)
        # Both count inertia beyond the linear one of their own DOFs.
        linear = self._linear_inertia(coefficients)
        load = self.inner.inertia_loads() @ coefficients
        whole = inner + linear @ self._inner_motion(u) - load
        forces = self.inner_map.gather(whole)
        forces[:, 3:] += self._pulled(self.map.gather(u)[:, 3:], forces[:, :3])
        total = self.map.vector(forces) + self.inertia_loads() @ coefficients
        return np.asarray(total - self._carried(linear) @ u)

    def tangent_stiffness(self, u: Array, coefficients: Array) -> sp.csr_matrix:
        own, phi = self._inner_motion(u), self.map.gather(u)[:, 3:]
        linear = self._linear_inertia(coefficients)
        inner = self.inner.tangent_stiffness(own, coefficients).tocsr() + linear
        load = self.inner.inertia_loads() @ coefficients
        whole = self.inner.internal_force(own, coefficients) + linear @ own - load
        pull = self.inner_map.gather(whole)[:, :3]
        by_phi = jacobian(lambda p: moved_by(p, self.arms + 0.0 * p), phi)
        T = self._between(self._blocks(by_phi, first=True))
        turns = np.zeros((len(phi), 6, 6))
        turns[:, 3:, 3:] = jacobian(lambda p: self._pulled(p, pull), phi)
        total = T.T @ inner @ T + self.map.matrix(turns)
        return sp.csr_matrix(total - self._carried(linear))

    def displaced(self, u: Array, coefficients: Array, rayleigh: tuple[float, float]) -> Displaced:
        """With the arms turned: T₁ = ∂T/∂u, of ½ φ × (φ × r)."""
        inner, (a, b) = self.inner, rayleigh
        T1 = self._arms_turned(u)
        K, M = inner.stiffness().tocsr(), inner.mass().tocsr()
        own = inner.displaced(self.B @ u, coefficients, rayleigh)

        def total(A: Any, change: Any) -> sp.csr_matrix:
            mixed = T1.T @ A @ self.B
            out = mixed + mixed.T
            return sp.csr_matrix(out if change is None else out + self._carried(change))

        D = total(a * M + b * K + inner.damping(), own.D)
        return Displaced(total(K, own.K), total(M, own.M), D if D.nnz else None)

    def _arms_turned(self, u: Array) -> sp.csr_matrix:
        """T₁ of both ends' arms."""
        phi = self.map.gather(u)[:, 3:]
        r, turned = skew(self.arms), skew(np.cross(phi, self.arms))
        return self._between(self._blocks(-0.5 * (skew(phi) @ r + turned), first=False))

    def strain_square(
        self, u: Array, coefficients: Array, rayleigh: tuple[float, float]
    ) -> Displaced:
        inner, b, T1 = self.inner, rayleigh[1], self._arms_turned(u)
        K = inner.stiffness().tocsr()
        first = inner.displaced(self.B @ u, coefficients, (0.0, b))
        second = inner.strain_square(self.B @ u, coefficients, (0.0, b))

        def total(A: Any, change: Any, square: Any) -> sp.csr_matrix:
            out = T1.T @ A @ T1
            if change is not None:
                mixed = T1.T @ change @ self.B
                out = out + mixed + mixed.T
            return sp.csr_matrix(out if square is None else out + self._carried(square))

        D = total(b * K + inner.damping(), first.D, second.D)
        return Displaced(total(K, first.K, second.K), None, D if D.nnz else None)

    def section_resultants(self, u: Array, coefficients: Array) -> Array:
        return self.inner.section_resultants(self._inner_motion(u), coefficients)

    def strain_energy(self, u: Array, coefficients: Array) -> float:
        return self.inner.strain_energy(self._inner_motion(u), coefficients)

    def inertia_moments(self, u: Array, v: Array, coefficients: Array) -> Array:
        still = Passage(u, v, 0.0 * v, np.zeros(3), coefficients)
        own, _ = self._inner_passage(still)
        return self.inner.inertia_moments(own.u, own.v, coefficients)

    # Motion relative to the frame of the body.

    def _inner_passage(self, passage: Passage) -> tuple[Passage, Array]:
        """The motion of the inner nodes, and the rotations (N, 9) of the arms with their rates."""
        d: Any = Taylor.of(*(self.map.gather(x) for x in (passage.u, passage.v, passage.a)))
        moved = d[:, :3] + moved_by(d[:, 3:], self.arms + 0.0 * d[:, 3:])
        whole = np.concatenate([moved, d[:, 3:]], axis=-1)
        u, v, a = (self.inner_map.vector(x) for x in whole.data)
        turning = np.concatenate(list(d[:, 3:].data), axis=1)
        return replace(passage, u=u, v=v, a=a), turning

    def _inner_force(self, own: Passage) -> Array:
        """All inertia and damping forces of the rates of the inner family."""
        linear = self.inner.mass() @ own.a + self._coriolis(own.omega) @ own.v
        linear = linear + self.inner.damping() @ own.v
        return np.asarray(self.inner.rate_force(own) + linear)

    def _coriolis(self, omega: Array) -> Any:
        G = self.inner.gyroscopic()
        return sum(2.0 * w * A.tocsr() for w, A in zip(omega, G, strict=True))

    def rate_force(self, passage: Passage) -> Array:
        own, turning = self._inner_passage(passage)
        forces = self.inner_map.gather(self._inner_force(own))
        forces[:, 3:] += self._pulled(turning[:, :3], forces[:, :3])
        C = self._carried(self._coriolis(passage.omega) + self.inner.damping())
        return np.asarray(self.map.vector(forces) - self.mass() @ passage.a - C @ passage.v)

    def rate_tangents(self, passage: Passage) -> Beyond:
        own, turning = self._inner_passage(passage)
        phi, rest = turning[:, :3], np.split(turning[:, 3:], 2, axis=1)

        def moved(p: AnyArray) -> AnyArray:
            path: Any = Taylor.of(p, *(x + 0.0 * p for x in rest))
            return np.concatenate(list(moved_by(path, self.arms + 0.0 * path).data), axis=-1)

        by_phi = jacobian(moved, phi)  # (N, 9, 3): of the displacements and of their rates
        T, dT, ddT = (
            self._between(self._blocks(by_phi[:, 3 * k : 3 * k + 3], first=k == 0))
            for k in range(3)
        )
        linear_M, linear_C = self.inner.mass().tocsr(), self._coriolis(passage.omega)
        M, C, D, K = self.inner.rate_tangents(own)
        M, C, D = M + linear_M, C + linear_C, D + self.inner.damping()
        pull = self.inner_map.gather(self._inner_force(own))[:, :3]
        turns = np.zeros((len(phi), 6, 6))
        turns[:, 3:, 3:] = jacobian(lambda p: self._pulled(p, pull), phi)
        return Beyond(
            sp.csr_matrix(T.T @ M @ T - self._carried(linear_M)),
            sp.csr_matrix(T.T @ (C @ T + 2.0 * M @ dT) - self._carried(linear_C)),
            sp.csr_matrix(T.T @ D @ T - self.damping()),
            sp.csr_matrix(T.T @ (K @ T + (C + D) @ dT + M @ ddT) + self.map.matrix(turns)),
        )

    def _blocks(self, by_phi: Array, first: bool) -> Array:
        """What turns (N, 6) of the holders into motions of the inner nodes, (N, 6, 6)."""
        blocks = np.tile(np.eye(6) if first else np.zeros((6, 6)), (len(by_phi), 1, 1))
        blocks[:, :3, 3:] = by_phi
        return blocks

    def _linear_inertia(self, coefficients: Array) -> sp.csr_matrix:
        forms = (*self.inner.centrifugal(), *self.inner.gyroscopic())
        total = sp.csr_matrix((self.inner.size, self.inner.size))
        for c, A in zip(coefficients[:9], forms, strict=True):
            total = total + c * A.tocsr()
        return total
