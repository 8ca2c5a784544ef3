"""Materials and cross-sections of a model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

import assembly
from assembly.errors import InputError, ModelFileError
from assembly.materials.plausibility import located
from studies.model_files.quantities import (
    Area,
    Density,
    Entry,
    Length,
    Modulus,
    SecondMoment,
    Strict,
    Vector,
)

BUILT_IN = ("steel", "aluminium", "titanium")

Poisson = Annotated[float, Field(gt=-1, lt=0.5)]
ThreeModuli = Annotated[list[Modulus], Field(min_length=3, max_length=3)]
Axes = Annotated[list[Vector], Field(min_length=3, max_length=3)]


class MaterialSpec(Strict):
    """Isotropic with single numbers, orthotropic with three.

    "steel", "aluminium" and "titanium" are known without a table.
    """

    E: Modulus | ThreeModuli
    """Young's modulus, Pa; three numbers E1, E2, E3 of an orthotropic material."""
    nu: Poisson | Vector
    """Poisson's ratio; three numbers ν12, ν13, ν23 of an orthotropic material."""
    rho: Density
    """Density, kg/m³."""
    G: ThreeModuli | None = None
    """Shear moduli G12, G13, G23 of an orthotropic material, Pa."""
    axes: Axes | None = None
    """Rows: the directions 1, 2, 3 of an orthotropic material in body axes."""


class ShapeSpec(Strict):
    """What all cross-sections have."""

    def section(self) -> assembly.Section:
        """The cross-section."""
        values = self.arguments()
        shape = values.pop("shape")
        make = assembly.Section if shape == "general" else getattr(assembly, shape)
        section: assembly.Section = make(**values)
        return section


class RectangleSpec(ShapeSpec):
    """A full rectangle."""

    shape: Literal["rectangle"]
    """Kind of the section."""
    width: Length
    """Width along y, m."""
    height: Length
    """Height along z, m."""


class CircleSpec(ShapeSpec):
    """A full circle."""

    shape: Literal["circle"]
    """Kind of the section."""
    diameter: Length
    """Diameter, m."""


class TubeSpec(ShapeSpec):
    """A circular tube."""

    shape: Literal["tube"]
    """Kind of the section."""
    outer: Length
    """Outer diameter, m."""
    inner: Length
    """Inner diameter, m."""


class ProfileSpec(ShapeSpec):
    """A doubly symmetric I: flanges along y, web along z."""

    shape: Literal["i_profile"]
    """Kind of the section."""
    width: Length
    """Width of the flanges, m."""
    height: Length
    """Whole height, m."""
    flange: Length
    """Thickness of the flanges, m."""
    web: Length
    """Thickness of the web, m."""


class GeneralSpec(ShapeSpec):
    """A section by its constants, about the centroid."""

    shape: Literal["general"]
    """Kind of the section."""
    A: Area
    """Area, m²."""
    Iy: SecondMoment
    """∫z² dA, m⁴."""
    Iz: SecondMoment
    """∫y² dA, m⁴."""
    J: SecondMoment
    """Torsion constant, m⁴."""
    Iyz: Entry = 0.0
    """∫yz dA, m⁴."""
    shear_y: Annotated[float, Field(gt=0.0, le=1e12)] = 1.0
    """Shear coefficient along y."""
    shear_z: Annotated[float, Field(gt=0.0, le=1e12)] = 1.0
    """Shear coefficient along z."""


SectionSpec = Annotated[
    RectangleSpec | CircleSpec | TubeSpec | ProfileSpec | GeneralSpec, Field(discriminator="shape")
]


def material_of(name: str, materials: Mapping[str, MaterialSpec], orthotropic: bool = False) -> Any:
    """A material of the file, or a built-in one. Raises InputError for an orthotropic material
    where only isotropic ones are possible."""
    if name not in materials:
        return getattr(assembly, name)
    chosen = materials[name]
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
