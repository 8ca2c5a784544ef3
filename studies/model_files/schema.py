"""The schema of a model file: its keys and the values they take."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from assembly import magnitudes


def _inside(magnitude: magnitudes.Magnitude) -> AfterValidator:
    """Checks that a number has a size that the formulas can represent."""

    def check(value: float) -> float:
        if not magnitude.accepts(value):
            raise PydanticCustomError("magnitude", "expected {it}", {"it": magnitude.expected})
        return value

    return AfterValidator(check)


Number = Annotated[float, Field(allow_inf_nan=False)]
Length = Annotated[float, _inside(magnitudes.LENGTH)]
Position = Annotated[float, _inside(magnitudes.POSITION)]
Rate = Annotated[float, _inside(magnitudes.RATE)]
Acceleration = Annotated[float, _inside(magnitudes.ACCELERATION)]
Point = Annotated[list[Position], Field(min_length=2, max_length=2)]
Entry = Annotated[float, _inside(magnitudes.ENTRY)]
Coefficient = Annotated[Entry, Field(ge=0.0)]
Vector = Annotated[list[Number], Field(min_length=3, max_length=3)]
Row = Annotated[list[Entry], Field(min_length=3, max_length=3)]
Matrix = Annotated[list[Row], Field(min_length=3, max_length=3)]


class Strict(BaseModel):
    """Unknown keys are errors, and so are values of another type (true or "1" for a number)."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class MaterialSpec(Strict):
    """[material.NAME]: E in Pa, rho in kg/m³."""

    E: Annotated[float, _inside(magnitudes.MODULUS)]
    nu: Annotated[float, Field(gt=-1, lt=0.5)]
    rho: Annotated[float, _inside(magnitudes.DENSITY)]


class RectangleSpec(Strict):
    """Width along y, height along z, m."""

    shape: Literal["rectangle"]
    width: Length
    height: Length


class CircleSpec(Strict):
    shape: Literal["circle"]
    diameter: Length


class TubeSpec(Strict):
    shape: Literal["tube"]
    outer: Length
    inner: Length


SectionSpec = Annotated[RectangleSpec | CircleSpec | TubeSpec, Field(discriminator="shape")]


class DampingSpec(Strict):
    """Internal Rayleigh damping D = a M + b K: a in 1/s, b in s."""

    a: Annotated[float, _inside(magnitudes.DAMPING_MASS)] = 0.0
    b: Annotated[float, _inside(magnitudes.DAMPING_STIFFNESS)] = 0.0


class BeamSpec(Strict):
    """A straight beam along x of its frame."""

    kind: Literal["beam"]
    length: Length
    section: SectionSpec
    material: str
    elements: Annotated[int, Field(ge=1, le=100_000)] = 20
    clamped: Literal["start", "end", "both"] | None = None
    pinned: Literal["start", "end"] | None = None
    offset: Position = 0.0
    theory: Literal["timoshenko", "euler-bernoulli"] = "timoshenko"
    planar: bool = False
    rotary_inertia: bool = True
    damping: DampingSpec = DampingSpec()


class SolidSpec(Strict):
    """A solid from a mesh file with named sets."""

    kind: Literal["solid"]
    mesh: str
    material: str
    clamped: str | None = None
    pinned: str | None = None
    damping: DampingSpec = DampingSpec()


class PlaneSpec(Strict):
    """A plane body from a mesh file; thickness in m."""

    kind: Literal["plane"]
    mesh: str
    material: str
    thickness: Length
    state: Literal["stress", "strain"] = "stress"
    clamped: str | None = None
    pinned: str | None = None
    damping: DampingSpec = DampingSpec()


class MatricesSpec(Strict):
    """M and K of another program in Matrix Market files, with a table of their degrees of freedom.

    dofs: rows "node, component, x, y, z". clamped: node numbers of that table.
    """

    kind: Literal["matrices"]
    mass: str
    stiffness: str
    dofs: str
    clamped: list[Annotated[int, Field(ge=0, le=2**53)]] | None = None
    damping: DampingSpec = DampingSpec()


class RigidSpec(Strict):
    """A rigid body of a mechanism: mass in kg, inertia about its centre in kg m²."""

    kind: Literal["rigid"]
    mass: Annotated[float, _inside(magnitudes.MASS)]
    inertia: Annotated[float, _inside(magnitudes.INERTIA)] = 0.0


BodySpec = Annotated[
    BeamSpec | SolidSpec | PlaneSpec | MatricesSpec | RigidSpec, Field(discriminator="kind")
]


class SpinSpec(Strict):
    """Constant spin; with epsilon, the instant frozen is that of omega and epsilon."""

    kind: Literal["spin"]
    axis: Vector = [0.0, 0.0, 1.0]
    omega: Rate = 0.0
    epsilon: Acceleration = 0.0


class RampSpec(Strict):
    """ω(t) = omega + epsilon t along the axis."""

    kind: Literal["ramp"]
    axis: Vector = [0.0, 0.0, 1.0]
    omega: Rate = 0.0
    epsilon: Acceleration


class SampledSpec(Strict):
    """Positions and quaternions over time: a CSV with t, x, y, z, qx, qy, qz, qw."""

    kind: Literal["sampled"]
    file: str


class MarkersSpec(Strict):
    """Marker records over time: a CSV with t and x, y, z of each marker; reference positions."""

    kind: Literal["markers"]
    file: str
    reference: str


MotionSpec = Annotated[SpinSpec | RampSpec | SampledSpec | MarkersSpec, Field(discriminator="kind")]


class RevoluteSpec(Strict):
    """A pin; `at` is where it is when the mechanism is assembled, m."""

    kind: Literal["revolute"]
    bodies: Annotated[list[str], Field(min_length=2, max_length=2)]
    at: Point


class PrismaticSpec(Strict):
    """A slide along `axis` through `at`; the axis is carried by the first body."""

    kind: Literal["prismatic"]
    bodies: Annotated[list[str], Field(min_length=2, max_length=2)]
    at: Point
    axis: Annotated[list[Number], Field(min_length=2, max_length=2)] = [1.0, 0.0]


JointSpec = Annotated[RevoluteSpec | PrismaticSpec, Field(discriminator="kind")]


class DriverSpec(Strict):
    """Prescribes the motion of a joint; held = false leaves the elastic degree of freedom free.

    stiffness (N·m/rad or N/m): of a spring between motor and joint, 0 of a free hinge; damping:
    between the joint's two bodies.
    """

    joint: str
    speed_rpm: Annotated[float, _inside(magnitudes.SPEED_RPM)]
    held: bool = True
    stiffness: Coefficient | None = None
    damping: Coefficient = 0.0


class BushingSpec(Strict):
    """Springs and dampers between two bodies at `at`, m, when the mechanism is assembled.

    stiffness, damping: x, y (N/m) and rotation (N·m/rad), or a symmetric matrix of these, in the
    axes of the first body. preload: force and moment at zero deflection.
    """

    bodies: Annotated[list[str], Field(min_length=2, max_length=2)]
    at: Point
    stiffness: Row | Matrix
    damping: Row | Matrix = [0.0, 0.0, 0.0]
    preload: Row = [0.0, 0.0, 0.0]


class AnalysisSpec(Strict):
    """How to analyse."""

    modes: Annotated[int, Field(ge=1)] = 6
    prestress: Literal["linear", "nonlinear", "none"] = "linear"
    transport: bool = True

    @property
    def prestress_argument(self) -> Literal["linear", "nonlinear"] | None:
        """The value the library's `prestress` argument takes."""
        return None if self.prestress == "none" else self.prestress


class ModelSpec(Strict):
    """A whole model file: one body with a motion, or a mechanism."""

    material: dict[str, MaterialSpec] = {}
    body: Annotated[dict[str, BodySpec], Field(min_length=1)]
    motion: MotionSpec | None = None
    joint: dict[str, JointSpec] = {}
    driver: dict[str, DriverSpec] = {}
    bushing: dict[str, BushingSpec] = {}
    analysis: AnalysisSpec = AnalysisSpec()

    @property
    def is_mechanism(self) -> bool:
        """Whether joints or bushings connect the bodies."""
        return bool(self.joint or self.bushing)
