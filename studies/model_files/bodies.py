"""From the checked specification of a body to the body itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import assembly
from assembly.errors import InputError, ModelFileError
from assembly.materials.plausibility import located
from studies.model_files.schema import (
    BeamSpec,
    DampingSpec,
    MatricesSpec,
    ModelSpec,
    PlaneSpec,
    SectionSpec,
    SolidSpec,
)


def build_body(name: str, spec: ModelSpec, folder: Path, planar: bool | None = None) -> Any:
    """The body of that name. Files are looked for beside the model file.

    planar overrides the file's key (planar mechanisms need planar beams). Raises ModelFileError
    naming the body when its values, each fine by itself, do not make a body.
    """
    body = spec.body[name]
    material = getattr(body, "material", None)
    substance = None if material is None else _material(material, spec)
    try:
        with located(f"body.{name}."):
            built = _build(name, body, substance, folder, planar)
    except InputError as fault:
        raise ModelFileError(f"body.{name}: {fault}") from None
    damping = getattr(body, "damping", DampingSpec())
    return built.with_damping(damping.a, damping.b) if damping.a or damping.b else built


def _build(name: str, body: Any, material: Any, folder: Path, planar: bool | None) -> Any:
    if isinstance(body, BeamSpec):
        return assembly.beam(
            length=body.length,
            section=_section(body.section),
            material=material,
            elements=body.elements,
            clamped=body.clamped,
            pinned=body.pinned,
            offset=body.offset,
            theory=body.theory,
            planar=body.planar if planar is None else planar,
            rotary_inertia=body.rotary_inertia,
            name=name,
        )
    if isinstance(body, SolidSpec):
        return assembly.solid(
            folder / body.mesh,
            material,
            clamped=body.clamped,
            pinned=body.pinned,
        )
    if isinstance(body, PlaneSpec):
        return assembly.plane(
            folder / body.mesh,
            material,
            thickness=body.thickness,
            state=body.state,
            clamped=body.clamped,
            pinned=body.pinned,
        )
    if isinstance(body, MatricesSpec):
        files = (folder / body.mass, folder / body.stiffness, folder / body.dofs)
        return assembly.from_matrix_market(*files, clamped=body.clamped)
    raise InputError('kind = "rigid" is for bodies of a mechanism: it has no vibration of its own')


def _material(name: str, spec: ModelSpec) -> assembly.Material:
    chosen = spec.material[name]
    with located(f"material.{name}."):
        return assembly.Material(E=chosen.E, nu=chosen.nu, rho=chosen.rho, name=name)


def _section(section: SectionSpec) -> assembly.Section:
    if section.shape == "rectangle":
        return assembly.rectangle(section.width, section.height)
    if section.shape == "circle":
        return assembly.circle(section.diameter)
    return assembly.tube(section.outer, section.inner)
