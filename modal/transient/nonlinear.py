"""Time integration at finite elastic displacements: generalised-α with Newton's method.

The equations R(q, q̇, q̈, t) = F(t) are those of `model.displaced`. Per step (Arnold & Brüls,
Multibody Syst. Dyn. 18, 2007, 185)

    R(q₁, v₁, a₁, t₁) = F(t₁),   (1 − α_m) A₁ + α_m A = (1 − α_f) a₁ + α_f a,
    q₁ = q + h v + h² [(½ − β) A + β A₁],   v₁ = v + h [(1 − γ) A + γ A₁],

with the parameters of Chung & Hulbert and A the acceleration at t + (α_m − α_f) h. The step matrix
is kept while Newton's method converges well with it. The work of a step is the trapezoidal rule on
the powers at its ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.errors import InputError
from modal.transient.integrators.generalized_alpha import AlphaParameters
from modal.transient.integrators.stages import Stages, State
from modal.transient.loads import InertiaLoads
from modal.transient.loads import Load as LoadLike
from modal.transient.newton import Force, Newton, backwards, predicted
from modal.types import Array

WORKS = ("load_work", "drive_work", "damper_work")


class NonlinearAlpha(Newton, AlphaParameters):
    """`State.carried`: A, a, the powers (3,) of loads, drives and dampers, and the last two q.

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
        return State(q, v, np.concatenate([A, a, powers, *backwards(q, v, a, (h, 2.0 * h))]))

    def _step(self, t: float, h: float, state: State) -> tuple[State, Stages]:
        am, af, beta, gamma = self.alpha_m, self.alpha_f, self.beta, self.gamma
        q, v, n = state.q, state.v, len(state.q)
        A, a, powers, *earlier = np.split(state.carried, (n, 2 * n, 2 * n + 3, 3 * n + 3))
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
        ahead = predicted(q, *earlier) - q - h * v
        A_new = self.corrected((ahead / (h * h) - (0.5 - beta) * A) / beta, correction)
        q_new, v_new, a_new = motion(A_new)
        after = self.powers(at, force)
        middle = 0.5 * (q + q_new), 0.5 * (v + v_new)
        work = 0.5 * h * (powers + after)
        stages = Stages(np.array([0.5]), np.ones(1), middle[0][None], middle[1][None], work)
        carried = np.concatenate([A_new, a_new, after, q, earlier[0]])
        return State(q_new, v_new, carried), stages

    def matrix(self, at: Any, h: float) -> sp.csr_matrix:
        """That of Newton's method for the accelerations A₁."""
        M, C, K = at.tangents(self.exact)
        inertia = (1.0 - self.alpha_m) / (1.0 - self.alpha_f)
        return inertia * M + self.gamma * h * C + self.beta * h * h * K

    def change_step(self, t: float, state: State, new: float) -> State:
        """The state as a step of length `new` expects it."""
        return self.start(t, new, state.q, state.v)


class NonlinearLedger:
    """Energy, momenta and work of the states of a nonlinear integrator."""

    nothing = np.zeros(len(WORKS))

    def __init__(self, integrator: Newton) -> None:
        self.integrator = integrator

    def energy(self, t: float, q: Array, v: Array) -> float:
        """Kinetic energy and potentials, J."""
        return float(self.integrator.ended(t, q, v).energies.total)

    def work(self, t: float, h: float, stages: Stages) -> Array:
        """Of loads, drives and dampers over a step, (3,), J."""
        assert stages.work is not None
        return stages.work

    def details(self, t: float, q: Array, v: Array, work: Array) -> dict[str, Any]:
        """What is recorded besides the energy and its defect."""
        state = self.integrator.ended(t, q, v)
        at, momenta = state.energies, state.momenta
        return dict(
            kinetic_energy=at.kinetic,
            strain_energy=at.strain,
            gravity_energy=at.gravity,
            momentum=momenta.linear,
            angular_momentum=momenta.angular,
            **dict(zip(WORKS, work.tolist(), strict=True)),
        )


def check_nonlinear(model: Any, formalism: str, loads: tuple[LoadLike, ...]) -> None:
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
