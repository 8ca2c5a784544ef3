"""The square Jacobians of a loop closure: scaled, checked to be regular, solved with."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from assembly.types import Array, Mask

SINGULAR = 1e-8  # smallest over largest singular value of the scaled Jacobian


class Jacobian:
    """∂Φ/∂(rigid DOFs) J (..., m, m) at one position or several, regular or not.

    rows, columns (m,): positive scales that bring all entries to one unit; S = rows J columns.
    """

    def __init__(self, J: Array, rows: Array, columns: Array) -> None:
        self._J, self._rows, self._columns = J, rows, columns
        self.scaled = rows[:, None] * J * columns

    def at(self, n: int) -> Jacobian:
        """That of one position."""
        return Jacobian(self._J[n], self._rows, self._columns)

    @cached_property
    def side(self) -> Array:
        """The sign of det J (...), which changes in a singular position."""
        return np.asarray(np.linalg.slogdet(self.scaled)[0])

    @cached_property
    def is_singular(self) -> Mask:
        """Whether the singular values show a singular position, (...)."""
        sizes = np.linalg.svd(self.scaled, compute_uv=False)
        return np.asarray(~(sizes[..., -1] > SINGULAR * sizes[..., 0]))

    @property
    def loosest(self) -> Array:
        """The left singular vector (..., m) of the smallest singular value: which conditions give
        way."""
        return np.asarray(np.linalg.svd(self.scaled)[0][..., -1])

    def solve(self, rhs: Array) -> Array:
        """J⁻¹ of a vector (..., m) at each position."""
        return self.solve_columns(rhs[..., None])[..., 0]

    @cached_property
    def _inverse(self) -> Array:
        return np.asarray(np.linalg.inv(self.scaled))

    def largest(self, speeds: Array, rates: Array) -> Array:
        """|J⁻¹| of the terms of Φ̈ that are products of velocities, (..., m).

        speeds: moduli of the velocities (..., m); rates: of the frames of each condition (..., m).
        """
        terms = rates[..., None] * (np.abs(self.scaled) @ (speeds / self._columns)[..., None])
        return np.asarray((np.abs(self._inverse) @ terms)[..., 0] * self._columns)

    def solve_columns(self, rhs: Array) -> Array:
        """J⁻¹ of columns (..., m, k)."""
        return np.asarray(
            np.linalg.solve(self.scaled, self._rows[:, None] * rhs) * self._columns[:, None]
        )

    def solve_transposed(self, rhs: Array) -> Array:
        """J⁻ᵀ of a vector (..., m)."""
        turned = np.swapaxes(self.scaled, -1, -2)
        return np.asarray(
            np.linalg.solve(turned, (rhs * self._columns)[..., None])[..., 0] * self._rows
        )
