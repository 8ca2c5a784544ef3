"""Time integration at finite elastic displacements, with Newton's method.

The equations R(q, q̇, q̈, t) = F(t) are those of `model.displaced`. A step of generalised-α solves

    R(q̄, v̄, ā, t*) = F(t*),   t* = t + (1 − α_f) h,

with q̄, v̄, ā and the ends of the step as in `integrators/generalized_alpha.py`; with `rho_infinity`
1 it is the midpoint rule, in which the accelerations that are carried cancel. The equations are not
written at the ends of steps, where modes that a step does not resolve change their sign: with ρ = 1
that is the trapezoidal rule, whose states are the middles of steps of the midpoint rule from
(q, v) − ½h (v, a). There these modes have up to (ωh/2)² times the energy of the start, and only
linear equations cancel that. In q̄ the modes themselves cancel. (Erlicher, Bonaventura & Bursi,
Comput. Mech. 28, 2002, 83, compare both forms.) The work of a step is h times the power at
its middle, on the line through t* of this step and the last.

Newton's method solves several steps as one (`_steps`): the states at all t* are evaluated together,
in arrays with an axis of steps, and the equations linear about these are solved from step to step,
M δā + C δv̄ + K δq̄ = F − R with the formulas of the method, which are linear. That is Newton's
method for the equations of all steps; it converges quadratically, and an evaluation of twenty small
states takes hardly longer than one of a single state. It begins on the line through the last two
q̄. M, C and K are those of five of the steps, and polynomials in time between these; at first they
are those of the displacements at rest in the frames. They are kept, from the last step, while the
method converges well with them. No step depends on later ones: where the method leads away from the
solution of all, it goes on with the first ones.
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


class NonlinearAlpha(AlphaParameters, Newton):
    """`State.carried`: a, the powers (3,) of loads, drives and dampers at the last t*, or at the
    middle of the first step, the time from there, the last three q̄.

    rho_infinity: spectral radius at infinite frequency, 0 to 1; 1 damps nothing.
    """

    order = 2
    NUMBERS = 6000  # displacements of the steps that are solved as one
    MOST = 20  # such steps
    NODES = 5  # of them have matrices of their own
    FEW, MANY = 5, 8  # iterations up to which more steps are solved as one, and above which fewer

    def __init__(self, model: Any, load: Force, rho_infinity: float = 1.0) -> None:
        Newton.__init__(self, model, load)
        AlphaParameters.__init__(self, rho_infinity)
        self._block: tuple[list[State], Any] = ([], None)

    def start(self, t: float, h: float, q: Array, v: Array) -> State:
        """The state at t, with the accelerations where the method expects them."""
        self.together = self._most(len(q))
        return self._begun(t, h, q, v)

    def _begun(self, t: float, h: float, q: Array, v: Array) -> State:
        a, powers, reach, half = np.zeros_like(q), np.zeros(3), 0.0, 0.5 * h
        if self.alpha_m != self.alpha_f:
            a = self.acceleration(t, h, q, v)
            middle = self.state(t + half, q + half * (v + 0.5 * half * a), v + half * a, a)
            powers, reach = self.powers(middle, self.load(t + half)), -half
        earlier = middles(q, v, h, self.alpha_f)
        return State(q, v, np.concatenate([a, powers, [reach], *earlier]))

    def _most(self, n: int) -> int:
        return min(self.MOST, max(1, self.NUMBERS // max(n, 1)))

    def _steps(self, t: float, h: float, count: int, state: State) -> list[tuple[State, Stages]]:
        q, v, n = state.q, state.v, len(state.q)
        a, powers, reach, carried = np.split(state.carried, (n, n + 3, n + 4))
        *earlier, last = carried.reshape(3, n)[::-1]
        start, times = np.stack([q, v, a]), t + h * (1.0 - self.alpha_f + np.arange(count))
        force = np.array([self.load(s) for s in times.tolist()])
        at, ends = None, np.empty((3, count, n))

        def correction(points: Array) -> tuple[Array, Array]:
            nonlocal at, ends
            own = slice(points.shape[1])
            at = self.state(times[own], *points)
            matrices = self.factor or self.factorize(at, h)
            new, ends = self._path(h, start, points, force[own] - at.residual, matrices)
            return new - points, self.size(new[0] - points[0], new[0], h * new[1])

        self.renew_for(h)
        points = np.zeros_like(ends)
        if count == 1:
            begun, by_a = self.known(h, start)[1], (1.0 - self.shares) * self.rates(h)
            ahead = predicted(last, *earlier[::-1]) - begun[0]
            points[:, 0] = begun + by_a / by_a[0] * ahead
        else:
            moved = last - earlier[1]
            points[0], points[1] = last + np.arange(1, count + 1)[:, None] * moved, moved / h
        points = self.corrected(points, correction, rounded=True)
        if points.shape[1] < count:
            self.together = count = points.shape[1]
        elif self.taken > self.MANY:
            self.together = max(1, count // 2)
        elif self.taken <= self.FEW:
            self.together = max(self.together, min(2 * count, self._most(n)))
        assert at is not None
        found, own, times = [], [*earlier, last], t + h * np.arange(1, count + 1)
        # Their energies are wanted, and a step is refused whose end is none of the model.
        whole = self.model.displaced(times, ends[0], ends[1], 0.0 * ends[2], near=at)
        self._near = Near.last(whole)
        distance, away = (1.0 - self.alpha_f) * h + reach[0], (0.5 - self.alpha_f) * h
        for k, now in enumerate(self.powers(at, force).T):
            own.append(points[0, k])
            work = h * (now - away / distance * (now - powers))
            powers, distance = now, h
            carried = np.concatenate([ends[2, k], now, [self.alpha_f * h], *own[:-4:-1]])
            node = np.array([1.0 - self.alpha_f])
            stages = Stages(node, np.ones(1), points[0, k, None], points[1, k, None], work)
            found.append((State(ends[0, k], ends[1, k], carried), stages))
        self._block = [ended for ended, _ in found], whole
        return found

    def _path(
        self, h: float, start: Array, points: Array, unbalanced: Array, matrices: StepMatrices
    ) -> tuple[Array, Array]:
        """q̄, v̄ and ā (3, P, n) of P steps from `start` (3, n), and q, v and a at their ends, by the
        equations linear about `points` (3, P, n), where F − R is `unbalanced` (P, n)."""
        new, ends = np.empty_like(points), np.empty_like(points)
        rates = self.rates(h)
        for k in range(len(unbalanced)):
            end, known = self.known(h, start)
            a = matrices.solve(
                unbalanced[k] + matrices.product(k, *(points[:, k] - known)[::-1]), k
            )
            start = ends[:, k] = end + rates * a
            new[:, k] = known + (1.0 - self.shares) * rates * a
        return new, ends

    def derivatives(self, at: Any, at_rest: bool = False) -> Array:
        """Those of some of the steps, and polynomials in time through these; of several steps in
        mild motion without the forces of relative rates, in half of the time."""
        count = len(at.q)
        at_rest = at_rest or (count > 2 and not self.afresh)
        if at_rest:
            np.asarray(at.residual)  # its forces are those of the nodes too
        places = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, self.NODES))
        nodes = np.unique(((count - 1) * places).round().astype(int))
        found = super().derivatives(at if len(nodes) == count else at.at(nodes), at_rest)
        powers = np.vander(np.linspace(-1.0, 1.0, count), len(nodes))
        return np.asarray(np.einsum("kp,mpe->mke", powers @ np.linalg.inv(powers[nodes]), found))

    def ended(self, t: float, q: Array, v: Array) -> Any:
        """The state at the end of a step, its energies and momenta those of all steps that have
        been solved with it."""
        states, whole = self._block
        number = next((k for k, own in enumerate(states) if own.q is q and own.v is v), None)
        if number is None:
            return super().ended(t, q, v)
        if not isinstance(whole, _Measured):
            whole = _Measured(whole.energies, whole.momenta)
            self._block = states, whole
        return whole.of_step(number)

    def change_step(self, t: float, state: State, new: float) -> State:
        """The state as a step of length `new` expects it."""
        return self._begun(t, new, state.q, state.v)


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
