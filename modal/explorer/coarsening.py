"""Fewer triangles of a fine surface: nodes of a cell of a grid become one."""

from __future__ import annotations

import numpy as np

from modal.types import Array, Index


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
