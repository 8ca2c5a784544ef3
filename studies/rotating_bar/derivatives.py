"""The paper's Table 1: derivatives of the terms of the Lagrangian by the nodal displacements.

ṗ = −∂H/∂δ = ∂L/∂δ, term by term of L = ½∫ρ v·v dV − ½δᵀkδ + δᵀ(q* + q) with the velocity
v = v_O + ω̃(X + Nδ) + Nδ̇ in body axes, where RᵀṘ = ω̃. Each derivative of the table, by the library's
matrices, is compared with the complex-step derivative of the term itself, integrated here over a
bar of linear elements in space (Squire and Trapp, SIAM Rev. 40, 1998, 110).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

import assembly
from assembly.types import AnyArray, Array

STEP = 1e-30  # of the complex step: no difference is taken, so nothing cancels
ELEMENTS, NODES = 3, 4
POINTS = np.array([0.5 - np.sqrt(0.15), 0.5, 0.5 + np.sqrt(0.15)])  # Gauss, exact to degree 5
WEIGHTS = np.array([5.0, 8.0, 5.0]) / 18.0
DENSITY, STIFFNESS = 3.0, 40.0  # kg/m, N
SEED = 1401


def derivatives() -> xr.Dataset:
    """Of every term the relative difference from the complex step, and that of (13) as printed."""
    rng = np.random.default_rng(SEED)
    omega, v_O, delta, rate, load = (rng.standard_normal(n) for n in (3, 3, 12, 12, 12))
    X = np.linspace(0.0, 1.0, NODES)[:, None] * rng.standard_normal(3)
    N, position, weight = _quadrature(X)
    M = np.einsum("p,pia,pib->ab", weight, N, N)
    K = STIFFNESS * NODES * np.kron(_chain(), np.eye(3))
    unstressed = dict.fromkeys(("xx", "yy", "zz", "xy", "xz", "yz", "ax", "ay", "az"), 0.0 * M)
    body = assembly.from_matrices(M, K, coordinates=X, geometric=unstressed)
    turning = body.freeze(omega=omega)
    carried = body.freeze(acceleration=np.cross(omega, v_O))

    def of_mass(a: AnyArray, b: AnyArray) -> AnyArray:
        return np.asarray(weight @ np.sum(a * b, axis=1))

    def turned(u: AnyArray) -> AnyArray:
        return np.asarray(np.cross(omega, u))

    still, u, moved = np.tile(v_O, (len(weight), 1)), N, N @ rate
    terms: dict[str, tuple[Callable[[AnyArray], AnyArray], Array]] = {
        "½ m v_O²": (lambda d: 0.5 * of_mass(still, still), np.zeros(12)),
        "∫ρ v_Oᵀω̃X": (lambda d: of_mass(still, turned(position)), np.zeros(12)),
        "∫ρ v_Oᵀω̃Nδ": (lambda d: of_mass(still, turned(u @ d)), carried.Q),
        "∫ρ v_OᵀNδ̇": (lambda d: of_mass(still, moved), np.zeros(12)),
        "½∫ρ Xᵀω̃ᵀω̃X": (
            lambda d: 0.5 * of_mass(turned(position), turned(position)),
            np.zeros(12),
        ),
        "∫ρ Xᵀω̃ᵀω̃Nδ": (lambda d: of_mass(turned(position), turned(u @ d)), turning.Q),
        "∫ρ Xᵀω̃ᵀNδ̇": (lambda d: of_mass(turned(position), moved), np.zeros(12)),
        "½∫ρ δᵀNᵀω̃ᵀω̃Nδ": (
            lambda d: 0.5 * of_mass(turned(u @ d), turned(u @ d)),
            -(turning.K_omega2 @ delta),
        ),
        "∫ρ δᵀNᵀω̃ᵀNδ̇": (lambda d: of_mass(turned(u @ d), moved), -0.5 * (turning.C @ rate)),
        "½∫ρ δ̇ᵀNᵀNδ̇": (lambda d: 0.5 * of_mass(moved, moved), np.zeros(12)),
        "−½ δᵀkδ": (lambda d: -0.5 * d @ K @ d, -(K @ delta)),
        "δᵀ(q* + q)": (lambda d: d @ load, load),
    }
    errors = [_difference(_slope(term, delta), by_table) for term, by_table in terms.values()]
    elastic = terms["−½ δᵀkδ"][0]
    misprint = _difference(_slope(elastic, delta), -0.5 * (K @ delta))
    return xr.Dataset(
        {
            "derivative_error": ("lagrangian_term", np.array(errors)),
            "derivative": ("lagrangian_term", np.array(DERIVATIVES)),
            "derivative_misprint": ((), misprint),
        },
        coords={"lagrangian_term": list(terms)},
    )


# The table's second column, with the elastic term put right.
DERIVATIVES = (
    *("0", "0", "∫ρ Nᵀω̃ᵀv_O", "0", "0", "∫ρ Nᵀω̃ᵀω̃X", "0"),
    *("∫ρ Nᵀω̃ᵀω̃N δ", "∫ρ Nᵀω̃ᵀN δ̇", "0", "−kδ", "q* + q"),
)


def _quadrature(X: Array) -> tuple[Array, Array, Array]:
    """N (P, 3, 12), positions (P, 3) and ρ dV (P,) at the points of all elements."""
    N = np.zeros((ELEMENTS, len(POINTS), 3, 3 * NODES))
    for element in range(ELEMENTS):
        for axis in range(3):
            N[element, :, axis, 3 * element + axis] = 1.0 - POINTS
            N[element, :, axis, 3 * element + 3 + axis] = POINTS
    shapes = N.reshape(-1, 3, 3 * NODES)
    length = float(np.linalg.norm(X[-1])) / ELEMENTS
    return shapes, shapes @ X.ravel(), np.tile(DENSITY * length * WEIGHTS, ELEMENTS)


def _chain() -> Array:
    """Stiffness (4, 4) of unit springs between neighbours."""
    ends = np.diff(np.eye(NODES), axis=0)
    return np.asarray(ends.T @ ends)


def _slope(term: Callable[[AnyArray], AnyArray], delta: Array) -> Array:
    steps = delta + 1j * STEP * np.eye(len(delta))
    return np.array([float(np.imag(term(step))) / STEP for step in steps])


def _difference(exact: Array, found: Array) -> float:
    """Largest difference relative to the largest entry; absolute where all are zero."""
    size = np.abs(exact).max()
    return float(np.abs(found - exact).max() / (size if size > 0.0 else 1.0))
