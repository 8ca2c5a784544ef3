"""The one operator that the block method factorizes: a positive definite stiffness K_ref.

K_ref is S = ½(K + Kᵀ) where that is positive definite. Where it has null fields, mass is added. Where
it is not definite still (spin beyond a critical speed, a free body that spins), K_ref is the elastic
stiffness with mass: two factorizations at most. `added` is K_ref − S. It belongs to the projection and
to the residuals, not to the factorization.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.errors import ConvergenceError, SingularSystemError
from assembly.linalg.factorization import Factorization
from assembly.system.null_chain import NullChain
from modal.eigen.quadratic import Quadratic
from modal.types import Array

# Mass, of the mean of K_jj/M_jj: above the round-off of K, below the elastic frequencies squared.
SHIFT = 1e-9
HELD = 1e-11  # of ‖|S||V|‖: forces of S above it hold a motion


def has_symmetric_null_space(quadratic: Quadratic, chain: NullChain | None) -> bool:
    """Whether the null fields of a chain are those of S too, and so the left ones; or no chain."""
    if chain is None or quadratic.symmetric_stiffness:
        return True
    V, S = chain.null, quadratic.stiffness_parts[0]
    held = np.linalg.norm(S @ V) > HELD * np.linalg.norm(abs(S) @ np.abs(V))
    return not held


class SymmetricStiffness:
    """K_ref of an instant, with its one factorization. `solves` counts right-hand sides.

    null (n, m): null fields of S. matrix: K_ref; added: K_ref − S, or None where that is zero;
    definite: S is positive definite, but for its null fields. Raises ConvergenceError where no
    K_ref is positive definite. Owns its factor: call `destroy()`.
    """

    name = "Cholesky"

    def __init__(self, quadratic: Quadratic, null: Array | None = None) -> None:
        self.solves, n = 0, quadratic.n
        self.null = np.zeros((n, 0)) if null is None else null
        S, elastic = quadratic.stiffness_parts[0], quadratic.elastic_stiffness
        inertia = np.maximum(quadratic.M.diagonal(), np.finfo(float).tiny)
        mass = SHIFT * float(np.mean(np.abs(elastic.diagonal()) / inertia)) * quadratic.M
        self.factor: Factorization
        for self.definite, self.matrix in (
            (True, S if null is None else sp.csr_matrix(S + mass)),
            (False, sp.csr_matrix(elastic + mass)),
        ):
            try:
                self.factor = Factorization(self.matrix, "spd")
                break
            except SingularSystemError:
                if not self.definite:
                    raise ConvergenceError(
                        "the elastic stiffness is not positive semidefinite", None
                    ) from None
        self.added: Any = None if self.matrix is S else sp.csr_matrix(self.matrix - S)

    def solve(self, load: Array) -> Array:
        """K_ref⁻¹ load, (n, p)."""
        self.solves += load.shape[1]
        return np.asarray(self.factor.solve(load))

    def destroy(self) -> None:
        self.factor.destroy()
