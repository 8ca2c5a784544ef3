"""What couples a reduced basis V with its complement Z, in the norm of K_ref.

Z is orthogonal to V in K_ref, so that the part of an image that K_ref V balances does not count.
Norms dual to K_ref come from the two sketches of the basis, ‖f‖² ≤ ‖K_ref⁻¹f‖_M ‖f‖_{M⁻¹}
(modal/reduction/basis.py).
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la

from modal.reduction.basis import UNDERESTIMATE, Projected
from modal.reduction.reference_operator import ReferenceOperator
from modal.types import Array


def coupling(projected: Projected, image: tuple[Array, Array], weights: Array) -> float:
    """max |zᴴBx| / ‖z‖‖x‖ over z in Z, x in V, in the norm of K_ref, for B = Σ_j w_j A_j and Bᴴ."""
    plain, mirrored = images(projected, image, weights)
    return max(dual_norm(*plain), dual_norm(*mirrored))


def couple_skew(projected: Projected, image: tuple[Array, Array], weights: Array) -> float:
    """As `coupling`, for the skew part of B."""
    plain, mirrored = images(projected, image, weights)
    return dual_norm(*(0.5 * (a - b) for a, b in zip(plain, mirrored, strict=True)))


def images(
    projected: Projected, image: tuple[Array, Array], weights: Array
) -> tuple[list[Array], list[Array]]:
    """Sketches Θ and Ξ of BV and BᵀV without their part along K_ref V.

    In K_ref-orthonormal coordinates.
    """
    weights = padded(weights, projected)
    small = np.tensordot(weights, projected.matrices, axes=1)
    out = []
    for sketches, inside in ((projected.sketches, small), (projected.adjoint_sketches, small.T)):
        share = inside / (projected.frequency**2)[:, None]
        out.append(
            [
                (sketch - whole @ share) / projected.frequency
                for sketch, whole in zip(
                    np.tensordot(weights, sketches, axes=1), image, strict=True
                )
            ]
        )
    return out[0], out[1]


def dual_norm(theta: Array, xi: Array) -> float:
    """Bound of the norm dual to K_ref from the two sketches."""
    return UNDERESTIMATE * float(np.sqrt(np.linalg.norm(theta, 2) * np.linalg.norm(xi, 2)))


def image(reference: ReferenceOperator, V: Array) -> Array:
    """K_ref V."""
    KV = reference.shift * (reference.mass @ V)
    for weight, term in zip(reference.weights, reference.family.terms, strict=False):
        if weight != 0.0:
            KV = KV + 0.5 * weight * (term.apply(V) + term.apply(V, transposed=True))
    return np.asarray(KV)


def orthonormal(reference: ReferenceOperator, V: Array) -> tuple[tuple[Array, Array], float]:
    """X (n, c) of the span of V with XᵀK_refX = I, and K_refX; the median of xᵀK_refx of V's."""
    KV = image(reference, V)
    squares, U = la.eigh(V.T @ KV)
    half = U / np.sqrt(squares)
    return (V @ half, KV @ half), float(np.median(squares))


def padded(weights: Array, projected: Projected) -> Array:
    return np.pad(weights, (0, len(projected.matrices) - len(weights)))
