"""Modes of an instant from an invariant subspace of the inverse state operator.

A Krylov method on one vector sees a cluster one member at a time, so its result is verified: a
second run on the orthogonal complement of the invariant subspace found (whose compression has the
remaining eigenvalues, as in Schur locking) must find nothing inside the wanted radius, or what it
finds is added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from assembly.errors import ConvergenceError
from modal.eigen.solvers.pairs import Pairs
from modal.eigen.solvers.ritz import pairs_of
from modal.eigen.solvers.shift_invert import ShiftInvert
from modal.eigen.tolerances import COARSE
from modal.types import Array

TOLERANCE = 1e-13  # of |γ/λ|, in the residual of the inverse operator

Apply = Callable[[Array], Array]


@dataclass(frozen=True)
class Invariant:
    """A real orthonormal basis (N, m) of an invariant subspace; complete: all asked for is in."""

    basis: Array
    complete: bool


# Of an operator, a start, a number of eigenvalues and a tolerance.
Engine = Callable[..., Invariant]


def solve_krylov(
    operator: ShiftInvert,
    k: int,
    engine: Engine,
    method: str,
    seed: int = 0,
    complete: bool = True,
) -> Pairs:
    """At least k modes (Im λ ≥ 0) of largest gain, if there are so many, best first.

    complete: raise ConvergenceError, its `partial` the Pairs that converged, where the method stops
    short; otherwise these are returned, not verified.
    """
    rank = operator.rank
    found = engine(operator.apply, operator.start(seed), min(2 * k + 2, rank), TOLERANCE)
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
        added = engine(locked.apply, start, min(4, room), TOLERANCE)
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


def orthonormal(vectors: Array, tolerance: float = 1e-10) -> Array:
    """An orthonormal basis of the columns, dependent ones dropped."""
    norms = np.linalg.norm(vectors, axis=0)
    vectors = vectors[:, norms > 0.0] / norms[norms > 0.0]
    Q, R, _ = la.qr(vectors, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(R))
    return np.asarray(Q[:, sizes > tolerance * sizes.max(initial=0.0)])
