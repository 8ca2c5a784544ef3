"""The paper's Table 1: derivatives of the terms of the Lagrangian by the nodal displacements.

ṗ = −∂H/∂δ = ∂L/∂δ, term by term of L = ½∫ρ v·v dV − ½δᵀkδ + δᵀ(q* + q) with the velocity
v = v_O + ω̃(X + Nδ) + Nδ̇ in body axes, where RᵀṘ = ω̃. Each derivative of the table, by the library's
matrices, is compared with the complex-step derivative of the term itself, integrated here over a
bar of linear elements in space (Squire and Trapp, SIAM Rev. 40, 1998, 110).
"""

from __future__ import annotations

import numpy as np
import xarray as xr

import assembly
from assembly.types import AnyArray, Array
from studies.reporting.protocol import dataset_of
from studies.rotating_bar.data import VARIABLES

# Every term with its derivative, the table's second column, with the elastic term put right.
TABLE_1 = {
    "½ m v_O²": "0",
    "∫ρ v_Oᵀω̃X": "0",
    "∫ρ v_Oᵀω̃Nδ": "∫ρ Nᵀω̃ᵀv_O",
    "∫ρ v_OᵀNδ̇": "0",
    "½∫ρ Xᵀω̃ᵀω̃X": "0",
    "∫ρ Xᵀω̃ᵀω̃Nδ": "∫ρ Nᵀω̃ᵀω̃X",
    "∫ρ Xᵀω̃ᵀNδ̇": "0",
    "½∫ρ δᵀNᵀω̃ᵀω̃Nδ": "∫ρ Nᵀω̃ᵀω̃N δ",
    "∫ρ δᵀNᵀω̃ᵀNδ̇": "∫ρ Nᵀω̃ᵀN δ̇",
    "½∫ρ δ̇ᵀNᵀNδ̇": "0",
    "−½ δᵀkδ": "−kδ",
    "δᵀ(q* + q)": "q* + q",
}


def derivatives() -> xr.Dataset:
    """Of every term the relative difference from the complex step, and that of (13) as printed."""
    nodes, stiffness, seed = 4, 40.0, 1401  # stiffness: N
    rng = np.random.default_rng(seed)
    omega, v_O, delta, rate, load = (rng.standard_normal(n) for n in (3, 3, 12, 12, 12))
    X = np.linspace(0.0, 1.0, nodes)[:, None] * rng.standard_normal(3)
    N, position, weight = _quadrature(X)
    M = np.einsum("p,pia,pib->ab", weight, N, N)
    ends = np.diff(np.eye(nodes), axis=0)
    K = stiffness * nodes * np.kron(ends.T @ ends, np.eye(3))
    unstressed = dict.fromkeys(("xx", "yy", "zz", "xy", "xz", "yz", "ax", "ay", "az"), 0.0 * M)
    body = assembly.from_matrices(M, K, coordinates=X, geometric=unstressed)
    turning = body.freeze(omega=omega)
    carried = body.freeze(acceleration=np.cross(omega, v_O))
    still, moved = np.tile(v_O, (len(weight), 1)), N @ rate
    placed = np.cross(omega, position)

    def terms(d: AnyArray) -> AnyArray:
        """The terms of the table (12,) at the displacements d."""
        turned = np.cross(omega, N @ d)
        products = (
            (0.5, still, still), (1.0, still, placed), (1.0, still, turned), (1.0, still, moved),
            (0.5, placed, placed), (1.0, placed, turned), (1.0, placed, moved),
            (0.5, turned, turned), (1.0, turned, moved), (0.5, moved, moved),
        )  # fmt: skip
        of_mass = [factor * (weight @ np.sum(a * b, axis=1)) for factor, a, b in products]
        return np.array([*of_mass, -0.5 * d @ K @ d, d @ load])

    step = 1e-30  # no difference is taken, so nothing cancels
    slopes = np.array([terms(delta + 1j * step * e).imag / step for e in np.eye(12)]).T
    zero = np.zeros(12)
    by_table = [
        *(zero, zero, carried.Q, zero, zero, turning.Q, zero),
        *(-(turning.K_omega2 @ delta), -0.5 * (turning.C @ rate), zero, -(K @ delta), load),
    ]
    errors = [_difference(a, b) for a, b in zip(slopes, by_table, strict=True)]
    return dataset_of(
        VARIABLES,
        derivative_error=errors,
        derivative=list(TABLE_1.values()),
        derivative_misprint=_difference(slopes[-2], -0.5 * (K @ delta)),
        lagrangian_term=list(TABLE_1),
    )


def _quadrature(X: Array) -> tuple[Array, Array, Array]:
    """N (P, 3, 12), positions (P, 3) and ρ dV (P,) at the points of all elements."""
    elements, density = len(X) - 1, 3.0  # kg/m
    # Gauss, exact to degree 5
    points = np.array([0.5 - np.sqrt(0.15), 0.5, 0.5 + np.sqrt(0.15)])
    weights = np.array([5.0, 8.0, 5.0]) / 18.0
    N = np.zeros((elements, len(points), 3, X.size))
    for element in range(elements):
        for axis in range(3):
            N[element, :, axis, 3 * element + axis] = 1.0 - points
            N[element, :, axis, 3 * element + 3 + axis] = points
    shapes = N.reshape(-1, 3, X.size)
    length = float(np.linalg.norm(X[-1])) / elements
    return shapes, shapes @ X.ravel(), np.tile(density * length * weights, elements)


def _difference(exact: Array, by_table: Array) -> float:
    """Largest difference relative to the largest entry; absolute where all are zero."""
    size = np.abs(exact).max()
    return float(np.abs(by_table - exact).max() / (size if size > 0.0 else 1.0))
