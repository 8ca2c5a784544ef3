"""SLEPc's Krylov–Schur method for a real operator given as a Python callable.

On a complex build the Schur vectors are complex. The conjugate of an eigenvector of a real operator
is one too, so their real and imaginary parts together span a real invariant subspace.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np
import scipy.linalg as la

from assembly.errors import ConvergenceError
from modal.eigen.quadratic import in_parts
from modal.eigen.solvers.krylov import Apply, Invariant, orthonormal
from modal.eigen.tolerances import ATTEMPTS, GROUP
from modal.types import Array, Complex

RESTARTS = 300
PETSC_ERR_LIB = 76  # an error in a library that PETSc or SLEPc calls


class _Shell:
    """The context of a PETSc shell matrix; on complex builds real and imaginary parts are applied
    apart."""

    def __init__(self, apply: Apply) -> None:
        self.apply = apply

    def mult(self, matrix: Any, x: Any, y: Any) -> None:
        values = x.getArray(readonly=True)
        if np.any(np.imag(values)):
            y.setArray(self.apply(values.real.copy()) + 1j * self.apply(values.imag.copy()))
        elif np.iscomplexobj(values):
            y.setArray(self.apply(values.real.copy()).astype(complex))
        else:
            y.setArray(self.apply(np.array(values)))


@contextmanager
def _signals_held() -> Iterator[None]:
    """Signals that Python handles are handled after the block: an exception raised by a handler
    while PETSc calls back leaves PETSc in a state that ends the process by a fault later."""
    held: list[tuple[int, FrameType | None]] = []
    handlers: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        numbers = (n for n in signal.Signals if callable(signal.getsignal(n)))
        for number in numbers:
            handlers[number] = signal.signal(number, lambda *received: held.append(received))
    try:
        yield
    finally:
        for handled, handler in handlers.items():
            signal.signal(handled, handler)
    for received in held:
        handlers[received[0]](*received)


def krylov_schur(
    apply: Apply, start: Array, count: int, tolerance: float, applications: float = np.inf
) -> Invariant:
    """The invariant subspace of the `count` eigenvalues of largest modulus (see
    `krylov.Engine`).

    LAPACK cannot always reorder the projected Schur form of a nearly defective problem (xTREXC:
    blocks too close to swap), which SLEPc takes for a fault: a space of another size is then tried.
    """
    from petsc4py import PETSc

    n = len(start)
    for attempt in range(ATTEMPTS):
        try:
            ncv = max(2 * count, count + 16) + attempt
            # A restart keeps half of the space.
            restarts = int(min(RESTARTS, max(2.0, 2.0 * applications / ncv)))
            return _krylov_schur(apply, start, count, tolerance, ncv, restarts)
        except PETSc.Error as fault:
            if fault.ierr != PETSC_ERR_LIB:
                raise
            reason = str(fault).splitlines()[-1]
    raise ConvergenceError(
        f"SLEPc's projected problem for {count} of {n} eigenvalues failed: {reason}", None
    )


def _krylov_schur(
    apply: Apply, start: Array, count: int, tolerance: float, ncv: int, restarts: int
) -> Invariant:
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
        eps.setDimensions(nev=count, ncv=min(n, ncv))
        eps.setTolerances(tolerance, restarts)
        eps.setInitialSpace([first])
        with _signals_held():
            eps.solve()
        converged = eps.getConverged()
        space = eps.getInvariantSubspace() if converged else []
        basis = np.zeros((n, 0))
        if space:
            found = np.stack([v.getArray(readonly=True) for v in space], axis=1)
            basis = orthonormal(real_span(found) if np.iscomplexobj(found) else found)
        return Invariant(basis, complete=converged >= count)
    finally:
        for owned in (*space, first, eps, shell):
            if owned is not None:
                owned.destroy()


def real_span(vectors: Complex) -> Array:
    """A real orthonormal basis of the real and imaginary parts of orthonormal vectors.

    The parts of both members of a pair are the same twice: of singular values (1, 0) then, and in
    between for a member alone.
    """
    U, sizes, _ = la.svd(in_parts(vectors), full_matrices=False)
    return np.asarray(U[:, sizes > GROUP])
