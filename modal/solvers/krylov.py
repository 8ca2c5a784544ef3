"""Modes of an instant from an invariant subspace of the inverse state operator.

A Krylov method on one vector sees a cluster one member at a time, so its result is verified: a
second run on the orthogonal complement of the invariant subspace found (whose compression has the
remaining eigenvalues, as in Schur locking) must find nothing inside the wanted radius, or what it
finds is added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from assembly.errors import ConvergenceError
from modal.solvers.operator import InverseOperator
from modal.solvers.pairs import Pairs
from modal.state import Complex, Real

TOLERANCE = 1e-13  # of |γ/λ|, in the residual of the inverse operator
PROBE_TOLERANCE = 1e-4  # of a run that only asks whether anything is left
ROUNDS = 20

Apply = Callable[[Real], Real]


@dataclass(frozen=True)
class Invariant:
    """A real orthonormal basis (N, m) of an invariant subspace; complete: all that was asked for
    converged."""

    basis: Real
    complete: bool


Engine = Callable[[Apply, Real, int, float], Invariant]


def solve_krylov(
    operator: InverseOperator, k: int, engine: Engine, method: str, seed: int = 0
) -> Pairs:
    """At least k modes (Im λ ≥ 0) of smallest |λ|, if there are so many, smallest first.

    Raises ConvergenceError, its `partial` the Pairs that converged.
    """
    left = 0 if operator.chain is None else operator.chain.count
    rank = operator.size - left
    found = engine(operator.apply, operator.start(seed), min(2 * k + 2, rank), TOLERANCE)
    basis = found.basis
    if not found.complete:
        partial = ritz(operator, basis, method) if basis.shape[1] else None
        count = 0 if partial is None else len(partial.eigenvalues)
        raise ConvergenceError(f"{method}: stopped with {count} of {k} modes converged", partial)
    for attempt in range(1, ROUNDS):
        pairs = ritz(operator, basis, method)
        room = rank - basis.shape[1]
        if room <= 0:
            break
        radius = np.abs(pairs.eigenvalues[:k]).max()
        locked = _Locked(operator, basis)
        start = locked.project(operator.start(seed + attempt))
        probe = engine(locked.apply, start, min(2, room), PROBE_TOLERANCE)
        if probe.basis.shape[1] and locked.smallest(probe.basis) > radius * (1.0 + 1e-3):
            break
        added = engine(locked.apply, start, min(4, room), TOLERANCE)
        if not added.basis.shape[1]:
            raise ConvergenceError(f"{method}: the check for missed modes did not converge", pairs)
        basis = orthonormal(np.hstack([basis, added.basis]))
        if locked.smallest(added.basis) > radius * (1.0 + 1e-9):
            break
    return ritz(operator, basis, method)


class _Locked:
    """The compression (I − ZZᵀ)S of the operator to the complement of an invariant subspace."""

    def __init__(self, operator: InverseOperator, Z: Real) -> None:
        self.operator, self.Z = operator, Z

    def project(self, x: Real) -> Real:
        x = x - self.Z @ (self.Z.T @ x)
        return np.asarray(x - self.Z @ (self.Z.T @ x))

    def apply(self, x: Real) -> Real:
        return self.project(self.operator.apply(x))

    def smallest(self, basis: Real) -> float:
        """The smallest |λ| on an invariant subspace of the compression."""
        inverse = la.eigvals(basis.T @ self.apply(basis))
        return float(self.operator.scale / np.abs(inverse).max())


def orthonormal(vectors: Real, tolerance: float = 1e-10) -> Real:
    """An orthonormal basis of the columns, those that depend on others left out."""
    norms = np.linalg.norm(vectors, axis=0)
    vectors = vectors[:, norms > 0.0] / norms[norms > 0.0]
    Q, R, _ = la.qr(vectors, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(R))
    return np.asarray(Q[:, sizes > tolerance * sizes.max(initial=0.0)])


def ritz(operator: InverseOperator, basis: Real, method: str) -> Pairs:
    """The eigenpairs (Im λ ≥ 0) of an invariant subspace of S, by Rayleigh–Ritz after one more
    application.

    A definite conservative operator is skew in the M* = diag(K, M) inner product: its small matrix
    is made exactly skew, and every eigenvalue is exactly imaginary (DESIGN.md, section 3).
    """
    load = operator.load(basis)
    W = operator.apply(basis)
    inverse, Y = skew_ritz(operator, W, load) if operator.definite else la.eig(basis.T @ W)
    keep = np.abs(inverse) > 1e-12 * np.abs(inverse).max(initial=0.0)
    inverse, Y = inverse[keep], Y[:, keep]
    eigenvalues = operator.scale / inverse
    n = operator.quadratic.n
    state = W @ Y
    halves = np.where(np.abs(inverse) > 1.0, state[:n], state[n:] * inverse)
    pairs = Pairs(eigenvalues, halves, operator.factorization, method, operator.solves)
    return pairs.upper().nearest(0.0)


def skew_ritz(operator: InverseOperator, W: Real, load: Real) -> tuple[Complex, Complex]:
    """Imaginary μ = γ/λ and coefficients on W = S Z, load = operator.load(Z), of a definite
    conservative operator.

    With states (q, v): ⟨p, z⟩ = p_qᵀKq + γ²p_vᵀMv and ⟨p, Sz⟩ = γ²(p_vᵀMq − p_qᵀMv) − γp_qᵀCq,
    which is skew.
    """
    quadratic, gamma, n = operator.quadratic, operator.scale, operator.quadratic.n
    q, v = W[:n], W[n:]
    # K q is −load by construction of S; the projector adds chain vectors, then the product is
    # formed.
    Kq = -load if operator.project is None else quadratic.K @ q
    Mv = quadratic.M @ v
    gram = q.T @ Kq + gamma**2 * (v.T @ Mv)
    cross = q.T @ Mv
    form = gamma**2 * (cross.T - cross) - gamma * (q.T @ (quadratic.C @ q))
    tau, Y = la.eigh(0.5j * (form - form.T), 0.5 * (gram + gram.T))
    inverse = -1j * tau
    return inverse, np.asarray(Y)
