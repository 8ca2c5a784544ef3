"""Plane elements: T3, T6, Q4 and Q8 in plane stress or plane strain, two displacements a node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from assembly.elements.cells import CellBlock, Cells
from assembly.elements.continuum import Continuum, Law
from assembly.materials.elasticity import elasticity, plane_strain, plane_stress
from assembly.materials.materials import Material, Orthotropic
from assembly.types import Array

PLANE_CELLS = ("triangle", "triangle6", "quad", "quad8")
State = Literal["stress", "strain"]


def plane_elements(
    points: Array,
    blocks: Sequence[CellBlock],
    materials: Sequence[Material | Orthotropic],
    state: State,
    thickness: float,
) -> Continuum:
    """The family of plane cells on nodes (N, 3) with z = 0, m. Raises MeshError for a bad cell."""
    reduced = plane_stress if state == "stress" else plane_strain
    cells = Cells(points, blocks, 2, thickness)
    return Continuum(cells, [Law(reduced(elasticity(m)), m.rho) for m in materials])
