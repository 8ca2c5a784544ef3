"""ARPACK's implicitly restarted Arnoldi method, through scipy, for a real callable."""

from __future__ import annotations

import numpy as np
import scipy.sparse.linalg as spla

from modal.solvers.krylov import Apply, Invariant, orthonormal
from modal.state import Real


def arnoldi(apply: Apply, start: Real, count: int, tolerance: float) -> Invariant:
    """The subspace of the `count` eigenvalues of largest modulus (see `krylov.Engine`)."""
    n = len(start)
    operator = spla.LinearOperator((n, n), matvec=apply, dtype=float)
    asked = min(count, n - 2)
    try:
        _, vectors = spla.eigs(
            operator,
            asked,
            which="LM",
            v0=start,
            tol=tolerance,
            ncv=min(n, max(2 * asked + 2, 20)),
            maxiter=30 * n,
        )
        complete = True
    except spla.ArpackNoConvergence as stopped:
        vectors, complete = stopped.eigenvectors, False
    if vectors.shape[1] == 0:
        return Invariant(np.zeros((n, 0)), False)
    return Invariant(orthonormal(np.hstack([vectors.real, vectors.imag])), complete)
