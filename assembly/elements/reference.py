"""Reference cells: shape functions and quadrature, in the node order that mesh files use.

Shape functions and rules are scikit-fem's. Its nodes are numbered its own way, so each cell here
carries the reference positions of its nodes in the order of meshio (that is VTK), and the two are
matched by position; nothing depends on remembered permutations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import skfem
from skfem.quadrature import get_quadrature

from assembly.types import Array

_TET = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
_HEX = ((0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1))
# A face at the bottom of each.
_TRI = tuple(corner[:2] for corner in _TET[:3])
_QUAD = tuple(corner[:2] for corner in _HEX[:4])
_TET_EDGES = ((0, 1), (1, 2), (2, 0), (0, 3), (1, 3), (2, 3))
_HEX_EDGES = (
    *((0, 1), (1, 2), (2, 3), (3, 0)),
    *((4, 5), (5, 6), (6, 7), (7, 4)),
    *((0, 4), (1, 5), (2, 6), (3, 7)),
)
_TRI_EDGES, _QUAD_EDGES = _TET_EDGES[:3], _HEX_EDGES[:4]


@dataclass(frozen=True)
class Cell:
    """One kind of cell: its name in mesh files, its nodes, and the quadrature its matrices are made
    with.

    nodes (a, d): reference positions in the mesh file's order. stiffness_order, mass_order:
    polynomial degree that the rule integrates exactly on the reference cell; the mass of a straight
    cell is exact.
    """

    name: str
    element: type
    corners: tuple[tuple[int, ...], ...]
    edges: tuple[tuple[int, int], ...]
    stiffness_order: int
    mass_order: int

    @property
    def nodes(self) -> Array:
        corners = np.array(self.corners, dtype=float)
        middles = [0.5 * (corners[a] + corners[b]) for a, b in self.edges]
        return np.vstack([corners, *middles])

    @property
    def dimension(self) -> int:
        return len(self.corners[0])


CELLS: dict[str, Cell] = {
    cell.name: cell
    for cell in (
        Cell("tetra", skfem.ElementTetP1, _TET, (), 1, 2),  # Tet4
        Cell("tetra10", skfem.ElementTetP2, _TET, _TET_EDGES, 2, 4),  # Tet10
        Cell("hexahedron", skfem.ElementHex1, _HEX, (), 3, 5),  # Hex8
        Cell("hexahedron20", skfem.ElementHexS2, _HEX, _HEX_EDGES, 5, 7),  # Hex20
        Cell("triangle", skfem.ElementTriP1, _TRI, (), 1, 2),  # T3
        Cell("triangle6", skfem.ElementTriP2, _TRI, _TRI_EDGES, 2, 4),  # T6
        Cell("quad", skfem.ElementQuad1, _QUAD, (), 3, 3),  # Q4
        Cell("quad8", skfem.ElementQuadS2, _QUAD, _QUAD_EDGES, 5, 5),  # Q8
    )
}


@dataclass(frozen=True)
class Table:
    """Shape functions (q, a), their reference gradients (q, a, d), weights (q,) of a rule."""

    values: Array
    gradients: Array
    weights: Array


@cache
def tabulate(name: str, order: int) -> Table:
    """The cell's shape functions at the rule's points, in mesh-file node order."""
    points, weights = get_quadrature(CELLS[name].element().refdom, order)
    return _tabulate(name, points, np.array(weights))


@cache
def at_nodes(name: str) -> Table:
    """The cell's shape functions at its own nodes; the weights are zero."""
    nodes = CELLS[name].nodes
    return _tabulate(name, nodes.T, np.zeros(len(nodes)))


def _tabulate(name: str, points: Array, weights: Array) -> Table:
    cell = CELLS[name]
    element = cell.element()
    at = np.array(element.doflocs, dtype=float)
    distance = np.abs(cell.nodes[:, None, :] - at[None, :, :]).max(axis=2)
    place = distance.argmin(axis=1)
    assert distance[np.arange(len(place)), place].max() < 1e-12, (
        f"{name}: no node of scikit-fem's there"
    )
    tabulated = [element.lbasis(points, int(k)) for k in place]
    values = np.stack([np.broadcast_to(v, weights.shape) for v, _ in tabulated], axis=1)
    gradients = np.stack(
        [np.stack([np.broadcast_to(d, weights.shape) for d in g]) for _, g in tabulated], axis=0
    )
    return Table(values, np.ascontiguousarray(gradients.transpose(2, 0, 1)), weights)
