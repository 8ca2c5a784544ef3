"""Axes of a joint in its two bodies: right-handed triads that coincide at zero of the joint."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from assembly.kinematics import unit_axis
from assembly.mechanisms.joints import Joint
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
