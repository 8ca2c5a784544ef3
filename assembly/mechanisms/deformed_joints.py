"""Conditions, bushings and loads of a mechanism whose nodes have moved by finite amounts.

The frame of a condition is that of the node or node set that carries the joint's point, not of the
undeformed body (`joint_points`). With this frame in the place of a body's, values, gradients and
second derivatives are those of the undeformed mechanism (`Topology.evaluate`); W takes them to the
DOFs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assembly.elements.taylor import Taylor, matrix_product, matrix_vector
from assembly.mechanisms.applied_loads import force_stiffness
from assembly.mechanisms.joint_points import (
    Carried,
    JointPoint,
    by_nodes,
    by_set,
    restricted,
    still,
)
from assembly.mechanisms.joint_rows import Frames
from assembly.mechanisms.rigid_state import RigidState
from assembly.mechanisms.topology import Topology
from assembly.types import Array, Index


@dataclass(frozen=True)
class DeformedRows:
    """All rows at one instant, or at several (...): the conditions, then the deflections of
    bushings.

    x (3, ..., rows): values and rates, drives as angles. G (3, ..., rows, J): gradients over the
    constrained DOFs, of deflections without the second rate. wrench (..., rows, 12): gradients by
    the motions of the two frames in their own axes. frames: of the points of joints and bushings;
    carried: by these, then by those of loads.
    """

    x: Array
    G: Array
    wrench: Array
    frames: Frames
    carried: list[Carried]


class DeformedJoints:
    """Joints, bushings and loads of a mechanism on its deformed bodies."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self._points = (*topology.points, *topology.applied.points)
        self._dofs = [self._dofs_of(point) for point in self._points]
        # Whether the rotation of a point's frame matters.
        read = topology.units[topology.units[:, 1] >= 3, 0]
        self._turns = np.isin(np.arange(len(topology.points)), read).tolist()
        self._turns += [load.follower for load in topology.applied.loads]
        self._slots = [self._slots_of(number) for number in range(len(topology.points))]
        # The places of the points' DOFs among the constrained ones, one more where there is none.
        most = max(len(slots) for _, _, slots, _ in self._slots)
        self._columns = np.full((len(self._slots), most), len(topology.touched))
        for columns, (_, _, slots, _) in zip(self._columns, self._slots, strict=True):
            columns[: len(slots)] = slots

    def _dofs_of(self, point: JointPoint) -> tuple[Index, Index]:
        """The numbers, among all, of the DOFs of a point's nodes, and their places."""
        bodies = list(self.topology.bodies.values())
        if point.body == len(bodies):
            return np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp)
        numbers, places = point.dofs(bodies[point.body])
        return self.topology.offsets[point.body] + numbers, places

    def _slots_of(self, number: int) -> tuple[Index, Index, Index, Index]:
        """Of a point of joints and bushings: its units, which components of its frame's motion
        they are, the places of its DOFs among the constrained ones, and which DOFs these are."""
        units, touched, dofs = self.topology.units, self.topology.touched, self._dofs[number][0]
        chosen = np.flatnonzero(units[:, 0] == number)
        places = np.flatnonzero(np.isin(dofs, touched))
        slots = np.searchsorted(touched, dofs[places]).astype(np.intp)
        return chosen, units[chosen, 1], slots, places

    def carried(self, path: Array) -> list[Carried]:
        """The frames of all points; path (3, ..., n): the jet of all DOFs."""
        bodies, planar = list(self.topology.bodies.values()), self.topology.planar
        single = [k for k, point in enumerate(self._points) if len(point.nodes) == 1]
        instants = path.shape[1:-1]
        moved = np.zeros((3, *instants, len(single), 6))
        for place, k in enumerate(single):
            numbers, components = self._dofs[k]
            moved[..., place, components] = path[..., numbers]
        out = [still(instants)] * len(self._points)
        for k, carrier in zip(single, by_nodes(moved), strict=True):
            out[k] = restricted(carrier, self._dofs[k][1])
        for k, point in enumerate(self._points):
            if len(point.nodes) > 1:
                numbers, places = self._dofs[k]
                nodes = bodies[point.body].dofs.coordinates[point.nodes]
                own = np.zeros((3, *instants, 3 * len(nodes)))
                own[..., places] = path[..., numbers]
                arms = nodes - nodes.mean(axis=0)
                own = own.reshape(3, *instants, -1, 3)
                carrier = by_set(own, arms, planar, self._turns[k])
                out[k] = restricted(carrier, places)
        return out

    def frames(self, state: RigidState, carried: list[Carried]) -> Frames:
        """The frames of the points of joints and bushings."""
        still, count = self.topology.frames(state.frames), len(self.topology.points)
        offsets = Taylor(np.stack([c.offset.data for c in carried[:count]], axis=-2))
        own = Taylor(np.stack([c.rotation.data for c in carried[:count]], axis=-3))
        moved = still.origin + matrix_vector(still.rotation, offsets)
        return Frames(moved, matrix_product(still.rotation, own))

    def at(self, state: RigidState, path: Array, pace: ArrayLike) -> DeformedRows:
        """All rows while the bodies' frames move by `state` and the DOFs by the jet path (3, ...,
        n).

        pace: of the drivers' laws. Raises ConvergenceError for deflections out of range.
        """
        carried = self.carried(path)
        frames = self.frames(state, carried)
        x, gradient = self.topology.evaluate(frames, state.t, pace)
        return DeformedRows(x, self._over_dofs(gradient, carried), gradient[0], frames, carried)

    def _over_dofs(self, gradient: Array, carried: list[Carried]) -> Array:
        """Gradients (3, ..., rows, 12) over the constrained DOFs, (3, ..., rows, J)."""
        topology, leading = self.topology, gradient.shape[:-2]
        W = np.zeros((*leading, len(self._slots), 6, self._columns.shape[1]))
        for number, (_, _, slots, places) in enumerate(self._slots):
            W[..., number, :, : len(slots)] = carried[number].W.data[..., places]
        read = np.where(topology.read, gradient, 0.0).reshape(*gradient.shape[:-1], 2, 1, 6)
        moved = Taylor(W).along(topology.row_points, -3)
        each = matrix_product(Taylor(read), moved).data[..., 0, :]
        rows = np.arange(len(topology.row_points))[:, None]
        out = np.zeros((*gradient.shape[:-1], len(topology.touched) + 1))
        for side, points in enumerate(topology.row_points.T):
            out[..., rows, self._columns[points]] += each[..., side, :]
        return out[..., :-1]

    def _seen(self, carried: list[Carried]) -> Array:
        """Motions of the frames' units by the constrained DOFs, (..., units, J)."""
        instants, topology = carried[0].offset.data.shape[1:-1], self.topology
        out = np.zeros((*instants, len(topology.units), len(topology.touched)))
        for number, (units, components, slots, places) in enumerate(self._slots):
            W = carried[number].W.value
            out[..., units[:, None], slots] = W[..., components[:, None], places]
        return out

    def curvature(self, at: DeformedRows, t: ArrayLike, factors: Array) -> Array:
        """Σ factor_k ∇²x_k over the constrained DOFs at t, (..., J, J); factors (..., rows)."""
        topology = self.topology
        hessian = topology.hessian(at.frames, t)
        bent = {
            number: (slots, at.carried[number].bend(np.eye(len(self._dofs[number][1]))[:, places]))
            for number, (_, components, slots, places) in enumerate(self._slots)
            if np.any(components >= 3)
            and not (topology.planar and len(topology.points[number].nodes) == 1)
        }
        seen = self._seen(at.carried)
        return topology.curvature(factors, at.wrench, hessian, seen, bent)

    # Loads.

    def load(self, carried: list[Carried], forces: Array) -> Array:
        """Nodal loads (..., n) of forces (..., loads, 3), body axes."""
        out = np.zeros((*forces.shape[:-2], int(self.topology.offsets[-1])))
        for number, carrier, wrench, _ in self._loads(carried, forces):
            nodal = wrench[..., None, :] @ carrier.W.value
            out[..., self._dofs[number][0]] += nodal[..., 0, :]
        return out

    def load_stiffness(
        self, carried: list[Carried], forces: Array
    ) -> Iterator[tuple[Index, Array]]:
        """Numbers of DOFs among all, and the stiffness (..., D, D) of each load over them."""
        for number, carrier, wrench, local in self._loads(carried, forces):
            W, curvature = carrier.W.value, carrier.curvature(wrench)
            yield self._dofs[number][0], W.swapaxes(-1, -2) @ local @ W - curvature

    def _loads(
        self, carried: list[Carried], forces: Array
    ) -> Iterator[tuple[int, Carried, Array, Array]]:
        """For each load: its point, the frame, the wrench in its axes, and stiffness by its
        motion."""
        applied, first = self.topology.applied, len(self.topology.points)
        for k, (load, point) in enumerate(zip(applied.loads, applied.points, strict=True)):
            carrier, s = carried[first + k], point.lever
            f = forces[..., k, :]
            if not load.follower:
                f = (f[..., None, :] @ carrier.rotation.value)[..., 0, :]
            wrench = np.concatenate([f, np.cross(s, f)], axis=-1)
            yield first + k, carrier, wrench, force_stiffness(f, s, load.follower)
