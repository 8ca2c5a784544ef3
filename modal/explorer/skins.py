"""What is drawn of a body: a skin of triangles that moves with its nodes.

A vertex at arm a from its node is displaced by u + φ × a. Beams are drawn as prisms with the
bending stiffness of their sections, solids as their outer faces, other nodes as small cubes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assembly.bodies.body import Body
from assembly.magnitudes import ALIKE
from modal.exchange.shape_set import line_segments, outer_faces
from modal.types import Array, Index

THINNEST = 0.002  # of the size of the machine: half side of the thinnest beam that is drawn
MARK = 0.025  # of the size of the machine: half side of the cube that stands for a node


@dataclass(frozen=True)
class Skin:
    """The drawing of one body.

    Parameters
    ----------
    nodes : ndarray of int, shape (N,)
        Numbers of the body's nodes that the drawing uses.
    points : ndarray, shape (N, 3)
        Their positions in body axes, m.
    holder : ndarray of int, shape (V,)
        Which of these nodes each vertex moves with.
    arm : ndarray, shape (V, 3)
        From that node to the vertex, m.
    triangles : ndarray of int, shape (F, 3)
        Vertices of the triangles.
    edges : ndarray of int, shape (L, 2)
        Vertices of the lines.
    """

    nodes: Index
    points: Array
    holder: Index
    arm: Array
    triangles: Index
    edges: Index


Piece = tuple[Index, Array, Index, Index]  # node and arm of vertices; triangles; edges


def skin_of(
    body: Body, size: float, arms: Sequence[Array] = (), discs: Sequence[tuple[int, float]] = ()
) -> Skin:
    """The drawing of a body.

    Parameters
    ----------
    body : Body
        The body.
    size : float
        Size of the machine, m.
    arms : sequence of ndarray, shape (3,)
        Points, body axes, that a body of one node is drawn out to.
    discs : sequence of (int, float)
        Node and radius, m, of discs about body x.

    Returns
    -------
    Skin
    """
    X = body.dofs.coordinates
    pieces: list[Piece] = []
    lines = line_segments(body.cells)
    if len(lines):
        pieces.append(_prisms(X, lines, body.sections, THINNEST * size))
    pieces += [_faces(X, group) for group in outer_faces(body.cells)]
    drawn = np.unique(np.concatenate([np.zeros(0, dtype=np.intp), *(p[0] for p in pieces)]))
    if not pieces or len(X) == 1:
        drawn = np.arange(len(X))
        pieces += [_cube(node, MARK * size) for node in drawn]
        pieces += [_rod(end, 0.3 * MARK * size) for end in arms if np.any(end)]
    pieces += [_disc(node, radius) for node, radius in discs]
    holder, arm, triangles, edges = _joined(pieces)
    return Skin(drawn, X[drawn], np.searchsorted(drawn, holder), arm, triangles, edges)


def _joined(pieces: Sequence[Piece]) -> Piece:
    first = np.cumsum([0, *(len(p[0]) for p in pieces)])[:-1]
    return (
        np.concatenate([p[0] for p in pieces]),
        np.concatenate([p[1] for p in pieces]),
        np.concatenate([p[2] + n for p, n in zip(pieces, first, strict=True)]),
        np.concatenate([p[3] + n for p, n in zip(pieces, first, strict=True)]),
    )


def _prisms(X: Array, lines: Index, sections: Array, thinnest: float) -> Piece:
    """A prism between the two nodes of every line cell; ends are closed where a line ends."""
    uses = np.bincount(lines.ravel(), minlength=len(X))
    pieces = []
    for cell, half in zip(lines, sections, strict=True):
        outline = _outline(X[cell[1]] - X[cell[0]], half, thinnest)
        pieces.append(_prism(cell, outline, np.zeros((2, 3)), uses[cell] == 1))
    return _joined(pieces)


def _prism(nodes: Index | list[int], outline: Array, ends: Array, closed: Sequence[bool]) -> Piece:
    """A prism on an outline (c, 3), about two nodes or two points at `ends` (2, 3) from them;
    closed: whether it has a face at either end."""
    count = len(outline)
    a = np.arange(count)
    b = (a + 1) % count
    triangles = [np.stack([a, b, b + count], 1), np.stack([a, b + count, a + count], 1)]
    edges = [np.stack([a, a + count], 1)] if count == 4 else [np.zeros((0, 2), dtype=np.intp)]
    for end in np.flatnonzero(closed):
        ring = a[1:-1] + end * count
        fan = np.stack([np.full(count - 2, end * count), ring, ring + 1], 1)
        triangles.append(fan if end else fan[:, ::-1])
        edges.append(np.stack([a, b], 1) + end * count)
    arm = np.concatenate([outline + end for end in ends])
    return np.repeat(nodes, count), arm, np.concatenate(triangles), np.concatenate(edges)


def _outline(span: Array, half: Array, thinnest: float, corners: int = 10) -> Array:
    """Corners (c, 3) of a section about its node; four, or so many of a round one."""
    sides = np.linalg.norm(half, axis=1)
    if not np.all(sides > 0.0):  # of unknown section: round and thin
        t = span / (np.linalg.norm(span) or 1.0)
        first = np.cross(t, np.eye(3)[np.argmin(np.abs(t))])
        first /= np.linalg.norm(first)
        half = thinnest * np.stack([first, np.cross(t, first)])
        sides = np.full(2, thinnest)
    y, z = half * np.maximum(1.0, thinnest / sides)[:, None]
    if np.dot(np.cross(y, z), span) < 0.0:
        z = -z
    if abs(sides[0] - sides[1]) <= ALIKE * sides[0]:
        # The circle with the square's moment of area per area: r²/4 = (2h)²/12.
        return _circle(2.0 / np.sqrt(3.0) * y, 2.0 / np.sqrt(3.0) * z, corners)
    return np.stack([-y - z, y - z, y + z, -y + z])


def _circle(y: Array, z: Array, corners: int) -> Array:
    """Corners (c, 3) of a circle, or an ellipse, of two half axes."""
    turn = 2.0 * np.pi * np.arange(corners)[:, None] / corners
    return np.asarray(np.cos(turn) * y + np.sin(turn) * z)


def _faces(X: Array, faces: Index) -> Piece:
    """Triangles of the outer faces and the lines around them."""
    corners = faces.shape[1]
    triangles = np.concatenate([faces[:, [0, k, k + 1]] for k in range(1, corners - 1)])
    around = np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2)
    nodes = np.unique(faces)
    nodes, triangles, around = coarsened(X, nodes, triangles, around)
    edges = np.unique(np.sort(np.searchsorted(nodes, around), axis=1), axis=0)
    return nodes, np.zeros((len(nodes), 3)), np.searchsorted(nodes, triangles), edges


def _cube(node: int, half: float) -> Piece:
    """A cube about a node."""
    x, y, z = half * np.eye(3)
    outline = np.stack([-y - z, y - z, y + z, -y + z])
    return _prism([node, node], outline, np.stack([-x, x]), (True, True))


def _rod(end: Array, half: float) -> Piece:
    """A rigid rod from the only node, at the origin, to a point."""
    outline = _outline(end, np.zeros((2, 3)), half)
    return _prism([0, 0], outline, np.stack([0.0 * end, end]), (True, True))


def _disc(node: int, radius: float, corners: int = 28, width: float = 0.08) -> Piece:
    """A thin disc about body x that moves with a node.

    width: half its thickness as it is drawn, of its radius.
    """
    x, y, z = radius * np.eye(3)
    thick = width * np.stack([-x, x])
    return _prism([node, node], _circle(y, z, corners), thick, (True, True))


def coarsened(
    X: Array, nodes: Index, triangles: Index, lines: Index, most: int = 2000
) -> tuple[Index, Index, Index]:
    """A surface with at most so many nodes (sorted), its triangles and its lines.

    X (N, 3): positions of all nodes. nodes, triangles (F, 3) and lines (L, 2): numbers of nodes.
    The nodes that stay are nodes of the surface, the one nearest to the middle of each grid cell's.
    Triangles and lines that collapse are left out.
    """
    if len(nodes) <= most:
        return nodes, triangles, lines
    low, high = 1.0, float(np.sqrt(len(nodes) * 6.0))  # grid cells along the longest side
    best = _clusters(X[nodes], low)
    for _ in range(20):
        middle = 0.5 * (low + high)
        labels = _clusters(X[nodes], middle)
        if labels.max() + 1 <= most:
            low, best = middle, labels
        else:
            high = middle
    count = best.max() + 1
    sums = np.zeros((count, 3))
    np.add.at(sums, best, X[nodes])
    centre = sums / np.bincount(best)[:, None]
    off = np.linalg.norm(X[nodes] - centre[best], axis=1)
    order = np.lexsort((off, best))
    _, first = np.unique(best[order], return_index=True)
    chosen = nodes[order[first]]
    place = np.zeros(len(X), dtype=np.intp)
    place[nodes] = chosen[best]
    return np.unique(chosen), _whole(place[triangles]), _whole(place[lines])


def _clusters(X: Array, divisions: float) -> Index:
    """Number (N,) of the occupied grid cell of each point."""
    low = X.min(axis=0)
    size = float(np.ptp(X, axis=0).max()) / divisions
    cells = np.floor((X - low) / (size or 1.0)).astype(np.intp)
    return np.asarray(np.unique(cells, axis=0, return_inverse=True)[1]).ravel()


def _whole(simplices: Index) -> Index:
    """Those whose corners are different, each once."""
    ordered = np.sort(simplices, axis=1)
    _, first = np.unique(ordered, axis=0, return_index=True)
    keep = np.zeros(len(simplices), dtype=bool)
    keep[first] = True
    return np.asarray(simplices[keep & np.all(np.diff(ordered, axis=1) > 0, axis=1)])
