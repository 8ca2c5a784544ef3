"""Time integration at finite elastic displacements, with Newton's method.

The equations R(q, q̇, q̈, t) = F(t) are those of `model.displaced`. Generalised-α solves per step
(Arnold & Brüls, Multibody Syst. Dyn. 18, 2007, 185)

    R(q₁, v₁, a₁, t₁) = F(t₁),   (1 − α_m) A₁ + α_m A = (1 − α_f) a₁ + α_f a,
    q₁ = q + h v + h² [(½ − β) A + β A₁],   v₁ = v + h [(1 − γ) A + γ A₁],

with the parameters of Chung & Hulbert and A the acceleration at t + (α_m − α_f) h. The work of a
step is the trapezoidal rule on the powers at its ends.

Newton's method solves several steps as one (`_steps`): the states at all their ends are evaluated
together, in arrays with an axis of steps, and the equations linear about these are solved from step
to step, M δa + C δv + K δq = F − R with the formulas above, which are linear. That is Newton's
method for the equations of all steps; it converges quadratically, and an evaluation of twenty small
states takes hardly longer than one of a single state. It begins on the line through the last two
midpoints. M, C and K are those of five of the steps, and polynomials in time between these; they
are kept, from the last step, while the method converges well with them. Where it does not converge,
half as many steps are solved as one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from assembly.errors import InputError
from modal.transient.integrators.generalized_alpha import AlphaParameters
from modal.transient.integrators.stages import Force, Stages, State
from modal.transient.loads import InertiaLoads, Load
from modal.transient.newton import Near, Newton, StepMatrices, middles, predicted
from modal.types import Array


class NonlinearAlpha(Newton, AlphaParameters):
    """`State.carried`: A, a, the powers (3,) of loads, drives and dampers, the last three middles.

    rho_infinity: spectral radius at infinite frequency, 0 to 1; 1 damps nothing.
    """

    order = 2
    NUMBERS = 800  # displacements of the steps that are solved as one
    MOST = 20  # such steps
    NODES = 5  # of them have matrices of their own
    FEW, MANY = 5, 8  # iterations up to which more steps are solved as one, and above which fewer

    def __init__(self, model: Any, load: Force, rho_infinity: float = 1.0) -> None:
        Newton.__init__(self, model, load)
        AlphaParameters.__init__(self, rho_infinity)
        self._block: tuple[list[State], Array, Any] = ([], np.zeros(0), None)

    def start(self, t: float, h: float, q: Array, v: Array) -> State:
        """The state at t, with the accelerations at t and where the method expects it."""
        self.together = self._most(len(q))
        return self._begun(t, h, q, v)

    def _begun(self, t: float, h: float, q: Array, v: Array) -> State:
        a = self.acceleration(t, q, v)
        powers = self.powers(self.state(t, q, v, a), self.load(t))
        ahead, A = (self.alpha_m - self.alpha_f) * h, a
        if ahead:
            A = self.acceleration(t + ahead, q + ahead * v + 0.5 * ahead**2 * a, v + ahead * a)
        return State(q, v, np.concatenate([A, a, powers, *middles(q, v, h)]))

    def _most(self, n: int) -> int:
        return min(self.MOST, max(1, self.NUMBERS // max(n, 1)))

    def _steps(self, t: float, h: float, count: int, state: State) -> list[tuple[State, Stages]]:
        q, v, n = state.q, state.v, len(state.q)
        A, a, powers, carried = np.split(state.carried, (n, 2 * n, 2 * n + 3))
        *earlier, last = carried.reshape(3, n)[::-1]
        times, at = t + h * np.arange(1, count + 1), None
        force = np.array([self.load(s) for s in times.tolist()])

        def correction(x: Array) -> tuple[Array, float]:
            nonlocal at
            at = self.state(times, *x[:3])
            matrices = self.factor or self.factorize(at, h)
            new = self._path(h, np.stack([q, v, a, A]), x, force - at.residual, matrices)
            return new - x, self.size(new[0] - x[0], new[0], h * new[1])

        self.renew_for(h)
        x = np.zeros((4, count, n))
        moved = last - earlier[1]
        x[0], x[1] = last + (0.5 + np.arange(1, count + 1))[:, None] * moved, moved / h
        if count == 1:
            x[0, 0] = 2.0 * predicted(last, *earlier[::-1]) - q
            x[3, 0] = ((x[0, 0] - q - h * v) / (h * h) - (0.5 - self.beta) * A) / self.beta
            x[1, 0] = v + h * ((1.0 - self.gamma) * A + self.gamma * x[3, 0])
            x[2, 0] = self._accelerated(A, a) + self._inertia * x[3, 0]
        x = self.corrected(x, correction)
        if self.taken > self.MANY:
            self.together = max(1, count // 2)
        elif self.taken <= self.FEW:
            self.together = max(self.together, min(2 * count, self._most(n)))
        assert at is not None
        self._near, found = Near.last(at), []
        middle, after = [*earlier, last], self.powers(at, force)
        for k in range(count):
            q_new, v_new, a_new, A_new = x[:, k]
            middle.append(0.5 * (q + q_new))
            ends = np.concatenate([A_new, a_new, after[:, k], *middle[:-4:-1]])
            mean = middle[-1], 0.5 * (v + v_new)
            work = 0.5 * h * (powers + after[:, k])
            stages = Stages(np.array([0.5]), np.ones(1), mean[0][None], mean[1][None], work)
            found.append((State(q_new, v_new, ends), stages))
            q, v, powers = q_new, v_new, after[:, k]
        self._block = [own for own, _ in found], times, at
        return found

    @property
    def _inertia(self) -> float:
        return (1.0 - self.alpha_m) / (1.0 - self.alpha_f)

    def _accelerated(self, A: Array, a: Array) -> Array:
        """a₁ less its part by A₁."""
        return (self.alpha_m * A - self.alpha_f * a) / (1.0 - self.alpha_f)

    def _path(
        self, h: float, start: Array, x: Array, unbalanced: Array, matrices: StepMatrices
    ) -> Array:
        """q, v, a and A (4, P, n) at the ends of P steps from `start` (4, n), by the equations
        linear about x (4, P, n), where F − R is `unbalanced` (P, n)."""
        out, (q, v, a, A) = np.empty_like(x), start
        for k, (at_q, at_v, at_a, _) in enumerate(x.swapaxes(0, 1)):
            q, v = q + h * v + h * h * (0.5 - self.beta) * A, v + h * (1.0 - self.gamma) * A
            a = self._accelerated(A, a)
            known = matrices.product(k, at_a - a, at_v - v, at_q - q)
            A = matrices.solve(unbalanced[k] + known, k)
            q, v = q + self.beta * h * h * A, v + self.gamma * h * A
            a = a + self._inertia * A
            out[:, k] = q, v, a, A
        return out

    def weights(self, h: float) -> Array:
        """Of Newton's method for the accelerations A₁."""
        return np.array([self._inertia, self.gamma * h, self.beta * h * h])

    def derivatives(self, at: Any) -> Array:
        """Those of some of the steps, and polynomials in time through these."""
        count = len(at.q)
        nodes = np.unique(np.linspace(0, count - 1, self.NODES).round().astype(int))
        found = super().derivatives(at if len(nodes) == count else at.at(nodes))
        powers = np.vander(np.linspace(-1.0, 1.0, count), len(nodes))
        return np.asarray(np.einsum("kp,mpe->mke", powers @ np.linalg.inv(powers[nodes]), found))

    def ended(self, t: float, q: Array, v: Array) -> Any:
        """The state at the end of a step, its energies and momenta those of all steps that have
        been solved with it."""
        states, times, at = self._block
        number = next((k for k, own in enumerate(states) if own.q is q and own.v is v), None)
        if number is None:
            return super().ended(t, q, v)
        if isinstance(at, _Measured):
            return at.of_step(number)
        whole = (
            np.stack(x) for x in zip(*((own.q, own.v, 0.0 * own.v) for own in states), strict=True)
        )
        still = self.model.displaced(times, *whole, near=at)
        found = _Measured(still.energies, still.momenta)
        self._block = states, times, found
        return found.of_step(number)

    def change_step(self, t: float, state: State, new: float) -> State:
        """The state as a step of length `new` expects it."""
        if self.alpha_m != self.alpha_f:
            return self._begun(t, new, state.q, state.v)
        still = state.carried[: -3 * len(state.q)]  # A = a, whatever the step
        points = middles(state.q, state.v, new)
        return State(state.q, state.v, np.concatenate([still, *points]))


@dataclass(frozen=True)
class _Measured:
    """Energies and momenta of states (P,)."""

    energies: Any
    momenta: Any

    def of_step(self, k: int) -> _Measured:
        parts = (self.energies, self.momenta)
        return _Measured(*(type(part)(*(x[k] for x in vars(part).values())) for part in parts))


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
