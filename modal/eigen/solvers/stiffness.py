"""K⁻¹, or a generalised inverse of a singular K, from the cheapest real factorization K allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from assembly.errors import SingularSystemError
from assembly.linalg.factorization import Factorization
from assembly.system.null_chain import NullChain, PinnedInverse
from modal.eigen.quadratic import Quadratic
from modal.types import Array


class StiffnessInverse(Protocol):
    """K⁻¹, or a generalised inverse of a singular K."""

    def solve(self, r: Array) -> Array: ...
    def solve_transposed(self, r: Array) -> Array: ...
    def destroy(self) -> None: ...


Inverse = TypeVar("Inverse")


def balanced(load: Array, chain: NullChain, quadratic: Quadratic) -> Array:
    W = chain.left_null
    return np.asarray(
        load - quadratic.M @ (W @ np.linalg.solve(W.T @ (quadratic.M @ W), W.T @ load))
    )


def elastic(x: Array, chain: NullChain, quadratic: Quadratic) -> Array:
    V = chain.null
    return np.asarray(x - V @ np.linalg.solve(V.T @ (quadratic.M @ V), V.T @ (quadratic.M @ x)))


class _Pinned:
    """PinnedInverse behind the two calls of a factorization."""

    def __init__(self, inverse: PinnedInverse) -> None:
        self.inverse = inverse

    def solve(self, r: Array) -> Array:
        return np.asarray(self.inverse.solve(r))

    def solve_transposed(self, r: Array) -> Array:
        return np.asarray(self.inverse.solve(r, transposed=True))

    def destroy(self) -> None:
        self.inverse.destroy()


def factorize(quadratic: Quadratic, chain: NullChain | None) -> tuple[StiffnessInverse, str]:
    """The cheapest factorization that K allows, and its structure: "spd", "symmetric" or "general".

    Raises SingularSystemError when K is singular and no null chain explains it.
    """
    K = quadratic.K
    structures = ["spd", "symmetric"] if quadratic.symmetric_stiffness else ["general"]
    if chain is None:
        return factorized(lambda structure: Factorization(K, structure), structures)
    V = chain.null
    return factorized(lambda structure: _Pinned(PinnedInverse(K, V, structure)), structures)


def factorized(make: Callable[[Any], Inverse], structures: Sequence[str]) -> tuple[Inverse, str]:
    """What `make` returns of the first structure that the matrix has, and that structure."""
    for structure in structures:
        try:
            return make(structure), structure
        except SingularSystemError:
            if structure == structures[-1]:
                raise
    raise AssertionError("unreachable")
