"""The five quadratic forms of a frozen system that decide its stability.

With E = C + D all that multiplies the velocity and K all that multiplies the displacement,

    M symmetric,   E = damping + gyroscopic,   K = symmetric + circulatory,

damping and symmetric are the symmetric parts, gyroscopic and circulatory the skew parts
(modal/eigen/mirror_parts.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import scipy.sparse as sp

from assembly.system.frozen import FrozenSystem
from modal.eigen.quadratic import Quadratic


@dataclass(frozen=True)
class Forms:
    """Symmetric and skew parts, sparse (n, n)."""

    mass: sp.csr_matrix
    damping: sp.csr_matrix
    gyroscopic: sp.csr_matrix
    symmetric: sp.csr_matrix
    circulatory: sp.csr_matrix

    @classmethod
    def of(cls, system: FrozenSystem) -> Forms:
        quadratic = Quadratic(system)
        return cls(system.M, *quadratic.damping_parts, *quadratic.stiffness_parts)
