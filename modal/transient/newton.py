"""What the nonlinear integrators share: states of the model, Newton's matrices, the energy
ledger."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from assembly.errors import ConvergenceError, SingularSystemError
from assembly.linalg.combination import Pattern
from assembly.linalg.factorization import Factorization
from modal.transient.integrators.stages import Force, Stages, State
from modal.transient.step_matrices import OnPattern, PatternFactor, SharedPattern
from modal.types import Array

WORKS = ("load_work", "drive_work", "damper_work")


@dataclass(frozen=True)
class Near:
    """What a neighbouring state of a mechanism starts from, stored: as of a `DeformedState`."""

    path: Array
    gradients: Array

    @classmethod
    def of(cls, memory: Mapping[str, Array]) -> Near | None:
        return cls(memory["near"], memory["near gradients"]) if "near" in memory else None

    @classmethod
    def last(cls, states: Any) -> Near | None:
        """That of the last one of several states; nothing of a body alone."""
        if getattr(states, "path", None) is None:
            return None
        return cls(states.path[:, -1], states.gradients[:, -1])


def middles(q: Array, v: Array, h: float, first: float = 0.5) -> list[Array]:
    """Points of three steps of length h before a start, the last `first` h before it, for
    `predicted`: of a motion without acceleration, which is that of modes that the step does not
    resolve."""
    return [q - (first + k) * h * v for k in range(3)]


def predicted(last: Array, before: Array, earlier: Array) -> Array:
    """The same point of the next step, on the parabola through those of three steps.

    Velocities are left out, and ends of steps: those of modes that the step does not resolve change
    their sign at every step.
    """
    return 3.0 * (last - before) + earlier


class StepMatrices:
    """M, C and K of several steps, or one for all of them, and Newton's matrices
    w₀ M + w₁ C + w₂ K, factorized.

    values (3, P, entries): on the pattern.
    """

    def __init__(self, pattern: SharedPattern, values: Array, weights: Array) -> None:
        self.pattern, self.values = pattern, values
        whole = np.tensordot(weights, values, 1)
        self._factors = [PatternFactor(OnPattern(pattern, own), dense=300) for own in whole]
        self.weights = weights

    @property
    def last(self) -> StepMatrices:
        """Those of the last step."""
        if len(self._factors) == 1:
            return self
        return StepMatrices(self.pattern, self.values[:, -1:], self.weights)

    def _number(self, step: int) -> int:
        return min(step, len(self._factors) - 1)

    def product(self, step: int, by_a: Array, by_v: Array, by_q: Array) -> Array:
        """M a + C v + K q (n,) of vectors (n,)."""
        own = OnPattern(self.pattern, self.values[:, self._number(step)])
        return np.asarray((own @ np.stack([by_a, by_v, by_q])).sum(axis=0))

    def solve(self, b: Array, step: int = 0) -> Array:
        """By Newton's matrix of a step."""
        return self._factors[self._number(step)].solve(b)

    @cached_property
    def mass(self) -> OnPattern:
        """M of the first step."""
        return OnPattern(self.pattern, self.values[0, 0])

    def destroy(self) -> None:
        for factor in self._factors:
            factor.destroy()


class Newton:
    """Newton's method in the steps of a model with `displaced`, and the energies of its states."""

    nothing = np.zeros(len(WORKS))  # work at the start, J
    together = 1  # steps that are solved as one
    ITERATIONS = 24
    TOLERANCE = 1e-10  # of the error that a step leaves, against the displacement
    TANGENT = 3  # iterations in whose time a new step matrix is formed and used
    POOR = 0.1  # rate at which a matrix of another step is too far off
    NEAR = 0.03  # largest correction, against the displacement, from which it converges surely
    TRUSTED = 0.01  # least rate of corrections: works of a step are those before the last one

    def __init__(self, model: Any, load: Force) -> None:
        self.model, self.load = model, load
        self.factor: StepMatrices | None = None
        self._near: Any = None
        self.rate = 0.0  # of the first two corrections of the last step
        self.afresh = False  # whether each step forms its own matrix
        self.taken = 0  # iterations of the last step
        self._made_for = 0.0  # step of the matrix
        self._pattern: SharedPattern | None = None
        self._ended: tuple[float, Array, Array, Any] | None = None

    def state(self, t: Any, q: Array, v: Array, a: Array) -> Any:
        """The model displaced at a time, or several, its joints closed from the last state."""
        self._near = self.model.displaced(t, q, v, a, near=self._near)
        return self._near

    def acceleration(self, t: float, h: float, q: Array, v: Array) -> Array:
        """The constant a of a step of h from t that R(q, v, a, t + ½h) = F, linear about q + ½hv
        and v, asks for.

        Of modes that the step does not resolve it is 4/h² of the displacement, not ω².
        """
        state = self.state(t + 0.5 * h, q + 0.5 * h * v, v, np.zeros_like(q))
        M, C, K = state.tangents()
        with Factorization(M + 0.5 * h * C + 0.25 * h * h * K, "general") as factor:
            return np.asarray(factor.solve(self.load(t + 0.5 * h) - state.residual))

    def ended(self, t: float, q: Array, v: Array) -> Any:
        """The state that a step ends with: for its energies and momenta."""
        kept = self._ended
        if kept is None or kept[1] is not q or kept[2] is not v:
            near = kept[3] if kept and kept[0] == t else self._near
            state = self.model.displaced(t, q, v, np.zeros_like(q), near=near)
            kept = self._ended = (t, q, v, state)
        return kept[3]

    def energy(self, t: float, q: Array, v: Array) -> float:
        """Kinetic energy and potentials, J."""
        return float(self.ended(t, q, v).energies.total)

    def work(self, t: float, h: float, stages: Stages) -> Array:
        """Of loads, drives and dampers over a step, (3,), J."""
        assert stages.work is not None
        return stages.work

    def details(self, t: float, q: Array, v: Array, work: Array) -> dict[str, Any]:
        """What is recorded besides the energy and its defect."""
        state = self.ended(t, q, v)
        at, momenta = state.energies, state.momenta
        return dict(
            kinetic_energy=at.kinetic,
            strain_energy=at.strain,
            gravity_energy=at.gravity,
            momentum=momenta.linear,
            angular_momentum=momenta.angular,
            **dict(zip(WORKS, work.tolist(), strict=True)),
        )

    def powers(self, at: Any, force: Array) -> Array:
        """Power (3, ...), W, of loads, drives and dampers in a state."""
        own = at.powers
        loads = own.loads + (at.power(force) if np.any(force) else 0.0)
        return np.stack(np.broadcast_arrays(loads, own.drives, own.dampers))

    def step(self, t: float, h: float, state: State) -> tuple[State, Stages]:
        """From t to t + h; ConvergenceError where Newton's method does not converge."""
        return self.steps(t, h, 1, state)[0]

    def steps(self, t: float, h: float, count: int, state: State) -> list[tuple[State, Stages]]:
        """Up to `count` steps of h from t, and at least one; half as many where the end of one of
        them is none of the model."""
        near = self._near
        try:
            return self._steps(t, h, count, state)
        except (ConvergenceError, SingularSystemError) as fault:
            self._near = near
            self.destroy()
            if count > 1:
                self.together = count // 2
                return self.steps(t, h, self.together, state)
            raise ConvergenceError(
                f"integrate: the step from t = {t:.6g} s fails ({fault}); take a shorter step than "
                f"{h:.3g} s",
                partial=state.q,
            ) from fault

    def size(self, change: Array, q: Array, moved: Array) -> Array:
        """Of changes (..., n) against TOLERANCE of the displacements and their change in a step."""
        sizes, *both = (np.linalg.norm(x, axis=-1) for x in (change, q, moved))
        scale = both[0] + both[1]
        scale = self.TOLERANCE * np.where(scale > 0.0, scale, sizes)
        return np.asarray(sizes / np.where(scale > 0.0, scale, 1.0))

    def corrected(
        self, x: Array, correction: Callable[[Array], tuple[Array, Any]], rounded: bool = False
    ) -> Array:
        """The root x of the equations of a step, by Newton's method; or of the first of several
        steps (m, steps, n), at most half as many each time where it leads away from that of all.

        correction: of x, with its size in units of what may be left, of each step. A correction θ
        times the one before leaves θ/(1 − θ) of its size. The matrix is formed again where the
        corrections at this rate, at first that of the last step, take longer than a new one; in all
        later steps where that of an earlier step is too far off. Where it leads away, from the
        start.

        rounded: whether corrections below the root of the tolerance that no longer fall end it:
        they are round-off, which stiff links enlarge.
        """
        start, last, kept, number, sizes = x, 0.0, True, 0, np.zeros(x.shape[1:-1])
        far, forms = self.NEAR / self.TOLERANCE, False
        while number < self.ITERATIONS:
            formed, forms = forms, self.factor is None
            try:
                change, found = correction(x)
                sizes, number = np.asarray(found), number + 1
                size = float(sizes.max())
                if not np.isfinite(size):
                    raise ConvergenceError("Newton's step is not finite")
            except (ConvergenceError, SingularSystemError):
                if sizes.size < 3:
                    raise
                change, size, number = 0.0 * x, np.inf, self.ITERATIONS
            if sizes.size > 2 and number * (4 if size > far else 1) >= self.ITERATIONS:
                # No step depends on later ones.
                close = np.append(sizes <= far, False).argmin()
                first = slice(max(2, min(int(close), sizes.size // 2)))
                start, x, sizes = start[:, first], (x + change)[:, first], sizes[first]
                last, number, self.afresh = float(sizes.max()), 0, True
                if not isinstance(self._near, Near | None):
                    self._near = self._near.at(first)
                continue
            ahead = min(size / last, 1.0) if last else self.rate
            if number == 2:
                self.rate = ahead
                self.afresh = self.afresh or (kept and ahead > self.POOR)
            # Near the solution only forces of rates that are left out make a new matrix poor.
            self.afresh = self.afresh or (formed and 0.0 < last <= far and size > self.POOR * last)
            kept = kept and not forms
            if kept and last and size > last:
                x, last = start, 0.0
                self.destroy()
                continue
            x, rate = x + change, max(ahead, self.TRUSTED) if last else 1.0
            stalls = rounded and 0.0 < last <= size <= self.TOLERANCE**-0.5
            if size <= 1.0 or size * rate <= 1.0 - rate or stalls:
                self.taken = number
                if self.afresh:
                    self.destroy()
                elif self.factor is not None:
                    self.factor = self.factor.last
                return x
            # A matrix formed after a correction has the square of its rate.
            if size * ahead ** (self.TANGENT * (2 if forms and last else 1)) > 1.0:
                self.destroy()
            last = size
        raise ConvergenceError("Newton's method does not converge")

    @abstractmethod
    def _steps(
        self, t: float, h: float, count: int, state: State
    ) -> list[tuple[State, Stages]]: ...

    @abstractmethod
    def weights(self, h: float) -> Array:
        """Of M, C and K in Newton's matrix, (3,), for steps of length h."""

    def derivatives(self, at: Any, at_rest: bool = False) -> Array:
        """M, C and K of a state or several, (3, P, entries)."""
        return np.stack(np.broadcast_arrays(*at.derivatives(at_rest=at_rest)))

    def factorize(self, at: Any, h: float) -> StepMatrices:
        """The matrices of Newton's method in a state or several, for steps of length h."""
        if self._pattern is None:
            self._pattern = SharedPattern(at.sparsity)
        found = self.derivatives(at)
        values = np.zeros((*found.shape[:2], len(self._pattern.rows)))
        values[..., self._pattern.places] = found
        self.factor, self._made_for = StepMatrices(self._pattern, values, self.weights(h)), h
        return self.factor

    def memory(self) -> dict[str, Array]:
        """What the next step takes from earlier ones besides the state, as arrays."""
        out = {"rates": np.array([self.rate, self.afresh]), "together": np.array(self.together)}
        if getattr(self._near, "path", None) is not None:
            out |= {"near": self._near.path, "near gradients": self._near.gradients}
        if self.factor is not None:
            pattern = self.factor.pattern
            out |= {"h": np.array(self._made_for), "matrices": self.factor.values}
            out |= {"columns": pattern.columns, "starts": pattern.starts}
        return out

    def recall(self, memory: Mapping[str, Array]) -> None:
        """Continue with what `memory` gave: the same matrices and the same guess, bit by bit."""
        self.rate, self.afresh = memory.get("rates", np.zeros(2)).tolist()
        self.together = int(memory.get("together", 1))
        self._near = Near.of(memory)
        if "matrices" in memory:
            columns, starts = (memory[name].astype(np.intp) for name in ("columns", "starts"))
            whole = Pattern(len(starts), columns, np.append(starts, len(columns)))
            self._pattern, self._made_for = SharedPattern(whole), float(memory["h"])
            weights = self.weights(self._made_for)
            self.factor = StepMatrices(self._pattern, memory["matrices"], weights)

    def renew_for(self, h: float) -> None:
        """Drop the matrix where it belongs to another step length."""
        if self._made_for != h:
            self.destroy()

    def destroy(self) -> None:
        """Release the factorization."""
        if self.factor is not None:
            self.factor.destroy()
        self.factor = None
