"""What an expert's SLEPc does for one instant: PEP TOAR, real, MUMPS LU, shift-and-invert."""

from __future__ import annotations

import time

import numpy as np
from petsc4py import PETSc
from scipy.sparse import csr_matrix
from slepc4py import SLEPc

from assembly.system.frozen import FrozenSystem


def petsc_matrix(A: csr_matrix) -> PETSc.Mat:
    """A as a PETSc matrix."""
    A = csr_matrix(A)
    A.sort_indices()
    rows = (A.indptr.astype(PETSc.IntType), A.indices.astype(PETSc.IntType))
    return PETSc.Mat().createAIJ(A.shape, csr=(*rows, A.data), comm=PETSc.COMM_SELF)


def petsc_matrices(system: FrozenSystem) -> list[PETSc.Mat]:
    """K, C + D and M."""
    return [petsc_matrix(A) for A in (system.stiffness, system.damping, system.M)]


def toar(
    matrices: list[PETSc.Mat], k: int = 10, tolerance: float = 1e-8, shift: float = 0.0,
    backward_error: float = np.inf,
) -> tuple[float, np.ndarray]:  # fmt: skip
    """(seconds, eigenvalues): k pairs nearest a shift of one instant; the matrices are destroyed.

    A free body needs a shift away from its zero eigenvalues, which are among the pairs. Those of a
    larger backward error are left out.
    """
    start = time.perf_counter()
    pep = SLEPc.PEP().create(PETSc.COMM_SELF)
    pep.setOperators(matrices)
    pep.setType(SLEPc.PEP.Type.TOAR)
    pep.setProblemType(SLEPc.PEP.ProblemType.GENERAL)
    pep.setDimensions(nev=2 * k)  # conjugate pairs
    pep.setTolerances(tolerance, 200)
    pep.setTarget(shift)
    pep.setWhichEigenpairs(SLEPc.PEP.Which.TARGET_MAGNITUDE)
    pep.setScale(SLEPc.PEP.Scale.SCALAR)
    st = pep.getST()
    st.setType(SLEPc.ST.Type.SINVERT)
    st.setShift(shift)
    ksp = st.getKSP()
    ksp.setType(PETSc.KSP.Type.PREONLY)
    ksp.getPC().setType(PETSc.PC.Type.LU)
    ksp.getPC().setFactorSolverType(PETSc.Mat.SolverType.MUMPS)
    pep.solve()
    found = np.array([pep.getEigenpair(i) for i in range(pep.getConverged())], dtype=complex)
    elapsed = time.perf_counter() - start
    if np.isfinite(backward_error):
        kind = SLEPc.PEP.ErrorType.BACKWARD
        errors = np.array([pep.computeError(i, kind) for i in range(len(found))])
        found = found[errors <= backward_error]
    pep.destroy()
    for matrix in matrices:
        matrix.destroy()
    upper = found[found.imag > 0.0]
    return elapsed, upper[np.argsort(np.abs(upper))][:k]
