"""Machines of 300 to 1,500 unknowns: negative damping at one place, films and follower forces.

No box bounds the frequency of what grows here: all modes are needed.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.random import Generator

from assembly.system.frozen import FrozenSystem
from tests.support.machines import Machine, spread

J = np.array([[0.0, 1.0], [-1.0, 0.0]])


def row_of_masses(rng: Generator, n: int) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """M and K (n, n) of masses in a row on springs and on the ground, sizes over e²."""
    masses, links = np.exp(rng.uniform(-1.0, 1.0, n)), np.exp(rng.uniform(-1.0, 1.0, n + 1))
    scale = spread(rng, 1e2, 1e6)
    diagonal = links[1:] + links[:-1] + spread(rng, 1e-3, 1.0)
    K = sp.diags([diagonal, -links[1:-1], -links[1:-1]], [0, 1, -1])
    return sp.csr_matrix(sp.diags(masses)), sp.csr_matrix(scale * K)


def negative_damper(rng: Generator, low: int = 310, high: int = 560) -> Machine:
    """Rayleigh damping, and a damper that supplies energy at one or two places."""
    n = int(rng.integers(low, high))
    M, K = row_of_masses(rng, n)
    omega = float(np.sqrt(np.median(K.diagonal() / M.diagonal())))
    ratio = spread(rng, 1e-4, 3e-2)
    d = np.zeros(n)
    at = rng.choice(n, int(rng.integers(1, 3)), replace=False)
    d[at] = -spread(rng, 0.5, 50.0) * ratio * omega * M.diagonal()[at]
    share = rng.random()
    D = 2.0 * ratio * (share * omega * M + (1.0 - share) / omega * K) + sp.diags(d)
    return Machine(FrozenSystem(M=M, D=sp.csr_matrix(D), K=K))


def follower_force(rng: Generator, low: int = 310, high: int = 1500) -> Machine:
    """Circulatory forces between neighbours that no damper holds; dampers elsewhere."""
    n = int(rng.integers(low, high))
    M, K = row_of_masses(rng, n)
    omega = float(np.sqrt(np.median(K.diagonal() / M.diagonal())))
    d = np.where(rng.random(n) < 0.5, spread(rng, 1e-3, 3e-2) * omega * M.diagonal(), 0.0)
    i = int(rng.integers(0, n - 1))
    d[i : i + 2] = 0.0
    force = spread(rng, 1e-3, 1.0) * float(np.median(K.diagonal()))
    N = sp.csr_matrix(([force, -force], ([i, i + 1], [i + 1, i])), shape=(n, n))
    return Machine(FrozenSystem(M=M, D=sp.csr_matrix(sp.diags(d)), K=K, K_D=N))


def brake(rng: Generator, low: int = 310, high: int = 1500) -> Machine:
    """Dampers everywhere, and friction whose force falls with the speed on a patch of masses."""
    n = int(rng.integers(low, high))
    M, K = row_of_masses(rng, n)
    omega = float(np.sqrt(np.median(K.diagonal() / M.diagonal())))
    d = spread(rng, 1e-4, 1e-2) * omega * M.diagonal() * np.exp(rng.uniform(-1.0, 1.0, n))
    start, width = int(rng.integers(0, n - 20)), int(rng.integers(2, 20))
    d[start : start + width] *= -spread(rng, 0.1, 10.0)
    return Machine(FrozenSystem(M=M, D=sp.csr_matrix(sp.diags(d)), K=K))
