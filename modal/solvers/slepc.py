"""SLEPc's Krylov–Schur method for a real operator given as a Python callable.

On a complex build the Schur vectors are complex, and the partner of the last eigenvalue may be
missing: one more is asked for, what has no partner is left out, and the span of the rest, which is
closed under conjugation, has a real basis.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as la
from scipy.optimize import linear_sum_assignment

from assembly.errors import ConvergenceError
from modal.solvers.krylov import Apply, Invariant, orthonormal
from modal.state import Complex, Real

RESTARTS = 300
ATTEMPTS = 4
PETSC_ERR_LIB = 76  # an error in a library that PETSc or SLEPc calls
PARTNER = 1e-6  # of the largest value: how far a conjugate may be off


class _Shell:
    """The context of a PETSc shell matrix; on complex builds real and imaginary parts are applied
    apart."""

    def __init__(self, apply: Apply) -> None:
        self.apply = apply

    def mult(self, matrix: Any, x: Any, y: Any) -> None:
        values = x.getArray(readonly=True)
        if np.iscomplexobj(values):
            y.setArray(self.apply(values.real.copy()) + 1j * self.apply(values.imag.copy()))
        else:
            y.setArray(self.apply(np.array(values)))


def krylov_schur(apply: Apply, start: Real, count: int, tolerance: float) -> Invariant:
    """The invariant subspace of the `count` eigenvalues of largest modulus (see
    `krylov.Engine`).

    LAPACK cannot always reorder the projected Schur form of a nearly defective problem (xTREXC:
    blocks too close to swap), which SLEPc takes for a fault: a space of another size is then tried.
    """
    from petsc4py import PETSc

    n = len(start)
    for attempt in range(ATTEMPTS):
        try:
            return _krylov_schur(
                apply, start, count, tolerance, max(2 * count, count + 16) + attempt
            )
        except PETSc.Error as fault:
            if fault.ierr != PETSC_ERR_LIB:
                raise
            reason = str(fault).splitlines()[-1]
    raise ConvergenceError(
        f"SLEPc's projected problem for {count} of {n} eigenvalues failed: {reason}", None
    )


def _krylov_schur(apply: Apply, start: Real, count: int, tolerance: float, ncv: int) -> Invariant:
    from petsc4py import PETSc
    from slepc4py import SLEPc

    n = len(start)
    shell = PETSc.Mat().createPython((n, n), _Shell(apply), comm=PETSc.COMM_SELF)
    eps = SLEPc.EPS().create(PETSc.COMM_SELF)
    first: Any = None
    space: list[Any] = []
    try:
        shell.setUp()
        first = shell.createVecRight()
        first.setArray(start)
        eps.setOperators(shell)
        eps.setProblemType(SLEPc.EPS.ProblemType.NHEP)
        eps.setType(SLEPc.EPS.Type.KRYLOVSCHUR)
        eps.setWhichEigenpairs(SLEPc.EPS.Which.LARGEST_MAGNITUDE)
        is_complex = np.issubdtype(PETSc.ScalarType, np.complexfloating)
        count = min(count + 1 if is_complex else count, n)
        eps.setDimensions(nev=count, ncv=min(n, ncv))
        eps.setTolerances(tolerance, RESTARTS)
        eps.setInitialSpace([first])
        eps.solve()
        converged = eps.getConverged()
        space = eps.getInvariantSubspace() if converged else []
        basis = np.zeros((n, 0))
        if space:
            found = np.stack([v.getArray(readonly=True) for v in space], axis=1)
            if is_complex:
                values = np.array([eps.getEigenvalue(j) for j in range(found.shape[1])])
                found = real_span(found[:, : closed_under_conjugation(values)])
            basis = orthonormal(found)
        return Invariant(basis, complete=converged >= count)
    finally:
        for owned in (*space, first, eps, shell):
            if owned is not None:
                owned.destroy()


def closed_under_conjugation(values: Complex) -> int:
    """How many of the values, counted from the first, all have their conjugates among them."""
    for count in range(len(values), 0, -1):
        kept = values[:count]
        cost = np.abs(kept[:, None] - kept.conj()[None, :])
        rows, columns = linear_sum_assignment(cost)
        if np.all(cost[rows, columns] <= PARTNER * np.abs(kept).max()):
            return count
    return 0


def real_span(vectors: Complex) -> Real:
    """A real orthonormal basis of the span of orthonormal vectors that is closed under conjugation.

    With vectors = Q U, Q real and U unitary, [Re, Im] = Q [Re U, Im U] has the singular values 1
    and 0 only, and the left singular vectors of the ones span Q.
    """
    U, sizes, _ = la.svd(np.hstack([vectors.real, vectors.imag]), full_matrices=False)
    return np.asarray(U[:, sizes > 0.5])
