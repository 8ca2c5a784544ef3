"""From the checked specification of a rotor to the rotor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import assembly
from assembly.bodies.blade_files import column, read_columns
from assembly.errors import InputError, ModelFileError
from assembly.materials.plausibility import located
from studies.model_files.bodies import faults_named, material_of, section_of
from studies.model_files.schema import ModelSpec
from studies.model_files.schema_motions import RPM, RampSpec, SpinSpec
from studies.model_files.schema_rotors import BearingSpec, DiscSpec, RotorSpec


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


def build_rotor(name: str, spec: ModelSpec, folder: Path) -> SpinningRotor:
    """The rotor of that name, at the speed of the file's motion. Raises ModelFileError."""
    body, motion = spec.body[name], spec.motion
    assert isinstance(body, RotorSpec)
    if motion is not None and not isinstance(motion, SpinSpec):
        kind = motion.kind
        hint = "; sweep omega or epsilon" if isinstance(motion, RampSpec) else ""
        raise ModelFileError(f'motion.kind = {kind!r}: a rotor takes "spin"{hint}')
    with faults_named(f"body.{name}"):
        shaft = material_of(body.material, spec)
        discs = [_disc(disc, shaft, spec) for disc in body.disc]
        with located(f"body.{name}."):
            rotor = assembly.rotor(
                [(piece.length, section_of(piece.section)) for piece in body.segment],
                shaft,
                body.elements,
                discs=discs,
                bearings=[_bearing(bearing, folder) for bearing in body.bearing],
                theory=body.theory,
                rotary_inertia=body.rotary_inertia,
                internal_damping=body.internal_damping,
                axial_load=body.axial_load,
                drive_at=body.drive_at,
                lateral=body.lateral,
                name=name,
            )
            omega, epsilon = (0.0, 0.0) if motion is None else (motion.rate, motion.epsilon)
            rotor.freeze(omega, None if motion is None else motion.axis, epsilon)
    return SpinningRotor(rotor, omega, epsilon)


def _disc(disc: DiscSpec, shaft: Any, spec: ModelSpec) -> assembly.Disc:
    """A disc from its mass and inertia, or from its size."""
    mass, polar, diametral = disc.mass, disc.polar, disc.diametral
    outer, width = disc.outer, disc.width
    if mass is not None and polar is not None and diametral is not None:
        if outer is None and width is None:
            return assembly.Disc(disc.at, mass, polar, diametral, disc.skew, disc.skew_angle)
    elif outer is not None and width is not None and {mass, polar, diametral} == {None}:
        material = shaft if disc.material is None else material_of(disc.material, spec)
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
