"""A body restricted to a few of its shapes: what a mechanism needs of a link, in few coordinates.

δ = V R c with shapes V (n, r). Of R = [A, N] the columns A = VᵀM I_s are the unit displacements of
the DOFs s that joints eliminate, which V contains, and N spans the shapes that leave these DOFs at
rest. So the first coordinates are these displacements themselves, and δ = T(t) q of the mechanism
restricts to its reduced bodies without an approximation of T.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from assembly.bodies.body import Body
from assembly.bodies.operators import nonzero
from assembly.kinematics import UNIT_COUNT
from assembly.types import Array, Index

# A fixed matrix of a body: its name and its number among those of the name.
Key = tuple[str, int]


class SmallOperator:
    """A fixed matrix of a link over its coordinates, dense; number: among the fixed matrices."""

    def __init__(self, matrix: Array, number: int) -> None:
        self.matrix, self.number, self.shape = matrix, number, matrix.shape

    def tocsr(self) -> sp.csr_matrix:
        return sp.csr_matrix(self.matrix)

    def __matmul__(self, other: Any) -> Any:
        return self.matrix @ other


def fixed_operators(body: Body, loads: Array, units: tuple[int, ...]) -> dict[Key, Any]:
    """All fixed matrices (n, n) of a body that are not zero.

    loads (n, k): unit forces and moments, each with its geometric stiffness. units: the unit
    kinematics (0–11) that occur. M and K come first.
    """
    ops = body.operators
    found: dict[Key, Any] = {("M", 0): ops.M, ("K", 0): ops.K, ("D", 0): ops.D, ("d", 0): ops.d}
    found |= {("G", i): G for i, G in enumerate(ops.G)}
    found |= {("S", i): S for i, S in enumerate(ops.S)}
    found |= {("K_D", i): A for i, A in enumerate(ops.circulatory)}
    found |= {("B", i): ops.B[i] for i in (*units, *range(UNIT_COUNT, len(ops.B)))}
    found |= {("load", i): B for i, B in enumerate(body.load_stiffness(loads))}
    return {key: A for key, A in found.items() if nonzero(A)}


class ReducedOperators:
    """The fixed matrices of a reduced body, with the names of `BodyOperators`."""

    def __init__(self, body: ReducedBody) -> None:
        size = body.size
        empty = sp.csr_matrix((size, size))

        def small(name: str, number: int = 0) -> Any:
            index = body.numbers.get((name, number))
            if index is None:
                return empty
            return SmallOperator(body.turn.T @ body.matrices[index] @ body.turn, index)

        self.M, self.K, self.D, self.d = (small(name) for name in ("M", "K", "D", "d"))
        self.G = tuple(small("G", i) for i in range(3))
        self.S = tuple(small("S", i) for i in range(6))
        self.circulatory = tuple(small("K_D", i) for i in range(3))
        self.B = tuple(small("B", i) for i in range(len(body.full.operators.B)))
        self.loads = [small("load", i) for i in range(body.load_count)]
        self.inertia_loads = body.turn.T @ (body.shapes.T @ body.full.operators.inertia_loads)
        self.damper_loads = body.turn.T @ (body.shapes.T @ body.full.operators.damper_loads)


@dataclass(frozen=True, kw_only=True)
class ReducedBody(Body):
    """A body in the coordinates c of δ = V R c.

    full: the body. shapes V (n, r), mass-orthonormal, which contain the unit displacements of the
    DOFs `slaves` and all rigid motions. numbers: of the fixed matrices; matrices: VᵀXV of each.
    load_count: how many unit loads have a geometric stiffness among them. resolved: rad/s.
    """

    full: Body
    shapes: Array
    slaves: Index
    numbers: Mapping[Key, int]
    matrices: Array
    load_count: int

    @classmethod
    def of(
        cls,
        full: Body,
        shapes: Array,
        slaves: Index,
        numbers: Mapping[Key, int],
        matrices: Array,
        load_count: int,
    ) -> ReducedBody:
        """The reduced body of a body."""
        return cls(
            full.dofs, full.families, full.fixed, full.hold, full.rayleigh, full.name, full.sets,
            full=full, shapes=shapes, slaves=slaves, numbers=numbers, matrices=matrices,
            load_count=load_count,
        )  # fmt: skip

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return int(self.shapes.shape[1])

    @cached_property
    def turn(self) -> Array:
        """R (r, r)."""
        units = np.zeros((self.full.size, len(self.slaves)))
        units[self.slaves, np.arange(len(self.slaves))] = 1.0
        A = self.shapes.T @ (self.full.operators.M @ units)
        return np.hstack([A, self.resting])

    @cached_property
    def resting(self) -> Array:
        """N (r, r − slaves): orthonormal combinations of the shapes that leave the slaves at
        rest."""
        if not len(self.slaves):
            return np.eye(self.size)
        Q, _ = la.qr(self.shapes[self.slaves].T)
        return np.asarray(Q[:, len(self.slaves) :])

    @cached_property
    def operators(self) -> Any:
        """The fixed matrices over the coordinates."""
        return ReducedOperators(self)

    def rigid_fields(self) -> Array:
        """The six infinitesimal rigid motions, (r, 6)."""
        return self.coordinates(self.full.dofs.rigid_fields())

    def on_coordinates(self, rows: sp.csr_matrix) -> sp.csr_matrix:
        """Linear forms (k, n) of the body's DOFs as forms of the coordinates, (k, r)."""
        return sp.csr_matrix((rows @ self.shapes) @ self.turn)

    def load_stiffness(self, loads: Array) -> list[Any]:
        """The geometric stiffness of the unit loads, those that the body was reduced with."""
        return list(self.operators.loads)

    @cached_property
    def frame_stiffness(self) -> tuple[sp.csr_matrix, ...]:
        """What resists rigid motions, in the coordinates; nothing for a free body."""
        rows = np.zeros(self.full.size, dtype=bool)
        if self.full.unresisted(rows).shape[1] == self._rigid_count:
            return ()
        basis = self.shapes @ self.turn
        return tuple(sp.csr_matrix(basis.T @ (K @ basis)) for K in self.full.frame_stiffness)

    @property
    def _rigid_count(self) -> int:
        return int((np.abs(self.full.dofs.rigid_fields()).max(axis=0) > 0.0).sum())

    def coordinates(self, u: Array) -> Array:
        """Coordinates (r, ...) of displacements (n, ...) that the shapes contain."""
        in_shapes = self.shapes.T @ (self.full.operators.M @ u)
        return np.asarray(np.linalg.solve(self.turn, in_shapes))

    def lift(self, coordinates: Any) -> Any:
        """All DOFs of the body (n, ...) from coordinates (r, ...)."""
        return self.shapes @ (self.turn @ coordinates)
