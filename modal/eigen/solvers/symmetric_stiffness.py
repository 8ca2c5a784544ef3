"""The one operator that the block method factorizes: a positive definite stiffness K_ref.

    K_ref = A + Z d Zᵀ

A is S = ½(K + Kᵀ) where that is positive semidefinite, else the elastic stiffness, without what
motion and loads add: two factorizations at most. Null fields V of A, mass-orthonormal, enter with
Z = MV: a few degrees of freedom of A are held by springs, which loads without resultant (VᵀF = 0)
leave at rest.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from assembly.errors import SingularSystemError
from assembly.linalg.factorization import Factorization
from assembly.system.null_chain import NullChain, pinned_dofs
from modal.eigen.quadratic import Quadratic
from modal.types import Array

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

    null (n, m): null fields of S; rigid (n, r): of the elastic stiffness. definite: A is S. Raises
    SingularSystemError when A has more null fields. Owns its factor: call `destroy()`.
    """

    name = "Cholesky"

    def __init__(self, quadratic: Quadratic, null: Array, rigid: Array) -> None:
        self.solves = 0
        S, elastic = quadratic.stiffness_parts[0], quadratic.elastic_stiffness
        for self.definite, self.matrix, fields in ((True, S, null), (False, elastic, rigid)):
            self.null = mass_orthonormal(quadratic, fields)
            try:
                self.factor = Factorization(self._held(), "spd")
                break
            except SingularSystemError:
                if not self.definite:
                    raise
        self.mass_null = quadratic.M @ self.null
        self.softening = None if self.definite else sp.csr_matrix(elastic - S)
        self.d = 0.0
        if self.null.shape[1]:
            try:
                self.d = self._frequency_squared(quadratic)
            except SingularSystemError:
                self.destroy()
                raise

    def _held(self) -> sp.csr_matrix:
        """A with springs at as many degrees of freedom as there are null fields."""
        if self.null.shape[1] == 0:
            return self.matrix
        springs, diagonal = np.zeros(len(self.null)), self.matrix.diagonal()
        pins = pinned_dofs(self.null)
        springs[pins] = np.where(diagonal[pins] > 0.0, diagonal[pins], np.abs(diagonal).max())
        return sp.csr_matrix(self.matrix + sp.diags(springs))

    def solve(self, load: Array) -> tuple[Array, Array]:
        """Shapes q with A q = load, but for what the null fields take, and K_ref q, (n, p)."""
        self.solves += load.shape[1]
        if self.null.shape[1]:
            load = load - self.mass_null @ (self.null.T @ load)
        q = self._elastic(np.asarray(self.factor.solve(load)))
        return q, load + self.held(q)

    def _elastic(self, q: Array) -> Array:
        return q - self.null @ (self.mass_null.T @ q) if self.null.shape[1] else q

    def apply(self, q: Array) -> Array:
        """K_ref q; A V, zero but for round-off, is left out of it."""
        return np.asarray(self.matrix @ self._elastic(q) + self.held(q))

    def held(self, q: Array) -> Array:
        """Z d Zᵀq."""
        return np.asarray(self.mass_null @ (self.d * (self.mass_null.T @ q)))

    def _frequency_squared(self, quadratic: Quadratic) -> float:
        """About the lowest elastic |λ|² of A and M alone, (rad/s)²."""
        x = np.random.default_rng(1).standard_normal((quadratic.n, 1))
        q, load = self.solve(quadratic.M @ x)
        energy, mass = float(np.vdot(q, load)), float(np.vdot(q, quadratic.M @ q))
        if not (np.isfinite(energy) and np.isfinite(mass) and mass > 0.0):
            raise SingularSystemError("the stiffness has more null fields than those known")
        return abs(energy) / mass or 1.0

    def destroy(self) -> None:
        self.factor.destroy()


def mass_orthonormal(quadratic: Quadratic, fields: Array) -> Array:
    """Combinations (n, m) of fields of unit mass, orthogonal in M."""
    gram = fields.T @ (quadratic.M @ fields)
    back = la.solve_triangular(la.cholesky(gram, lower=True), fields.T, lower=True)
    return np.ascontiguousarray(back.T)
