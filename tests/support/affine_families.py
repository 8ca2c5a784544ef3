"""Families of frozen systems made of fixed matrices, for tests of sweeps and maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.linalg.combination import Combination
from assembly.system.frozen import FrozenSystem

J = np.array([[0.0, -1.0], [1.0, 0.0]])


class Planar:
    """M q̈ + (2Ω G + d M) q̇ + (K − Ω² M + ε G) q = 0, G = J in pairs, seen through q = T p.

    stiffness (m, 2): k₁, k₂ of each pair. T is a sparse non-singular change of coordinates, so
    that the matrices are not diagonal; the spectrum is that of the pairs (A5 and A10).
    """

    def __init__(self, stiffness: np.ndarray, damping: float = 0.0, mixed: bool = True) -> None:
        m = len(stiffness)
        self.n = 2 * m
        T = sp.identity(self.n)
        if mixed:
            rng = np.random.default_rng(1)
            off = 0.4 * rng.standard_normal(self.n - 1)
            T = sp.diags([np.ones(self.n), off], [0, 1])

        def seen(A: Any) -> sp.csr_matrix:
            return sp.csr_matrix(T.T @ A @ T)

        self.M = seen(sp.identity(self.n))
        self.K = seen(sp.diags(stiffness.ravel()))
        self.G = seen(sp.block_diag([J] * m))
        self.damping = damping

    def freeze(self, omega: float = 0.0, epsilon: float = 0.0) -> FrozenSystem:
        def one(coefficient: float, A: Any) -> Combination:
            return Combination.of(self.n, (coefficient,), (A,))

        return FrozenSystem(
            M=one(1.0, self.M),
            C=one(2.0 * omega, self.G),
            D=one(self.damping, self.M),
            K=one(1.0, self.K),
            K_epsilon=one(epsilon, self.G),
            K_omega2=one(-(omega**2), self.M),
            parameters={"omega": omega, "epsilon": epsilon},
        )


class Remade:
    """The same systems with matrices made anew at each instant, as a mechanism's are."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def freeze(self, **parameters: float) -> FrozenSystem:
        system = self.model.freeze(**parameters)
        parts = {name: part.tocsr() for name, part in system.parts.items() if not part.is_zero}
        return FrozenSystem(**parts, parameters=parameters)
