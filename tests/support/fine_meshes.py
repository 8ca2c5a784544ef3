"""Fine meshes of slender beams: the stiffest element is many orders above the lowest modes.

The products of the matrices with a smooth shape cancel there, so that round-off moves an eigenvalue
by more than a basis leaves out.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.random import Generator

from assembly.system.frozen import FrozenSystem
from tests.support.machines import Machine, spread

J = np.array([[0.0, 1.0], [-1.0, 0.0]])
BECK = 20.05  # of EI/L²: Beck's load of flutter without damping


def hermite(elements: int, clamped: bool) -> tuple[sp.csr_matrix, sp.csr_matrix, sp.csr_matrix]:
    """M, K and the geometric matrix ∫w'² of a beam of unit length, mass and stiffness.

    Clamped at the start, or pinned at both ends. Deflection and slope of every node.
    """
    h, n = 1.0 / elements, 2 * elements + 2
    m = (h / 420.0) * np.array(
        [
            [156.0, 22.0 * h, 54.0, -13.0 * h],
            [22.0 * h, 4.0 * h * h, 13.0 * h, -3.0 * h * h],
            [54.0, 13.0 * h, 156.0, -22.0 * h],
            [-13.0 * h, -3.0 * h * h, -22.0 * h, 4.0 * h * h],
        ]
    )
    k = np.array(
        [
            [12.0, 6.0 * h, -12.0, 6.0 * h],
            [6.0 * h, 4.0 * h * h, -6.0 * h, 2.0 * h * h],
            [-12.0, -6.0 * h, 12.0, -6.0 * h],
            [6.0 * h, 2.0 * h * h, -6.0 * h, 4.0 * h * h],
        ]
    ) / (h**3)
    g = np.array(
        [
            [36.0, 3.0 * h, -36.0, 3.0 * h],
            [3.0 * h, 4.0 * h * h, -3.0 * h, -h * h],
            [-36.0, -3.0 * h, 36.0, -3.0 * h],
            [3.0 * h, -h * h, -3.0 * h, 4.0 * h * h],
        ]
    ) / (30.0 * h)
    rows = (2 * np.arange(elements)[:, None] + np.arange(4)).repeat(4, axis=1).ravel()
    columns = np.tile(2 * np.arange(elements)[:, None] + np.arange(4), (1, 4)).ravel()
    free = np.setdiff1d(np.arange(n), [0, 1] if clamped else [0, n - 2])
    full = (
        sp.csr_matrix((np.tile(a.ravel(), elements), (rows, columns)), shape=(n, n))
        for a in (m, k, g)
    )
    M, K, G = (A[free][:, free] for A in full)
    return M, K, G


def shaft(elements: int, mode: int, offset: float, b: float, c: float) -> FrozenSystem:
    """A shaft in rigid bearings, 4 × elements unknowns, at (1 + offset) of the onset of a mode.

    External damping c M, internal damping b K that turns with the shaft: mode j whirls unstably
    above Ω = ω_j + c/(b ω_j) (closed form).
    """
    M, K, _ = hermite(elements, clamped=False)
    omega = (np.pi * mode) ** 2
    spin = (omega + c / (b * omega)) * (1.0 + offset)
    M, K, cross = (
        sp.csr_matrix(sp.kron(A, B)) for A, B in ((M, np.eye(2)), (K, np.eye(2)), (K, J))
    )
    return FrozenSystem(M=M, D=c * M + b * K, K=K, K_D=(b * spin) * cross)


def column(elements: int, load: float, c: float) -> FrozenSystem:
    """Beck's column, 2 × elements unknowns, under load × its load of flutter, damping c M."""
    M, K, G = hermite(elements, clamped=True)
    n = M.shape[0]
    follower = sp.csr_matrix(([1.0], ([n - 2], [n - 1])), shape=(n, n))
    return FrozenSystem(M=M, D=c * M, K=K, K_D=(load * BECK) * (follower - G))


def fine_shaft(rng: Generator, low: int = 75, high: int = 330) -> Machine:
    """Such a shaft, at 0.1 to 1e-3 of its onset."""
    offset = spread(rng, 1e-3, 1e-1) * rng.choice([-1.0, 1.0])
    b = spread(rng, 1e-4, 1e-2)
    return Machine(shaft(int(rng.integers(low, high)), 1, offset, b, b * spread(rng, 1.0, 200.0)))


def fine_column(rng: Generator, low: int = 150, high: int = 300) -> Machine:
    """Such a column, near the load of flutter."""
    load = float(rng.uniform(0.7, 1.2))
    return Machine(column(int(rng.integers(low, high)), load, spread(rng, 1e-3, 0.3)))
