"""Large displacements of beam elements: the geometrically exact beam on the elements' own fields.

Strains in the section's turned axes (Simo, Comput. Methods Appl. Mech. Eng. 49, 1985), with
R = exp(φ̃), t the undeformed tangent and c the tension centre:
    Γ = Rᵀr′ − t,  κ = axial(RᵀR′),
    axial strain  Γ·t + |t + Γ + κ × c| − 1 − t·(Γ + κ × c) + ½ r² (t·κ)²,
so that the axial force works on the stretch of the line of tension centres and on the twist of
fibres about it: the second-order terms of `BeamFamily.geometric`. Each element is described from
a frame that turns with it, by the mean of its nodes' rotation vectors, so that only what is left of
the rotations is interpolated (corotational: Crisfield, Comput. Methods Appl. Mech. Eng. 81, 1990).
The law is linear in these strains. A solid linear in Green's strain (St. Venant–Kirchhoff) bends
stiffer by three times its stretch: the two agree to the order of the strain, not beyond.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.elements.beam_shapes import BeamShapes
from assembly.elements.large_rotation import (
    inertia_gradient,
    jacobian,
    moved_by,
    relative_turn,
    spin_inverse_transposed,
    spin_of,
    spin_rate_transposed,
    spin_transposed,
    turned_by,
)
from assembly.elements.section_inertia import cross_matrices
from assembly.errors import ConvergenceError

Array = NDArray[Any]

SHEAR_FREE = 1e-9  # of the axial compliance: below it a section is Euler–Bernoulli's


def section_stiffness(compliance: NDArray[np.float64], t: NDArray[np.float64]) -> Array:
    """Section stiffness (E, Q, 6, 6), body axes; nought in shear where the section allows none."""
    helper = np.eye(3)[np.argmin(abs(t), axis=-1)]
    n = np.cross(t, helper)
    n /= np.linalg.norm(n, axis=-1, keepdims=True)
    axes = np.stack([t, n, np.cross(t, n)], axis=-1)
    Q = np.zeros((*t.shape[:-1], 6, 6))
    Q[..., :3, :3] = Q[..., 3:, 3:] = axes
    own = Q.swapaxes(-1, -2) @ compliance @ Q
    stiff = np.maximum(own[..., 1, 1], own[..., 2, 2]) <= SHEAR_FREE * own[..., 0, 0]
    D = np.zeros_like(own)
    kept = np.array([0, 3, 4, 5])
    every = np.arange(6)
    for chosen, rows in ((stiff, kept), (~stiff, every)):
        block = own[chosen][:, rows[:, None], rows]
        whole = np.zeros((len(block), 6, 6))
        whole[:, rows[:, None], rows] = np.linalg.inv(block)
        D[chosen] = whole
    return np.asarray(Q @ D @ Q.swapaxes(-1, -2))


@dataclass(frozen=True)
class Sections:
    """What the strains of E elements with Q points each are made from, body axes.

    D (E, Q, 6, 6), t and c (E, Q, 3), radius2 (E, Q) as above; share (E, Q): of each point in its
    element's length.
    """

    D: Array
    t: Array
    c: Array
    radius2: Array
    share: Array

    def mean(self, values: Array) -> Array:
        """Mean over each element (..., E, 1, i) of values (..., E, Q, i)."""
        return np.asarray(np.einsum("eq,...eqi->...ei", self.share, values)[..., None, :])


def strain_gradient(
    sections: Sections, own_force: Array, phi: Array, du: Array, dphi: Array
) -> tuple[Array, Array, Array]:
    """Derivatives by φ, u′ and φ′ (E, Q, 3) of the strain energy per length.

    The second-order part of Γ is its mean over the element: axial displacement is interpolated too
    simply to follow the shortening of a bent element point by point, and would lock. How the force
    varies inside an element under its own load, own_force (E, Q, 3), works on it all the same.
    """
    t, c, radius2 = sections.t, sections.c, sections.radius2[..., None]
    gamma = du + moved_by(-phi, t + du)
    kappa = spin_of(phi, dphi)
    line = gamma + np.cross(kappa, c)
    # |t + line| − 1 without cancellation; no conjugate, so that complex steps pass.
    grown = np.sum(line * (line + 2.0 * t), axis=-1, keepdims=True)
    length = np.sqrt(1.0 + grown)
    twist = np.sum(t * kappa, axis=-1, keepdims=True)
    stretch = grown / (1.0 + length) - np.sum(t * line, axis=-1, keepdims=True)
    linear = du - np.cross(phi, t)
    second = gamma + (stretch + 0.5 * radius2 * twist**2) * t - linear
    strain = np.concatenate([linear + sections.mean(second), kappa], axis=-1)
    resultants = np.einsum("...ij,...j->...i", sections.D, strain)
    F, Mo = resultants[..., :3], resultants[..., 3:]
    # On variations of the second-order part, and what is left for those of the linear part.
    mean: Array = sections.mean(F) + own_force - sections.mean(own_force)
    rest = F - mean
    N = np.sum(mean * t, axis=-1, keepdims=True)
    lean = (t + line) / length - t
    force = mean + N * lean
    Mo = Mo + N * (np.cross(c, lean) + radius2 * twist * t)
    by_phi = spin_transposed(phi, np.cross(force, t + gamma) + np.cross(Mo, kappa))
    by_phi = by_phi + spin_rate_transposed(phi, dphi, Mo) - np.cross(t, rest)
    return by_phi, turned_by(phi, force) + rest, spin_transposed(phi, Mo)


def in_turned_frame(ends: Array, d: Array) -> Array:
    """Nodes' motion (E, 12) as seen from each element's frame at its first node, (E, 12)."""
    frame = 0.5 * (d[..., 3:6] + d[..., 9:])
    span = ends[:, 1] - ends[:, 0]
    apart = d[..., 6:9] - d[..., :3]
    moved = apart + moved_by(-frame, span + apart)
    first, second = (relative_turn(frame, phi) for phi in (d[..., 3:6], d[..., 9:]))
    return np.concatenate([0.0 * moved, first, moved, second], axis=-1)


def from_turned_frame(ends: Array, d: Array, own: Array, forces: Array) -> Array:
    """Forces (E, 12) on the nodes of those on the motion `own` = in_turned_frame(ends, d)."""
    frame = 0.5 * (d[..., 3:6] + d[..., 9:])
    span = ends[:, 1] - ends[:, 0]
    pull = turned_by(frame, forces[..., 6:9])
    on_frame = np.cross(forces[..., 6:9], span + own[..., 6:9])
    turns = []
    for phi, rest, moment in (
        (d[..., 3:6], own[..., 3:6], forces[..., 3:6]),
        (d[..., 9:], own[..., 9:], forces[..., 9:]),
    ):
        spun = spin_inverse_transposed(rest, moment)
        turns.append(spin_transposed(phi, spun))
        on_frame = on_frame - turned_by(rest, spun)
    both = 0.5 * spin_transposed(frame, on_frame)
    return np.concatenate([-pull, turns[0] + both, pull, turns[1] + both], axis=-1)


class LargeBeam:
    """Forces (E, 12) and tangents (E, 12, 12) of elements under nodes' motion d (E, 12), large."""

    def __init__(self, shapes: BeamShapes) -> None:
        self.shapes = shapes
        st, lengths = shapes.stations, shapes.lengths
        share = lengths / lengths.sum(axis=1, keepdims=True)
        D = section_stiffness(st.compliance, shapes.tangent)
        self._sections = Sections(D, shapes.tangent, st.tension_centre, st.radius2, share)
        self._weighted = st.rule.weights[:, None, None] * shapes.fields
        self._own_forces = self._forces_of_own_fields()

    def _forces_of_own_fields(self) -> Array:
        """F (E, Q, 3, 12) of the unit inertia loads between fixed nodes."""
        own, j = self.shapes.own_fields, self.shapes.jacobian[..., None, None]
        phi, du, dphi = (own[..., 3 * k : 3 * k + 3, :] for k in (1, 2, 3))
        gamma = du / j + cross_matrices(self.shapes.tangent) @ phi
        strain = np.concatenate([gamma, dphi / j], axis=-2)
        return np.asarray((self._sections.D @ strain)[..., :3, :])

    def forces(self, d: NDArray[np.float64], coefficients: NDArray[np.float64]) -> Array:
        """Of the strains, and of the inertia load on the moved points."""
        if np.linalg.norm(d.reshape(-1, 2, 6)[..., 3:], axis=-1).max() > np.pi:
            raise ConvergenceError("a beam has turned by more than π")
        inertia = self._inertia(self._moved(d), coefficients)
        forces = np.einsum("eqji,eqj->ei", self._weighted[..., :6, :], inertia)
        return self._strain(d, coefficients) + forces

    def tangent(self, d: NDArray[np.float64], coefficients: NDArray[np.float64]) -> Array:
        """The derivative of `forces` by d."""
        of_strain = jacobian(lambda state: self._strain(state, coefficients), d)
        of_inertia = jacobian(lambda state: self._inertia(state, coefficients), self._moved(d))
        carried = self._weighted[..., :6, :].swapaxes(-1, -2) @ of_inertia @ self.shapes.N
        return of_strain + carried.sum(axis=1)

    def _moved(self, d: Array) -> Array:
        return (self.shapes.N @ d[:, None, :, None])[..., 0]

    def _strain(self, d: Array, coefficients: NDArray[np.float64]) -> Array:
        shapes, j = self.shapes, self.shapes.jacobian[..., None]
        seen = in_turned_frame(shapes.ends, d)
        y = (shapes.fields @ seen[..., None, :, None])[..., 0]
        y = y + shapes.own_fields @ coefficients
        by_phi, by_du, by_dphi = strain_gradient(
            self._sections,
            self._own_forces @ coefficients,
            y[..., 3:6],
            y[..., 6:9] / j,
            y[..., 9:] / j,
        )
        gradient = np.concatenate([j * by_phi, by_du, by_dphi], axis=-1)
        forces = np.einsum("eqji,...eqj->...ei", self._weighted[..., 3:, :], gradient)
        return from_turned_frame(shapes.ends, d, seen, forces)

    def _inertia(self, y: Array, coefficients: NDArray[np.float64]) -> Array:
        """Derivatives (E, Q, 6) by (u, φ) of the inertia load's work on points, per ξ."""
        st = self.shapes.stations
        parts = inertia_gradient(st.inertia, st.X, y[..., :3], y[..., 3:], coefficients)
        return self.shapes.jacobian[..., None] * np.concatenate(parts, axis=-1)
