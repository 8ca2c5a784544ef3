"""Bodies of a model file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from studies.model_files.quantities import (
    Angle,
    DampingEntry,
    DampingMass,
    DampingStiffness,
    InertiaEntry,
    Length,
    Mass,
    Node,
    Place,
    Point,
    Point3,
    Position,
    StiffnessEntry,
    Strict,
    Vector,
)
from studies.model_files.schema_materials import SectionSpec
from studies.model_files.schema_rotors import RotorSpec

Elements = Annotated[int, Field(ge=1, le=100_000)]
Theory = Literal["timoshenko", "euler-bernoulli"]
SectionMu = DampingStiffness | Annotated[list[DampingStiffness], Field(min_length=6, max_length=6)]
End = Literal["start", "end", "both"]
Tensor = Annotated[
    list[Annotated[list[InertiaEntry], Field(min_length=3, max_length=3)]],
    Field(min_length=3, max_length=3),
]
Principal = Annotated[list[InertiaEntry], Field(min_length=3, max_length=3)]
InertiaOf = InertiaEntry | Principal | Tensor
StiffnessSquare = list[Annotated[list[StiffnessEntry], Field(min_length=3, max_length=6)]]
DampingSquare = list[Annotated[list[DampingEntry], Field(min_length=3, max_length=6)]]
CellMaterials = Annotated[dict[str, str], Field(min_length=1)]
TurnOf = Angle | Annotated[list[Angle], Field(min_length=3, max_length=3)]


class DampingSpec(Strict):
    """Internal Rayleigh damping D = a M + b K."""

    a: DampingMass = 0.0
    """Mass coefficient, 1/s."""
    b: DampingStiffness = 0.0
    """Stiffness coefficient, s."""


class AttachedMassSpec(Strict):
    """A rigid mass at a node."""

    at: str | Node
    """Node number, or the name of a set of one node."""
    mass: Mass
    """Mass, kg."""
    inertia: InertiaOf = 0.0
    """Inertia about the mass's own centre, kg m²: a number, three principal values or a tensor."""
    offset: Point3 = [0.0, 0.0, 0.0]
    """Position of that centre from the node, m."""


class AttachedSpringSpec(Strict):
    """A spring and a damper in parallel between two nodes, or a node and the body's frame."""

    at: str | Node
    """Node number, or the name of a set of one node."""
    to: str | Node | None = None
    """The second node; without it a point fixed in the body's frame."""
    stiffness: StiffnessEntry | StiffnessSquare = 0.0
    """A number, N/m, or a 3×3 or 6×6 matrix."""
    damping: DampingEntry | DampingSquare = 0.0
    """A number, N·s/m, or a 3×3 or 6×6 matrix."""


class AttachedDamperSpec(Strict):
    """A damper between a node and the fixed surroundings."""

    at: str | Node
    """Node number, or the name of a set of one node."""
    damping: DampingEntry | DampingSquare
    """A number, N·s/m, or a 3×3 matrix in body axes."""


class Placed(Strict):
    """What all bodies have."""

    position: Point | None = None
    """Where the body's origin is when a mechanism is assembled, m; by default its first joint."""
    rotation: TurnOf | None = None
    """Rotation of the body when a mechanism is assembled: angle (rad), in space a rotation vector;
    by default its x axis points to its second joint."""
    mass_at: list[AttachedMassSpec] = []
    """Rigid masses at nodes."""
    spring: list[AttachedSpringSpec] = []
    """Springs and dampers inside the body."""
    damper: list[AttachedDamperSpec] = []
    """Dampers to the fixed surroundings."""
    damping: DampingSpec = DampingSpec()
    """Internal damping."""


class BeamSpec(Placed):
    """A straight beam along x of its frame."""

    kind: Literal["beam"]
    """Kind of the body."""
    length: Length
    """Length of the axis, m."""
    section: SectionSpec
    """Cross-section."""
    material: str
    """Name of a material."""
    elements: Elements = 20
    """Number of elements."""
    clamped: End | None = None
    """Clamped ends."""
    pinned: End | None = None
    """Pinned ends: ball joints in space, hinges about `pin_axis`."""
    pin_axis: Literal["x", "y", "z"] | None = None
    """Body axis of the hinges of pinned ends."""
    offset: Position = 0.0
    """Distance from the frame's origin to the root, m: the hub radius."""
    theory: Theory = "timoshenko"
    """With or without shear strain."""
    planar: bool = False
    """Bending in the x-y plane only."""
    rotary_inertia: bool = True
    """Whether the inertia of section rotations counts."""
    start: Point3 = [0.0, 0.0, 0.0]
    """Point from which the axis is laid out, m."""
    direction: Vector = [1.0, 0.0, 0.0]
    """Direction of the axis."""
    section_y: Vector = [0.0, 1.0, 0.0]
    """The section's y axis is the part of this vector normal to the axis."""
    pitch: Angle | Annotated[list[Angle], Field(min_length=2, max_length=2)] = 0.0
    """Angle of the section about the axis, rad; two angles are those of root and tip."""
    end_offsets: Annotated[list[Point3], Field(min_length=2, max_length=2)] | None = None
    """Rigid arms, m: first node to the start of the axis, last node to its end."""
    mu: SectionMu = 0.0
    """Damping of the sections in proportion to their stiffness, s: of stretch, shear along y and z,
    twist, bending about y and z; or one number for all."""
    wagner: bool = True
    """Whether an axial force stiffens the beam against twist."""


class BarSpec(Placed):
    """A straight bar that moves along itself only."""

    kind: Literal["bar"]
    """Kind of the body."""
    length: Length
    """Length, m."""
    section: SectionSpec
    """Cross-section."""
    material: str
    """Name of a material."""
    elements: Elements = 20
    """Number of elements."""
    clamped: End | None = None
    """Clamped ends."""
    offset: Position = 0.0
    """Coordinate x of the start, m."""
    lumped: bool = False
    """Half of each element's mass at each of its nodes."""


class RingSpec(Placed):
    """A circular ring about z."""

    kind: Literal["ring"]
    """Kind of the body."""
    radius: Length
    """Radius of the section's centroid, m."""
    section: SectionSpec
    """Cross-section: width radial, height along the ring's axis."""
    material: str
    """Name of a material."""
    elements: Annotated[int, Field(ge=3, le=100_000)] = 24
    """Number of elements."""
    theory: Theory = "timoshenko"
    """With or without shear strain."""
    planar: bool = False
    """In its plane only."""
    rotary_inertia: bool = True
    """Whether the inertia of section rotations counts."""
    mu: SectionMu = 0.0
    """Damping of the sections in proportion to their stiffness, s: of stretch, shear along y and z,
    twist, bending about y and z; or one number for all."""
    wagner: bool = True
    """Whether an axial force stiffens the beam against twist."""


class BladeSpec(Placed):
    """A blade from a table of sections: a file of BeamDyn or ElastoDyn."""

    kind: Literal["blade"]
    """Kind of the body."""
    table: str
    """File: CSV with columns z, twist, K11…K66, M11…M66 ("beamdyn"), or r_from_hub_center,
    StrcTwst, BMassDen, FlpStff, EdgStff ("elastodyn"); BeamDyn's primary input file
    ("beamdyn-input")."""
    format: Literal["beamdyn", "elastodyn", "beamdyn-input"] = "beamdyn"
    """What the table is."""
    hub_radius: Position = 0.0
    """Distance of the blade's root from the rotor axis, m; not of "elastodyn"."""
    refine: Annotated[int, Field(ge=1, le=10_000)] = 1
    """Elements between two stations."""
    clamped: End | None = None
    """Clamped ends."""
    pinned: End | None = None
    """Pinned ends: ball joints."""
    theory: Theory = "timoshenko"
    """With or without shear strain; "elastodyn" needs "euler-bernoulli"."""
    rotary_inertia: bool = True
    """Whether the inertia of section rotations counts; false for "elastodyn"."""
    mu: SectionMu | None = None
    """Damping of the sections in proportion to their stiffness, s: of stretch, shear along y and z,
    twist, bending about y and z; or one number for all. By
    default mu1 … mu6 of "beamdyn-input", otherwise none."""
    wagner: bool = True
    """Whether an axial force stiffens the beam against twist."""


class SolidSpec(Placed):
    """A solid from a mesh file."""

    kind: Literal["solid"]
    """Kind of the body."""
    mesh: str
    """File of the mesh: Gmsh, Abaqus, Nastran, VTK and what else meshio reads; m."""
    material: str | CellMaterials
    """Name of a material, or a name for each named set of cells."""
    clamped: str | list[Node] | None = None
    """Named set, or numbers of nodes, that do not move."""
    pinned: str | list[Node] | None = None
    """Named set, or numbers of nodes, about which the body may turn."""


class PlaneSpec(Placed):
    """A plane body from a mesh file."""

    kind: Literal["plane"]
    """Kind of the body."""
    mesh: str
    """File of the mesh, m."""
    material: str | CellMaterials
    """Name of a material, or a name for each named set of cells."""
    thickness: Length
    """Thickness, m."""
    state: Literal["stress", "strain"] = "stress"
    """Plane stress or plane strain."""
    clamped: str | list[Node] | None = None
    """Named set, or numbers of nodes, that do not move."""
    pinned: str | list[Node] | None = None
    """Named set, or number of the node, about which the body may turn."""


class MatricesSpec(Placed):
    """M and K of another program."""

    kind: Literal["matrices"]
    """Kind of the body."""
    format: Literal["matrix-market", "calculix", "abaqus", "nastran"] = "matrix-market"
    """Which program wrote the files."""
    mass: str | None = None
    """File of M (matrix-market, abaqus)."""
    stiffness: str | None = None
    """File of K (matrix-market, abaqus)."""
    dofs: str | None = None
    """Rows "node, component, x, y, z" (matrix-market)."""
    deck: str | None = None
    """Input deck with the nodes (calculix, abaqus, nastran)."""
    op4: str | None = None
    """File of the matrices (nastran)."""
    clamped: list[Node] | None = None
    """Node numbers of the table (matrix-market)."""


class RigidSpec(Placed):
    """A rigid body of a mechanism."""

    kind: Literal["rigid"]
    """Kind of the body."""
    mass: Mass
    """Mass, kg."""
    inertia: InertiaOf = 0.0
    """Inertia about the centre of mass, kg m²: a number, three principal values or a tensor."""
    centre: Point = [0.0, 0.0]
    """Centre of mass in body axes, m."""


class MemberSpec(Strict):
    """A member of a frame."""

    body: str
    """Name of a body of the file, without supports; it may be a member several times."""
    at: Point = [0.0, 0.0]
    """Where its origin goes, m."""
    rotation: TurnOf = 0.0
    """Its rotation: an angle about z (rad), or a rotation vector."""


class FrameSpec(Placed):
    """Members that are welded where their nodes coincide."""

    kind: Literal["frame"]
    """Kind of the body."""
    members: Annotated[list[MemberSpec], Field(min_length=1)]
    """The members in the axes of the frame."""
    clamped: str | Node | list[Place] | None = None
    """Sets ("member.start"), node numbers or points that do not move."""


BodySpec = Annotated[
    BeamSpec
    | BarSpec
    | RingSpec
    | BladeSpec
    | SolidSpec
    | PlaneSpec
    | MatricesSpec
    | RigidSpec
    | FrameSpec
    | RotorSpec,
    Field(discriminator="kind"),
]
