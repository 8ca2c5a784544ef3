"""Canonical models for tests, benchmarks and examples: blocks and sheets of every kind of cell, a
four-bar linkage, a slider-crank with a solid rod."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Literal

import meshio
import numpy as np

from assembly.bodies.attachments import rigid_body
from assembly.bodies.body import Body
from assembly.bodies.solids import plane, solid
from assembly.elements.reference import CELLS
from assembly.errors import InputError
from assembly.materials.materials import Material, Orthotropic, steel
from assembly.mechanisms.drivers import driver
from assembly.mechanisms.joints import prismatic, revolute, spherical, universal
from assembly.mechanisms.mechanism import Mechanism
from assembly.types import Array, Index

Triple = tuple[float, float, float]

ELEMENTS = {
    **{"tet4": "tetra", "tet10": "tetra10", "hex8": "hexahedron", "hex20": "hexahedron20"},
    **{"t3": "triangle", "t6": "triangle6", "q4": "quad", "q8": "quad8"},
}
# Six tetrahedra of a brick, all around its main diagonal; neighbouring bricks then share their
# faces' diagonals. Corners are numbered by bits (x, y, z) = (1, 2, 4).
_KUHN = tuple((0, 1 << p, (1 << p) | (1 << q), 7) for p, q, _ in permutations(range(3)))
_BRICK = tuple(x + 2 * y + 4 * z for x, y, z in CELLS["hexahedron"].corners)


def block(
    nx: int,
    ny: int,
    nz: int,
    element: str = "hex8",
    size: Triple = (1.0, 0.2, 0.2),
    origin: Triple = (0.0, 0.0, 0.0),
    material: Material | Orthotropic = steel,
    clamped: str | list[int] | None = "x0",
    pinned: str | list[int] | None = None,
) -> Body:
    """A solid block of nx × ny × nz bricks, clamped at x = 0; tet4 and tet10: six cells a brick.

    Parameters
    ----------
    nx, ny, nz : int
        Number of bricks along each side.
    element : {"tet4", "tet10", "hex8", "hex20"}
        Kind of cell.
    size, origin : tuple of three float
        Sides and first corner, m.
    material : Material or Orthotropic
        Material.
    clamped, pinned : str, list of int or None
        As for `assembly.solid`; the faces are the sets x0, x1, y0, y1, z0, z1.

    Returns
    -------
    Body
        Hex8, clamped at x0: 3 nx (ny+1) (nz+1) degrees of freedom.
    """
    return solid(block_mesh(nx, ny, nz, element, size, origin), material, clamped, pinned)


def reference_block(element: str = "hex20") -> Body:
    """The steel block of the benchmarks: 28,080 degrees of freedom, clamped at x = 0.

    Parameters
    ----------
    element : {"hex20", "hex8"}
        "hex20": 39×7×7 cells, 4.2 million nonzeros in K. "hex8": 39×15×14 cells, 2.0 million.

    Returns
    -------
    Body

    Raises
    ------
    InputError
        For another element.
    """
    counts = {"hex20": (39, 7, 7), "hex8": (39, 15, 14)}
    if element not in counts:
        raise InputError(f"element: expected hex20 or hex8, got {element!r}")
    return block(*counts[element], element)


def sheet(
    nx: int,
    ny: int,
    element: str = "q4",
    size: tuple[float, float] = (1.0, 0.2),
    origin: tuple[float, float] = (0.0, 0.0),
    material: Material | Orthotropic = steel,
    clamped: str | list[int] | None = "x0",
    pinned: str | list[int] | None = None,
    thickness: float = 0.01,
    state: Literal["stress", "strain"] = "stress",
) -> Body:
    """A rectangular plane body of nx × ny quadrilaterals; t3 and t6: two cells each.

    Parameters
    ----------
    nx, ny : int
        Number of quadrilaterals along each side.
    element : {"t3", "t6", "q4", "q8"}
        Kind of cell.
    size, origin : tuple of two float
        Sides and first corner, m.
    material : Material or Orthotropic
        Material.
    clamped, pinned : str, list of int or None
        As for `assembly.plane`; the edges are the sets x0, x1, y0, y1.
    thickness : float
        m.
    state : {"stress", "strain"}
        Plane stress or plane strain.

    Returns
    -------
    Body
    """
    mesh = sheet_mesh(nx, ny, element, size, origin)
    return plane(mesh, material, clamped, pinned, thickness, state)


def four_bar(
    link: Callable[[float], Body],
    lengths: Triple = (0.1, 0.3, 0.25),
    base: float = 0.3,
    speed: float = 60.0,
    angles: tuple[float, float] = (0.8, 1.4),
) -> Mechanism:
    """A planar four-bar linkage with the bodies "crank", "coupler" and "rocker".

    Parameters
    ----------
    link : callable
        Length (m) → planar beam along x.
    lengths : tuple of three float
        Crank, coupler and rocker, m.
    base : float
        Distance of the two ground joints A and D along x, m.
    speed : float
        Speed of the crank at A, rad/s.
    angles : tuple of two float
        Approximate angles of coupler and rocker, rad, at which the loop is first closed with the
        crank along the base.

    Returns
    -------
    Mechanism
    """
    crank, coupler, rocker = lengths
    return Mechanism(
        {"crank": link(crank), "coupler": link(coupler), "rocker": link(rocker)},
        [
            revolute("ground", (0, 0), "crank", "start", name="A"),
            revolute("crank", "end", "coupler", "start", name="B"),
            revolute("coupler", "end", "rocker", "end", name="C"),
            revolute("ground", (base, 0), "rocker", "start", name="D"),
        ],
        [driver("A", speed)],
        initial={"coupler": (crank, 0, angles[0]), "rocker": (base, 0, angles[1])},
    )


def solid_slider_crank(
    cells: tuple[int, int, int] = (39, 7, 7),
    element: str = "hex20",
    damping: tuple[float, float] = (0.0, 0.0),
) -> Callable[[float], Mechanism]:
    """A slider-crank in space whose connecting rod is a solid block.

    Parameters
    ----------
    cells : tuple of int
        Bricks of the rod along x, y and z.
    element : {"hex8", "hex20", "tet4", "tet10"}
        Kind of cell.
    damping : tuple of float
        (a, b) of the rod's damping D = a M + b K, 1/s and s.

    Returns
    -------
    callable
        Speed of the crank (rad/s) → mechanism. All are made of the same bodies, so that reduced
        bases of the rod serve all speeds.

    Examples
    --------
    >>> from assembly.gallery import solid_slider_crank
    >>> turning = solid_slider_crank((6, 1, 1))
    >>> turning(50.0).bodies["rod"] is turning(60.0).bodies["rod"]
    True
    """
    mesh = block_mesh(*cells, element, size=(0.3, 0.02, 0.02), origin=(0.0, -0.01, -0.01))
    bodies = {
        "crank": rigid_body(0.5, (1e-4,) * 3, centre=(0.05, 0.0, 0.0), name="crank"),
        "rod": solid(mesh, steel, name="rod").with_damping(*damping),
        "slider": rigid_body(0.5, (1e-4,) * 3, name="slider"),
    }
    joints = [
        revolute("ground", (0, 0, 0), "crank", (0, 0, 0), axis=(0, 0, 1), name="A"),
        universal(
            "crank", (0.1, 0, 0), "rod", "x0", axis=(0, 0, 1), axis_second=(0, 1, 0), name="B"
        ),
        spherical("rod", "x1", "slider", (0, 0, 0), name="C"),
        prismatic("ground", (0, 0, 0), "slider", (0, 0, 0), axis=(1, 0, 0), name="D"),
    ]
    initial = {"rod": (0.1, 0, 0, 0, 0, 0), "slider": (0.4, 0, 0, 0, 0, 0)}

    def at_speed(speed: float) -> Mechanism:
        drive = [driver("A", speed)]
        return Mechanism(bodies, joints, drive, initial=initial, name="solid slider-crank")

    return at_speed


def block_mesh(
    nx: int,
    ny: int,
    nz: int,
    element: str = "hex8",
    size: Triple = (1.0, 0.2, 0.2),
    origin: Triple = (0.0, 0.0, 0.0),
) -> meshio.Mesh:
    """The mesh of `block`, with its faces as named node sets.

    Parameters
    ----------
    nx, ny, nz : int
        Number of bricks along each side.
    element : {"tet4", "tet10", "hex8", "hex20"}
        Kind of cell.
    size, origin : tuple of three float
        Sides and first corner, m.

    Returns
    -------
    meshio.Mesh
    """
    kind = _kind(element, 3)
    points, corners = _lattice((nx, ny, nz), size, origin)
    local = _KUHN if kind.startswith("tetra") else (_BRICK,)
    cells = np.concatenate([corners[:, _oriented(points, corners, c)] for c in local])
    return _mesh(points, cells, kind)


def sheet_mesh(
    nx: int,
    ny: int,
    element: str = "q4",
    size: tuple[float, float] = (1.0, 0.2),
    origin: tuple[float, float] = (0.0, 0.0),
) -> meshio.Mesh:
    """The mesh of `sheet`, with its edges as named node sets x0, x1, y0, y1.

    Parameters
    ----------
    nx, ny : int
        Number of quadrilaterals along each side.
    element : {"t3", "t6", "q4", "q8"}
        Kind of cell.
    size, origin : tuple of two float
        Sides and first corner, m.

    Returns
    -------
    meshio.Mesh
    """
    kind = _kind(element, 2)
    points, corners = _lattice((nx, ny), size, origin)
    local = ((0, 1, 3), (0, 3, 2)) if kind.startswith("triangle") else ((0, 1, 3, 2),)
    cells = np.concatenate([corners[:, list(c)] for c in local])
    return _mesh(points, cells, kind)


def _kind(element: str, dimension: int) -> str:
    labels = [label for label, kind in ELEMENTS.items() if CELLS[kind].dimension == dimension]
    if element not in labels:
        raise InputError(f"element: expected one of {', '.join(labels)}, got {element!r}")
    return ELEMENTS[element]


def _lattice(
    counts: tuple[int, ...], size: tuple[float, ...], origin: tuple[float, ...]
) -> tuple[Array, Index]:
    """Nodes (N, d), the last direction counted fastest, and the 2^d corners of every brick."""
    if min(counts) < 1 or min(size) <= 0.0:
        raise InputError(
            f"a block needs at least one cell and a positive length each way: {counts}, {size}"
        )
    axes = [
        o + s * np.linspace(0.0, 1.0, n + 1) for n, s, o in zip(counts, size, origin, strict=True)
    ]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(counts))
    number = np.arange(len(points)).reshape([n + 1 for n in counts])
    corners = []
    for bits in range(2 ** len(counts)):
        window = tuple(
            slice(b, b + n) for n, b in ((n, bits >> k & 1) for k, n in enumerate(counts))
        )
        corners.append(number[window].ravel())
    return points, np.stack(corners, axis=1)


def _oriented(points: Array, corners: Index, local: tuple[int, ...]) -> list[int]:
    """A tetrahedron's corners in the order of positive volume; bricks are as they are."""
    if len(local) != 4:
        return list(local)
    X = points[corners[0, list(local)]]
    a, b, c, d = local
    return [a, b, c, d] if np.linalg.det(X[1:] - X[0]) > 0.0 else [a, c, b, d]


def _mesh(points: Array, cells: Index, kind: str) -> meshio.Mesh:
    """With mid-edge nodes where the kind has them, and the faces of the box as node sets."""
    edges = np.array(CELLS[kind].edges, dtype=np.intp)
    if len(edges):
        ends = np.sort(cells[:, edges].reshape(-1, 2), axis=1)
        unique, inverse = np.unique(ends, axis=0, return_inverse=True)
        middles = len(points) + inverse.reshape(len(cells), len(edges))
        cells = np.hstack([cells, middles])
        points = np.vstack([points, points[unique].mean(axis=1)])
        points, cells = _by_position(points, cells)
    low, high = points.min(axis=0), points.max(axis=0)
    tolerance = 1e-9 * (high - low).max()
    sets = {}
    for k, axis in enumerate("xyz"[: points.shape[1]]):
        for end, value in (("0", low[k]), ("1", high[k])):
            sets[axis + end] = np.flatnonzero(np.abs(points[:, k] - value) < tolerance)
    return meshio.Mesh(points, [(kind, cells)], point_sets=sets)


def _by_position(points: Array, cells: Index) -> tuple[Array, Index]:
    """Nodes renumbered along x, then y, then z: neighbours in space are neighbours in number."""
    order = np.lexsort(np.round(points / np.ptp(points, axis=0).max(), 9).T[::-1])
    return points[order], np.argsort(order)[cells]
