"""Rotors of a model file: a stepped shaft with discs and bearings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from studies.model_files.quantities import (
    Angle,
    DampingEntry,
    DampingStiffness,
    Force,
    Inertia,
    Length,
    Mass,
    Position,
    Rpm,
    StiffnessEntry,
    Strict,
)
from studies.model_files.schema_materials import SectionSpec

Two = Field(min_length=2, max_length=2)
StiffnessPair = Annotated[list[StiffnessEntry], Two]
DampingPair = Annotated[list[DampingEntry], Two]
StiffnessMatrix = Annotated[list[StiffnessPair], Two]
DampingMatrix = Annotated[list[DampingPair], Two]
StiffnessAt = StiffnessEntry | StiffnessPair | StiffnessMatrix
DampingAt = DampingEntry | DampingPair | DampingMatrix


class SegmentSpec(Strict):
    """A piece of the shaft."""

    length: Length
    """Length, m."""
    section: SectionSpec
    """Axisymmetric cross-section: circle or tube."""


class DiscSpec(Strict):
    """A rigid disc: its mass and inertia, or its size."""

    at: Position
    """Position on the shaft, m."""
    mass: Mass | None = None
    """Mass, kg."""
    polar: Inertia | None = None
    """Moment of inertia about the shaft, kg m²."""
    diametral: Inertia | None = None
    """Moment of inertia across the shaft, kg m²."""
    outer: Length | None = None
    """Outer diameter, m, instead of mass and inertia."""
    inner: Position = 0.0
    """Inner diameter, m, with `outer`."""
    width: Length | None = None
    """Thickness along the shaft, m, with `outer`."""
    material: str | None = None
    """Material with `outer`; by default that of the shaft."""
    skew: Angle = 0.0
    """Small angle between the axes of disc and shaft, rad."""
    skew_angle: Angle = 0.0
    """Angle from y in which the disc's axis leans, rad."""


class BearingSpec(Strict):
    """A bearing that acts on the displacements (y, z)."""

    at: Position
    """Position on the shaft, m."""
    stiffness: StiffnessAt | list[StiffnessAt] | Literal["rigid"] | None = None
    """N/m: a number, two numbers (y, z), a 2×2 matrix, or "rigid"; with `speeds_rpm` a list of one
    of these for each speed."""
    damping: DampingAt | list[DampingAt] = 0.0
    """N·s/m, in the same form."""
    speeds_rpm: Annotated[list[Rpm], Field(min_length=2)] | None = None
    """Speeds of the table, rpm; between them the coefficients are monotone cubic."""
    file: str | None = None
    """CSV file with columns speed_rpm, kyy, kyz, kzy, kzz, cyy, cyz, czy, czz, instead of
    `stiffness` and `damping`."""


class RotorSpec(Strict):
    """A shaft along x with discs and bearings, in a frame that does not spin."""

    kind: Literal["rotor"]
    """Kind of the body."""
    material: str
    """Name of the shaft's material."""
    elements: Annotated[int, Field(ge=1, le=100_000)] = 20
    """Number of elements of the whole shaft."""
    segment: Annotated[list[SegmentSpec], Field(min_length=1)]
    """Pieces of the shaft from left to right."""
    disc: list[DiscSpec] = []
    """Discs."""
    bearing: list[BearingSpec] = []
    """Bearings."""
    theory: Literal["timoshenko", "euler-bernoulli"] = "timoshenko"
    """With or without shear strain."""
    rotary_inertia: bool = True
    """Whether the inertia of section rotations counts."""
    internal_damping: DampingStiffness = 0.0
    """Coefficient b of the damping b K that rotates with the shaft, s."""
    axial_load: Force = 0.0
    """Tension of the shaft, N; negative for a thrust."""
    drive_at: Position = 0.0
    """Position where the accelerating torque enters, m."""
    lateral: bool = True
    """Bending only; false adds extension and torsion."""
