"""PETSc's MUMPS factor of a sparse real matrix, and PETSc's fill-reducing order.

On several ranks all rows belong to the first of them; MUMPS distributes the factor. Every method is
then called by all ranks together, with right-hand sides of no rows on the others.

On a complex PETSc build the real matrix is factorized in complex arithmetic and real parts are
returned. MUMPS then neither refuses an indefinite matrix nor counts negative pivots, since in its
complex arithmetic no pivot has a sign: whoever needs either asks scipy's SuperLU
(assembly/linalg/without_petsc.py).
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from assembly.errors import MemoryLimitError, SingularSystemError, StorageError
from assembly.linalg.symmetric import LARGE
from assembly.magnitudes import ENTRIES
from assembly.types import Array, Index

Structure = Literal["spd", "symmetric", "general"]

TOGETHER = 32  # columns that are solved together at least: fewer cost more each
ROOM = (50, 200, 1600)  # for pivoting, per cent of the estimate; the next where one is too little
PETSC_OUT_OF_MEMORY = 55  # PETSC_ERR_MEM
TOO_LITTLE = (-8, -9, -14, -15, -17, -20)  # INFOG(1) of MUMPS: more room is needed
OUT_OF_MEMORY, OUT_OF_CORE_FAULT = (-7, -13, -19), -90


def complex_build() -> bool:
    """Whether PETSc was built with complex scalars."""
    from petsc4py import PETSc

    return bool(np.issubdtype(PETSc.ScalarType, np.complexfloating))


def nested_dissection(A: sp.spmatrix) -> Index:
    """The order of the DOFs of a symmetric pattern that PETSc's nested dissection gives."""
    from petsc4py import PETSc

    csr = petsc_arrays(sp.csr_matrix(A))
    matrix = PETSc.Mat().createAIJWithArrays(A.shape, csr, comm=PETSc.COMM_SELF)
    try:
        rows, columns = matrix.getOrdering("nd")
        order = np.array(rows.getIndices(), dtype=np.intp)
        rows.destroy()
        columns.destroy()
        return order
    finally:
        matrix.destroy()


def petsc_arrays(A: sp.csr_matrix | None) -> tuple[Any, Any, Any]:
    """Row pointers, columns and values in PETSc's types: nothing is copied that has them already.

    None has no rows.
    """
    from petsc4py import PETSc

    if A is None:
        return np.zeros(1, PETSc.IntType), np.zeros(0, PETSc.IntType), np.zeros(0, PETSc.ScalarType)
    if not A.has_sorted_indices:
        A = A.sorted_indices()
    indptr, indices = (a.astype(PETSc.IntType, copy=False) for a in (A.indptr, A.indices))
    return indptr, indices, A.data.astype(PETSc.ScalarType, copy=False)


class MumpsFactor:
    """MUMPS's Cholesky ("spd", real builds only), LDLᵀ ("symmetric") or LU of a matrix (n, n).

    Parameters
    ----------
    rows : csr_matrix (n, n) or None
        The matrix; of a symmetric one that several ranks share its upper triangle, which serves on
        one rank too. None on other ranks than the first.
    n : int
    structure : {"spd", "symmetric", "general"}
    out_of_core : bool
        Keep the factor in the folder that assembly/linalg/solver.py has made.
    comm : communicator, optional
        The ranks that share the factor. Default: this one alone.
    """

    def __init__(
        self,
        rows: sp.csr_matrix | None,
        n: int,
        structure: Structure,
        out_of_core: bool = False,
        comm: Any = None,
    ) -> None:
        from petsc4py import PETSc

        self._PETSc, self.size, self.structure = PETSc, n, structure
        self.comm = PETSc.COMM_SELF if comm is None else comm
        self.shared = comm is not None
        self.out_of_core = out_of_core
        self.local = n if rows is not None else 0
        self.matrix = self._matrix(rows)
        del rows
        if n >= LARGE:
            return_memory()
        for room in ROOM:
            status = self._factorize(room)
            if status not in TOO_LITTLE:
                break
            self.pc.destroy()
        self._raise_for(status)
        self.factor = self.pc.getFactorMatrix()
        if structure == "spd" and self.factor.getMumpsInfog(12) > 0:
            self.destroy()
            raise SingularSystemError("a matrix that must be positive definite is not")
        self.b = self.matrix.createVecLeft()
        self.x = self.matrix.createVecRight()
        if structure != "general":  # MUMPS has its own copy then; for LU it is the matrix itself
            self.pc.destroy()
            self.matrix.destroy()

    def _matrix(self, rows: sp.csr_matrix | None) -> Any:
        PETSc = self._PETSc
        arrays = petsc_arrays(rows)
        size = ((self.local, self.size), (self.local, self.size))
        if not self.shared:  # nothing is copied; of a symmetric matrix PETSc reads one triangle
            matrix = PETSc.Mat().createAIJWithArrays(size, arrays, comm=self.comm)
        elif self.structure == "general":
            matrix = PETSc.Mat().createAIJ(size, csr=arrays, comm=self.comm)
        else:
            matrix = PETSc.Mat().createSBAIJ(size, 1, csr=arrays, comm=self.comm)
        if self.structure == "spd":
            matrix.setOption(PETSc.Mat.Option.SPD, True)
        return matrix

    def _factorize(self, room: int) -> int:
        """INFOG(1) of MUMPS after the factorization, 0 when it is done."""
        PETSc = self._PETSc
        self.pc = PETSc.PC().create(self.comm)
        self.pc.setOperators(self.matrix)
        kinds = PETSc.PC.Type
        self.pc.setType(kinds.LU if self.structure == "general" else kinds.CHOLESKY)
        self.pc.setFactorSolverType(PETSc.Mat.SolverType.MUMPS)
        self.pc.setFactorSetUpSolverType()
        factor = self.pc.getFactorMatrix()
        factor.setMumpsIcntl(14, room)
        if self.structure == "symmetric":
            factor.setMumpsIcntl(13, 1)  # no ScaLAPACK root: the inertia is then exact
        if self.out_of_core:
            factor.setMumpsIcntl(22, 1)
        try:
            self.pc.setUp()
            return int(factor.getMumpsInfog(1))
        except PETSc.Error as fault:
            self.destroy()
            if fault.ierr == PETSC_OUT_OF_MEMORY:
                raise self._too_large() from None
            raise SingularSystemError(
                f"MUMPS could not factorize a {self.size}×{self.size} matrix: {fault}"
            ) from None
        finally:
            factor.destroy()

    def _raise_for(self, status: int) -> None:
        """The error of MUMPS's INFOG(1), if it is one."""
        if status >= 0:
            return
        self.destroy()
        what = f"a {self.size}×{self.size} matrix"
        if status == OUT_OF_CORE_FAULT:
            raise StorageError(f"out_of_core: the factor of {what} could not be written")
        if status in OUT_OF_MEMORY or status in TOO_LITTLE:
            raise self._too_large()
        raise SingularSystemError(
            f"MUMPS: {what} is singular or not positive definite (INFOG {status})"
        )

    def _too_large(self) -> MemoryLimitError:
        return MemoryLimitError(
            f"MUMPS: out of memory: the factor of a {self.size}×{self.size} matrix does not fit; "
            "take a coarser mesh, or factors on disk (out_of_core)"
        )

    def solve(self, b: Array, transpose: bool) -> Array:
        """A⁻¹b or A⁻ᵀb of real (n,) or (n, k); (0,) or (0, k) on other ranks than the first."""
        if b.ndim == 1:
            self.b.setArray(b)
            (self.factor.solveTranspose if transpose else self.factor.solve)(self.b, self.x)
            return np.array(self.x.getArray(readonly=True).real)
        if transpose or b.shape[1] == 1:
            columns = [self.solve(np.ascontiguousarray(c), transpose) for c in b.T]
            return np.stack(columns, axis=1)
        # MUMPS solves a block of right-hand sides several times faster than one by one.
        solution = np.empty((self.local, b.shape[1]), order="F")
        width = max(TOGETHER, 4 * ENTRIES // self.size)
        for start in range(0, b.shape[1], width):
            part = slice(start, start + width)
            solution[:, part] = self._solve_columns(b[:, part])
        return solution

    def _solve_columns(self, b: Array) -> Array:
        PETSc, k = self._PETSc, b.shape[1]
        values = np.asfortranarray(b, dtype=PETSc.ScalarType)
        space = np.empty(b.shape, dtype=PETSc.ScalarType, order="F")
        size = ((self.local, self.size), (None, k) if self.shared else (k, k))
        rhs = PETSc.Mat().createDense(size, array=values, comm=self.comm)
        out = PETSc.Mat().createDense(size, array=space, comm=self.comm)
        try:
            # Columns for which the factor is read once: all of them from a disk.
            self.factor.setMumpsIcntl(27, k if self.out_of_core else TOGETHER)
            self.factor.matSolve(rhs, out)
            return space.real
        except PETSc.Error:
            if not self.out_of_core:
                raise
            raise StorageError("out_of_core: the factor could not be read back") from None
        finally:
            rhs.destroy()
            out.destroy()

    def negative_pivots(self) -> int:
        """Of a "symmetric" factor on a real build (see the module's note)."""
        return int(self.factor.getMumpsInfog(12))

    def destroy(self) -> None:
        """Give the memory back."""
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
