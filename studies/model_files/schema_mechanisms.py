"""Joints, drivers, bushings and loads of a model file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from studies.model_files.quantities import (
    Acceleration,
    Angle,
    DampingCoefficient,
    DampingEntry,
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
    StiffnessEntry,
    StiffnessRow,
    Strict,
    Time,
)

Forces = Annotated[list[Force], Field(min_length=2, max_length=3)]
StiffnessMatrix = list[Annotated[list[StiffnessEntry], Field(min_length=3, max_length=6)]]
DampingMatrix = list[Annotated[list[DampingEntry], Field(min_length=3, max_length=6)]]


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
