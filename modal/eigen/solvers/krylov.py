"""Modes of an instant nearest a point, from an invariant subspace of the shift-and-invert operator.

A Krylov method on one vector sees a cluster one member at a time, so its result is verified: a
second run on the orthogonal complement of the invariant subspace found (whose compression has the
remaining eigenvalues, as in Schur locking) must find nothing inside the wanted radius, or what it
finds is added.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from assembly.errors import ConvergenceError
from assembly.types import AnyArray
from modal.eigen.solvers.engines import Engine, orthonormal
from modal.eigen.solvers.shift_invert import ShiftInvert
from modal.eigen.spectrum import Pairs, separated
from modal.eigen.tolerances import COARSE, HALF, ZERO
from modal.types import Array, Complex


def nearest_modes(
    operator: ShiftInvert, k: int, target: complex, engine: Engine, method: str, seed: int = 0
) -> Pairs:
    """At least the k modes nearest a target (Im λ ≥ 0), nearest first, if there are so many.

    The point τ of the operator may lie beside the target, which may be an eigenvalue. Raises
    ConvergenceError as `solve_krylov`.
    """
    aside = abs(operator.tau - target)
    asked = k + 2 if aside else k
    while True:
        found = solve_krylov(operator, asked, engine, method, seed)
        near = found.nearest(target)
        farthest = np.abs(near.eigenvalues[:k] - target).max()
        # Those not found are no nearer to τ than the last of those asked for.
        last = np.abs(found.eigenvalues[:asked] - operator.tau).max()
        if not aside or farthest <= last - aside or asked >= operator.rank:
            return near
        asked = min(2 * asked, operator.rank)


def solve_krylov(
    operator: ShiftInvert,
    k: int,
    engine: Engine,
    method: str,
    seed: int = 0,
    complete: bool = True,
    tolerance: float = 1e-13,
) -> Pairs:
    """At least k modes (Im λ ≥ 0) nearest τ, if there are so many, nearest first.

    complete: verify them, and raise ConvergenceError, its `partial` the Pairs that converged, where
    the method stops short; otherwise what converges is returned as it is. tolerance: of
    |γ/(λ − τ)|, in the residual of the operator.
    """
    rank, conjugates = operator.rank, 1 if operator.tau.imag else 2
    count = min(conjugates * k + 2, rank)
    found = engine(operator.apply, operator.start(seed), count, tolerance)
    basis = found.basis
    if not (complete and found.complete):
        partial = pairs_of(operator, basis, method)
        if not complete:
            return partial
        count = len(partial.eigenvalues)
        raise ConvergenceError(f"{method}: stopped with {count} of {k} modes converged", partial)
    for attempt in range(1, rank):
        pairs = pairs_of(operator, basis, method)
        room = rank - basis.shape[1]
        if room <= 0:
            break
        least = (operator.scale / np.abs(pairs.eigenvalues[:k] - operator.tau)).min()
        enough = len(pairs.eigenvalues) >= k  # an engine may leave the last two of all to the check
        locked = _Locked(operator, basis)
        start = locked.project(operator.start(seed + attempt))
        if enough:
            probe = engine(locked.apply, start, min(2, room), COARSE)
            if probe.basis.shape[1] and locked.largest(probe.basis) < least * (1.0 - 1e-3):
                break
        more = max(4, 2 * (k - len(pairs.eigenvalues)))
        added = engine(locked.apply, start, min(more, room), tolerance)
        if not added.complete:
            raise ConvergenceError(f"{method}: the check for missed modes did not converge", pairs)
        basis = orthonormal(np.hstack([basis, added.basis]))
        if enough and locked.largest(added.basis) < least * (1.0 - 1e-9):
            break
    return pairs_of(operator, basis, method)


class _Locked:
    """The compression (I − ZZᵀ)T of an operator T to the complement of an invariant subspace."""

    def __init__(self, operator: ShiftInvert, Z: Array) -> None:
        self.operator, self.Z = operator, Z

    def project(self, x: AnyArray) -> AnyArray:
        x = x - self.Z @ (self.Z.T @ x)
        return np.asarray(x - self.Z @ (self.Z.T @ x))

    def apply(self, x: AnyArray) -> AnyArray:
        return self.project(self.operator.apply(x))

    def largest(self, basis: Array) -> float:
        """The largest modulus of the eigenvalues on an invariant subspace of the compression."""
        return float(np.abs(la.eigvals(basis.T @ self.apply(basis))).max())


def pairs_of(operator: ShiftInvert, basis: Array, method: str) -> Pairs:
    """The modes (Im λ ≥ 0) of a real invariant subspace of T, nearest τ first.

    A definite conservative operator is skew in the inner product of diag(K, M). Its projected
    matrix is made exactly skew, so every eigenvalue is exactly imaginary.
    """
    n, tau, scale = operator.quadratic.n, operator.tau, operator.scale
    if basis.shape[1] == 0:
        nothing = np.zeros((n, 0), dtype=complex)
        return Pairs(nothing[0], nothing, operator.factorization, method, operator.solves)
    W = operator.apply(basis)
    if tau.imag:
        # The projection of T is γ(Λ − τ)⁻¹ with a real Λ: it has exact pairs and real values.
        inverse = np.linalg.inv(basis.T @ W)
        lam, Y = _eigenpairs(tau.real * np.eye(len(inverse)) + scale * inverse.real)
        theta, W = scale / (lam - tau), basis
    elif operator.definite:
        theta, Y = skew_ritz(operator, W, operator.load(basis))
    else:
        theta, Y = _eigenpairs(basis.T @ W)
    keep = np.abs(theta) > ZERO * np.abs(theta).max(initial=0.0)
    state = W @ Y[:, keep]
    lam = lam[keep] if tau.imag else tau.real + scale / theta[keep]
    slow = np.abs(lam) < scale
    X = np.where(slow, state[:n], state[n:] * (scale / np.where(slow, 1.0, lam)))
    return Pairs(lam, X, operator.factorization, method, operator.solves).upper().nearest(tau)


def _eigenpairs(A: Array) -> tuple[Complex, Complex]:
    """Eigenvalues and right vectors of a small real matrix, double real ones as two."""
    values, left, right = la.eig(A, left=True)
    values, right, _ = separated(values, right, left, float(np.linalg.norm(A)))
    return values, right


def skew_ritz(operator: ShiftInvert, W: Array, load: Array) -> tuple[Complex, Complex]:
    """μ = γ/λ, imaginary, and coefficients on W = S Z of a definite conservative operator.

    load: operator.load(Z).

    With states (q, v): ⟨p, z⟩ = p_qᵀKq + γ²p_vᵀMv and ⟨p, Sz⟩ = γ²(p_vᵀMq − p_qᵀMv) − γp_qᵀCq,
    which is skew. States of next to no energy, of high modes, are made of unit energy before their
    products with the others are formed: else what is left of these is round-off.
    """
    change = np.eye(W.shape[1])
    gram, form = _energies(operator, W, load)
    for _ in range(3):
        sizes = np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
        theta, U = la.eigh(gram / np.outer(sizes, sizes))
        if theta[0] > HALF:
            break
        keep = theta > np.finfo(float).eps * len(theta)
        change = change @ (U[:, keep] / sizes[:, None] / np.sqrt(theta[keep]))
        gram, form = _energies(operator, W @ change, load @ change)
    tau, Y = la.eigh(form, gram)
    return -1j * tau, np.asarray(change @ Y)


def _energies(operator: ShiftInvert, W: Array, load: Array) -> tuple[Array, Complex]:
    """The Gram matrix of the states W in energy, and i/2 times the skew part of ⟨W, SW⟩."""
    quadratic, gamma, n = operator.quadratic, operator.scale, operator.quadratic.n
    q, v = W[:n], W[n:]
    # K q is −load by construction of S; the projector adds chain vectors, then the product is
    # formed.
    Kq = -load if operator.project is None else quadratic.K @ q
    Mv = quadratic.M @ v
    gram = q.T @ Kq + gamma**2 * (v.T @ Mv)
    cross = q.T @ Mv
    form = gamma**2 * (cross.T - cross) - gamma * (q.T @ (quadratic.C @ q))
    return 0.5 * (gram + gram.T), 0.5j * (form - form.T)
