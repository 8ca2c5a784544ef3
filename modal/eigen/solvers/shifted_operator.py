"""The shift-and-invert operator about a point τ away from zero, in real arithmetic.

    T = Re[(A − τB)⁻¹B],  T z = θ z,  θ = (λ − Re τ) / ((λ − τ)(λ − τ̄))

(Parlett and Saad, Linear Algebra Appl. 88/89 (1987) 575): a real operator with the eigenvectors of
the instant, whose largest θ belong to the eigenvalues nearest τ and τ̄. Its one factorization is of
Q(τ) = K + τC + τ²M, complex, written as a real matrix of size 2n; on the imaginary axis Q is
Hermitian when the instant is conservative and the real form symmetric.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from assembly.linalg.factorization import Factorization, Structure
from assembly.system.null_chain import NullChain
from modal.eigen.deflation import Projector, transposed_chain
from modal.eigen.quadratic import Quadratic
from modal.eigen.solvers.pairs import Pairs
from modal.types import Array, Complex

TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


def real_form(quadratic: Quadratic, tau: complex) -> sp.csr_matrix:
    """Q(τ) as a real (2n, 2n) matrix on (Re x_1, Im x_1, Re x_2, …); Q(τ) itself for a real τ."""
    real = quadratic.K + tau.real * quadratic.C + (tau**2).real * quadratic.M
    if tau.imag == 0.0:
        return sp.csr_matrix(real)
    imaginary = tau.imag * quadratic.C + (tau**2).imag * quadratic.M
    return sp.csr_matrix(sp.kron(real, np.eye(2)) + sp.kron(imaginary, TURN))


class ShiftedOperator:
    """T about τ (see `krylov.SpectralOperator`); owns its factor: call `destroy()`."""

    def __init__(self, quadratic: Quadratic, chain: NullChain | None, tau: complex) -> None:
        self.quadratic, self.chain, self.tau = quadratic, chain, complex(tau)
        symmetric = quadratic.conservative and self.tau.real == 0.0
        structure: Structure = "symmetric" if symmetric else "general"
        self.factor = Factorization(real_form(quadratic, self.tau), structure)
        self.factorization = "LDLᵀ of Q(τ)" if symmetric else "LU of Q(τ)"
        self.scale, self.solves, self.is_transposed = abs(self.tau), 0, False
        self.project = None if chain is None else Projector(quadratic, chain, self.scale)

    @property
    def size(self) -> int:
        return 2 * self.quadratic.n

    @property
    def rank(self) -> int:
        return self.size - (0 if self.chain is None else self.chain.count)

    def transposed(self) -> ShiftedOperator:
        """The operator of the transposed quadratic on the same factor, this object's."""
        other = ShiftedOperator.__new__(ShiftedOperator)
        other.quadratic, other.tau, other.factor = self.quadratic.transposed, self.tau, self.factor
        other.chain = None if self.chain is None else transposed_chain(self.quadratic, self.chain)
        other.factorization, other.scale, other.solves = self.factorization, self.scale, 0
        other.is_transposed = not self.is_transposed
        other.project = (
            None if other.chain is None else Projector(other.quadratic, other.chain, self.scale)
        )
        return other

    def solve(self, r: Complex) -> Complex:
        """Q(τ)⁻¹ r (of the transposed quadratic: Q(τ)⁻ᵀ r) for complex (n,) or (n, p)."""
        self.solves += 1 if r.ndim == 1 else r.shape[1]
        turn = self.factor.solve_transposed if self.is_transposed else self.factor.solve
        if self.tau.imag == 0.0:
            return np.asarray(turn(np.ascontiguousarray(r.real)))
        wide = np.empty((2 * r.shape[0], *r.shape[1:]))
        # The real form's transpose is the form of Q(τ)ᴴ: conjugate in and out for Q(τ)ᵀ.
        sign = -1.0 if self.is_transposed else 1.0
        wide[0::2], wide[1::2] = r.real, sign * r.imag
        x = turn(wide)
        return np.asarray(x[0::2] + 1j * sign * x[1::2])

    def apply(self, x: Array) -> Array:
        """γT x on states (q, v/γ), γ = |τ|."""
        n, tau, gamma = self.quadratic.n, self.tau, self.scale
        q, v = x[:n], gamma * x[n:]
        p = -self.solve(self.quadratic.M @ (v + tau * q) + self.quadratic.C @ q)
        moved = np.concatenate([gamma * p.real, (q + tau * p).real])
        return moved if self.project is None else np.asarray(self.project(moved))

    def start(self, seed: int) -> Array:
        """A random state in the range of T."""
        x = np.random.default_rng(seed).standard_normal(self.size)
        return self.apply(x if self.project is None else np.asarray(self.project(x)))

    def destroy(self) -> None:
        self.factor.destroy()

    def gain(self, eigenvalues: Complex) -> Array:
        """γ|θ|."""
        reach = np.abs((eigenvalues - self.tau) * (eigenvalues - self.tau.conjugate()))
        return np.asarray(self.scale * np.abs(eigenvalues - self.tau.real) / reach)

    def pairs(self, basis: Array, method: str) -> Pairs:
        """The modes (Im λ ≥ 0) of an invariant subspace, largest θ first.

        Of the two λ that have one θ, the vector (q, v = λq) shows which is its own.
        """
        theta, Y = la.eig(basis.T @ self.apply(basis))
        keep = np.abs(theta) > 1e-12 * np.abs(theta).max(initial=0.0)
        theta, state = theta[keep] / self.scale, basis @ Y[:, keep]
        n = self.quadratic.n
        q, v = state[:n], self.scale * state[n:]
        size = np.einsum("ij,ij->j", q.conj(), q).real
        seen = np.einsum("ij,ij->j", q.conj(), v) / np.where(size > 0.0, size, 1.0)
        lam = nearest_root(theta, self.tau, seen)
        X = np.where(np.abs(lam) > self.scale, v / np.where(lam == 0.0, 1.0, lam), q)
        pairs = Pairs(lam, X, self.factorization, method, self.solves).upper()
        return pairs.take(np.argsort(-self.gain(pairs.eigenvalues), kind="stable"))


def nearest_root(theta: Complex, tau: complex, seen: Complex) -> Complex:
    """The root λ of θ(λ − τ)(λ − τ̄) = λ − Re τ nearest the values seen.

    With s = λ − Re τ: θs² − s + θ(Im τ)² = 0.
    """
    b = tau.imag
    if b == 0.0:
        return np.asarray(tau.real + 1.0 / theta)
    root = np.sqrt(1.0 - (2.0 * theta * b) ** 2 + 0j)
    both = np.stack([(1.0 + root) / (2.0 * theta), 2.0 * theta * b**2 / (1.0 + root)]) + tau.real
    pick = np.abs(both - seen).argmin(axis=0)
    return np.asarray(np.take_along_axis(both, pick[None], 0)[0])
