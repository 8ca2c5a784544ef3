"""Random free bodies whose motion as a whole may grow, derived here from Lagrange's equations.

The frame turns at Ω about z, through the centre of mass, and nothing holds the body. Its masses are
points at x = r + δ₁ + δ₂, δ₁ and δ₂ of first and second order in the unknowns: small rotations θ of
the hub and displacements q in it. With T = ½ Σ m |ẋ + ω × x|² the second order of ẋ makes a total
derivative, and that of x the work of the centrifugal force F of the steady rotation.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg as la
from numpy.random import Generator
from numpy.typing import NDArray

import assembly
from assembly.system.frozen import FrozenSystem
from tests.support.machines import Machine, spread

Array = NDArray[np.float64]


def cross(v: Array) -> Array:
    """ṽ with ṽx = v × x."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def points(places: Array, masses: Array, spin: float) -> tuple[Array, Array, Array]:
    """M, C, K of masses fixed in a body that is turned by θ (3,) in a frame at `spin` about z.

    x = r + θ × r + ½ θ × (θ × r): T = ½ m |ẋ + ω × x|². K has the second order, −∂²T/∂θ².
    """
    w = np.array([0.0, 0.0, spin])
    M, C, K = (np.zeros((3, 3)) for _ in range(3))
    W = cross(w)
    for r, m in zip(places, masses, strict=True):
        B = -cross(r)  # δx = Bθ
        M += m * B.T @ B
        C += 2.0 * m * B.T @ W @ B
        # The force m ω²(x, y, 0) of the steady rotation works on ½ θ × (θ × r).
        F = -m * W @ W @ r
        second = 0.5 * (np.outer(F, r) + np.outer(r, F)) - (F @ r) * np.eye(3)
        K += m * B.T @ W @ W @ B - second
    return M, C, K


def hub(inertia: Array, spin: float) -> tuple[Array, Array, Array]:
    """The same of a rigid hub with principal inertias (3,), by six masses on its axes."""
    half = 0.5 * (inertia.sum() - 2.0 * inertia)  # Σ m x² along each axis
    places = np.vstack([np.eye(3), -np.eye(3)])
    return points(places, np.tile(0.5 * half, 2), spin)


def principal(rng: Generator) -> Array:
    """Principal inertias that a body can have, in any order."""
    half = np.exp(rng.uniform(-1.0, 1.0, 3))
    return np.asarray(half.sum() - half)


def free(
    M: Array, C: Array, K: Array, parts: dict[str, Array], rigid: Array, mass: float, spin: float
) -> FrozenSystem:
    """With the three translations, which nothing couples with the rest, in front."""
    w = cross(np.array([0.0, 0.0, spin]))
    translation = np.vstack([np.eye(3), np.zeros((len(M), 3))])
    blocks = {
        "M": la.block_diag(mass * np.eye(3), M),
        "C": la.block_diag(2.0 * mass * w, C),
        "K_omega2": la.block_diag(mass * w @ w, K),
    }
    blocks |= {name: la.block_diag(np.zeros((3, 3)), A) for name, A in parts.items()}
    turned = np.vstack([np.zeros((3, rigid.shape[1])), rigid])
    return FrozenSystem(**blocks, rigid=np.hstack([translation, turned]))


def intermediate_axis(rng: Generator) -> Machine:
    """A rigid body about any principal axis: Euler's λ² = −Ω²(C − A)(C − B)/(AB)."""
    spin = spread(rng, 1e-2, 1e3)
    M, C, K = hub(principal(rng) * spread(rng, 1e-2, 1e4), spin)
    system = free(M, C, K, {}, np.eye(3), spread(rng, 1.0, 1e4), spin)
    return Machine(system, prescribed=_of_body(spin))


def _of_body(spin: float) -> tuple[complex, ...]:
    """0 and ±iΩ of a free body: two translations and a turned body; the axis, and the spin."""
    return (0j,) * 4 + (1j * spin,) * 3 + (-1j * spin,) * 3


def energy_sink(rng: Generator) -> Machine:
    """A hub with damped masses on springs along the spin: the major-axis rule.

    A mass m at (x, y, 0) of the hub moves by q along z, spring k and damper c; an opposite one of
    the same mass keeps the centre of mass. Oblate hubs are stable, prolate ones tumble, as
    Explorer 1 did.
    """
    spin, count = spread(rng, 0.1, 100.0), int(rng.integers(1, 4))
    inertia = principal(rng)
    if rng.random() < 0.5:  # nearly symmetric, far from the boundary
        ratio = float(rng.choice([0.3, 0.6, 1.4, 1.8]))
        inertia = np.array([1.0, rng.uniform(0.95, 1.05), ratio])
        inertia[2] = min(ratio, 0.98 * inertia[:2].sum())
    size = spread(rng, 0.1, 1e4)
    inertia = inertia * size
    n = 3 + count
    M, C, K, stiffness, damping = (np.zeros((n, n)) for _ in range(5))
    for A, part in zip((M, C, K), hub(inertia, spin), strict=True):
        A[:3, :3] += part
    for j in range(count):
        m = 0.02 * size * spread(rng, 0.3, 1.0)
        angle = rng.uniform(0.0, 2.0 * np.pi)
        r = np.array([np.cos(angle), np.sin(angle), 0.0])
        pair = np.array([r, -r])
        for A, part in zip((M, C, K), points(pair, np.array([m, m]), spin), strict=True):
            A[:3, :3] += part
        # q e_z at r and −q e_z at −r: δ₁ = θ × r + q e_z, δ₂ has q θ × e_z besides; ω × e_z = 0.
        e = np.array([0.0, 0.0, 1.0])
        k = 3 + j
        M[k, k] += 2.0 * m
        coupling = 2.0 * m * cross(r) @ e
        M[:3, k] += coupling
        M[k, :3] += coupling
        F = m * spin**2 * r
        work = -2.0 * np.cross(e, F)
        K[:3, k] += work
        K[k, :3] += work
        rate = spin * spread(rng, 0.5, 5.0)
        stiffness[k, k] = 2.0 * m * rate**2
        damping[k, k] = 4.0 * m * rate * spread(rng, 0.02, 0.5)
    parts = {"K": stiffness, "D": damping}
    system = free(M, C, K, parts, np.eye(n)[:, :3], 10.0 * size, spin)
    return Machine(system, prescribed=_of_body(spin))


def weak_energy_sink(rng: Generator) -> Machine:
    """An energy sink whose dampers take as little as 1e-13 of what they do there."""
    machine = energy_sink(rng)
    D = machine.system.D * 10.0 ** rng.uniform(-13.0, 0.0)
    return Machine(
        machine.system.only("C", "K", "K_omega2", D=D), machine.zeros, machine.prescribed
    )


def free_beam(rng: Generator) -> Machine:
    """A free beam of the package, damped inside, that turns about a principal axis."""
    section = assembly.rectangle(spread(rng, 0.02, 0.1), spread(rng, 0.02, 0.1))
    length, count = spread(rng, 0.5, 2.0), int(rng.integers(2, 5))
    beam = assembly.beam(length, section, assembly.steel, count, start=(-0.5 * length, 0.0, 0.0))
    damped = beam.with_damping(b=spread(rng, 1e-6, 1e-3) * rng.choice([0.0, 1.0]))
    spin = spread(rng, 1.0, 100.0)
    axis = np.eye(3)[int(rng.integers(1, 3))]
    return Machine(damped.freeze(omega=spin * axis), prescribed=_of_body(spin))


def dual_spin(rng: Generator) -> Machine:
    """A platform at rest with a wheel of momentum h about z and dampers in the platform.

    I θ̈ + h ẑ × … = 0 with the platform's frame at rest: precession at ±i h/√(AB), which a damper in
    the platform takes out, and one in the wheel, whose energy the wheel supplies, drives.
    """
    A, B, _ = inertia = principal(rng) * spread(rng, 0.1, 1e3)
    h = spread(rng, 0.1, 10.0) * float(np.sqrt(A * B))
    rate = h / np.sqrt(A * B)
    M = np.zeros((5, 5))
    M[:3, :3] = np.diag(inertia)
    C, K, D, N = (np.zeros((5, 5)) for _ in range(4))
    C[0, 1], C[1, 0] = h, -h
    m = 0.05 * float(min(A, B))
    turn = spread(rng, 0.2, 3.0) * rate * rng.choice([0.0, 1.0, 3.0])
    for j, arm in ((3, np.array([0.0, 1.0, 0.0])), (4, np.array([-1.0, 0.0, 0.0]))):
        # A mass at the arm × e_z moves by q along z: δz = q + θ·arm.
        M[:3, j] += m * arm
        M[j, :3] += m * arm
        M[j, j] += m
        M[:3, :3] += m * np.outer(arm, arm)
        K[j, j] = m * (rate * spread(rng, 0.8, 3.0)) ** 2
    c = 2.0 * m * rate * spread(rng, 0.02, 0.5)
    D[3, 3] = D[4, 4] = c
    # Dampers that turn with the wheel, seen from the platform: c (q̇ − Ω t × q).
    K[4, 4] = K[3, 3]
    N[3, 4], N[4, 3] = c * turn, -c * turn
    system = free(M, C, np.zeros((5, 5)), {"K": K, "D": D, "K_D": N}, np.eye(5)[:, :3], 10.0, 0.0)
    return Machine(system, zeros=10)


FREE: dict[str, Callable[[Generator], Machine]] = {
    "turning rigid bodies": intermediate_axis,
    "energy sinks": energy_sink,
    "weak energy sinks": weak_energy_sink,
    "dual spin": dual_spin,
    "turning free beams": free_beam,
}
