"""Rotors of a model file: a stepped shaft with discs and bearings, and the rotor made from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

import assembly
from assembly.bodies.blade_files import column, read_columns
from assembly.errors import InputError, ModelFileError
from assembly.materials.plausibility import located
from studies.model_files.bodies import faults_named
from studies.model_files.materials import MaterialSpec, SectionSpec, material_of
from studies.model_files.motions import RPM, RampSpec, SpinSpec
from studies.model_files.quantities import (
    Angle,
    DampingEntry,
    DampingStiffness,
    Elements,
    Force,
    Inertia,
    Length,
    Mass,
    Position,
    Rpm,
    StiffnessEntry,
    Strict,
)

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
    elements: Elements = 20
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


@dataclass(frozen=True)
class SpinningRotor:
    """A rotor at constant spin.

    Parameters
    ----------
    rotor : Rotor
        Shaft, discs and bearings.
    omega : float
        Spin, rad/s.
    epsilon : float
        Acceleration, rad/s².
    """

    rotor: assembly.Rotor
    omega: float = 0.0
    epsilon: float = 0.0

    def freeze(self, t: float = 0.0) -> assembly.FrozenSystem:
        """The frozen system, the same at every time t (s)."""
        return self.rotor.freeze(self.omega, epsilon=self.epsilon)

    @property
    def period(self) -> float | None:
        """The time of one turn, s, or None."""
        return 2.0 * np.pi / abs(self.omega) if self.omega and not self.epsilon else None


def build_rotor(
    name: str,
    body: RotorSpec,
    motion: Any,
    materials: Mapping[str, MaterialSpec],
    folder: Path,
) -> SpinningRotor:
    """The rotor of that name, at the speed of the file's motion. Raises ModelFileError."""
    if motion is not None and not isinstance(motion, SpinSpec):
        kind = motion.kind
        hint = "; sweep omega or epsilon" if isinstance(motion, RampSpec) else ""
        raise ModelFileError(f'motion.kind = {kind!r}: a rotor takes "spin"{hint}')
    with faults_named(f"body.{name}"):
        shaft = material_of(body.material, materials)
        discs = [_disc(disc, shaft, materials) for disc in body.disc]
        with located(f"body.{name}."):
            rotor = assembly.rotor(
                [(piece.length, piece.section.section()) for piece in body.segment],
                shaft,
                discs=discs,
                bearings=[_bearing(bearing, folder) for bearing in body.bearing],
                name=name,
                **body.arguments("kind", "material", "segment", "disc", "bearing"),
            )
            omega, epsilon = (0.0, 0.0) if motion is None else (motion.rate, motion.epsilon)
            rotor.freeze(omega, None if motion is None else motion.axis, epsilon)
    return SpinningRotor(rotor, omega, epsilon)


def _disc(disc: DiscSpec, shaft: Any, materials: Mapping[str, MaterialSpec]) -> assembly.Disc:
    """A disc from its mass and inertia, or from its size."""
    inertia = {disc.mass, disc.polar, disc.diametral}
    outer, width = disc.outer, disc.width
    if None not in inertia and outer is None and width is None:
        return assembly.Disc(**disc.arguments("outer", "inner", "width", "material"))
    if outer is not None and width is not None and inertia == {None}:
        material = shaft if disc.material is None else material_of(disc.material, materials)
        straight = assembly.Disc.solid(disc.at, outer, disc.inner, width, material)
        return replace(straight, skew=disc.skew, skew_angle=disc.skew_angle)
    raise InputError(
        f"disc at {disc.at:g} m: give mass, polar and diametral, or outer and width (and inner)"
    )


def _bearing(bearing: BearingSpec, folder: Path) -> assembly.Bearing:
    where = f"bearing at {bearing.at:g} m"
    if (bearing.stiffness is None) == (bearing.file is None):
        raise InputError(f"{where}: give stiffness, or the file of a table")
    if bearing.file is not None:
        return _tabulated(bearing.at, folder / bearing.file)
    if bearing.stiffness == "rigid":
        return assembly.Bearing(bearing.at, np.inf)
    if bearing.speeds_rpm is None:
        stiffness: Any = bearing.stiffness
        damping: Any = bearing.damping
        return assembly.Bearing(bearing.at, stiffness, damping)
    speeds = np.array(bearing.speeds_rpm) * RPM
    tables: list[Any] = []
    for name in ("stiffness", "damping"):
        values = getattr(bearing, name)
        if isinstance(values, float):  # the same at all speeds
            tables.append(values)
            continue
        try:
            tables.append(assembly.speed_table(speeds, np.asarray(values, dtype=float)))
        except ValueError as fault:
            raise InputError(f"{where}: {name}: {_plain(fault)}") from None
    return assembly.Bearing(bearing.at, *tables)


def _plain(fault: ValueError) -> str:
    return str(fault) if isinstance(fault, InputError) else "its entries have different lengths"


def _tabulated(at: float, path: Path) -> assembly.Bearing:
    """The bearing of a CSV table of all eight coefficients over the speed."""
    columns = read_columns(path)
    speeds = column(columns, "speed_rpm", path) * RPM
    tables = []
    for letter in "kc":
        values = [column(columns, f"{letter}{i}{j}", path) for i in "yz" for j in "yz"]
        tables.append(np.stack(values, axis=-1).reshape(-1, 2, 2))
    return assembly.Bearing(at, *(assembly.speed_table(speeds, table) for table in tables))
