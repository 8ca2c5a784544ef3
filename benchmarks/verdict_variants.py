"""Machines made harder: next to a stability boundary, next to a defective pair, in other units."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
from numpy.random import Generator
from numpy.typing import NDArray

from assembly.system.frozen import PARTS, FrozenSystem
from benchmarks.verdict_machines import DERIVED, definite, skew
from tests.support.machines import Machine, spread

Array = NDArray[np.float64]

OFFSETS = (1e-2, 1e-4, 1e-6, 1e-8)  # relative distances of the boundary
WITH_LOAD = (
    "bodies on springs", "Jeffcott rotors on films", "pendulums, follower load",
    "columns, follower load", "damping everywhere", "dampers on some unknowns",
)  # fmt: skip


def growth(system: FrozenSystem) -> float:
    """The largest Re λ by LAPACK, 1/s."""
    M, C, K = (A.toarray() for A in (system.M, system.damping, system.stiffness))
    n = len(M)
    lower = -la.solve(M, np.hstack([K, C]))
    return float(la.eigvals(np.vstack([np.eye(n, 2 * n, n), lower])).real.max())


def on_the_boundary(rng: Generator) -> Machine:
    """Circulatory forces scaled nearly to a boundary of stability, which bisection finds."""
    for _ in range(40):
        system = DERIVED[str(rng.choice(WITH_LOAD))](rng).system
        load = system.K_D

        def at(factor: float, system: FrozenSystem = system, load: Array = load) -> FrozenSystem:
            return system.only(*PARTS, K_D=factor * load)

        low, high = 1e-3, 1e3
        if not growth(at(low)) < 0.0 < growth(at(high)):
            continue
        for _ in range(70):
            middle = np.sqrt(low * high)
            low, high = (low, middle) if growth(at(middle)) > 0.0 else (middle, high)
        off = float(rng.choice(OFFSETS)) * rng.choice([-1.0, 1.0])
        return Machine(at(high * (1.0 + off)))
    return Machine(system)


def near_defective(rng: Generator) -> Machine:
    """Two frequencies about to coalesce under a circulatory force, hidden among others.

    diag(a, a + δ) with ±n beside it has λ² = −a − δ/2 ± √(δ²/4 − n²): flutter for n > δ/2.
    """
    n = int(rng.integers(2, 8))
    a = spread(rng, 1.0, 1e4)
    gap = a * spread(rng, 1e-4, 0.5)
    force = 0.5 * gap * (1.0 + float(rng.choice(OFFSETS)) * rng.choice([-1.0, 1.0]))
    K = np.diag(np.concatenate([[a, a + gap], a * np.exp(rng.uniform(1.0, 4.0, n - 2))]))
    N = np.zeros((n, n))
    N[0, 1], N[1, 0] = force, -force
    d = float(rng.choice([0.0, 1e-8, 1e-4, 1e-2])) * np.sqrt(a)
    T = la.qr(rng.standard_normal((n, n)))[0] @ np.diag(np.exp(rng.uniform(-1.0, 1.0, n)))
    M, D, K = (T.T @ A @ T for A in (np.eye(n), d * np.eye(n), K))
    N = T.T @ N @ T
    M, D, K = (0.5 * (A + A.T) for A in (M, D, K))
    return Machine(FrozenSystem(M=M, D=D, K=K, K_D=0.5 * (N - N.T)))


def stiff_and_soft(rng: Generator) -> Machine:
    """Pairs of masses linked stiffly on soft springs, with weak cross coupling and damping."""
    half = int(rng.integers(1, 3))
    n = 2 * (half + 1)
    link = np.array([[1.0, -1.0], [-1.0, 1.0]])
    hard, soft = spread(rng, 1e4, 1e12), spread(rng, 0.1, 10.0)
    K = np.kron(np.eye(half + 1), hard * link) + soft * np.diag(np.tile([1.0, 0.0], half + 1))
    N, D = np.zeros((n, n)), np.zeros((n, n))
    N[::2, ::2] = soft * spread(rng, 1e-5, 0.5) * skew(rng, half + 1)
    D[::2, ::2] = np.sqrt(soft) * spread(rng, 1e-4, 0.1) * definite(rng, half + 1, 3.0)
    if rng.random() < 0.5:
        D += np.kron(np.eye(half + 1), spread(rng, 1e-8, 1e-3) * np.sqrt(hard) * link)
    return Machine(FrozenSystem(M=np.eye(n), D=D, K=K, K_D=N))


def weak_negative_damping(rng: Generator) -> Machine:
    """Strong damping of most motions beside a little negative damping of one."""
    n = int(rng.integers(2, 8))
    Q = la.qr(rng.standard_normal((n, n)))[0]
    d = np.exp(rng.uniform(-3.0, 3.0, n)) * spread(rng, 1.0, 1e4)
    d[0] = spread(rng, 1e-6, 1e-2) * rng.choice([-1.0, 1.0])
    D, K = ((Q * v) @ Q.T for v in (d, np.exp(rng.uniform(0.0, 3.0, n))))
    return Machine(FrozenSystem(M=np.eye(n), D=0.5 * (D + D.T), K=0.5 * (K + K.T)))


def in_other_units(rng: Generator, machine: Machine) -> Machine:
    """The same machine, its unknowns permuted, in units up to 1e4 apart, in another time unit."""
    system = machine.system
    n = system.n
    factor = 2.0 ** rng.integers(-13, 14, n)  # powers of two: no entry is rounded
    order = rng.permutation(n)
    time, mass = 2.0 ** rng.integers(-12, 13), 2.0 ** rng.integers(-20, 21)
    parts = {}
    for name in PARTS:
        power = 0 if name == "M" else 1 if name in ("C", "D") else 2
        A = getattr(system, name).toarray() * np.outer(factor, factor) * (mass * time**power)
        parts[name] = A[np.ix_(order, order)]
    rigid = (system.rigid / factor[:, None])[order]
    prescribed = tuple(time * value for value in machine.prescribed)
    return Machine(FrozenSystem(**parts, rigid=rigid), machine.zeros, prescribed)


HARDER = {
    "near a boundary": on_the_boundary,
    "nearly defective": near_defective,
    "stiff beside soft": stiff_and_soft,
    "weak negative damping": weak_negative_damping,
}
