"""Time integration at finite elastic displacements, with Newton's method.

The equations R(q, q̇, q̈, t) = F(t) are those of `model.displaced`. Generalised-α solves per step
(Arnold & Brüls, Multibody Syst. Dyn. 18, 2007, 185)

    R(q₁, v₁, a₁, t₁) = F(t₁),   (1 − α_m) A₁ + α_m A = (1 − α_f) a₁ + α_f a,
    q₁ = q + h v + h² [(½ − β) A + β A₁],   v₁ = v + h [(1 − γ) A + γ A₁],

with the parameters of Chung & Hulbert and A the acceleration at t + (α_m − α_f) h. The step matrix
is kept while Newton's method converges well with it. The work of a step is the trapezoidal rule on
the powers at its ends.

Energy-momentum steps: the midpoint rule, corrected so that it conserves the energy. With
q_m = ½(q₀ + q₁), v_m = (q₁ − q₀)/h = ½(v₀ + v₁) and a_m = (v₁ − v₀)/h, a step solves

    R(q_m, v_m, a_m, t_m) = F(t_m) + α d,    E(q₁, v₁, t₁) = E₀ + Σ h P_m ,

E the energy, E₀ that of the start and P_m the power of the dampers at the midpoint. Where loads or
drives do work, α = 0: the error of their work is that of the quadrature, not of the vibration.
The midpoint rule alone keeps linear and quadratic invariants, for a body in a frame at rest its
momentum and angular momentum; it changes the energy by O(h³) a step. The force α d = O(h²) makes
up for that, as the secant term of a discrete gradient does (Gonzalez, J. Nonlinear Sci. 6, 1996,
449; Simo & Tarnow, Z. angew. Math. Phys. 43, 1992, 757). d = M (v_m − r), r the rigid motion with
the momenta of v_m where the body is free (`symmetries`): α d has no resultant and no moment. The
step is symmetric in time and of second order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.errors import InputError
from modal.eigen.tolerances import ZERO
from modal.transient.integrators.generalized_alpha import AlphaParameters
from modal.transient.integrators.stages import Force, Stages, State
from modal.transient.loads import InertiaLoads, Load
from modal.transient.newton import Newton, middles, predicted
from modal.types import Array

BALANCED = 1e-10  # of the largest part of the energy: the error that a step may leave


class NonlinearAlpha(Newton, AlphaParameters):
    """`State.carried`: A, a, the powers (3,) of loads, drives and dampers, the last three middles.

    rho_infinity: spectral radius at infinite frequency, 0 to 1; 1 damps nothing.
    """

    order = 2

    def __init__(self, model: Any, load: Force, rho_infinity: float = 1.0) -> None:
        Newton.__init__(self, model, load)
        AlphaParameters.__init__(self, rho_infinity)

    def start(self, t: float, h: float, q: Array, v: Array) -> State:
        """The state at t, with the accelerations at t and where the method expects it."""
        a = self.acceleration(t, q, v)
        powers = self.powers(self.state(t, q, v, a), self.load(t))
        ahead, A = (self.alpha_m - self.alpha_f) * h, a
        if ahead:
            A = self.acceleration(t + ahead, q + ahead * v + 0.5 * ahead**2 * a, v + ahead * a)
        return State(q, v, np.concatenate([A, a, powers, *middles(q, v, h)]))

    def _step(self, t: float, h: float, state: State) -> tuple[State, Stages]:
        am, af, beta, gamma = self.alpha_m, self.alpha_f, self.beta, self.gamma
        q, v, n = state.q, state.v, len(state.q)
        A, a, powers, carried = np.split(state.carried, (n, 2 * n, 2 * n + 3))
        force, at = self.load(t + h), None

        def motion(A_new: Array) -> tuple[Array, Array, Array]:
            a_new = ((1.0 - am) * A_new + am * A - af * a) / (1.0 - af)
            q_new = q + h * v + h * h * ((0.5 - beta) * A + beta * A_new)
            return q_new, v + h * ((1.0 - gamma) * A + gamma * A_new), a_new

        def correction(A_new: Array) -> tuple[Array, float]:
            nonlocal at
            q_new, v_new, a_new = motion(A_new)
            at = self.state(t + h, q_new, v_new, a_new)
            factor = self.factor or self.factorize(at, h)
            change = np.asarray(factor.solve(force - at.residual))
            return change, beta * h * h * self.size(change, q_new, h * v_new)

        self.renew_for(h)
        earlier = carried.reshape(3, n)
        ahead = 2.0 * (predicted(*earlier) - q) - h * v
        A_new = self.corrected((ahead / (h * h) - (0.5 - beta) * A) / beta, correction)
        q_new, v_new, a_new = motion(A_new)
        after = self.powers(at, force)
        middle = 0.5 * (q + q_new), 0.5 * (v + v_new)
        work = 0.5 * h * (powers + after)
        stages = Stages(np.array([0.5]), np.ones(1), middle[0][None], middle[1][None], work)
        carried = np.concatenate([A_new, a_new, after, middle[0], *earlier[:2]])
        return State(q_new, v_new, carried), stages

    def matrix(self, at: Any, h: float) -> sp.csr_matrix:
        """That of Newton's method for the accelerations A₁."""
        by_v, by_q = self.gamma * h, self.beta * h * h
        inertia = (1.0 - self.alpha_m) / (1.0 - self.alpha_f)
        M, C, K = at.tangents((by_v / by_q, inertia / by_q))
        return inertia * M + by_v * C + by_q * K

    def change_step(self, t: float, state: State, new: float) -> State:
        """The state as a step of length `new` expects it."""
        if self.alpha_m != self.alpha_f:
            return self.start(t, new, state.q, state.v)
        still = state.carried[: -3 * len(state.q)]  # A = a, whatever the step
        points = middles(state.q, state.v, new)
        return State(state.q, state.v, np.concatenate([still, *points]))


class EnergyMomentum(Newton):
    """`State.carried`: the last three midpoints, the energy of the balance, the step's length."""

    order = 2

    def __init__(self, model: Any, load: Force) -> None:
        super().__init__(model, load)
        self._mass: sp.csr_matrix | None = None

    def start(self, t: float, h: float, q: Array, v: Array) -> State:
        """The state at t, with midpoints before it and its energy."""
        energy = self.ended(t, q, v).energies.total
        return State(q, v, np.concatenate([*middles(q, v, h), [energy, h]]))

    def _step(self, t: float, h: float, state: State) -> tuple[State, Stages]:
        q, v, n = state.q, state.v, len(state.q)
        *earlier, (start, _) = np.split(state.carried, (n, 2 * n, 3 * n))
        middle, end, force = t + 0.5 * h, t + h, self.load(t + 0.5 * h)
        work, balanced, alpha, last = np.zeros(3), False, 0.0, 0.0

        def correction(vm: Array) -> tuple[Array, float]:
            nonlocal work, balanced, alpha, last
            at = self.state(middle, q + 0.5 * h * vm, vm, (2.0 / h) * (vm - v))
            factor = self.factor or self.factorize(at, h)
            assert self._mass is not None
            work = h * self.powers(at, force)
            q_new, v_new, balanced = q + h * vm, 2.0 * vm - v, not np.any(work[:2])
            d = self._direction(vm, at.symmetries)
            unbalanced = force - at.residual + alpha * d
            change = np.asarray(factor.solve(unbalanced))
            size, gap = float(np.linalg.norm(change)), 0.0
            if balanced:
                ended = self.ended(end, q_new, v_new)
                energies, by_force = ended.energies, np.asarray(factor.solve(d))
                largest = abs(energies.kinetic) + abs(energies.strain) + abs(energies.gravity)
                # The energy's derivatives by v_m. Its second ones are those of the matrix.
                slope = h * ended.residual + 2.0 * (self._mass @ v_new)
                gained = float((slope + h * unbalanced) @ change)
                push = float((slope + 2.0 * h * unbalanced) @ by_force)
                gap = energies.total - start - float(work[2]) + gained
                # Far from the solution the gap is that of the forces still out of balance.
                near = alpha != 0.0 or (size < last and abs(gained) < abs(gap))
                if abs(push) <= ZERO * h * largest:
                    gap = 0.0
                elif near and h * abs(gap) < abs(push):  # not a force that stops the motion
                    change, alpha = change - (gap / push) * by_force, alpha - gap / push
                gap /= BALANCED * largest
            last = size
            return change, max(h * self.size(change, q_new, h * v_new), abs(gap))

        self.renew_for(h)
        vm = self.corrected((2.0 / h) * (predicted(*earlier) - q), correction)
        q_new, v_new, q_m = q + h * vm, 2.0 * vm - v, q + 0.5 * h * vm
        stages = Stages(np.array([0.5]), np.ones(1), q_m[None], vm[None], work)
        due = start + float(work[2])
        if not balanced:
            due = self.ended(end, q_new, v_new).energies.total
        return State(q_new, v_new, np.concatenate([q_m, *earlier[:2], [due, h]])), stages

    def matrix(self, at: Any, h: float) -> sp.csr_matrix:
        """That of Newton's method for v_m; its mass also gives the direction of α d."""
        M, C, K = at.tangents()
        self._mass = M
        return (2.0 / h) * M + C + (0.5 * h) * K

    def _direction(self, vm: Array, symmetries: Array) -> Array:
        """d: momentum of the motion v_m without resultant and moment."""
        assert self._mass is not None
        momentum = np.asarray(self._mass @ vm)
        if symmetries.shape[1]:
            fields = np.asarray(self._mass @ symmetries)
            share = np.linalg.solve(symmetries.T @ fields, symmetries.T @ momentum)
            momentum = momentum - fields @ share
        return momentum

    def change_step(self, t: float, state: State, new: float) -> State:
        """The parabola through the last midpoints, at midpoints of steps of the new length."""
        n, (start, h) = len(state.q), state.carried[-2:]
        middles = np.array([0.5, 1.5, 2.5])
        moved = np.vander(new / h * middles) @ np.linalg.inv(np.vander(middles))
        points = moved @ state.carried[:-2].reshape(3, n)
        return State(state.q, state.v, np.append(points, [start, new]))


def check_nonlinear(model: Any, formalism: str, loads: tuple[Load, ...]) -> None:
    """InputError for what a nonlinear transient does not take."""
    if not callable(getattr(model, "displaced", None)):
        raise InputError(
            f"nonlinear: expected a Mechanism or a moving body, got {type(model).__name__}; of one "
            "body: assembly.moving(body, motion)"
        )
    if formalism != "lagrange":
        raise InputError(f'nonlinear: formalism must be "lagrange", got {formalism!r}')
    if any(isinstance(load, InertiaLoads) for load in loads):
        raise InputError(
            "loads: a nonlinear transient has all inertia loads; leave InertiaLoads out"
        )
