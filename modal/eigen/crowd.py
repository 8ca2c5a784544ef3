"""Where the eigenvalues of stiffness-proportional damping crowd.

With D = aM + bK a mode of undamped frequency ω has λ² + (a + bω²)λ + ω² = 0. As ω grows it becomes
overdamped, and its slow root goes to −1/b: of a mesh, almost all modes have one there. Modes with
|λ| below 1/b are apart; beyond come those of the highest frequencies of the mesh, next to each
other, before the next ones of low frequency.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from assembly.linalg.factorization import Factorization
from assembly.system.null_chain import NullChain
from modal.eigen.quadratic import Quadratic

ALIKE = 0.1  # of the damping forces of a random shape: what b K leaves of them


@dataclass(frozen=True)
class Crowd:
    """limit = 1/b, rad/s; below: number of modes of the undamped system at rest below it."""

    limit: float
    below: int

    def __str__(self) -> str:
        b, edge = 1.0 / self.limit, -self.limit
        return (
            f"the damping contains b K with b = {b:.4g} s: eigenvalues of overdamped modes crowd "
            f"at -1/b = {edge:.6g} rad/s, and about {self.below} modes have a smaller |λ|; "
            f"ask for k ≤ {self.below}"
        )


def crowd_of(quadratic: Quadratic, chain: NullChain | None, highest: float) -> Crowd | None:
    """The crowd of an instant, by the inertia of K − M/b²; None without damping b K, b > 0, or
    with 1/b above `highest`, rad/s.

    A random shape has most of its energy in the highest frequencies of the mesh: there the damping
    forces are b times the elastic ones.
    """
    if quadratic.C.nnz == 0 or quadratic.conservative:
        return None
    shape = np.random.default_rng(17).standard_normal(quadratic.n)
    damping, elastic = quadratic.C @ shape, quadratic.K @ shape
    b = float(damping @ elastic) / float(elastic @ elastic)
    if not b * highest > 1.0 or np.linalg.norm(damping - b * elastic) > ALIKE * np.linalg.norm(
        damping
    ):
        return None
    shifted = sp.csr_matrix(quadratic.K - quadratic.M / b**2)
    zeros = 0 if chain is None else chain.null.shape[1]
    with Factorization(0.5 * (shifted + shifted.T), "symmetric", small=0) as factor:
        return Crowd(1.0 / b, factor.negative_pivots - zeros)
