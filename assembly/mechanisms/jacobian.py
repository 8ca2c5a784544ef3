"""The square Jacobian of a loop closure at one position: checked to be regular, factorized once."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.linalg as la

from assembly.types import Array

SINGULAR = 1e-8  # smallest over largest singular value of the scaled Jacobian
SURELY_REGULAR = 1e-4  # LAPACK's estimate of 1/‖S‖₁‖S⁻¹‖₁, n times larger at most than that ratio


class Jacobian:
    """∂Φ/∂(rigid DOFs) J (m, m), regular or not.

    rows, columns (m,): positive scales that bring all entries to one unit; S = rows J columns.
    """

    def __init__(self, J: Array, rows: Array, columns: Array) -> None:
        self._rows, self._columns = rows, columns
        self.scaled = rows[:, None] * J * columns
        self._lu, self._pivots, _ = la.lapack.dgetrf(self.scaled)

    @cached_property
    def side(self) -> float:
        """The sign of det J, which changes in a singular position."""
        exchanges = np.count_nonzero(self._pivots != np.arange(len(self._pivots)))
        return float(np.prod(np.sign(np.diag(self._lu))) * (-1.0) ** exchanges)

    @cached_property
    def is_singular(self) -> bool:
        """Whether the singular values tell a singular position; most are cleared by an estimate."""
        size = float(np.abs(self.scaled).sum(axis=0).max())
        if la.lapack.dgecon(self._lu, size)[0] > SURELY_REGULAR:
            return False
        sizes = np.linalg.svd(self.scaled, compute_uv=False)
        return bool(sizes[-1] <= SINGULAR * sizes[0])

    @property
    def loosest(self) -> Array:
        """The left singular vector of the smallest singular value: which conditions give way."""
        return np.asarray(np.linalg.svd(self.scaled)[0][:, -1])

    def solve(self, rhs: Array) -> Array:
        """J⁻¹ of a vector or of columns (m, ...)."""
        found, _ = la.lapack.dgetrs(self._lu, self._pivots, (rhs.T * self._rows).T)
        return np.asarray((found.T * self._columns).T)

    def solve_transposed(self, rhs: Array) -> Array:
        """J⁻ᵀ of a vector (m,)."""
        found, _ = la.lapack.dgetrs(self._lu, self._pivots, rhs * self._columns, trans=1)
        return np.asarray(found * self._rows)
