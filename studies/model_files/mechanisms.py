"""From the checked specification of a mechanism to the mechanism: places bodies between their
joints."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import assembly
from assembly.errors import InputError, ModelFileError
from assembly.materials.plausibility import check_speed, located
from assembly.motion.laws import Uniform
from studies.model_files.bodies import build_body
from studies.model_files.schema import BushingSpec, JointSpec, ModelSpec, RigidSpec

Array = NDArray[np.float64]
RPM = 2.0 * np.pi / 60.0


@dataclass(frozen=True)
class Place:
    """Where a body's frame is when the mechanism is assembled: origin (2,), m, and angle, rad."""

    origin: Array
    angle: float

    def inside(self, point: Array) -> Array:
        """A point or direction difference of the plane in the body's axes (2,)."""
        c, s = np.cos(self.angle), np.sin(self.angle)
        return np.array([[c, s], [-s, c]]) @ point


GROUND = Place(np.zeros(2), 0.0)


def build_mechanism(
    spec: ModelSpec, folder: Path, speeds: dict[str, float] | None = None
) -> assembly.Mechanism:
    """The planar mechanism of a model file; speeds (rpm) override those of drivers.

    Raises ModelFileError naming the part that does not fit.
    """
    places = {name: _place(name, spec) for name in spec.body} | {"ground": GROUND}
    bodies = {name: _body(name, spec, folder) for name in spec.body}
    joints = [_joint(name, joint, places) for name, joint in spec.joint.items()]
    drivers = []
    for name, motor in spec.driver.items():
        speed = (speeds or {}).get(name, motor.speed_rpm)
        joint = spec.joint[motor.joint]
        first, second = joint.bodies
        start = places[second].angle - places[first].angle if joint.kind == "revolute" else 0.0
        law = Uniform(rate=speed * RPM, start=start)
        if joint.kind == "revolute":
            arm = _arm(joint, spec)
            check_speed(abs(speed) * RPM * arm, f"driver.{name}.speed_rpm", speed, "rpm")
        with located(f"driver.{name}: "):
            drivers.append(
                assembly.driver(
                    motor.joint,
                    law,
                    held=motor.held,
                    stiffness=motor.stiffness,
                    damping=motor.damping,
                )
            )
    bushings = [_bushing(name, bushing, places) for name, bushing in spec.bushing.items()]
    initial = {name: (*places[name].origin, places[name].angle) for name in spec.body}
    return assembly.Mechanism(bodies, joints, drivers, bushings=bushings, initial=initial)


def _body(name: str, spec: ModelSpec, folder: Path) -> Any:
    body = spec.body[name]
    if isinstance(body, RigidSpec):
        try:
            with located(f"body.{name}."):
                return assembly.rigid_body(body.mass, body.inertia, planar=True, name=name)
        except InputError as fault:
            raise ModelFileError(f"body.{name}: {fault}") from None
    return build_body(name, spec, folder, planar=True)


def _place(name: str, spec: ModelSpec) -> Place:
    """The body's x axis runs from its first joint to its second; from the first along x with
    one."""
    ties = (*spec.joint.values(), *spec.bushing.values())
    at = [np.array(tie.at) for tie in ties if name in tie.bodies]
    if not at:
        raise ModelFileError(f"body.{name}: no joint connects it to the mechanism")
    across = next(
        (p - at[0] for p in at[1:] if np.linalg.norm(p - at[0]) > 0.0), np.array([1.0, 0])
    )
    place = Place(at[0], float(np.arctan2(across[1], across[0])))
    body = spec.body[name]
    length = getattr(body, "length", None)
    distance = max(float(np.linalg.norm(p - at[0])) for p in at)
    if length is not None and distance > length * (1.0 + 1e-6):
        raise ModelFileError(
            f"body.{name}.length = {length:g}: its joints are {distance:.6g} m apart"
        )
    return place


def _arm(driven: JointSpec, spec: ModelSpec) -> float:
    """The distance (m) from a driven joint to the farthest joint of its bodies."""
    bodies = set(driven.bodies) - {"ground"}
    ends = [joint.at for joint in spec.joint.values() if bodies & set(joint.bodies)]
    return max(float(np.hypot(*np.subtract(end, driven.at))) for end in ends)


def _ends(tie: JointSpec | BushingSpec, places: dict[str, Place]) -> tuple[Any, Any, Any, Any]:
    """First body and its point, second body and its point, in the bodies' axes."""
    first, second = tie.bodies
    points = [places[body].inside(np.array(tie.at) - places[body].origin) for body in tie.bodies]
    return first, tuple(points[0]), second, tuple(points[1])


def _bushing(name: str, bushing: BushingSpec, places: dict[str, Place]) -> assembly.Bushing:
    first, second = bushing.bodies
    return assembly.bushing(
        *_ends(bushing, places),
        stiffness=bushing.stiffness,
        damping=bushing.damping,
        preload=bushing.preload,
        turned=places[second].angle - places[first].angle,
        name=name,
    )


def _joint(name: str, joint: JointSpec, places: dict[str, Place]) -> Any:
    first, second = joint.bodies
    ends = _ends(joint, places)
    if joint.kind == "revolute":
        return assembly.revolute(*ends, name=name)
    axes = [(*places[body].inside(np.array(joint.axis)), 0.0) for body in (first, second)]
    return assembly.prismatic(*ends, axis=axes[0], axis_second=axes[1], name=name)
