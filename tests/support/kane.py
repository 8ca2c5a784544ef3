"""Kane's equations of one finite element, paper 805 eq. (13)–(20), by their own route.

The acceleration of a point, a = a_O + R̈ r + R̈Nδ + 2ṘNδ̇ + RNδ̈ (15), is projected on the partial
velocities ∂v/∂δ̇ = RN (16) and integrated over the volume (17). R(t) is a product of three turns
whose derivatives are taken factor by factor; no ω̃, no ε̃ and no matrix of the library enters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RigidInstant:
    """R, Ṙ, R̈ (body to fixed axes) and the origin's acceleration in fixed axes."""

    R: Array
    rate: Array
    second: Array
    acceleration: Array

    @property
    def omega(self) -> Array:
        """ω in body axes from RᵀṘ, (7)."""
        return axial(self.R.T @ self.rate)

    @property
    def epsilon(self) -> Array:
        """ε in body axes from RᵀR̈ + ṘᵀṘ, (10)."""
        return axial(self.R.T @ self.second + self.rate.T @ self.rate)


def axial(A: Array) -> Array:
    """The vector of a skew matrix, which it must be."""
    assert np.abs(A + A.T).max() < 1e-12 * np.abs(A).max()
    return np.array([A[2, 1], A[0, 2], A[1, 0]])


def turning(
    angles: Sequence[tuple[float, float, float]], acceleration: Sequence[float]
) -> RigidInstant:
    """R = Rz(a) Ry(b) Rx(c); for each angle its value, rate and second derivative."""
    factors = [_turn(axis, *angle) for axis, angle in zip((2, 1, 0), angles, strict=True)]
    R, rate, second = np.eye(3), np.zeros((3, 3)), np.zeros((3, 3))
    for F, F1, F2 in factors:
        # Leibniz for the product so far times the next factor.
        R, rate, second = R @ F, rate @ F + R @ F1, second @ F + 2.0 * rate @ F1 + R @ F2
    return RigidInstant(R, rate, second, np.array(acceleration, dtype=float))


def _turn(axis: int, angle: float, rate: float, second: float) -> tuple[Array, Array, Array]:
    i, j = [k for k in range(3) if k != axis]
    if axis == 1:
        i, j = j, i
    c, s = np.cos(angle), np.sin(angle)
    F, D, DD = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    F[axis, axis] = 1.0
    F[i, i] = F[j, j] = c
    F[j, i], F[i, j] = s, -s
    D[i, i] = D[j, j] = -s
    D[j, i], D[i, j] = c, -c
    DD[i, i] = DD[j, j] = -c
    DD[j, i], DD[i, j] = -s, s
    return F, rate * D, second * D + rate**2 * DD


@dataclass(frozen=True)
class KaneElement:
    """What (17)–(18) give: [m], [c], [k(ε)] + [k(ω)], and the load of the rigid motion."""

    m: Array
    c: Array
    k_motion: Array
    load: Array


def kane_element(points: Array, weights: Array, N: Array, motion: RigidInstant) -> KaneElement:
    """points (P, 3) and N (P, 3, n) in body axes; weights (P,): the mass of each point, kg."""
    partial = motion.R @ N
    projected = np.einsum("p,pik->pki", weights, partial)

    def by(unit_acceleration: Array) -> Array:
        """Σ mass (RN)ᵀ a for the a (P, 3, ...) that a unit of each δ, δ̇ or δ̈ makes."""
        return np.tensordot(projected, unit_acceleration, axes=([0, 2], [0, 1]))

    rigid = motion.acceleration + points @ motion.second.T
    return KaneElement(
        m=by(motion.R @ N),
        c=by(2.0 * motion.rate @ N),
        k_motion=by(motion.second @ N),
        load=-by(rigid),
    )


def beam_interpolation(
    xi: float, y: float, z: float, length: float, shear_y: float, shear_z: float
) -> Array:
    """N (3, 12) at (ξ, y, z) of a beam along x (Przemieniecki 1968, §11.8), shear parameters Φ.

    Unknowns at each node: ux uy uz rx ry rz; the point is carried by its section, u + φ × s.
    """
    v, turn_z = _bending(xi, length, shear_y)
    w, turn_y = _bending(xi, length, shear_z)
    sign = np.array([1.0, -1.0, 1.0, -1.0])  # ry = −w' where the section does not shear
    u, phi = np.zeros((3, 12)), np.zeros((3, 12))
    u[0, [0, 6]] = phi[0, [3, 9]] = [1.0 - xi, xi]
    u[1, [1, 5, 7, 11]], phi[2, [1, 5, 7, 11]] = v, turn_z
    u[2, [2, 4, 8, 10]], phi[1, [2, 4, 8, 10]] = sign * w, -sign * turn_y
    s_cross = np.array([[0.0, z, -y], [-z, 0.0, 0.0], [y, 0.0, 0.0]])
    return u + s_cross @ phi


def _bending(xi: float, L: float, P: float) -> tuple[Array, Array]:
    """Deflection and rotation by (v₁, θ₁, v₂, θ₂)."""
    deflection = np.array(
        [
            1.0 - 3.0 * xi**2 + 2.0 * xi**3 + P * (1.0 - xi),
            L * (xi - 2.0 * xi**2 + xi**3 + 0.5 * P * (xi - xi**2)),
            3.0 * xi**2 - 2.0 * xi**3 + P * xi,
            L * (-(xi**2) + xi**3 - 0.5 * P * (xi - xi**2)),
        ]
    )
    rotation = np.array(
        [
            6.0 * (xi**2 - xi) / L,
            1.0 - 4.0 * xi + 3.0 * xi**2 + P * (1.0 - xi),
            6.0 * (xi - xi**2) / L,
            -2.0 * xi + 3.0 * xi**2 + P * xi,
        ]
    )
    return deflection / (1.0 + P), rotation / (1.0 + P)
