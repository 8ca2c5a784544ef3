"""Collocation: integrals of Lagrange polynomials, tables of Gauss and Radau, the stage equations.

Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I, II.7.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from assembly.errors import InputError
from modal.types import Array


def integral_coefficients(nodes: Array) -> Array:
    """c (s, s) of ∫₀ˣ ℓ_j = Σ_k x^{k+1} c_kj of the Lagrange polynomials ℓ_j of the nodes (s,)."""
    powers = np.arange(len(nodes))
    return np.asarray(la.inv(nodes[:, None] ** powers) / (powers + 1)[:, None])


class Tableau:
    """Nodes c, weights b and coefficients a of the s-stage Gauss method, on [0, 1], of order 2 s;
    or of Radau's with the end as its last node, of order 2 s − 1: L-stable, fast modes decay."""

    def __init__(self, stages: int, radau: bool = False) -> None:
        if stages not in range(1, 9):
            raise InputError(f"stages: expected 1 to 8, got {stages}")
        points, weights = np.polynomial.legendre.leggauss(stages)
        if radau:  # the zeros of P_s − P_{s−1}
            points = np.polynomial.legendre.legroots([0.0] * (stages - 1) + [-1.0, 1.0])
            degrees = np.polynomial.legendre.legvander(points, stages - 1).T
            weights = la.solve(degrees, 2.0 * np.eye(stages)[0])
        self.order = 2 * stages - radau
        self.c, self.b = 0.5 * (points + 1.0), 0.5 * weights
        # ∫ ℓ_j from 0 to c_i by the rule itself, which is exact: powers lose digits.
        apart, same = self.c[:, None] - self.c, np.eye(stages, dtype=bool)
        places = (self.c[:, None] * self.c)[:, :, None, None] - self.c
        terms = np.where(same, 1.0, places / np.where(same, 1.0, apart))
        self.a = self.c[:, None] * np.einsum("k,ikj->ij", self.b, terms.prod(axis=3))
        self.inverse = la.inv(self.a)
        # Σ (b a)_i k_i and Σ b_i k_i from g = a k.
        self.ends = np.stack([self.b, self.b @ self.inverse])

    def stage_matrix(self, h: float, stage: Array) -> Array:
        """The matrices (m, s n, s n) of the stage slopes of x' = A(t) x: δ_ij I − h a_ij A_i.

        stage (m, s, n, n): A at the nodes of each of m steps of length h.
        """
        m, s, n, _ = stage.shape
        matrix = -h * np.einsum("ij,minl->minjl", self.a, stage).reshape(m, s * n, s * n)
        matrix += np.eye(s * n)
        return np.asarray(matrix)
