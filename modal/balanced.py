"""A matrix function of time in coordinates of one scale, sampled at many instants at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from modal.interpolation import Interpolant

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Balanced:
    """S⁻¹ A(t) S with S = diag(scale), from the balancing of A at one instant.

    Displacements and velocities get sizes that can be compared; eigenvalues do not change.
    """

    matrix: Callable[[float], Array]
    scale: Array

    @classmethod
    def at(cls, matrix: Callable[[float], Array], t: float) -> Balanced:
        """Scaled by the powers of two that balance A(t)."""
        _, (scale, _) = la.matrix_balance(
            np.asarray(matrix(t), dtype=float), permute=False, separate=True
        )
        return cls(matrix, scale)

    def __call__(self, t: float) -> Array:
        return self.many(np.array([t]))[0]

    def many(self, times: Array) -> Array:
        """The matrices at `times` (m,): (m, N, N)."""
        if isinstance(self.matrix, Interpolant):
            values = self.matrix.many(times)
        else:
            values = np.stack([self.matrix(float(t)) for t in times])
        return np.asarray(values * (self.scale[None, :] / self.scale[:, None]))

    def restored(self, vectors: NDArray[Any]) -> NDArray[Any]:
        """Vectors (N, m) of the scaled coordinates in those of A."""
        return np.asarray(vectors * self.scale[:, None])
