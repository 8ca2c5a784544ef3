"""SLEPc's Krylov–Schur method for a real operator given as a Python callable."""

from __future__ import annotations

from typing import Any

import numpy as np

from modal.solvers.krylov import Apply, Invariant, orthonormal
from modal.state import Real

RESTARTS = 300


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
    `krylov.Engine`)."""
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
        count = min(count, n)
        eps.setDimensions(nev=count, ncv=min(n, max(2 * count, count + 16)))
        eps.setTolerances(tolerance, RESTARTS)
        eps.setInitialSpace([first])
        eps.solve()
        converged = eps.getConverged()
        space = eps.getInvariantSubspace() if converged else []
        basis = np.zeros((n, 0))
        if space:
            found = np.stack([v.getArray(readonly=True) for v in space], axis=1)
            basis = orthonormal(
                np.hstack([found.real, found.imag]) if np.iscomplexobj(found) else found
            )
        return Invariant(basis, complete=converged >= count)
    finally:
        for owned in (*space, first, eps, shell):
            if owned is not None:
                owned.destroy()
