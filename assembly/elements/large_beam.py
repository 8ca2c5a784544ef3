"""Large displacements of beam elements: the geometrically exact beam on the elements' own fields.

Strains in the section's rotated axes (Simo, Comput. Methods Appl. Mech. Eng. 49, 1985), with
R = exp(φ̃), t the undeformed tangent and c the tension centre:
    Γ = Rᵀr′ − t,  κ = axial(RᵀR′),
    axial strain  Γ·t + |t + Γ + κ × c| − 1 − t·(Γ + κ × c) + ½ r² (t·κ)²,
so that the axial force works on the stretch of the line of tension centres and on the twist of
fibres about it: the second-order terms of `BeamFamily.geometric`.

Each element is described from a frame that turns with it, by the mean of its nodes' rotation
vectors, so that only what is left of the rotations is interpolated (corotational: Crisfield,
Comput. Methods Appl. Mech. Eng. 81, 1990). The inertia load acts on the points where the frame
carries them: on the points that the nodes' rotations alone interpolate it would do work of second
order that the strains do not balance, and a curved element would soften.

Resultants balance the end load p and the inertia load, S = B p + S₀, B `BeamShapes.balance`. With
Γ₂, κ₂ the strains beyond the linear ones, and the linear element's motion of the far end r and
rigidity H, the strain energy of an element is
    ½ ρᵀHρ + ∫ S₀·(Γ₂, κ₂),   ρ = r + ∫ Bᵀ(Γ₂, κ₂),   p = Hρ
(Hellinger–Reissner with resultants in equilibrium: Neuenhofer & Filippou, J. Struct. Eng. 124,
1998). It is the linear element at rest, and it does not lock: six numbers of the second-order
strain count, not its values at every point.
The law is linear in these strains. A solid linear in Green's strain (St. Venant–Kirchhoff) bends
stiffer by three times its stretch: the two agree to the order of the strain, not beyond.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from assembly.elements.beam_shapes import BeamShapes
from assembly.elements.family import Rates
from assembly.elements.large_rotation import (
    STEP,
    inertia_gradient,
    moved_by,
    relative_turn,
    spin_inverse_transposed,
    spin_of,
    spin_rate_transposed,
    spin_transposed,
    turned_by,
    value_and_jacobian,
)
from assembly.elements.moments import section_moments
from assembly.elements.taylor import Taylor, cross, value_of
from assembly.errors import ConvergenceError
from assembly.types import AnyArray, Array

MOST_BENT = 1.0  # rad between an element's nodes


@dataclass(frozen=True)
class Strain:
    """Strains (Γ, κ) of E elements at Q points each beyond those linear in φ, u′ and φ′, body axes.

    t, c (E, Q, 3) and radius2 (E, Q) as above; phi, du, dphi: φ, u′ and φ′ (..., E, Q, 3).
    """

    t: AnyArray
    c: AnyArray
    radius2: AnyArray
    phi: AnyArray
    du: AnyArray
    dphi: AnyArray

    @cached_property
    def _gamma(self) -> AnyArray:
        return self.du + moved_by(-self.phi, self.t + self.du)

    @cached_property
    def _kappa(self) -> AnyArray:
        return spin_of(self.phi, self.dphi)

    @cached_property
    def _line(self) -> tuple[AnyArray, AnyArray, AnyArray]:
        """Γ + κ × c, |t + Γ + κ × c|² − 1 and the stretch |t + Γ + κ × c|."""
        line = self._gamma + cross(self._kappa, self.c)
        # |t + line| − 1 without cancellation; no conjugate, so that complex steps pass.
        grown = np.sum(line * (line + 2.0 * self.t), axis=-1, keepdims=True)
        return line, grown, np.sqrt(1.0 + grown)

    @cached_property
    def _twist(self) -> AnyArray:
        twist: AnyArray = np.sum(self.t * self._kappa, axis=-1, keepdims=True)
        return twist

    def second_order(self) -> AnyArray:
        """(Γ, κ) less γ = u′ − φ × t and φ′, (..., E, Q, 6)."""
        t, (line, grown, length) = self.t, self._line
        stretch = grown / (1.0 + length) - np.sum(t * line, axis=-1, keepdims=True)
        axial = (stretch + 0.5 * self.radius2[..., None] * self._twist * self._twist) * t
        gamma = self._gamma + axial - (self.du - cross(self.phi, t))
        return np.concatenate([gamma, self._kappa - self.dphi], axis=-1)

    def second_order_gradient(self, resultants: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
        """Derivatives by φ, u′ and φ′ (..., E, Q, 3) of the work of given resultants on it."""
        t, phi = self.t, self.phi
        F, Mo = resultants[..., :3], resultants[..., 3:]
        line, _, length = self._line
        N = np.sum(F * t, axis=-1, keepdims=True)
        lean = (t + line) / length - t
        force = F + N * lean
        couple = Mo + N * (cross(self.c, lean) + self.radius2[..., None] * self._twist * t)
        by_phi = cross(force, t + self._gamma) + cross(couple, self._kappa)
        by_phi = spin_transposed(phi, by_phi) + spin_rate_transposed(phi, self.dphi, couple)
        by_du, by_dphi = turned_by(phi, force) - F, spin_transposed(phi, couple) - Mo
        return by_phi + cross(t, F), by_du, by_dphi


def in_turned_frame(ends: AnyArray, d: AnyArray) -> AnyArray:
    """Nodes' motion (E, 12) as seen from each element's frame at its first node, (E, 12)."""
    frame = 0.5 * (d[..., 3:6] + d[..., 9:])
    span = ends[:, 1] - ends[:, 0]
    apart = d[..., 6:9] - d[..., :3]
    moved = apart + moved_by(-frame, span + apart)
    turned = relative_turn(frame[..., None, :], _turns(d))
    parts = [0.0 * moved, turned[..., 0, :], moved, turned[..., 1, :]]
    return np.concatenate(parts, axis=-1)


def _turns(d: Any) -> Any:
    """Of both nodes (..., 2, 3), or the moments."""
    return np.concatenate([d[..., None, 3:6], d[..., None, 9:]], axis=-2)


def from_turned_frame(
    ends: AnyArray, d: AnyArray, own: AnyArray, forces: AnyArray, torque: AnyArray | float = 0.0
) -> AnyArray:
    """Forces (E, 12) on the nodes of those on the motion `own` = in_turned_frame(ends, d).

    torque (E, 3): on the frame itself, in its axes.
    """
    frame = 0.5 * (d[..., 3:6] + d[..., 9:])
    span = ends[:, 1] - ends[:, 0]
    pull = turned_by(frame, forces[..., 6:9])
    spun = spin_inverse_transposed(_turns(own), _turns(forces))
    on_frame = torque + cross(forces[..., 6:9], span + own[..., 6:9])
    on_frame = on_frame - np.sum(turned_by(_turns(own), spun), axis=-2)
    turns = spin_transposed(_turns(d), spun)
    both = 0.5 * spin_transposed(frame, on_frame)
    parts = [-pull, turns[..., 0, :] + both, pull, turns[..., 1, :] + both]
    return np.concatenate(parts, axis=-1)


class LargeBeam:
    """Forces (E, 12) and tangents (E, 12, 12) of elements under nodes' motion d (E, 12), large.

    arms (E, 2, 3): from the nodes to the elements' ends, turned with the nodes; None without.
    """

    def __init__(self, shapes: BeamShapes, arms: Array | None = None) -> None:
        self.shapes, self.arms = shapes, arms
        weights = shapes.stations.rule.weights[:, None, None]
        self._lengths = shapes.lengths[..., None]
        self._on_strains = _across(weights * shapes.fields[..., 3:, :])
        self._averaged = _across(shapes.lengths[..., None, None] * shapes.balance)
        self._on_fields, self._relative = _across(shapes.N), _across(shapes.relative[:, None])

    def check_range(self, d: Array) -> None:
        """ConvergenceError for rotations beyond what the elements describe."""
        phi = d.reshape(-1, 2, 6)[..., 3:]
        if np.linalg.norm(phi, axis=-1).max() > np.pi:
            raise ConvergenceError("a beam has rotated by more than π")
        if np.linalg.norm(phi[:, 1] - phi[:, 0], axis=-1).max() > MOST_BENT:
            raise ConvergenceError("a beam element has bent by more than 1 rad: use more of them")

    def forces(
        self,
        state: AnyArray,
        coefficients: AnyArray,
        rates: Rates | None = None,
        static: bool = True,
        foreseen: Array | None = None,
    ) -> AnyArray:
        """Of the strains, and of the inertia load on the moved points; all elements in one pass.

        state (..., E, 12): displacements of the nodes; with rates, their velocities and
        accelerations too, (..., E, 36). The rates are W (..., 3, 3) of `inertia_gradient` and the
        resistance (E, 6, 6) to strain rates, against ρ̇ of ½ ρᵀHρ. static: without it only what
        rates cause. coefficients (12,) or (E, 12). foreseen (E, 6): loads Hρ in place of those of
        the displacements, whose derivatives stay.
        """
        drag, resistance = (None, None) if rates is None else rates
        nodes: Any = state if drag is None else Taylor.of(*np.split(state, 3, axis=-1))
        path, seen, y = self._seen(nodes, coefficients)
        still, at = value_of(seen), value_of(y)
        on_seen: Any = 0.0
        if resistance is not None:
            rate = self._generalized(seen, self._strains(y)).rate
            load = element_product(resistance, rate)
            on_seen = self._of_load(load, 0.0 * load[..., None, :], self._strains(at))
        if static:
            on_seen = on_seen + self._strain(still, at, coefficients, foreseen)
        motion = coefficients if static else None
        forces = self._with_inertia(path, on_seen, seen, y, motion, drag)
        return np.asarray(self._on_nodes(value_of(nodes), forces))

    def _ends(self, d: Any) -> Any:
        """Motion (..., E, 12) of the elements' ends."""
        if self.arms is None:
            return d
        parts = []
        for k in range(2):
            u, phi = d[..., 6 * k : 6 * k + 3], d[..., 6 * k + 3 : 6 * k + 6]
            parts += [u + moved_by(phi, self.arms[:, k] + 0.0 * phi), phi]
        return np.concatenate(parts, axis=-1)

    def _on_nodes(self, d: Any, forces: Any) -> Any:
        """Forces (..., E, 12) on the nodes that do the work of those on the ends of the arms."""
        if self.arms is None:
            return forces
        parts = []
        for k in range(2):
            force, couple = forces[..., 6 * k : 6 * k + 3], forces[..., 6 * k + 3 : 6 * k + 6]
            phi = d[..., 6 * k + 3 : 6 * k + 6]
            pull = turned_by(-phi, force)
            arm = cross(self.arms[:, k] + 0.0 * pull, pull)
            parts += [force, couple + spin_transposed(phi, arm)]
        return np.concatenate(parts, axis=-1)

    def tangent_slope(self, d: Array, coefficients: Array) -> Array:
        """The derivative (E, 12, 12) by s of the tangent at s d, under s coefficients, at s = 0.

        Second derivatives of the elastic forces, by s in a complex step and by d in a `Taylor`; the
        inertia is linear in the coefficients, and counts with the elements straight.
        """
        shapes, c = self.shapes, 1j * STEP * coefficients
        nodes: Any = Taylor.of(1j * STEP * d, np.eye(12)[:, None], np.zeros(12))
        path, seen, y = self._seen(nodes, c)
        forces: Any = from_turned_frame(shapes.ends, path, seen, self._strain(seen, y, c))
        forces = self._on_nodes(nodes, forces)

        def inertia(x: AnyArray) -> AnyArray:
            own, seen, fields = self._seen(x, 0.0 * coefficients)
            forces = self._with_inertia(own, 0.0, seen, fields, coefficients)
            return np.asarray(self._on_nodes(x, forces))

        elastic = np.moveaxis(forces.rate.imag, 0, -1) / STEP
        return np.asarray(elastic + value_and_jacobian(inertia, 0.0 * d)[1])

    def strain_slope(self, d: Array, coefficients: Array) -> Array:
        """The derivative (E, 6, 12) by s of ∂ρ/∂d at s d, under s coefficients, at s = 0."""
        path: Any = Taylor.of(1j * STEP * d, np.eye(12)[:, None], np.zeros(12))
        _, seen, y = self._seen(path, 1j * STEP * coefficients)
        rates: Any = self._generalized(seen, self._strains(y)).rate
        return np.asarray(np.moveaxis(rates.imag, 0, -1) / STEP)

    def foreseen(self, before: Array, after: Array, coefficients: Array) -> Array:
        """Hρ (E, 6) after a step between displacements (E, 12), linear in the step."""
        _, seen, y = self._seen(before + 1j * STEP * (after - before), coefficients)
        load = element_product(self.shapes.rigidity, self._generalized(seen, self._strains(y)))
        return np.asarray(load.real + load.imag / STEP)

    def _strain(
        self, seen: AnyArray, y: AnyArray, coefficients: AnyArray, foreseen: Array | None = None
    ) -> AnyArray:
        """Forces (E, 12) on the motion seen from the frames, of the fields y (E, Q, 12) there."""
        strain = self._strains(y)
        load = element_product(self.shapes.rigidity, self._generalized(seen, strain))
        if foreseen is not None:
            load = foreseen + 1j * load.imag
        return self._of_load(load, _under(self.shapes.own_resultants, coefficients), strain)

    def _strains(self, y: Any) -> Strain:
        shapes, st, j = self.shapes, self.shapes.stations, self.shapes.jacobian[..., None]
        phi, du, dphi = y[..., 3:6], y[..., 6:9] * (1.0 / j), y[..., 9:] * (1.0 / j)
        return Strain(shapes.tangent, st.tension_centre, st.radius2, phi, du, dphi)

    def _generalized(self, seen: Any, strain: Strain) -> Any:
        """ρ (E, 6), the deformations that the strain energy ½ ρᵀHρ counts."""
        moved = element_product(self.shapes.relative, seen)
        return moved + element_product(self._averaged, strain.second_order(), points=True)

    def _of_load(self, load: AnyArray, own: AnyArray, strain: Strain) -> AnyArray:
        """Forces (E, 12) on the motion seen from the frames, of Hρ and the element's own load."""
        shapes, j = self.shapes, self.shapes.jacobian[..., None]
        resultants = element_product(shapes.balance, load) + own
        by_phi, by_du, by_dphi = strain.second_order_gradient(resultants)
        gradient = np.concatenate([j * by_phi, by_du, by_dphi], axis=-1)
        forces = element_product(self._on_strains, gradient, points=True)
        on_seen: AnyArray = forces + element_product(self._relative, load)
        return on_seen

    def _with_inertia(
        self,
        path: Any,
        on_seen: Any,
        seen: Any,
        y: Any,
        coefficients: AnyArray | None,
        drag: Array | None = None,
    ) -> AnyArray:
        """Forces (E, 12) on the nodes, of `on_seen` and of the inertia of what moves by y."""
        shapes, st, whole = self.shapes, self.shapes.stations, (..., None, slice(None))
        moved, turns = self._moved(path, y)
        motion = None if coefficients is None else coefficients[whole]
        rates = None if drag is None else drag[..., None, :, :]
        x = st.X + moved
        force, (on_frame, moment) = inertia_gradient(st.inertia, x, turns, motion, rates)
        d, at = value_of(path), value_of(y)
        arm = st.X - shapes.ends[:, None, 0] + at[..., :3]
        own = turned_by(-value_of(turns[0]), force)
        on_fields = self._lengths * np.concatenate([own, moment], axis=-1)
        on_seen = on_seen + element_product(self._on_fields, on_fields, points=True)
        torque = (self._lengths * cross(arm, own)).sum(axis=-2)
        total = from_turned_frame(shapes.ends, d, value_of(seen), on_seen, torque)
        both = 0.5 * (self._lengths * on_frame).sum(axis=-2)
        first = (self._lengths * force).sum(axis=-2)
        return np.asarray(total + np.concatenate([first, both, 0.0 * first, both], axis=-1))

    def _moved(self, d: Any, y: Any) -> tuple[Any, list[Any]]:
        """Displacements of the stations, rotation vectors of the frames and in the frames."""
        st, u = self.shapes.stations, y[..., :3]
        frame = 0.5 * (d[..., None, 3:6] + d[..., None, 9:])
        moved = d[..., None, :3] + u + moved_by(frame, st.X - self.shapes.ends[:, None, 0] + u)
        return moved, [frame, y[..., 3:6]]

    def strain_energy(self, d: Array, coefficients: Array) -> float:
        """½ ρᵀHρ + ∫ S₀·(Γ₂, κ₂), J, of all elements."""
        _, seen, y = self._seen(d, coefficients)
        strain = self._strains(y)
        rho = self._generalized(seen, strain)
        bent = 0.5 * np.einsum("ei,eij,ej->", rho, self.shapes.rigidity, rho)
        own = _under(self.shapes.own_resultants, coefficients)
        own = np.sum(own * strain.second_order(), axis=-1)
        return float(bent + np.sum(self.shapes.lengths * own))

    def strain_rates(self, d: Array, v: Array, coefficients: Array) -> Array:
        """ρ̇ (E, 6)."""
        _, seen, y = self._seen(Taylor.of(d, v, 0.0 * v), coefficients)
        return np.asarray(self._generalized(seen, self._strains(y)).rate)

    def moments(self, d: Array, v: Array, coefficients: Array) -> Array:
        """Second moments (E, 7, 7) of the mass (`assembly.elements.moments`)."""
        path, _, y = self._seen(Taylor.of(d, v, 0.0 * v), coefficients)
        moved, turns = self._moved(path, y)
        st = self.shapes.stations
        return section_moments(st.inertia, self.shapes.lengths, st.X + moved, turns)

    def _seen(self, d: Any, coefficients: AnyArray) -> tuple[Any, Any, Any]:
        """Motion of the ends; that and the fields (E, Q, 12) as seen from the elements' frames."""
        ends = self._ends(d)
        seen: Any = in_turned_frame(self.shapes.ends, ends)
        y: Any = element_product(self.shapes.fields, seen)
        return ends, seen, y + _under(self.shapes.own_fields, coefficients)

    def resultants(self, d: Array, coefficients: Array) -> AnyArray:
        """Forces and moments (E, Q, 6) of the sections, in their rotated axes."""
        shapes = self.shapes
        _, seen, y = self._seen(d, coefficients)
        load = np.einsum("eij,ej->ei", shapes.rigidity, self._generalized(seen, self._strains(y)))
        own = shapes.own_resultants @ coefficients
        return np.asarray(np.einsum("eqij,ej->eqi", shapes.balance, load) + own)


def _under(fields: Array, coefficients: AnyArray) -> AnyArray:
    """Fields (E, Q, i) of the unit kinematics (E, Q, i, 12) times coefficients (12,) or (E, 12)."""
    return np.asarray((fields @ coefficients[..., None, :, None])[..., 0])


def _across(A: Array) -> Array:
    """Aᵀ (E, i, Q j) of matrices (E, Q, j, i), for sums over the points."""
    return np.ascontiguousarray(A.reshape(len(A), -1, A.shape[-1]).swapaxes(-1, -2))


def element_product(A: Array, x: Any, points: bool = False) -> Any:
    """A x, A (E, ..., j) and x (..., E, j), with points (..., E, Q, j / Q): real matrices, all
    leading axes of x as columns of one product."""
    if isinstance(x, Taylor):
        return Taylor(element_product(A, x.data, points))
    E, j = len(A), A.shape[-1]
    leading = x.shape[: -3 if points else -2]
    columns = np.ascontiguousarray(x.reshape(-1, E, j).transpose(1, 2, 0))
    wide = np.matmul(A.reshape(E, -1, j), columns.view(float)).view(columns.dtype)
    return wide.transpose(2, 0, 1).reshape(*leading, *A.shape[:-1])
