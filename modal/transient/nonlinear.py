"""Time integration at finite elastic displacements: generalised-α with Newton's method.

The equations R(q, q̇, q̈, t) = F(t) are those of `model.displaced` (of mechanisms). Per step
(Arnold & Brüls, Multibody Syst. Dyn. 18, 2007, 185)

    R(q₁, v₁, a₁, t₁) = F(t₁),   (1 − α_m) A₁ + α_m A = (1 − α_f) a₁ + α_f a,
    q₁ = q + h v + h² [(½ − β) A + β A₁],   v₁ = v + h [(1 − γ) A + γ A₁],

with the parameters of Chung & Hulbert and A the acceleration at t + (α_m − α_f) h. The step matrix
is kept while Newton's method converges well with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from assembly.errors import ConvergenceError, InputError
from assembly.linalg.factorization import Factorization
from modal.transient.integrators.generalized_alpha import AlphaParameters
from modal.transient.integrators.stages import Stages, State
from modal.transient.loads import InertiaLoads
from modal.transient.loads import Load as LoadLike
from modal.types import Array

ITERATIONS = 12
TOLERANCE = 1e-10  # of a Newton step, against the displacement of a step
SLOW = 0.2  # ratio of two Newton steps from which the step matrix is formed again

Force = Callable[[float], Array]


class NonlinearAlpha(AlphaParameters):
    """rho_infinity: spectral radius at infinite frequency, 0 to 1; 1 damps nothing."""

    order = 2

    def __init__(self, model: Any, load: Force, rho_infinity: float = 1.0) -> None:
        super().__init__(rho_infinity)
        self.model, self.load = model, load
        self._near: Any = None
        self._factor: Factorization | None = None
        self._made_for = 0.0

    def _state(self, t: float, q: Array, v: Array, a: Array) -> Any:
        self._near = self.model.displaced(t, q, v, a, near=self._near)
        return self._near

    def acceleration(self, t: float, q: Array, v: Array) -> Array:
        """a of R(q, v, a, t) = F(t), in which a is linear."""
        state = self._state(t, q, v, np.zeros_like(q))
        with Factorization(state.tangents()[0], "general") as factor:
            return np.asarray(factor.solve(self.load(t) - state.residual))

    def start(self, t: float, h: float, q: Array, v: Array) -> State:
        """The state at t, with the accelerations at t and where the method expects it."""
        a = self.acceleration(t, q, v)
        ahead, A = (self.alpha_m - self.alpha_f) * h, a
        if ahead:
            A = self.acceleration(t + ahead, q + ahead * v + 0.5 * ahead**2 * a, v + ahead * a)
        return State(q, v, np.concatenate([A, a]))

    def step(self, t: float, h: float, state: State) -> tuple[State, Stages]:
        """From t to t + h; ConvergenceError where Newton's method does not converge."""
        try:
            return self._step(t, h, state)
        except ConvergenceError as fault:
            raise ConvergenceError(
                f"integrate: the step from t = {t:.6g} s fails ({fault}); take a shorter step than "
                f"{h:.3g} s",
                partial=state.q,
            ) from fault

    def _step(self, t: float, h: float, state: State) -> tuple[State, Stages]:
        am, af, beta, gamma = self.alpha_m, self.alpha_f, self.beta, self.gamma
        q, v, (A, a) = state.q, state.v, np.split(state.carried, 2)
        A_new, last, fresh = A.copy(), np.inf, False
        force = self.load(t + h)
        if self._made_for != h:
            self.destroy()
        for _ in range(ITERATIONS):
            a_new = ((1.0 - am) * A_new + am * A - af * a) / (1.0 - af)
            q_new = q + h * v + h * h * ((0.5 - beta) * A + beta * A_new)
            v_new = v + h * ((1.0 - gamma) * A + gamma * A_new)
            at = self._state(t + h, q_new, v_new, a_new)
            if self._factor is None:
                M, C, K = at.tangents()
                S = (1.0 - am) / (1.0 - af) * M + gamma * h * C + beta * h * h * K
                self._factor, self._made_for, fresh = Factorization(S, "general"), h, True
            change = np.asarray(self._factor.solve(force - at.residual))
            size = beta * h * h * float(np.linalg.norm(change))
            if not np.isfinite(size):
                break
            A_new = A_new + change
            scale = float(np.linalg.norm(q_new)) + h * float(np.linalg.norm(v_new))
            if size <= TOLERANCE * scale or size == 0.0:
                q_new = q + h * v + h * h * ((0.5 - beta) * A + beta * A_new)
                v_new = v + h * ((1.0 - gamma) * A + gamma * A_new)
                a_new = ((1.0 - am) * A_new + am * A - af * a) / (1.0 - af)
                middle = 0.5 * (q + q_new), 0.5 * (v + v_new)
                stages = Stages(np.array([0.5]), np.ones(1), middle[0][None], middle[1][None])
                return State(q_new, v_new, np.concatenate([A_new, a_new])), stages
            if size > SLOW * last:
                if fresh and size > last:
                    break
                self.destroy()
            last = size
        raise ConvergenceError("Newton's method does not converge")

    def change_step(self, t: float, state: State, new: float) -> State:
        """The state as a step of length `new` expects it."""
        return self.start(t, new, state.q, state.v)

    def destroy(self) -> None:
        if self._factor is not None:
            self._factor.destroy()
        self._factor = None


class NoLedger:
    """In the place of an energy ledger: the energy of finite displacements is not recorded."""

    def energy(self, t: float, q: Array, v: Array) -> float:
        return 0.0

    def work(self, t: float, h: float, stages: Stages) -> float:
        return 0.0


def check_nonlinear(model: Any, formalism: str, loads: tuple[LoadLike, ...]) -> None:
    """InputError for what a nonlinear transient does not take."""
    if not callable(getattr(model, "displaced", None)):
        raise InputError(
            f"nonlinear: expected a Mechanism, got {type(model).__name__}; one body is a mechanism "
            "on a driven hub"
        )
    if formalism != "lagrange":
        raise InputError(f'nonlinear: formalism must be "lagrange", got {formalism!r}')
    if any(isinstance(load, InertiaLoads) for load in loads):
        raise InputError(
            "loads: a nonlinear transient has all inertia loads; leave InertiaLoads out"
        )
