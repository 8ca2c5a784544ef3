"""The shift-and-invert operator of a frozen system about a point τ.

    T = (A − τB)⁻¹B,  T z = θ z,  θ = 1/(λ − τ),  z = (x, λx)

T is real for a real τ, complex for another; its largest θ belong to the eigenvalues nearest τ. It
acts on states (q, v/γ), so that both halves of the requested vectors have similar size, and is
multiplied by γ: |τ|, or about the smallest |λ| for τ = 0.

One factorization serves all products. For τ = 0 it is the cheapest real one of K; with a null chain
some degrees of freedom of K are fixed. Otherwise it is one of Q(τ) = K + τC + τ²M, complex, written
as a real matrix of size 2n; on the imaginary axis Q is Hermitian when the system is conservative,
and the real form symmetric. With a null chain T is restricted to the range of the spectral
projector (docs/numerics.md, "Deflation").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from assembly.errors import SingularSystemError
from assembly.linalg.factorization import Factorization, Structure
from assembly.system.null_chain import NullChain, PinnedInverse
from assembly.types import AnyArray
from modal.eigen.deflation import Projector, transposed_chain
from modal.eigen.quadratic import Quadratic

StiffnessInverse = Factorization | PinnedInverse
Inverse = TypeVar("Inverse")

TURN = np.array([[0.0, -1.0], [1.0, 0.0]])
NAMES = {"spd": "Cholesky", "symmetric": "LDLᵀ", "general": "LU"}


def real_form(quadratic: Quadratic, tau: complex) -> sp.csr_matrix:
    """Q(τ) as a real (2n, 2n) matrix on (Re x_1, Im x_1, Re x_2, …); Q(τ) itself for a real τ."""
    real = quadratic.K + tau.real * quadratic.C + (tau**2).real * quadratic.M
    if tau.imag == 0.0:
        return sp.csr_matrix(real)
    imaginary = tau.imag * quadratic.C + (tau**2).imag * quadratic.M
    return sp.csr_matrix(sp.kron(real, np.eye(2)) + sp.kron(imaginary, TURN))


class ShiftInvert:
    """γT about τ: its largest eigenvalues belong to the modes nearest τ. Call `destroy()`.

    `structure` is that of the factorized matrix: "spd", "symmetric" or "general". `solves` counts
    the right-hand sides. Raises SingularSystemError when the matrix to factorize is singular.
    """

    def __init__(self, quadratic: Quadratic, chain: NullChain | None, tau: complex = 0.0) -> None:
        self.quadratic, self.chain, self.tau = quadratic, chain, complex(tau)
        self.solves, self.is_transposed = 0, False
        self.factor: StiffnessInverse
        if self.tau == 0.0:
            self.factor, self.structure = factorize(quadratic, chain)
        else:
            symmetric = quadratic.conservative and self.tau.real == 0.0
            structure: Structure = "symmetric" if symmetric else "general"
            self.factor = Factorization(real_form(quadratic, self.tau), structure)
            self.structure = structure

    @property
    def factorization(self) -> str:
        """The factorization's name."""
        return NAMES[self.structure] + ("" if self.tau == 0.0 else " of Q(τ)")

    @property
    def definite(self) -> bool:
        """Conservative about zero with a positive definite K, but for its null space."""
        return self.quadratic.conservative and self.structure == "spd"

    @property
    def size(self) -> int:
        return int(2 * self.quadratic.n)

    @property
    def rank(self) -> int:
        return self.size - (0 if self.chain is None else self.chain.count)

    @cached_property
    def scale(self) -> float:
        """γ, rad/s."""
        return self._smallest_frequency() if self.tau == 0.0 else abs(self.tau)

    @cached_property
    def project(self) -> Projector | None:
        """The spectral projector of the null chain, or None without one."""
        return None if self.chain is None else Projector(self.quadratic, self.chain, self.scale)

    def transposed(self) -> ShiftInvert:
        """The operator of Mᵀ, Cᵀ, Kᵀ on the same factor (which stays this object's to destroy)."""
        other = ShiftInvert.__new__(ShiftInvert)
        other.quadratic, other.tau = self.quadratic.transposed, self.tau
        other.chain = None if self.chain is None else transposed_chain(self.quadratic, self.chain)
        other.factor, other.structure, other.scale = self.factor, self.structure, self.scale
        other.solves, other.is_transposed = 0, not self.is_transposed
        return other

    def solve(self, r: AnyArray) -> AnyArray:
        """Q(τ)⁻¹ r (of the transposed quadratic: Q(τ)⁻ᵀ r) for (n,) or (n, p).

        Real for a real τ, which leaves out the imaginary part of r.
        """
        self.solves += 1 if r.ndim == 1 else r.shape[1]
        inverse = self.factor.solve_transposed if self.is_transposed else self.factor.solve
        if self.tau.imag == 0.0:
            return np.asarray(inverse(np.ascontiguousarray(r.real)))
        wide = np.empty((2 * r.shape[0], *r.shape[1:]))
        # The real form's transpose is the form of Q(τ)ᴴ: conjugate in and out for Q(τ)ᵀ.
        sign = -1.0 if self.is_transposed else 1.0
        wide[0::2], wide[1::2] = r.real, sign * r.imag
        x = inverse(wide)
        return np.asarray(x[0::2] + 1j * sign * x[1::2])

    def load(self, x: AnyArray) -> AnyArray:
        """γ (M(v + τq) + C q), minus the load of the solve in γT x; real for a real τ."""
        n, tau = self.quadratic.n, self.tau if self.tau.imag else self.tau.real
        q, v = x[:n], self.scale * x[n:]
        moved = v + tau * q if tau else v
        return np.asarray(self.scale * (self.quadratic.M @ moved + self.quadratic.C @ q))

    def apply(self, x: AnyArray) -> AnyArray:
        """γT x for (2n,) or (2n, p), real for a real τ; in the range of the projector when x is."""
        p, q = -self.solve(self.load(x)), x[: self.quadratic.n]
        tau = self.tau if self.tau.imag else self.tau.real
        moved = np.concatenate([p, q + tau / self.scale * p if tau else q])
        return moved if self.project is None else np.asarray(self.project(moved))

    def start(self, seed: int) -> AnyArray:
        """A random state in the range of T."""
        x = np.random.default_rng(seed).standard_normal(self.size)
        return self.apply(x if self.project is None else np.asarray(self.project(x)))

    def _smallest_frequency(self) -> float:
        """About the smallest |λ| of M, K alone, by three steps of inverse iteration (of K⁻¹M)."""
        M, x = self.quadratic.M, np.random.default_rng(1).standard_normal(self.quadratic.n)
        growth = 1.0
        for _ in range(3):
            x = np.asarray(self.solve(M @ x))
            if self.chain is not None:  # as moved by an elastic shape
                V = self.chain.null
                x = x - V @ np.linalg.solve(V.T @ (M @ V), V.T @ (M @ x))
            growth = float(np.linalg.norm(x))
            if not np.isfinite(growth) or growth == 0.0:
                return 1.0
            x /= growth
        return 1.0 / float(np.sqrt(growth))

    def destroy(self) -> None:
        self.factor.destroy()


def factorize(quadratic: Quadratic, chain: NullChain | None) -> tuple[StiffnessInverse, str]:
    """The cheapest factorization that K allows, and its structure: "spd", "symmetric" or "general".

    Raises SingularSystemError when K is singular and no null chain explains it.
    """
    K = quadratic.K
    structures = ["spd", "symmetric"] if quadratic.symmetric_stiffness else ["general"]
    if chain is None:
        return factorized(lambda structure: Factorization(K, structure), structures)
    V = chain.null
    return factorized(lambda structure: PinnedInverse(K, V, structure), structures)


def factorized(make: Callable[[Any], Inverse], structures: Sequence[str]) -> tuple[Inverse, str]:
    """What `make` returns of the first structure that the matrix has, and that structure."""
    *before, last = structures
    for structure in before:
        with suppress(SingularSystemError):
            return make(structure), structure
    return make(last), last
