"""Factors without PETSc: SuperLU (scipy) for small matrices, for signs on complex builds, and for
whatever PETSc is missing for; CHOLMOD's Cholesky factor where scikit-sparse is installed.

Without row exchanges LU of a symmetric matrix is LDLᵀ, with D the diagonal of U: the matrix is
positive definite when all of D is, and by Sylvester's law of inertia it has as many negative
eigenvalues as D has negative entries.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from assembly.errors import SingularSystemError
from assembly.magnitudes import ROUND_OFF
from assembly.optional import optional
from assembly.types import Array, Index

UNPIVOTED = dict(diag_pivot_thresh=0.0, options={"SymmetricMode": True})


class SuperLUFactor:
    """A = LU in real arithmetic; order: the DOFs' order to eliminate in, SuperLU's if None."""

    def __init__(self, A: sp.spmatrix, structure: str, order: Index | None = None) -> None:
        self.order, self.matrix = order, A
        unpivoted = structure == "spd"
        try:
            self.lu = _unpivoted(A, order) if unpivoted else spla.splu(sp.csc_matrix(A))
        except RuntimeError as fault:
            raise SingularSystemError(
                f"a {A.shape[0]}×{A.shape[0]} matrix is singular: {fault}"
            ) from None
        if unpivoted and not (_unexchanged(self.lu) and np.all(self.lu.U.diagonal() > 0.0)):
            raise SingularSystemError("a matrix that must be positive definite is not")

    def solve(self, b: Array, transpose: bool) -> Array:
        """A⁻¹b or A⁻ᵀb of real (n,) or (n, k)."""
        trans = "T" if transpose else "N"
        if self.order is None:
            return np.asarray(self.lu.solve(np.ascontiguousarray(b), trans=trans))
        x = np.empty_like(b)
        x[self.order] = self.lu.solve(np.ascontiguousarray(b[self.order]), trans=trans)
        return x

    def negative_pivots(self) -> int:
        """The number of negative eigenvalues of a symmetric A. Raises as `inertia` does."""
        return inertia(self.matrix, self.order)

    def destroy(self) -> None:
        """Python gives the memory back with the object."""


def inertia(A: sp.spmatrix, order: Index | None = None, dense: int = 3000) -> int:
    """The number of negative eigenvalues of a symmetric A: of up to so many DOFs by LAPACK's
    pivoted LDLᵀ, in about a second.

    Raises SingularSystemError when a pivot is zero, or as `unpivoted_inertia` does.
    """
    if A.shape[0] > dense:
        return unpivoted_inertia(A, order)
    lower, pivots, fault = la.lapack.dsytrf(A.toarray(), lower=1, lwork=64 * A.shape[0])
    if fault:
        raise SingularSystemError(f"a {A.shape[0]}×{A.shape[0]} matrix is singular")
    single = pivots > 0  # a pivot of 2 × 2, marked twice, has one eigenvalue of each sign
    return int(np.count_nonzero(lower.diagonal()[single] < 0.0) + np.count_nonzero(~single) // 2)


def unpivoted_inertia(A: sp.spmatrix, order: Index | None = None) -> int:
    """The number of negative eigenvalues of a symmetric A, from LDLᵀ without pivoting.

    Nothing keeps such a factor from growing, so its product is held against A on a random vector.
    Raises SingularSystemError when a pivot is zero or the product is not A.
    """
    fault = SingularSystemError(
        f"the inertia of a {A.shape[0]}×{A.shape[0]} matrix cannot be read off LDLᵀ without "
        "pivoting: an eigenvalue of a leading part is next to zero"
    )
    try:
        lu = _unpivoted(A, order)
    except RuntimeError:
        raise fault from None
    pivots = lu.U.diagonal()
    x = np.random.default_rng(0).standard_normal(A.shape[0])
    # perm_r and perm_c are one permutation p: (A x)[p⁻¹] = L U x[p⁻¹] in the order given.
    back = np.argsort(lu.perm_c)
    image = np.empty_like(x)
    image[back] = lu.L @ (lu.U @ x[back])
    true = A @ x if order is None else A[order][:, order] @ x
    size = np.abs(A).sum(axis=1).max() * np.linalg.norm(x)
    if not _unexchanged(lu) or not np.linalg.norm(image - true) <= ROUND_OFF * size:
        raise fault
    return int(np.count_nonzero(pivots < 0.0))


def _unpivoted(A: sp.spmatrix, order: Index | None) -> Any:
    if order is None:
        return spla.splu(sp.csc_matrix(A), permc_spec="MMD_AT_PLUS_A", **UNPIVOTED)
    csr = sp.csr_matrix(A)
    return spla.splu(sp.csc_matrix(csr[order][:, order]), permc_spec="NATURAL", **UNPIVOTED)


def _unexchanged(lu: Any) -> bool:
    """Whether every pivot was taken from the diagonal."""
    return bool(np.array_equal(lu.perm_r, lu.perm_c))


class CholmodFactor:
    """A = LLᵀ of a positive definite A (n, n). Raises SingularSystemError for any other."""

    def __init__(self, A: sp.spmatrix) -> None:
        cholmod = optional("sksparse.cholmod", "CHOLMOD")
        columns = sp.csc_matrix(A)
        columns.sort_indices()
        try:
            if hasattr(cholmod, "cho_factor"):  # from scikit-sparse 0.5 on
                self._solve: Any = cholmod.cho_factor(columns).solve
            else:  # its LDLᵀ, by which others are factorized, accepts indefinite matrices
                self._solve = cholmod.cholesky(columns, mode="supernodal")
        except cholmod.CholmodNotPositiveDefiniteError:
            raise SingularSystemError("a matrix that must be positive definite is not") from None

    def solve(self, b: Array, transpose: bool) -> Array:
        """A⁻¹b of real (n,) or (n, k)."""
        return np.asarray(self._solve(np.asfortranarray(b)))

    def negative_pivots(self) -> int:
        """A is positive definite."""
        return 0

    def destroy(self) -> None:
        """Python gives the memory back with the object."""
