"""Energy-momentum steps of a nonlinear transient: the midpoint rule, made to keep the energy.

With q_m = ½(q₀ + q₁), v_m = (q₁ − q₀)/h = ½(v₀ + v₁) and a_m = (v₁ − v₀)/h, a step solves

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

from assembly.errors import ConvergenceError
from modal.transient.integrators.stages import Stages, State
from modal.transient.newton import Force, Newton
from modal.types import Array

BALANCED = 1e-10  # of the largest part of the energy: the error that a step may leave
# Of that energy: kinetic energy, twice, of the motion along d below which no force acts.
RESTING = 1e-12


class EnergyMomentum(Newton):
    """`State.carried`: accelerations of the last two midpoints, and the energy of the balance."""

    order = 2
    ITERATIONS = 24
    TOLERANCE = 1e-10

    def __init__(self, model: Any, load: Force) -> None:
        super().__init__(model, load)
        self._mass: sp.csr_matrix | None = None

    def start(self, t: float, h: float, q: Array, v: Array) -> State:
        """The state at t, with its acceleration and its energy."""
        a = self.acceleration(t, q, v)
        return State(q, v, np.concatenate([a, a, [self.ended(t, q, v).energies.total]]))

    def _step(self, t: float, h: float, state: State) -> tuple[State, Stages]:
        q, v, n = state.q, state.v, len(state.q)
        a, earlier, before = state.carried[:n], state.carried[n:-1], state.carried[-1]
        middle, end = t + 0.5 * h, t + h
        force = self.load(middle)
        vm, alpha, last, fresh = v + 0.5 * h * (2.0 * a - earlier), 0.0, np.inf, False
        self.renew_for(h)
        for _ in range(self.ITERATIONS):
            am = (2.0 / h) * (vm - v)
            at = self.state(middle, q + 0.5 * h * vm, vm, am)
            fresh = fresh or self.factor is None
            factor = self.factor or self.factorize(at, h)
            work = h * self.powers(at, force)
            unbalanced = force - at.residual
            d, more, gap, scale = None, 0.0, 0.0, 1.0
            if not np.any(work[:2]):
                energies = self.ended(end, q + h * vm, 2.0 * vm - v).energies
                scale = abs(energies.kinetic) + abs(energies.strain) + abs(energies.gravity)
                d = self._direction(vm, at.symmetries)
                push = h * float(vm @ d)
                unbalanced = unbalanced + alpha * d
                # Where forces are still out of balance, their work is part of the difference.
                gap = energies.total - before - float(work[2]) + h * float(vm @ unbalanced)
                if push > RESTING * h * scale:
                    more = -gap / push
                    unbalanced = unbalanced + more * d
            change = np.asarray(factor.solve(unbalanced))
            size = h * float(np.linalg.norm(change))
            if not np.isfinite(size):
                break
            vm, alpha = vm + change, alpha + more
            q_new, v_new = q + h * vm, 2.0 * vm - v
            moved = float(np.linalg.norm(q_new)) + h * float(np.linalg.norm(v_new))
            settled = size <= self.TOLERANCE * moved or size == 0.0
            if settled and (abs(gap) <= BALANCED * scale or more == 0.0):
                stages = Stages(
                    np.array([0.5]), np.ones(1), (q + 0.5 * h * vm)[None], vm[None], work
                )
                due = before + float(work[2])
                if d is None:
                    due = self.ended(end, q_new, v_new).energies.total
                carried = np.concatenate([(2.0 / h) * (vm - v), a, [due]])
                return State(q_new, v_new, carried), stages
            if size > self.SLOW * last and not settled:
                if fresh and size > last:
                    break
                self.destroy()
            last = size
        raise ConvergenceError("Newton's method does not converge")

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
        """The accelerations start anew, as a guess; nothing else depends on the step's length."""
        n = len(state.q)
        a, balance = state.carried[:n], state.carried[-1:]
        return State(state.q, state.v, np.concatenate([a, a, balance]))
