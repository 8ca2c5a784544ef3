"""Residuals of reduced solutions in the full problem, through the sketches of a basis.

Of displacements q, velocities v and accelerations a on a basis V the residual is

    ρ = Σ_j (m_j A_j V a + c_j A_j V v + k_j A_j V q)

with the coefficients m_j, c_j, k_j of the mass, the damping and the stiffness. For a mode v = λq
and a = λ²q. The sketches Θ and Ξ of every A_jV (modal/reduction/basis.py) give its norm without
work of order n.
"""

from __future__ import annotations

import numpy as np

from assembly.types import Inexact
from modal.reduction.affine import Coefficients
from modal.types import Array, Complex

# What the mass, the damping and the stiffness operators multiply, (P, r, k) each.
Roles = tuple[Inexact, Inexact, Inexact]


def roles_of_modes(lam: Complex, vectors: Complex) -> Roles:
    """Those of modes λ (P, k) with vectors (P, r, k)."""
    row = lam[:, None, :]
    return row**2 * vectors, row * vectors, vectors


def sketched(sketches: Array, at: Coefficients, roles: Roles) -> Inexact:
    """Θ and Ξ of residuals, (P, 2, p, k), from those of the operators, (J, 2, p, r)."""
    J, two, p, r = sketches.shape
    flat = sketches.reshape(J, -1)
    out = np.zeros((len(at), two * p, roles[0].shape[2]), dtype=np.result_type(*roles))
    for part, vectors in zip(at.table, roles, strict=True):
        if np.any(part):
            out += (part @ flat).reshape(-1, two * p, r) @ vectors
    return out.reshape(len(at), two, p, -1)


def dual_squares(sketch: Inexact) -> Array:
    """‖K_ref⁻¹ρ‖_M ‖ρ‖_{M⁻¹} ≥ ‖ρ‖², the squared norm dual to K_ref, (P, k), of `sketched`."""
    norms = np.linalg.norm(sketch, axis=2)
    return np.asarray(norms[:, 0] * norms[:, 1])
