"""A matrix function of time in scaled coordinates, sampled at many instants at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from assembly.system.frozen import FrozenSystem
from modal.eigen.tolerances import EPS, HALF
from modal.reduction.interpolation import Interpolant, Sampled, one_by_one
from modal.transient.equations import potential
from modal.types import Array

Matrix = Callable[[float], Array]


@dataclass(frozen=True)
class Balanced:
    """L A(t) L⁻¹ with a constant L (N, N), `root`, and its inverse; many(times) at times (m,) is
    (m, N, N).

    Displacements and velocities become comparable; eigenvalues do not change.
    """

    many: Sampled
    root: Array
    inverse: Array

    @classmethod
    def diagonal(cls, matrix: Matrix, t: float) -> Balanced:
        """Scaled by the powers of two that balance A(t)."""
        values = np.asarray(matrix(t), dtype=float)
        _, (scale, _) = la.matrix_balance(values, permute=False, separate=True)
        return cls._of(matrix, np.diag(1.0 / scale), np.diag(scale))

    @classmethod
    def energy(cls, matrix: Matrix, here: FrozenSystem) -> Balanced:
        """In the coordinates whose 2-norm is the energy of an instant: A of an undamped model is
        nearly skew there, and its propagation nearly orthogonal. Half of the digits of soft shapes
        are free of the round-off of stiff ones."""
        root = energy_root(here, HALF)
        return cls._of(matrix, root, la.inv(root))

    @classmethod
    def _of(cls, matrix: Matrix, root: Array, inverse: Array) -> Balanced:
        # The table of a polynomial is transformed once, other matrices at every evaluation.
        if isinstance(matrix, Interpolant):
            return cls(matrix.mapped(root, inverse).many, root, inverse)
        return cls(one_by_one(lambda t: root @ matrix(t) @ inverse), root, inverse)


def energy_root(here: FrozenSystem, softest: float = EPS) -> Array:
    """A square root L (2n, 2n) of the energy of an instant on x = (q, q̇): ‖L x‖² is twice it.

    |S|, the absolute value of the symmetric stiffness, makes it a norm beyond a divergence too;
    eigenvalues below `softest` of the largest are replaced by that.
    """
    sizes, shapes = la.eigh(potential(here).toarray())
    floor = softest * np.abs(sizes).max()
    stiffness = np.sqrt(np.maximum(np.abs(sizes), floor))[:, None] * shapes.T
    return np.asarray(la.block_diag(stiffness, la.cholesky(here.M.toarray())))
