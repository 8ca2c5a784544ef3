"""From the checked specification of a mechanism to the mechanism."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import assembly
from assembly.errors import InputError, ModelFileError
from assembly.materials.plausibility import check_speed, located
from assembly.mechanisms.joint_rows import triads
from studies.model_files import schema_mechanisms as schema
from studies.model_files.bodies import build_body
from studies.model_files.places import Place, is_planar, places_of
from studies.model_files.schema import ModelSpec
from studies.model_files.schema_motions import RPM

Places = dict[str, Place]


def build_mechanism(
    spec: ModelSpec, folder: Path, speeds: dict[str, float] | None = None
) -> assembly.Mechanism:
    """The mechanism of a model file; speeds (rpm) override those of drivers.

    Raises ModelFileError naming the part that does not fit.
    """
    planar = is_planar(spec)
    places = places_of(spec, planar)
    bodies = {name: build_body(name, spec, folder, planar) for name in spec.bodies}
    joints = {name: _joint(name, joint, places, planar) for name, joint in spec.joint.items()}
    return assembly.Mechanism(
        bodies,
        list(joints.values()),
        [
            _driver(name, motor, spec, joints[motor.joint], places, (speeds or {}).get(name))
            for name, motor in spec.driver.items()
        ],
        loads=[
            assembly.Load(load.body, _point(load.at), load.force, load.follower)
            for load in spec.load.values()
        ],
        bushings=[_bushing(name, part, places, planar) for name, part in spec.bushing.items()],
        initial={name: places[name].initial(planar) for name in bodies},
        coordinates=spec.mechanism.coordinates,
        gravity=[*spec.mechanism.gravity, 0.0][:3],
        period=spec.mechanism.period,
    )


def speed_of(motor: schema.DriverSpec) -> float:
    """The constant speed of a driver, rpm; of a slide, m/s times 60/2π."""
    if motor.speed_rpm is not None:
        return motor.speed_rpm
    return (motor.omega or motor.velocity or 0.0) / RPM


def _driver(
    name: str,
    motor: schema.DriverSpec,
    spec: ModelSpec,
    joint: assembly.Joint,
    places: Places,
    speed: float | None,
) -> assembly.Driver:
    law = _law(name, motor, speed, _start(motor, joint, places))
    if joint.kind != "prismatic" and motor.amplitude is None:
        value = speed_of(motor) if speed is None else speed
        check_speed(
            abs(value) * RPM * _arm(motor.joint, spec), f"driver.{name}.speed_rpm", value, "rpm"
        )
    with located(f"driver.{name}: "):
        return assembly.driver(
            motor.joint,
            law,
            held=motor.held,
            of=motor.of,
            stiffness=motor.stiffness,
            damping=motor.damping,
        )


def _law(name: str, motor: schema.DriverSpec, speed: float | None, start: float) -> assembly.Law:
    """The law of a driver: a constant rate, or harmonic. Raises ModelFileError."""
    rates = [key for key in ("speed_rpm", "omega", "velocity") if getattr(motor, key) is not None]
    amplitude, frequency = motor.amplitude, motor.angular_frequency
    if amplitude is None and frequency is None:
        if len(rates) != 1:
            got = " and ".join(rates) or "none"
            raise ModelFileError(
                f"driver.{name}: give speed_rpm, omega, or velocity of a slide (one of them), or "
                f"amplitude and angular_frequency; got {got}"
            )
        rate = (speed_of(motor) if speed is None else speed) * RPM
        return assembly.Uniform(rate, start, motor.acceleration)
    if amplitude is None or frequency is None or rates or motor.acceleration:
        raise ModelFileError(
            f"driver.{name}: a harmonic law has amplitude and angular_frequency, and no speed"
        )
    return assembly.Harmonic(amplitude, frequency, motor.phase, start)


def _start(motor: schema.DriverSpec, joint: assembly.Joint, places: Places) -> float:
    """The angle of a joint when the mechanism is assembled, rad; slides count from there."""
    if joint.kind == "prismatic" or motor.of == "displacement":
        return 0.0
    first, second = (places[body].rotation for body in joint.bodies)
    near, far = triads(joint)
    seen = near.T @ first.T @ second @ far[:, 0]
    return float(np.arctan2(seen[1], seen[0]))


def _arm(driven: str, spec: ModelSpec) -> float:
    """The distance (m) from a driven joint to the farthest joint of its bodies."""
    bodies = set(spec.joint[driven].bodies) - {"ground"}
    ends = [joint.at for joint in spec.joint.values() if bodies & set(joint.bodies)]
    return max(float(np.linalg.norm(np.subtract(end, spec.joint[driven].at))) for end in ends)


def _point(at: Any) -> Any:
    return tuple(at) if isinstance(at, list) else at


def _ends(tie: schema.Tie, places: Places, planar: bool) -> tuple[Any, Any, Any, Any]:
    """First body and its point, second body and its point, in the bodies' axes."""
    out: list[Any] = []
    for body, given in zip(tie.bodies, (tie.first_point, tie.second_point), strict=True):
        point = places[body].point(tie.at) if given is None else _point(given)
        out += [body, point[:2] if planar and given is None else point]
    return out[0], out[1], out[2], out[3]


def _turn(tie: schema.Tie, places: Places) -> tuple[float, tuple[float, ...]]:
    """Angle and axis by which the second body is rotated relative to the first."""
    first, second = (places[body].rotation for body in tie.bodies)
    vector = Rotation.from_matrix(first.T @ second).as_rotvec()
    angle = float(np.linalg.norm(vector))
    if angle < 1e-12:
        return 0.0, (0.0, 0.0, 1.0)
    return angle, tuple(float(v) for v in vector / angle)


def _bushing(
    name: str, bushing: schema.BushingSpec, places: Places, planar: bool
) -> assembly.Bushing:
    turned, axis = _turn(bushing, places)
    return assembly.bushing(
        *_ends(bushing, places, planar),
        stiffness=bushing.stiffness,
        damping=bushing.damping,
        preload=bushing.preload or (),
        turned=turned,
        axis=axis,
        name=name,
    )


def _joint(name: str, joint: schema.JointSpec, places: Places, planar: bool) -> assembly.Joint:
    ends = _ends(joint, places, planar)
    if isinstance(joint, schema.SphericalSpec):
        return assembly.spherical(*ends, name=name)
    if isinstance(joint, schema.FixedSpec):
        turned, around = _turn(joint, places)
        return assembly.fixed(*ends, name=name, turned=turned, axis=around)
    first, second = (places[body] for body in joint.bodies)
    if isinstance(joint, schema.UniversalSpec):
        axes = (first.direction(joint.axis), second.direction(joint.axis_second))
        return assembly.universal(*ends, axis=axes[0], axis_second=axes[1], name=name)
    if not np.any(joint.axis):
        raise ModelFileError(f"joint.{name}.axis: is zero")
    axes = (first.direction(joint.axis), second.direction(joint.axis))
    if planar and isinstance(joint, schema.RevoluteSpec):
        return assembly.revolute(*ends, name=name)
    make: dict[str, Any] = {
        "revolute": assembly.revolute,
        "prismatic": assembly.prismatic,
        "cylindrical": assembly.cylindrical,
    }
    result: assembly.Joint = make[joint.kind](*ends, axis=axes[0], axis_second=axes[1], name=name)
    if result.kind == "prismatic":
        near, far = triads(result)
        if np.abs(first.rotation @ near - second.rotation @ far).max() > 1e-9:
            raise InputError(
                f"joint {name}: a slide in space needs its two bodies in the same orientation, or "
                "rotated about an axis across the slide: give body.NAME.rotation"
            )
    return result
