"""The hub of a pinned continuum: the couple that holds the prescribed rotation about the pin.

A body without rotational DOFs that turns about a pin feels the moment of its loads there: of
inertia, −Σ m X × AX with A = ω̃ω̃ or ε̃, and of dampers against the surroundings. Something must
balance it: the motor's torque, and the bearing couple when the axis is not principal. It acts as
forces on the hub, the nodes of the cells around the pin, through the hub's best-fit rotation
φ(u) = Θ⁻¹ Σ X × u, Θ = Σ(|X|² I − XXᵀ) (X from the pin): a couple M is the nodal forces f_a =
(Θ⁻¹M) × X_a, of work M·φ. They turn with the hub:

    K_G gets −(R Φᵀ + Φ Rᵀ) + Φ (tr(B) I − B) Φᵀ,   R_i = e_i × f,  Φ = ∂φ/∂u,  B = Σ X fᵀ,

because Rᵀv = (tr(B) I − B) θ for the rotation v = θ × X, so that K_G v has −θ × f from the hub,
which cancels the remainder of the prestress: (K + K(ε) + K(ω²) + K_G) v = 0 holds for any axis
(docs/theory.md, "Geometric stiffness is not optional"). In the plane, and whenever the couple
vanishes, the term is symmetric: it is the Hessian of −Tφ for a torque T. In space B − Bᵀ is the
couple itself. A couple that rotates with the body is not conservative, and K_G then has the skew
part ½ Φ M̃ Φᵀ.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from assembly.elements.continuum import Continuum
from assembly.elements.family import ElementFamily
from assembly.kinematics import SKEW_UNITS
from assembly.types import Array, Index


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
        fields = self._rotations(self._arms)
        gram = np.einsum("aik,ail->kl", fields, fields)
        return self._spread(fields @ np.linalg.inv(gram))

    def _rotations(self, X: Array) -> Array:
        """Displacements (N, 3, r) of points at X (N, 3) from the pin per unit rotation."""
        turned = np.stack([X @ unit.T for unit in SKEW_UNITS], axis=2)  # column k: e_k × X
        return np.asarray(turned @ self.axes)

    def _spread(self, nodal: Array) -> Array:
        """(hub nodes, 3, k) placed among all DOFs, (size, k)."""
        d = self.continuum.dimension
        out = np.zeros((len(self.continuum.points), d, nodal.shape[2]))
        out[self.nodes] = nodal[:, :d]
        return out.reshape(self.size, -1)

    def _couple_against(self, loads: Array) -> Array:
        """The couple (r, ...) about each free axis that balances loads (size, ...), N·m."""
        d = self.continuum.dimension
        fields = self._rotations(self.continuum.points - self.pin)[:, :d]
        return np.asarray(-fields.reshape(self.size, -1).T @ loads)

    def balance(self, loads: Array) -> Array:
        """The hub's forces (size, k) that hold the rotation against loads (size, k), N."""
        return np.asarray(self.rotation @ self._couple_against(loads))

    def balance_stiffness(self, loads: Array) -> sp.csr_matrix:
        """The second-order work of the couple (module docstring), for small hub rotations."""
        couple = self._couple_against(loads)
        if not np.any(couple):
            return self.zero()
        d, E = self.continuum.dimension, self.axes
        force = np.zeros((len(self.nodes), 3))
        force[:, :d] = (self.rotation @ couple).reshape(-1, d)[self.nodes]
        turned = np.stack([force @ axis.T for axis in SKEW_UNITS], axis=2) @ E
        R, phi = self._spread(turned), self.rotation
        B = self._arms.T @ force
        h = np.trace(B) * np.eye(3) - B
        R, phi = sp.csr_matrix(R), sp.csr_matrix(phi)
        return sp.csr_matrix(-(R @ phi.T + phi @ R.T) + phi @ sp.csr_matrix(E.T @ h @ E) @ phi.T)
