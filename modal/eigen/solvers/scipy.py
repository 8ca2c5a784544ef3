"""ARPACK's implicitly restarted Arnoldi method, through scipy, for a real callable."""

from __future__ import annotations

import numpy as np
import scipy.sparse.linalg as spla

from assembly.errors import ConvergenceError
from modal.eigen.quadratic import in_parts
from modal.eigen.solvers.krylov import Apply, Invariant, orthonormal
from modal.eigen.tolerances import ATTEMPTS
from modal.types import Array, Complex


def arnoldi(
    apply: Apply, start: Array, count: int, tolerance: float, applications: float = np.inf
) -> Invariant:
    """The subspace of the `count` eigenvalues of largest modulus (see `krylov.Engine`).

    ARPACK reports a projected problem that LAPACK cannot order as a fault: a space of another size
    is then tried.
    """
    n = len(start)
    operator = spla.LinearOperator((n, n), matvec=apply, dtype=float)
    asked = min(count, n - 2)
    for attempt in range(ATTEMPTS):
        ncv = min(n, max(2 * asked + 2, 20) + attempt)
        try:
            _, vectors = spla.eigs(
                operator,
                asked,
                which="LM",
                v0=start,
                tol=tolerance,
                ncv=ncv,
                maxiter=int(min(30 * n, max(2.0, 2.0 * applications / ncv))),
            )
            return _invariant(vectors, True)
        except spla.ArpackError as fault:
            if isinstance(fault, spla.ArpackNoConvergence):
                return _invariant(fault.eigenvectors, False)
            reason = str(fault)
    raise ConvergenceError(f"ARPACK failed for {count} of {n} eigenvalues: {reason}", None)


def _invariant(vectors: Complex, complete: bool) -> Invariant:
    if vectors.shape[1] == 0:
        return Invariant(np.zeros((len(vectors), 0)), False)
    return Invariant(orthonormal(in_parts(vectors)), complete)
