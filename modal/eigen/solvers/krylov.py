"""Modes of an instant from an invariant subspace of the inverse state operator.

A Krylov method on one vector sees a cluster one member at a time, so its result is verified: a
second run on the orthogonal complement of the invariant subspace found (whose compression has the
remaining eigenvalues, as in Schur locking) must find nothing inside the wanted radius, or what it
finds is added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.linalg as la

from assembly.errors import ConvergenceError
from modal.eigen.solvers.pairs import Pairs
from modal.types import Array, Complex

TOLERANCE = 1e-13  # of |γ/λ|, in the residual of the inverse operator
PROBE_TOLERANCE = 1e-4  # of a run that only tests whether modes are missing
ROUNDS = 20

Apply = Callable[[Array], Array]


@dataclass(frozen=True)
class Invariant:
    """A real orthonormal basis (N, m) of an invariant subspace; complete: all asked for is in."""

    basis: Array
    complete: bool


# Of an operator, a start, a number of eigenvalues and a tolerance.
Engine = Callable[..., Invariant]


class SpectralOperator(Protocol):
    """A real operator on states whose eigenvalues of largest modulus belong to the wanted modes.

    size: of a state; rank: number of eigenvalues that are not removed; gain(λ): modulus of the
    operator's eigenvalue that belongs to λ; pairs: the modes of an invariant subspace, best first.
    """

    @property
    def size(self) -> int: ...
    @property
    def rank(self) -> int: ...
    def apply(self, x: Array) -> Array: ...
    def start(self, seed: int) -> Array: ...
    def gain(self, eigenvalues: Complex) -> Array: ...
    def pairs(self, basis: Array, method: str) -> Pairs: ...


def solve_krylov(
    operator: SpectralOperator, k: int, engine: Engine, method: str, seed: int = 0
) -> Pairs:
    """At least k modes (Im λ ≥ 0) of largest gain, if there are so many, best first.

    Raises ConvergenceError, its `partial` the Pairs that converged.
    """
    rank = operator.rank
    found = engine(operator.apply, operator.start(seed), min(2 * k + 2, rank), TOLERANCE)
    basis = found.basis
    if not found.complete:
        partial = operator.pairs(basis, method) if basis.shape[1] else None
        count = 0 if partial is None else len(partial.eigenvalues)
        raise ConvergenceError(f"{method}: stopped with {count} of {k} modes converged", partial)
    for attempt in range(1, ROUNDS):
        pairs = operator.pairs(basis, method)
        room = rank - basis.shape[1]
        if room <= 0:
            break
        least = operator.gain(pairs.eigenvalues[:k]).min()
        enough = len(pairs.eigenvalues) >= k  # an engine may leave the last two of all to the check
        locked = _Locked(operator, basis)
        start = locked.project(operator.start(seed + attempt))
        if enough:
            probe = engine(locked.apply, start, min(2, room), PROBE_TOLERANCE)
            if probe.basis.shape[1] and locked.largest(probe.basis) < least * (1.0 - 1e-3):
                break
        added = engine(locked.apply, start, min(4, room), TOLERANCE)
        if not added.complete:
            raise ConvergenceError(f"{method}: the check for missed modes did not converge", pairs)
        basis = orthonormal(np.hstack([basis, added.basis]))
        if enough and locked.largest(added.basis) < least * (1.0 - 1e-9):
            break
    return operator.pairs(basis, method)


class _Locked:
    """The compression (I − ZZᵀ)S of an operator S to the complement of an invariant subspace."""

    def __init__(self, operator: SpectralOperator, Z: Array) -> None:
        self.operator, self.Z = operator, Z

    def project(self, x: Array) -> Array:
        x = x - self.Z @ (self.Z.T @ x)
        return np.asarray(x - self.Z @ (self.Z.T @ x))

    def apply(self, x: Array) -> Array:
        return self.project(self.operator.apply(x))

    def largest(self, basis: Array) -> float:
        """The largest modulus of the eigenvalues on an invariant subspace of the compression."""
        return float(np.abs(la.eigvals(basis.T @ self.apply(basis))).max())


def orthonormal(vectors: Array, tolerance: float = 1e-10) -> Array:
    """An orthonormal basis of the columns, dependent ones dropped."""
    norms = np.linalg.norm(vectors, axis=0)
    vectors = vectors[:, norms > 0.0] / norms[norms > 0.0]
    Q, R, _ = la.qr(vectors, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(R))
    return np.asarray(Q[:, sizes > tolerance * sizes.max(initial=0.0)])
