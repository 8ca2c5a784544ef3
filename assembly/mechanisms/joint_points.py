"""Attachment of joints to bodies: a node, a point of a rigid body, or a set of nodes.

A set of nodes moves with its mean displacement and its best-fit rotation (a distributed coupling,
which stiffens nothing).

With the displacement u and the rotation vector φ of a node in body axes, the frame of a point has
its origin at r + R(X + u) and the rotation R E, E = exp(φ̃). A set of nodes carries a frame at its
mean position, whose rotation E is that of the polar decomposition of F = Σ x Aᵀ (x positions and A
arms from the mean; the least squares fit). A small motion of the frame in its own axes, translation
and rotation vector, follows from the DOFs by W:

    node   W = diag(Eᵀ, T(φ)),
    set    W = (1/k Eᵀ …; P Ã_n Eᵀ …),  P = (tr S I − S)⁻¹,  S = EᵀF,

and to second order by ½ δᵀ(∂W_θ/∂d δ) in the rotation. All have their first two time derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from assembly.bodies.body import Body
from assembly.elements.large_rotation import Turn
from assembly.elements.taylor import Taylor, matrix_product
from assembly.errors import ConvergenceError, MechanismError
from assembly.kinematics import axial, skew
from assembly.magnitudes import EQUAL, WRITTEN
from assembly.mechanisms.joints import GROUND, Joint, Point
from assembly.types import Array, Index

TURN = np.pi  # rad: the largest rotation vector of a node


@dataclass(frozen=True)
class Carried:
    """A frame carried by nodes of a body, in the axes of the body.

    offset: jet (3, ..., 3) of the displacement of its origin; rotation: jet (3, ..., 3, 3) of E;
    W: jet (3, ..., 6, D) over the D DOFs of its nodes. bend: ∂²(rotation vector)/∂x² of the three
    components, (..., 3, r, r), by the coordinates x of directions (D, r) of the DOFs. Axes (...)
    are of instants.
    """

    offset: Taylor
    rotation: Taylor
    W: Taylor
    bend: Callable[[Array], Array]

    def curvature(self, wrench: Array) -> Array:
        """What second-order rotations add to the second derivative of a work, (..., D, D).

        wrench (..., 6): its derivative by the motion of the frame.
        """
        bent = self.bend(np.eye(self.W.data.shape[-1]))
        return np.asarray((wrench[..., 3:, None, None] * bent).sum(axis=-3))


def at_rest(nodes: Array, planar: bool) -> Carried:
    """The frame of a node or a set (k, 3) that has not moved; of nodes on one line without a
    rotation."""
    if len(nodes) == 1:
        return by_nodes(np.zeros((3, 1, 6)))[0]
    arms = nodes - nodes.mean(axis=0)
    sizes = np.linalg.svd(arms[:, : 2 if planar else 3], compute_uv=False) ** 2
    turns = bool(sizes[0] > 0.0 and (planar or sizes[1] > EQUAL * sizes.sum()))
    return by_set(np.zeros((3, *arms.shape)), arms, planar, turns)


def still(instants: tuple[int, ...]) -> Carried:
    """A frame of the ground."""
    offset, W = (Taylor(np.zeros((3, *instants, *shape))) for shape in ((3,), (6, 0)))
    return Carried(offset, _unturned(instants), W, _straight)


def _unturned(instants: tuple[int, ...]) -> Taylor:
    return Taylor.constant(np.broadcast_to(np.eye(3), (*instants, 3, 3)))


def by_nodes(path: Array) -> list[Carried]:
    """Frames at P nodes; path (3, ..., P, 6): the jets of their displacements and rotation
    vectors."""
    if np.linalg.norm(path[0, ..., 3:], axis=-1).max(initial=0.0) > TURN:
        raise ConvergenceError("a node at a joint has rotated by more than π")
    turns = Turn(Taylor(np.moveaxis(path[..., 3:], -1, 1)))
    E, spins = (np.moveaxis(A.data, (1, 2), (-2, -1)) for A in (turns.matrix, turns.spin_matrix))
    W = np.zeros((*path.shape, 6))
    W[..., :3, :3] = E.swapaxes(-1, -2)
    W[..., 3:, 3:] = spins
    out, all_bent = [], cache(partial(_all_bent, path[0, ..., 3:]))
    for k in range(path.shape[-2]):
        offset, turn, own = map(Taylor, (path[..., k, :3], E[..., k, :, :], W[..., k, :, :]))
        out.append(Carried(offset, turn, own, partial(_bent, all_bent, k)))
    return out


def _bent(all_bent: Callable[[], Array], k: int, X: Array) -> Array:
    """∂²(rotation vector)/∂x², (..., 3, r, r), of node k; X (6, r)."""
    return np.asarray(X[3:].T @ all_bent()[..., k, :, :, :] @ X[3:])


def _all_bent(phi: Array) -> Array:
    """∂²(rotation vector)/∂φ², (..., 3, 3, 3), of nodes with the rotation vectors φ (..., 3)."""
    at, ones = np.moveaxis(phi, -1, 0)[..., None, None], (1,) * (phi.ndim - 1)
    units = np.eye(3).reshape(3, *ones, 1, 3), np.eye(3).reshape(3, *ones, 3, 1)
    B = np.moveaxis(Turn(at).spin_rate_transposed(*units), 0, -1)
    return np.asarray(0.5 * (B + B.swapaxes(-1, -2)))


def restricted(carried: Carried, chosen: Index) -> Carried:
    """The same frame over some of its DOFs: the others are absent."""
    W = carried.W.data[..., chosen]

    def bend(X: Array) -> Array:
        whole = np.zeros((carried.W.data.shape[-1], X.shape[1]))
        whole[chosen] = X
        return carried.bend(whole)

    return Carried(carried.offset, carried.rotation, Taylor(W), bend)


def _straight(X: Array) -> Array:
    return np.zeros((3, X.shape[1], X.shape[1]))


def by_set(path: Array, arms: Array, planar: bool, turns: bool) -> Carried:
    """A frame at a set of k nodes; path (3, ..., k, 3): the jet of their displacements, arms
    (k, 3).

    turns: whether its rotation matters; one that nodes do not show stays zero.
    """
    k, instants = len(arms), path.shape[1:-2]
    mean = Taylor(path.mean(axis=-2))
    spread = np.tile(np.eye(3) / k, (1, k))
    W = np.zeros((3, *instants, 6, 3 * k))
    if not turns:
        W[0, ..., :3, :] = spread
        return Carried(mean, _unturned(instants), Taylor(W), _straight)
    x = path - mean.data[..., None, :]
    x[0] += arms
    F = Taylor(np.einsum("...ni,na->...ia", x, arms))
    if planar:  # an arm along z determines the rotations that the nodes cannot have
        F.data[0, ..., 2, 2] = np.sum(arms**2)
    E = _polar(F) if np.any(path) else _unturned(instants)
    S = matrix_product(E.transposed, F)
    P = _inverse(_traced(S))
    arm_rows = np.einsum("nab,...cb->...anc", skew(arms), E.data).reshape(W[..., :3, :].shape)
    W[..., :3, :] = E.transposed.data @ spread
    W[..., 3:, :] = matrix_product(P, Taylor(arm_rows)).data
    found = (W[0, ..., 3:, :], P.value, E.value, S.value)

    def bend(X: Array) -> Array:
        each = zip(*(A.reshape(-1, *A.shape[-2:]) for A in found), strict=True)
        bent = [_bend(A, B, C, D, arms, X) for A, B, C, D in each]
        return np.reshape(bent, (*instants, *bent[0].shape))

    return Carried(mean, E, Taylor(W), bend)


def _bend(W: Array, P: Array, E: Array, S: Array, arms: Array, X: Array) -> Array:
    """XᵀW′X, symmetric, (3, r, r), of the derivative W′ of W = P Ã Eᵀ by the DOFs; X (D, r)."""
    moved = E.T @ X.reshape(len(arms), 3, -1).transpose(2, 1, 0)  # Eᵀ of displacements, (r, 3, k)
    turn = W @ X
    spins = skew(turn.T)  # of the coordinates
    # dS = −Ω̃S + Eᵀ dx Aᵀ, dD = tr(dS) I − dS, d(ÃEᵀ) = −Ã Ω̃Eᵀ.
    dS = moved @ arms - spins @ S
    dD = np.trace(dS, axis1=1, axis2=2)[:, None, None] * np.eye(3) - dS
    lever = np.tensordot(skew(arms), moved, axes=(0, 2))  # (3, 3, r, 3)
    first = -np.tensordot(spins, lever, axes=((1, 2), (1, 3)))  # (r, 3, r)
    dW = P @ (first - dD @ turn)
    out = dW.transpose(1, 0, 2)
    return np.asarray(0.5 * (out + out.transpose(0, 2, 1)))


def _traced(S: Taylor) -> Taylor:
    """tr(S) I − S."""
    trace = np.trace(S.data, axis1=-2, axis2=-1)[..., None, None]
    return Taylor(trace * np.eye(3) - S.data)


def _inverse(D: Taylor) -> Taylor:
    """The jet of D⁻¹ (3, 3)."""
    P = np.linalg.inv(D.value)
    rate = -P @ D.rate @ P
    return Taylor(np.stack([P, rate, -P @ D.second @ P - 2.0 * rate @ D.rate @ P]))


def _polar(F: Taylor) -> Taylor:
    """The rotation E of F = E S, S symmetric, with its rates by (tr S I − S) Ω = axial(EᵀḞ − …)."""
    left, _, right = np.linalg.svd(F.value)
    left[..., 2] *= np.linalg.det(left @ right)[..., None]
    E = left @ right
    back = E.swapaxes(-1, -2)
    S, dF = back @ F.value, back @ F.rate
    P = _inverse(_traced(Taylor.constant(S))).value
    spin = (P @ axial(dF)[..., None])[..., 0]
    wide = skew(spin)
    # The rate of (tr S I − S) Ω = axial(EᵀḞ), with Ṡ = EᵀḞ − Ω̃S.
    dS = dF - wide @ S
    dD = _traced(Taylor(dS)).data
    second = axial(back @ F.second - wide @ dF) - (dD @ spin[..., None])[..., 0]
    acceleration = skew((P @ second[..., None])[..., 0])
    return Taylor(np.stack([E, E @ wide, E @ (wide @ wide + acceleration)]))


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
