"""What the nonlinear integrators share: states of the model, Newton's matrix, the energy ledger."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.errors import ConvergenceError
from assembly.linalg.factorization import Factorization
from modal.transient.integrators.solver import Factor, factorized
from modal.transient.integrators.stages import Stages, State
from modal.types import Array

Force = Callable[[float], Array]


@dataclass(frozen=True)
class _Near:
    """A stored guess for the displacements of all DOFs, the first row of a state's `path`."""

    path: Array

    @classmethod
    def of(cls, memory: Mapping[str, Array], name: str) -> _Near | None:
        return cls(memory[name][None]) if name in memory else None


def _guess(name: str, near: Any) -> dict[str, Array]:
    """The displacements that a state gives as a guess; none of a body alone."""
    path = getattr(near, "path", None)
    return {} if path is None else {name: path[0]}


class Newton:
    """Newton's method in the steps of a model with `displaced`."""

    ITERATIONS = 12
    TOLERANCE = 1e-10  # of a Newton step, against the displacement of a step
    SLOW = 0.2  # ratio of two Newton steps from which the step matrix is formed again

    def __init__(self, model: Any, load: Force) -> None:
        self.model, self.load = model, load
        self.factor: Factor | None = None
        self._near: Any = None
        self._arguments: tuple[Any, ...] = ()  # of the last state: t, q, v, a and its guess
        self._made_for = 0.0  # step of the matrix
        self._made_at: tuple[Any, ...] = ()  # and its state
        self._ended: tuple[Array, Array, Any] | None = None

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
        if kept is None or kept[0] is not q or kept[1] is not v:
            state = self.model.displaced(t, q, v, np.zeros_like(q), near=self._near)
            kept = self._ended = (q, v, state)
        return kept[2]

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
        except ConvergenceError as fault:
            self._near = near
            self.destroy()
            raise ConvergenceError(
                f"integrate: the step from t = {t:.6g} s fails ({fault}); take a shorter step than "
                f"{h:.3g} s",
                partial=state.q,
            ) from fault

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
        if self.factor is not None:
            *at, guess = self._made_at
            out |= _guess("guess", guess) | {
                name: np.asarray(value)
                for name, value in zip("htqva", (self._made_for, *at), strict=True)
            }
        return out

    def recall(self, memory: Mapping[str, Array]) -> None:
        """Continue with what `memory` gave: the same matrix and the same guess, bit by bit."""
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
