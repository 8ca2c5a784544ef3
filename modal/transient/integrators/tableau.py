"""Gauss collocation: the one table of nodes, weights and coefficients, and the stage equations.

Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I, II.7.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from assembly.errors import InputError
from modal.types import Array


class Tableau:
    """Nodes c, weights b and coefficients a of the s-stage Gauss method, on [0, 1]; order 2 s."""

    def __init__(self, stages: int) -> None:
        if stages not in (1, 2, 3, 4):
            raise InputError(f"stages: expected 1 to 4, got {stages}")
        points, weights = np.polynomial.legendre.leggauss(stages)
        self.order = 2 * stages
        self.c, self.b = 0.5 * (points + 1.0), 0.5 * weights
        # a_ij = ∫_0^{c_i} ℓ_j: exact on the monomials, so solve Σ_j a_ij c_j^k = c_i^{k+1}/(k+1).
        powers = np.arange(stages)
        vandermonde = self.c[:, None] ** powers
        moments = self.c[:, None] ** (powers + 1) / (powers + 1)
        self.a = la.solve(vandermonde.T, moments.T).T

    def stage_matrix(self, h: float, stage: Array) -> Array:
        """The matrices (m, s n, s n) of the stage slopes of x' = A(t) x: δ_ij I − h a_ij A_i.

        stage (m, s, n, n): A at the nodes of each of m steps of length h.
        """
        m, s, n, _ = stage.shape
        matrix = -h * np.einsum("ij,minl->minjl", self.a, stage).reshape(m, s * n, s * n)
        matrix += np.eye(s * n)
        return np.asarray(matrix)
