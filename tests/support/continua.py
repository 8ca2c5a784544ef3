"""Distorted blocks and sheets of every kind of cell, for the tests of solids and plane elements."""

from __future__ import annotations

import meshio
import numpy as np
from numpy.typing import NDArray

import assembly
from assembly import gallery
from assembly.elements.reference import CELLS

SOLIDS = ("tet4", "tet10", "hex8", "hex20")
PLANES = ("t3", "t6", "q4", "q8")
FAMILIES = SOLIDS + PLANES


def distorted_mesh(element: str, amount: float = 0.15, seed: int = 0) -> meshio.Mesh:
    """Inner corner nodes moved at random, mid-edge nodes in the middle; the outside stays a box."""
    if element in SOLIDS:
        mesh = gallery.block_mesh(3, 2, 2, element, (0.6, 0.4, 0.3), (0.2, -0.1, 0.05))
    else:
        mesh = gallery.sheet_mesh(4, 3, element, (0.6, 0.4), (0.2, -0.1))
    points, (block,) = mesh.points.copy(), mesh.cells
    surface = np.unique(np.concatenate(list(mesh.point_sets.values())))
    inner = np.setdiff1d(np.arange(len(points)), surface)
    moves = np.random.default_rng(seed).uniform(-1.0, 1.0, points.shape)
    spacing = 0.6 / (3 if element in SOLIDS else 4)
    points[inner] += amount * spacing * moves[inner]
    corners = len(CELLS[block.type].corners)
    for k, (a, b) in enumerate(CELLS[block.type].edges):
        points[block.data[:, corners + k]] = points[block.data[:, [a, b]]].mean(axis=1)
    return meshio.Mesh(points, mesh.cells, point_sets=mesh.point_sets)


def body(
    element: str,
    amount: float = 0.15,
    *,
    material: assembly.Material = assembly.steel,
    clamped: str | None = None,
    pinned: list[int] | None = None,
    state: str = "stress",
) -> assembly.Body:
    mesh = distorted_mesh(element, amount)
    if element in SOLIDS:
        return assembly.solid(mesh, material, clamped=clamped, pinned=pinned)
    return assembly.plane(
        mesh, material, clamped=clamped, pinned=pinned, thickness=0.02, state=state
    )


def nearest(points: NDArray[np.float64], at: tuple[float, ...]) -> int:
    wanted = np.zeros(points.shape[1])
    wanted[: len(at)] = at
    return int(np.linalg.norm(points - wanted, axis=1).argmin())
