"""Eigenpairs as a backend returns them, and the choice of one of each conjugate pair."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from modal.eigen.spectrum import levels, rotated
from modal.eigen.tolerances import GROUP
from modal.types import Array, Complex, Index


@dataclass(frozen=True)
class Pairs:
    """Eigenpairs of one frozen system as a backend found them, all of them, best first.

    eigenvalues (k,) rad/s; right (n, k) displacement parts; factorization: the factor used
    ("Cholesky", "LDLᵀ", "LU", "none"); method: the algorithm; solves: systems with the stiffness
    solved; left (n, k): left vectors y, yᴴQ(λ) = 0, where the backend has them; accuracy: the
    backward error that the algorithm stops at, where that is not round-off.
    """

    eigenvalues: Complex
    right: Complex
    factorization: str
    method: str
    solves: int = 0
    left: Complex | None = None
    accuracy: float = 0.0

    @property
    def total(self) -> int:
        """Number of eigenvalues with the conjugates of those above the real axis."""
        return len(self.eigenvalues) + int((self.eigenvalues.imag > 0.0).sum())

    def take(self, index: NDArray[Any]) -> Pairs:
        """Those numbered, in that order; the same object when that is all of them as they are."""
        if index.dtype != bool and np.array_equal(index, np.arange(len(self.eigenvalues))):
            return self
        left = None if self.left is None else self.left[:, index]
        return replace(
            self, eigenvalues=self.eigenvalues[index], right=self.right[:, index], left=left
        )

    def upper(self) -> Pairs:
        """One of each conjugate pair, Im λ ≥ 0; real eigenvalues each once."""
        return self.take(np.flatnonzero(self.eigenvalues.imag >= 0.0))

    def doubled(self, double: Index) -> Pairs:
        """Replaces each numbered pair by two real eigenpairs: of x = a + ib, a and b."""
        index = np.sort(np.concatenate([np.arange(len(self.eigenvalues)), double]))
        second = np.diff(index, prepend=-1) == 0
        which = np.isin(index, double)
        made = self.take(index)

        def parts(X: Complex) -> Complex:
            whole = rotated(X)
            return np.where(which, np.where(second, whole.imag, whole.real), X)

        return replace(
            made,
            eigenvalues=np.where(which, made.eigenvalues.real, made.eigenvalues),
            right=parts(made.right),
            left=None if made.left is None else parts(made.left),
        )

    def nearest(self, target: complex) -> Pairs:
        """Sorted by distance to the target."""
        return self.ascending(np.abs(self.eigenvalues - target))

    def ascending(self, sizes: Array) -> Pairs:
        """Sorted by sizes (k,); those equal to 1e-8 by |λ|, Re λ, then Im λ."""
        lam = self.eigenvalues
        return self.take(np.lexsort((lam.imag, lam.real, levels(np.abs(lam)), levels(sizes))))


def clusters(eigenvalues: Complex, distance: float = GROUP) -> list[list[int]]:
    """Groups of indices whose eigenvalues chain together within a relative distance."""
    order = np.argsort(np.abs(eigenvalues), kind="stable")
    sizes, groups = np.abs(eigenvalues)[order], list[list[int]]()
    # Eigenvalues that are near have sizes that are.
    cuts = np.flatnonzero(np.diff(sizes) > distance * sizes[1:]) + 1
    for start, end in pairwise([0, *cuts.tolist(), len(order)]):
        block = np.sort(order[start:end])
        if len(block) == 1:
            groups.append([int(block[0])])
            continue
        lam = eigenvalues[block]
        near = np.abs(lam[:, None] - lam) <= distance * np.abs(lam)[:, None]
        count, group = connected_components(near, directed=False)
        groups += [block[group == g].tolist() for g in range(count)]
    return sorted(groups)
