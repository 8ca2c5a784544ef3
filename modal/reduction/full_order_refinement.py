"""The lowest modes of one point in full order, from approximate ones and from a random start.

V starts from the shapes given and from a block Krylov space of K_ref⁻¹M on a seeded random block,
M-orthogonal to them, in which a mode that is missing among those given shows. It grows by K_ref⁻¹
of the residuals, right and left, of every Ritz pair that is not settled. The operators are those of
the point in full; K_ref, of the sweep's one factorization, decides how fast, not what, is found.

The bound of a pair is that of modal/reduction/error_bounds.py with r and l of the full problem and,
in place of sketches, the norm ‖r‖² = rᴴK_ref⁻¹r itself, which the solve for the next vectors gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.errors import ConvergenceError
from modal.eigen.quadratic import from_parts, in_parts
from modal.reduction.affine import AffineFamily, Coefficients
from modal.reduction.basis import Projected, ReducedBasis, stacked
from modal.reduction.error_bounds import coupled, derivative_pairing, mass_norm
from modal.reduction.reduced_eigen import SmallModes, solve_points
from modal.reduction.reference_operator import ReferenceOperator
from modal.types import Array, Complex, Index, Mask

PROBE, PROBE_STEPS = 8, 3  # columns and steps of the random Krylov space
GUARD = 1  # Ritz pairs beyond those wanted that have to be settled too
SETTLED = 1e-3  # relative residual, in the energy norm, of a guard that may lie inside the window
SHARPER = 1e-2  # of the tolerance: error bounds asked for
AMPLIFICATION = 2.0  # of a residual on the complement of V, where |λ|² is at most half of K_ref
ROUNDS = 20


@dataclass(frozen=True)
class RefinedEigenvalues:
    """eigenvalues (k,) rad/s of smallest |λ|, Im λ ≥ 0; error_bound (k,) rad/s."""

    eigenvalues: Complex
    error_bound: Array


@dataclass(frozen=True)
class _Residuals:
    """Pairs whose residuals were formed: own bounds e², relative residuals, K_ref⁻¹ r and l."""

    own: Array
    residual: Array
    right: Array
    left: Array

    def directions(self, index: Index) -> Array:
        """Real and imaginary parts of K_ref⁻¹ r and l of some of the pairs."""
        chosen = np.concatenate([index, index + len(self.own)])
        return np.hstack([block[:, chosen] for block in (self.right, self.left) if block.size])


def refined(
    family: AffineFamily,
    reference: ReferenceOperator,
    at: Coefficients,
    shapes: NDArray[np.inexact[Any]],
    k: int,
    tolerance: float,
    floor: float = 0.0,
    seed: int = 29,
) -> RefinedEigenvalues:
    """The k lowest modes of the one point `at`, of a model with nothing free to move.

    shapes (n, m): approximate modes, right and left, as many as are known. Bounds are at most
    SHARPER × tolerance × max(|λ|, floor) or round-off. Raises ConvergenceError when some pair
    does not get there.
    """
    basis = ReducedBasis.bare(family, reference)
    basis.include(in_parts(shapes))
    _probe(basis, np.random.default_rng(seed).standard_normal((family.n, PROBE)))
    conservative = family.conservative(at)
    done = (np.zeros(0, dtype=complex), np.zeros(0), np.zeros(0))
    for _ in range(ROUNDS):
        projected = basis.projected()
        modes = solve_points(projected, at, conservative, min(k + GUARD, 2 * projected.size))
        modes = modes.take(np.flatnonzero(np.isfinite(modes.eigenvalues[0]))[None])
        lam, condition = modes.eigenvalues[0], modes.condition[0]
        own, residual, rest = _carried(*done, lam)
        looked = _residuals_of(basis, projected, at, modes.take(rest[None]))
        own[rest], residual[rest] = looked.own, looked.residual
        bound = coupled(own[None], lam[None], modes.condition)[0]
        noise = np.finfo(float).eps * modes.spread[0] * condition
        allowed = np.maximum(SHARPER * tolerance * np.maximum(np.abs(lam), floor), noise)
        settled = (bound <= allowed) | _outside(lam, residual, k)
        if settled.all() or basis.complete:
            return RefinedEigenvalues(lam[:k], bound[:k])
        done = (lam[settled], own[settled], residual[settled])
        if basis.include(looked.directions(np.flatnonzero(~settled[rest]))) == 0:
            break
    raise ConvergenceError(f"refinement: {settled.sum()} of {len(settled)} modes settled", None)


def _outside(lam: Complex, residual: Array, k: int) -> Mask:
    """Guards that are known to be beyond the k-th mode, or well enough to be put in order."""
    size = np.abs(lam)
    known = (size * (1.0 - residual) > size[:k].max()) | (residual <= SETTLED)
    known[:k] = False
    return np.asarray(known)


def _carried(
    before: Complex, own: Array, residual: Array, lam: Complex
) -> tuple[Array, Array, Index]:
    """Bounds and residuals of pairs that are as they were when they settled; which are not."""
    bounds, residuals = np.full(len(lam), np.nan), np.full(len(lam), np.nan)
    for value, bound, size in zip(before, own, residual, strict=True):
        distance = np.where(np.isnan(bounds), np.abs(lam - value), np.inf)
        nearest = int(distance.argmin())
        if distance[nearest] <= bound:
            bounds[nearest], residuals[nearest] = bound, size
    return bounds, residuals, np.flatnonzero(np.isnan(bounds))


def _probe(basis: ReducedBasis, block: Array) -> None:
    """Random shapes and what K_ref⁻¹M makes of them, each step M-orthogonal to all in the basis."""
    product = basis.reference.mass @ block
    for _ in range(PROBE_STEPS):
        before = basis.columns.size
        basis.grow(product)
        product = basis.columns.MV[:, before:]


def _residuals_of(
    basis: ReducedBasis, projected: Projected, at: Coefficients, modes: SmallModes
) -> _Residuals:
    """Residuals of some pairs in the full problem."""
    lam = modes.eigenvalues[0]
    right, solution = _residual(basis, at, lam, modes.right[0], transposed=False)
    left, transposed = right, solution[:, :0]
    if not modes.exact[0]:
        left, transposed = _residual(basis, at, lam.conj(), modes.left[0], transposed=True)
    tiny = np.finfo(float).tiny
    pairing = np.abs(derivative_pairing(projected, at, modes))[0]
    energy = np.abs(lam) * np.sqrt(2.0) * mass_norm(projected, at, modes.right)[0]
    own = AMPLIFICATION * left * right / np.maximum(pairing, tiny)
    return _Residuals(own, right / np.maximum(energy, tiny), solution, transposed)


def _residual(
    basis: ReducedBasis, at: Coefficients, lam: Complex, vectors: Complex, transposed: bool
) -> tuple[Array, Array]:
    """‖r‖ in the K_ref⁻¹ norm (k,) and K_ref⁻¹ r (n, 2k), real parts first, r = T(λ)x or Tᵀ(λ)x."""
    gamma, k = stacked(at, lam[None])[0], len(lam)
    X = from_parts(basis.lift(in_parts(vectors)))
    residual = np.zeros((basis.family.n, 2 * k))
    for j, term in enumerate(basis.family.terms):
        if np.any(gamma[:, j]):
            residual += term.apply(in_parts(X * gamma[:, j]), transposed)
    solution = basis.reference.solve(residual)
    square = np.einsum("ij,ij->j", residual, solution).reshape(2, -1).sum(axis=0)
    return np.sqrt(np.maximum(square, 0.0)), solution
