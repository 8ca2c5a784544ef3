"""One blade of rectangular section, swept and twisted, as beam elements and as a mesh of bricks."""

from __future__ import annotations

import meshio
import numpy as np

import assembly
from assembly import gallery
from assembly.bodies.blades import BladeTable, rigid_section_mass

LENGTH, ROOT = 0.5, 0.1


def axis_of(x: np.ndarray, sweep: float) -> np.ndarray:
    """The axis at a share x of the length: it curves in the plane of rotation."""
    return np.stack([ROOT + LENGTH * x, sweep * x**2, 0.0 * x], axis=-1)


def beam_blade(
    sweep: float, twist: float, width: float = 0.06, depth: float = 0.012, elements: int = 12
) -> assembly.Body:
    s = np.linspace(0.0, 1.0, elements + 1)
    section = assembly.rectangle(width, depth)
    K = np.linalg.inv(section.compliance(assembly.steel))
    rho = assembly.steel.rho
    M = rigid_section_mass(rho * section.A, 0.0, 0.0, rho * section.second_moments)
    n = (len(s), 1, 1)
    table = BladeTable(s, axis_of(s, sweep), twist * s, np.tile(K, n), np.tile(M, n))
    return assembly.blade(table, clamped="start")


def brick_blade(
    sweep: float,
    twist: float,
    width: float = 0.06,
    depth: float = 0.012,
    cells: tuple[int, int, int] = (12, 2, 1),
) -> assembly.Body:
    mesh = gallery.block_mesh(*cells, "hex20", (1.0, 1.0, 1.0), (0.0, -0.5, -0.5))
    x, y, z = mesh.points.T
    slope = np.stack([LENGTH + 0.0 * x, 2.0 * sweep * x, 0.0 * x], axis=-1)
    t = slope / np.linalg.norm(slope, axis=1, keepdims=True)
    up = np.array([0.0, 0.0, 1.0]) + 0.0 * t
    side = np.cross(up, t)
    angle = twist * x
    c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
    a, b = (y * width)[:, None], (z * depth)[:, None]
    points = axis_of(x, sweep) + a * (c * side + s * up) + b * (c * up - s * side)
    sets = {"root": np.flatnonzero(x < 1e-9)}
    return assembly.solid(
        meshio.Mesh(points, mesh.cells, point_sets=sets), assembly.steel, clamped="root"
    )
