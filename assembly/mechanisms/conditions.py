"""Conditions that joints and drivers impose, and the axes of joints in their two bodies.

Every condition is one of two: a distance, f·(x_b − x_a) = c(t), or a direction, f·g = 0, with f
carried by the first body and g by the second (assembly/mechanisms/joint_rows.py evaluates both with
one formula).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from assembly.errors import MechanismError
from assembly.kinematics import unit_axis
from assembly.mechanisms.bushings import Bushing
from assembly.mechanisms.drivers import Driver
from assembly.mechanisms.joints import Joint
from assembly.motion.laws import Law
from assembly.types import Array


def triads(joint: Joint) -> tuple[Array, Array]:
    """Right-handed axes (columns e₁ e₂ e₃, e₃ the joint's) in the first and the second body.

    They coincide when the joint is at zero: e₁ of the second is that of the first, carried over by
    the smallest rotation between the two axes given.
    """
    a, b = (unit_axis(axis) for axis in joint.axes)
    if joint.kind == "prismatic" and abs(a[2]) < 1e-12 and abs(b[2]) < 1e-12:
        # In the plane e₁ = −z, so that e₂ = e₃ × e₁ is the in-plane normal of the slide.
        first, second = (
            _with_first(a, np.array([0, 0, -1.0])),
            _with_first(b, np.array([0, 0, -1.0])),
        )
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
    turning: the driver law that turns f about the axis: f(t) = −sin q e₁ + cos q e₂, g = e₁ of the
    second body; shifting: the driver law c(t). sense: vectors of the two bodies whose product is
    positive where a direction is as meant, not reversed. held: whether it ties elastic DOFs. gives:
    whether a spring or damper acts in its place, so that it keeps the mean motion only.
    """

    joint: str
    f: Array
    direction: Array | None = None
    carried: bool = True
    turning: tuple[Array, Array, Law] | None = None
    shifting: Law | None = None
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
    condition = Condition(joint.name, e3, shifting=motor.law, held=held, gives=motor.gives)
    if of == "angle":
        turning = (e1, e2, motor.law)
        return replace(condition, f=e2, direction=B.T[0], turning=turning, shifting=None)
    return condition


def mean_conditions(bushing: Bushing, planar: bool) -> list[Condition]:
    """The conditions of zero deflection of a bushing, for the mean motion only."""
    return [replace(c, held=False, gives=True) for c in conditions(bushing.joint(), planar)]
