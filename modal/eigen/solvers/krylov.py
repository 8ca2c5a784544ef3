"""Modes of an instant from an invariant subspace of the inverse state operator.

A Krylov method on one vector sees a cluster one member at a time, so its result is verified: a
second run on the orthogonal complement of the invariant subspace found (whose compression has the
remaining eigenvalues, as in Schur locking) must find nothing inside the wanted radius, or what it
finds is added.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from assembly.errors import ConvergenceError
from modal.eigen.solvers.engines import Engine, orthonormal
from modal.eigen.solvers.pairs import Pairs
from modal.eigen.solvers.shift_invert import ShiftInvert
from modal.eigen.spectrum import separated
from modal.eigen.tolerances import COARSE, HALF, ZERO
from modal.types import Array, Complex


def solve_krylov(
    operator: ShiftInvert,
    k: int,
    engine: Engine,
    method: str,
    seed: int = 0,
    complete: bool = True,
    tolerance: float = 1e-13,
) -> Pairs:
    """At least k modes (Im λ ≥ 0) of largest gain, if there are so many, best first.

    complete: raise ConvergenceError, its `partial` the Pairs that converged, where the method stops
    short; otherwise these are returned, not verified. tolerance: of |γ/λ|, in the residual of
    the inverse operator.
    """
    rank = operator.rank
    found = engine(operator.apply, operator.start(seed), min(2 * k + 2, rank), tolerance)
    basis = found.basis
    if not found.complete:
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
        least = operator.gain(pairs.eigenvalues[:k]).min()
        enough = len(pairs.eigenvalues) >= k  # an engine may leave the last two of all to the check
        locked = _Locked(operator, basis)
        start = locked.project(operator.start(seed + attempt))
        if enough:
            probe = engine(locked.apply, start, min(2, room), COARSE)
            if probe.basis.shape[1] and locked.largest(probe.basis) < least * (1.0 - 1e-3):
                break
        added = engine(locked.apply, start, min(4, room), tolerance)
        if not added.complete and not complete:
            return pairs
        if not added.complete:
            raise ConvergenceError(f"{method}: the check for missed modes did not converge", pairs)
        basis = orthonormal(np.hstack([basis, added.basis]))
        if enough and locked.largest(added.basis) < least * (1.0 - 1e-9):
            break
    return pairs_of(operator, basis, method)


class _Locked:
    """The compression (I − ZZᵀ)S of an operator S to the complement of an invariant subspace."""

    def __init__(self, operator: ShiftInvert, Z: Array) -> None:
        self.operator, self.Z = operator, Z

    def project(self, x: Array) -> Array:
        x = x - self.Z @ (self.Z.T @ x)
        return np.asarray(x - self.Z @ (self.Z.T @ x))

    def apply(self, x: Array) -> Array:
        return self.project(self.operator.apply(x))

    def largest(self, basis: Array) -> float:
        """The largest modulus of the eigenvalues on an invariant subspace of the compression."""
        return float(np.abs(la.eigvals(basis.T @ self.apply(basis))).max())


def pairs_of(operator: ShiftInvert, basis: Array, method: str) -> Pairs:
    """The modes (Im λ ≥ 0) of an invariant subspace of T, largest θ first."""
    if basis.shape[1] == 0:
        nothing = np.zeros((operator.quadratic.n, 0), dtype=complex)
        return Pairs(nothing[0], nothing, operator.factorization, method, operator.solves)
    extract = inverse_pairs if operator.tau == 0.0 else shifted_pairs
    return extract(operator, basis, method)


def inverse_pairs(operator: ShiftInvert, basis: Array, method: str) -> Pairs:
    """The pairs (Im λ ≥ 0) of an invariant subspace about zero, after one more step, nearest first.

    A definite conservative operator is skew in the inner product of diag(K, M). Its projected
    matrix is made exactly skew, so every eigenvalue is exactly imaginary.
    """
    load = operator.load(basis)
    W = operator.apply(basis)
    if operator.definite:
        inverse, Y = skew_ritz(operator, W, load)
    else:
        inverse, Y = _eigenpairs(basis.T @ W)
    keep = np.abs(inverse) > ZERO * np.abs(inverse).max(initial=0.0)
    inverse, Y = inverse[keep], Y[:, keep]
    eigenvalues = operator.scale / inverse
    n = operator.quadratic.n
    state = W @ Y
    halves = np.where(np.abs(inverse) > 1.0, state[:n], state[n:] * inverse)
    pairs = Pairs(eigenvalues, halves, operator.factorization, method, operator.solves)
    return pairs.upper().nearest(0.0)


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


def shifted_pairs(operator: ShiftInvert, basis: Array, method: str) -> Pairs:
    """The pairs (Im λ ≥ 0) of an invariant subspace about τ ≠ 0, largest θ first.

    Of the two λ that have one θ, the Rayleigh quotient of the vector (q, v = λq) selects one.
    """
    theta, Y = _eigenpairs(basis.T @ operator.apply(basis))
    keep = np.abs(theta) > ZERO * np.abs(theta).max(initial=0.0)
    theta, state = theta[keep] / operator.scale, basis @ Y[:, keep]
    n = operator.quadratic.n
    q, v = state[:n], operator.scale * state[n:]
    size = np.einsum("ij,ij->j", q.conj(), q).real
    quotients = np.einsum("ij,ij->j", q.conj(), v) / np.where(size > 0.0, size, 1.0)
    lam = nearest_root(theta, operator.tau, quotients)
    X = np.where(np.abs(lam) > operator.scale, v / np.where(lam == 0.0, 1.0, lam), q)
    pairs = Pairs(lam, X, operator.factorization, method, operator.solves).upper()
    return pairs.take(np.argsort(-operator.gain(pairs.eigenvalues), kind="stable"))


def nearest_root(theta: Complex, tau: complex, estimates: Complex) -> Complex:
    """The root λ of θ(λ − τ)(λ − τ̄) = λ − Re τ nearest the given estimates.

    With s = λ − Re τ: θs² − s + θ(Im τ)² = 0.
    """
    b = tau.imag
    if b == 0.0:
        return np.asarray(tau.real + 1.0 / theta)
    root = np.sqrt(1.0 - (2.0 * theta * b) ** 2 + 0j)
    both = np.stack([(1.0 + root) / (2.0 * theta), 2.0 * theta * b**2 / (1.0 + root)]) + tau.real
    pick = np.abs(both - estimates).argmin(axis=0)
    return np.asarray(np.take_along_axis(both, pick[None], 0)[0])
