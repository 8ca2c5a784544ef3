"""Random machines whose matrices are derived here: no assembly of the package takes part.

Every kind is a function of a random generator that gives one Machine. Units are SI; the sizes of
mass, stiffness and damping are drawn over several orders.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg as la
from numpy.random import Generator
from numpy.typing import NDArray

from assembly.system.frozen import FrozenSystem
from tests.support.machines import Machine, spread

Array = NDArray[np.float64]


def definite(rng: Generator, n: int, condition: float = 1e3) -> Array:
    """A random symmetric positive definite matrix, (n, n)."""
    Q = la.qr(rng.standard_normal((n, n)))[0]
    A = (Q * np.exp(rng.uniform(0.0, np.log(condition), n))) @ Q.T
    return 0.5 * (A + A.T)


def skew(rng: Generator, n: int) -> Array:
    A = rng.standard_normal((n, n))
    return A - A.T


def balanced(rng: Generator, M: Array, K: Array) -> float:
    """A damping coefficient that gives ratios of 1e-4 to 0.3, N·s/m for each kg."""
    return spread(rng, 1e-4, 0.3) * float(np.sqrt(np.median(np.diag(K) / np.diag(M))))


def body_on_springs(rng: Generator) -> Machine:
    """A rigid body with a spinning flywheel on springs and dashpots; some of them negative."""
    mass = spread(rng, 0.1, 1e4)
    inertia = mass * definite(rng, 3, 20.0) * spread(rng, 1e-3, 1e-1)
    M = la.block_diag(mass * np.eye(3), inertia)
    K, D, N = np.zeros((6, 6)), np.zeros((6, 6)), np.zeros((6, 6))
    k = mass * spread(rng, 1e1, 1e6)
    for _ in range(int(rng.integers(6, 14))):
        b, other = (_line(rng) for _ in range(2))
        K += k * spread(rng, 0.1, 10.0) * np.outer(b, b)
        c = spread(rng, 1e-3, 1e-1) * np.sqrt(k * mass)
        D += (c if rng.random() > 0.05 else -0.5 * c) * np.outer(b, b)
        if rng.random() < 0.15:  # friction that couples two directions
            N += k * spread(rng, 1e-4, 1e-1) * (np.outer(b, other) - np.outer(other, b))
    softening = -k * rng.choice([0.0, 0.0, 0.1, 1.0]) * definite(rng, 6, 10.0) * 0.1
    spin = spread(rng, 1.0, 1e3) * 0.1 * float(np.trace(inertia))
    C = np.zeros((6, 6))
    C[3:, 3:] = spin * np.cross(np.eye(3), _unit(rng))
    return Machine(FrozenSystem(M=M, C=C, D=D, K=K, K_G=softening, K_D=N))


def _unit(rng: Generator) -> Array:
    v = rng.standard_normal(3)
    return np.asarray(v / np.linalg.norm(v))


def _line(rng: Generator) -> Array:
    """The direction and moment of the line of a spring at a random point, (6,)."""
    direction = _unit(rng)
    return np.concatenate([direction, np.cross(rng.uniform(-0.5, 0.5, 3), direction)])


def jeffcott(rng: Generator) -> Machine:
    """A disc on a shaft, internal and external damping, journals of negligible mass on films.

    Unknowns: disc y, z; journal y, z. Internal damping c_i (q̇ − Ω t × q); film stiffness
    [[k, cκ], [−cκ, k]] with damping c and κ near Ω/2.
    """
    m, k = spread(rng, 1.0, 1e3), 1.0
    k = m * spread(rng, 1e3, 1e6)
    journal = m * spread(rng, 1e-3, 0.2)
    spin = np.sqrt(k / m) * spread(rng, 0.2, 5.0)
    inner, outer, film = (spread(rng, 1e-5, 1e-1) * np.sqrt(k * m) for _ in range(3))
    film *= 10.0
    ratio = rng.uniform(0.3, 0.55)
    own = film * spin * rng.choice([0.0, 0.1, 1.0])
    I2, J = np.eye(2), np.array([[0.0, 1.0], [-1.0, 0.0]])
    relative = np.array([[1.0, -1.0], [-1.0, 1.0]])
    first, last = np.diag([1.0, 0.0]), np.diag([0.0, 1.0])
    M = np.kron(np.diag([m, journal]), I2)
    K = np.kron(k * relative + own * last, I2)
    D = np.kron(inner * relative + outer * first + film * last, I2)
    N = np.kron(inner * spin * relative + film * ratio * spin * last, J)
    return Machine(FrozenSystem(M=M, D=D, K=K, K_D=N))


def pendulum_chain(rng: Generator) -> Machine:
    """Ziegler's pendulum with 2 to 6 links: random masses, springs, dampers and follower load.

    With angles φ_i: kinetic energy ½ Σ m_j (Σ_{i≤j} l_i φ̇_i)², springs ½ Σ k_i (φ_i − φ_{i−1})²,
    and a load P along the last link, whose generalized force is P l_i (φ_i − φ_n).
    """
    n = int(rng.integers(2, 7))
    length = np.exp(rng.uniform(-0.5, 0.5, n))
    masses = np.exp(rng.uniform(-1.5, 1.5, n)) * spread(rng, 0.1, 1e2)
    arms = np.tril(np.ones((n, n))) * length
    M = arms.T @ np.diag(masses) @ arms
    joints = np.eye(n) - np.eye(n, k=-1)
    stiffness = spread(rng, 1.0, 1e5) * np.exp(rng.uniform(-0.5, 0.5, n))
    K = joints.T @ np.diag(stiffness) @ joints
    load = spread(rng, 0.1, 8.0) * stiffness.mean() / length.mean()
    P = -load * np.diag(length)
    P[:, -1] += load * length
    c = balanced(rng, M, K) * M.max() * rng.choice([0.0, 0.01, 1.0])
    D = joints.T @ np.diag(c * rng.random(n)) @ joints
    if rng.random() < 0.5:
        D = D + 0.1 * c * M / M.max()
    return Machine(FrozenSystem(M=M, D=0.5 * (D + D.T), K=K, K_D=P))


def column(rng: Generator) -> Machine:
    """Beck's, Leipholz's or a partly following load on a cantilever, in sine-like polynomials.

    Ritz functions x²…x^(n+1) on (0, 1), made orthonormal. ẅ + w'''' + p (a(x) w')' − η p w'(1) at
    the end: the axial force is p a(x); η = 1 follows, η = 0 is Euler's load.
    """
    n = int(rng.integers(4, 9))
    points, weights = np.polynomial.legendre.leggauss(40)
    x, weights = 0.5 * (points + 1.0), 0.5 * weights
    power = np.arange(2, n + 2)
    w = x[:, None] ** power
    w1, w2 = power * x[:, None] ** (power - 1), power * (power - 1) * x[:, None] ** (power - 2)
    mass = w.T @ (weights[:, None] * w)
    bending = w2.T @ (weights[:, None] * w2)
    spread_load = rng.random() < 0.5  # Leipholz: p (1 − x), following everywhere
    axial = (1.0 - x) if spread_load else np.ones_like(x)
    compression = w1.T @ ((weights * axial)[:, None] * w1)
    following = w.T @ (weights[:, None] * w1) if spread_load else np.outer(np.ones(n), power)
    p = spread(rng, 0.5, 80.0) if spread_load else spread(rng, 0.2, 40.0)
    share = rng.choice([1.0, 1.0, rng.uniform(0.0, 1.0)])
    load = p * (share * following - compression)
    squares, U = la.eigh(bending, mass)
    external, internal = (spread(rng, 1e-4, 1.0) * rng.choice([0.0, 1.0]) for _ in range(2))
    D = external * np.eye(n) + internal * 1e-2 * np.diag(squares)
    return Machine(FrozenSystem(M=np.eye(n), D=D, K=np.diag(squares), K_D=U.T @ load @ U))


def full_damping(rng: Generator) -> Machine:
    """Random matrices with damping everywhere."""
    n = int(rng.integers(2, 9))
    M, K = definite(rng, n, 30.0), definite(rng, n, spread(rng, 10.0, 1e6))
    d = balanced(rng, M, K)
    D = d * definite(rng, n, 30.0)
    C = d * skew(rng, n) * spread(rng, 0.1, 100.0)
    N = d * skew(rng, n) * spread(rng, 1e-2, 3.0) * np.sqrt(np.diag(K).min())
    return Machine(FrozenSystem(M=M, C=C, D=D, K=K, K_D=N))


def local_damping(rng: Generator) -> Machine:
    """Dampers on a few unknowns, with circulatory forces on the same ones."""
    n = int(rng.integers(4, 9))
    M, K = definite(rng, n, 30.0), definite(rng, n, spread(rng, 10.0, 1e4))
    few = int(rng.integers(2, n))
    d = balanced(rng, M, K)
    D, N = np.zeros((n, n)), np.zeros((n, n))
    D[:few, :few] = d * definite(rng, few, 10.0)
    N[:few, :few] = d * skew(rng, few) * spread(rng, 1e-2, 3.0) * np.sqrt(np.diag(K).min())
    C = d * skew(rng, n) * rng.choice([0.0, 1.0, 30.0])
    return Machine(FrozenSystem(M=M, C=C, D=D, K=K, K_D=N))


def gyroscopic(rng: Generator) -> Machine:
    """An unstable equilibrium that gyroscopic forces may hold, with damping or none."""
    half = int(rng.integers(1, 5))
    n = 2 * half
    M = definite(rng, n, 5.0)
    K = definite(rng, n, 30.0)
    K -= (
        spread(rng, 0.5, 2.0)
        * la.eigvalsh(K)[-1]
        * (np.eye(n) if rng.random() < 0.7 else definite(rng, n, 3.0))
    )
    C = np.kron(np.eye(half), np.array([[0.0, 1.0], [-1.0, 0.0]])) * spread(rng, 0.5, 8.0)
    C = C * np.sqrt(np.abs(np.diag(K)).max() * np.diag(M).max())
    D = np.zeros((n, n)) if rng.random() < 0.6 else 1e-3 * np.abs(C).max() * definite(rng, n, 10.0)
    return Machine(FrozenSystem(M=M, C=C, D=D, K=K))


def doubled(rng: Generator) -> Machine:
    """Two or three equal machines in one, hidden by a rotation: every eigenvalue is multiple."""
    one = full_damping(rng).system if rng.random() < 0.5 else gyroscopic(rng).system
    count = int(rng.integers(2, 4)) if one.n <= 4 else 2
    T = np.kron(la.qr(rng.standard_normal((count, count)))[0], np.eye(one.n))
    parts = {
        name: _turned(T, np.kron(np.eye(count), getattr(one, name).toarray())) for name in one.parts
    }
    return Machine(FrozenSystem(**parts))


def _turned(T: Array, A: Array) -> Array:
    """TᵀAT, exactly symmetric or skew where A is."""
    B = T.T @ A @ T
    kind = 1.0 if np.array_equal(A, A.T) else -1.0 if np.array_equal(A, -A.T) else 0.0
    return B if kind == 0.0 else 0.5 * (B + kind * B.T)


def free_body(rng: Generator) -> Machine:
    """Masses on a line and across it, springs between them only: two rigid translations.

    Internal damping, and forces between the masses that are circulatory.
    """
    count = int(rng.integers(2, 5))
    masses = np.exp(rng.uniform(-1.0, 1.0, count))
    K, D, N = (np.zeros((2 * count, 2 * count)) for _ in range(3))
    J = np.array([[0.0, 1.0], [-1.0, 0.0]])
    for i in range(count - 1):
        b = np.zeros((2, 2 * count))
        b[:, 2 * i : 2 * i + 2], b[:, 2 * i + 2 : 2 * i + 4] = -np.eye(2), np.eye(2)
        k = spread(rng, 10.0, 1e4)
        c = spread(rng, 1e-3, 1.0) * np.sqrt(k)
        K += k * b.T @ np.diag([1.0, spread(rng, 0.3, 3.0)]) @ b
        D += c * b.T @ b
        N += c * spread(rng, 0.1, 3.0) * np.sqrt(k) * b.T @ J @ b
    rigid = np.tile(np.eye(2), (count, 1))
    system = FrozenSystem(M=np.diag(np.repeat(masses, 2)), D=D, K=K, K_D=N, rigid=rigid)
    return Machine(system, zeros=4)


def rocket(rng: Generator) -> Machine:
    """A free beam under a thrust that follows its end: Beal's flutter, at 109.7 EI/L² undamped.

    Legendre polynomials on (0, 1), orthonormal in the mass. The axial force is p x.
    """
    n = int(rng.integers(7, 10))
    points, weights = np.polynomial.legendre.leggauss(40)
    x, weights = 0.5 * (points + 1.0), 0.5 * weights
    basis = [
        np.polynomial.Legendre.basis(j, [0.0, 1.0]) * float(np.sqrt(2.0 * j + 1.0))
        for j in range(n)
    ]
    slopes, curvatures = (np.array([f.deriv(d)(x) for f in basis]) for d in (1, 2))
    bending = (curvatures * weights) @ curvatures.T
    end = np.outer([f(1.0) for f in basis], [f.deriv()(1.0) for f in basis])
    load = spread(rng, 5.0, 250.0) * (end - (slopes * weights * x) @ slopes.T)
    D = spread(rng, 1e-6, 1e-2) * rng.choice([0.0, 1.0]) * bending
    bending, D = (0.5 * (A + A.T) for A in (bending, D))
    system = FrozenSystem(M=np.eye(n), D=D, K=bending, K_D=load, rigid=np.eye(n)[:, :2])
    return Machine(system, zeros=4)


def overdamped(rng: Generator) -> Machine:
    """Damping of many times the critical: real eigenvalues many orders apart; some diverge."""
    n = int(rng.integers(2, 7))
    M, K = definite(rng, n, 10.0), definite(rng, n, 1e4)
    D = spread(rng, 3.0, 1e3) * np.sqrt(la.eigvalsh(K)[-1]) * definite(rng, n, 10.0)
    if rng.random() < 0.4:
        K -= la.eigvalsh(K)[0] * spread(rng, 0.5, 20.0) * np.eye(n)
    return Machine(FrozenSystem(M=M, D=D, K=K))


DERIVED: dict[str, Callable[[Generator], Machine]] = {
    "bodies on springs": body_on_springs,
    "Jeffcott rotors on films": jeffcott,
    "pendulums, follower load": pendulum_chain,
    "columns, follower load": column,
    "damping everywhere": full_damping,
    "dampers on some unknowns": local_damping,
    "gyroscopic stabilization": gyroscopic,
    "multiple eigenvalues": doubled,
    "free bodies": free_body,
    "rockets": rocket,
    "overdamped": overdamped,
}
