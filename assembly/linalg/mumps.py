"""PETSc's MUMPS factor of a sparse real matrix, and PETSc's fill-reducing order.

On a complex PETSc build the real matrix is factorized in complex arithmetic and real parts are
returned. MUMPS then neither refuses an indefinite matrix nor counts negative pivots, since in its
complex arithmetic no pivot has a sign: whoever needs either asks scipy's SuperLU
(assembly/linalg/superlu.py).
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.errors import SingularSystemError
from assembly.types import Array, Index

BLOCK = 2**24  # entries of a block of right-hand sides solved together, 128 MiB, but
NARROWEST = 16  # columns at least: fewer cost more each
LARGE = 100_000  # DOFs from which freed memory is returned to the system


def complex_build() -> bool:
    """Whether PETSc was built with complex scalars."""
    from petsc4py import PETSc

    return bool(np.issubdtype(PETSc.ScalarType, np.complexfloating))


def nested_dissection(A: sp.spmatrix) -> Index:
    """The order of the DOFs of a symmetric pattern that PETSc's nested dissection gives."""
    matrix = _petsc_matrix(A)
    try:
        rows, columns = matrix.getOrdering("nd")
        order = np.array(rows.getIndices(), dtype=np.intp)
        rows.destroy()
        columns.destroy()
        return order
    finally:
        matrix.destroy()


def _petsc_matrix(A: sp.spmatrix) -> Any:
    """A as a PETSc matrix on the arrays of a CSR matrix with sorted rows: nothing is copied that
    has PETSc's types already."""
    from petsc4py import PETSc

    csr = sp.csr_matrix(A)
    if not csr.has_sorted_indices:
        csr = csr.sorted_indices()
    indices = tuple(a.astype(PETSc.IntType, copy=False) for a in (csr.indptr, csr.indices))
    values = csr.data.astype(PETSc.ScalarType, copy=False)
    return PETSc.Mat().createAIJWithArrays(csr.shape, (*indices, values), comm=PETSc.COMM_SELF)


class MumpsFactor:
    """Owns a PC that holds MUMPS's Cholesky ("spd", real builds only), LDLᵀ ("symmetric") or LU."""

    def __init__(self, A: sp.spmatrix, structure: str) -> None:
        from petsc4py import PETSc

        self._PETSc, self.size = PETSc, A.shape[0]
        self.matrix = _petsc_matrix(A)
        self.pc = PETSc.PC().create(PETSc.COMM_SELF)
        self.pc.setOperators(self.matrix)
        if structure == "general":
            self.pc.setType(PETSc.PC.Type.LU)
        else:
            self.matrix.setOption(PETSc.Mat.Option.SYMMETRIC, True)
            if structure == "spd":
                self.matrix.setOption(PETSc.Mat.Option.SPD, True)
            self.pc.setType(PETSc.PC.Type.CHOLESKY)
        self.pc.setFactorSolverType(PETSc.Mat.SolverType.MUMPS)
        self.pc.setFactorSetUpSolverType()
        factor = self.pc.getFactorMatrix()
        factor.setMumpsIcntl(14, 50)  # room for pivoting, per cent
        if structure == "symmetric":
            factor.setMumpsIcntl(13, 1)  # no ScaLAPACK root: the inertia is then exact
        factor.destroy()
        if A.shape[0] >= LARGE:
            return_memory()
        try:
            self.pc.setUp()
        except PETSc.Error as fault:
            self.destroy()
            raise SingularSystemError(
                f"MUMPS could not factorize a {A.shape[0]}×{A.shape[0]} matrix: {fault}"
            ) from None
        self.factor = self.pc.getFactorMatrix()
        if self.factor.getMumpsInfog(1) < 0:
            info = (self.factor.getMumpsInfog(1), self.factor.getMumpsInfog(2))
            self.destroy()
            raise SingularSystemError(
                f"MUMPS: matrix is singular or not positive definite (INFOG {info[0]}, {info[1]})"
            )
        if structure == "spd" and self.factor.getMumpsInfog(12) > 0:
            self.destroy()
            raise SingularSystemError("a matrix that must be positive definite is not")
        self.b = self.matrix.createVecLeft()
        self.x = self.matrix.createVecRight()
        if structure != "general":  # MUMPS has its own copy then; for LU it is the matrix itself
            self.pc.destroy()
            self.matrix.destroy()

    def solve(self, b: Array, transpose: bool) -> Array:
        if b.ndim == 1:
            self.b.setArray(b)
            (self.factor.solveTranspose if transpose else self.factor.solve)(self.b, self.x)
            return np.array(self.x.getArray(readonly=True).real)
        if transpose or b.shape[1] == 1:
            return np.stack([self.solve(np.ascontiguousarray(c), transpose) for c in b.T], axis=1)
        return self._solve_block(b)

    def _solve_block(self, b: Array) -> Array:
        # MUMPS solves a block of right-hand sides several times faster than one by one.
        n, count = b.shape
        solution = np.empty((n, count), order="F")
        width = max(NARROWEST, BLOCK // n)
        for start in range(0, count, width):
            columns = slice(start, min(start + width, count))
            solution[:, columns] = self._solve_columns(b[:, columns])
        return solution

    def _solve_columns(self, b: Array) -> Array:
        PETSc = self._PETSc
        columns = np.asfortranarray(b, dtype=PETSc.ScalarType)
        space = np.empty(b.shape, dtype=PETSc.ScalarType, order="F")
        rhs = PETSc.Mat().createDense(b.shape, array=columns, comm=PETSc.COMM_SELF)
        out = PETSc.Mat().createDense(b.shape, array=space, comm=PETSc.COMM_SELF)
        try:
            self.factor.matSolve(rhs, out)
            return space.real
        finally:
            rhs.destroy()
            out.destroy()

    def negative_pivots(self) -> int:
        """Of a "symmetric" factor on a real build (see the module's note)."""
        return int(self.factor.getMumpsInfog(12))

    def destroy(self) -> None:
        # Every wrapper, that of the factor too: what petsc4py collects by itself is only put
        # on a list (PetscObjectDelayedDestroy), and the factor would stay in memory.
        for name in ("b", "x", "factor", "pc", "matrix"):
            owned = getattr(self, name, None)
            if owned is not None:
                owned.destroy()
        if self.size >= LARGE:
            return_memory()


def return_memory() -> None:
    """Lets the C library return free memory: Open MPI sets it to keep what MUMPS has freed."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # of glibc
        if trim is not None:
            trim(0)
