"""What all bodies of a model file have: their place, what is attached to their nodes, damping."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field
from scipy.spatial.transform import Rotation

import assembly
from assembly.types import Array
from studies.model_files.quantities import (
    Angle,
    DampingEntry,
    DampingMass,
    DampingMatrix,
    DampingStiffness,
    InertiaEntry,
    Mass,
    Node,
    Point,
    Point3,
    StiffnessEntry,
    StiffnessMatrix,
    Strict,
)

Principal = Annotated[list[InertiaEntry], Field(min_length=3, max_length=3)]
Tensor = Annotated[list[Principal], Field(min_length=3, max_length=3)]
InertiaOf = InertiaEntry | Principal | Tensor
TurnOf = Angle | Annotated[list[Angle], Field(min_length=3, max_length=3)]


class DampingSpec(Strict):
    """Internal Rayleigh damping D = a M + b K."""

    a: DampingMass = 0.0
    """Mass coefficient, 1/s."""
    b: DampingStiffness = 0.0
    """Stiffness coefficient, s."""


class AttachedMassSpec(Strict):
    """A rigid mass at a node."""

    at: str | Node
    """Node number, or the name of a set of one node."""
    mass: Mass
    """Mass, kg."""
    inertia: InertiaOf = 0.0
    """Inertia about the mass's own centre, kg m²: a number, three principal values or a tensor."""
    offset: Point3 = [0.0, 0.0, 0.0]
    """Position of that centre from the node, m."""


class AttachedSpringSpec(Strict):
    """A spring and a damper in parallel between two nodes, or a node and the body's frame."""

    at: str | Node
    """Node number, or the name of a set of one node."""
    to: str | Node | None = None
    """The second node; without it a point fixed in the body's frame."""
    stiffness: StiffnessEntry | StiffnessMatrix = 0.0
    """A number, N/m, or a 3×3 or 6×6 matrix."""
    damping: DampingEntry | DampingMatrix = 0.0
    """A number, N·s/m, or a 3×3 or 6×6 matrix."""


class AttachedDamperSpec(Strict):
    """A damper between a node and the fixed surroundings."""

    at: str | Node
    """Node number, or the name of a set of one node."""
    damping: DampingEntry | DampingMatrix
    """A number, N·s/m, or a 3×3 matrix in body axes."""


class Placed(Strict):
    """What all bodies have."""

    position: Point | None = None
    """Where the body's origin is when a mechanism is assembled, m; by default its first joint."""
    rotation: TurnOf | None = None
    """Rotation of the body when a mechanism is assembled: angle (rad), in space a rotation vector;
    by default its x axis points to its second joint."""
    mass_at: list[AttachedMassSpec] = []
    """Rigid masses at nodes."""
    spring: list[AttachedSpringSpec] = []
    """Springs and dampers inside the body."""
    damper: list[AttachedDamperSpec] = []
    """Dampers to the fixed surroundings."""
    damping: DampingSpec = DampingSpec()
    """Internal damping."""


def attached(built: assembly.Body, body: Placed) -> assembly.Body:
    """The body with its masses, springs, dampers and internal damping."""
    for mass in body.mass_at:
        built = assembly.attach_mass(built, mass.at, **mass.arguments("at"))
    for spring in body.spring:
        values = spring.arguments("at", "to")
        built = assembly.attach_spring(built, spring.at, spring.to, **values)
    for damper in body.damper:
        built = assembly.attach_damper(built, damper.at, damper.damping)
    a, b = body.damping.a, body.damping.b
    return built.with_damping(a, b) if a or b else built


def rotation_of(turn: TurnOf) -> Array:
    """A rotation (3, 3) from a rotation vector, or from an angle about z."""
    vector = turn if isinstance(turn, list) else [0.0, 0.0, turn]
    return np.asarray(Rotation.from_rotvec(vector).as_matrix())
