"""What the nonlinear integrators share: states of the model, Newton's matrix, the energy ledger."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.errors import ConvergenceError, SingularSystemError
from assembly.linalg.factorization import Factorization
from modal.transient.integrators.stages import Force, Stages, State
from modal.transient.step_matrices import Factor, factorized
from modal.types import Array

WORKS = ("load_work", "drive_work", "damper_work")


@dataclass(frozen=True)
class _Near:
    """What a neighbouring state of a mechanism starts from, stored: as of a `DeformedState`."""

    path: Array
    gradients: Array

    @classmethod
    def of(cls, memory: Mapping[str, Array], name: str) -> _Near | None:
        return cls(memory[name], memory[f"{name} gradients"]) if name in memory else None


def _guess(name: str, near: Any) -> dict[str, Array]:
    """What `_Near` takes, of a state; nothing of a body alone."""
    if getattr(near, "path", None) is None:
        return {}
    return {name: near.path, f"{name} gradients": near.gradients}


def middles(q: Array, v: Array, h: float) -> list[Array]:
    """Those of steps of length h before a start, for `predicted`: of a motion without acceleration,
    which is that of modes that the step does not resolve."""
    return [q - s * h * v for s in (0.5, 1.5, 2.5)]


def predicted(last: Array, before: Array, earlier: Array) -> Array:
    """The middle of the next step, on the parabola through those of three steps.

    Velocities are left out, and ends of steps: those of modes that the step does not resolve change
    their sign at every step.
    """
    return 3.0 * (last - before) + earlier


class Newton:
    """Newton's method in the steps of a model with `displaced`, and the energies of its states."""

    nothing = np.zeros(len(WORKS))  # work at the start, J
    ITERATIONS = 24
    TOLERANCE = 1e-10  # of the error that a step leaves, against the displacement
    TANGENT = 3  # iterations in whose time a new step matrix is formed and used
    POOR = 0.1  # rate at which a matrix of another step is too far off
    TRUSTED = 0.01  # least rate of corrections: works of a step are those before the last one

    def __init__(self, model: Any, load: Force) -> None:
        self.model, self.load = model, load
        self.factor: Factor | None = None
        self._near: Any = None
        self.rate = 0.0  # of the first two corrections of the last step
        self.afresh = False  # whether each step forms its own matrix
        self._arguments: tuple[Any, ...] = ()  # of the last state: t, q, v, a and its guess
        self._made_for = 0.0  # step of the matrix
        self._made_at: tuple[Any, ...] = ()  # and its state
        self._ended: tuple[float, Array, Array, Any] | None = None

    def state(self, t: float, q: Array, v: Array, a: Array) -> Any:
        """The model displaced, its joints closed from the last state."""
        self._arguments = (t, q, v, a, self._near)
        self._near = self.model.displaced(t, q, v, a, near=self._near)
        return self._near

    def acceleration(self, t: float, q: Array, v: Array) -> Array:
        """a of R(q, v, a, t) = F(t), in which a is linear."""
        state = self.state(t, q, v, np.zeros_like(q))
        with Factorization(state.tangents()[0], "general") as factor:
            return np.asarray(factor.solve(self.load(t) - state.residual))

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
        """Power (3,), W, of loads, drives and dampers in a state."""
        own = at.powers
        loads = own.loads + (at.power(force) if np.any(force) else 0.0)
        return np.array([loads, own.drives, own.dampers])

    def step(self, t: float, h: float, state: State) -> tuple[State, Stages]:
        """From t to t + h; ConvergenceError where Newton's method does not converge."""
        near = self._near
        try:
            return self._step(t, h, state)
        except (ConvergenceError, SingularSystemError) as fault:
            self._near = near
            self.destroy()
            raise ConvergenceError(
                f"integrate: the step from t = {t:.6g} s fails ({fault}); take a shorter step than "
                f"{h:.3g} s",
                partial=state.q,
            ) from fault

    def size(self, change: Array, q: Array, moved: Array) -> float:
        """Of a change against TOLERANCE of the displacements and their change in a step."""
        size, scale = float(np.linalg.norm(change)), np.linalg.norm(q) + np.linalg.norm(moved)
        return size / (self.TOLERANCE * float(scale or size)) if size else 0.0

    def corrected(self, x: Array, correction: Callable[[Array], tuple[Array, float]]) -> Array:
        """The root x of the equations of a step, by Newton's method.

        correction: of x, with its size in units of what may be left. A correction θ times the one
        before leaves θ/(1 − θ) of its size. The matrix is formed again where the corrections at
        this rate, at first that of the last step, take longer than a new one; in all later steps
        where that of an earlier step is too far off. Where it leads away, from the start.
        """
        start, last, kept = x, 0.0, True
        for number in range(self.ITERATIONS):
            forms = self.factor is None
            change, size = correction(x)
            if not np.isfinite(size):
                break
            ahead = min(size / last, 1.0) if last else self.rate
            if number == 1:
                self.rate = ahead
                self.afresh = self.afresh or (kept and ahead > self.POOR)
            kept = kept and not forms
            if kept and last and size > last:
                x, last = start, 0.0
                self.destroy()
                continue
            x, rate = x + change, max(ahead, self.TRUSTED) if last else 1.0
            if size <= 1.0 or size * rate <= 1.0 - rate:
                if self.afresh:
                    self.destroy()
                return x
            # A matrix formed after a correction has the square of its rate.
            if size * ahead ** (self.TANGENT * (2 if forms and last else 1)) > 1.0:
                self.destroy()
            last = size
        raise ConvergenceError("Newton's method does not converge")

    @abstractmethod
    def _step(self, t: float, h: float, state: State) -> tuple[State, Stages]: ...

    @abstractmethod
    def matrix(self, at: Any, h: float) -> sp.csr_matrix:
        """The matrix of Newton's method in a state, for steps of length h."""

    def factorize(self, at: Any, h: float) -> Factor:
        """The factors of the matrix of Newton's method, of the last state, for steps of length
        h."""
        self.factor = factorized(self.matrix(at, h))
        self._made_for, self._made_at = h, self._arguments
        return self.factor

    def memory(self) -> dict[str, Array]:
        """What the next step takes from earlier ones besides the state, as arrays."""
        out = _guess("near", self._near)
        out["rates"] = np.array([self.rate, self.afresh])
        if self.factor is not None:
            *at, guess = self._made_at
            out |= _guess("guess", guess) | {
                name: np.asarray(value)
                for name, value in zip("htqva", (self._made_for, *at), strict=True)
            }
        return out

    def recall(self, memory: Mapping[str, Array]) -> None:
        """Continue with what `memory` gave: the same matrix and the same guess, bit by bit."""
        self.rate, self.afresh = memory.get("rates", np.zeros(2)).tolist()
        if "h" in memory:
            self._near = _Near.of(memory, "guess")
            at = self.state(float(memory["t"]), memory["q"], memory["v"], memory["a"])
            self.factorize(at, float(memory["h"]))
        self._near = _Near.of(memory, "near")

    def renew_for(self, h: float) -> None:
        """Drop the matrix where it belongs to another step length."""
        if self._made_for != h:
            self.destroy()

    def destroy(self) -> None:
        """Release the factorization."""
        if self.factor is not None:
            self.factor.destroy()
        self.factor = None
