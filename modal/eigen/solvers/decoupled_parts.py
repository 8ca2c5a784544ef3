"""A small definite conservative instant by LAPACK, one independent part after the other.

For a straight beam that rotates about a principal axis, out-of-plane bending, torsion and in-plane
motion decouple: M, C and K are block diagonal, and three problems of a third of the size cost a
ninth. The parts are found from the pattern of the matrices, so they are exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from modal.eigen.quadratic import Quadratic
from modal.eigen.solvers.dense import definite
from modal.eigen.solvers.pairs import Pairs
from modal.types import Array

LARGEST = 80  # degrees of freedom of a part up to which LAPACK beats the block method


def independent_parts(*matrices: Array) -> list[NDArray[Any]]:
    """Degrees of freedom of the parts that none of the dense matrices (n, n) couples."""
    pattern = matrices[0] != 0.0
    for A in matrices[1:]:
        pattern |= A != 0.0
    count, labels = connected_components(sp.csr_matrix(pattern), directed=False)
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.cumsum(np.bincount(labels, minlength=count))[:-1])


def solve_parts(quadratic: Quadratic, k: int) -> Pairs | None:
    """The k lowest modes and more, or None when a part is too large or not definite."""
    matrices = [A.toarray() for A in (quadratic.M, quadratic.C, quadratic.K)]
    parts = independent_parts(*matrices)
    if max(len(part) for part in parts) > LARGEST:
        return None
    frequencies, shapes = [], []
    for part in parts:
        M, C, K = (A[np.ix_(part, part)] for A in matrices)
        found = definite(M, C, K, k)
        if found is None:
            return None
        omega, X = found
        wide = np.zeros((quadratic.n, len(omega)), dtype=complex)
        wide[part] = X
        frequencies.append(omega)
        shapes.append(wide)
    method = f"dense Hermitian, {len(parts)} independent parts"
    pairs = Pairs(1j * np.concatenate(frequencies), np.hstack(shapes), "Cholesky", method)
    return pairs.nearest(0.0)
