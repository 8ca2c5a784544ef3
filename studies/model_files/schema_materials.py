"""Materials and cross-sections of a model file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

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


class RectangleSpec(Strict):
    """A full rectangle."""

    shape: Literal["rectangle"]
    """Kind of the section."""
    width: Length
    """Width along y, m."""
    height: Length
    """Height along z, m."""


class CircleSpec(Strict):
    """A full circle."""

    shape: Literal["circle"]
    """Kind of the section."""
    diameter: Length
    """Diameter, m."""


class TubeSpec(Strict):
    """A circular tube."""

    shape: Literal["tube"]
    """Kind of the section."""
    outer: Length
    """Outer diameter, m."""
    inner: Length
    """Inner diameter, m."""


class ProfileSpec(Strict):
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


class GeneralSpec(Strict):
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
