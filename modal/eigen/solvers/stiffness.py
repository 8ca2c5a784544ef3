"""K⁻¹, or a generalised inverse of a singular K, from the cheapest real factorization K allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from assembly.errors import SingularSystemError
from assembly.linalg.factorization import Factorization
from assembly.system.null_chain import NullChain, PinnedInverse
from modal.eigen.quadratic import Quadratic

StiffnessInverse = Factorization | PinnedInverse
Inverse = TypeVar("Inverse")


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
    for structure in structures:
        try:
            return make(structure), structure
        except SingularSystemError:
            if structure == structures[-1]:
                raise
    raise AssertionError("unreachable")
