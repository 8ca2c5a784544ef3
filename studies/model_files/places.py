"""Where the frames of a mechanism's bodies are when it is assembled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from assembly.errors import ModelFileError
from studies.model_files.schema import ModelSpec
from studies.model_files.schema_mechanisms import Tie

Array = NDArray[np.float64]
GROUND = "ground"


@dataclass(frozen=True)
class Place:
    """The frame of a body: origin (3,), m, and rotation (3, 3), body to fixed axes."""

    origin: Array
    rotation: Array

    def point(self, at: ArrayLike) -> tuple[float, ...]:
        """A point of fixed axes in body axes (3,), m."""
        return self.direction(spatial(at) - self.origin)

    def direction(self, of: ArrayLike) -> tuple[float, ...]:
        """A direction of fixed axes in body axes (3,)."""
        values = self.rotation.T @ spatial(of)
        return tuple(float(v) for v in values)

    def initial(self, planar: bool) -> tuple[float, ...]:
        """As `assembly.Mechanism` takes it: (x, y, angle), or origin and rotation vector."""
        if planar:
            R = self.rotation
            angle = float(np.arctan2(R[1, 0], R[0, 0]))
            return (float(self.origin[0]), float(self.origin[1]), angle)
        turn = Rotation.from_matrix(self.rotation).as_rotvec()
        return tuple(float(v) for v in (*self.origin, *turn))


def spatial(values: ArrayLike) -> Array:
    """Two or three components as three."""
    return np.array([*np.ravel(np.asarray(values, dtype=float)), 0.0][:3])


def is_planar(spec: ModelSpec) -> bool:
    """Whether the mechanism is in the plane: its joints and bushings have two coordinates.

    Raises ModelFileError where some have two and others three.
    """
    ties: list[tuple[str, Tie]] = [(f"joint.{name}", joint) for name, joint in spec.joint.items()]
    ties += [(f"bushing.{name}", bushing) for name, bushing in spec.bushing.items()]
    first = len(ties[0][1].at)
    for label, tie in ties:
        if len(tie.at) != first:
            raise ModelFileError(
                f"{label}.at: has {len(tie.at)} coordinates, {ties[0][0]}.at has {first}: "
                "two in the plane, three in space"
            )
    return first == 2


def places_of(spec: ModelSpec, planar: bool) -> dict[str, Place]:
    """The place of every body and of the ground. Raises ModelFileError."""
    ground = Place(np.zeros(3), np.eye(3))
    return {name: _place(name, spec, planar) for name in spec.bodies} | {GROUND: ground}


def _place(name: str, spec: ModelSpec, planar: bool) -> Place:
    """As the body's keys say. By default the origin is at the first joint, and the x axis points to
    the second one; y is horizontal, that is normal to z, in space."""
    body = spec.body[name]
    ties = (*spec.joint.values(), *spec.bushing.values())
    at = [spatial(tie.at) for tie in ties if name in tie.bodies]
    if not at:
        raise ModelFileError(f"body.{name}: no joint connects it to the mechanism")
    given, turn = getattr(body, "position", None), getattr(body, "rotation", None)
    origin = at[0] if given is None else spatial(given)
    if turn is not None:
        rotation = _turned(turn, name, planar)
    else:
        across = next((p - at[0] for p in at[1:] if np.linalg.norm(p - at[0]) > 0.0), np.eye(3)[0])
        rotation = _along(across)
    length = getattr(body, "length", None)
    distance = max(float(np.linalg.norm(p - at[0])) for p in at)
    plain = not getattr(body, "end_offsets", None)
    if length is not None and plain and distance > length * (1.0 + 1e-6):
        raise ModelFileError(
            f"body.{name}.length = {length:g}: its joints are {distance:.6g} m apart"
        )
    return Place(origin, rotation)


def _turned(turn: Any, name: str, planar: bool) -> Array:
    vector = np.asarray(turn, dtype=float)
    if planar and vector.ndim:
        raise ModelFileError(f"body.{name}.rotation: expected an angle in the plane, got {turn}")
    rotvec = vector if vector.ndim else np.array([0.0, 0.0, float(vector)])
    return np.asarray(Rotation.from_rotvec(rotvec).as_matrix())


def _along(across: Array) -> Array:
    """Axes (columns) with x along a direction and y normal to z; y stays y where x is along z."""
    x = across / np.linalg.norm(across)
    y = np.cross([0.0, 0.0, 1.0], x)
    size = float(np.linalg.norm(y))
    y = y / size if size > 1e-9 else np.array([0.0, 1.0, 0.0])
    return np.stack([x, y, np.cross(x, y)], axis=1)
