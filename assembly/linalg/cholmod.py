"""CHOLMOD's Cholesky factor through scikit-sparse, an optional package that needs no PETSc."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.errors import SingularSystemError
from assembly.optional import optional
from assembly.types import Array


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
