"""The two Krylov methods for an operator given as a Python callable: SLEPc's and ARPACK's.

An operator is a function of one real matrix. The conjugate of an eigenvector is one too, so real
and imaginary parts together span a real invariant subspace. SLEPc's takes real operators; on its
complex builds the Schur vectors are complex.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse.linalg as spla

from assembly.errors import ConvergenceError
from assembly.magnitudes import MOST_STEPS
from assembly.types import AnyArray
from modal.eigen.quadratic import in_parts
from modal.eigen.tolerances import ATTEMPTS, GROUP
from modal.types import Array, Complex

PETSC_ERR_LIB = 76  # an error in a library that PETSc or SLEPc calls

Apply = Callable[[AnyArray], AnyArray]


@dataclass(frozen=True)
class Invariant:
    """A real orthonormal basis (N, m) of an invariant subspace; complete: all asked for is in."""

    basis: Array
    complete: bool


# Of an operator, a start, a number of eigenvalues and a tolerance.
Engine = Callable[..., Invariant]


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
    `Engine`).

    LAPACK cannot always reorder the projected Schur form of a nearly defective problem (xTREXC:
    blocks too close to swap), which SLEPc takes for a fault: a space of another size is then tried.
    """
    from petsc4py import PETSc

    for attempt in range(ATTEMPTS):
        try:
            ncv = max(2 * count, count + 16) + attempt
            # A restart keeps half of the space.
            restarts = int(min(MOST_STEPS, max(2.0, 2.0 * applications / ncv)))
            return _krylov_schur(apply, start, count, tolerance, ncv, restarts)
        except PETSc.Error as fault:
            if fault.ierr != PETSC_ERR_LIB:
                raise
            reason = str(fault).splitlines()[-1]
    raise ConvergenceError(
        f"SLEPc's projected problem for {count} of {len(start)} eigenvalues failed: {reason}", None
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


def arnoldi(
    apply: Apply, start: Array, count: int, tolerance: float, applications: float = np.inf
) -> Invariant:
    """The subspace of the `count` eigenvalues of largest modulus (see `Engine`).

    ARPACK reports a projected problem that LAPACK cannot order as a fault: a space of another size
    is then tried.
    """
    n = len(start)
    operator = spla.LinearOperator((n, n), matvec=apply, dtype=start.dtype)
    asked = min(count, n - 2)
    for attempt in range(ATTEMPTS):
        ncv = min(n, max(2 * asked + 2, 20) + attempt)
        try:
            most = int(min(MOST_STEPS, max(2.0, 2.0 * applications / ncv)))
            limits = dict(tol=tolerance, ncv=ncv, maxiter=most)
            _, vectors = spla.eigs(operator, asked, which="LM", v0=start, **limits)
            return Invariant(real_span(orthonormal(vectors)), True)
        except spla.ArpackError as fault:
            if isinstance(fault, spla.ArpackNoConvergence):
                return Invariant(real_span(orthonormal(fault.eigenvectors)), False)
            reason = str(fault)
    raise ConvergenceError(f"ARPACK failed for {count} of {n} eigenvalues: {reason}", None)


def orthonormal(vectors: AnyArray, tolerance: float = 1e-10) -> AnyArray:
    """An orthonormal basis of the columns, dependent ones dropped."""
    norms = np.linalg.norm(vectors, axis=0)
    vectors = vectors[:, norms > 0.0] / norms[norms > 0.0]
    Q, R, _ = la.qr(vectors, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(R))
    return np.asarray(Q[:, sizes > tolerance * sizes.max(initial=0.0)])
