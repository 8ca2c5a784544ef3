"""Random machines of 40 to 160 unknowns: the way that large systems take leaves modes out."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from assembly.system.frozen import PARTS, FrozenSystem
from benchmarks.verdict_machines import definite, skew
from benchmarks.verdict_models import rotor, turning_beam
from benchmarks.verdict_variants import OFFSETS, growth
from tests.support.machines import Machine, spread

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
    K, D, N, C = (
        np.kron(bend, np.eye(2)),
        b * np.kron(bend, np.eye(2)),
        b * spin * np.kron(bend, J),
        np.zeros((2 * n, 2 * n)),
    )
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
    """Such a shaft with its circulatory forces scaled to the boundary of stability, nearly."""
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


def rocket(rng: Generator) -> Machine:
    """A free beam of Hermite elements under a thrust that follows its end, damped inside."""
    count = int(rng.integers(20, 45))
    n, h = 2 * count + 2, 1.0 / count
    points, weights = np.polynomial.legendre.leggauss(5)
    s, weights = 0.5 * (points + 1.0), 0.5 * h * weights
    w = np.array(
        [1 - 3 * s**2 + 2 * s**3, h * (s - 2 * s**2 + s**3), 3 * s**2 - 2 * s**3, h * (s**3 - s**2)]
    )
    w1 = (
        np.array(
            [
                -6 * s + 6 * s**2,
                h * (1 - 4 * s + 3 * s**2),
                6 * s - 6 * s**2,
                h * (3 * s**2 - 2 * s),
            ]
        )
        / h
    )
    w2 = np.array([-6 + 12 * s, h * (-4 + 6 * s), 6 - 12 * s, h * (6 * s - 2)]) / h**2
    M, K, G = (np.zeros((n, n)) for _ in range(3))
    for e in range(count):
        at = slice(2 * e, 2 * e + 4)
        M[at, at] += (w * weights) @ w.T
        K[at, at] += (w2 * weights) @ w2.T
        G[at, at] += (w1 * (weights * (e + s) * h)) @ w1.T
    load = -G
    load[n - 2, n - 1] += 1.0
    M, K = (0.5 * (A + A.T) for A in (M, K))
    scale = spread(rng, 0.1, 1e4)
    nodes = np.linspace(0.0, 1.0, count + 1)
    rigid = np.zeros((n, 2))
    rigid[::2, 0], rigid[::2, 1], rigid[1::2, 1] = 1.0, nodes, 1.0
    D = spread(rng, 1e-7, 1e-3) * np.sqrt(scale) * K
    system = FrozenSystem(
        M=M, D=D, K=scale * K, K_D=scale * spread(rng, 5.0, 250.0) * load, rigid=rigid
    )
    return Machine(system, zeros=4)


def free_shaft(rng: Generator) -> Machine:
    """A shaft that nothing holds, internal damping that turns; a gyroscope or a brake on it."""
    n = int(rng.integers(25, 60))
    L = (np.eye(n, k=1) - 2.0 * np.eye(n) + np.eye(n, k=-1))[1:-1] * n**2
    bend = spread(rng, 1e2, 1e5) * (L.T @ L)
    bend = 0.5 * (bend + bend.T)
    b, spin = spread(rng, 1e-8, 1e-4), spread(rng, 1.0, 1e4)
    M = np.diag(np.repeat(np.exp(rng.uniform(-0.3, 0.3, n)), 2))
    K, D, N = np.kron(bend, np.eye(2)), b * np.kron(bend, np.eye(2)), b * spin * np.kron(bend, J)
    C = np.zeros_like(M)
    at = slice(2 * (n // 3), 2 * (n // 3) + 2)
    kind = int(rng.integers(0, 3))
    C[at, at] += spread(rng, 0.1, 10.0) * J * (kind == 1)
    D[at, at] += spread(rng, 0.1, 10.0) * np.eye(2) * (kind == 2)
    place = np.linspace(0.0, 1.0, n)
    rigid = np.kron(np.column_stack([np.ones(n), place]), np.eye(2))
    system = FrozenSystem(M=M, C=C, D=D, K=K, K_D=N, rigid=rigid)
    return Machine(system, zeros=8)  # or as slow as the gyroscope and the brake make them


LARGER = {
    "free shafts": free_shaft,
    "rockets": rocket,
    "shafts on films": chain,
    "near a boundary": near_boundary,
    "random matrices": random_matrices,
    "rotors": lambda rng: rotor(rng, int(rng.integers(12, 30))),
    "turning beams": lambda rng: turning_beam(rng, int(rng.integers(8, 20))),
}
