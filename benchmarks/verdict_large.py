"""Random machines of 40 to 160 unknowns: the way that large systems take leaves modes out."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from assembly.frozen import PARTS, FrozenSystem
from benchmarks.verdict_machines import Machine, definite, skew, spread
from benchmarks.verdict_models import rotor, turning_beam
from benchmarks.verdict_variants import OFFSETS, growth

Array = NDArray[np.float64]
J = np.array([[0.0, 1.0], [-1.0, 0.0]])


def chain(rng: Generator) -> Machine:
    """Masses along a line that move across it, y and z: a flexible shaft on films.

    Bending stiffness by second differences, internal damping b K with its circulatory b Ω K, films
    and gyroscopic discs at a few masses.
    """
    n = int(rng.integers(25, 70))
    h, L = 1.0 / n, np.eye(n, k=1) - 2.0 * np.eye(n) + np.eye(n, k=-1)
    bend = spread(rng, 1e2, 1e5) * (L.T @ L) / h**4
    spin, b = spread(rng, 1.0, 1e3), spread(rng, 1e-8, 1e-5) * rng.choice([0.0, 1.0])
    M = np.diag(np.repeat(np.exp(rng.uniform(-0.3, 0.3, n)), 2))
    K, D, N, C = np.kron(bend, np.eye(2)), b * np.kron(bend, np.eye(2)), b * spin * np.kron(bend, J), np.zeros((2 * n, 2 * n))
    for node in rng.choice(n, int(rng.integers(1, 4)), replace=False):
        at = slice(2 * node, 2 * node + 2)
        c = spread(rng, 1e-2, 1e2) / h
        K[at, at] += spread(rng, 1e1, 1e6) * definite(rng, 2, 4.0)
        D[at, at] += c * definite(rng, 2, 4.0)
        N[at, at] += c * rng.uniform(0.0, 0.7) * spin * J
        C[at, at] += spin * rng.uniform(0.0, 2.0) * J
    if rng.random() < 0.6:
        D += spread(rng, 1e-3, 1.0) * M
    return Machine(FrozenSystem(M=M, C=C, D=D, K=K, K_D=N))


def near_boundary(rng: Generator) -> Machine:
    """Such a shaft with its circulatory forces scaled to the boundary of stability, a little off."""
    for _ in range(20):
        system = chain(rng).system

        def at(factor: float, system: FrozenSystem = system) -> FrozenSystem:
            return system.only(*PARTS, K_D=factor * system.K_D)

        low, high = 1e-2, 1e2
        if not growth(at(low)) < 0.0 < growth(at(high)):
            continue
        for _ in range(40):
            middle = np.sqrt(low * high)
            low, high = (low, middle) if growth(at(middle)) > 0.0 else (middle, high)
        return Machine(at(high * (1.0 + float(rng.choice(OFFSETS)) * rng.choice([-1.0, 1.0]))))
    return Machine(system)


def random_matrices(rng: Generator) -> Machine:
    """Stiffness with a few soft directions, full or local damping, all forces of random shapes."""
    n = int(rng.integers(40, 90))
    M, K = definite(rng, n, 4.0), definite(rng, n, spread(rng, 1e2, 1e6))
    d = spread(rng, 1e-3, 1.0)
    D, N = d * definite(rng, n, 10.0), d * skew(rng, n) * spread(rng, 1e-3, 1.0)
    if rng.random() < 0.3:
        few = int(rng.integers(2, 12))
        D[few:], D[:, few:], N[few:], N[:, few:] = 0.0, 0.0, 0.0, 0.0
    C = d * skew(rng, n) * rng.choice([0.0, 0.3, 3.0])
    K = K + rng.choice([0.0, 0.0, -2.0]) * np.eye(n)
    return Machine(FrozenSystem(M=M, C=C, D=D, K=K, K_D=N))


LARGER = {
    "shafts on films": chain,
    "near a boundary": near_boundary,
    "random matrices": random_matrices,
    "rotors": lambda rng: rotor(rng, int(rng.integers(12, 30))),
    "turning beams": lambda rng: turning_beam(rng, int(rng.integers(8, 20))),
}
