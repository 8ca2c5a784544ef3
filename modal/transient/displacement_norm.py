"""The norm of adaptive steps: a state (q, q̇) is measured by the displacement that follows from it.

    ‖(q, q̇)‖² = qᵀM q + (M q̇)ᵀ (K + M/T²)⁻¹ (M q̇)

In modal coordinates that is Σ a_j² + ȧ_j²/(ω_j² + 1/T²): the squared amplitudes of all modes, and
for a free mobility its drift over the time T of the run. The exact undamped motion conserves it, so
the total error of a run is at most the sum of the errors of its steps in this norm. A fast mode is
measured by its displacement, not by its velocity.

A mode that a step does not resolve is another matter: an A-stable method keeps its amplitude, and
gives it a wrong phase. Its error is at most twice its amplitude, whatever the number of steps, and
does not add up. `resolved` separates the two parts of an estimate, by a filter as stiff integrators
have it (L. F. Shampine and L. S. Baca, SIAM J. Numer. Anal. 21, 1984; Hairer and Wanner, Solving
Ordinary Differential Equations II, IV.8).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from assembly.linalg.factorization import Factorization, cholesky
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
        self._filters: dict[float, Factorization] = {}

    @cached_property
    def _first(self) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """M and the symmetric K of the first instant."""
        system = self.equations.system(self.span[0])
        return system.M, sp.csr_matrix(0.5 * (system.K + system.K.T))

    @property
    def _factor(self) -> Factorization:
        """Computed at the first use: fixed steps do not need it."""
        if self._made is None:
            M, K = self._first
            drift = M / (self.span[1] - self.span[0]) ** 2
            self._made = cholesky(K + drift) or Factorization(sp.csr_matrix(drift), "spd")
        return self._made

    def __call__(self, t: float, q: Array, v: Array) -> float:
        M = self.equations.at(t).M
        momentum = M @ v
        return float(np.sqrt(max(q @ (M @ q) + momentum @ self._factor.solve(momentum), 0.0)))

    def resolved(self, h: float, q: Array, v: Array) -> tuple[Array, Array]:
        """The part of a difference of states that steps of length h (s) resolve: every mode times
        1/(1 + (ωh)²/4), with the matrices of the first instant."""
        M, K = self._first
        factor = self._filters.get(h) or cholesky(sp.csr_matrix(M + (0.25 * h * h) * K))
        if factor is None:
            return q, v
        self._filters[h] = factor
        both = factor.solve(M @ np.column_stack([q, v]))
        return both[:, 0], both[:, 1]

    def destroy(self) -> None:
        """Release the factorizations."""
        if self._made is not None:
            self._made.destroy()
        for factor in self._filters.values():
            factor.destroy()


class PlainNorm:
    """|x| of x' = A(t) x."""

    def __call__(self, t: float, x: Array, rate: Array) -> float:
        return float(np.linalg.norm(x))

    def resolved(self, h: float, x: Array, rate: Array) -> tuple[Array, Array]:
        """All of it."""
        return x, rate

    def destroy(self) -> None:
        """Nothing to release."""
