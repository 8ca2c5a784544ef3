"""Kane's route to one element of every plane and solid family (Vlase et al. 2020, 805, eq. 13–20).

Partial velocities and the absolute acceleration of a point give the generalised inertia forces
F*_r = −∫ρ V_r·a; the element's matrices are read off them. Nothing is shared with the library: the
shape functions come from each family's monomials by a Vandermonde matrix, the quadrature is a
product of Gauss rules.
"""

from __future__ import annotations

from itertools import product

import meshio
import numpy as np
import pytest

import assembly
from assembly.elements.reference import CELLS
from assembly.gallery import ELEMENTS
from tests.support.continua import FAMILIES, SOLIDS

RHO, THICKNESS = 1300.0, 0.07
MATERIAL = assembly.Material(E=5e9, nu=0.3, rho=RHO)
OMEGA, EPSILON = np.array([11.0, -7.0, 23.0]), np.array([90.0, 40.0, -150.0])
ORIGIN = np.array([4.0, -9.0, 2.0])
AFFINE = np.array([[0.5, 0.08, -0.05], [-0.06, 0.4, 0.07], [0.04, 0.03, 0.3]])
SHIFT = np.array([0.3, -0.2, 0.1])


def powers(element: str) -> list[tuple[int, ...]]:
    """Exponents of the family's monomials: complete (tets, triangles), tensor, serendipity."""
    d = 3 if element in SOLIDS else 2
    exponents = list(product(range(3), repeat=d))
    if element[0] == "t":
        degree = 2 if element in ("t6", "tet10") else 1
        return [p for p in exponents if sum(p) <= degree]
    if element in ("q4", "hex8"):
        return [p for p in exponents if max(p) <= 1]
    # Serendipity: superlinear degree (powers of variables that enter linearly not counted) ≤ 2.
    return [p for p in exponents if sum(e for e in p if e > 1) <= 2]


def monomials(points: np.ndarray, exponents: list[tuple[int, ...]]) -> np.ndarray:
    return np.stack([np.prod(points ** np.array(p), axis=1) for p in exponents], axis=1)


def rule(element: str) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights on the reference cell; simplices by Duffy's collapsed coordinates."""
    d = 3 if element in SOLIDS else 2
    g, w = np.polynomial.legendre.leggauss(6)
    g, w = 0.5 * (g + 1.0), 0.5 * w
    points = np.array(list(product(g, repeat=d)))
    weights = np.array([np.prod(c) for c in product(w, repeat=d)])
    if element[0] == "t":
        room = np.ones(len(points))  # what earlier coordinates leave of 1: the Jacobian's factors
        for k in range(d):
            share = points[:, k].copy()
            points[:, k] = share * room
            weights = weights * room
            room = room * (1.0 - share)
    return points, weights


@pytest.mark.parametrize("element", FAMILIES)
def test_inertia_of_one_element(element: str) -> None:
    kind = ELEMENTS[element]
    d = 3 if element in SOLIDS else 2
    reference, A = CELLS[kind].nodes, AFFINE[:d, :d]
    nodes = reference @ A.T + SHIFT[:d]
    mesh = meshio.Mesh(nodes, [(kind, np.arange(len(nodes))[None])])
    if d == 3:
        made = assembly.solid(mesh, MATERIAL)
    else:
        made = assembly.plane(mesh, MATERIAL, thickness=THICKNESS)
    system = made.freeze(OMEGA, EPSILON, ORIGIN, prestress="linear")

    exponents = powers(element)
    assert len(exponents) == len(nodes)
    points, weights = rule(element)
    phi = monomials(points, exponents) @ np.linalg.inv(monomials(reference, exponents))
    weights = weights * np.linalg.det(A) * (1.0 if d == 3 else THICKNESS)
    X = np.zeros((len(points), 3))
    X[:, :d] = points @ A.T + SHIFT[:d]
    n = len(nodes) * d
    partial = np.zeros((n, len(points), 3))  # V_r at every point
    for r in range(n):
        partial[r, :, r % d] = phi[:, r // d]

    def inertia_force(q: np.ndarray, speed: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """F*_r of generalised coordinates, speeds and their rates (n,)."""
        u, v, w = (np.einsum("r,rpi->pi", given, partial) for given in (q, speed, rate))
        carried = ORIGIN + np.cross(EPSILON, X + u) + np.cross(OMEGA, np.cross(OMEGA, X + u))
        acceleration = carried + 2.0 * np.cross(OMEGA, v) + w
        return -RHO * np.einsum("p,rpi,pi->r", weights, partial, acceleration)

    zero, one = np.zeros(n), np.eye(n)
    load = inertia_force(zero, zero, zero)
    M = -np.stack([inertia_force(zero, zero, e) - load for e in one], axis=1)
    C = -np.stack([inertia_force(zero, e, zero) - load for e in one], axis=1)
    K = -np.stack([inertia_force(e, zero, zero) - load for e in one], axis=1)
    for found, expected in (
        (system.M, M),
        (system.C, C),
        (system.K_epsilon + system.K_omega2, K),
    ):
        np.testing.assert_allclose(found.toarray(), expected, atol=1e-12 * abs(expected).max())
    np.testing.assert_allclose(system.Q, load, atol=1e-12 * abs(load).max())
