"""Bodies of a model file: their keys, and the bodies made from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

import assembly
from assembly.errors import InputError, ModelFileError
from assembly.materials.plausibility import located
from studies.model_files.attachments import InertiaOf, Placed, TurnOf, attached, rotation_of
from studies.model_files.materials import MaterialSpec, SectionSpec, material_of
from studies.model_files.quantities import (
    Angle,
    DampingStiffness,
    Elements,
    Length,
    Mass,
    Node,
    Place,
    Point,
    Point3,
    Position,
    Strict,
    Vector,
)

Theory = Literal["timoshenko", "euler-bernoulli"]
SectionMu = DampingStiffness | Annotated[list[DampingStiffness], Field(min_length=6, max_length=6)]
End = Literal["start", "end", "both"]
CellMaterials = Annotated[dict[str, str], Field(min_length=1)]


class Sectioned(Strict):
    """What bodies of one cross-section have."""

    section: SectionSpec
    """Cross-section."""
    material: str
    """Name of a material."""
    elements: Elements = 20
    """Number of elements."""


class Bending(Strict):
    """What bodies that bend have."""

    theory: Theory = "timoshenko"
    """With or without shear strain."""
    planar: bool = False
    """Bending in the x-y plane only."""
    rotary_inertia: bool = True
    """Whether the inertia of section rotations counts."""
    mu: SectionMu = 0.0
    """Damping of the sections in proportion to their stiffness, s: of stretch, shear along y and z,
    twist, bending about y and z; or one number for all."""
    wagner: bool = True
    """Whether an axial force stiffens the beam against twist."""


class Meshed(Strict):
    """What bodies of a mesh have."""

    mesh: str
    """File of the mesh: Gmsh, Abaqus, Nastran, VTK and what else meshio reads; m."""
    material: str | CellMaterials
    """Name of a material, or a name for each named set of cells."""
    clamped: str | list[Node] | None = None
    """Named set, or numbers of nodes, that do not move."""
    pinned: str | list[Node] | None = None
    """Named set, or numbers of nodes, about which the body may turn."""


class BeamSpec(Placed, Bending, Sectioned):
    """A straight beam along x of its frame."""

    kind: Literal["beam"]
    """Kind of the body."""
    length: Length
    """Length of the axis, m."""
    clamped: End | None = None
    """Clamped ends."""
    pinned: End | None = None
    """Pinned ends: ball joints in space, hinges about `pin_axis`."""
    pin_axis: Literal["x", "y", "z"] | None = None
    """Body axis of the hinges of pinned ends."""
    offset: Position = 0.0
    """Distance from the frame's origin to the root, m: the hub radius."""
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


class BarSpec(Placed, Sectioned):
    """A straight bar that moves along itself only."""

    kind: Literal["bar"]
    """Kind of the body."""
    length: Length
    """Length, m."""
    clamped: End | None = None
    """Clamped ends."""
    offset: Position = 0.0
    """Coordinate x of the start, m."""
    lumped: bool = False
    """Half of each element's mass at each of its nodes."""


class RingSpec(Placed, Bending, Sectioned):
    """A circular ring about z."""

    kind: Literal["ring"]
    """Kind of the body."""
    radius: Length
    """Radius of the section's centroid, m."""
    section: SectionSpec
    """Cross-section: width radial, height along the ring's axis."""
    elements: Annotated[int, Field(ge=3, le=100_000)] = 24
    """Number of elements."""
    planar: bool = False
    """In its plane only."""


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


class SolidSpec(Placed, Meshed):
    """A solid from a mesh file."""

    kind: Literal["solid"]
    """Kind of the body."""


class PlaneSpec(Placed, Meshed):
    """A plane body from a mesh file."""

    kind: Literal["plane"]
    """Kind of the body."""
    thickness: Length
    """Thickness, m."""
    state: Literal["stress", "strain"] = "stress"
    """Plane stress or plane strain."""


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


def build_body(
    name: str,
    bodies: Mapping[str, Any],
    materials: Mapping[str, MaterialSpec],
    folder: Path,
    planar: bool | None = None,
) -> assembly.Body:
    """The body of that name. Files are looked for beside the model file.

    planar overrides the file's key (bodies of a planar mechanism are planar, those of one in space
    are not). Raises ModelFileError naming the body when its values, each fine by itself, do not
    make a body.
    """
    body = bodies[name]
    with faults_named(f"body.{name}"):
        if isinstance(body, FrameSpec):
            parts = [
                build_body(member.body, bodies, materials, folder, planar).placed(
                    member.at, rotation_of(member.rotation)
                )
                for member in body.members
            ]
            built = assembly.weld(parts, clamped=body.clamped, name=name)
        else:
            substance = _substance(body, materials)
            with located(f"body.{name}."):
                built = _build(name, body, substance, folder, planar)
        return attached(built, body)


@contextmanager
def faults_named(place: str) -> Iterator[None]:
    """Puts a place of the model file before an InputError that names none."""
    try:
        yield
    except InputError as fault:
        named = isinstance(fault, ModelFileError)
        raise fault if named else ModelFileError(f"{place}: {fault}") from None


def _build(
    name: str, body: Any, substance: Any, folder: Path, planar: bool | None
) -> assembly.Body:
    """The body of a kind whose keys are the arguments of the function of its name, or of another
    one."""
    if isinstance(body, MatricesSpec):
        return replace(_of_matrices(body, folder), name=name)
    if isinstance(body, BladeSpec):
        of_table = ("table", "format", "hub_radius", "mu")
        values = body.arguments("kind", *Placed.model_fields, *of_table)
        return assembly.blade(blade_table(body, folder), name=name, **values)
    values = body.arguments("kind", *Placed.model_fields) | {"name": name}
    if isinstance(body, RigidSpec):
        if planar is None:
            raise InputError(
                'kind = "rigid" is for bodies of a mechanism: it has no vibration of its own'
            )
        values |= {"centre": [*body.centre, 0.0][:3], "planar": planar}
        return assembly.rigid_body(**values)
    values["material"] = substance
    if isinstance(body, Sectioned):
        values["section"] = body.section.section()
    if isinstance(body, Meshed):
        values["mesh"] = folder / body.mesh
    if isinstance(body, Bending) and planar is not None:
        values["planar"] = planar
    built: assembly.Body = getattr(assembly, body.kind)(**values)
    return built


def blade_table(body: BladeSpec, folder: Path) -> assembly.BladeTable:
    """The table of a blade, from its file, with the damping of the model file if that has one."""
    table = _table_of_file(body, folder)
    return table if body.mu is None else replace(table, mu=body.mu)


def _table_of_file(body: BladeSpec, folder: Path) -> assembly.BladeTable:
    if body.format == "elastodyn":
        if body.theory != "euler-bernoulli" or body.rotary_inertia or body.hub_radius:
            raise InputError(
                'format = "elastodyn": needs theory = "euler-bernoulli", rotary_inertia = false '
                "and no hub_radius (the table has it)"
            )
        return assembly.elastodyn_table(folder / body.table)
    read = assembly.beamdyn_table if body.format == "beamdyn" else assembly.beamdyn_blade
    return read(folder / body.table, hub_radius=body.hub_radius)


def _of_matrices(body: MatricesSpec, folder: Path) -> assembly.Body:
    """The body of files of another program; the keys that its format needs must be there."""
    readers: dict[str, tuple[Any, tuple[str, ...]]] = {
        "matrix-market": (assembly.from_matrix_market, ("mass", "stiffness", "dofs")),
        "calculix": (assembly.from_calculix, ("deck",)),
        "abaqus": (assembly.from_abaqus, ("deck", "stiffness", "mass")),
        "nastran": (assembly.from_nastran, ("op4", "deck")),
    }
    read, needed = readers[body.format]
    files = {key: getattr(body, key) for key in ("mass", "stiffness", "dofs", "deck", "op4")}
    for key, value in files.items():
        if (value is None) == (key in needed):
            what = "missing" if value is None else "not used"
            raise InputError(f'{key}: {what}; format = "{body.format}" takes {", ".join(needed)}')
    paths = [folder / files[key] for key in needed]
    options = {"clamped": body.clamped} if body.format == "matrix-market" else {}
    if body.clamped is not None and not options:
        raise InputError(f'clamped: clamp the model in the program of format = "{body.format}"')
    built: assembly.Body = read(*paths, **options)
    return built


def _substance(body: Any, materials: Mapping[str, MaterialSpec]) -> Any:
    """The material of a body, or of each of its sets of cells; None where it has no such key."""
    named = getattr(body, "material", None)
    if isinstance(named, dict):
        return {cells: material_of(one, materials, True) for cells, one in named.items()}
    meshed = isinstance(body, Meshed)
    return None if named is None else material_of(named, materials, orthotropic=meshed)
