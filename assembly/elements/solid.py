"""Solid elements: Tet4, Tet10, Hex8 and Hex20, three displacements a node."""

from __future__ import annotations

from collections.abc import Sequence

from assembly.elements.cells import CellBlock, Cells
from assembly.elements.continuum import Continuum, Law
from assembly.materials.elasticity import elasticity
from assembly.materials.materials import Material, Orthotropic
from assembly.types import Array

SOLID_CELLS = ("tetra", "tetra10", "hexahedron", "hexahedron20")


def solid_elements(
    points: Array,
    blocks: Sequence[CellBlock],
    materials: Sequence[Material | Orthotropic],
) -> Continuum:
    """The family of solid cells on nodes (N, 3), m, in body axes; MeshError for a bad one."""
    laws = [Law(elasticity(material), material.rho) for material in materials]
    return Continuum(Cells(points, blocks, 3), laws)
