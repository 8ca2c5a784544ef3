"""Joints, drivers, bushings and loads of a model file: their keys, and the parts made from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field
from scipy.spatial.transform import Rotation

import assembly
from assembly.errors import InputError, ModelFileError
from assembly.materials.plausibility import check_speed, located
from assembly.mechanisms.joint_rows import triads
from studies.model_files.motions import RPM
from studies.model_files.quantities import (
    Acceleration,
    Angle,
    DampingCoefficient,
    DampingMatrix,
    DampingRow,
    Direction,
    Force,
    Pair,
    Place,
    Point,
    Position,
    Rate,
    Rpm,
    SlideRate,
    Stiffness,
    StiffnessMatrix,
    StiffnessRow,
    Strict,
    Time,
)

Array = NDArray[np.float64]
Forces = Annotated[list[Force], Field(min_length=2, max_length=3)]


class Tie(Strict):
    """What joints and bushings have in common."""

    bodies: Pair
    """First and second body; "ground" is the fixed frame."""
    at: Point
    """Where it is when the mechanism is assembled, m: two coordinates in the plane, three in
    space."""
    first_point: Place | None = None
    """Point of the first body instead of `at`: a named set, a node number, or a point in body
    axes."""
    second_point: Place | None = None
    """Point of the second body instead of `at`."""


class RevoluteSpec(Tie):
    """A pin."""

    kind: Literal["revolute"]
    """Kind of the joint."""
    axis: Direction = [0.0, 0.0, 1.0]
    """Axis of rotation when the mechanism is assembled; z in the plane."""


class PrismaticSpec(Tie):
    """A slide; the axis is carried by the first body."""

    kind: Literal["prismatic"]
    """Kind of the joint."""
    axis: Direction = [1.0, 0.0]
    """Direction of sliding when the mechanism is assembled."""


class FixedSpec(Tie):
    """A weld."""

    kind: Literal["fixed"]
    """Kind of the joint."""


class CylindricalSpec(Tie):
    """A sleeve on a rod, in space."""

    kind: Literal["cylindrical"]
    """Kind of the joint."""
    axis: Direction
    """Axis of rotation and sliding when the mechanism is assembled."""


class SphericalSpec(Tie):
    """A ball joint, in space."""

    kind: Literal["spherical"]
    """Kind of the joint."""


class UniversalSpec(Tie):
    """A Cardan joint, in space."""

    kind: Literal["universal"]
    """Kind of the joint."""
    axis: Direction
    """Axis in the first body when the mechanism is assembled."""
    axis_second: Direction
    """Axis in the second body when the mechanism is assembled, perpendicular to `axis`."""


JointSpec = Annotated[
    RevoluteSpec | PrismaticSpec | FixedSpec | CylindricalSpec | SphericalSpec | UniversalSpec,
    Field(discriminator="kind"),
]


class DriverSpec(Strict):
    """Prescribes the motion of a joint: at a constant rate, or harmonic about where it is when the
    mechanism is assembled."""

    joint: str
    """Name of a revolute, prismatic or cylindrical joint."""
    speed_rpm: Rpm | None = None
    """Constant speed, rpm."""
    omega: Rate | None = None
    """Constant speed, rad/s, instead of `speed_rpm`."""
    velocity: SlideRate | None = None
    """Constant speed of a slide, m/s."""
    acceleration: Acceleration = 0.0
    """Acceleration, rad/s² or m/s²."""
    amplitude: Angle | Position | None = None
    """Amplitude of a harmonic law, rad or m, instead of a speed."""
    angular_frequency: Annotated[Rate, Field(gt=0.0)] | None = None
    """Angular frequency of a harmonic law, rad/s."""
    phase: Angle = 0.0
    """Phase of a harmonic law at t = 0, rad."""
    held: bool = True
    """Whether the driver also holds the elastic degree of freedom."""
    of: Literal["angle", "displacement"] | None = None
    """Which motion of a cylindrical joint."""
    stiffness: Stiffness | None = None
    """Of a spring between motor and joint, N·m/rad or N/m; 0 is a free hinge."""
    damping: DampingCoefficient = 0.0
    """Of a damper between the joint's two bodies, N·m·s/rad or N·s/m."""


class BushingSpec(Tie):
    """Springs and dampers in all directions between two bodies, in the axes of the first body."""

    stiffness: StiffnessRow | StiffnessMatrix
    """x, y, rotation, in space x, y, z and three rotations (N/m, N·m/rad); or a symmetric
    matrix."""
    damping: DampingRow | DampingMatrix | None = None
    """In the same form, N·s/m and N·m·s/rad."""
    preload: Annotated[list[Force], Field(min_length=3, max_length=6)] | None = None
    """Force and moment at zero deflection, N and N·m."""


class LoadSpec(Strict):
    """A force on a point of a body."""

    body: str
    """Name of the body."""
    at: Place
    """Named set, node number, or point in body axes, m."""
    force: Forces
    """Components, N: fixed axes, or body axes of a follower."""
    follower: bool = False
    """Whether the force rotates with the node."""


class MechanismSpec(Strict):
    """What concerns the whole mechanism."""

    gravity: Annotated[list[Acceleration], Field(min_length=2, max_length=3)] = [0.0, 0.0, 0.0]
    """Acceleration of gravity in fixed axes, m/s²."""
    period: Time | None = None
    """Period of the motion, s, where the drivers do not determine it."""
    coordinates: dict[str, str] = {}
    """For a joint, the body whose axes its displacements are in."""


@dataclass(frozen=True)
class BodyPlace:
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


Places = Mapping[str, BodyPlace]


def speed_of(motor: DriverSpec) -> float:
    """The constant speed of a driver, rpm; of a slide, m/s times 60/2π."""
    if motor.speed_rpm is not None:
        return motor.speed_rpm
    return (motor.omega or motor.velocity or 0.0) / RPM


def build_driver(
    name: str,
    motor: DriverSpec,
    joint: assembly.Joint,
    places: Places,
    arm: float,
    speed: float | None,
) -> assembly.Driver:
    """The driver of a joint; speed (rpm) overrides its own. arm: distance (m) from the joint to the
    farthest one that it moves. Raises ModelFileError."""
    law = _law(name, motor, speed, _start(motor, joint, places))
    if joint.kind != "prismatic" and motor.amplitude is None:
        value = speed_of(motor) if speed is None else speed
        check_speed(abs(value) * RPM * arm, f"driver.{name}.speed_rpm", value, "rpm")
    with located(f"driver.{name}: "):
        return assembly.driver(
            motor.joint,
            law,
            held=motor.held,
            of=motor.of,
            stiffness=motor.stiffness,
            damping=motor.damping,
        )


def _law(name: str, motor: DriverSpec, speed: float | None, start: float) -> assembly.Law:
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


def _start(motor: DriverSpec, joint: assembly.Joint, places: Places) -> float:
    """The angle of a joint when the mechanism is assembled, rad; slides count from there."""
    if joint.kind == "prismatic" or motor.of == "displacement":
        return 0.0
    first, second = (places[body].rotation for body in joint.bodies)
    near, far = triads(joint)
    seen = near.T @ first.T @ second @ far[:, 0]
    return float(np.arctan2(seen[1], seen[0]))


def point_of(at: Any) -> Any:
    """The place on a body as `assembly` takes it."""
    return tuple(at) if isinstance(at, list) else at


def _ends(tie: Tie, places: Places, planar: bool) -> tuple[Any, Any, Any, Any]:
    """First body and its point, second body and its point, in the bodies' axes."""
    out: list[Any] = []
    for body, given in zip(tie.bodies, (tie.first_point, tie.second_point), strict=True):
        point = places[body].point(tie.at) if given is None else point_of(given)
        out += [body, point[:2] if planar and given is None else point]
    return out[0], out[1], out[2], out[3]


def _turn(tie: Tie, places: Places) -> tuple[float, tuple[float, ...]]:
    """Angle and axis by which the second body is rotated relative to the first."""
    first, second = (places[body].rotation for body in tie.bodies)
    vector = Rotation.from_matrix(first.T @ second).as_rotvec()
    angle = float(np.linalg.norm(vector))
    if angle < 1e-12:
        return 0.0, (0.0, 0.0, 1.0)
    return angle, tuple(float(v) for v in vector / angle)


def build_bushing(
    name: str, bushing: BushingSpec, places: Places, planar: bool
) -> assembly.Bushing:
    """The bushing between two bodies at their places."""
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


def build_joint(name: str, joint: JointSpec, places: Places, planar: bool) -> assembly.Joint:
    """The joint between two bodies at their places. Raises InputError for axes that do not fit."""
    ends = _ends(joint, places, planar)
    first, second = (places[body] for body in joint.bodies)
    axes: dict[str, Any] = {}
    if isinstance(joint, FixedSpec):
        axes["turned"], axes["axis"] = _turn(joint, places)
    elif not isinstance(joint, SphericalSpec):
        if not np.any(joint.axis):
            raise ModelFileError(f"joint.{name}.axis: is zero")
        if not (planar and isinstance(joint, RevoluteSpec)):
            other = joint.axis_second if isinstance(joint, UniversalSpec) else joint.axis
            axes["axis"], axes["axis_second"] = first.direction(joint.axis), second.direction(other)
    result: assembly.Joint = getattr(assembly, joint.kind)(*ends, name=name, **axes)
    if result.kind == "prismatic":
        near, far = triads(result)
        if np.abs(first.rotation @ near - second.rotation @ far).max() > 1e-9:
            raise InputError(
                f"joint {name}: a slide in space needs its two bodies in the same orientation, or "
                "rotated about an axis across the slide: give body.NAME.rotation"
            )
    return result
