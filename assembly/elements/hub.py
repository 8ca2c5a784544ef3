"""The hub of a pinned continuum: the couple that holds the prescribed rotation about the pin.

A body without rotational unknowns that turns about a pin feels the moment of its inertia loads
there, −Σ m X × AX with A = ω̃ω̃ or ε̃, and something must balance it: the motor's torque, and the
bearing couple when the axis is not principal. It acts as forces on the hub, the nodes of the cells
around the pin, through the hub's best-fit rotation φ(u) = Θ⁻¹ Σ X × u, Θ = Σ(|X|² I − XXᵀ) (X from
the pin): the nodal forces are f_a = (Θ⁻¹M) × X_a. They turn with the hub, which does work of second
order:

    K_G gets −(R Φᵀ + Φ Rᵀ) + Φ h Φᵀ,   R_i = e_i × f,  Φ = ∂φ/∂u,
    h = tr(B) I − sym(B) + sym(Σ m AX Xᵀ),  B = Σ X fᵀ.

In the plane this is the Hessian of −Tφ for a torque T. In space h makes the rotation v about ω (or
ε) carry the reaction with it exactly, K_G v = −ω × f, whatever the direction of ω: with B − Bᵀ =
the moment, (tr B I − B) ω = h ω needs ½ M × ω = sym(ΣmAXXᵀ) ω, which holds for M = Σ m X × AX since
sym(Aℐ)ω = ½ Aℐω (A ω = 0, ℐ = Σ m XXᵀ). DESIGN.md, section 2: the identity (K + K(ε) + K(ω²) + K_G)
v = 0.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from assembly.elements.continuum import Continuum
from assembly.elements.family import ElementFamily
from assembly.kinematics import SKEW_UNITS, UNIT_COUNT, acceleration_units

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class Hub(ElementFamily):
    """Couple about a pin, spread over the nodes of a hub.

    continuum: the elements that hang on it. pin (3,): the pin's position, m. axes (3, r):
    orthonormal directions of the rotations the pin leaves free. nodes: hub nodes, at least one off
    the pin.
    """

    def __init__(self, continuum: Continuum, pin: Array, axes: Array, nodes: Index) -> None:
        self.size = continuum.size
        self.continuum, self.pin, self.axes, self.nodes = continuum, pin, axes, nodes

    @cached_property
    def _arms(self) -> Array:
        return self.continuum.points[self.nodes] - self.pin

    @cached_property
    def rotation(self) -> Array:
        """Φ (size, r): the hub's rotation about each free axis is Φᵀu."""
        X = self._arms
        turned = np.stack([X @ unit.T for unit in SKEW_UNITS], axis=2)  # column k: e_k × X
        fields = turned @ self.axes
        gram = np.einsum("aik,ail->kl", fields, fields)
        return self._spread(fields @ np.linalg.inv(gram))

    def _spread(self, nodal: Array) -> Array:
        """(hub nodes, 3, k) placed among all unknowns, (size, k)."""
        d = self.continuum.dimension
        out = np.zeros((len(self.continuum.points), d, nodal.shape[2]))
        out[self.nodes] = nodal[:, :d]
        return out.reshape(self.size, -1)

    def _unit_inertia(self) -> tuple[Array, Array]:
        """Σ m (AX) Xᵀ (3, 3, 12) about the pin, and the balancing couple Σ m X × AX (3, 12)."""
        points = self.continuum.points
        weighted = self.continuum.scalar_mass @ (points - self.pin)
        virial = np.einsum("aik,aj->ijk", acceleration_units(points), weighted)
        if self.continuum.dimension == 2:
            virial[2] = 0.0
        couple = np.stack(
            [virial[2, 1] - virial[1, 2], virial[0, 2] - virial[2, 0], virial[1, 0] - virial[0, 1]]
        )
        return virial, couple

    @cached_property
    def _couples(self) -> Array:
        """The couple (r, 12) about each free axis, per unit of kinematics."""
        return np.asarray(self.axes.T @ self._unit_inertia()[1])

    def inertia_loads(self) -> Array:
        """The hub's forces (size, 12) that hold the rotation against the unit inertia loads, N."""
        loads = self.rotation @ self._couples
        assert loads.shape == (self.size, UNIT_COUNT)
        return np.asarray(loads)

    def geometric(self, u: Array, unit: int | None) -> sp.csr_matrix:
        """The second-order work of the couple (module docstring); none for loads at nodes."""
        if unit is None or not np.any(self._couples[:, unit]):
            return self.zero()
        d, E = self.continuum.dimension, self.axes
        force = np.zeros((len(self.nodes), 3))
        force[:, :d] = (self.rotation @ self._couples[:, unit]).reshape(-1, d)[self.nodes]
        turned = np.stack([force @ axis.T for axis in SKEW_UNITS], axis=2) @ E
        R, phi = self._spread(turned), self.rotation
        B = self._arms.T @ force
        A = self._unit_inertia()[0][:, :, unit]
        h = np.trace(B) * np.eye(3) - 0.5 * (B + B.T) + 0.5 * (A + A.T)
        R, phi = sp.csr_matrix(R), sp.csr_matrix(phi)
        return sp.csr_matrix(-(R @ phi.T + phi @ R.T) + phi @ sp.csr_matrix(E.T @ h @ E) @ phi.T)

    def tangent_stiffness(self, u: Array, coefficients: Array) -> sp.csr_matrix:
        """The couple's stiffness for small rotations of the hub, at any displacement."""
        total = self.zero()
        for unit in np.flatnonzero(coefficients):
            total = total + coefficients[unit] * self.geometric(u, int(unit))
        return sp.csr_matrix(total)

    def internal_force(self, u: Array, coefficients: Array) -> Array:
        return np.asarray(self.tangent_stiffness(u, coefficients) @ u)
