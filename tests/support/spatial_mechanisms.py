"""Closed loops in space of beams and rigid blocks."""

from __future__ import annotations

import numpy as np

import assembly
from assembly.kinematics import unit_axis

SECTION = assembly.rectangle(0.03, 0.02)


def link(length: float, elements: int = 2, **options: object) -> assembly.Body:
    return assembly.beam(length, SECTION, assembly.steel, elements, **options)  # type: ignore[arg-type]


def block(mass: float = 1.0) -> assembly.Body:
    inertia = mass * np.array([[3.0, 0.2, -0.1], [0.2, 2.0, 0.3], [-0.1, 0.3, 2.5]]) * 1e-3
    return assembly.rigid_body(mass, inertia, centre=(0.02, -0.01, 0.03))


def rsur(held: bool = True) -> assembly.Mechanism:
    """Crank (revolute), elastic coupler (ball and universal joint), rocker (revolute): skew
    axes."""
    tilted = unit_axis((0.2, 0.9, 0.3))
    return assembly.Mechanism(
        {"crank": link(0.15), "coupler": link(0.6), "rocker": block()},
        [
            assembly.revolute("ground", (0, 0, 0), "crank", "start", name="A"),
            assembly.spherical("crank", "end", "coupler", "start", name="B"),
            assembly.universal(
                "coupler", "end", "rocker", (0.1, 0.3, 0.05),
                axis=(0, 0.6, 0.8), axis_second=(1, 0.2, 0), name="C",
            ),
            assembly.revolute(
                "ground", (0.6, -0.25, 0.1), "rocker", (0, 0, 0), axis=tilted,
                axis_second=(0, 0, 1), name="D",
            ),
        ],
        [assembly.driver("A", assembly.Uniform(rate=20.0, acceleration=50.0), held=held)],
        initial={"rocker": (0.6, -0.25, 0.1, 0, 0, 0)},
    )  # fmt: skip


def two_drivers(held: bool = True) -> assembly.Mechanism:
    """A rod between a crank and a bush that turns and slides, both driven."""
    return assembly.Mechanism(
        {"crank": link(0.1), "rod": link(0.5), "bush": block(0.5)},
        [
            assembly.revolute("ground", (0, 0, 0), "crank", "start", name="A"),
            assembly.spherical("crank", "end", "rod", "start", name="B"),
            assembly.universal(
                "rod", "end", "bush", (0, 0.1, 0), axis=(0, 1, 0), axis_second=(0, 0, 1), name="C"
            ),
            assembly.cylindrical(
                "ground", (0, -0.1, 0.1), "bush", (0, 0, 0), axis=(1, 0, 0), name="D"
            ),
        ],
        [
            assembly.driver("A", 30.0, held=held),
            assembly.driver("D", assembly.Harmonic(0.2, 25.0, 0.4), held=held, of="angle"),
        ],
        initial={"rod": (0.1, 0, 0, 0, 0, 0), "bush": (0.6, -0.1, 0.1, 0, 0, 0)},
    )
