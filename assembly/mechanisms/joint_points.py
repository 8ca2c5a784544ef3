"""Attachment of joints to bodies: a node, a point of a rigid body, or a set of nodes.

A set of nodes moves with its mean displacement and its best-fit rotation (a distributed coupling,
which stiffens nothing). With arms X from the set's centre, S = Σ X Xᵀ and Θ = tr(S) I − S, the
rotation vector of the polar decomposition of Σ (X + u) Xᵀ is to second order φ = φ₁ + φ₂,

    Θ φ₁ = Σ X × u,    g·φ₂ = −½ φ₁ᵀ S h̃ φ₁ + Σ φ₁·(u × (X × h)),   h = Θ⁻¹ g.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from assembly.bodies.body import Body
from assembly.errors import MechanismError
from assembly.kinematics import skew
from assembly.magnitudes import EQUAL, WRITTEN
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

    def forms(self, body: Body, planar: bool) -> PointForms:
        """The motion of the point, of the body itself or of a reduced one; formed once a body."""
        key = self.nodes.tobytes(), planar
        if key not in body.attachments:
            body.attachments[key] = PointForms(body, self.nodes, planar)
        found: PointForms = body.attachments[key]
        return found


class PointForms:
    """How the motion of a node, or of a set of nodes, follows from the coordinates of its body.

    motion (6, size): displacement and rotation; rows that the body cannot show are zero.
    """

    def __init__(self, body: Body, nodes: Index, planar: bool) -> None:
        self._body, self._nodes, self._planar = body, nodes, planar
        self.motion = body.on_coordinates(self._nodal())

    @property
    def _fitted(self) -> FittedRotation:
        return FittedRotation(self._body.dofs.coordinates[self._nodes], self._planar)

    def _nodal(self) -> sp.csr_matrix:
        """The forms by the DOFs of the nodes, (6, DOFs)."""
        dofs, k = self._body.dofs, len(self._nodes)
        numbers = dofs.numbers
        entries: list[tuple[int, int, float]] = []
        for node in self._nodes.tolist():
            for component in range(3 if k > 1 else 6):
                if (node, component) in numbers:
                    entries.append((component, numbers[node, component], 1.0 / k))
        if k > 1:
            turn = self._fitted.first
            for i, node in enumerate(self._nodes.tolist()):
                for axis, component in np.ndindex(3, 3):
                    weight = turn[axis, 3 * i + component]
                    if weight != 0.0 and (node, component) in numbers:
                        entries.append((3 + axis, numbers[node, component], float(weight)))
        rows, cols, weights = zip(*entries, strict=True) if entries else ((), (), ())
        return sp.csr_matrix((weights, (rows, cols)), shape=(6, len(dofs)))

    @cached_property
    def second(self) -> tuple[Index, Array]:
        """Of a set's best-fit rotation: coordinates (k,) of the body, and the second derivatives
        (3, k, k) of the three rotations by these."""
        body = self._body
        pairs = [(node, c) for node in self._nodes.tolist() for c in range(3)]
        numbers = np.array([body.dofs.numbers.get(pair, -1) for pair in pairs])
        there = np.flatnonzero(numbers >= 0)
        fitted = self._fitted
        second = np.stack([fitted.second(e)[np.ix_(there, there)] for e in np.eye(3)])
        entries = (np.ones(len(there)), (np.arange(len(there)), numbers[there]))
        nodal = sp.csr_matrix(entries, shape=(len(there), len(body.dofs)))
        form, own = body.on_coordinates(nodal), numbers[there]
        if form is not nodal:
            dense = form.toarray()
            own, second = np.arange(body.size), dense.T @ second @ dense
        return own, second


@dataclass(frozen=True)
class FittedRotation:
    """The best-fit rotation of nodes X (k, 3), about z only when planar."""

    X: Array
    planar: bool

    @cached_property
    def arms(self) -> Array:
        return np.asarray(self.X - self.X.mean(axis=0))

    @cached_property
    def _inverse(self) -> Array:
        """Θ⁻¹ (3, 3); zero where the nodes do not show the rotation (all on one line)."""
        S = self.arms.T @ self.arms
        theta = np.trace(S) * np.eye(3) - S
        if self.planar:
            return np.diag([0.0, 0.0, 1.0 / theta[2, 2] if theta[2, 2] > 0.0 else 0.0])
        sizes = np.linalg.eigvalsh(theta)
        return np.linalg.inv(theta) if sizes[0] > EQUAL * sizes[2] else np.zeros((3, 3))

    @cached_property
    def first(self) -> Array:
        """φ₁ by the displacements, (3, 3k)."""
        return self._inverse @ skew(self.arms).transpose(1, 0, 2).reshape(3, -1)

    def second(self, g: Array) -> Array:
        """The Hessian of g·φ by the displacements, (3k, 3k)."""
        h = self._inverse @ g
        twist = self.arms.T @ self.arms @ skew(h)
        sweep = -skew(np.cross(self.arms, h)).transpose(1, 0, 2).reshape(3, -1)
        mixed = self.first.T @ sweep
        return np.asarray(mixed + mixed.T - 0.5 * self.first.T @ (twist + twist.T) @ self.first)


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
