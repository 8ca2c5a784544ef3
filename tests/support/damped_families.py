"""Seeded random damped systems with a positive definite stiffness, in five families."""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from assembly import FrozenSystem

FAMILIES = ("light", "heavy", "local", "circulatory", "repeated")


def damped_system(family: str, seed: int, largest: int = 200) -> FrozenSystem:
    """A chain of 30 to `largest` masses on springs, with the damping of a family.

    light: proportional, damping ratios of 1e-4 to 0.1. heavy: full matrices or proportional, ratios
    of 0.5 to 50, most modes overdamped. local: one to six dampers of any strength between masses or
    to the ground. circulatory: Coriolis and circulatory matrices, with a little damping. repeated:
    two or three equal systems, light or heavy, in unknowns that are mixed by a rotation.
    """
    random = np.random.default_rng([FAMILIES.index(family), seed])
    copies = int(random.integers(2, 4)) if family == "repeated" else 1
    n = int(30 * (largest / 30) ** random.random()) // copies
    mass = np.exp(random.uniform(-1.0, 1.0, n))
    stretch = _chain(np.exp(random.uniform(-2.0, 2.0, n)))
    bend = _chain(np.ones(n))
    K = stretch + random.choice([0.0, 0.1]) * bend @ bend
    M = np.diag(mass)
    omega = np.sqrt(la.eigvalsh(K, M))
    middle = float(np.sqrt(omega[0] * omega[min(n - 1, 10)]))
    parts = {}
    D = np.zeros((n, n))
    if family == "light" or (family == "repeated" and random.random() < 0.5):
        ratio = 10.0 ** random.uniform(-4.0, -1.0)
        share = random.random()
        D = 2.0 * ratio * (share * middle * M + (1.0 - share) / middle * K)
    elif family in ("heavy", "repeated"):
        ratio = 10.0 ** random.uniform(-0.3, 1.7)
        if random.random() < 0.5:
            D = 2.0 * ratio * (random.random() * middle * M + random.random() / middle * K)
        else:
            W = random.standard_normal((n, n)) * np.sqrt(mass)[:, None]
            D = 2.0 * ratio * middle * (W @ W.T) / n
    elif family == "local":
        for _ in range(int(random.integers(1, 7))):
            ends = np.zeros(n)
            ends[random.integers(n)] = 1.0
            ends[random.integers(n)] -= float(random.integers(0, 2))
            D += 10.0 ** random.uniform(-2.0, 3.0) * middle * np.outer(ends, ends)
    else:
        G, N = (_skew(random, n, np.sqrt(mass)) for _ in range(2))
        parts["C"] = 10.0 ** random.uniform(-2.0, 0.7) * middle * G
        parts["K_epsilon"] = 10.0 ** random.uniform(-3.0, 0.3) * middle**2 * N
        D = 10.0 ** random.uniform(-3.0, -0.5) * middle * M
    parts = {"M": M, "K": K, "D": D, **parts}
    if copies > 1:
        turn = la.qr(random.standard_normal((copies, copies)))[0]
        change = np.kron(np.eye(n), turn)
        parts = {name: change @ np.kron(A, np.eye(copies)) @ change.T for name, A in parts.items()}
        parts = {name: 0.5 * (A + A.T) for name, A in parts.items()}
    return FrozenSystem(**parts)


def _chain(springs: np.ndarray) -> np.ndarray:
    """Stiffness of masses in a row, the first spring to the ground."""
    K = np.diag(springs + np.append(springs[1:], 0.0))
    off = np.arange(len(springs) - 1)
    K[off, off + 1] = K[off + 1, off] = -springs[1:]
    return K


def _skew(random: np.random.Generator, n: int, weight: np.ndarray) -> np.ndarray:
    """A skew matrix of spectral norm about the largest of weight²."""
    W = random.standard_normal((n, n)) / np.sqrt(4.0 * n)
    return np.asarray((W - W.T) * weight * weight[:, None])
