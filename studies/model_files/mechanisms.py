"""From the checked specification of a mechanism to the mechanism."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import assembly
from assembly.errors import ModelFileError
from studies.model_files.attachments import rotation_of
from studies.model_files.bodies import build_body
from studies.model_files.joints import (
    Array,
    BodyPlace,
    Tie,
    build_bushing,
    build_driver,
    build_joint,
    point_of,
    spatial,
)
from studies.model_files.schema import ModelSpec


def build_mechanism(
    spec: ModelSpec, folder: Path, speeds: dict[str, float] | None = None
) -> assembly.Mechanism:
    """The mechanism of a model file; speeds (rpm) override those of drivers.

    Raises ModelFileError naming the part that does not fit.
    """
    planar = is_planar(spec)
    places = places_of(spec, planar)
    bodies = {
        name: build_body(name, spec.body, spec.material, folder, planar) for name in spec.bodies
    }
    joints = {name: build_joint(name, joint, places, planar) for name, joint in spec.joint.items()}
    drivers = []
    for name, motor in spec.driver.items():
        joint, arm = joints[motor.joint], _arm(motor.joint, spec)
        drivers.append(build_driver(name, motor, joint, places, arm, (speeds or {}).get(name)))
    return assembly.Mechanism(
        bodies,
        list(joints.values()),
        drivers,
        loads=[
            assembly.Load(load.body, point_of(load.at), load.force, load.follower)
            for load in spec.load.values()
        ],
        bushings=[build_bushing(name, part, places, planar) for name, part in spec.bushing.items()],
        initial={name: places[name].initial(planar) for name in bodies},
        coordinates=spec.mechanism.coordinates,
        gravity=[*spec.mechanism.gravity, 0.0][:3],
        period=spec.mechanism.period,
    )


def _arm(driven: str, spec: ModelSpec) -> float:
    """The distance (m) from a driven joint to the farthest joint of its bodies."""
    bodies = set(spec.joint[driven].bodies) - {"ground"}
    ends = [joint.at for joint in spec.joint.values() if bodies & set(joint.bodies)]
    return max(float(np.linalg.norm(np.subtract(end, spec.joint[driven].at))) for end in ends)


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


def places_of(spec: ModelSpec, planar: bool) -> dict[str, BodyPlace]:
    """The place of every body and of the ground. Raises ModelFileError."""
    ground = BodyPlace(np.zeros(3), np.eye(3))
    return {name: _place(name, spec, planar) for name in spec.bodies} | {"ground": ground}


def _place(name: str, spec: ModelSpec, planar: bool) -> BodyPlace:
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
        if planar and isinstance(turn, list):
            where = f"body.{name}.rotation"
            raise ModelFileError(f"{where}: expected an angle in the plane, got {turn}")
        rotation = rotation_of(turn)
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
    return BodyPlace(origin, rotation)


def _along(across: Array) -> Array:
    """Axes (columns) with x along a direction and y normal to z; y stays y where x is along z."""
    x = across / np.linalg.norm(across)
    y = np.cross([0.0, 0.0, 1.0], x)
    size = float(np.linalg.norm(y))
    y = y / size if size > 1e-9 else np.array([0.0, 1.0, 0.0])
    return np.stack([x, y, np.cross(x, y)], axis=1)
