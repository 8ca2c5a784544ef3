"""Beam elements along any axis: two nodes, exact for static end loads, all elements in one batch.

The displacement (u, φ) inside an element is the static solution between its nodes: strains of the
section are its compliance times the resultants that balance the end loads, integrated along the
axis. For a straight uniform element this is the cubic Hermite interpolation with Timoshenko's shear
parameter (Przemieniecki, Theory of Matrix Structural Analysis, 1968, §11.8; Φ = 0 is
Euler–Bernoulli); for tapered, curved, twisted and coupled sections it is the flexibility method
(e.g. Karabalis & Beskos, Comput. Struct. 16, 1983). Everything is in body axes: strains γ = u′ − φ
× X′ and κ = φ′, resultants F (N, V) and Mo (T, M), F′ = −p, Mo′ = −X′ × F − q.

Geometric stiffness: second-order strain work of the geometrically exact beam (Simo, Comput. Methods
Appl. Mech. Eng. 49, 1985) with R = exp(φ̃), per length
    W = F·(−φ × u′ + ½ φ × (φ × X′)) − ½ Mo·(φ × φ′) + ½ N |γ⊥ + κ × c|² + ½ N r² (t·κ)².
The third term makes N the force along the deformed line of tension centres c, which works on its
stretch |r′| − 1, as the literature of rotating Timoshenko beams has it (½ N w′²; it is nought
without shear strain there). The last is the twist of fibres about that line (Wagner), r² = (Iy +
Iz)/A. The second-order work of the inertia load on the section's turn comes on top
(`SectionInertia.load_work`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from assembly.dofs import DofMap
from assembly.elements.element_map import ElementMap
from assembly.elements.family import ElementFamily
from assembly.elements.large_beam import (
    Sections,
    from_turned_frame,
    in_turned_frame,
    section_stiffness,
    strain_gradient,
)
from assembly.elements.large_rotation import inertia_gradient, jacobian
from assembly.elements.quadrature import LineRule
from assembly.elements.section_inertia import SectionInertia, cross_matrices
from assembly.errors import ConvergenceError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Stations:
    """Sections at the Q quadrature points of E elements, in body axes.

    rule: the quadrature. X (E, Q, 3): the axis, m. slope (E, Q, 3): dX/dξ, ξ from 0 to 1.
    compliance (E, Q, 6, 6): strains (γ, κ) of unit resultants (F, Mo). inertia: per length, about
    the axis. tension_centre (E, Q, 3): from the axis, m. radius2 (E, Q): Wagner's r² about it, m².
    """

    rule: LineRule
    X: Array
    slope: Array
    compliance: Array
    inertia: SectionInertia
    tension_centre: Array
    radius2: Array


class BeamFamily(ElementFamily):
    """Beam elements between nodes connectivity (E, 2) of a body with unknowns `dofs`."""

    def __init__(self, dofs: DofMap, connectivity: NDArray[np.intp], stations: Stations) -> None:
        self.size, self.stations = len(dofs), stations
        self.map = ElementMap(dofs, connectivity, (0, 1, 2, 3, 4, 5))
        self.ends = dofs.coordinates[connectivity]
        self._interpolate(self.ends)

    def _interpolate(self, ends: Array) -> None:
        """Shape functions (u, φ), derivatives by ξ, (E, Q, 6, 12); stiffness (E, 12, 12)."""
        st = self.stations
        w, running = st.rule.weights, st.rule.running
        from_a = -cross_matrices(st.X - ends[:, None, 0])
        to_b = cross_matrices(ends[:, None, 1] - st.X)
        turn = -cross_matrices(st.slope)

        # Strains per unit load p = (F, Mo) at the far end, then displacements from the near end.
        balance = np.broadcast_to(np.eye(6), (*st.X.shape[:2], 6, 6)).copy()
        balance[..., 3:, :3] = to_b
        strain = self._jacobian[..., None, None] * (st.compliance @ balance)
        kappa = strain[..., 3:, :]
        phi = _along(running, kappa)
        slope = strain[..., :3, :] + turn @ phi
        bend = np.concatenate([_along(running, slope), phi], axis=-2)
        flexibility = np.concatenate([_total(w, slope), _total(w, kappa)], axis=-2)
        rigidity = np.linalg.inv(0.5 * (flexibility + flexibility.transpose(0, 2, 1)))

        # Load from the nodes' motion: what the far end does beyond the near end's rigid motion.
        relative = np.zeros((len(ends), 6, 12))
        relative[:, :, :6], relative[:, :, 6:] = -np.eye(6), np.eye(6)
        relative[:, :3, 3:6] = cross_matrices(ends[:, 1] - ends[:, 0])
        load = 0.5 * (rigidity + rigidity.transpose(0, 2, 1)) @ relative

        self._by_load = (slope, kappa, bend, rigidity)
        self._N = bend @ load[:, None]
        self._N[..., :, :6] += np.eye(6)
        self._N[..., :3, 3:6] += from_a
        self._du = slope @ load[:, None]
        self._du[..., 3:6] += turn
        self._dphi = kappa @ load[:, None]
        stiffness = relative.transpose(0, 2, 1) @ load
        self._K = 0.5 * (stiffness + stiffness.transpose(0, 2, 1))

    @cached_property
    def _jacobian(self) -> Array:
        """|dX/dξ| (E, Q), m."""
        return np.asarray(np.linalg.norm(self.stations.slope, axis=-1))

    @cached_property
    def _shear(self) -> Array:
        """Shear strain at the tension centre, by ξ, of the nodes' motion (E, Q, 3, 12)."""
        st = self.stations
        t = st.slope / self._jacobian[..., None]
        gamma = self._du + cross_matrices(st.slope) @ self._N[..., 3:, :]
        gamma = gamma - cross_matrices(st.tension_centre) @ self._dphi
        return np.asarray(gamma - t[..., :, None] * (t[..., None, :] @ gamma))

    @cached_property
    def _lengths(self) -> Array:
        """Length belonging to each quadrature point (E, Q), m."""
        return self.stations.rule.weights * self._jacobian

    @cached_property
    def _inertia(self) -> Array:
        """Element matrices (E, 12, 10, 12): mass, six of ω_iω_j, three of w."""
        E, Q = self._lengths.shape
        H = self.stations.inertia.forms() @ self._N[:, :, None]
        H = (self._lengths[..., None, None, None] * H).transpose(0, 1, 3, 2, 4)
        rows = self._N.reshape(E, Q * 6, 12).transpose(0, 2, 1)
        return np.asarray((rows @ H.reshape(E, Q * 6, 120)).reshape(E, 12, 10, 12))

    def mass(self) -> sp.csr_matrix:
        return self.map.matrix(_symmetric(self._inertia[:, :, 0]))

    def stiffness(self) -> sp.csr_matrix:
        return self.map.matrix(self._K)

    def centrifugal(self) -> tuple[sp.csr_matrix, ...]:
        return tuple(self.map.matrix(_symmetric(self._inertia[:, :, k])) for k in range(1, 7))

    def gyroscopic(self) -> tuple[sp.csr_matrix, ...]:
        skew = [
            0.5 * (G - G.transpose(0, 2, 1)) for G in np.moveaxis(self._inertia[:, :, 7:], 2, 0)
        ]
        return tuple(self.map.matrix(G) for G in skew)

    def spin_gyroscopic(self) -> sp.csr_matrix:
        """𝒢 per unit of spin about the elements' own axis, in a frame that does not spin."""
        t = self.stations.slope / self._jacobian[..., None]
        H = self._lengths[..., None, None] * self.stations.inertia.spin(t)
        return self.map.matrix((self._N.swapaxes(-1, -2) @ H @ self._N).sum(axis=1))

    @cached_property
    def _load_density(self) -> Array:
        """Inertia force and moment per ξ (E, Q, 6, 12) of the unit kinematics."""
        loads = self.stations.inertia.loads(self.stations.X)
        return np.asarray(self._jacobian[..., None, None] * loads)

    @cached_property
    def _element_loads(self) -> Array:
        """Consistent nodal loads (E, 12, 12) of the unit kinematics (last axis)."""
        weighted = self.stations.rule.weights[:, None, None] * self._load_density
        return np.asarray((self._N.transpose(0, 1, 3, 2) @ weighted).sum(axis=1))

    def inertia_loads(self) -> Array:
        return self.map.vector(self._element_loads)

    def resultants(self, u: Array, unit: int | None) -> tuple[Array, Array]:
        """F and Mo (E, Q, 3), N and N·m in body axes, under u (size,) and one unit's inertia load.

        Exact: from the forces at the far end and the load between there and the section.
        """
        st = self.stations
        ends = (self._K @ self.map.gather(u)[..., None])[..., 0]
        if unit is not None:
            ends = ends - self._element_loads[..., unit]
        F = np.broadcast_to(ends[:, None, 6:9], st.X.shape)
        moment_rate = np.zeros_like(st.X)
        if unit is not None:
            density = self._load_density[..., unit]
            F = F + _beyond(st.rule, density[..., :3])
            moment_rate = density[..., 3:]
        moment_rate = moment_rate + np.cross(st.slope, F)
        return F, ends[:, None, 9:] + _beyond(st.rule, moment_rate)

    @cached_property
    def _own_fields(self) -> Array:
        """(u, φ, u′, φ′) by ξ under the unit inertia loads between fixed nodes, (E, Q, 12, 12).

        They make the stress inside an element that carries its load as exact as `resultants`.
        """
        st = self.stations
        slope, kappa, bend, rigidity = self._by_load
        turn = cross_matrices(st.slope)
        F = _beyond_matrix(st.rule, self._load_density[..., :3, :])
        Mo = _beyond_matrix(st.rule, self._load_density[..., 3:, :] + turn @ F)
        strain = self._jacobian[..., None, None] * (
            st.compliance @ np.concatenate([F, Mo], axis=-2)
        )
        phi = _along(st.rule.running, strain[..., 3:, :])
        own = strain[..., :3, :] - turn @ phi
        reached = [_total(st.rule.weights, part) for part in (own, strain[..., 3:, :])]
        held = (-rigidity @ np.concatenate(reached, axis=-2))[:, None]
        moved = np.concatenate([_along(st.rule.running, own), phi], axis=-2) + bend @ held
        return np.concatenate([moved, own + slope @ held, strain[..., 3:, :] + kappa @ held], -2)

    @cached_property
    def _fields(self) -> Array:
        """(u, φ, u′, φ′) by ξ of the nodes' motion, (E, Q, 12, 12)."""
        return np.concatenate([self._N, self._du, self._dphi], axis=-2)

    @cached_property
    def _weighted_fields(self) -> Array:
        """(φ, u′, φ′) of `_fields` times the quadrature weights, (E, Q, 9, 12)."""
        return np.asarray(self.stations.rule.weights[:, None, None] * self._fields[..., 3:, :])

    @cached_property
    def _sections(self) -> Sections:
        st = self.stations
        t = st.slope / self._jacobian[..., None]
        share = self._lengths / self._lengths.sum(axis=1, keepdims=True)
        D = section_stiffness(st.compliance, t)
        return Sections(D, t, st.tension_centre, st.radius2, share)

    @cached_property
    def _own_forces(self) -> Array:
        """F (E, Q, 3, 12) of the unit inertia loads between fixed nodes."""
        sections, j = self._sections, self._jacobian[..., None, None]
        phi, du, dphi = (self._own_fields[..., 3 * k : 3 * k + 3, :] for k in (1, 2, 3))
        strain = np.concatenate([du / j + cross_matrices(sections.t) @ phi, dphi / j], axis=-2)
        return np.asarray((sections.D @ strain)[..., :3, :])

    def _strain_forces(self, d: NDArray[Any], coefficients: Array) -> NDArray[Any]:
        """Forces (E, 12) of the strains under nodes' motion d (E, 12), large."""
        j = self._jacobian[..., None]
        own = in_turned_frame(self.ends, d)
        y = (self._fields @ own[..., None, :, None])[..., 0] + self._own_fields @ coefficients
        phi, du, dphi = y[..., 3:6], y[..., 6:9] / j, y[..., 9:] / j
        by_phi, by_du, by_dphi = strain_gradient(
            self._sections, self._own_forces @ coefficients, phi, du, dphi
        )
        gradient = np.concatenate([j * by_phi, by_du, by_dphi], axis=-1)
        forces = np.einsum("eqji,...eqj->...ei", self._weighted_fields, gradient)
        return from_turned_frame(self.ends, d, own, forces)

    def _inertia_gradient(self, y: NDArray[Any], coefficients: Array) -> NDArray[Any]:
        """Derivatives (E, Q, 6) by (u, φ) of the inertia load's work on points, per ξ."""
        st = self.stations
        parts = inertia_gradient(st.inertia, st.X, y[..., :3], y[..., 3:], coefficients)
        return self._jacobian[..., None] * np.concatenate(parts, axis=-1)

    def _linear_inertia(self, coefficients: Array) -> Array:
        """What the body itself counts as inertia stiffness, (E, 12, 12)."""
        return np.einsum("eikj,k->eij", self._inertia[:, :, 1:], coefficients[:9])

    def internal_force(self, u: Array, coefficients: Array) -> Array:
        """Forces of the geometrically exact beam, and the inertia of turned sections beyond the
        linear one. Rotation vectors must stay below π, an element's own bend below 1 rad.
        """
        d = self.map.gather(u)
        if np.linalg.norm(d.reshape(-1, 2, 6)[..., 3:], axis=-1).max() > np.pi:
            raise ConvergenceError("a beam has turned by more than π")
        y = (self._N @ d[:, None, :, None])[..., 0]
        inertia = self._inertia_gradient(y, coefficients)
        forces = np.einsum("q,eqji,eqj->ei", self.stations.rule.weights, self._N, inertia)
        forces += self._strain_forces(d, coefficients) + self._element_loads @ coefficients
        forces -= (self._linear_inertia(coefficients) @ d[..., None])[..., 0]
        return self.map.vector(forces)

    def tangent_stiffness(self, u: Array, coefficients: Array) -> sp.csr_matrix:
        d = self.map.gather(u)
        y = (self._N @ d[:, None, :, None])[..., 0]
        inner = jacobian(lambda state: self._inertia_gradient(state, coefficients), y)
        tangent = jacobian(lambda state: self._strain_forces(state, coefficients), d)
        inner = self._N.swapaxes(-1, -2) @ inner @ self._N
        tangent += _total(self.stations.rule.weights, inner) - self._linear_inertia(coefficients)
        if not np.any(coefficients[6:9]):
            tangent = _symmetric(tangent)
        return self.map.matrix(tangent)

    def geometric(self, u: Array, unit: int | None) -> sp.csr_matrix:
        st = self.stations
        F, Mo = self.resultants(u, unit)
        phi = self._N[..., 3:, :]
        outer = F[..., :, None] * st.slope[..., None, :]
        dot = np.einsum("eqi,eqi->eq", F, st.slope)
        on_phi = 0.5 * (outer + outer.swapaxes(-1, -2)) - dot[..., None, None] * np.eye(3)
        if unit is not None:
            on_phi += self._jacobian[..., None, None] * st.inertia.load_work(st.X, unit)
        # φᵀ(F̃ u′ + ½ M̃o φ′ + ½ H φ), and its transpose.
        inner = cross_matrices(F) @ self._du + 0.5 * (
            cross_matrices(Mo) @ self._dphi + on_phi @ phi
        )
        half = _total(st.rule.weights, phi.swapaxes(-1, -2) @ inner)
        # N of the shear strain across the axis and of the twist about it, per ξ.
        axial = 0.5 * st.rule.weights * dot / self._jacobian**2
        twist = np.einsum("eqi,eqij->eqj", st.slope, self._dphi) / self._jacobian[..., None]
        half += np.einsum("eq,eqi,eqj->eij", axial * st.radius2, twist, twist)
        half += np.einsum("eq,eqki,eqkj->eij", axial, self._shear, self._shear)
        return self.map.matrix(half + half.transpose(0, 2, 1))


def _along(running: Array, values: Array) -> Array:
    """Integrals (E, Q, i, j) from ξ = 0 to each quadrature point."""
    return np.einsum("qr,erij->eqij", running, values)


def _total(weights: Array, values: Array) -> Array:
    """Integrals (E, i, j) over the element."""
    return np.einsum("q,eqij->eij", weights, values)


def _beyond_matrix(rule: LineRule, values: Array) -> Array:
    """Integrals (E, Q, i, j) from each quadrature point to ξ = 1."""
    return np.einsum("qr,erij->eqij", rule.weights - rule.running, values)


def _beyond(rule: LineRule, values: Array) -> Array:
    """Integrals (E, Q, i) from each quadrature point to ξ = 1."""
    return np.einsum("qr,eri->eqi", rule.weights - rule.running, values)


def _symmetric(A: Array) -> Array:
    return 0.5 * (A + A.transpose(0, 2, 1))
