"""Error bounds of the eigenvalues of a reduced problem against those of the full model.

For λ, right u and left w of the reduced problem, r = T(λ)u and l = T(λ)ᴴw their residuals in the
full one, T(λ) = λ²M + λ(C + D) + K, and d = wᴴT′(λ)u: since Vᵀr = Vᵀl = 0 the error is of second
order,

    λ_exact − λ ≈ −lᴴ T(λ)⁻¹ r / d   on the complement of V

(for conservative points Kato–Temple's theorem applied to the inverse state operator, where
Galerkin's λ is exactly its Rayleigh quotient). On that complement the stiffness is taken for
K_ref, and the numerical range of T(λ) relative to it lies in 1 + λ[δ₁, δ₂] and what is less than
|λ|δ₃ + (|λ|/ω_c)² away: δ₁ to δ₂ the range of the symmetric part of the damping relative to the
stiffness, δ₃ the size of its skew part (`Instants.complement`), ω_c the frequency up to which the
basis holds all reference modes. With γ the distance of 0 from that set |lᴴT⁻¹r| ≤ ‖l‖‖r‖/γ in the
K_ref⁻¹ norm, and ‖r‖²_{K⁻¹} ≤ ‖K⁻¹r‖_M ‖r‖_{M⁻¹}, both of which are sketched
(modal/reduction/basis.py). Dampers with K_ref⁻¹ of their forces in the basis do not act on that
complement, and are left out of δ. Where damping b K takes the stiffness away, at λ = −1/b, γ is
zero: the bound is infinite, whatever the basis. With e_i² the resulting bound of mode i alone,
coupling to another mode j adds min(e_i e_j, e_i² e_j²/|λ_i − λ_j|); near a defective pair the
square-root law takes over (`coupled`). The round-off of the small eigenproblem and of the products
that make its matrices is added (modal/reduction/projection.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from modal.eigen.spectrum import overdamped
from modal.reduction.basis import UNDERESTIMATE
from modal.reduction.instants import Instants
from modal.reduction.reduced_eigen import SmallModes
from modal.reduction.reference_operator import ROUND_OFF
from modal.types import Array, Complex, Mask

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
    lam = modes.eigenvalues
    whole = at.resolved == np.inf  # nothing is left out
    right = np.zeros(lam.shape) if whole else at.dual_norms(lam, modes.right, transposed=False)
    alike = whole or modes.exact.all()
    left = right if alike else at.dual_norms(lam, modes.left, transposed=True)
    return bounds_of(
        modes, right, left, at.pairing(modes), at.resolved, at.product_sizes(modes),
        at.complement,
    )  # fmt: skip


def bounds_of(
    modes: SmallModes,
    right: Array,
    left: Array,
    derivative: Complex,
    resolved: float,
    products: Array | float = 0.0,
    complement: Array | None = None,
) -> ErrorBounds:
    """From the sketched norms of the residuals and wᴴT′(λ)u, each (P, k).

    resolved: rad/s, below which the basis holds every reference mode; inf for a complete basis.
    products (P, k): size of the terms that wᴴT(λ)u sums. complement (3, P): δ₁, δ₂ and
    δ₃; None for zeros.
    """
    lam, pairing = modes.eigenvalues, np.abs(derivative)
    square = UNDERESTIMATE**2 * left * right / np.maximum(pairing, np.finfo(float).tiny)
    rounded = round_off(modes, derivative, products)
    with np.errstate(divide="ignore"):
        there = square[:, None, :] / distance(lam, resolved, complement)[:, :, None]
    there += (rounded * modes.condition)[:, None, :]
    own, duals = np.einsum("pkk->pk", there), (UNDERESTIMATE * right, UNDERESTIMATE * left)
    bound = coupled(own, lam, modes.condition, there)
    return ErrorBounds(bound, own / modes.condition, rounded, *duals)


def unbounded(eigenvalues: Complex, error_bound: Array) -> Mask:
    """Overdamped modes next to the accumulation, of which no basis says more than that."""
    return np.asarray(overdamped(eigenvalues) & np.isinf(error_bound))


def round_off(modes: SmallModes, derivative: Complex, products: Array | float) -> Array:
    """Round-off (P, k) of the eigenvalues, per unit condition; arguments as of `bounds_of`."""
    scale = np.maximum(np.abs(derivative) * modes.condition, np.finfo(float).tiny)
    return np.asarray(ROUND_OFF * modes.spread[:, None] + np.finfo(float).eps * products / scale)


def distance(lam: Complex, resolved: float, complement: Array | None) -> Array:
    """γ ≤ 1 (P, k): distance of 0 from the numerical range of K_ref⁻¹T(λ) on the complement."""
    if not 0.0 < resolved < np.inf:
        return np.ones(lam.shape)
    size = np.abs(lam)
    low, high, skew = (0.0, 0.0, 0.0) if complement is None else complement[..., None]
    nearest = np.clip(-lam.real / np.maximum(size, np.finfo(float).tiny) ** 2, low, high)
    apart = np.abs(1.0 + lam * nearest) - size * skew - (size / resolved) ** 2
    return np.asarray(np.clip(apart, 0.0, 1.0))


def coupled(own: Array, lam: Complex, condition: Array, there: Array | None = None) -> Array:
    """Own bounds e_i² (P, k) with what coupling adds and the square-root law takes away.

    Near a defective pair e_i² = κE grows without bound while the shift stays below 2(E + √(E κ
    gap)): an eigenvalue of a 2×2 block of departure κ·gap from normality, perturbed by E. The
    partner is the nearest mode (conjugates included) that is about as ill-conditioned. Modes
    couple by as much as their distance admits when both have moved by their own bounds, that of j
    taken at λ_i.

    there (P, k, k): e_j² with γ(λ_i), in row i; the same in all rows unless told.
    """
    k = lam.shape[1]
    diagonal = np.eye(k, dtype=bool)
    gap = np.abs(lam[:, :, None] - lam[:, None, :])
    mirrored = np.abs(lam[:, :, None] - lam.conj()[:, None, :])
    mirrored[diagonal & (lam.imag == 0.0)[:, :, None]] = np.inf
    conditions = condition[:, None, :] / condition[:, :, None]
    partner = (conditions >= 1.0 / ALIKE) & (conditions <= ALIKE)
    other = np.where(diagonal, np.inf, gap)
    nearest = np.where(partner, np.fmin(other, mirrored), np.inf).min(axis=2, initial=np.inf)
    there = np.broadcast_to(own[:, None, :], (len(own), k, k)) if there is None else there
    with np.errstate(invalid="ignore"):  # infinite bounds next to a double eigenvalue
        root = 2.0 * (own / condition + np.sqrt(own * nearest))
        moved = 2.0 * (there / condition[:, None] + np.sqrt(there * nearest[:, None]))
    moved = np.fmin(there, moved)
    apart = np.maximum(gap - np.fmin(own, root)[:, :, None] - moved, 0.0)
    product = np.sqrt(own[:, :, None] * there)
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.fmin(product, product**2 / apart)
    shift[:, diagonal] = 0.0
    total = own + np.nansum(shift, axis=2)
    return np.asarray(np.fmin(total, root))
