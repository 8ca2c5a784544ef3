"""Frozen matrices of beams against a geometrically exact beam written here from scratch.

The independent beam: Przemieniecki's shape functions in the beam's own axes, finite rotations R =
exp(φ̃), strains Γ = Rᵀr′ − e_x and axial(RᵀR′), inertia by quadrature over the solid section, and
the steady resultants by statics of the cantilever. Tangents by complex step and central
differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import Polynomial

import assembly
from assembly.bodies.beams import Theory
from assembly.bodies.body import Body
from assembly.kinematics import skew
from assembly.system.frozen import FrozenSystem
from tests.support.beam_shapes import bending_shapes, coefficients, turned

LENGTH, ELEMENTS, WIDTH, HEIGHT = 1.2, 2, 0.20, 0.07
SOFT = assembly.Material(E=5e4, nu=0.25, rho=3.0)
ROOT = np.array([0.3, -0.2, 0.1])
DIRECTION = np.array([2.0, 1.0, -0.5]) / np.linalg.norm([2.0, 1.0, -0.5])
PITCH = 0.6
vectors = st.tuples(*[st.floats(-4.0, 4.0)] * 3).map(np.array)


def own_axes() -> np.ndarray:
    """Columns: along the beam, section y (the body's y turned by the pitch), section z."""
    y = np.array([0.0, 1.0, 0.0]) - DIRECTION[1] * DIRECTION
    y /= np.linalg.norm(y)
    z = np.cross(DIRECTION, y)
    c, s = np.cos(PITCH), np.sin(PITCH)
    return np.stack([DIRECTION, c * y + s * z, c * z - s * y], axis=1)


@cache
def beam(theory: Theory, rotary_inertia: bool = True) -> Body:
    return assembly.beam(
        LENGTH,
        assembly.rectangle(WIDTH, HEIGHT),
        SOFT,
        ELEMENTS,
        clamped="start",
        theory=theory,
        rotary_inertia=rotary_inertia,
        start=ROOT,
        direction=DIRECTION,
        pitch=PITCH,
    )


def own_shapes(theory: Theory, L: float) -> list[list[Polynomial]]:
    """The 6 × 12 interpolation of (u, φ) in the beam's own axes."""
    s = assembly.rectangle(WIDTH, HEIGHT)
    kGA = 5.0 / 6.0 * SOFT.G * s.A
    shear = 12.0 * SOFT.E / (kGA * L**2) if theory == "timoshenko" else 0.0
    N = [[Polynomial([0.0])] * 12 for _ in range(6)]
    for row in (0, 3):
        N[row][row], N[row][row + 6] = Polynomial([1.0, -1.0]), Polynomial([0.0, 1.0])
    v, theta = bending_shapes(shear * s.Iz, L)
    for k, column in enumerate((1, 5, 7, 11)):
        N[1][column], N[5][column] = v[k], theta[k]
    w, theta = bending_shapes(shear * s.Iy, L)
    for k, (column, sign) in enumerate([(2, 1.0), (4, -1.0), (8, 1.0), (10, -1.0)]):
        N[2][column], N[4][column] = sign * w[k], -sign * theta[k]
    return N


@dataclass(frozen=True)
class Independent:
    """Stations along the beam: weights, positions, maps from free unknowns to (u, φ), (u′, φ′)."""

    weights: np.ndarray
    X: np.ndarray
    N: np.ndarray
    dN: np.ndarray
    s: np.ndarray
    area: np.ndarray
    turning: np.ndarray
    along: np.ndarray


@cache
def independent(theory: Theory, rotary_inertia: bool = True) -> Independent:
    L = LENGTH / ELEMENTS
    x, w = np.polynomial.legendre.leggauss(5)
    x, w = (x + 1.0) / 2.0, w / 2.0
    Q = own_axes()
    own = own_shapes(theory, L)
    shapes = np.array([[p(x) for p in row] for row in own]).transpose(2, 0, 1)
    slopes = np.array([[p.deriv()(x) / L for p in row] for row in own]).transpose(2, 0, 1)
    wide = np.kron(np.eye(4), Q)
    n = 6 * (ELEMENTS + 1)
    N, dN, X, along = [], [], [], []
    for e in range(ELEMENTS):
        pick = np.zeros((12, n))
        pick[:, 6 * e : 6 * e + 12] = np.eye(12)
        N.append(np.kron(np.eye(2), Q) @ shapes @ wide.T @ pick)
        dN.append(np.kron(np.eye(2), Q) @ slopes @ wide.T @ pick)
        along.append((e + x) * L)
        X.append(ROOT + along[-1][:, None] * DIRECTION)
    g, gw = np.polynomial.legendre.leggauss(3)
    y, z = np.meshgrid(g * WIDTH / 2.0, g * HEIGHT / 2.0, indexing="ij")
    s = np.stack([0.0 * y.ravel(), y.ravel(), z.ravel()], axis=1) @ Q.T
    area = np.outer(gw, gw).ravel() * WIDTH * HEIGHT / 4.0
    P = np.eye(3) if rotary_inertia else np.outer(DIRECTION, DIRECTION)
    return Independent(
        np.tile(w * L, ELEMENTS), np.concatenate(X), np.concatenate(N)[..., 6:],
        np.concatenate(dN)[..., 6:], s, area, P, np.concatenate(along),
    )  # fmt: skip


def strains(beam: Independent, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Γ and axial(RᵀR′) in body axes of states d (k, n): (k, stations, 3) each."""
    phi = np.einsum("qij,kj->kqi", beam.N[:, 3:], d)
    slope = np.einsum("qij,kj->kqi", beam.dN, d)
    gamma = turned(phi, DIRECTION + slope[..., :3], -1.0) - DIRECTION
    _, f2, f3 = (f[..., None] for f in coefficients((phi * phi).sum(-1)))
    cross = np.cross(phi, slope[..., 3:])
    return gamma, slope[..., 3:] - f2 * cross + f3 * np.cross(phi, cross)


def positions(beam: Independent, d: np.ndarray) -> np.ndarray:
    """Material points (k, stations, section points, 3)."""
    moved = np.einsum("qij,kj->kqi", beam.N, d)
    phi = moved[..., 3:] @ beam.turning
    s = turned(phi[:, :, None], np.broadcast_to(beam.s, (*phi.shape[:2], *beam.s.shape)))
    return beam.X[:, None] + moved[..., None, :3] + s


@dataclass(frozen=True)
class Motion:
    omega: np.ndarray
    epsilon: np.ndarray
    acceleration: np.ndarray

    @property
    def A(self) -> np.ndarray:
        return skew(self.epsilon) + skew(self.omega) @ skew(self.omega)


def steady_resultants(beam: Independent, motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """F and Mo of the cantilever under its inertia load, by quadrature from station to tip."""
    x, w = np.polynomial.legendre.leggauss(6)
    reach = LENGTH - beam.along
    where = beam.along[:, None] + reach[:, None] * (x + 1.0) / 2.0
    weight = reach[:, None] * w / 2.0
    axis = ROOT + where[..., None] * DIRECTION
    mass = SOFT.rho * beam.area
    a = (axis[..., None, :] + beam.s) @ motion.A.T + motion.acceleration
    p = -np.einsum("p,qtpi->qti", mass, a)
    q = -np.einsum("p,qtpi->qti", mass, np.cross(beam.s, a)) @ beam.turning
    arm = (where - beam.along[:, None])[..., None] * DIRECTION
    moment = q + np.cross(arm, p)
    return np.einsum("qt,qti->qi", weight, p), np.einsum("qt,qti->qi", weight, moment)


def stiffness_of_section() -> np.ndarray:
    """(6, 6) in body axes; the shear entries matter for Timoshenko's theory only."""
    s = assembly.rectangle(WIDTH, HEIGHT)
    shear = 5.0 / 6.0 * SOFT.G * s.A
    E, G = SOFT.E, SOFT.G
    Q = np.kron(np.eye(2), own_axes())
    return Q @ np.diag([E * s.A, shear, shear, G * s.J, E * s.Iy, E * s.Iz]) @ Q.T


def internal_force(beam: Independent, d: np.ndarray, F: np.ndarray, Mo: np.ndarray) -> np.ndarray:
    """∂/∂d of the energy of a beam whose undeformed shape carries the steady resultants, (n,)."""
    h = 1e-30
    gamma, kappa = strains(beam, d + 1j * h * np.eye(len(d)))
    both = np.concatenate([gamma, kappa], axis=-1)
    twist = kappa @ DIRECTION
    radius2 = (WIDTH**2 + HEIGHT**2) / 12.0
    # N works on the stretch of the axis, |r′| − 1 (without cancellation for a complex step).
    grown = np.einsum("kqi,kqi->kq", gamma, gamma) + 2.0 * gamma @ DIRECTION
    stretch = grown / (1.0 + np.sqrt(1.0 + grown))
    N = F @ DIRECTION
    density = (
        np.einsum("qi,kqi->kq", F - np.outer(N, DIRECTION), gamma)
        + N * stretch
        + np.einsum("qi,kqi->kq", Mo, kappa)
        + 0.5 * np.einsum("kqi,ij,kqj->kq", both, stiffness_of_section(), both)
        + 0.5 * radius2 * N * twist**2
    )
    return (density @ beam.weights).imag / h


def reach(beam: Independent, d: np.ndarray) -> np.ndarray:
    """∂x/∂d at the material points, (n, stations, section points, 3)."""
    h = 1e-30
    return positions(beam, d + 1j * h * np.eye(len(d))).imag / h


def inertia_force(beam: Independent, d: np.ndarray, motion: Motion) -> np.ndarray:
    """∫ρ (∂x/∂d)ᵀ((ε̃ + ω̃ω̃) x + a_O) at zero velocity, (n,)."""
    a = positions(beam, d[None])[0] @ motion.A.T + motion.acceleration
    weight = SOFT.rho * np.outer(beam.weights, beam.area)
    return np.einsum("qp,nqpi,qpi->n", weight, reach(beam, d), a)


def residual(beam: Independent, d: np.ndarray, motion: Motion) -> np.ndarray:
    F, Mo = steady_resultants(beam, motion)
    return internal_force(beam, d, F, Mo) + inertia_force(beam, d, motion)


def tangent(beam: Independent, motion: Motion) -> np.ndarray:
    """∂residual/∂d at the undeformed shape, by fourth-order central differences."""
    n, h = beam.N.shape[-1], 2e-3
    columns = []
    for e in np.eye(n):
        r = {k: residual(beam, k * h * e, motion) for k in (-2, -1, 1, 2)}
        columns.append((8.0 * (r[1] - r[-1]) - (r[2] - r[-2])) / (12.0 * h))
    return np.stack(columns, axis=1)


def freeze(body: Body, motion: Motion) -> FrozenSystem:
    return body.freeze(motion.omega, motion.epsilon, motion.acceleration)


THEORIES = [
    ("timoshenko", True),
    ("euler-bernoulli", True),
    ("timoshenko", False),
    ("euler-bernoulli", False),
]
LIVELY = Motion(np.array([3.0, -4.0, 5.0]), np.array([4.0, 6.0, -9.0]), np.array([2.0, -7.0, 5.0]))


@pytest.mark.parametrize(("theory", "rotary_inertia"), THEORIES)
def test_frozen_stiffness_is_the_tangent_of_the_nonlinear_residual(
    theory: Theory, rotary_inertia: bool
) -> None:
    exact = independent(theory, rotary_inertia)
    system = freeze(beam(theory, rotary_inertia), LIVELY)
    expected = tangent(exact, LIVELY)
    found = system.stiffness.toarray()
    # Every part counts: each is far above the tolerance.
    for part in (system.K_G, system.K_omega2, system.K_epsilon):
        assert abs(part).max() > 0.01
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-7 * abs(system.K_G).max())


@pytest.mark.parametrize(("theory", "rotary_inertia"), THEORIES)
def test_steady_resultants_balance_the_inertia_load(theory: Theory, rotary_inertia: bool) -> None:
    exact = independent(theory, rotary_inertia)
    zero = np.zeros(exact.N.shape[-1])
    load = inertia_force(exact, zero, LIVELY)
    np.testing.assert_allclose(residual(exact, zero, LIVELY), 0.0, atol=1e-11 * abs(load).max())
    np.testing.assert_allclose(
        freeze(beam(theory, rotary_inertia), LIVELY).Q, -load, atol=1e-12 * abs(load).max()
    )


@pytest.mark.parametrize(("theory", "rotary_inertia"), THEORIES)
@given(omega=vectors, epsilon=vectors, acceleration=vectors)
@settings(max_examples=15, deadline=None)
def test_affine_combination_equals_quadrature_over_the_solid(
    theory: Theory,
    rotary_inertia: bool,
    omega: np.ndarray,
    epsilon: np.ndarray,
    acceleration: np.ndarray,
) -> None:
    """Kane's route (805, eq. 13–20): partial velocities ∂x/∂q times the acceleration field."""
    exact = independent(theory, rotary_inertia)
    motion = Motion(omega, epsilon, acceleration)
    system = freeze(beam(theory, rotary_inertia), motion)
    J = reach(exact, np.zeros(exact.N.shape[-1]))
    weight = SOFT.rho * np.outer(exact.weights, exact.area)

    def form(a: np.ndarray) -> np.ndarray:
        return np.einsum("qp,nqpi,ij,mqpj->nm", weight, J, a, J, optimize=True)

    size = abs(form(np.eye(3))).max()
    w, e = skew(omega), skew(epsilon)
    for found, a in [
        (system.M, np.eye(3)), (system.C, 2.0 * w), (system.K_epsilon, e), (system.K_omega2, w @ w),
    ]:  # fmt: skip
        scale = size * max(abs(a).max(), 1e-300)
        np.testing.assert_allclose(found.toarray(), form(a), rtol=0, atol=1e-13 * scale)
