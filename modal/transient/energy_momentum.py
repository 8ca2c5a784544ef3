"""Time integration at finite elastic displacements that conserves the energy.

The midpoint rule, corrected so that it conserves the energy. With
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

import numpy as np

from modal.eigen.tolerances import ZERO
from modal.transient.integrators.stages import Stages, State
from modal.transient.newton import Newton, middles, predicted
from modal.transient.step_matrices import OnPattern
from modal.types import Array

BALANCED = 1e-10  # of the largest part of the energy: the error that a step may leave


class EnergyMomentum(Newton):
    """`State.carried`: the last three midpoints, the energy of the balance, the step's length."""

    order = 2

    def start(self, t: float, h: float, q: Array, v: Array) -> State:
        """The state at t, with midpoints before it and its energy."""
        energy = self.ended(t, q, v).energies.total
        return State(q, v, np.concatenate([*middles(q, v, h), [energy, h]]))

    def _steps(self, t: float, h: float, count: int, state: State) -> list[tuple[State, Stages]]:
        q, v, n = state.q, state.v, len(state.q)
        *earlier, (start, _) = np.split(state.carried, (n, 2 * n, 3 * n))
        middle, end, force = t + 0.5 * h, t + h, self.load(t + 0.5 * h)
        work, balanced, alpha, last = np.zeros(3), False, 0.0, 0.0

        def correction(vm: Array) -> tuple[Array, float]:
            nonlocal work, balanced, alpha, last
            at = self.state(middle, q + 0.5 * h * vm, vm, (2.0 / h) * (vm - v))
            factor = self.factor or self.factorize(at, h)
            work = h * self.powers(at, force)
            q_new, v_new, balanced = q + h * vm, 2.0 * vm - v, not np.any(work[:2])
            d = self._direction(vm, factor.mass, at.symmetries)
            unbalanced = force - at.residual + alpha * d
            change = np.asarray(factor.solve(unbalanced))
            size, gap = float(np.linalg.norm(change)), 0.0
            if balanced:
                ended = self.ended(end, q_new, v_new)
                energies, by_force = ended.energies, np.asarray(factor.solve(d))
                largest = abs(energies.kinetic) + abs(energies.strain) + abs(energies.gravity)
                # The energy's derivatives by v_m. Its second ones are those of the matrix.
                slope = h * ended.residual + 2.0 * (factor.mass @ v_new)
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
            return change, max(h * float(self.size(change, q_new, h * v_new)), abs(gap))

        self.renew_for(h)
        vm = self.corrected((2.0 / h) * (predicted(*earlier) - q), correction)
        q_new, v_new, q_m = q + h * vm, 2.0 * vm - v, q + 0.5 * h * vm
        stages = Stages(np.array([0.5]), np.ones(1), q_m[None], vm[None], work)
        due = start + float(work[2])
        if not balanced:
            due = self.ended(end, q_new, v_new).energies.total
        ends = np.concatenate([q_m, *earlier[:2], [due, h]])
        return [(State(q_new, v_new, ends), stages)]

    def weights(self, h: float) -> Array:
        """Of Newton's method for v_m; its mass also gives the direction of α d."""
        return np.array([2.0 / h, 1.0, 0.5 * h])

    def _direction(self, vm: Array, mass: OnPattern, symmetries: Array) -> Array:
        """d: momentum of the motion v_m without resultant and moment."""
        momentum = np.asarray(mass @ vm)
        if symmetries.shape[1]:
            fields = (mass @ symmetries.T).T
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
