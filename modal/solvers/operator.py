"""The inverse state operator of an instant, the one thing the sparse solvers iterate with.

    S: (q, v) → γ (−K⁻¹(M v + C q), q),   S z = (γ/λ) z for z = (x, λx)           (DESIGN.md,
    section 3)

On states (q, v/γ), so that both halves of the wanted vectors have like size; γ is about the
smallest |λ|. One real factorization of K; with a null chain K is pinned and S restricted to the
range of the spectral projector, where it is the exact inverse.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from assembly.errors import SingularSystemError
from assembly.factorization import Factorization
from assembly.null_chain import NullChain, PinnedInverse
from modal.deflation import Projector, transposed_chain
from modal.state import Quadratic, Real

NAMES = {"spd": "Cholesky", "symmetric": "LDLᵀ", "general": "LU"}


class StiffnessInverse(Protocol):
    """K⁻¹, or a generalised inverse of a singular K."""

    def solve(self, r: Real) -> Real: ...
    def solve_transposed(self, r: Real) -> Real: ...
    def destroy(self) -> None: ...


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

    def solve(self, r: Real) -> Real:
        """K⁻¹ r for (n,) or (n, p)."""
        self.solves += 1 if r.ndim == 1 else r.shape[1]
        r = np.ascontiguousarray(r)
        return self.factor.solve_transposed(r) if self.is_transposed else self.factor.solve(r)

    def load(self, x: NDArray[np.float64]) -> Real:
        """γ (γ M v̂ + C q): minus what K multiplies in the first half of S x."""
        n = self.quadratic.n
        return np.asarray(
            self.scale * (self.quadratic.M @ (self.scale * x[n:]) + self.quadratic.C @ x[:n])
        )

    def apply(self, x: Real) -> Real:
        """S x for real (2n,) or (2n, p); in the range of the projector when x is."""
        moved = np.concatenate([-self.solve(self.load(x)), x[: self.quadratic.n]])
        return moved if self.project is None else np.asarray(self.project(moved))

    def start(self, seed: int, columns: int | None = None) -> Real:
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
                load = _balanced(load, self.chain, self.quadratic)
            x = self.solve(load)
            if self.chain is not None:
                x = _elastic(x, self.chain, self.quadratic)
            growth = float(np.linalg.norm(x))
            if not np.isfinite(growth) or growth == 0.0:
                return 1.0
            x /= growth
        return 1.0 / float(np.sqrt(growth))

    def destroy(self) -> None:
        self.factor.destroy()


def _balanced(load: Real, chain: NullChain, quadratic: Quadratic) -> Real:
    W = chain.left_null
    return np.asarray(
        load - quadratic.M @ (W @ np.linalg.solve(W.T @ (quadratic.M @ W), W.T @ load))
    )


def _elastic(x: Real, chain: NullChain, quadratic: Quadratic) -> Real:
    V = chain.null
    return np.asarray(x - V @ np.linalg.solve(V.T @ (quadratic.M @ V), V.T @ (quadratic.M @ x)))


class _Pinned:
    """PinnedInverse behind the two calls of a factorization."""

    def __init__(self, inverse: PinnedInverse) -> None:
        self.inverse = inverse

    def solve(self, r: Real) -> Real:
        return np.asarray(self.inverse.solve(r))

    def solve_transposed(self, r: Real) -> Real:
        return np.asarray(self.inverse.solve(r, transposed=True))

    def destroy(self) -> None:
        self.inverse.destroy()


def factorize(quadratic: Quadratic, chain: NullChain | None) -> tuple[StiffnessInverse, str]:
    """The cheapest factorization that K allows, and its structure: "spd", "symmetric" or "general".

    Raises SingularSystemError when K is singular and no null chain explains it.
    """
    K = quadratic.K
    structures = ["spd", "symmetric"] if quadratic.symmetric_stiffness else ["general"]
    for structure in structures:
        try:
            if chain is None:
                return Factorization(K, structure), structure  # type: ignore[arg-type]
            return _Pinned(PinnedInverse(K, chain.null, structure)), structure  # type: ignore[arg-type]
        except SingularSystemError:
            if structure == structures[-1]:
                raise
    raise AssertionError("unreachable")
