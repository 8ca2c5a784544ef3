"""Joints of a mechanism: what they connect, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from assembly.arguments import as_number, real_array, shown
from assembly.errors import MechanismError

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
        turned = as_number(self.turned, f"joint {self.name}: turned", MechanismError)
        if not np.isfinite(turned):
            raise MechanismError(f"joint {self.name}: the angle must be finite, got {self.turned}")


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
    label = name or f"{first}-{second}"
    a = _three(axis, label)
    b = a if axis_second is None else _three(axis_second, label)
    return Joint(kind, (first, second), (at_first, at_second), label, (a, b), turned)


def _three(axis: ArrayLike, name: str) -> tuple[float, ...]:
    """An axis of two or three components as three."""
    values = real_array(axis)
    if (
        values is None
        or values.size not in (2, 3)
        or not np.all(np.isfinite(values))
        or not np.any(values)
    ):
        raise MechanismError(
            f"joint {name}: axis needs two or three finite numbers, not all zero, got {shown(axis)}"
        )
    values = values.ravel()
    return tuple(float(v) for v in (*values, 0.0)[:3])
