"""The error of Floquet exponents by a fixed reduced basis.

A Floquet mode q(t) = V r(t) of the reduced model leaves the residual ρ = M q̈ + (C + D) q̇ + K q in
the full equations, orthogonal to V. The shapes outside the basis respond to it nearly statically,
and their reaction changes the exponent by ρᴴ(K − ω²M)⁻¹ρ / (2ω qᴴMq): second order in the residual,
as a Rayleigh quotient.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.linalg.factorization import Factorization
from modal.periodic.balanced import Balanced
from modal.transient.equations import freezer
from modal.types import Array, Complex

# For K + ω₁²M, positive definite, instead of K − ω²M, and for two instants instead of a mean.
SAFETY = 4.0


def basis_error(model: Any, basis: Array, A: Balanced, t: float, vectors: Complex) -> Array:
    """Estimated error (m,) of the exponents, 1/s, from the residual at t.

    basis (n, r); A: of the reduced model; vectors (2r, m): its Floquet vectors at t, in the
    coordinates of A.
    """
    r = basis.shape[1]
    state, rate = A.restored(vectors), A.restored(A.many(np.array([t]))[0] @ vectors)
    q, v, a = basis @ state[:r], basis @ state[r:], basis @ rate[r:]
    system = freezer(model)(t)
    residual = system.M @ a + system.damping @ v + system.stiffness @ q
    inertia = np.maximum(_form(q, system.M), np.finfo(float).tiny)
    omega = np.sqrt(np.maximum(_form(v, system.M), np.finfo(float).tiny) / inertia)
    shifted = sp.csr_matrix(0.5 * (system.K + system.K.T) + float(omega.min()) ** 2 * system.M)
    factor = Factorization(shifted, "spd")
    try:
        flexible = factor.solve(np.ascontiguousarray(residual))
    finally:
        factor.destroy()
    returned = np.abs((residual.conj() * flexible).sum(axis=0))
    return np.asarray(SAFETY * returned / (2.0 * omega * inertia))


def _form(x: Complex, M: sp.spmatrix) -> Array:
    return np.asarray((x.conj() * (M @ x)).sum(axis=0).real)
