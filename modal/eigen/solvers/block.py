"""Block Rayleigh–Ritz for a conservative instant with positive definite stiffness.

The basis V of displacement shapes grows by K⁻¹Q(λ)x of every unfinished Ritz pair, all in one
block: MUMPS solves a block of right-hand sides several times faster than one after the other.
Displacement and velocity are both free in span V, so the projected problem is a quadratic of the
same structure and its eigenvalues are exactly imaginary. K V is carried along as the loads solved
for, so K multiplies nothing.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from assembly.errors import ConvergenceError
from modal.eigen.quadratic import Quadratic, from_parts, in_parts
from modal.eigen.solvers.pairs import Pairs
from modal.eigen.solvers.shift_invert import ShiftInvert
from modal.eigen.solvers.skew import largest_of_skew
from modal.types import Array, Complex, Mask

RESIDUAL = 1e-8  # ‖Q(λ)x‖/‖Kx‖ of a finished pair
BACKWARD = 5e-13  # and its backward error, where that is the stricter
DRIFT = 1e-11  # relative error of K q above which the product is recomputed
TWICE = 1e-4  # overlap with V beyond which one pass of orthogonalisation is not enough
NOISE = 2e-15  # backward error that no basis improves on
ACCEPT = 1e-12  # backward error accepted when the basis stops growing
DEPENDENT = (
    1e-8  # energy of a combination of unit shapes that counts as none: its K q − load is noise
)
GUARD = 1  # modes beyond those requested: without them the last one converges more slowly
START = 4  # random shapes to start from, beyond the number requested
ROOM = 12  # columns for each requested mode, about
WIDTH = 12  # pairs, the lowest unfinished, whose residuals the basis grows by at a time
LARGE = 10_000  # unknowns below which rounds cost more than shapes, and all pairs are taken
NEAR = 1e-5  # ‖Q(λ)x‖/‖Kx‖ below which the backward error is evaluated
ROUNDS = 100


class _Basis:
    """K-orthonormal V (n, m) with K V, M V, C V and the projections M_r, C_r, growing."""

    def __init__(self, quadratic: Quadratic, room: int) -> None:
        self.quadratic, self.m = quadratic, 0
        self._store = [np.empty((quadratic.n, room), order="F") for _ in range(4)]
        self.Mr, self.Cr = np.zeros((room, room)), np.zeros((room, room))

    def _grow(self, extra: int) -> None:
        room = self._store[0].shape[1]
        if self.m + extra <= room:
            return
        wide = max(2 * room, self.m + extra)
        for j, old in enumerate(self._store):
            self._store[j] = np.empty((old.shape[0], wide), order="F")
            self._store[j][:, : self.m] = old[:, : self.m]
        self.Mr, self.Cr = (np.pad(A, (0, wide - room)) for A in (self.Mr, self.Cr))

    def add(self, q: Array, load: Array) -> int:
        """Take in the directions q with K q = load; returns how many are new."""
        q, load = self._against(*_orthonormal(*_unit(q, load)))
        if self._drifted(q, load):
            q, load = self._against(q, self.quadratic.K @ q)
        new = q.shape[1]
        self._grow(new)
        a, b = self.m, self.m + new
        Mq, Cq = self.quadratic.M @ q, self.quadratic.C @ q
        for store, columns in zip(self._store, (q, load, Mq, Cq), strict=True):
            store[:, a:b] = columns
        V = self._store[0][:, :b]
        self.Mr[:b, a:b] = V.T @ Mq
        self.Mr[a:b, :a] = self.Mr[:a, a:b].T
        self.Cr[:b, a:b] = V.T @ Cq
        self.Cr[a:b, :a] = -self.Cr[:a, a:b].T
        self.m = b
        return new

    def _against(self, q: Array, load: Array) -> tuple[Array, Array]:
        """Made K-orthogonal to V, and K-orthonormal."""
        V, KV = self._store[0][:, : self.m], self._store[1][:, : self.m]
        for _ in range(2):
            h = V.T @ load
            q, load = _orthonormal(q - V @ h, load - KV @ h)
            if np.abs(h).max(initial=0.0) < TWICE:  # residuals are orthogonal to V already
                break
        return q, load

    def _drifted(self, q: Array, load: Array) -> bool:
        """Whether the stored K q has become inaccurate, tested on one random combination."""
        w = np.random.default_rng(self.m).standard_normal(q.shape[1])
        expected = load @ w
        return bool(
            np.linalg.norm(self.quadratic.K @ (q @ w) - expected) > DRIFT * np.linalg.norm(expected)
        )

    def ritz(self, k: int) -> tuple[Array, Complex]:
        """The k smallest ω > 0 of the projected problem and their coefficients (m, k)."""
        m = self.m
        Mr, Cr = self.Mr[:m, :m], self.Cr[:m, :m]
        N = _factor(0.5 * (Mr + Mr.T))
        S = np.zeros((2 * m, 2 * m))  # as in solvers/dense.py, with L = I
        S[:m, :m] = -0.5 * (Cr - Cr.T)
        S[:m, m:] = -N
        S[m:, :m] = N.T
        tau, Y = largest_of_skew(S, min(k, m))
        return 1.0 / tau, Y[:m]

    def shapes(self, Y: Complex) -> Complex:
        """V Y."""
        return from_parts(self.times(0, in_parts(Y)))

    def times(self, which: int, Y: Array) -> Array:
        """V, KV, MV or CV (0–3) times real coefficients."""
        return np.asarray(self._store[which][:, : self.m] @ Y)


def _lengths(parts: Array) -> Array:
    """Norms of complex columns given as `in_parts`."""
    squares = np.einsum("ij,ij->j", parts, parts)
    k = len(squares) // 2
    return np.asarray(np.sqrt(squares[:k] + squares[k:]))


def _factor(A: Array) -> Array:
    """N with NNᵀ = A: Cholesky's, or from eigenvectors where A is semidefinite to round-off."""
    N, info = la.lapack.dpotrf(A, lower=1, clean=1)
    if info == 0:
        return np.asarray(N)
    sizes, U = la.eigh(A)
    return np.asarray(U * np.sqrt(np.maximum(sizes, 0.0)))


def _unit(q: Array, load: Array) -> tuple[Array, Array]:
    """The columns of q with K q = load, each of unit energy; those without energy are dropped."""
    energy = np.einsum("ij,ij->j", q, load)
    keep = energy > np.finfo(float).tiny
    d = 1.0 / np.sqrt(energy[keep])
    return q[:, keep] * d, load[:, keep] * d


def _orthonormal(q: Array, load: Array) -> tuple[Array, Array]:
    """K-orthonormal combinations of unit shapes; directions with negligible energy are dropped."""
    gram = q.T @ load
    sizes, U = la.eigh(0.5 * (gram + gram.T))
    keep = sizes > DEPENDENT
    U = U[:, keep] / np.sqrt(sizes[keep])
    return q @ U, load @ U


def solve_block(operator: ShiftInvert, k: int, seed: int = 0) -> Pairs:
    """The k modes of smallest frequency of a definite conservative instant, and GUARD more.

    Raises ConvergenceError, its `partial` the Pairs that converged.
    """
    quadratic = operator.quadratic
    n, k = quadratic.n, min(k, quadratic.n)
    basis = _Basis(quadratic, min(n, ROOM * (k + GUARD)))
    load = quadratic.M @ np.random.default_rng(seed).standard_normal((n, min(n, k + START)))
    basis.add(operator.solve(load), load)
    done = np.zeros(0, dtype=bool)
    omega, Y = basis.ritz(min(n, k + GUARD))
    for _ in range(ROUNDS):
        load, done = _residual(basis, omega, Y, done)
        if done[:k].sum() == k or basis.m == n:
            break
        if basis.add(operator.solve(load), load) == 0:
            break
        omega, Y = basis.ritz(min(n, k + GUARD))
    method = "block Rayleigh–Ritz"
    X = basis.shapes(Y)
    pairs = Pairs(1j * omega, X, operator.factorization, method, operator.solves)
    if done[:k].sum() < k and basis.m < n:
        done = quadratic.backward_error(pairs.eigenvalues, X) <= ACCEPT
    if done[:k].sum() == k or basis.m == n:
        return pairs
    raise ConvergenceError(
        f"{method}: stopped with {int(done[:k].sum())} of {k} modes converged",
        pairs.take(np.flatnonzero(done)),
    )


def _residual(basis: _Basis, omega: Array, Y: Complex, before: Mask) -> tuple[Array, Mask]:
    """Q(iω)x of the lowest unfinished pairs, x of one size, in parts, and which are finished.

    A pair finished once stays so: a larger basis does not make it worse.
    """
    done = np.zeros(len(omega), dtype=bool)
    done[: len(before)] = before[: len(omega)]
    width = WIDTH if basis.quadratic.n > LARGE else len(omega)
    while True:
        rest = np.flatnonzero(~done)[:width]
        residual, passed = _evaluate(basis, omega[rest], Y[:, rest])
        done[rest[passed]] = True
        if done.all() or not passed.all():
            return residual[:, np.tile(~passed, 2)], done


def _evaluate(basis: _Basis, omega: Array, Y: Complex) -> tuple[Array, Mask]:
    """Q(iω)x of some pairs, in parts, and which of them pass."""
    Y = Y / np.linalg.norm(Y, axis=0)
    residual = basis.times(1, in_parts(Y))
    whole = _lengths(residual)
    residual -= basis.times(2, in_parts(Y * omega**2))
    residual += basis.times(3, in_parts(Y * (1j * omega)))
    size = _lengths(residual)
    passed = np.zeros(len(omega), dtype=bool)
    near = np.flatnonzero(size <= NEAR * whole)
    if near.size:
        weight = basis.quadratic.weights(1j * omega[near])
        weight *= _lengths(basis.times(0, in_parts(Y[:, near])))
        passed[near] = (size[near] <= RESIDUAL * whole[near]) & (size[near] <= BACKWARD * weight)
        passed[near] |= size[near] <= NOISE * weight
    return residual, passed
