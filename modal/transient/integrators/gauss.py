"""Gauss collocation of order 2 (implicit midpoint rule, one stage), 4 (two stages) and 6 (three).

For Hamilton's form q̇ = M⁻¹(p − Gq), ṗ = Gᵀq̇ − Sq − Dq̇ − Nq + F, and for x' = A(t) x. The
methods are symplectic and conserve every quadratic invariant exactly (Hairer, Lubich & Wanner,
Geometric Numerical Integration, IV.2): with constant coefficients and no load the energy is
conserved to round-off.

With stage velocities V_i, q_i = q + h Σ a_ij V_j, and stage forces R_j, the stage equations are

    M_i V_i + G_i q_i = p + h Σ_j a_ij R_j,   R_j = (G_jᵀ − D_j) V_j − (S_j + N_j) q_j + F_j.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from modal.transient.equations import FirstOrderModel
from modal.transient.hamilton import CanonicalInstant, CanonicalModel
from modal.transient.integrators.stages import Force, Stages, State
from modal.transient.integrators.tableau import Tableau
from modal.transient.step_matrices import Matrix, OnPattern, StepSolver
from modal.types import Array


class Gauss:
    """Gauss collocation of Hamilton's form; `State.carried` is the momentum p (n,), N·s."""

    def __init__(self, canonical: CanonicalModel, load: Force, stages: int = 1) -> None:
        self.tableau = Tableau(stages)
        self.order = self.tableau.order
        self.canonical, self.load = canonical, load
        self.solver, self._mass_solver = StepSolver(), StepSolver()
        self._matrix = lru_cache(maxsize=3)(self._formed)

    def start(self, t: float, h: float, q: Array, v: Array) -> State:
        """The state at t, with its momentum."""
        return State(q, v, self.canonical.at(t).momentum(q, v))

    def step(self, t: float, h: float, state: State) -> tuple[State, Stages]:
        """From t to t + h."""
        a, b, c = self.tableau.a, self.tableau.b, self.tableau.c
        times = [t + h * ci for ci in c]
        at = self._at_stages(h, t)
        q, p = state.q, state.carried
        loads = [self.load(ti) for ti in times]
        known = [F - here.on_displacement @ q for F, here in zip(loads, at, strict=True)]
        rhs = [
            p - at[i].G @ q + h * sum(a[i, j] * known[j] for j in range(len(c)))
            for i in range(len(c))
        ]
        matrix = self._matrix(h, 0.0 if self.canonical.equations.constant else t)
        V = self.solver.solve(matrix, np.concatenate(rhs)).reshape(len(c), -1)
        q_stage = q + h * (a @ V)
        force = [
            F - here.on_displacement @ qi + here.on_velocity @ vi
            for F, here, qi, vi in zip(loads, at, q_stage, V, strict=True)
        ]
        q_new = q + h * (b @ V)
        p_new = p + h * sum(bi * Ri for bi, Ri in zip(b, force, strict=True))
        end = self.canonical.at(t + h)
        v_new = self._mass_solver.solve(end.M, p_new - end.G @ q_new)
        return State(q_new, v_new, p_new), Stages(c, b, q_stage, V)

    def _at_stages(self, h: float, t: float) -> list[CanonicalInstant]:
        return [self.canonical.at(t + h * ci) for ci in self.tableau.c]

    def _formed(self, h: float, t: float) -> Matrix:
        return step_matrix(self.tableau.a, h, self._at_stages(h, t))

    def change_step(self, t: float, state: State, new: float) -> State:
        """Nothing depends on the step's length."""
        return state

    def destroy(self) -> None:
        self.solver.destroy()
        self._mass_solver.destroy()


def step_matrix(a: Array, h: float, at: list[CanonicalInstant]) -> Matrix:
    """The matrix (s n, s n) of the stage velocities: block (i, j) is

    δ_ij M_i + h a_ij (G_i − G_jᵀ + D_j) + h² Σ_k a_ik a_kj (S_k + N_k).
    """
    if isinstance(at[0].M, OnPattern):
        return _on_pattern(a, h, at)
    s = len(at)
    stiffness = [here.on_displacement for here in at]
    blocks: list[list[Any]] = []
    for i in range(s):
        row = []
        for j in range(s):
            block = (h * a[i, j]) * (at[i].G - at[j].on_velocity)
            for k in range(s):
                block = block + (h * h * a[i, k] * a[k, j]) * stiffness[k]
            row.append(block + at[i].M if i == j else block)
        blocks.append(row)
    return sp.csr_matrix(sp.bmat(blocks, format="csr")) if s > 1 else sp.csr_matrix(blocks[0][0])


def _on_pattern(a: Array, h: float, at: list[CanonicalInstant]) -> OnPattern:
    """The same of matrices on one pattern."""
    s, pattern = len(at), at[0].M.pattern
    stiffness = np.stack([here.on_displacement.values for here in at])
    gyroscopic = np.stack([here.G.values for here in at])
    on_velocity = np.stack([here.on_velocity.values for here in at])
    products = a[:, None, :] * a.T[None]  # a_ik a_kj at (i, j, k)
    blocks = (h * h * products).reshape(s * s, s) @ stiffness
    blocks = blocks.reshape(s, s, -1)
    blocks += (h * a)[:, :, None] * (gyroscopic[:, None] - on_velocity[None])
    for i, here in enumerate(at):
        blocks[i, i] += here.M.values
    return OnPattern(pattern, blocks)


class DenseGauss:
    """Gauss collocation of x' = A(t) x, dense; q is x and v is x'. ½|x|² stands for the energy."""

    nothing = 0.0  # work at the start

    def __init__(self, model: FirstOrderModel, stages: int = 1) -> None:
        self.tableau = Tableau(stages)
        self.order = self.tableau.order
        self.model = model

    def start(self, t: float, h: float, q: Array, v: Array) -> State:
        """The state at t; v is replaced by A(t) x."""
        return State(q, self.model.first_order(t) @ q, q)

    def step(self, t: float, h: float, state: State) -> tuple[State, Stages]:
        """From t to t + h: (δ_ij I − h A_i a_ij) k_j = A_i x."""
        a, b, c = self.tableau.a, self.tableau.b, self.tableau.c
        s, n = len(c), self.model.n
        A = np.stack([self.model.first_order(t + h * ci) for ci in c])
        matrix = self.tableau.stage_matrix(h, A[None])[0]
        slopes = la.solve(matrix, (A @ state.q).ravel()).reshape(s, n)
        x = state.q + h * (b @ slopes)
        stages = Stages(c, b, state.q + h * (a @ slopes), slopes)
        return State(x, self.model.first_order(t + h) @ x, x), stages

    def change_step(self, t: float, state: State, new: float) -> State:
        """Nothing depends on the step's length."""
        return state

    def destroy(self) -> None:
        """Nothing to release."""

    def energy(self, t: float, q: Array, v: Array) -> float:
        """½|x|²."""
        return float(0.5 * (q @ q))

    def work(self, t: float, h: float, stages: Stages) -> float:
        """∫ xᵀA x dt over the step."""
        powers = np.einsum("si,si->s", stages.q, stages.v)
        return float(h * (stages.weights @ powers))
