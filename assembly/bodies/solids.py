"""Bodies of solid elements (Tet4, Tet10, Hex8, Hex20) and of plane ones (T3, T6, Q4, Q8 in plane
stress or plane strain) from a mesh with named sets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import meshio
import numpy as np

from assembly.arguments import check_choice
from assembly.bodies.body import Body
from assembly.bodies.made_from import described
from assembly.dofs import DofMap
from assembly.elements.cells import CellBlock, Cells
from assembly.elements.continuum import Continuum, Law
from assembly.elements.family import ElementFamily
from assembly.elements.hub import Hub
from assembly.errors import MaterialError, MeshError
from assembly.magnitudes import LENGTH
from assembly.materials.materials import (
    Material,
    Orthotropic,
    check_is_material,
    elasticity,
    plane_strain,
    plane_stress,
)
from assembly.materials.plausibility import check_mass, check_thickness
from assembly.mesh.importers import Mesh, read_mesh
from assembly.types import Index

SOLID_CELLS = ("tetra", "tetra10", "hexahedron", "hexahedron20")
PLANE_CELLS = ("triangle", "triangle6", "quad", "quad8")
State = Literal["stress", "strain"]
Chosen = str | Iterable[int] | None
Substance = Material | Orthotropic | Mapping[str, Material | Orthotropic]


@described
def solid(
    mesh: str | Path | meshio.Mesh,
    material: Substance,
    clamped: Chosen = None,
    pinned: Chosen = None,
    name: str = "body",
) -> Body:
    """A body of Tet4, Tet10, Hex8 or Hex20 cells.

    Parameters
    ----------
    mesh : str, Path or meshio.Mesh
        A file that meshio reads, or a mesh; coordinates in body axes, m.
    material : Material, Orthotropic or mapping of str to these
        Material of all cells, or of each named set of cells. The sets contain every cell once.
    clamped : str or iterable of int, optional
        A named set, or numbers of nodes that do not move.
    pinned : str or iterable of int, optional
        Nodes held in place about which the body may turn: one node (any axis) or several on a
        line (that axis). A couple on the neighbouring nodes balances the moment of the inertia
        loads about the pin. Without `clamped` and `pinned` the body is free.
    name : str
        Name of the body.

    Returns
    -------
    Body
        With ux, uy, uz (m) at every node, and the node sets of the mesh.

    Raises
    ------
    MeshError
        For an unreadable file, an inverted cell, an unknown set or kind of cell.
    MaterialError
        For a material that cannot be used.
    InputError
        For another value that cannot be used.

    Examples
    --------
    >>> import assembly
    >>> mesh = assembly.gallery.block_mesh(4, 1, 1, "hex20", size=(1.0, 0.1, 0.1))
    >>> body = assembly.solid(mesh, assembly.steel, clamped="x0")
    >>> body.freeze(omega=(0, 0, 100.0)).n
    144
    """
    parsed = read_mesh(mesh, SOLID_CELLS)
    blocks, materials = _made_of(parsed, material)
    laws = [Law(elasticity(m), m.rho) for m in materials]
    return _body(parsed, Continuum(Cells(parsed.points, blocks, 3), laws), clamped, pinned, name)


@described
def plane(
    mesh: str | Path | meshio.Mesh,
    material: Substance,
    clamped: Chosen = None,
    pinned: Chosen = None,
    thickness: float = 1.0,
    state: State = "stress",
    name: str = "body",
) -> Body:
    """A body of T3, T6, Q4 or Q8 cells in the x–y plane.

    Parameters
    ----------
    mesh : str, Path or meshio.Mesh
        A file that meshio reads, or a mesh; coordinates in body axes, m, in a plane z = constant.
    material : Material, Orthotropic or mapping of str to these
        As for `solid`.
    clamped, pinned : str or iterable of int, optional
        As for `solid`; a pin is one node.
    thickness : float
        Thickness, m.
    state : {"stress", "strain"}
        Plane stress (thin) or plane strain (long).
    name : str
        Name of the body.

    Returns
    -------
    Body
        With ux, uy (m) at every node, and the node sets of the mesh.

    Raises
    ------
    MeshError
        As for `solid`, and for a mesh that is not plane.
    InputError
        For another value that cannot be used.
    """
    LENGTH.number(thickness, "thickness")
    check_choice(state, ("stress", "strain"), "state")
    parsed = read_mesh(mesh, PLANE_CELLS)
    if np.ptp(parsed.points[:, 2]) > 1e-9 * np.ptp(parsed.points, axis=0).max():
        raise MeshError(f"{parsed.name}: a plane mesh must lie in a plane z = constant")
    blocks, materials = _made_of(parsed, material)
    check_thickness(thickness, float(np.ptp(parsed.points, axis=0).max()))
    reduced = plane_stress if state == "stress" else plane_strain
    laws = [Law(reduced(elasticity(m)), m.rho) for m in materials]
    elements = Continuum(Cells(parsed.points, blocks, 2, thickness), laws)
    return _body(parsed, elements, clamped, pinned, name)


def _made_of(
    mesh: Mesh, material: Substance
) -> tuple[list[CellBlock], list[Material | Orthotropic]]:
    """Blocks of cells of one material each, and the materials they name by number."""
    if not isinstance(material, Mapping):
        check_is_material(material)
        return list(mesh.blocks), [material]
    if not material:
        raise MaterialError("material: the mapping from sets of cells to materials is empty")
    for substance in material.values():
        check_is_material(substance)
    absent = [label for label in material if label not in mesh.cell_sets]
    if absent:
        present = ", ".join(sorted(mesh.cell_sets)) or "none"
        raise MeshError(
            f'material: {mesh.name} has no set of cells named "{absent[0]}"; its sets are:'
            f" {present}"
        )
    blocks = []
    for k, block in enumerate(mesh.blocks):
        belongs = np.stack([mesh.cell_sets[label][k] for label in material])
        bad = np.flatnonzero(belongs.sum(axis=0) != 1)
        if bad.size:
            labels = [label for label, mask in zip(material, belongs, strict=True) if mask[bad[0]]]
            where = f"in {' and in '.join(labels)}" if labels else "in no set with a material"
            raise MeshError(f"material: element {bad[0]} of the {block.kind} cells is {where}")
        for law, mask in enumerate(belongs):
            if mask.any():
                blocks.append(CellBlock(block.kind, block.nodes[mask], law, np.flatnonzero(mask)))
    return blocks, list(material.values())


def _body(mesh: Mesh, elements: Continuum, clamped: Chosen, pinned: Chosen, name: str) -> Body:
    volumes = zip(elements.blocks, elements.cells.volumes, strict=True)
    mass = sum(elements.laws[block.law].density * volume for block, volume in volumes)
    check_mass(mass, "mesh", mesh.name)
    dofs = DofMap.regular(mesh.points, range(elements.dimension))
    fixed = np.zeros(len(dofs), dtype=bool)
    families: tuple[ElementFamily, ...] = (elements,)
    if clamped is not None:
        fixed[dofs.of_nodes(mesh.nodes_of(clamped, "clamped"))] = True
    if pinned is not None:
        nodes = mesh.nodes_of(pinned, "pinned")
        fixed[dofs.of_nodes(nodes)] = True
        if clamped is None:
            families += (_hub(elements, nodes),)
    return Body(dofs, families, fixed, name=name, sets=mesh.sets)


def _hub(elements: Continuum, pinned: Index) -> Hub:
    """The hub of the cells that touch the pinned nodes; MeshError when these leave no rotation."""
    points = elements.points
    pin = points[pinned].mean(axis=0)
    size = np.ptp(points, axis=0).max()
    _, spread, directions = np.linalg.svd(points[pinned] - pin, full_matrices=True)
    rank = int((spread > 1e-9 * size).sum())
    if elements.dimension == 2:
        axes = np.array([[0.0], [0.0], [1.0]])
        free = rank == 0
    else:
        axes = np.eye(3) if rank == 0 else directions[:1].T
        free = rank <= 1
    if not free:
        raise MeshError(
            f"pinned: {len(pinned)} nodes leave no rotation; pin one node"
            + (", " if elements.dimension == 2 else " or nodes on one line, ")
            + "or use clamped"
        )
    touching = [b.nodes[np.isin(b.nodes, pinned).any(axis=1)].ravel() for b in elements.blocks]
    around = np.setdiff1d(np.concatenate(touching), pinned)
    return Hub(elements, pin, axes, around)
