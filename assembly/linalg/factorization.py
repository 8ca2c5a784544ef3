"""One factorization behind one call: PETSc's MUMPS for large matrices, scipy's for small ones and
wherever PETSc is not installed.

The structure decides the method: Cholesky ("spd"), LDLᵀ ("symmetric") or LU ("general"). All
matrices are real. Without PETSc a Cholesky factorization is CHOLMOD's where scikit-sparse is
installed, and all others are SuperLU's, below `LARGE`. On a complex PETSc build MUMPS works in
complex arithmetic, where pivots have no sign: what depends on signs, positive definiteness and
inertia, is then SuperLU's, in PETSc's nested-dissection order. The object owns its PETSc objects:
call `destroy()` or use it as a context manager.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from assembly.errors import SingularSystemError
from assembly.linalg.multigrid import MultigridSolver, RigidMotions
from assembly.linalg.mumps import (
    MumpsFactor,
    Structure,
    complex_build,
    nested_dissection,
)
from assembly.linalg.solver import active
from assembly.linalg.symmetric import LARGE, Symmetric, is_negative_on
from assembly.linalg.team import SharedFactor
from assembly.linalg.without_petsc import CholmodFactor, SuperLUFactor, inertia
from assembly.optional import check_installed, installed
from assembly.types import AnyArray

__all__ = ["Factorization", "SMALL", "Structure", "cholesky"]

Factor = MumpsFactor | SuperLUFactor | CholmodFactor | MultigridSolver | SharedFactor

# Below this many DOFs SuperLU beats the start-up of a PETSc factorization.
SMALL = 1500


def without_petsc(A: sp.csr_matrix, structure: Structure) -> Factor:
    """The factor of a matrix by scipy, or CHOLMOD. Raises InputError for a large one: a solid of
    57,000 degrees of freedom takes SuperLU minutes."""
    if A.shape[0] > LARGE:
        check_installed("petsc4py", f"a system of {A.shape[0]} degrees of freedom")
    if structure == "spd" and installed("sksparse"):
        return CholmodFactor(A)
    return SuperLUFactor(A, structure)


class Factorization:
    """A⁻¹ of a sparse real A (n, n). `solve` takes (n,) or (n, k), real or complex.

    A is a sparse matrix, or a `Symmetric` one where the structure is not "general".
    motions: gives the rigid motions of the body whose stiffness A is, where a caller needs solves
    only and the iterative method may serve for them (assembly/linalg/solver.py).

    Raises SingularSystemError when A is singular, or not positive definite where structure="spd".
    """

    def __init__(
        self,
        A: sp.spmatrix | Symmetric,
        structure: Structure = "general",
        small: int = SMALL,
        motions: Callable[[], RigidMotions] | None = None,
    ) -> None:
        self.shape, self.structure = A.shape, structure
        self._factor: Factor
        self._signless: sp.spmatrix | None = None
        n, chosen = A.shape[0], active()
        large = n >= chosen.least
        if large and chosen.method == "iterative" and structure == "spd" and motions is not None:
            near = motions()
            data = (A.tocsr(), near.fields)
            if chosen.team is not None:
                self._factor = chosen.team.factorize("multigrid", data, n, near.block)
            else:
                self._factor = MultigridSolver(data, n, near.block)
        elif n <= small and not large:
            self._factor = SuperLUFactor(A.tocsr(), structure)
        elif not installed("petsc4py"):
            self._factor = without_petsc(A.tocsr(), structure)
        elif structure == "spd" and complex_build():
            self._factor = SuperLUFactor(A.tocsr(), structure, nested_dissection(A.tocsr()))
        else:
            whole = structure == "general" or (sp.issparse(A) and chosen.team is None)
            rows = A.tocsr() if whole else Symmetric.of(A).upper
            on_disk = large and chosen.out_of_core
            if large and chosen.team is not None:
                self._factor = chosen.team.factorize("mumps", rows, n, structure, on_disk)
            else:
                self._factor = MumpsFactor(rows, n, structure, out_of_core=on_disk)
            if structure == "symmetric" and complex_build():
                self._signless = A.tocsr()

    def solve(self, b: AnyArray) -> AnyArray:
        """A⁻¹ b."""
        return self._solve(b, transpose=False)

    def solve_transposed(self, b: AnyArray) -> AnyArray:
        """A⁻ᵀ b."""
        return self._solve(b, transpose=self.structure == "general")

    def _solve(self, b: AnyArray, transpose: bool) -> AnyArray:
        b = np.asarray(b)
        if np.iscomplexobj(b):
            return np.asarray(
                self._solve(b.real.copy(), transpose) + 1j * self._solve(b.imag.copy(), transpose)
            )
        return self._factor.solve(b, transpose)

    @property
    def negative_pivots(self) -> int:
        """The negative inertia of a symmetric A (Sylvester), from MUMPS's LDLᵀ on a real build.

        Raises ValueError for a factorization that was not made with structure="symmetric",
        SingularSystemError when one without MUMPS's pivots cannot tell.
        """
        if self.structure != "symmetric":
            raise ValueError("inertia needs structure='symmetric'")
        if self._signless is not None:
            return inertia(self._signless, nested_dissection(self._signless))
        return self._factor.negative_pivots()

    def destroy(self) -> None:
        """Give the memory back."""
        self._factor.destroy()

    def __enter__(self) -> Factorization:
        return self

    def __exit__(self, *fault: object) -> None:
        self.destroy()


def cholesky(
    A: sp.spmatrix | Symmetric, motions: Callable[[], RigidMotions] | None = None
) -> Factorization | None:
    """The factor of a symmetric A, or None where A is not positive definite: where it is not
    negative on `motions` (as of `Factorization`), to factorize it is how one finds out."""
    if motions is not None and is_negative_on(A, motions().fields):
        return None
    try:
        return Factorization(A, "spd", motions=motions)
    except SingularSystemError:
        return None
