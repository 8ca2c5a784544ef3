"""Joints of a mechanism: what they connect, and how; bushings, which are springs and dampers in all
directions between points of two bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from assembly.arguments import as_number, as_numbers, real_array, shown
from assembly.errors import MechanismError
from assembly.magnitudes import ROUND_OFF
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


Coefficients = ArrayLike | Callable[[float], ArrayLike]


@dataclass(frozen=True)
class Bushing:
    """A spring and a damper in all directions between points of two bodies; made by `bushing`.

    Parameters
    ----------
    bodies : tuple of str
        First and second body; "ground" is the fixed frame.
    at : tuple of points
        Point of the first and of the second body.
    stiffness, damping : array_like or callable
        Matrices (6, 6), in the plane (3, 3), or functions of time (s) that return them.
    preload : tuple of float
        Force and moment at zero deflection; empty for none.
    name : str
        Name of the bushing.
    turned : float
        Angle, rad, of the second body relative to the first at zero deflection, about `axis`.
    axis : tuple of float
        Axis of that angle in the first body's axes.

    Raises
    ------
    MechanismError
        For a bushing of a body with itself, or an angle that is not finite.
    """

    bodies: tuple[str, str]
    at: tuple[Point, Point]
    stiffness: Coefficients
    damping: Coefficients | None
    preload: tuple[float, ...]
    name: str
    turned: float = 0.0
    axis: tuple[float, ...] = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        self.joint()

    def joint(self) -> Joint:
        """The joint that holds the two bodies where the bushing does not deflect."""
        (first, second), (a, b) = self.bodies, self.at
        return _joint("fixed", first, a, second, b, self.name, self.axis, None, self.turned)

    def stiffness_at(self, t: float, size: int) -> Array:
        """Stiffness (size, size) at time t (s), size 6 or, in the plane, 3."""
        return self._matrix("stiffness", self.stiffness, t, size)

    def damping_at(self, t: float, size: int) -> Array:
        """Damping (size, size) at time t (s)."""
        return self._matrix("damping", self.damping, t, size)

    def preload_of(self, size: int) -> Array:
        """Force and moment (size,) at zero deflection."""
        values = np.array(self.preload if self.preload else np.zeros(size), dtype=float)
        if values.shape != (size,) or not np.all(np.isfinite(values)):
            raise MechanismError(
                f"bushing {self.name}: preload needs {size} finite numbers, got {self.preload!r}"
            )
        return values

    def acts(self, size: int) -> Array:
        """Which deflections (size,) can have a force; all where a matrix varies in time."""
        if callable(self.stiffness) or callable(self.damping):
            return np.ones(size, dtype=bool)
        both = np.abs(self.stiffness_at(0.0, size)) + np.abs(self.damping_at(0.0, size))
        return np.asarray(np.any(both, axis=1) | (self.preload_of(size) != 0.0))

    def carries(self, size: int) -> Array:
        """Which deflections (size,) meet a stiffness; all where it varies in time."""
        if callable(self.stiffness):
            return np.ones(size, dtype=bool)
        return np.asarray(np.any(self.stiffness_at(0.0, size), axis=1))

    def _matrix(self, what: str, given: Coefficients | None, t: float, size: int) -> Array:
        if given is None:
            return np.zeros((size, size))
        label = f"bushing {self.name}: {what}" + (f" at t = {t:g} s" if callable(given) else "")
        value = as_numbers(given(t) if callable(given) else given, label, MechanismError)
        if value.shape == (size,):
            value = np.diag(value)
        if value.shape != (size, size):
            where = "in the plane (x, y, rotation)" if size == 3 else "in space"
            raise MechanismError(
                f"{label}: {where} a bushing needs ({size}, {size}) or {size} numbers, got shape "
                f"{value.shape}"
            )
        largest = np.abs(value).max()
        if not np.isfinite(largest) or np.abs(value - value.T).max() > ROUND_OFF * largest:
            raise MechanismError(f"{label}: must be finite and symmetric, got {value.tolist()}")
        if np.linalg.eigvalsh(value)[0] < -ROUND_OFF * largest:
            raise MechanismError(f"{label}: must not be negative, got {value.tolist()}")
        return np.asarray(0.5 * (value + value.T))


def bushing(
    first: str,
    at_first: Point,
    second: str,
    at_second: Point,
    *,
    stiffness: Coefficients,
    damping: Coefficients | None = None,
    preload: ArrayLike = (),
    name: str = "",
    turned: float = 0.0,
    axis: ArrayLike = (0.0, 0.0, 1.0),
) -> Bushing:
    """A bushing: stiffness and damping in all directions between points of two bodies.

    Parameters
    ----------
    first, second : str
        Names of the bodies; "ground" is the fixed frame.
    at_first, at_second : str, int or sequence of float
        Point of each body: a named node set (mean displacement and best-fit rotation of its nodes),
        a node number, or coordinates in body axes, m: of a node, or of any point of a rigid body
        and the ground.
    stiffness : array_like, shape (6, 6) or (6,), or callable
        Force and moment per deflection: N/m, N, N·m/rad; a vector is a diagonal; a function of time
        (s) returns either. In the plane (3, 3) or (3,): x, y, rotation. Symmetric, not negative.
    damping : as stiffness, optional
        Force and moment per rate of deflection, N·s/m, N·s, N·m·s/rad.
    preload : array_like, shape (6,), optional
        Force and moment at zero deflection, N and N·m, as the spring's: a positive one pulls the
        second point back.
    name : str
        Name of the bushing; "first-second" by default.
    turned : float
        Angle, rad, of the second body relative to the first at zero deflection, about `axis`.
    axis : array_like, shape (3,)
        Axis of that angle in the first body's axes.

    Returns
    -------
    Bushing
        For `Mechanism(..., bushings=[...])`.

    Raises
    ------
    MechanismError
        For a bushing of a body with itself, or an axis that cannot be used; matrices are checked
        when the mechanism is made.

    Notes
    -----
    The deflection x is the displacement of the second point from the first and the rotation vector
    of the second body relative to the first, both in the axes of the first body **at its point**:
    they follow the rotation of this point, elastic rotation included. The force and moment on the
    second body are −(K x + C ẋ + preload), the first body gets what balances them.

    Where no chain of joints connects the two bodies, the mean motion is that of zero deflection, as
    if the bushing were a fixed joint. Otherwise joints and drivers determine the mean motion, and
    the bushing's steady force acts on it.
    """
    a = tuple(float(v) for v in [*np.ravel(np.asarray(axis, dtype=float)), 0.0][:3])
    load = tuple(float(v) for v in np.ravel(np.asarray(preload, dtype=float)))
    pair, points, name = (first, second), (at_first, at_second), name or f"{first}-{second}"
    return Bushing(pair, points, stiffness, damping, load, name, float(turned), a)


def determining(bushings: tuple[Bushing, ...], joints: tuple[Joint, ...]) -> list[bool]:
    """Which bushings determine the mean position of their bodies: no joints, and no bushing named
    before, connect these."""
    group: dict[str, str] = {}

    def root(body: str) -> str:
        while body in group:
            body = group[body]
        return body

    def connect(pair: tuple[str, str]) -> bool:
        a, b = root(pair[0]), root(pair[1])
        if a != b:
            group[a] = b
        return a != b

    for joint in joints:
        connect(joint.bodies)
    return [connect(bushing.bodies) for bushing in bushings]
