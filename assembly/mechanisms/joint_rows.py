"""The conditions that joints and drivers impose, and all of them in one batch: values, gradients,
their rates, second derivatives.

Every condition is one of two: a distance, f·(x_b − x_a) = c(t), or a direction, f·g = 0, with f
carried by the first body and g by the second.
With d = R_ab P_b + R_aᵀ(r_b − r_a) − X_a seen from the first body (a distance, P_b = X_b) or d =
R_ab g (a direction, P_b = g) every condition is Φ = f·d − c, R_ab = R_aᵀR_b. A variation (u, θ) of
each body's node, its rotation a rotation vector, moves a point at the offset s by u + θ×s +
½θ×(θ×s).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from assembly.elements.taylor import Taylor, dot, matrix_product, matrix_vector
from assembly.errors import ConvergenceError, MechanismError
from assembly.kinematics import skew, unit_axis
from assembly.mechanisms.drivers import Driver
from assembly.mechanisms.joints import Bushing, Joint
from assembly.motion.laws import Law
from assembly.types import Array, Index, Mask

SMALLEST_COSINE = 0.05  # of the deflection of an elastic drive: up to 87 degrees


def triads(joint: Joint) -> tuple[Array, Array]:
    """Right-handed axes (columns e₁ e₂ e₃, e₃ the joint's) in the first and the second body.

    They coincide when the joint is at zero: e₁ of the second is that of the first, carried over by
    the smallest rotation between the two axes given.
    """
    a, b = (unit_axis(axis) for axis in joint.axes)
    if joint.kind == "prismatic" and abs(a[2]) < 1e-12 and abs(b[2]) < 1e-12:
        # In the plane e₁ = −z, so that e₂ = e₃ × e₁ is the in-plane normal of the slide.
        first, second = (_with_first(axis, np.array([0, 0, -1.0])) for axis in (a, b))
    elif joint.kind == "universal":
        # The two axes are perpendicular in space; each triad is only read along its own axis.
        first, second = _some_triad(a), _some_triad(b)
    else:
        first = _some_triad(a)
        second = _smallest_rotation(a, b) @ first
    if joint.kind == "prismatic" and joint.turned != 0.0:
        # The body is mounted turned about z, its own axis of sliding turned back.
        second = Rotation.from_rotvec([0.0, 0.0, -joint.turned]).as_matrix() @ second
    elif joint.kind == "fixed":
        second = Rotation.from_rotvec(-joint.turned * b).as_matrix() @ second
    return first, second


def _some_triad(axis: Array) -> Array:
    """A triad about an axis; about z it is x, y, z."""
    if abs(axis[0]) < 1e-12 and abs(axis[1]) < 1e-12:
        return np.diag([1.0, np.sign(axis[2]), np.sign(axis[2])])
    return _with_first(axis, np.cross([0.0, 0.0, 1.0], axis))


def _with_first(axis: Array, near: Array) -> Array:
    e1 = near - (near @ axis) * axis
    e1 /= np.linalg.norm(e1)
    return np.stack([e1, np.cross(axis, e1), axis], axis=1)


def _smallest_rotation(a: Array, b: Array) -> Array:
    """The rotation that takes the unit vector a to b by the smallest angle."""
    v, c = np.cross(a, b), float(a @ b)
    if np.linalg.norm(v) < 1e-12:
        if c > 0.0:
            return np.eye(3)
        return np.asarray(Rotation.from_rotvec(np.pi * _some_triad(a)[:, 0]).as_matrix())
    angle = np.arctan2(np.linalg.norm(v), c)
    return np.asarray(Rotation.from_rotvec(angle * v / np.linalg.norm(v)).as_matrix())


@dataclass(frozen=True)
class Condition:
    """One scalar condition: f·d = c with f (3,) carried by the first body.

    direction: g (3,) of the second body when the condition is f·g = 0, None when it is a distance.
    carried: whether f follows the rotation of the first body's node, or only its frame.
    law: q(t) of a driver, which is c(t) of a distance and turns the f of a direction, with turning
    (e₁, e₂): f(t) = −sin q e₁ + cos q e₂, g = e₁ of the second body. sense: vectors of the two
    bodies whose product is positive where a direction is as meant, not reversed. held: whether it
    ties elastic DOFs. gives: whether a spring or damper acts in its place, so that it keeps the
    mean motion only.
    """

    joint: str
    f: Array
    direction: Array | None = None
    carried: bool = True
    turning: tuple[Array, Array] | None = None
    law: Law | None = None
    held: bool = True
    gives: bool = False
    sense: tuple[Array, Array] | None = None


def conditions(joint: Joint, planar: bool) -> list[Condition]:
    """The conditions a joint imposes on the two bodies it connects."""
    A, B = triads(joint)
    e1, e2, e3 = A.T
    b2, b3 = B.T[1], B.T[2]
    name = joint.name
    if planar:
        if joint.kind not in ("revolute", "prismatic", "fixed"):
            raise MechanismError(f"joint {name}: a {joint.kind} joint needs bodies in space")
        match = [Condition(name, e, carried=False) for e in np.eye(3)[:2]]
        if joint.kind == "revolute":
            return match
        if joint.kind == "fixed":
            return [*match, Condition(name, e1, b2, sense=(e2, b2))]
        return [Condition(name, e2, direction=b3, sense=(e3, b3)), Condition(name, e2)]
    match = [Condition(name, e, carried=False) for e in np.eye(3)]
    align = [Condition(name, e, direction=b3, sense=(e3, b3)) for e in (e1, e2)]
    along = [Condition(name, e1), Condition(name, e2)]
    lock = [Condition(name, e1, direction=b2, sense=(e2, b2))]
    table = {
        "spherical": match,
        "universal": [*match, Condition(name, e3, direction=b3)],
        "revolute": [*match, *align],
        "fixed": [*match, *align, *lock],
        "cylindrical": [*align, *along],
        "prismatic": [*align, *along, *lock],
    }
    return table[joint.kind]


def driving_condition(motor: Driver, joint: Joint, planar: bool) -> Condition:
    """The condition a driver imposes on its joint."""
    allowed = {
        "revolute": ("angle",),
        "prismatic": ("displacement",),
        "cylindrical": ("angle", "displacement"),
    }.get(joint.kind, ())
    of = motor.of if motor.of is not None or len(allowed) != 1 else allowed[0]
    if of not in allowed:
        what = " or ".join(allowed) if allowed else "nothing: drive a revolute or prismatic joint"
        raise MechanismError(
            f"driver of joint {joint.name}: a {joint.kind} joint can be driven in {what}"
        )
    A, B = triads(joint)
    e1, e2, e3 = A.T
    held = motor.held and not motor.gives
    condition = Condition(joint.name, e3, law=motor.law, held=held, gives=motor.gives)
    if of == "angle":
        return replace(condition, f=e2, direction=B.T[0], turning=(e1, e2))
    return condition


def mean_conditions(bushing: Bushing, planar: bool) -> list[Condition]:
    """The conditions of zero deflection of a bushing, for the mean motion only."""
    return [replace(c, held=False, gives=True) for c in conditions(bushing.joint(), planar)]


@dataclass(frozen=True)
class Frames:
    """Origins (..., k, 3) and rotations (..., k, 3, 3) of frames, with their rates or without: of
    all bodies, the ground last, or of all points of joints."""

    origin: Taylor
    rotation: Taylor

    @property
    def still(self) -> Frames:
        """The same frames at rest."""
        return Frames(Taylor.constant(self.origin.value), Taylor.constant(self.rotation.value))

    @property
    def values(self) -> Frames:
        """The same frames without rates."""
        return Frames(Taylor(self.origin.data[:1]), Taylor(self.rotation.data[:1]))


@dataclass(frozen=True)
class Evaluated:
    """What the conditions have in common; all jets have one entry per condition, after the axes of
    instants."""

    value: Taylor
    f: Taylor
    d: Taylor
    relative: Taylor  # R_ab
    h: Taylor  # R_abᵀ f, the direction f seen from the second body


class JointRows:
    """All conditions of a mechanism as arrays of m rows.

    pairs (m, 2): numbers of the two points that each ties. levers (m, 2, 3): from the origins of
    the frames that carry the points to the points, in their axes. angles: the rows of elastic
    drives of a rotation, whose values are the sines of their deflections.
    """

    def __init__(self, conditions: Sequence[Condition], pairs: Index, levers: Array) -> None:
        self.conditions = tuple(conditions)
        self._ties, tie_of = np.unique(pairs, axis=0, return_inverse=True)
        self._tie_of = tie_of.reshape(-1)  # numpy 2.0 gives it another shape
        self.joints = [c.joint for c in conditions]
        distance = np.array([c.direction is None for c in conditions], dtype=bool)
        self.distance = distance.astype(float)[:, None]
        self.carried = np.array([c.carried for c in conditions], dtype=bool)
        self.held = np.array([c.held for c in conditions], dtype=bool)
        self.gives = np.array([c.gives for c in conditions], dtype=bool)
        turning = np.array([c.turning is not None for c in conditions], dtype=bool)
        self.driven = np.array([c.law is not None for c in conditions], dtype=bool)
        self.angles = np.flatnonzero(turning & self.gives)
        self._axes = np.array([np.cross(*conditions[k].turning) for k in self.angles])
        self.directions = np.array(
            [np.zeros(3) if c.direction is None else c.direction for c in conditions]
        )
        self.labels = [
            f"driver of {joint}" if moved else f"joint {joint}"
            for joint, moved in zip(self.joints, self.driven, strict=True)
        ]
        # A direction rotates with its frame like a point at the offset g.
        self.levers = (levers[:, 0] * self.distance, levers[:, 1] * self.distance + self.directions)
        self._arms = skew(self.levers)
        self.f = np.array([c.f for c in conditions])
        self._laws = [c.law for c in conditions if c.law is not None]
        self._driven_rows, self._turned = np.flatnonzero(self.driven), turning[self.driven]
        self._turned_rows = self._driven_rows[self._turned]
        planes = np.array([c.turning for c in conditions if c.turning is not None])
        self._e1, self._e2 = planes.reshape(-1, 2, 3).swapaxes(0, 1)
        self._constant = np.zeros((3, len(conditions), 4))
        self._constant[0, :, :3] = self.f
        self._last: tuple[Array, Array, Any] = np.array([np.nan]), self._constant, None

    def __len__(self) -> int:
        return len(self.conditions)

    @property
    def read(self) -> Mask:
        """Which of the 12 entries of each gradient may differ from zero between two bodies in
        space, (m, 12)."""
        distance = self.distance[:, 0] > 0.0
        first, second = (~distance | np.any(lever, axis=1) for lever in self.levers)
        blocks = np.stack([distance, first | self.carried, distance, second], axis=1)
        return np.repeat(blocks, 3, axis=1)

    def laws(
        self, t: ArrayLike, lag: Array | None = None, pace: ArrayLike = 1.0
    ) -> tuple[Taylor, Taylor]:
        """The jets of f (..., m, 3) and c (..., m) at times t (...): constant but for driven rows.

        lag (m,): taken off the drivers' values, while a mechanism is being assembled. pace (...):
        share of their rates. The last ones are kept: they are asked for again while positions
        change.
        """
        times, (known, jets, free) = np.asarray(t, dtype=float), self._last
        flat, rates = times.ravel(), np.broadcast_to(pace, times.shape)
        at = np.minimum(np.searchsorted(known, flat), len(known) - 1)
        if lag is not None or not free or np.any(known[at] != flat):
            known, at = np.unique(flat, return_inverse=True)
            jets = self._jets(known, lag)
            self._last = known, jets, lag is None
        jets = jets[:, at].reshape(3, *times.shape, *self._constant.shape[1:])
        jets *= np.stack([np.ones(times.shape), rates, rates**2])[..., None, None]
        return Taylor(jets[..., :3]), Taylor(jets[..., 3])

    def _jets(self, times: Array, lag: Array | None) -> Array:
        """Those of f and c (3, P, m, 4) of `laws` at times (P,)."""
        both = np.repeat(self._constant[:, None], len(times), axis=1)
        values = np.array([[law.at(s) for s in times.tolist()] for law in self._laws]).T
        jets = values.reshape(3, len(times), len(self._laws))
        if lag is not None:
            jets[0] -= lag[self._driven_rows]
        both[..., self._driven_rows, 3] = np.where(self._turned, 0.0, jets)
        q, rate, second = jets[..., self._turned, None]
        sin, cos = np.sin(q), np.cos(q)
        along, inward = cos * self._e1 + sin * self._e2, cos * self._e2 - sin * self._e1
        turned = inward, -rate * along, -second * along - rate**2 * inward
        both[..., self._turned_rows, :3] = turned
        return both

    def evaluate(
        self, frames: Frames, t: ArrayLike, lag: Array | None = None, pace: ArrayLike = 1.0
    ) -> Evaluated:
        """Φ and its ingredients, each with the rates that the frames have."""
        f, c = self.laws(t, lag, pace)
        if frames.rotation.data.shape[0] == 1:
            f, c = Taylor(f.data[:1]), Taylor(c.data[:1])
        a, b = self._ties.T
        origin, rotation = frames.origin, frames.rotation
        towards = rotation.along(a, -3).transposed
        relative = matrix_product(towards, rotation.along(b, -3)).along(self._tie_of, -3)
        apart = matrix_vector(towards, origin.along(b, -2) - origin.along(a, -2))
        gap = apart.along(self._tie_of, -2)
        near, far = self.levers
        d = Taylor(_times(relative.data, far) + gap.data * self.distance)
        d.data[0] -= near
        return Evaluated(dot(f, d) - c, f, d, relative, matrix_vector(relative.transposed, f))

    def drift(self, e: Evaluated, t: ArrayLike) -> Array:
        """∂Φ/∂t (..., m): what the drivers change while all bodies rest."""
        f, c = self.laws(t)
        return np.asarray((f.rate * e.d.value).sum(axis=-1) - c.rate)

    def turned(self, e: Evaluated) -> tuple[Array, Taylor]:
        """Deflections of the drives `angles`, with rates (3, ..., k), and their slopes by the
        values; ConvergenceError where they are out of range."""
        own = self.angles
        s, f, d = e.value.along(own, -1), e.f.value[..., own, :], e.d.value[..., own, :]
        along = (np.cross(f, self._axes) * d).sum(axis=-1)
        far = (np.abs(s.value) > np.sqrt(1.0 - SMALLEST_COSINE**2)) | (along < 0.0)
        if np.any(far):
            raise ConvergenceError(
                f"the drive of joint {self.joints[own[np.nonzero(far)[-1][0]]]} has deflected by "
                f"more than {np.degrees(np.arccos(SMALLEST_COSINE)):.0f} degrees"
            )
        h: Any = 1.0 / np.sqrt(1.0 - s * s)
        x = [np.arcsin(s.value), h.value * s.rate, h.rate * s.rate + h.value * s.second]
        return np.stack(x), h

    def driver_errors(self, e: Evaluated) -> Array:
        """How far each driver's angle (−π to π) or displacement is from its law, (m,)."""
        out = np.where(self.driven, e.value.value, 0.0)
        for row, condition in enumerate(self.conditions):
            if condition.turning is not None:
                e1, e2 = condition.turning
                f, g = e.f.value[row], e.d.value[row]
                along = np.cross(f, np.cross(e1, e2))
                out[row] = np.arctan2(f @ g, along @ g)
        return out

    def reversed_joints(self, e: Evaluated) -> list[str]:
        """Joints whose directions are opposite to what is meant."""
        out = []
        for row, condition in enumerate(self.conditions):
            if condition.sense is not None:
                ours, theirs = condition.sense
                if ours @ e.relative.value[row] @ theirs < 0.0:
                    out.append(condition.joint)
        return list(dict.fromkeys(out))

    def gradient(self, e: Evaluated) -> Taylor:
        """∂Φ by the motions of the frames of both points in their axes, (..., m, 12)."""
        near, far = self._arms
        turned = matrix_vector(Taylor(skew(e.f.data)), e.d)  # f × d
        out = np.empty((*e.d.data.shape[:-1], 12))
        out[..., 0:3] = -e.f.data * self.distance
        out[..., 3:6] = turned.data - _times(near, e.f.data)
        out[..., 6:9] = e.h.data * self.distance
        out[..., 9:] = _times(far, e.h.data)
        return Taylor(out)

    def hessian(self, e: Evaluated) -> Array:
        """Second derivatives of the values, those of `angles` as angles, by displacements and
        rotation vectors of both points' frames, (..., m, 12, 12)."""
        R, wf, arm = e.relative.value, skew(e.f.value), self._arms[1]
        s = self.distance[..., None]
        # ∂d by the motions of both frames, of which f turns with the first.
        moved = [-s * (np.eye(3) + 0.0 * R), skew(e.d.value + self.levers[0]), s * R, -R @ arm]
        out = np.zeros((*R.shape[:-2], 12, 12))
        out[..., 3:6, :] = wf @ np.concatenate(moved, axis=-1)
        out[..., 9:, 9:] = arm @ skew(e.h.value)
        for turns in (slice(3, 6), slice(9, 12)):
            out[..., turns, turns] *= 0.5
        out += out.swapaxes(-1, -2)
        own = self.angles
        if len(own):
            # x = asin(Φ): x″ = h Φ″ + Φ h³ Φ′Φ′ᵀ, h = 1/√(1 − Φ²).
            value = e.value.value[..., own, None, None]
            h, g = 1.0 / np.sqrt(1.0 - value**2), self.gradient(e).value[..., own, :, None]
            out[..., own, :, :] *= h
            out[..., own, :, :] += value * h**3 * g * g.swapaxes(-1, -2)
        return out


def _times(matrices: Array, vectors: Array) -> Array:
    return np.asarray((matrices @ vectors[..., None])[..., 0])
