"""Error bounds of the eigenvalues of a reduced problem against those of the full model.

For λ, right u and left w of the reduced problem, r = T(λ)u and l = T(λ)ᴴw their residuals in the
full one, T(λ) = λ²M + λ(C + D) + K, and d = wᴴT′(λ)u: since Vᵀr = Vᵀl = 0 the error is of second
order,

    λ_exact − λ ≈ −lᴴ T(λ)⁻¹ r / d   on the complement of V

(for conservative points Kato–Temple's theorem applied to the inverse state operator, where
Galerkin's λ is exactly its Rayleigh quotient). On that complement T(λ) is K_ref up to a relative β
= (|λ|/ω_c)² + |λ|δ, ω_c the frequency up to which the basis holds all reference modes, δ the size
of the damping relative to K_ref (`Instants.damping_ratio`; where damping b K takes the stiffness
away, at |λ| = 1/b, no basis bounds anything), and lᴴK_ref⁻¹r ≤
‖l‖‖r‖ in the K_ref⁻¹ norm, ‖r‖²_{K⁻¹} ≤ ‖K⁻¹r‖_M ‖r‖_{M⁻¹}, both of which are sketched
(modal/reduction/basis.py). With e_i² the resulting bound of mode i alone, coupling to another mode
j adds min(e_i e_j, e_i² e_j²/|λ_i − λ_j|); near a defective pair the square-root law takes over
(`coupled`). The round-off of the small eigenproblem and of the products that make its matrices is
added (modal/reduction/product_sizes.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from modal.reduction.basis import UNDERESTIMATE
from modal.reduction.instants import Instants
from modal.reduction.reduced_eigen import SmallModes
from modal.reduction.reference_operator import ROUND_OFF
from modal.types import Array, Complex

ALIKE = 4.0  # ratio of condition numbers up to which two modes can be a defective pair


@dataclass(frozen=True)
class ErrorBounds:
    """Error bounds of the eigenvalues of P points, k each.

    error_bound, rad/s; perturbation, rad/s: the change of the state matrix that would explain the
    error, of which round_off is unavoidable. right, left: bounds of the norms of the residuals r
    and l dual to K_ref.
    """

    error_bound: Array
    perturbation: Array
    round_off: Array
    right: Array
    left: Array


def error_bounds(at: Instants, modes: SmallModes) -> ErrorBounds:
    """The error bound of every eigenvalue of every point."""
    right = at.dual_norms(modes.eigenvalues, modes.right, transposed=False)
    left = right
    if not modes.exact.all():
        left = at.dual_norms(modes.eigenvalues, modes.left, transposed=True)
    return bounds_of(
        modes, right, left, at.pairing(modes), at.resolved, at.product_sizes(modes),
        np.where(modes.exact, 0.0, at.damping_ratio),
    )  # fmt: skip


def bounds_of(
    modes: SmallModes,
    right: Array,
    left: Array,
    derivative: Complex,
    resolved: float,
    products: Array | float = 0.0,
    damping_ratio: Array | float = 0.0,
) -> ErrorBounds:
    """From the sketched norms of the residuals and wᴴT′(λ)u, each (P, k).

    resolved: rad/s, below which the basis holds every reference mode; inf for a complete basis.
    products (P, k): size of the terms that wᴴT(λ)u sums. damping_ratio (P,): δ, s.
    """
    lam, pairing = modes.eigenvalues, np.abs(derivative)
    own = UNDERESTIMATE**2 * left * right / np.maximum(pairing, np.finfo(float).tiny)
    if resolved == np.inf:
        own = np.zeros_like(own)
    elif resolved > 0.0:
        size = np.abs(lam)
        beta = (size / resolved) ** 2 + size * np.reshape(damping_ratio, (-1, 1))
        own = own / np.maximum(1.0 - beta, np.finfo(float).eps)
    rounded = round_off(modes, derivative, products)
    own = own + rounded * modes.condition
    return ErrorBounds(
        coupled(own, lam, modes.condition),
        own / modes.condition,
        rounded,
        UNDERESTIMATE * right,
        UNDERESTIMATE * left,
    )


def round_off(modes: SmallModes, derivative: Complex, products: Array | float) -> Array:
    """Round-off (P, k) of the eigenvalues, per unit condition; arguments as of `bounds_of`."""
    scale = np.maximum(np.abs(derivative) * modes.condition, np.finfo(float).tiny)
    return np.asarray(ROUND_OFF * modes.spread[:, None] + np.finfo(float).eps * products / scale)


def coupled(own: Array, lam: Complex, condition: Array) -> Array:
    """Own bounds e_i² (P, k) with what coupling adds and the square-root law takes away.

    Near a defective pair e_i² = κE grows without bound while the shift stays below 2(E + √(E κ
    gap)): an eigenvalue of a 2×2 block of departure κ·gap from normality, perturbed by E. The
    partner is the nearest mode (conjugates included) that is about as ill-conditioned. Modes
    couple by as much as their distance admits when both have moved by their own bounds.
    """
    k = lam.shape[1]
    diagonal = np.eye(k, dtype=bool)
    gap = np.abs(lam[:, :, None] - lam[:, None, :])
    mirrored = np.abs(lam[:, :, None] - lam.conj()[:, None, :])
    mirrored[diagonal & (lam.imag == 0.0)[:, :, None]] = np.inf
    relative = condition[:, None, :] / condition[:, :, None]
    partner = (relative >= 1.0 / ALIKE) & (relative <= ALIKE)
    other = np.where(diagonal, np.inf, gap)
    nearest = np.where(partner, np.fmin(other, mirrored), np.inf).min(axis=2)
    root = 2.0 * (own / condition + np.sqrt(own * nearest))
    alone = np.fmin(own, root)
    apart = np.maximum(gap - alone[:, :, None] - alone[:, None, :], 0.0)
    product = np.sqrt(own[:, :, None] * own[:, None, :])
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.fmin(product, product**2 / apart)
    shift[:, diagonal] = 0.0
    total = own + np.nansum(shift, axis=2)
    return np.asarray(np.fmin(total, root))
