"""Conjugate gradients with algebraic multigrid (PETSc's GAMG), for matrices whose factor does not
fit in memory.

Smoothed aggregation (Vaněk, Mandel & Brezina, Computing 56 (1996) 179) builds its coarse spaces
from vectors of small energy: the rigid motions of the body. On several ranks the rows are
distributed evenly; matrix, vectors and solutions come from the first rank and return to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.errors import ConvergenceError, SingularSystemError
from assembly.linalg.mumps import petsc_arrays, return_memory
from assembly.linalg.symmetric import LARGE
from assembly.magnitudes import MOST_STEPS
from assembly.types import Array

TOLERANCE = 1e-11  # of ‖b − Ax‖ / ‖b‖
OPTIONS = {
    "pc_gamg_threshold": 0.02,
    "pc_gamg_agg_nsmooths": 1,
    "mg_levels_ksp_type": "chebyshev",
    "mg_levels_ksp_max_it": 2,
    "mg_levels_pc_type": "jacobi",
    "pc_gamg_esteig_ksp_max_it": 10,
}
PREFIX = "frozen_motion_multigrid_"


@dataclass(frozen=True)
class RigidMotions:
    """fields (n, m): rigid motions of a body. block: consecutive DOFs of each node, 1 where nodes
    differ.
    """

    fields: Array
    block: int = 1


class MultigridSolver:
    """A⁻¹ of a symmetric positive definite A (n, n) by preconditioned conjugate gradients.

    Parameters
    ----------
    data : tuple or None
        A (csr_matrix) and the rigid motions (n, m); None on other ranks than the first.
    n : int
    block : int
        Consecutive degrees of freedom of one node: 3 of a solid, 1 where nodes differ.
    comm : communicator, optional
        The ranks that take part. Default: this one alone.

    Raises SingularSystemError when A proves not to be positive definite.
    """

    def __init__(
        self, data: tuple[sp.csr_matrix, Array] | None, n: int, block: int, comm: Any = None
    ) -> None:
        from petsc4py import PETSc

        self._PETSc, self.size = PETSc, n
        self.comm = PETSc.COMM_SELF if comm is None else comm
        rows, motions = (None, np.zeros((0, 0))) if data is None else data
        if comm is not None:  # the other ranks have no entries of as many rigid motions
            count = comm.bcast(motions.shape[1])
            motions = np.zeros((0, count)) if data is None else motions
        self.matrix = self._distributed(rows, block)
        self.matrix.setOption(PETSc.Mat.Option.SPD, True)
        self.b, self.x = self.matrix.createVecLeft(), self.matrix.createVecRight()
        self.scatter, self.whole = PETSc.Scatter.toZero(self.b)
        self._set_motions(motions)
        self.ksp = self._solver()
        self.iterations = 0
        if n >= LARGE:
            return_memory()

    def _distributed(self, rows: sp.csr_matrix | None, block: int) -> Any:
        """The matrix over the ranks, whole nodes evenly, from all its rows on the first."""
        PETSc = self._PETSc
        local = self.size if rows is not None else 0
        size = ((local, self.size), (local, self.size))
        arrays = petsc_arrays(rows)
        matrix = PETSc.Mat().createAIJ(size, bsize=block, csr=arrays, comm=self.comm)
        if self.comm.size == 1:
            return matrix
        nodes, rank, ranks = self.size // block, self.comm.rank, self.comm.size
        first, last = nodes * rank // ranks, nodes * (rank + 1) // ranks
        own_nodes = np.arange(first, last, dtype=PETSc.IntType)
        own = PETSc.IS().createBlock(block, own_nodes, comm=self.comm)
        parts = matrix.createSubMatrix(own, own)
        own.destroy()
        matrix.destroy()
        return parts

    def _set_motions(self, motions: Array) -> None:
        """The rigid motions, orthonormal, as the near null space of A."""
        vectors: list[Any] = []
        for column in motions.T:
            vector = self.x.duplicate()
            self._distribute(column, vector)
            for _ in range(2):
                for other in vectors:
                    vector.axpy(-vector.dot(other), other)
            if vector.normalize() > 0.0:
                vectors.append(vector)
        space = self._PETSc.NullSpace().create(vectors=vectors, comm=self.matrix.comm)
        self.matrix.setNearNullSpace(space)
        for owned in (space, *vectors):
            owned.destroy()

    def _solver(self) -> Any:
        PETSc = self._PETSc
        options = PETSc.Options(PREFIX)
        for name, value in OPTIONS.items():
            if not options.hasName(name):
                options[name] = value
        ksp = PETSc.KSP().create(self.matrix.comm)
        ksp.setOptionsPrefix(PREFIX)
        ksp.setOperators(self.matrix)
        ksp.setType(PETSc.KSP.Type.CG)
        ksp.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
        ksp.setTolerances(rtol=TOLERANCE, atol=0.0, max_it=MOST_STEPS)
        ksp.getPC().setType(PETSc.PC.Type.GAMG)
        ksp.setFromOptions()
        ksp.setUp()
        return ksp

    def solve(self, b: Array, transpose: bool) -> Array:
        """A⁻¹b of real (n,) or (n, k); (0,) or (0, k) on other ranks than the first.

        Raises SingularSystemError for an A that is not positive definite, ConvergenceError.
        """
        if b.ndim == 1:
            return self._solve_one(b)
        solutions = np.empty(b.shape, order="F")
        for k in range(b.shape[1]):
            solutions[:, k] = self._solve_one(np.ascontiguousarray(b[:, k]))
        return solutions

    def _solve_one(self, b: Array) -> Array:
        self._distribute(b, self.b)
        self.ksp.solve(self.b, self.x)
        self.iterations += self.ksp.getIterationNumber()
        reason = self.ksp.getConvergedReason()
        reasons = self._PETSc.KSP.ConvergedReason
        if reason in (reasons.DIVERGED_INDEFINITE_PC, reasons.DIVERGED_INDEFINITE_MAT):
            raise SingularSystemError("a matrix that must be positive definite is not")
        if reason < 0:
            raise ConvergenceError(
                f"conjugate gradients: {self.ksp.getIterationNumber()} iterations did not reach "
                f"{TOLERANCE:g} (PETSc's reason {reason}); use the direct method"
            )
        self.scatter.scatter(self.x, self.whole)
        return np.array(self.whole.getArray(readonly=True).real)

    def _distribute(self, values: Array, vector: Any) -> None:
        """The values of the first rank, (0,) on the others, into a vector over all ranks."""
        self.whole.setArray(values)
        self.scatter.scatter(self.whole, vector, mode=self._PETSc.ScatterMode.REVERSE)

    def negative_pivots(self) -> int:
        """There are no pivots."""
        raise ValueError("inertia needs a factorization")

    def destroy(self) -> None:
        """Give the memory back."""
        for owned in (self.ksp, self.scatter, self.whole, self.b, self.x, self.matrix):
            owned.destroy()
        if self.size >= LARGE:
            return_memory()
