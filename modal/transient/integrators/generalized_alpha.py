"""Generalised-α for Lagrange's second-order form (Chung & Hulbert, J. Appl. Mech. 60, 1993, 371).

    M ā + V v̄ + K q̄ = F  at t* = t_n + (1 − α_f) h,   x̄ = (1 − α) x_{n+1} + α x_n
    q_{n+1} = q_n + h v_n + h² [(½ − β) a_n + β a_{n+1}]
    v_{n+1} = v_n + h [(1 − γ) a_n + γ a_{n+1}]

with α_m = (2ρ − 1)/(ρ + 1), α_f = ρ/(ρ + 1), γ = ½ − α_m + α_f, β = ¼ (1 − α_m + α_f)², their
eqs. 14–25.

The carried a_n stands for the acceleration at t_n + (α_m − α_f) h (Jay & Negrut 2007), so ā
belongs to t*. With every matrix evaluated at t* the method remains of second order for time-varying
M, C and K.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from assembly.errors import InputError
from modal.transient.equations import SecondOrderModel
from modal.transient.integrators.stages import Force, Stages, State
from modal.transient.step_matrices import Matrix, StepSolver
from modal.types import Array


class AlphaParameters:
    """α_m, α_f, γ and β. rho_infinity: spectral radius at infinite frequency, 0 to 1."""

    def __init__(self, rho_infinity: float) -> None:
        if not 0.0 <= rho_infinity <= 1.0:
            raise InputError(f"rho_infinity: expected a number from 0 to 1, got {rho_infinity}")
        rho = float(rho_infinity)
        self.alpha_m = (2.0 * rho - 1.0) / (rho + 1.0)
        self.alpha_f = rho / (rho + 1.0)
        self.gamma = 0.5 - self.alpha_m + self.alpha_f
        self.beta = 0.25 * (1.0 - self.alpha_m + self.alpha_f) ** 2
        # Of q̄, v̄ and ā: the share of the start of a step.
        self.shares = np.array([self.alpha_f, self.alpha_f, self.alpha_m])[:, None]

    def rates(self, h: float) -> Array:
        """(3, 1): of q, v and a at the end of a step by a there."""
        return np.array([[self.beta * h * h], [self.gamma * h], [1.0]])

    def known(self, h: float, start: Array) -> tuple[Array, Array]:
        """q, v and a (3, n) at the end of a step from `start`, and q̄, v̄ and ā, both less their
        part by a at the end."""
        by_a = h * h * (0.5 - self.beta), h * (1.0 - self.gamma)
        end = np.array([[1.0, h, by_a[0]], [0.0, 1.0, by_a[1]], [0.0, 0.0, 0.0]]) @ start
        return end, (1.0 - self.shares) * end + self.shares * start

    def weights(self, h: float) -> Array:
        """(3,): of M, damping and stiffness in the matrix of the accelerations at the end."""
        return np.asarray(((1.0 - self.shares) * self.rates(h))[::-1, 0])


class GeneralizedAlpha(AlphaParameters):
    """rho_infinity: spectral radius at infinite frequency, 0 to 1; 1 conserves the energy."""

    order = 2

    def __init__(self, equations: SecondOrderModel, load: Force, rho_infinity: float = 1.0) -> None:
        super().__init__(rho_infinity)
        self.equations, self.load = equations, load
        self.solver, self._mass_solver = StepSolver(), StepSolver()
        self._matrix = lru_cache(maxsize=3)(self._formed)

    def start(self, t: float, h: float, q: Array, v: Array) -> State:
        """The state at t, with the acceleration at the instant that the method expects."""
        shifted = t + (self.alpha_m - self.alpha_f) * h
        a = self._acceleration(t, q, v)
        if shifted != t:
            ahead = shifted - t
            a = self._acceleration(shifted, q + ahead * v + 0.5 * ahead**2 * a, v + ahead * a)
        return State(q, v, a)

    def _acceleration(self, t: float, q: Array, v: Array) -> Array:
        here = self.equations.at(t)
        return self._mass_solver.solve(here.M, self.load(t) - here.damping @ v - here.stiffness @ q)

    def step(self, t: float, h: float, state: State) -> tuple[State, Stages]:
        """From t to t + h."""
        start, t_star = np.array([state.q, state.v, state.carried]), t + (1.0 - self.alpha_f) * h
        here, (end, (q, v, a)) = self.equations.at(t_star), self.known(h, start)
        rhs = self.load(t_star) - here.damping @ v - here.stiffness @ q - here.M @ a
        S = self._matrix(h, 0.0 if self.equations.constant else t_star)
        end = end + self.rates(h) * self.solver.solve(S, rhs)
        q, v, _ = 0.5 * (start + end)
        return State(*end), Stages(np.array([0.5]), np.array([1.0]), q[None], v[None])

    def _formed(self, h: float, t: float) -> Matrix:
        """The matrix of the accelerations, of the instant t, for steps of length h."""
        here, (by_a, by_v, by_q) = self.equations.at(t), self.weights(h).tolist()
        matrix: Matrix = by_a * here.M + by_v * here.damping + by_q * here.stiffness
        return matrix

    def change_step(self, t: float, state: State, new: float) -> State:
        """The state as a step of length `new` expects it: a_n moves to t + (α_m − α_f) new."""
        if self.alpha_m == self.alpha_f:
            return state
        return self.start(t, new, state.q, state.v)

    def destroy(self) -> None:
        self.solver.destroy()
        self._mass_solver.destroy()
