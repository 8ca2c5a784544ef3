"""The norm of adaptive steps: a state (q, q̇) is measured by the displacement that follows from it.

    ‖(q, q̇)‖² = qᵀM q + (M q̇)ᵀ (K + M/T²)⁻¹ (M q̇)

In modal coordinates that is Σ a_j² + ȧ_j²/(ω_j² + 1/T²): the squared amplitudes of all modes, and
for a free mobility its drift over the time T of the run. The exact undamped motion conserves it, so
the total error of a run is at most the sum of the errors of its steps in this norm. A fast mode is
measured by its displacement, not by its velocity.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from assembly.errors import SingularSystemError
from assembly.linalg.factorization import Factorization
from modal.transient.equations import SecondOrderModel
from modal.types import Array


class DisplacementNorm:
    """The norm of a model over a span of time, s: M of each instant, K + M/T² of the first.

    Where K is not positive semidefinite, M/T² replaces K + M/T². Owns a factorization: call
    `destroy()`.
    """

    def __init__(self, equations: SecondOrderModel, span: tuple[float, float]) -> None:
        self.equations, self.span = equations, span
        self._made: Factorization | None = None

    @property
    def _factor(self) -> Factorization:
        """Computed at the first use: fixed steps do not need it."""
        if self._made is None:
            system = self.equations.at(self.span[0]).system
            drift = system.M / (self.span[1] - self.span[0]) ** 2
            K = system.K
            try:
                self._made = Factorization(sp.csr_matrix(0.5 * (K + K.T) + drift), "spd")
            except SingularSystemError:
                self._made = Factorization(sp.csr_matrix(drift), "spd")
        return self._made

    def __call__(self, t: float, q: Array, v: Array) -> float:
        M = self.equations.at(t).M
        momentum = M @ v
        return float(np.sqrt(max(q @ (M @ q) + momentum @ self._factor.solve(momentum), 0.0)))

    def destroy(self) -> None:
        """Release the factorization."""
        if self._made is not None:
            self._made.destroy()


class PlainNorm:
    """|x| of x' = A(t) x."""

    def __call__(self, t: float, x: Array, rate: Array) -> float:
        return float(np.linalg.norm(x))

    def destroy(self) -> None:
        """Nothing to release."""
