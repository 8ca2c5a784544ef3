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
    Turn,
    inertia_gradient,
    rate_slopes,
    relative_turns,
    spin_inverse_transposed,
    value_and_jacobian,
)
from assembly.elements.moments import section_moments
from assembly.elements.taylor import Jets, Taylor, cross
from assembly.errors import ConvergenceError
from assembly.types import AnyArray, Array

MOST_BENT = 1.0  # rad between an element's nodes


@dataclass(frozen=True)
class Strain(Jets):
    """Strains (Γ, κ) of E elements at Q points each beyond those linear in φ, u′ and φ′, body axes.

    t, c (E, Q, 3) and radius2 (E, Q, 1) as above; turn: of φ, and du, dphi: u′ and φ′ (..., E, Q,
    3).
    """

    t: AnyArray
    c: AnyArray
    radius2: AnyArray
    turn: Turn
    du: Any
    dphi: Any

    @cached_property
    def _gamma(self) -> Any:
        return self.du + self.turn.back.moved(self.t + self.du)

    @cached_property
    def _kappa(self) -> Any:
        return self.turn.spin(self.dphi)

    @cached_property
    def _line(self) -> Any:
        """Γ + κ × c."""
        return self._gamma + cross(self._kappa, self.c)

    @cached_property
    def _grown(self) -> Any:
        """|t + Γ + κ × c|² − 1 without cancellation; no conjugate, so that complex steps pass."""
        return np.sum(self._line * (self._line + 2.0 * self.t), axis=-1, keepdims=True)

    @cached_property
    def _length(self) -> Any:
        """The stretch |t + Γ + κ × c|."""
        return np.sqrt(1.0 + self._grown)

    @cached_property
    def _twist(self) -> Any:
        return np.sum(self.t * self._kappa, axis=-1, keepdims=True)

    @cached_property
    def second_order(self) -> Any:
        """(Γ, κ) less γ = u′ − φ × t and φ′, (..., E, Q, 6)."""
        t = self.t
        stretch = self._grown / (1.0 + self._length) - np.sum(
            t * self._line, axis=-1, keepdims=True
        )
        axial = (stretch + 0.5 * self.radius2 * self._twist * self._twist) * t
        gamma = self._gamma + axial - (self.du - cross(self.turn.phi, t))
        return np.concatenate([gamma, self._kappa - self.dphi], axis=-1)

    def second_order_gradient(self, resultants: Any) -> tuple[Any, Any, Any]:
        """Derivatives by φ, u′ and φ′ (..., E, Q, 3) of the work of given resultants on it."""
        t, turn = self.t, self.turn
        F, Mo = resultants[..., :3], resultants[..., 3:]
        N = np.sum(F * t, axis=-1, keepdims=True)
        lean = (t + self._line) / self._length - t
        force = F + N * lean
        couple = Mo + N * (cross(self.c, lean) + self.radius2 * self._twist * t)
        by_phi = cross(force, t + self._gamma) + cross(couple, self._kappa)
        by_phi = turn.back.spin(by_phi) + turn.spin_rate_transposed(self.dphi, couple)
        by_du, by_dphi = turn.turned(force) - F, turn.back.spin(couple) - Mo
        return by_phi + cross(t, F), by_du, by_dphi


class BeamMotion(Jets):
    """Elements whose nodes move by d (..., E, 12), an array or its jet, under coefficients of the
    motion (12,) or (E, 12)."""

    def __init__(self, law: LargeBeam, d: Any, coefficients: AnyArray) -> None:
        self.law, self.d, self.coefficients = law, d, coefficients

    @cached_property
    def _turns(self) -> Turn:
        """Of both nodes, (..., E, 2, 3)."""
        return Turn(_of_nodes(self.d))

    @cached_property
    def ends(self) -> Any:
        """Motion (..., E, 12) of the elements' ends."""
        d, arms = self.d, self.law.arms
        if arms is None:
            return d
        moved: Any = self._turns.moved(arms)
        first, last = d[..., :3] + moved[..., 0, :], d[..., 6:9] + moved[..., 1, :]
        return np.concatenate([first, d[..., 3:6], last, d[..., 9:]], axis=-1)

    @cached_property
    def frame(self) -> Turn:
        """Of the elements' frames, (..., E, 1, 3): the mean of their nodes' rotation vectors."""
        return Turn(0.5 * (self.d[..., None, 3:6] + self.d[..., None, 9:]))

    @cached_property
    def seen(self) -> Any:
        """Motion (..., E, 12) of the ends as seen from the frame, which is at the first one."""
        apart = self.ends[..., None, 6:9] - self.ends[..., None, :3]
        moved = (apart + self.frame.back.moved(self.law.span + apart))[..., 0, :]
        turned = relative_turns(self.frame.phi, _of_nodes(self.d))
        parts = [0.0 * moved, turned[..., 0, :], moved, turned[..., 1, :]]
        return np.concatenate(parts, axis=-1)

    @cached_property
    def fields(self) -> Any:
        """u, φ and their derivatives by ξ (..., E, Q, 12) in the frame."""
        y: Any = element_product(self.law.shapes.fields, self.seen)
        return y + _under(self.law.shapes.own_fields, self.coefficients)

    @cached_property
    def strain(self) -> Strain:
        """At the points."""
        y, shapes = self.fields, self.law.shapes
        st, stretch = shapes.stations, 1.0 / shapes.jacobian[..., None]
        du, dphi = y[..., 6:9] * stretch, y[..., 9:] * stretch
        radius2 = st.radius2[..., None]
        return Strain(shapes.tangent, st.tension_centre, radius2, Turn(y[..., 3:6]), du, dphi)

    @cached_property
    def deformation(self) -> Any:
        """ρ (..., E, 6), which the strain energy ½ ρᵀHρ counts."""
        moved = element_product(self.law.shapes.relative, self.seen)
        return moved + element_product(self.law.averaged, self.strain.second_order, points=True)

    @cached_property
    def points(self) -> Any:
        """Places (..., E, Q, 3) of the points: the frame carries them."""
        X, u = self.law.shapes.stations.X, self.fields[..., :3]
        carried = self.frame.moved(X - self.law.shapes.ends[:, None, 0] + u)
        return X + (self.ends[..., None, :3] + u + carried)

    @property
    def turns(self) -> list[Turn]:
        """Of the sections: that of the frame, and those in it."""
        return [self.frame, self.strain.turn]

    def of_load(self, load: Any, own: Any) -> Any:
        """Forces (..., E, 12) on `seen` of Hρ (..., E, 6) and the elements' own resultants."""
        shapes, j = self.law.shapes, self.law.shapes.jacobian[..., None]
        resultants = element_product(shapes.balance, load) + own
        by_phi, by_du, by_dphi = self.strain.second_order_gradient(resultants)
        gradient = np.concatenate([j * by_phi, by_du, by_dphi], axis=-1)
        forces: Any = element_product(self.law.on_strains, gradient, points=True)
        return forces + element_product(self.law.relative, load)

    def on_nodes(self, forces: Any, torque: Any = 0.0, on_ends: Any = 0.0) -> Any:
        """Forces (..., E, 12) on the nodes of those on `seen`, of a torque (..., E, 3) on the
        frame, in its axes, and of forces on the ends."""
        own, moved = Turn(_of_nodes(self.seen)), self.seen[..., 6:9]
        pull = self.frame.turned(forces[..., None, 6:9])[..., 0, :]
        spun = spin_inverse_transposed(own.phi, _of_nodes(forces))
        on_frame = torque + cross(forces[..., 6:9], self.law.span[:, 0] + moved)
        on_frame = on_frame - np.sum(own.turned(spun), axis=-2)
        turns = self._turns.back.spin(spun)
        both = 0.5 * self.frame.back.spin(on_frame[..., None, :])[..., 0, :]
        parts = [-pull, turns[..., 0, :] + both, pull, turns[..., 1, :] + both]
        total = on_ends + np.concatenate(parts, axis=-1)
        if self.law.arms is None:
            return total
        # The forces on the ends of the arms do work on the turns of the nodes.
        pulls = self._turns.back.turned(_of_nodes(total, 0))
        couples = _of_nodes(total) + self._turns.back.spin(cross(self.law.arms, pulls))
        parts = [total[..., :3], couples[..., 0, :], total[..., 6:9], couples[..., 1, :]]
        return np.concatenate(parts, axis=-1)


def _of_nodes(d: Any, first: int = 3) -> Any:
    """Rotation vectors of both nodes (..., 2, 3), or the moments; with 0 displacements, or
    forces."""
    return np.concatenate(
        [d[..., None, first : first + 3], d[..., None, first + 6 : first + 9]], axis=-2
    )


class LargeBeam:
    """Forces (E, 12), energy and moments of elements whose nodes move by large amounts.

    arms (E, 2, 3): from the nodes to the elements' ends, turned with the nodes; None without.
    """

    def __init__(self, shapes: BeamShapes, arms: Array | None = None) -> None:
        self.shapes, self.arms = shapes, arms
        weights = shapes.stations.rule.weights[:, None, None]
        self.span = (shapes.ends[:, 1] - shapes.ends[:, 0])[:, None]
        self._lengths = shapes.lengths[..., None]
        self.on_strains = _across(weights * shapes.fields[..., 3:, :])
        self.averaged = _across(shapes.lengths[..., None, None] * shapes.balance)
        self._on_fields, self.relative = _across(shapes.N), _across(shapes.relative[:, None])

    def check_range(self, d: Array) -> None:
        """ConvergenceError for rotations beyond what the elements describe."""
        phi = d.reshape(-1, 2, 6)[..., 3:]
        if np.linalg.norm(phi, axis=-1).max() > np.pi:
            raise ConvergenceError("a beam has rotated by more than π")
        if np.linalg.norm(phi[:, 1] - phi[:, 0], axis=-1).max() > MOST_BENT:
            raise ConvergenceError("a beam element has bent by more than 1 rad: use more of them")

    def moved(self, state: AnyArray, coefficients: AnyArray, rates: bool = True) -> BeamMotion:
        """Of displacements of the nodes (..., E, 12); with rates, of their velocities and
        accelerations too, (..., E, 36)."""
        d = Taylor.of(*np.split(state, 3, axis=-1)) if rates else state
        return BeamMotion(self, d, coefficients)

    def forces(
        self,
        motion: BeamMotion,
        rates: Rates | None = None,
        static: bool = True,
        foreseen: Array | None = None,
    ) -> AnyArray:
        """Forces (..., E, 12) of the strains, and of the inertia load on the moved points.

        The rates are W (..., 3, 3) of `inertia_gradient` and the resistance (E, 6, 6) to strain
        rates, against ρ̇ of ½ ρᵀHρ. static: without it only what rates cause. foreseen (E, 6): loads
        Hρ in place of those of the displacements, whose derivatives stay.
        """
        drag, resistance = (None, None) if rates is None else rates
        load: Any = 0.0
        on_seen: Any = 0.0
        own: Any = 0.0
        if resistance is not None:
            load = element_product(resistance, motion.deformation.rate)
        inertia = motion.points, motion.turns  # found before their values are
        at = motion.still
        if static:
            load, own = (
                load + self._load(at, foreseen),
                _under(self.shapes.own_resultants, at.coefficients),
            )
        if static or resistance is not None:
            on_seen = at.of_load(load, own)
        of_motion = motion.coefficients if static else None
        return self._with_inertia(at, on_seen, inertia, of_motion, drag)

    def rate_slopes(self, motion: BeamMotion, rates: Rates) -> tuple[Array, Array]:
        """Derivatives (..., E, n, n) of the forces by velocities and by accelerations, of a motion
        with complex steps of n displacements in its first axis."""
        (drag, resistance), inertia = rates, self.shapes.stations.inertia
        found = rate_slopes(inertia, motion.points, motion.turns, drag[..., None, :, :])
        by_v, by_a = (np.sum(self._lengths[..., None] * each, axis=-3) for each in found)
        if resistance is not None:
            slopes = np.moveaxis(motion.deformation.value.imag, 0, -1) / STEP
            by_v = by_v + slopes.swapaxes(-1, -2) @ resistance @ slopes
        return by_v, by_a

    def tangent_slope(self, d: Array, coefficients: Array) -> Array:
        """The derivative (E, 12, 12) by s of the tangent at s d, under s coefficients, at s = 0.

        Second derivatives of the elastic forces, by s in a complex step and by d in a `Taylor`; the
        inertia is linear in the coefficients, and counts with the elements straight.
        """
        c = 1j * STEP * coefficients
        at = BeamMotion(self, Taylor.of(1j * STEP * d, np.eye(12)[:, None], np.zeros(12)), c)
        own = _under(self.shapes.own_resultants, c)
        forces = at.on_nodes(at.of_load(self._load(at), own))

        def inertia(x: AnyArray) -> AnyArray:
            straight = BeamMotion(self, x, 0.0 * coefficients)
            moved = straight.points, straight.turns
            return self._with_inertia(straight, 0.0, moved, coefficients, None)

        elastic = np.moveaxis(forces.rate.imag, 0, -1) / STEP
        return np.asarray(elastic + value_and_jacobian(inertia, 0.0 * d)[1])

    def strain_slope(self, d: Array, coefficients: Array) -> Array:
        """The derivative (E, 6, 12) by s of ∂ρ/∂d at s d, under s coefficients, at s = 0."""
        path = Taylor.of(1j * STEP * d, np.eye(12)[:, None], np.zeros(12))
        rates = BeamMotion(self, path, 1j * STEP * coefficients).deformation.rate
        return np.asarray(np.moveaxis(rates.imag, 0, -1) / STEP)

    def foreseen(self, before: Array, after: Array, coefficients: Array) -> Array:
        """Hρ (E, 6) after a step between displacements (E, 12), linear in the step."""
        load = self._load(BeamMotion(self, before + 1j * STEP * (after - before), coefficients))
        return np.asarray(load.real + load.imag / STEP)

    def _load(self, at: BeamMotion, foreseen: Array | None = None) -> Any:
        """Hρ (..., E, 6)."""
        load = element_product(self.shapes.rigidity, at.deformation)
        return load if foreseen is None else foreseen + 1j * load.imag

    def _with_inertia(
        self,
        at: BeamMotion,
        on_seen: Any,
        moved: tuple[Any, list[Turn]],
        coefficients: AnyArray | None,
        drag: Array | None,
    ) -> AnyArray:
        """Forces (..., E, 12) on the nodes, of `on_seen` and of the inertia of sections moved to
        places with turns."""
        shapes, st, whole = self.shapes, self.shapes.stations, (..., None, slice(None))
        motion = None if coefficients is None else coefficients[whole]
        rates = None if drag is None else drag[..., None, :, :]
        force, (on_frame, moment) = inertia_gradient(st.inertia, *moved, motion, rates)
        arm = st.X - shapes.ends[:, None, 0] + at.fields[..., :3]
        seen = at.frame.back.turned(force)
        on_fields = self._lengths * np.concatenate([seen, moment], axis=-1)
        on_seen = on_seen + element_product(self._on_fields, on_fields, points=True)
        torque = (self._lengths * cross(arm, seen)).sum(axis=-2)
        both = 0.5 * (self._lengths * on_frame).sum(axis=-2)
        first = (self._lengths * force).sum(axis=-2)
        on_ends = np.concatenate([first, both, 0.0 * first, both], axis=-1)
        return np.asarray(at.on_nodes(on_seen, torque, on_ends))

    def strain_energy(self, motion: BeamMotion) -> float:
        """½ ρᵀHρ + ∫ S₀·(Γ₂, κ₂), J, of all elements."""
        at = motion.still
        rho = at.deformation
        bent = 0.5 * np.einsum("ei,eij,ej->", rho, self.shapes.rigidity, rho)
        own = _under(self.shapes.own_resultants, at.coefficients)
        own = np.sum(own * at.strain.second_order, axis=-1)
        return float(bent + np.sum(self.shapes.lengths * own))

    def moments(self, motion: BeamMotion) -> Array:
        """Second moments (E, 7, 7) of the mass (`assembly.elements.moments`)."""
        inertia = self.shapes.stations.inertia
        return section_moments(inertia, self.shapes.lengths, motion.points, motion.turns)

    def resultants(self, d: Array, coefficients: Array) -> AnyArray:
        """Forces and moments (E, Q, 6) of the sections, in their rotated axes."""
        shapes = self.shapes
        load = self._load(BeamMotion(self, d, coefficients))
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
