"""Joints and drivers of a mechanism: what they connect and which conditions they impose.

Every condition is one of two: a distance, f·(x_b − x_a) = c(t), or a direction, f·g = 0, with f
carried by the first body and g by the second (assembly/mechanisms/joint_rows.py evaluates both with
one formula).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from assembly.errors import MechanismError
from assembly.kinematics import unit_axis
from assembly.motion.laws import Law, as_law
from assembly.types import Array

# A named node set (several nodes: their mean displacement and best-fit rotation), a node number, or
# coordinates: of a node, or any of a rigid body and the ground.
Point = str | int | Sequence[float]
Kind = Literal["revolute", "prismatic", "fixed", "cylindrical", "spherical", "universal"]

GROUND = "ground"


@dataclass(frozen=True)
class Joint:
    """A joint between a point of a first and a point of a second body, in each body's own axes.

    Made by `revolute`, `prismatic`, `fixed`, `cylindrical`, `spherical` and `universal`.

    Parameters
    ----------
    kind : str
        One of these six names.
    bodies : tuple of str
        First and second body.
    at : tuple of points
        Point of the first and of the second body.
    name : str
        Name of the joint.
    axes : tuple of two tuple of float
        The joint's axis in the first and in the second body's axes: of rotation (revolute,
        cylindrical), of translation (prismatic). The two axes of a universal joint are
        perpendicular to each other.
    turned : float
        Angle, rad, of the second body relative to the first at which the joint is assembled:
        about z (prismatic) or about the axis (fixed).

    Raises
    ------
    MechanismError
        For a joint of a body with itself, or an angle that is not finite.
    """

    kind: Kind
    bodies: tuple[str, str]
    at: tuple[Point, Point]
    name: str
    axes: tuple[tuple[float, ...], tuple[float, ...]] = ((0.0, 0.0, 1.0), (0.0, 0.0, 1.0))
    turned: float = 0.0

    def __post_init__(self) -> None:
        first, second = self.bodies
        if first == second:
            raise MechanismError(f"joint {self.name}: connects {first!r} to itself")
        if not np.isfinite(self.turned):
            raise MechanismError(f"joint {self.name}: the angle must be finite, got {self.turned}")


@dataclass(frozen=True)
class Driver:
    """A motor: prescribes the angle (rad) or the displacement (m) of a joint by a law of time.

    Parameters
    ----------
    joint : str
        Name of the joint.
    law : Law
        (q, q̇, q̈) over time.
    held : bool
        Whether the driver also constrains the elastic degrees of freedom. A driver that does not
        only maintains the rigid motion: its force is applied as a load, and the rigid velocity
        field of the mechanism stays free.
    of : {"angle", "displacement", None}
        Which motion of a cylindrical joint.
    """

    joint: str
    law: Law
    held: bool = True
    of: Literal["angle", "displacement"] | None = None


@dataclass(frozen=True)
class Condition:
    """One scalar condition: f·d = c with f (3,) carried by the first body.

    direction: g (3,) of the second body when the condition is f·g = 0, None when it is a distance.
    carried: whether f follows the rotation of the first body's node, or only its frame.
    turning: the driver law that turns f about the axis: f(t) = −sin q e₁ + cos q e₂, g = e₁ of the
    second body; shifting: the driver law c(t). sense: vectors of the two bodies whose product is
    positive where a direction is as meant, not reversed.
    """

    joint: str
    f: Array
    direction: Array | None = None
    carried: bool = True
    turning: tuple[Array, Array, Law] | None = None
    shifting: Law | None = None
    held: bool = True
    sense: tuple[Array, Array] | None = None


def revolute(
    first: str,
    at_first: Point,
    second: str,
    at_second: Point,
    *,
    name: str = "",
    axis: ArrayLike = (0.0, 0.0, 1.0),
    axis_second: ArrayLike | None = None,
) -> Joint:
    """A pin: the two points coincide and the bodies rotate about an axis (z in the plane).

    Parameters
    ----------
    first, second : str
        Names of the bodies; "ground" is the fixed frame.
    at_first, at_second : str, int or sequence of float
        Point of each body: a named node set (mean displacement and best-fit rotation of its nodes),
        a node number, or coordinates in body axes, m: of a node, or of any point of a rigid body
        and the ground.
    name : str
        Name of the joint; "first-second" by default.
    axis : array_like
        Axis in the first body's axes, two or three components.
    axis_second : array_like, optional
        The same axis in the second body's axes; `axis` by default.

    Returns
    -------
    Joint

    Raises
    ------
    MechanismError
        For a joint of a body with itself, or an axis that cannot be used.
    """
    return _joint("revolute", first, at_first, second, at_second, name, axis, axis_second)


def prismatic(
    first: str,
    at_first: Point,
    second: str,
    at_second: Point,
    *,
    axis: ArrayLike,
    name: str = "",
    axis_second: ArrayLike | None = None,
    turned: float = 0.0,
) -> Joint:
    """A slide: the second point stays on a line through the first; no relative rotation.

    Parameters
    ----------
    first, second : str
        Names of the bodies; "ground" is the fixed frame.
    at_first, at_second : str, int or sequence of float
        Point of each body: a named node set (mean displacement and best-fit rotation of its nodes),
        a node number, or coordinates in body axes, m: of a node, or of any point of a rigid body
        and the ground.
    axis : array_like
        Axis in the first body's axes, two or three components.
    axis_second : array_like, optional
        The same axis in the second body's axes; `axis` by default.
    name : str
        Name of the joint; "first-second" by default.
    turned : float
        Angle, rad, of the second body relative to the first, about z.

    Returns
    -------
    Joint

    Raises
    ------
    MechanismError
        For a joint of a body with itself, or an axis that cannot be used.
    """
    return _joint("prismatic", first, at_first, second, at_second, name, axis, axis_second, turned)


def fixed(
    first: str,
    at_first: Point,
    second: str,
    at_second: Point,
    *,
    name: str = "",
    turned: float = 0.0,
    axis: ArrayLike = (0.0, 0.0, 1.0),
) -> Joint:
    """A weld: the points coincide and there is no relative rotation.

    Parameters
    ----------
    first, second : str
        Names of the bodies; "ground" is the fixed frame.
    at_first, at_second : str, int or sequence of float
        Point of each body: a named node set (mean displacement and best-fit rotation of its nodes),
        a node number, or coordinates in body axes, m: of a node, or of any point of a rigid body
        and the ground.
    name : str
        Name of the joint; "first-second" by default.
    turned : float
        Angle, rad, of the second body relative to the first, about `axis`.
    axis : array_like
        Axis of that angle in the first body's axes.

    Returns
    -------
    Joint

    Raises
    ------
    MechanismError
        For a joint of a body with itself, or an axis that cannot be used.
    """
    return _joint("fixed", first, at_first, second, at_second, name, axis, None, turned)


def cylindrical(
    first: str,
    at_first: Point,
    second: str,
    at_second: Point,
    *,
    axis: ArrayLike,
    name: str = "",
    axis_second: ArrayLike | None = None,
) -> Joint:
    """A sleeve on a rod: rotation about an axis and translation along it.

    Parameters
    ----------
    first, second : str
        Names of the bodies; "ground" is the fixed frame.
    at_first, at_second : str, int or sequence of float
        Point of each body: a named node set (mean displacement and best-fit rotation of its nodes),
        a node number, or coordinates in body axes, m: of a node, or of any point of a rigid body
        and the ground.
    axis : array_like
        Axis in the first body's axes, two or three components.
    axis_second : array_like, optional
        The same axis in the second body's axes; `axis` by default.
    name : str
        Name of the joint; "first-second" by default.

    Returns
    -------
    Joint

    Raises
    ------
    MechanismError
        For a joint of a body with itself, or an axis that cannot be used.
    """
    return _joint("cylindrical", first, at_first, second, at_second, name, axis, axis_second)


def spherical(
    first: str, at_first: Point, second: str, at_second: Point, *, name: str = ""
) -> Joint:
    """A ball joint: the two points coincide.

    Parameters
    ----------
    first, second : str
        Names of the bodies; "ground" is the fixed frame.
    at_first, at_second : str, int or sequence of float
        Point of each body: a named node set (mean displacement and best-fit rotation of its nodes),
        a node number, or coordinates in body axes, m: of a node, or of any point of a rigid body
        and the ground.
    name : str
        Name of the joint; "first-second" by default.

    Returns
    -------
    Joint

    Raises
    ------
    MechanismError
        For a joint of a body with itself, or an axis that cannot be used.
    """
    return _joint("spherical", first, at_first, second, at_second, name, (0.0, 0.0, 1.0), None)


def universal(
    first: str,
    at_first: Point,
    second: str,
    at_second: Point,
    *,
    axis: ArrayLike,
    axis_second: ArrayLike,
    name: str = "",
) -> Joint:
    """A Cardan joint: the points coincide and the two given axes stay perpendicular.

    Parameters
    ----------
    first, second : str
        Names of the bodies; "ground" is the fixed frame.
    at_first, at_second : str, int or sequence of float
        Point of each body: a named node set (mean displacement and best-fit rotation of its nodes),
        a node number, or coordinates in body axes, m: of a node, or of any point of a rigid body
        and the ground.
    axis : array_like
        Axis in the first body's axes, two or three components.
    axis_second : array_like
        Axis in the second body's axes.
    name : str
        Name of the joint; "first-second" by default.

    Returns
    -------
    Joint

    Raises
    ------
    MechanismError
        For a joint of a body with itself, or an axis that cannot be used.
    """
    return _joint("universal", first, at_first, second, at_second, name, axis, axis_second)


def driver(
    joint: str,
    law: Law | float | Callable[[float], tuple[float, float, float]],
    *,
    held: bool = True,
    of: Literal["angle", "displacement"] | None = None,
) -> Driver:
    """A driver of a joint.

    Parameters
    ----------
    joint : str
        Name of a revolute, prismatic or cylindrical joint.
    law : float, Law or callable
        A constant rate (rad/s or m/s), a law, or a function t → (q, q̇, q̈).
    held : bool
        Whether the driver also constrains the elastic degrees of freedom; see `Driver`.
    of : {"angle", "displacement", None}
        Which motion of a cylindrical joint.

    Returns
    -------
    Driver

    Raises
    ------
    MotionError
        For a law that is none of these.
    """
    return Driver(joint, as_law(law), held, of)


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
    if of == "angle":
        turning = (e1, e2, motor.law)
        return Condition(joint.name, e2, B.T[0], turning=turning, held=motor.held)
    return Condition(joint.name, e3, shifting=motor.law, held=motor.held)


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


def _joint(
    kind: Kind,
    first: str,
    at_first: Point,
    second: str,
    at_second: Point,
    name: str,
    axis: ArrayLike,
    axis_second: ArrayLike | None,
    turned: float = 0.0,
) -> Joint:
    shown = name or f"{first}-{second}"
    a = _three(axis, shown)
    b = a if axis_second is None else _three(axis_second, shown)
    return Joint(kind, (first, second), (at_first, at_second), shown, (a, b), float(turned))


def _three(axis: ArrayLike, name: str) -> tuple[float, ...]:
    """An axis of two or three components as three."""
    values = np.asarray(axis, dtype=float).ravel()
    if values.size not in (2, 3) or not np.all(np.isfinite(values)) or not np.any(values):
        raise MechanismError(
            f"joint {name}: axis needs two or three finite numbers, not all zero, got {axis!r}"
        )
    return tuple(float(v) for v in (*values, 0.0)[:3])
