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
    Masses,
    Turn,
    inertia_gradient,
    motion_of,
    rate_slopes,
    relative_turns,
    rows_first,
    rows_last,
    spin_inverse_transposed,
    value_and_jacobian,
)
from assembly.elements.moments import section_moments
from assembly.elements.taylor import Jets, Taylor, cross, value_of
from assembly.errors import ConvergenceError
from assembly.types import AnyArray, Array

MOST_BENT = 1.0  # rad between an element's nodes


@dataclass(frozen=True)
class Strain(Jets):
    """Strains (Γ, κ) at Q points of E elements each beyond those linear in φ, u′ and φ′, body axes.

    t, c (3, 1, Q, E, 1, 1) and radius2 (1, ...) as above; turn: of φ, and du, dphi: u′ and φ′
    (3, 1, Q, E, ...).
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
        return _dot(self._line, self._line + 2.0 * self.t)

    @cached_property
    def _length(self) -> Any:
        """The stretch |t + Γ + κ × c|."""
        return np.sqrt(1.0 + self._grown)

    @cached_property
    def _twist(self) -> Any:
        return _dot(self.t, self._kappa)

    @cached_property
    def second_order(self) -> Any:
        """(Γ, κ) less γ = u′ − φ × t and φ′, (6, 1, Q, E, ...)."""
        t = self.t
        stretch = self._grown / (1.0 + self._length) - _dot(t, self._line)
        axial = (stretch + 0.5 * self.radius2 * self._twist * self._twist) * t
        gamma = self._gamma + axial - (self.du - cross(self.turn.phi, t))
        return np.concatenate([gamma, self._kappa - self.dphi], axis=0)

    def second_order_gradient(self, resultants: Any) -> tuple[Any, Any, Any]:
        """Derivatives by φ, u′ and φ′ of the work of given resultants on it."""
        t, turn = self.t, self.turn
        F, Mo = resultants[:3], resultants[3:]
        N = _dot(F, t)
        lean = (t + self._line) / self._length - t
        force = F + N * lean
        couple = Mo + N * (cross(self.c, lean) + self.radius2 * self._twist * t)
        by_phi = cross(force, t + self._gamma) + cross(couple, self._kappa)
        by_phi = turn.back.spin(by_phi) + turn.spin_rate_transposed(self.dphi, couple)
        by_du, by_dphi = turn.turned(force) - F, turn.back.spin(couple) - Mo
        return by_phi + cross(t, F), by_du, by_dphi


class BeamMotion(Jets):
    """Elements whose nodes move by d (12, 1, 1, E, steps, instants), an array or its jet, under
    coefficients of the motion.

    Components come first, then an axis for several vectors, one of points or of both nodes, that of
    the elements, that of complex steps and that of instants. leading: the axes of the last two.
    """

    def __init__(
        self, law: LargeBeam, d: Any, coefficients: AnyArray, leading: tuple[int, ...]
    ) -> None:
        self.law, self.d, self.coefficients, self.leading = law, d, coefficients, leading

    def last(self, a: Any) -> Any:
        """Arrays (n, 1, Q, E, steps, instants), or their jets, as (leading, E, Q, n)."""
        return rows_last(a, self.leading)

    @cached_property
    def _turns(self) -> Turn:
        """Of both nodes, (3, 1, 2, E, ...)."""
        return Turn(_of_nodes(self.d))

    @cached_property
    def ends(self) -> Any:
        """Motion (12, 1, 1, E, ...) of the elements' ends."""
        d, arms = self.d, self.law.arms
        if arms is None:
            return d
        moved: Any = self._turns.moved(arms)
        first, last = d[:3] + moved[:, :, :1], d[6:9] + moved[:, :, 1:]
        return np.concatenate([first, d[3:6], last, d[9:]], axis=0)

    @cached_property
    def frame(self) -> Turn:
        """Of the elements' frames, (3, 1, 1, E, ...): the mean of their nodes' rotation vectors."""
        return Turn(0.5 * (self.d[3:6] + self.d[9:]))

    @cached_property
    def seen(self) -> Any:
        """Motion (12, 1, 1, E, ...) of the ends as seen from the frame, which is at the first
        one."""
        apart = self.ends[6:9] - self.ends[:3]
        moved = apart + self.frame.back.moved(self.law.span + apart)
        turned = relative_turns(self.frame.phi, _of_nodes(self.d))
        parts = [0.0 * moved, turned[:, :, :1], moved, turned[:, :, 1:]]
        return np.concatenate(parts, axis=0)

    @cached_property
    def fields(self) -> Any:
        """u, φ and their derivatives by ξ (12, 1, Q, E, ...) in the frame."""
        y: Any = element_product(self.law.shapes.fields, self.seen)
        return y + _under(self.law.shapes.own_fields, self.coefficients)

    @cached_property
    def strain(self) -> Strain:
        """At the points."""
        y, law = self.fields, self.law
        du, dphi = y[6:9] / law.jacobian, y[9:] / law.jacobian
        return Strain(law.tangent, law.tension_centre, law.radius2, Turn(y[3:6]), du, dphi)

    @cached_property
    def deformation(self) -> Any:
        """ρ (6, 1, 1, E, ...), which the strain energy ½ ρᵀHρ counts."""
        moved = element_product(self.law.shapes.relative, self.seen)
        return moved + element_product(self.law.averaged, self.strain.second_order)

    @cached_property
    def points(self) -> Any:
        """Places (3, 1, Q, E, ...) of the points: the frame carries them."""
        u = self.fields[:3]
        return self.law.start + self.ends[:3] + self.frame.turned(self.law.arm + u)

    @cached_property
    def moved(self) -> list[tuple[Any, list[Turn]]]:
        """The sections' masses, turned by the frame and in it."""
        turns = [self.frame, self.strain.turn]
        return [part.moved(self.points, turns) for part in self.law.masses]

    def of_load(self, load: Any, own: Any) -> Any:
        """Forces (12, 1, 1, E, ...) on `seen` of Hρ (6, ...) and the elements' own resultants."""
        law = self.law
        resultants = element_product(law.shapes.balance, load) + own
        by_phi, by_du, by_dphi = self.strain.second_order_gradient(resultants)
        gradient = np.concatenate([law.jacobian * by_phi, by_du, by_dphi], axis=0)
        forces: Any = element_product(law.on_strains, gradient)
        return forces + element_product(law.relative, load)

    def on_nodes(self, forces: Any, torque: Any = 0.0, on_ends: Any = 0.0) -> Any:
        """Forces (12, 1, 1, E, ...) on the nodes of those on `seen`, of a torque (3, ...) on the
        frame, in its axes, and of forces on the ends."""
        own, moved = Turn(_of_nodes(self.seen)), self.seen[6:9]
        pull = self.frame.turned(forces[6:9])
        spun = spin_inverse_transposed(own.phi, _of_nodes(forces))
        on_frame = torque + cross(forces[6:9], self.law.span + moved)
        on_frame = on_frame - np.sum(own.turned(spun), axis=2, keepdims=True)
        turns = self._turns.back.spin(spun)
        both = 0.5 * self.frame.back.spin(on_frame)
        parts = [-pull, turns[:, :, :1] + both, pull, turns[:, :, 1:] + both]
        total = on_ends + np.concatenate(parts, axis=0)
        if self.law.arms is None:
            return total
        # The forces on the ends of the arms do work on the turns of the nodes.
        pulls = self._turns.turned_back(_of_nodes(total, 0))
        couples = _of_nodes(total) + self._turns.back.spin(cross(self.law.arms, pulls))
        parts = [total[:3], couples[:, :, :1], total[6:9], couples[:, :, 1:]]
        return np.concatenate(parts, axis=0)


def _dot(a: Any, b: Any) -> Any:
    return np.sum(a * b, axis=0, keepdims=True)


def _of_nodes(d: Any, first: int = 3) -> Any:
    """Rotation vectors of both nodes (3, 1, 2, ...), or the moments; with 0 displacements, or
    forces."""
    return np.concatenate([d[first : first + 3], d[first + 6 : first + 9]], axis=2)


class LargeBeam:
    """Forces (E, 12), energy and moments of elements whose nodes move by large amounts.

    arms (E, 2, 3): from the nodes to the elements' ends, turned with the nodes; None without.
    """

    def __init__(self, shapes: BeamShapes, arms: Array | None = None) -> None:
        self.shapes, st = shapes, shapes.stations
        weights = st.rule.weights[:, None, None]
        # With the axes of `BeamMotion`.
        self.arms = None if arms is None else rows_first(arms)
        self.span = rows_first((shapes.ends[:, 1] - shapes.ends[:, 0])[:, None])
        self.lengths, self.jacobian = (
            rows_first(a[..., None]) for a in (shapes.lengths, shapes.jacobian)
        )
        self.tangent, self.tension_centre = map(rows_first, (shapes.tangent, st.tension_centre))
        self.radius2, self.start = rows_first(st.radius2[..., None]), rows_first(shapes.ends[:, :1])
        self.arm = rows_first(st.X - shapes.ends[:, None, 0])
        self.masses = [Masses(part) for part in st.inertia.parts]
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
        d = motion_of(state, coefficients, rates)
        return BeamMotion(self, d, coefficients, state.shape[:-2])

    def forces(
        self,
        motion: BeamMotion,
        rates: Rates | None = None,
        static: bool = True,
        foreseen: Array | None = None,
    ) -> AnyArray:
        """Forces (..., E, 12) of the strains, and of the inertia load on the moved points.

        The rates are W (..., 3, 3) of `inertia_gradient` and the resistance (E, 6, 6) to strain
        rates, against ρ̇ of ½ ρᵀHρ. static: without it only what rates cause. foreseen: loads Hρ,
        resistance included, in place of those of the motion, whose derivatives stay.
        """
        drag, resistance = (None, None) if rates is None else rates
        load: Any = 0.0
        on_seen: Any = 0.0
        own: Any = 0.0
        if resistance is not None:
            load = element_product(resistance, motion.deformation.rate)
        moved = motion.moved  # found before its values are
        at = motion.still
        if static:
            load = load + self._load(at)
            own = _under(self.shapes.own_resultants, at.coefficients)
        if foreseen is not None:
            load = foreseen + 1j * load.imag
        if static or resistance is not None:
            on_seen = at.of_load(load, own)
        of_motion = motion.coefficients if static else None
        return self._with_inertia(at, on_seen, moved, of_motion, drag)

    def rate_slopes(self, motion: BeamMotion, rates: Rates) -> list[Array]:
        """Derivatives (P, E, n, n) of `forces` by velocities and accelerations, of a motion with
        complex steps of n displacements."""
        drag, resistance = rates
        by_v, by_a = rate_slopes(self.masses, motion.moved, drag, self.lengths)
        if resistance is not None:
            slopes = value_of(motion.deformation).imag[:, 0, 0].transpose(3, 1, 2, 0) / STEP
            by_v = by_v + slopes @ resistance @ slopes.swapaxes(-1, -2)
        return [by_v, by_a]

    def tangent_slope(self, d: Array, coefficients: Array) -> Array:
        """The derivative (E, 12, 12) by s of the tangent at s d, under s coefficients, at s = 0.

        Second derivatives of the elastic forces, by s in a complex step and by d in a `Taylor`; the
        inertia is linear in the coefficients, and counts with the elements straight.
        """
        at = self._along(d, coefficients)
        own = _under(self.shapes.own_resultants, at.coefficients)
        forces = at.on_nodes(at.of_load(self._load(at), own))

        def inertia(x: AnyArray) -> AnyArray:
            straight = self.moved(x, 0.0 * coefficients, rates=False)
            return self._with_inertia(straight, 0.0, straight.moved, coefficients, None)

        elastic = np.moveaxis(at.last(forces.rate.imag)[..., 0, :], 0, -1) / STEP
        return np.asarray(elastic + value_and_jacobian(inertia, 0.0 * d)[1])

    def _along(self, d: Array, coefficients: Array) -> BeamMotion:
        """At s d, with a complex step of s, and unit velocities in a first axis."""
        units = np.eye(12)[:, None] + 0.0 * d
        state = np.concatenate([1j * STEP * d + 0.0 * units, units, 0.0 * units], axis=-1)
        return self.moved(state, 1j * STEP * coefficients)

    def strain_slope(self, d: Array, coefficients: Array) -> Array:
        """The derivative (E, 6, 12) by s of ∂ρ/∂d at s d, under s coefficients, at s = 0."""
        at = self._along(d, coefficients)
        rates = at.last(at.deformation.rate.imag)[..., 0, :]
        return np.asarray(np.moveaxis(rates, 0, -1) / STEP)

    def foreseen(self, before: Array, after: Array, coefficients: Array, resistance: Any) -> Array:
        """Hρ (6, 1, 1, E, ...), resistance to strain rates included, after a step between states
        (..., E, 36), linear in the step."""
        between, moving = before + 1j * STEP * (after - before), resistance is not None
        motion = self.moved(between if moving else between[..., :12], coefficients, moving)
        load = element_product(resistance, motion.deformation.rate) if moving else 0.0
        load = load + self._load(motion.still)
        return np.asarray(load.real + load.imag / STEP)

    def _load(self, at: BeamMotion) -> Any:
        """Hρ (6, 1, 1, E, ...)."""
        return element_product(self.shapes.rigidity, at.deformation)

    def _with_inertia(
        self,
        at: BeamMotion,
        on_seen: Any,
        moved: list[tuple[Any, list[Turn]]],
        coefficients: AnyArray | None,
        drag: Array | None,
    ) -> AnyArray:
        """Forces (..., E, 12) on the nodes, of `on_seen` and of the inertia of what has moved."""
        force, (on_frame, moment) = inertia_gradient(
            self.masses, moved, coefficients, drag, self.lengths
        )
        seen = at.frame.turned_back(force)
        on_fields = np.concatenate([seen, moment], axis=0)
        on_seen = on_seen + element_product(self._on_fields, on_fields)
        arms = self.arm + at.fields[:3]
        torque, first, both = (
            np.sum(x, axis=2, keepdims=True) for x in (cross(arms, seen), force, 0.5 * on_frame)
        )
        on_ends = np.concatenate([first, both, 0.0 * first, both], axis=0)
        forces = at.last(at.on_nodes(on_seen, torque, on_ends))
        return np.asarray(forces[..., 0, :])

    def strain_energy(self, motion: BeamMotion) -> Any:
        """½ ρᵀHρ + ∫ S₀·(Γ₂, κ₂) (...), J, of all elements."""
        at = motion.still
        rho, second = at.last(at.deformation)[..., 0, :], at.last(at.strain.second_order)
        bent = 0.5 * np.einsum("...ei,eij,...ej->...", rho, self.shapes.rigidity, rho)
        own = np.sum(
            (self.shapes.own_resultants @ at.coefficients[..., None, :, None])[..., 0] * second,
            axis=-1,
        )
        return bent + np.sum(self.shapes.lengths * own, axis=(-2, -1))

    def moments(self, motion: BeamMotion) -> Array:
        """Second moments (..., E, 7, 7) of the mass (`assembly.elements.moments`)."""
        found = section_moments(self.masses, motion.moved, self.lengths)
        return found.reshape(*motion.leading, *found.shape[1:])

    def resultants(self, d: Array, coefficients: Array) -> AnyArray:
        """Forces and moments (E, Q, 6) of the sections, in their rotated axes."""
        shapes, at = self.shapes, self.moved(d, coefficients, rates=False)
        load = element_product(shapes.balance, self._load(at))
        return np.asarray(at.last(load + _under(shapes.own_resultants, coefficients)))


def _under(fields: Array, coefficients: AnyArray) -> AnyArray:
    """Fields (i, 1, Q, E, ...) of the unit kinematics (E, Q, i, 12) times coefficients (12,) or
    (E, 12)."""
    return rows_first((fields @ coefficients[..., None, :, None])[..., 0])


def _across(A: Array) -> Array:
    """Aᵀ (E, 1, i, Q j) of matrices (E, Q, j, i), for sums over the points."""
    return np.ascontiguousarray(A.reshape(len(A), -1, A.shape[-1]).swapaxes(-1, -2))


def element_product(A: Array, x: Any) -> Any:
    """A x (i, 1, Q, E, ...), A (E, Q, i, j) or (E, i, S j), and x (j, 1, S, E, ...): real matrices,
    all steps and instants of x, and its jets, as columns of one product."""
    data = x.data if isinstance(x, Taylor) else x[None]
    jets, j, _, S, E, *leading = data.shape
    columns = np.ascontiguousarray(data[:, :, 0].transpose(3, 2, 1, 0, 4, 5)).reshape(E, S * j, -1)
    wide = np.matmul(A.reshape(E, -1, S * j), columns.view(float)).view(columns.dtype)
    wide = wide.reshape(E, -1, A.shape[-2], jets, *leading).transpose(3, 2, 1, 0, 4, 5)
    out = np.ascontiguousarray(wide)[:, :, None]
    return Taylor(out) if isinstance(x, Taylor) else out[0]
