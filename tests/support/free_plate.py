"""A flexible plate that flies free, turns and vibrates."""

from __future__ import annotations

import meshio
import numpy as np
from numpy.typing import NDArray

import assembly

Array = NDArray[np.float64]


def free_plate() -> tuple[assembly.MovingBody, tuple[Array, Array]]:
    """A plate of rubber, 1 m × 0.2 m, in a frame at rest; displacements and velocities at 0.

    It turns at 8 rad/s and translates; ten per cent of its edge speed is vibration.
    """
    X, Y = np.meshgrid(np.linspace(0.0, 1.0, 3), [0.0, 0.2], indexing="ij")
    points = np.stack([X.ravel(), Y.ravel()], axis=1)
    cells = [("quad", np.array([[0, 2, 3, 1], [2, 4, 5, 3]]))]
    rubber = assembly.Material(E=2e6, nu=0.3, rho=1000.0)
    body = assembly.plane(meshio.Mesh(points, cells), rubber, thickness=0.2)
    x = points - points.mean(axis=0)
    v = 8.0 * np.stack([-x[:, 1], x[:, 0]], axis=1) + [0.1, 0.2]
    v[:, 1] += 0.5 * np.sin(3.0 * x[:, 0])
    v[:, 0] += 0.2 * x[:, 0]
    return assembly.moving(body, assembly.spin(0.0)), (np.zeros(body.size), v.ravel())
