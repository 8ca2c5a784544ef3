"""What the nonlinear integrators share: states of the model, Newton's matrix, the energy ledger."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.errors import ConvergenceError
from assembly.linalg.factorization import Factorization
from modal.transient.integrators.solver import Factor, factorized
from modal.transient.integrators.stages import Stages, State
from modal.types import Array

Force = Callable[[float], Array]


class Newton:
    """Newton's method in the steps of a model with `displaced`."""

    ITERATIONS = 12
    TOLERANCE = 1e-10  # of a Newton step, against the displacement of a step
    SLOW = 0.2  # ratio of two Newton steps from which the step matrix is formed again

    def __init__(self, model: Any, load: Force) -> None:
        self.model, self.load = model, load
        self.factor: Factor | None = None
        self._near: Any = None
        self._made_for = 0.0
        self._ended: tuple[Array, Array, Any] | None = None

    def state(self, t: float, q: Array, v: Array, a: Array) -> Any:
        """The model displaced, its joints closed from the last state."""
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

    def factorize(self, matrix: sp.csr_matrix, h: float) -> None:
        """Take the matrix of Newton's method for steps of length h."""
        self.factor, self._made_for = factorized(matrix), h

    def renew_for(self, h: float) -> None:
        """Drop the matrix where it belongs to another step length."""
        if self._made_for != h:
            self.destroy()

    def destroy(self) -> None:
        """Release the factorization."""
        if self.factor is not None:
            self.factor.destroy()
        self.factor = None
