"""The interpolation of beam elements: exact for static loads at their two nodes.

The displacement (u, φ) inside an element is the static solution between its nodes: strains of the
section are its compliance times the resultants that balance the end loads, integrated along the
axis. For a straight uniform element this is the cubic Hermite interpolation with Timoshenko's shear
parameter (Przemieniecki, Theory of Matrix Structural Analysis, 1968, §11.8; Φ = 0 is
Euler–Bernoulli); for tapered, curved, twisted and coupled sections it is the flexibility method
(e.g. Karabalis & Beskos, Comput. Struct. 16, 1983). Everything is in body axes: strains γ = u′ − φ
× X′ and κ = φ′, resultants F (N, V) and Mo (T, M), F′ = −p, Mo′ = −X′ × F − q.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.polynomial import legendre

from assembly.elements.section_inertia import SectionInertia
from assembly.kinematics import skew
from assembly.types import Array


@dataclass(frozen=True)
class LineRule:
    """Points (Q,) and weights (Q,) on [0, 1]; `running` (Q, Q) integrates up to each point.

    `running` integrates the interpolating polynomial, so it is exact to degree Q − 1.
    """

    points: Array
    weights: Array
    running: Array


@cache
def gauss(count: int) -> LineRule:
    """The rule with `count` points, exact to degree 2·count − 1."""
    x, w = legendre.leggauss(count)
    P = legendre.legvander(x, count)
    integrals = np.empty((count, count))
    integrals[:, 0] = (x + 1.0) / 2.0
    for k in range(1, count):
        integrals[:, k] = (P[:, k + 1] - P[:, k - 1]) / (2.0 * (2 * k + 1))
    # The inverse of the square Legendre matrix follows from discrete orthogonality.
    inverse = (np.arange(count) + 0.5)[:, None] * P[:, :count].T * w
    return LineRule((x + 1.0) / 2.0, w / 2.0, integrals @ inverse)


@dataclass(frozen=True)
class Stations:
    """Sections at the Q quadrature points of E elements, in body axes.

    rule: the quadrature. X (E, Q, 3): the axis, m. slope (E, Q, 3): dX/dξ, ξ from 0 to 1.
    compliance (E, Q, 6, 6): strains (γ, κ) of unit resultants (F, Mo). inertia: per length, about
    the axis. tension_centre (E, Q, 3): from the axis, m. radius2 (E, Q): Wagner's r² about it, m².
    viscous (E, Q, 6, 6): power that rates of resultants dissipate (`viscous_compliance`), if any.
    """

    rule: LineRule
    X: Array
    slope: Array
    compliance: Array
    inertia: SectionInertia
    tension_centre: Array
    radius2: Array
    viscous: Array | None = None


class BeamShapes:
    """Shape functions of E elements between ends (E, 2, 3), at their stations.

    N (E, Q, 6, 12): (u, φ) of the nodes' (u, φ). du, dphi (E, Q, 3, 12): derivatives by ξ.
    stiffness (E, 12, 12): elastic. balance (E, Q, 6, 6): resultants (F, Mo) of unit loads at the
    far end. relative (E, 6, 12): motion of the far end beyond the near end's rigid motion. rigidity
    (E, 6, 6): the load at the far end per unit of that.
    """

    def __init__(self, stations: Stations, ends: Array) -> None:
        self.stations, self.ends = stations, ends
        st = stations

        # Strains per unit load p = (F, Mo) at the far end, then displacements from the near end.
        balance = np.broadcast_to(np.eye(6), (*st.X.shape[:2], 6, 6)).copy()
        balance[..., 3:, :3] = skew(ends[:, None, 1] - st.X)
        slope, kappa, bend, flexibility = self._integrated(balance)
        self.balance = balance
        self.rigidity = symmetric(np.linalg.inv(symmetric(flexibility)))
        self._by_load = (slope, kappa, bend)

        relative = np.zeros((len(ends), 6, 12))
        relative[:, :, :6], relative[:, :, 6:] = -np.eye(6), np.eye(6)
        relative[:, :3, 3:6] = skew(ends[:, 1] - ends[:, 0])
        self.relative = relative
        load = self.rigidity @ relative

        self.N = bend @ load[:, None]
        self.N[..., :, :6] += np.eye(6)
        self.N[..., :3, 3:6] -= skew(st.X - ends[:, None, 0])
        self.du = slope @ load[:, None]
        self.du[..., 3:6] -= skew(st.slope)
        self.dphi = kappa @ load[:, None]
        self.stiffness = symmetric(relative.transpose(0, 2, 1) @ load)

    @cached_property
    def resistance(self) -> Array | None:
        """Loads at the far end per unit of the rate of its motion, (E, 6, 6), of the sections'
        damping; None without.
        """
        st = self.stations
        if st.viscous is None:
            return None
        power = self.balance.swapaxes(-1, -2) @ st.viscous @ self.balance
        power = over(st.rule, self.jacobian[..., None, None] * power)
        return symmetric(self.rigidity @ power @ self.rigidity)

    @cached_property
    def jacobian(self) -> Array:
        """|dX/dξ| (E, Q), m."""
        return np.asarray(np.linalg.norm(self.stations.slope, axis=-1))

    @cached_property
    def tangent(self) -> Array:
        """Unit tangents (E, Q, 3)."""
        return np.asarray(self.stations.slope / self.jacobian[..., None])

    @cached_property
    def lengths(self) -> Array:
        """Length belonging to each quadrature point (E, Q), m."""
        return np.asarray(self.stations.rule.weights * self.jacobian)

    @cached_property
    def fields(self) -> Array:
        """(u, φ, u′, φ′) by ξ of the nodes' motion, (E, Q, 12, 12)."""
        return np.concatenate([self.N, self.du, self.dphi], axis=-2)

    @cached_property
    def shear(self) -> Array:
        """Shear strain at the tension centre, by ξ, of the nodes' motion (E, Q, 3, 12)."""
        t, st = self.tangent, self.stations
        gamma = self.du + skew(st.slope) @ self.N[..., 3:, :]
        gamma = gamma - skew(st.tension_centre) @ self.dphi
        return np.asarray(gamma - t[..., :, None] * (t[..., None, :] @ gamma))

    @cached_property
    def load_density(self) -> Array:
        """Inertia force and moment per ξ (E, Q, 6, 12) of the unit kinematics."""
        loads = self.stations.inertia.loads(self.stations.X)
        return np.asarray(self.jacobian[..., None, None] * loads)

    @cached_property
    def loads(self) -> Array:
        """Consistent nodal loads (E, 12, 12) of the unit kinematics (last axis)."""
        return over(self.stations.rule, self.N.swapaxes(-1, -2) @ self.load_density)

    @cached_property
    def own_fields(self) -> Array:
        """(u, φ, u′, φ′) by ξ under the unit inertia loads between fixed nodes, (E, Q, 12, 12)."""
        return self._own[0]

    @cached_property
    def own_resultants(self) -> Array:
        """(F, Mo) of the unit inertia loads between fixed nodes, (E, Q, 6, 12).

        They make the stress inside an element that carries its load exact.
        """
        return self._own[1]

    @cached_property
    def _own(self) -> tuple[Array, Array]:
        st, rule = self.stations, self.stations.rule
        slope, kappa, bend = self._by_load
        F = beyond(rule, self.load_density[..., :3, :])
        Mo = beyond(rule, self.load_density[..., 3:, :] + skew(st.slope) @ F)
        resultants = np.concatenate([F, Mo], axis=-2)
        own, curvature, motion, end_motion = self._integrated(resultants)
        end_load: Array = (-self.rigidity @ end_motion)[:, None]
        parts = (motion, bend), (own, slope), (curvature, kappa)
        fields = np.concatenate([x + by_load @ end_load for x, by_load in parts], axis=-2)
        return fields, resultants + self.balance @ end_load

    def _integrated(self, resultants: Array) -> tuple[Array, Array, Array, Array]:
        """What resultants (E, Q, 6, ·) make: u′ and φ′ by ξ, the motion from the near end, and that
        of the far end."""
        st, rule = self.stations, self.stations.rule
        strain = self.jacobian[..., None, None] * (st.compliance @ resultants)
        curvature = strain[..., 3:, :]
        phi = up_to(rule, curvature)
        slope = strain[..., :3, :] - skew(st.slope) @ phi
        motion = np.concatenate([up_to(rule, slope), phi], axis=-2)
        far = np.concatenate([over(rule, slope), over(rule, curvature)], axis=-2)
        return slope, curvature, motion, far


def up_to(rule: LineRule, values: Array) -> Array:
    """Integrals (E, Q, i, j) from ξ = 0 to each quadrature point."""
    return np.asarray(np.einsum("qr,erij->eqij", rule.running, values))


def beyond(rule: LineRule, values: Array) -> Array:
    """Integrals (E, Q, i, j) from each quadrature point to ξ = 1."""
    return np.asarray(np.einsum("qr,erij->eqij", rule.weights - rule.running, values))


def over(rule: LineRule, values: Array) -> Array:
    """Integrals (E, i, j) over the element."""
    return np.asarray(np.einsum("q,eqij->eij", rule.weights, values))


def symmetric(A: Array) -> Array:
    """½ (A + Aᵀ) of matrices (E, i, i): exact, where round-off is all that differs."""
    return np.asarray(0.5 * (A + A.swapaxes(-1, -2)))
