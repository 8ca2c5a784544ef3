"""From the checked specification of a body to the body itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import assembly
from assembly.errors import InputError, ModelFileError
from assembly.materials.plausibility import located
from studies.model_files import schema_bodies as bodies
from studies.model_files import schema_materials as materials
from studies.model_files.schema import ModelSpec
from studies.model_files.schema_rotors import RotorSpec


def build_body(name: str, spec: ModelSpec, folder: Path, planar: bool | None = None) -> Any:
    """The body of that name. Files are looked for beside the model file.

    planar overrides the file's key (bodies of a planar mechanism are planar, those of one in space
    are not). Raises ModelFileError naming the body when its values, each fine by itself, do not
    make a body.
    """
    body = spec.body[name]
    with faults_named(f"body.{name}"):
        if isinstance(body, bodies.FrameSpec):
            parts = [
                build_body(member.body, spec, folder, planar).placed(
                    member.at, rotation_of(member.rotation)
                )
                for member in body.members
            ]
            built = assembly.weld(parts, clamped=body.clamped, name=name)
        else:
            substance = _substance(body, spec)
            with located(f"body.{name}."):
                built = _build(name, body, substance, folder, planar)
        return _with_attachments(built, body)


@contextmanager
def faults_named(place: str) -> Iterator[None]:
    """Puts a place of the model file before an InputError that names none."""
    try:
        yield
    except InputError as fault:
        named = isinstance(fault, ModelFileError)
        raise fault if named else ModelFileError(f"{place}: {fault}") from None


def _build(name: str, body: Any, substance: Any, folder: Path, planar: bool | None) -> Any:
    if isinstance(body, bodies.BeamSpec | bodies.RingSpec | bodies.BarSpec):
        return _of_a_section(name, body, substance, planar)
    if isinstance(body, bodies.BladeSpec):
        return assembly.blade(
            blade_table(body, folder),
            refine=body.refine,
            clamped=body.clamped,
            pinned=body.pinned,
            theory=body.theory,
            rotary_inertia=body.rotary_inertia,
            wagner=body.wagner,
            name=name,
        )
    if isinstance(body, bodies.SolidSpec | bodies.PlaneSpec):
        given: dict[str, Any] = dict(clamped=body.clamped, pinned=body.pinned, name=name)
        if isinstance(body, bodies.SolidSpec):
            return assembly.solid(folder / body.mesh, substance, **given)
        given |= dict(thickness=body.thickness, state=body.state)
        return assembly.plane(folder / body.mesh, substance, **given)
    if isinstance(body, bodies.MatricesSpec):
        return _of_matrices(body, folder)
    assert isinstance(body, bodies.RigidSpec)
    if planar is None:
        raise InputError(
            'kind = "rigid" is for bodies of a mechanism: it has no vibration of its own'
        )
    centre = [*body.centre, 0.0][:3]
    return assembly.rigid_body(body.mass, body.inertia, centre=centre, planar=planar, name=name)


def _of_a_section(name: str, body: Any, material: Any, planar: bool | None) -> assembly.Body:
    """Beams, bars and rings."""
    size = body.radius if isinstance(body, bodies.RingSpec) else body.length
    parts = (size, section_of(body.section), material, body.elements)
    if isinstance(body, bodies.BarSpec):
        return assembly.bar(
            *parts, clamped=body.clamped, offset=body.offset, lumped=body.lumped, name=name
        )
    shared: dict[str, Any] = dict(
        theory=body.theory,
        planar=body.planar if planar is None else planar,
        rotary_inertia=body.rotary_inertia,
        mu=body.mu,
        wagner=body.wagner,
        name=name,
    )
    if isinstance(body, bodies.RingSpec):
        return assembly.ring(*parts, **shared)
    arms = body.end_offsets
    return assembly.beam(
        *parts,
        clamped=body.clamped,
        pinned=body.pinned,
        pin_axis=body.pin_axis,
        offset=body.offset,
        start=body.start,
        direction=body.direction,
        section_y=body.section_y,
        pitch=body.pitch if isinstance(body.pitch, float) else (body.pitch[0], body.pitch[1]),
        end_offsets=None if arms is None else (arms[0], arms[1]),
        **shared,
    )


def blade_table(body: bodies.BladeSpec, folder: Path) -> assembly.BladeTable:
    """The table of a blade, from its file, with the damping of the model file if that has one."""
    table = _table_of_file(body, folder)
    return table if body.mu is None else replace(table, mu=body.mu)


def _table_of_file(body: bodies.BladeSpec, folder: Path) -> assembly.BladeTable:
    if body.format == "elastodyn":
        if body.theory != "euler-bernoulli" or body.rotary_inertia or body.hub_radius:
            raise InputError(
                'format = "elastodyn": needs theory = "euler-bernoulli", rotary_inertia = false '
                "and no hub_radius (the table has it)"
            )
        return assembly.elastodyn_table(folder / body.table)
    read = assembly.beamdyn_table if body.format == "beamdyn" else assembly.beamdyn_blade
    return read(folder / body.table, hub_radius=body.hub_radius)


def _of_matrices(body: bodies.MatricesSpec, folder: Path) -> assembly.Body:
    """The body of files of another program; the keys that its format needs must be there."""
    needed = {
        "matrix-market": ("mass", "stiffness", "dofs"),
        "calculix": ("deck",),
        "abaqus": ("deck", "stiffness", "mass"),
        "nastran": ("op4", "deck"),
    }[body.format]
    files = {key: getattr(body, key) for key in ("mass", "stiffness", "dofs", "deck", "op4")}
    for key, value in files.items():
        if (value is None) == (key in needed):
            what = "missing" if value is None else "not used"
            raise InputError(f'{key}: {what}; format = "{body.format}" takes {", ".join(needed)}')
    if body.clamped is not None and body.format != "matrix-market":
        raise InputError(f'clamped: clamp the model in the program of format = "{body.format}"')
    paths = [folder / files[key] for key in needed]
    if body.format == "matrix-market":
        mass, stiffness, dofs = paths
        return assembly.from_matrix_market(mass, stiffness, dofs, body.clamped)
    read: dict[str, Any] = {
        "calculix": assembly.from_calculix,
        "abaqus": assembly.from_abaqus,
        "nastran": assembly.from_nastran,
    }
    built: assembly.Body = read[body.format](*paths)
    return built


def _with_attachments(built: assembly.Body, body: bodies.Placed | RotorSpec) -> assembly.Body:
    if isinstance(body, RotorSpec):
        return built
    for mass in body.mass_at:
        built = assembly.attach_mass(built, mass.at, mass.mass, mass.inertia, mass.offset)
    for spring in body.spring:
        built = assembly.attach_spring(
            built, spring.at, spring.to, stiffness=spring.stiffness, damping=spring.damping
        )
    for damper in body.damper:
        built = assembly.attach_damper(built, damper.at, damper.damping)
    a, b = body.damping.a, body.damping.b
    return built.with_damping(a, b) if a or b else built


def rotation_of(turn: bodies.TurnOf) -> Any:
    """A rotation (3, 3) from a rotation vector; an angle about z stays one."""
    if isinstance(turn, float | int):
        return float(turn)
    return Rotation.from_rotvec(np.asarray(turn)).as_matrix()


def _substance(body: bodies.BodySpec, spec: ModelSpec) -> Any:
    """The material of a body, or of each of its sets of cells; None where it has no such key."""
    named = getattr(body, "material", None)
    if isinstance(named, dict):
        return {cells: material_of(name, spec, orthotropic=True) for cells, name in named.items()}
    meshed = isinstance(body, bodies.SolidSpec | bodies.PlaneSpec)
    return None if named is None else material_of(named, spec, orthotropic=meshed)


def material_of(name: str, spec: ModelSpec, orthotropic: bool = False) -> Any:
    """A material of the file, or a built-in one. Raises InputError for an orthotropic material
    where only isotropic ones are possible."""
    if name not in spec.material:
        return getattr(assembly, name)
    chosen: materials.MaterialSpec = spec.material[name]
    E, nu, G = chosen.E, chosen.nu, chosen.G
    with located(f"material.{name}."):
        if isinstance(E, float) and isinstance(nu, float):
            if G is not None or chosen.axes is not None:
                raise ModelFileError(
                    f"material.{name}: G and axes are of an orthotropic material; give E and nu "
                    "as three numbers"
                )
            return assembly.Material(E=E, nu=nu, rho=chosen.rho, name=name)
        if isinstance(E, float) or isinstance(nu, float) or G is None:
            raise ModelFileError(
                f"material.{name}: an orthotropic material needs three numbers E, nu and G"
            )
        if not orthotropic:
            raise InputError(f"material = {name!r}: is orthotropic; sections are isotropic")
        return assembly.Orthotropic(
            E=(E[0], E[1], E[2]),
            nu=(nu[0], nu[1], nu[2]),
            G=(G[0], G[1], G[2]),
            rho=chosen.rho,
            axes=tuple(tuple(row) for row in chosen.axes or np.eye(3).tolist()),
            name=name,
        )


def section_of(section: materials.SectionSpec) -> assembly.Section:
    """The cross-section."""
    if section.shape == "rectangle":
        return assembly.rectangle(section.width, section.height)
    if section.shape == "circle":
        return assembly.circle(section.diameter)
    if section.shape == "tube":
        return assembly.tube(section.outer, section.inner)
    if section.shape == "i_profile":
        return assembly.i_profile(section.width, section.height, section.flange, section.web)
    constants = {key: getattr(section, key) for key in type(section).model_fields if key != "shape"}
    return assembly.Section(**constants)
