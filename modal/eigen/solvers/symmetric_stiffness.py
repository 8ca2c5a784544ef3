"""The one operator that the block method factorizes: the symmetric part of K, made definite.

    K_ref = S + Z diag(d) Zᵀ,  S = ½(K + Kᵀ)

Z is empty where S is positive definite. Null fields V of S, mass-orthonormal, enter with Z = MV: a
few degrees of freedom of S are held by springs, which loads without resultant (VᵀF = 0) leave at
rest. Where S has p negative eigenvalues, as above a speed of divergence, let S be −diag(μ) on
U (n, p): Z = SU with d = 2/μ. Then xᵀK_ref x = −xᵀSx > 0 in the span of U and is xᵀSx on its
S-orthogonal complement, where Sylvester's law of inertia leaves S nothing negative: K_ref is
positive definite however far U is from eigenvectors.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from assembly.errors import ConvergenceError, SingularSystemError
from assembly.linalg.factorization import SMALL, Factorization
from assembly.system.null_chain import NullChain, pinned_dofs
from modal.eigen.quadratic import Quadratic
from modal.eigen.solvers.stiffness import factorized
from modal.types import Array

BLOCK = 8  # right-hand sides at a time of the search for U, beyond its number of columns
STEPS = 8  # of that search
MOST = 24  # negative eigenvalues, at most
HELD = 1e-11  # of ‖|S||V|‖: forces of S above it hold a motion
CLEAR = 1e-10  # of the largest: an eigenvalue of S on a subspace that round-off could make negative
REPEATED = 1e-8  # of a unit shape's mass: what is left below is no new direction


def has_symmetric_null_space(quadratic: Quadratic, chain: NullChain | None) -> bool:
    """Whether the null fields of a chain are those of S too, and so the left ones; or no chain."""
    if chain is None or quadratic.symmetric_stiffness:
        return True
    V, S = chain.null, quadratic.stiffness_parts[0]
    return bool(np.linalg.norm(S @ V) <= HELD * np.linalg.norm(abs(S) @ np.abs(V))) and S.nnz > 0


class SymmetricStiffness:
    """K_ref of an instant, with its one factorization. `solves` counts right-hand sides.

    null (n, m): null fields of the symmetric part. Raises SingularSystemError when it has more of
    them, ConvergenceError when it has too many negative eigenvalues. Owns its factor: call
    `destroy()`.
    """

    def __init__(self, quadratic: Quadratic, null: Array | None = None) -> None:
        self.solves, n = 0, quadratic.n
        self.matrix = quadratic.stiffness_parts[0]
        self.null = np.zeros((n, 0))
        if null is not None:
            gram = null.T @ (quadratic.M @ null)
            self.null = np.ascontiguousarray(
                la.solve_triangular(la.cholesky(gram, lower=True), null.T, lower=True).T
            )
        self.mass_null = quadratic.M @ self.null
        self.Z, self.d = self.mass_null, np.zeros(self.null.shape[1])
        self.negative = np.zeros((n, 0))
        held = self._held()
        # Small symmetric matrices too: what counts their negative eigenvalues is MUMPS.
        self.factor, structure = factorized(
            lambda kind: Factorization(held, kind, small=SMALL if kind == "spd" else 0),
            ("spd", "symmetric"),
        )
        self.name = "Cholesky" if structure == "spd" else "LDLᵀ"
        try:
            if self.null.shape[1]:
                self.d = np.full(len(self.d), self._frequency_squared(quadratic))
            if self.name == "LDLᵀ":
                self._reflect(quadratic, self.factor.negative_pivots)
        except (ConvergenceError, SingularSystemError):
            self.destroy()
            raise

    @property
    def definite(self) -> bool:
        """S is positive definite, but for its null fields."""
        return self.name == "Cholesky"

    def _held(self) -> sp.csr_matrix:
        """S with springs at as many degrees of freedom as there are null fields."""
        if self.null.shape[1] == 0:
            return self.matrix
        springs, diagonal = np.zeros(len(self.null)), self.matrix.diagonal()
        pins = pinned_dofs(self.null)
        springs[pins] = np.where(diagonal[pins] > 0.0, diagonal[pins], np.abs(diagonal).max())
        return sp.csr_matrix(self.matrix + sp.diags(springs))

    def solve(self, load: Array) -> tuple[Array, Array]:
        """Shapes q with S q = load, but for what the null fields take, and K_ref q, (n, p)."""
        self.solves += load.shape[1]
        if self.null.shape[1]:
            load = load - self.mass_null @ (self.null.T @ load)
        q = self._elastic(np.asarray(self.factor.solve(load)))
        return q, self._with_added(load, q)

    def _elastic(self, q: Array) -> Array:
        return q - self.null @ (self.mass_null.T @ q) if self.null.shape[1] else q

    def apply(self, q: Array) -> Array:
        """K_ref q; S V, zero but for round-off, is left out of it."""
        return self._with_added(self.matrix @ self._elastic(q), q)

    def _with_added(self, image: Array, q: Array) -> Array:
        """K_ref q from S q."""
        if self.Z.shape[1] == 0:
            return image
        return np.asarray(image + self.Z @ (self.d[:, None] * (self.Z.T @ q)))

    def without_added(self, image: Array, q: Array) -> Array:
        """S q from K_ref q."""
        if self.Z.shape[1] == 0:
            return image
        return np.asarray(image - self.Z @ (self.d[:, None] * (self.Z.T @ q)))

    def added_energy(self, V: Array) -> Array:
        """VᵀZ diag(d) ZᵀV, (m, m)."""
        seen = self.Z.T @ V
        return np.asarray(seen.T @ (self.d[:, None] * seen))

    def _frequency_squared(self, quadratic: Quadratic) -> float:
        """About the lowest elastic |λ|² of S and M alone, (rad/s)²."""
        x = np.random.default_rng(1).standard_normal((quadratic.n, 1))
        q, load = self.solve(quadratic.M @ x)
        energy, mass = float(np.vdot(q, load)), float(np.vdot(q, quadratic.M @ q))
        if not (np.isfinite(energy) and np.isfinite(mass) and mass > 0.0):
            raise SingularSystemError("the stiffness has more null fields than those known")
        return abs(energy) / mass or 1.0

    def _reflect(self, quadratic: Quadratic, count: int) -> None:
        """Find a subspace in which S has its `count` negative eigenvalues, and reflect it."""
        if count > MOST:
            raise ConvergenceError(f"the stiffness has {count} negative eigenvalues", None)
        n, rng = quadratic.n, np.random.default_rng(3)
        Q, MQ, SQ = np.zeros((n, 0)), np.zeros((n, 0)), np.zeros((n, 0))
        load = quadratic.M @ rng.standard_normal((n, min(n, count + BLOCK)))
        for _ in range(STEPS):
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
                Y = Y[:, theta > REPEATED] / np.sqrt(theta[theta > REPEATED])
                q, Mq, load = q @ Y, Mq @ Y, load @ Y
            Q, MQ, SQ = np.hstack([Q, q]), np.hstack([MQ, Mq]), np.hstack([SQ, load])
            projected = Q.T @ SQ
            mu, Y = la.eigh(0.5 * (projected + projected.T))
            below = mu < -CLEAR * np.abs(mu).max(initial=0.0)
            if below.sum() == count:
                self.negative = Q @ Y[:, below]
                self.Z = np.hstack([self.Z, SQ @ Y[:, below]])
                self.d = np.concatenate([self.d, 2.0 / -mu[below]])
                return
            if below.sum() > count or q.shape[1] == 0:
                break
            load = Mq
        raise ConvergenceError("the negative eigenvalues of the stiffness were not found", None)

    def destroy(self) -> None:
        self.factor.destroy()
