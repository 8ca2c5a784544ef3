"""The inverse state operator of a frozen system, which the sparse solvers iterate with.

    S: (q, v) → γ (−K⁻¹(M v + C q), q),   S z = (γ/λ) z for z = (x, λx)

The states are (q, v/γ), so that both halves of the requested vectors have similar size; γ is about
the smallest |λ|. S needs one real factorization of K. With a null chain some degrees of freedom of
K are fixed and S is restricted to the range of the spectral projector, where it is the exact
inverse (docs/numerics.md, "Deflation").
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.linalg as la

from assembly.system.null_chain import NullChain
from modal.eigen.deflation import Projector, transposed_chain
from modal.eigen.quadratic import Quadratic
from modal.eigen.solvers.pairs import Pairs
from modal.eigen.solvers.stiffness import balanced, elastic, factorize
from modal.types import Array, Complex

DEPENDENT = 1e-8  # energy of a combination of unit states below which they are made anew
PASSES = 3
NAMES = {"spd": "Cholesky", "symmetric": "LDLᵀ", "general": "LU"}


class InverseOperator:
    """S for the quadratic or, on request, for its transpose, from the same factorization.

    `structure` says which factor there is; `definite` that K is positive definite (semidefinite
    with a null chain, definite on the range of the projector). Owns its factorization: call
    `destroy()`.
    """

    def __init__(self, quadratic: Quadratic, chain: NullChain | None) -> None:
        self.quadratic, self.chain = quadratic, chain
        self.factor, self.structure = factorize(quadratic, chain)
        self.definite = quadratic.conservative and self.structure == "spd"
        self.solves = 0
        self.is_transposed = False

    @property
    def factorization(self) -> str:
        """The factorization's name."""
        return NAMES[self.structure]

    @property
    def size(self) -> int:
        return 2 * self.quadratic.n

    @property
    def rank(self) -> int:
        return self.size - (0 if self.chain is None else self.chain.count)

    def gain(self, eigenvalues: Complex) -> Array:
        """γ/|λ|."""
        return np.asarray(self.scale / np.abs(eigenvalues))

    def pairs(self, basis: Array, method: str) -> Pairs:
        """The modes (Im λ ≥ 0) of an invariant subspace of S, smallest |λ| first."""
        return ritz(self, basis, method)

    @cached_property
    def scale(self) -> float:
        """γ, rad/s."""
        return self._smallest_frequency()

    @cached_property
    def project(self) -> Projector | None:
        """The spectral projector of the null chain, or None without one."""
        return None if self.chain is None else Projector(self.quadratic, self.chain, self.scale)

    def transposed(self) -> InverseOperator:
        """The operator of Mᵀ, Cᵀ, Kᵀ on the same factor (which stays this object's to destroy)."""
        other = InverseOperator.__new__(InverseOperator)
        other.quadratic = self.quadratic.transposed
        other.chain = None if self.chain is None else transposed_chain(self.quadratic, self.chain)
        other.factor, other.structure, other.definite = self.factor, self.structure, self.definite
        other.solves, other.is_transposed = 0, not self.is_transposed
        other.scale = self.scale
        return other

    def solve(self, r: Array) -> Array:
        """K⁻¹ r for (n,) or (n, p)."""
        self.solves += 1 if r.ndim == 1 else r.shape[1]
        r = np.ascontiguousarray(r)
        return self.factor.solve_transposed(r) if self.is_transposed else self.factor.solve(r)

    def load(self, x: Array) -> Array:
        """γ (γ M v̂ + C q): minus what K multiplies in the first half of S x."""
        n = self.quadratic.n
        return np.asarray(
            self.scale * (self.quadratic.M @ (self.scale * x[n:]) + self.quadratic.C @ x[:n])
        )

    def apply(self, x: Array) -> Array:
        """S x for real (2n,) or (2n, p); in the range of the projector when x is."""
        moved = np.concatenate([-self.solve(self.load(x)), x[: self.quadratic.n]])
        return moved if self.project is None else np.asarray(self.project(moved))

    def start(self, seed: int, columns: int | None = None) -> Array:
        """Random states in the range of S, (2n,) or (2n, columns)."""
        random = np.random.default_rng(seed)
        shape = (self.size,) if columns is None else (self.size, columns)
        x = random.standard_normal(shape)
        return self.apply(x if self.project is None else np.asarray(self.project(x)))

    def _smallest_frequency(self) -> float:
        """About the smallest |λ| of M, K alone, by three steps of inverse iteration (of K⁻¹M)."""
        x = np.random.default_rng(1).standard_normal(self.quadratic.n)
        growth = 1.0
        for _ in range(3):
            load = self.quadratic.M @ x
            if self.chain is not None:
                load = balanced(load, self.chain, self.quadratic)
            x = self.solve(load)
            if self.chain is not None:
                x = elastic(x, self.chain, self.quadratic)
            growth = float(np.linalg.norm(x))
            if not np.isfinite(growth) or growth == 0.0:
                return 1.0
            x /= growth
        return 1.0 / float(np.sqrt(growth))

    def destroy(self) -> None:
        self.factor.destroy()


def ritz(operator: InverseOperator, basis: Array, method: str) -> Pairs:
    """The pairs (Im λ ≥ 0) of an invariant subspace, by Rayleigh–Ritz after one more step.

    A definite conservative operator is skew in the inner product of diag(K, M). Its projected
    matrix is made exactly skew, so every eigenvalue is exactly imaginary.
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


def skew_ritz(operator: InverseOperator, W: Array, load: Array) -> tuple[Complex, Complex]:
    """μ = γ/λ, imaginary, and coefficients on W = S Z of a definite conservative operator.

    load: operator.load(Z).

    With states (q, v): ⟨p, z⟩ = p_qᵀKq + γ²p_vᵀMv and ⟨p, Sz⟩ = γ²(p_vᵀMq − p_qᵀMv) − γp_qᵀCq,
    which is skew. States of next to no energy, of high modes, are made of unit energy before their
    products with the others are formed: else what is left of these is round-off.
    """
    change = np.eye(W.shape[1])
    gram, form = _energies(operator, W, load)
    for _ in range(PASSES):
        sizes = np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
        theta, U = la.eigh(gram / np.outer(sizes, sizes))
        if theta[0] > DEPENDENT:
            break
        keep = theta > np.finfo(float).eps * len(theta)
        change = change @ (U[:, keep] / sizes[:, None] / np.sqrt(theta[keep]))
        gram, form = _energies(operator, W @ change, load @ change)
    tau, Y = la.eigh(form, gram)
    return -1j * tau, np.asarray(change @ Y)


def _energies(operator: InverseOperator, W: Array, load: Array) -> tuple[Array, Complex]:
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
