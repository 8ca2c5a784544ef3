"""Where the eigenvalues of stiffness-proportional damping crowd.

With D = aM + bK a mode of undamped frequency ω has λ² + (a + bω²)λ + ω² = 0. As ω grows it becomes
overdamped, and its slow root goes to −1/b: of a mesh, almost all modes have one there. Modes with
|λ| below 1/b are apart; beyond come those of the highest frequencies of the mesh, next to each
other, before the next ones of low frequency.
"""

from __future__ import annotations

from dataclasses import dataclass

import scipy.sparse as sp

from assembly.errors import SingularSystemError
from assembly.linalg.factorization import Factorization
from modal.eigen.quadratic import Quadratic


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


def crowd_of(quadratic: Quadratic) -> Crowd | None:
    """The crowd of an instant, by the inertia of K − M/b²; None without damping b K, b > 0."""
    damping, stiffness = quadratic.damping_parts.symmetric, quadratic.stiffness_parts.symmetric
    if damping is None or stiffness is None:
        return None
    b = damping.without_multiple(stiffness)[0]
    if b <= 0.0:
        return None
    shifted = sp.csr_matrix(stiffness.matrix - quadratic.M / b**2)
    try:
        with Factorization(shifted, "symmetric", small=0) as factor:
            return Crowd(1.0 / b, factor.negative_pivots)
    except SingularSystemError:
        return None
