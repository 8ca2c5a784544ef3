"""The one operator that the block method factorizes: a positive definite stiffness K_ref.

    K_ref = A + Z diag(d) Zᵀ

A is S = ½(K + Kᵀ), Z empty, where that is positive definite. Null fields V of S, mass-orthonormal,
enter with Z = MV: a few degrees of freedom of S are held by springs, which loads without resultant
(VᵀF = 0) leave at rest. Of a body that is free to move as a whole, S is next to singular at any
spin: where it is not positive A is the elastic stiffness, without what motion and loads add, and V
are its rigid fields. Where S has p negative eigenvalues otherwise, as above a speed of divergence,
let S be −diag(μ) on U (n, p): Z = SU with d = 2/μ. Then xᵀK_ref x = −xᵀSx > 0 in the span of U and
is xᵀSx on its S-orthogonal complement, where Sylvester's law of inertia leaves S nothing negative:
K_ref is positive definite however far U is from eigenvectors.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from assembly.errors import ConvergenceError, SingularSystemError
from assembly.linalg.factorization import Factorization
from assembly.linalg.symmetric import is_negative_on
from assembly.system.null_chain import ELASTIC_TOLERANCE, NullChain, pinned_dofs
from modal.eigen.prescribed import mass_orthonormal
from modal.eigen.quadratic import Quadratic
from modal.eigen.solvers.shift_invert import factorized
from modal.eigen.tolerances import BLOCK, HALF, ZERO
from modal.types import Array


def has_symmetric_null_space(quadratic: Quadratic, chain: NullChain | None) -> bool:
    """Whether the null fields of a chain are those of S too, and so the left ones; or no chain."""
    if chain is None or quadratic.symmetric_stiffness:
        return True
    S = quadratic.stiffness_parts[0]
    return S.nnz > 0 and _annihilates(S, chain.null)


def _annihilates(A: sp.csr_matrix, V: Array) -> bool:
    return bool(np.linalg.norm(A @ V) <= ELASTIC_TOLERANCE * np.linalg.norm(abs(A) @ np.abs(V)))


class SymmetricStiffness:
    """K_ref of an instant, with its one factorization. `solves` counts right-hand sides.

    null (n, m): null fields of S; rigid (n, r): of the elastic stiffness. `special` (n, ·): what a
    basis holds first where S is not positive definite; `softening`: S − A. Raises
    SingularSystemError when A has more null fields, ConvergenceError when S has too many negative
    eigenvalues. Owns its factor: call `destroy()`.
    """

    def __init__(self, quadratic: Quadratic, null: Array, rigid: Array) -> None:
        self.solves = 0
        S, elastic = quadratic.stiffness_parts[0], quadratic.elastic_stiffness
        choices = {"Cholesky": (S, null), "LDLᵀ": (S, null)}
        if rigid.shape[1] and _annihilates(elastic, rigid):
            choices = {"Cholesky": (S, null), "Cholesky of the elastic stiffness": (elastic, rigid)}
        dofs = quadratic.system.dofs
        if is_negative_on(S, rigid if dofs is None else dofs.rigid_motions().fields):
            del choices["Cholesky"]

        def factor(name: str) -> Factorization:
            self.matrix, fields = choices[name]
            self.null = mass_orthonormal(quadratic.M, fields)[0]
            if name == "LDLᵀ":
                return Factorization(self._held(), "symmetric", small=0)
            return Factorization(self._held(), "spd")

        self.factor, self.name = factorized(factor, list(choices))
        self.definite = self.name == "Cholesky"
        self.softening = None if self.matrix is S else sp.csr_matrix(S - elastic)
        self.mass_null, self.special = quadratic.M @ self.null, self.null
        self.Z, self.d = self.mass_null, np.zeros(self.null.shape[1])
        try:
            if self.null.shape[1]:
                self.d = np.full(len(self.d), self._frequency_squared(quadratic))
            if self.name == "LDLᵀ":
                self._reflect(quadratic, self.factor.negative_pivots)
        except (ConvergenceError, SingularSystemError):
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
        return q, load + self.added(q)

    def _elastic(self, q: Array) -> Array:
        return q - self.null @ (self.mass_null.T @ q) if self.null.shape[1] else q

    def apply(self, q: Array) -> Array:
        """K_ref q; A V, zero but for round-off, is left out of it."""
        return np.asarray(self.matrix @ self._elastic(q) + self.added(q))

    def added(self, q: Array) -> Array | float:
        """Z diag(d) Zᵀq."""
        if self.Z.shape[1] == 0:
            return 0.0
        return np.asarray(self.Z @ (self.d[:, None] * (self.Z.T @ q)))

    def added_energy(self, V: Array) -> Array:
        """VᵀZ diag(d) ZᵀV, (m, m)."""
        seen = self.Z.T @ V
        return np.asarray(seen.T @ (self.d[:, None] * seen))

    def _frequency_squared(self, quadratic: Quadratic) -> float:
        """About the lowest elastic |λ|² of A and M alone, (rad/s)²."""
        x = np.random.default_rng(1).standard_normal((quadratic.n, 1))
        q, load = self.solve(quadratic.M @ x)
        energy, mass = float(np.vdot(q, load)), float(np.vdot(q, quadratic.M @ q))
        if not (np.isfinite(energy) and np.isfinite(mass) and mass > 0.0):
            raise SingularSystemError("the stiffness has more null fields than those known")
        return abs(energy) / mass or 1.0

    def _reflect(self, quadratic: Quadratic, count: int, most: int = 24) -> None:
        """Find a subspace in which S has its `count` negative eigenvalues, and reflect it.

        Raises ConvergenceError where they are more than `most`.
        """
        if count > most:
            raise ConvergenceError(f"the stiffness has {count} negative eigenvalues", None)
        n, rng = quadratic.n, np.random.default_rng(3)
        Q, MQ, SQ = np.zeros((n, 0)), np.zeros((n, 0)), np.zeros((n, 0))
        load = quadratic.M @ rng.standard_normal((n, min(n, count + BLOCK)))
        for _ in range(BLOCK):
            q, load = self.solve(load)
            if not np.all(np.isfinite(q)):
                break
            Mq = quadratic.M @ q
            for _ in range(2):
                h = MQ.T @ q
                q, Mq, load = q - Q @ h, Mq - MQ @ h, load - SQ @ h
                sizes = np.sqrt(np.maximum(np.einsum("ij,ij->j", q, Mq), np.finfo(float).tiny))
                q, Mq, load = q / sizes, Mq / sizes, load / sizes
                theta, Y = la.eigh(q.T @ Mq)
                Y = Y[:, theta > HALF] / np.sqrt(theta[theta > HALF])
                q, Mq, load = q @ Y, Mq @ Y, load @ Y
            Q, MQ, SQ = np.hstack([Q, q]), np.hstack([MQ, Mq]), np.hstack([SQ, load])
            projected = Q.T @ SQ
            mu, Y = la.eigh(0.5 * (projected + projected.T))
            below = mu < -ZERO * np.abs(mu).max(initial=0.0)
            if below.sum() == count:
                self.special = Q @ Y[:, below]
                self.Z = np.hstack([self.Z, SQ @ Y[:, below]])
                self.d = np.concatenate([self.d, 2.0 / -mu[below]])
                return
            if below.sum() > count or q.shape[1] == 0:
                break
            load = Mq
        raise ConvergenceError("the negative eigenvalues of the stiffness were not found", None)

    def destroy(self) -> None:
        self.factor.destroy()
