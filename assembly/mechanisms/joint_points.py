"""Attachment of joints to bodies: a node, a point of a rigid body, or a set of nodes.

A set of nodes moves with its mean displacement and its best-fit rotation (a distributed coupling,
which stiffens nothing); `carriers` has both, and their second derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from assembly.bodies.body import Body
from assembly.errors import MechanismError
from assembly.magnitudes import WRITTEN
from assembly.mechanisms.carriers import at_rest, restricted
from assembly.mechanisms.joints import GROUND, Joint, Point
from assembly.types import Array, Index


@dataclass(frozen=True)
class JointPoint:
    """A point of a body that a joint holds.

    body: number, the ground last. nodes: none for the ground, one, or a set. point, lever (3,): in
    body axes, m; lever is the offset from the node to the point.
    """

    body: int
    nodes: Index
    point: Array
    lever: Array

    def dofs(self, body: Body) -> tuple[Index, Index]:
        """Numbers of the DOFs of its nodes, and their places among six a node, three of a set."""
        count = 3 if len(self.nodes) > 1 else 6
        pairs = [(node, c) for node in self.nodes.tolist() for c in range(count)]
        numbers = np.array([body.dofs.numbers.get(pair, -1) for pair in pairs], dtype=np.intp)
        places = np.flatnonzero(numbers >= 0)
        return numbers[places], places

    def forms(self, body: Body, planar: bool) -> PointForms:
        """The motion of the point, of the body itself or of a reduced one; formed once a body."""
        key = self.nodes.tobytes(), planar
        if key not in body.attachments:
            body.attachments[key] = PointForms(body, self, planar)
        found: PointForms = body.attachments[key]
        return found


class PointForms:
    """How the motion of a node, or of a set of nodes, follows from the coordinates of its body.

    motion (6, size): displacement and rotation; rows that the body cannot show are zero.
    """

    def __init__(self, body: Body, point: JointPoint, planar: bool) -> None:
        self._numbers, places = point.dofs(body)
        self._carrier = restricted(at_rest(body.dofs.coordinates[point.nodes], planar), places)
        entries = np.ones(len(places)), (np.arange(len(places)), self._numbers)
        self._nodal = sp.csr_matrix(entries, shape=(len(places), len(body.dofs)))
        self._forms = body.on_coordinates(self._nodal)
        motion = sp.csr_matrix(self._carrier.W.value) @ self._nodal
        self.motion = body.on_coordinates(sp.csr_matrix(motion))

    @cached_property
    def second(self) -> tuple[Index, Array]:
        """Of a set's best-fit rotation: coordinates (k,) of the body, and the second derivatives
        (3, k, k) of the three rotations by these."""
        if self._forms is self._nodal:
            return self._numbers, self._carrier.bend(np.eye(len(self._numbers)))
        return np.arange(self._forms.shape[1]), self._carrier.bend(self._forms.toarray())


def joint_points(joint: Joint, bodies: dict[str, Body]) -> tuple[JointPoint, JointPoint]:
    """The points of the first and the second body; MechanismError when there is no such point."""
    first, second = (
        body_point(f"joint {joint.name}", body, point, bodies)
        for body, point in zip(joint.bodies, joint.at, strict=True)
    )
    return first, second


def body_point(label: str, name: str, point: Point, bodies: dict[str, Body]) -> JointPoint:
    """A point of a body, or of the ground; `label` says whose it is when there is none."""
    none = np.zeros(0, dtype=np.intp)
    if name == GROUND:
        if isinstance(point, str | int):
            raise MechanismError(f"{label}: a point of the ground needs coordinates, not {point!r}")
        return JointPoint(len(bodies), none, _coordinates(label, point), np.zeros(3))
    number, body = list(bodies).index(name), bodies[name]
    nodes = body.dofs.coordinates
    if isinstance(point, str):
        chosen = np.unique(np.asarray(body.sets.get(point, none), dtype=np.intp))
        if len(chosen) == 0:
            raise MechanismError(
                f"{label}: body {name!r} has no nodes {point!r}; it has "
                f"{', '.join(body.sets) or 'no named sets'}"
            )
        return JointPoint(number, chosen, nodes[chosen].mean(axis=0), np.zeros(3))
    if isinstance(point, int | np.integer):
        if not 0 <= point < len(nodes):
            raise MechanismError(
                f"{label}: body {name!r} has nodes 0 to {len(nodes) - 1}, not {point}"
            )
        return JointPoint(number, np.array([point], dtype=np.intp), nodes[point], np.zeros(3))
    X = _coordinates(label, point)
    if len(nodes) == 1:
        return JointPoint(number, np.zeros(1, dtype=np.intp), X, X - nodes[0])
    distances = np.linalg.norm(nodes - X, axis=1)
    node = int(distances.argmin())
    if distances[node] > WRITTEN * np.ptp(nodes, axis=0).max():
        raise MechanismError(
            f"{label}: no node of body {name!r} at {X.tolist()}; the nearest is "
            f"node {node} at {nodes[node].tolist()}"
        )
    return JointPoint(number, np.array([node], dtype=np.intp), nodes[node], np.zeros(3))


def _coordinates(label: str, point: ArrayLike) -> Array:
    values = np.asarray(point, dtype=float).ravel()
    if values.size not in (2, 3) or not np.all(np.isfinite(values)):
        raise MechanismError(
            f"{label}: a point needs two or three finite coordinates, got {point!r}"
        )
    return np.array([*values, 0.0][:3])
