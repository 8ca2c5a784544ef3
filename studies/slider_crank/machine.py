"""The slider-crank of the study, its link elastic, its crank elastic or rigid, and its families."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

import assembly
import modal
from assembly import Body, FrozenSystem, Material, Mechanism, MechanismError, Section
from assembly.bodies.beams import Theory
from assembly.errors import InputError
from assembly.mechanisms.joints import Point
from assembly.types import AnyArray


def model(
    crank: float = 0.15,
    rod: float = 0.30,
    speed_rpm: float = 1500.0,
    *,
    elements: int = 20,
    section: Section | None = None,
    crank_section: Section | None = None,
    material: Material = assembly.steel,
    elastic_crank: bool = True,
    slider_mass: float = 0.5,
    offset: float = 0.0,
    driven: bool = True,
    rayleigh: tuple[float, float] = (0.0, 0.0),
    theory: Theory = "timoshenko",
) -> Mechanism:
    """The slider-crank, its crank along x at t = 0 and turning at constant speed.

    Parameters
    ----------
    crank, rod : float
        Lengths, m.
    speed_rpm : float
        Speed of the crank, rpm.
    elements : int
        Beam elements of each elastic link.
    section, crank_section : Section, optional
        Of the rod (10 mm in the plane of motion, 20 mm across) and of the crank (30 mm, 20 mm).
    material : Material
        Of both links.
    elastic_crank : bool
        False for a rigid crank.
    slider_mass : float
        kg.
    offset : float
        Distance of the slide from the axis of the crank, m.
    driven : bool
        Whether the motor also holds the elastic rotation of the crank.
    rayleigh : tuple of float
        (a, b) of the damping D = a M + b K of both links, 1/s and s.
    theory : {"timoshenko", "euler-bernoulli"}
        Beam theory.

    Returns
    -------
    Mechanism
        Crank, rod and slider with joints A, B, C (revolute) and D (prismatic).

    Raises
    ------
    MechanismError
        The crank cannot turn over.
    """
    if not rod > crank + abs(offset):
        raise MechanismError(
            f"crank = {crank:g} m must be shorter than rod = {rod:g} m"
            + (f" less the offset {abs(offset):g} m" if offset else "")
            + ", or it cannot turn over"
        )
    rod_section = section or assembly.rectangle(0.01, 0.02)
    wide = crank_section or assembly.rectangle(0.03, 0.02)

    def link(length: float, shape: Section, name: str) -> Body:
        beam = assembly.beam(
            length, shape, material, elements, planar=True, theory=theory, name=name
        )
        return beam.with_damping(*rayleigh)

    if elastic_crank:
        first = link(crank, wide, "crank")
        base: Point = "start"
        tip: Point = "end"
    else:
        mass = material.rho * wide.A * crank
        first = assembly.rigid_body(
            mass, mass * crank**2 / 12.0, centre=(0.5 * crank, 0.0, 0.0), planar=True, name="crank"
        )
        base, tip = (0.0, 0.0), (crank, 0.0)
    across = np.arcsin(offset / rod)
    return Mechanism(
        {
            "crank": first,
            "rod": link(rod, rod_section, "rod"),
            "slider": assembly.rigid_body(slider_mass, planar=True, name="slider"),
        },
        [
            assembly.revolute("ground", (0.0, 0.0), "crank", base, name="A"),
            assembly.revolute("crank", tip, "rod", "start", name="B"),
            assembly.revolute("rod", "end", "slider", (0.0, 0.0), name="C"),
            assembly.prismatic(
                "ground", (0.0, offset), "slider", (0.0, 0.0), axis=(1.0, 0.0), name="D"
            ),
        ],
        [assembly.driver("A", speed_rpm * 2.0 * np.pi / 60.0, held=driven)],
        initial={
            "rod": (crank, 0.0, across),
            "slider": (crank + rod * np.cos(across), offset, 0.0),
        },
        name="slider-crank",
    )


class SpeedFamily:
    """The slider-crank frozen at a crank speed (rpm) and a fraction of its turn."""

    def __init__(self, **settings: Any) -> None:
        self._mechanism = cache(lambda speed_rpm: model(speed_rpm=speed_rpm, **settings))

    def at(self, speed_rpm: float, turn: float) -> tuple[Mechanism, float]:
        """The mechanism of a speed, and the time (s) of a fraction of its turn."""
        mechanism = self._mechanism(speed_rpm)
        assert mechanism.period is not None
        return mechanism, turn * mechanism.period

    def freeze(self, speed_rpm: float, turn: float) -> FrozenSystem:
        mechanism, t = self.at(speed_rpm, turn)
        return mechanism.freeze(t)

    def geometry(
        self, point: Mapping[str, float], vectors: AnyArray
    ) -> tuple[modal.PlacedBody, ...]:
        """The bodies at a point of the map, with the vectors of the frozen system."""
        mechanism, t = self.at(**point)
        return modal.placed_bodies(mechanism, {"time": t}, vectors)


def stiffness_damping(ratio: float, **settings: Any) -> float:
    """Stiffness-proportional damping of the first mode at t = 0.

    Parameters
    ----------
    ratio : float
        Damping ratio ζ of the first mode, at least 0 and less than 1.
    **settings
        Those of `model`.

    Returns
    -------
    float
        b = 2ζ/ω of D = b K, s.

    Raises
    ------
    InputError
        The ratio is out of its range.
    """
    if not 0.0 <= ratio < 1.0:
        raise InputError(f"damping_ratio: must be at least 0 and less than 1, got {ratio}")
    first = modal.solve(model(**settings).freeze(0.0), k=1)
    return 2.0 * ratio / float(np.abs(first.eigenvalues[0]))
