"""One factorization behind one call: PETSc's MUMPS for large matrices, scipy's SuperLU for small
ones.

The structure decides the method: Cholesky ("spd"), LDLᵀ ("symmetric") or LU ("general"). All
matrices are real; on a complex PETSc build the same real matrix is factorized in complex
arithmetic and real parts are returned. The object owns its PETSc objects: call `destroy()` or use
it as a context manager.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from numpy.typing import NDArray

from assembly.errors import SingularSystemError

Structure = Literal["spd", "symmetric", "general"]

# Below this many unknowns SuperLU beats the start-up of a PETSc factorization
# (benchmarks/factorization.py).
SMALL = 1500


class Factorization:
    """A⁻¹ of a sparse real A (n, n). `solve` takes (n,) or (n, k), real or complex."""

    def __init__(
        self, A: sp.spmatrix, structure: Structure = "general", small: int = SMALL
    ) -> None:
        self.shape, self.structure = A.shape, structure
        self._petsc: Any = None
        self._lu: Any = None
        if A.shape[0] <= small:
            self._factor_small(A)
        else:
            self._petsc = _PetscFactor(A, structure)

    def _factor_small(self, A: sp.spmatrix) -> None:
        symmetric = self.structure != "general"
        options = dict(
            permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
        try:
            self._lu = spla.splu(sp.csc_matrix(A), **(options if self.structure == "spd" else {}))
        except RuntimeError as fault:
            raise SingularSystemError(
                f"a {A.shape[0]}×{A.shape[0]} matrix is singular: {fault}"
            ) from None
        pivots = self._lu.U.diagonal()
        if symmetric and self.structure == "spd" and np.any(pivots <= 0.0):
            raise SingularSystemError("a matrix that must be positive definite is not")

    def solve(self, b: NDArray[Any]) -> NDArray[Any]:
        """A⁻¹ b."""
        return self._solve(b, transpose=False)

    def solve_transposed(self, b: NDArray[Any]) -> NDArray[Any]:
        """A⁻ᵀ b."""
        return self._solve(b, transpose=self.structure == "general")

    def _solve(self, b: NDArray[Any], transpose: bool) -> NDArray[Any]:
        b = np.asarray(b)
        if np.iscomplexobj(b):
            return self._solve(b.real.copy(), transpose) + 1j * self._solve(
                b.imag.copy(), transpose
            )
        if self._petsc is not None:
            return np.asarray(self._petsc.solve(b, transpose))
        return np.asarray(self._lu.solve(np.ascontiguousarray(b), trans="T" if transpose else "N"))

    @property
    def negative_pivots(self) -> int:
        """The negative inertia of a symmetric A (Sylvester), from MUMPS's LDLᵀ.

        Raises ValueError for a factorization that was not made with structure="symmetric" by PETSc
        (pass small=0 to have it so).
        """
        if self._petsc is None or self.structure != "symmetric":
            raise ValueError("inertia needs structure='symmetric' and small=0")
        return int(self._petsc.negative_pivots())

    def destroy(self) -> None:
        if self._petsc is not None:
            self._petsc.destroy()
            self._petsc = None

    def __enter__(self) -> Factorization:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.destroy()


class _PetscFactor:
    """Owns a KSP(preonly) whose PC holds the MUMPS factor, and two work vectors."""

    def __init__(self, A: sp.spmatrix, structure: Structure) -> None:
        from petsc4py import PETSc

        self._PETSc = PETSc
        real = not np.issubdtype(PETSc.ScalarType, np.complexfloating)
        csr = sp.csr_matrix(A)
        csr.sort_indices()
        indices = tuple(a.astype(PETSc.IntType, copy=False) for a in (csr.indptr, csr.indices))
        self.matrix = PETSc.Mat().createAIJ(
            csr.shape, csr=(*indices, csr.data.astype(PETSc.ScalarType)), comm=PETSc.COMM_SELF
        )
        self.pc = PETSc.PC().create(PETSc.COMM_SELF)
        self.pc.setOperators(self.matrix)
        if structure == "general":
            self.pc.setType(PETSc.PC.Type.LU)
        else:
            self.matrix.setOption(PETSc.Mat.Option.SYMMETRIC, True)
            # MUMPS refuses Hermitian Cholesky in complex builds: a real SPD matrix is then
            # factorized as a complex symmetric one.
            if structure == "spd" and real:
                self.matrix.setOption(PETSc.Mat.Option.SPD, True)
            self.pc.setType(PETSc.PC.Type.CHOLESKY)
        self.pc.setFactorSolverType(PETSc.Mat.SolverType.MUMPS)
        self.pc.setFactorSetUpSolverType()
        factor = self.pc.getFactorMatrix()
        factor.setMumpsIcntl(14, 50)  # room for pivoting, per cent
        if structure == "symmetric":
            factor.setMumpsIcntl(13, 1)  # no ScaLAPACK root: the inertia is then exact
        factor.destroy()
        try:
            self.pc.setUp()
        except PETSc.Error as fault:
            self.destroy()
            raise SingularSystemError(
                f"MUMPS could not factorize a {csr.shape[0]}×{csr.shape[0]} matrix: {fault}"
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

    def solve(self, b: NDArray[np.float64], transpose: bool) -> NDArray[np.float64]:
        if b.ndim == 1:
            self.b.setArray(b)
            (self.factor.solveTranspose if transpose else self.factor.solve)(self.b, self.x)
            return np.array(self.x.getArray(readonly=True).real)
        if transpose or b.shape[1] == 1:
            return np.stack([self.solve(np.ascontiguousarray(c), transpose) for c in b.T], axis=1)
        return self._solve_block(b)

    def _solve_block(self, b: NDArray[np.float64]) -> NDArray[np.float64]:
        # MUMPS solves a block of right-hand sides several times faster than one by one.
        PETSc = self._PETSc
        rhs = PETSc.Mat().createDense(
            b.shape, array=np.asfortranarray(b, dtype=PETSc.ScalarType), comm=PETSc.COMM_SELF
        )
        out = PETSc.Mat().createDense(b.shape, comm=PETSc.COMM_SELF)
        out.setUp()
        try:
            self.factor.matSolve(rhs, out)
            return np.array(out.getDenseArray().real)
        finally:
            rhs.destroy()
            out.destroy()

    def negative_pivots(self) -> int:
        return int(self.factor.getMumpsInfog(12))

    def destroy(self) -> None:
        # Every wrapper, that of the factor too: what petsc4py collects by itself is only put
        # on a list (PetscObjectDelayedDestroy), and the factor would stay in memory.
        for name in ("b", "x", "factor", "pc", "matrix"):
            owned = getattr(self, name, None)
            if owned is not None:
                owned.destroy()
