"""What every backend hands back, and the choice of one of each conjugate pair."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from modal.state import Complex

TIE = 1e-9  # relative difference of distances that does not order a pair λ, −λ̄


@dataclass(frozen=True)
class Pairs:
    """Eigenpairs of one instant as a backend found them: all it has, best first.

    eigenvalues (k,) rad/s; right (n, k) displacement parts; factorization: the factor used
    ("Cholesky", "LDLᵀ", "LU", "none"); method: the algorithm; solves: systems with the stiffness
    solved.
    """

    eigenvalues: Complex
    right: Complex
    factorization: str
    method: str
    solves: int = 0

    def take(self, index: np.ndarray) -> Pairs:
        return replace(self, eigenvalues=self.eigenvalues[index], right=self.right[:, index])

    def upper(self) -> Pairs:
        """One of each conjugate pair, Im λ ≥ 0; real eigenvalues each once."""
        return self.take(np.flatnonzero(self.eigenvalues.imag >= 0.0))

    def nearest(self, target: complex) -> Pairs:
        """Sorted by distance to the target; distances equal to 1e-9 by Re λ, then Im λ."""
        distance = np.abs(self.eigenvalues - target)
        order = np.argsort(distance, kind="stable")
        steps = np.diff(distance[order]) > TIE * distance[order][1:]
        level = np.empty(len(order), dtype=int)
        level[order] = np.concatenate([[0], np.cumsum(steps)])[: len(order)]
        return self.take(np.lexsort((self.eigenvalues.imag, self.eigenvalues.real, level)))
