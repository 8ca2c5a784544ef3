"""Damping of beam sections in proportion to stiffness, six coefficients μ, as BeamDyn has it.

The resultants of strain rates are √μ S √μ ε̇, S the section's stiffness and μ = diag(μ₁ … μ₆).
BeamDyn's manual ("Damping Coefficient") has μ S ε̇: the same where S couples no two strains of
different μ. Otherwise μ S is not symmetric and may feed energy in; √μ S √μ never does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from assembly.arguments import as_numbers
from assembly.errors import InputError
from assembly.magnitudes import DAMPING_STIFFNESS
from assembly.types import Array


def section_mu(mu: ArrayLike) -> Array:
    """The six coefficients, s, checked; a number stands for six equal ones."""
    values = as_numbers(mu, "mu")
    if values.shape not in ((), (6,)):
        raise InputError(f"mu: expected six coefficients, s, got shape {values.shape}")
    DAMPING_STIFFNESS.check(values, "mu")
    return np.broadcast_to(values, (6,)).copy()


def viscous_compliance(compliance: Array, mu: Array) -> Array:
    """C D C (..., 6, 6) with D = √μ C⁻¹ √μ: the power that rates of resultants dissipate.

    Strains that the compliance C (..., 6, 6) leaves out (shear of Euler–Bernoulli) dissipate
    nothing.
    """
    strains = np.flatnonzero(np.einsum("...ii->...i", compliance).reshape(-1, 6).any(axis=0))
    pick = (..., strains[:, None], strains)
    C = compliance[pick]
    root = np.sqrt(mu[strains])
    out = np.zeros_like(compliance)
    out[pick] = C @ (root[:, None] * np.linalg.inv(C) * root) @ C
    return out
