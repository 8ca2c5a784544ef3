"""The frozen matrices of a solid block are the derivatives of its full nonlinear residual.

The residual is written here from the equations: virtual work of ρ × absolute acceleration and of a
St. Venant–Kirchhoff material, trilinear bricks by hand, element by element. It is a polynomial, so
the complex step differentiates it to round-off.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

import assembly
from assembly import gallery
from assembly.bodies.nonlinear import equilibrium
from assembly.errors import ConvergenceError, InputError
from assembly.kinematics import skew
from tests.support.continua import body

RUBBER = assembly.Material(E=4e6, nu=0.3, rho=1100.0)
OMEGA, EPSILON = np.array([6.0, -9.0, 21.0]), np.array([40.0, -25.0, 60.0])
ACCELERATION = np.array([3.0, -2.0, 7.0])
CORNERS = np.array(
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]]
)
Vector = NDArray[np.inexact]


def trilinear(point: Vector) -> tuple[Vector, Vector]:
    """Eight shape functions (8,) and their gradients (8, 3) at a point of the unit cube."""
    factors = np.where(CORNERS == 1, point, 1.0 - point)
    slopes = np.where(CORNERS == 1, 1.0, -1.0)
    gradients = np.stack(
        [slopes[:, k] * np.prod(np.delete(factors, k, axis=1), axis=1) for k in range(3)], axis=1
    )
    return np.prod(factors, axis=1), gradients


def gauss(n: int) -> list[tuple[Vector, float]]:
    x, w = np.polynomial.legendre.leggauss(n)
    x, w = 0.5 * (x + 1.0), 0.5 * w
    return [
        (np.array([x[i], x[j], x[k]]), w[i] * w[j] * w[k])
        for i, j, k in product(range(n), repeat=3)
    ]


def stress(strain: Vector) -> Vector:
    lame = RUBBER.E * RUBBER.nu / ((1.0 + RUBBER.nu) * (1.0 - 2.0 * RUBBER.nu))
    return lame * np.trace(strain) * np.eye(3) + 2.0 * RUBBER.G * strain


def residual(
    made: assembly.Body,
    u: Vector,
    velocity: Vector,
    acceleration: Vector,
    initial: Vector | None = None,
) -> Vector:
    """∫ρ Nᵀ(absolute acceleration) + ∫ F S ∇N, for fields (n,); S has an `initial` stress too."""
    X, (block,) = made.dofs.coordinates, made.families[0].blocks
    u, velocity, acceleration = (f.reshape(-1, 3) for f in (u, velocity, acceleration))
    out = np.zeros(X.shape, dtype=np.result_type(u, velocity, acceleration))
    carried = skew(EPSILON) + skew(OMEGA) @ skew(OMEGA)
    for nodes in block.nodes:
        for point, weight in gauss(3):
            N, slopes = trilinear(point)
            volume = weight * np.linalg.det(slopes.T @ X[nodes])
            at = N @ (X + u)[nodes]
            total = ACCELERATION + carried @ at
            total = total + 2.0 * skew(OMEGA) @ (N @ velocity[nodes]) + N @ acceleration[nodes]
            out[nodes] += RUBBER.rho * volume * np.outer(N, total)
        for point, weight in gauss(2):
            slopes = trilinear(point)[1]
            J = slopes.T @ X[nodes]
            gradients = slopes @ np.linalg.inv(J).T
            volume = weight * np.linalg.det(J)
            F = np.eye(3) + u[nodes].T @ gradients
            S = stress(0.5 * (F.T @ F - np.eye(3)))
            if initial is not None:
                H = initial.reshape(-1, 3)[nodes].T @ gradients
                S = S + stress(0.5 * (H + H.T))
            out[nodes] += volume * gradients @ (F @ S).T
    return out.ravel()


def derivative(function, directions: NDArray[np.float64]) -> NDArray[np.float64]:  # type: ignore[no-untyped-def]
    """Columns ∂function/∂direction by the complex step."""
    return np.stack([function(1e-40j * v).imag / 1e-40 for v in directions.T], axis=1)


@pytest.fixture(scope="module")
def block() -> assembly.Body:
    return body("hex8", material=RUBBER, clamped="x0")


@pytest.fixture(scope="module")
def directions(block: assembly.Body) -> NDArray[np.float64]:
    found = np.zeros((block.size, 6))
    found[block.free] = np.random.default_rng(2).normal(size=(len(block.free), 6))
    return found


def compare(made: assembly.Body, matrix, directions, expected) -> None:  # type: ignore[no-untyped-def]
    found = matrix @ directions[made.free]
    scale = np.linalg.norm(expected[made.free])
    assert np.linalg.norm(found - expected[made.free]) < 1e-11 * scale


@pytest.mark.slow
def test_nonlinear_prestress(block: assembly.Body, directions: NDArray[np.float64]) -> None:
    motion = dict(omega=OMEGA, epsilon=EPSILON, acceleration=ACCELERATION)
    system = block.freeze(**motion, prestress="nonlinear")
    stretched = equilibrium(block.operators, assembly.Kinematics(**motion)).displacement
    still = np.zeros(block.size)
    at_rest = residual(block, stretched, still, still)
    load = residual(block, 0.0 * stretched, still, still)
    assert np.linalg.norm(at_rest[block.free]) < 1e-9 * np.linalg.norm(load[block.free])
    # The stretch is large enough for K_G to matter to the comparison.
    assert abs(system.K_G).max() > 0.02 * abs(system.K).max()
    compare(
        block,
        system.stiffness,
        directions,
        derivative(lambda v: residual(block, stretched + v, still, still), directions),
    )
    compare(
        block,
        system.C,
        directions,
        derivative(lambda v: residual(block, stretched, v, still), directions),
    )
    compare(
        block,
        system.M,
        directions,
        derivative(lambda v: residual(block, stretched, still, v), directions),
    )


def test_linear_prestress(block: assembly.Body, directions: NDArray[np.float64]) -> None:
    motion = dict(omega=OMEGA, epsilon=EPSILON, acceleration=ACCELERATION)
    system = block.freeze(**motion)
    still = np.zeros(block.size)
    load = -residual(block, still, still, still)
    np.testing.assert_allclose(system.Q, load[block.free], atol=1e-12 * abs(load).max())
    linear = block.statics.response(load[:, None])[:, 0]
    compare(
        block,
        system.stiffness,
        directions,
        derivative(lambda v: residual(block, v, still, still, linear), directions),
    )


@pytest.mark.slow
def test_no_equilibrium_beyond_the_limit_load() -> None:
    """A short column pushed against its clamp: St. Venant–Kirchhoff carries at most E/(3√3) in
    compression (P = ½E λ(λ² − 1), ν = 0), and the load at the clamp is ρ a L."""
    material = assembly.Material(E=2e6, nu=0.0, rho=1000.0)
    column = gallery.block(5, 1, 1, "hex20", (0.1, 0.1, 0.1), material=material)
    limit = material.E / (3.0 * np.sqrt(3.0)) / (material.rho * 0.1)
    below = assembly.Kinematics(acceleration=(0.95 * limit, 0.0, 0.0))
    assert equilibrium(column.operators, below).displacement.min() < -0.01
    with pytest.raises(ConvergenceError, match="no equilibrium found") as fault:
        column.freeze(acceleration=(1.05 * limit, 0.0, 0.0), prestress="nonlinear")
    assert "\n" not in str(fault.value)
    assert fault.value.partial.shape == (column.size,)


def test_given_matrices_have_no_nonlinear_prestress(block: assembly.Body) -> None:
    full = block.operators
    given = assembly.from_matrices(full.M.tocsr(), full.K, block.dofs.coordinates)
    with pytest.raises(InputError, match='"nonlinear"'):
        given.freeze(omega=(0.0, 0.0, 5.0), prestress="nonlinear")
