"""The lowest modes of one point in full order, from a reduced basis and from a random start.

V starts from the basis and from a block Krylov space of K_ref⁻¹M on a seeded random block,
M-orthogonal to it, in which a mode that the basis misses shows. It grows by K_ref⁻¹ of the
residuals, right and left, of every Ritz pair that is not settled. The residuals are those of the
point in full, and an eigenvalue is the Rayleigh quotient that they give where it differs by more
than round-off; what is projected, and K_ref, decide how fast, not what, is found.

The bound of a pair is that of modal/reduction/error_bounds.py with r and l of the full problem and,
in place of sketches, the norm ‖r‖² = rᴴK_ref⁻¹r itself, which the solve for the next vectors gives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assembly.errors import ConvergenceError
from modal.eigen.quadratic import from_parts, in_parts
from modal.reduction.affine import Coefficients
from modal.reduction.basis import Projected, ReducedBasis, stacked
from modal.reduction.error_bounds import coupled, derivative_pairing, mass_norm
from modal.reduction.projection import summed
from modal.reduction.reduced_eigen import SmallModes, solve_points
from modal.types import Array, Complex, Index, Mask

PROBE, PROBE_STEPS = 8, 2  # columns and steps of the random Krylov space
GUARD = 1  # Ritz pairs beyond those wanted that have to be settled too
SETTLED = 1e-3  # relative residual, in the energy norm, of a guard that may lie inside the window
SHARPER = 1e-2  # of the tolerance: error bounds asked for
AMPLIFICATION = 2.0  # of a residual on the complement of V, where |λ|² is at most half of K_ref
ROUNDS = 20


def random_shapes(basis: ReducedBasis, seed: int = 29) -> Array:
    """A block Krylov space of K_ref⁻¹M on a seeded random block, (n, PROBE × PROBE_STEPS).

    Each step is M-orthogonal to the basis.
    """
    reference, columns = basis.reference, basis.columns
    blocks = [np.random.default_rng(seed).standard_normal((basis.family.n, PROBE))]
    for _ in range(PROBE_STEPS):
        load = reference.mass @ blocks[-1]
        if len(blocks) > 1:
            load = load - columns.MV @ (columns.MV.T @ blocks[-1])
        blocks.append(reference.solve(load))
    return np.hstack(blocks[1:])


@dataclass(frozen=True)
class RefinedEigenvalues:
    """eigenvalues (k,) rad/s of smallest |λ|, Im λ ≥ 0; error_bound (k,) rad/s."""

    eigenvalues: Complex
    error_bound: Array


@dataclass(frozen=True)
class _Residuals:
    """Pairs whose residuals were formed: own bounds e², relative residuals, K_ref⁻¹ r and l.

    step: from the eigenvalues to the two-sided Rayleigh quotients of the full problem, zero up to
    round-off where what is projected is right.
    """

    own: Array
    residual: Array
    step: Complex
    right: Array
    left: Array

    def directions(self, index: Index) -> Array:
        """Real and imaginary parts of K_ref⁻¹ r and l of some of the pairs."""
        chosen = np.concatenate([index, index + len(self.own)])
        return np.hstack([block[:, chosen] for block in (self.right, self.left) if block.size])


def refined(
    basis: ReducedBasis,
    at: Coefficients,
    k: int,
    tolerance: float,
    random: Array,
    floor: float = 0.0,
) -> RefinedEigenvalues:
    """The k lowest modes of the one point `at`, of a model with nothing free to move.

    basis: of the sweep; it stays as it is. random: `random_shapes` of it. Bounds are at most
    SHARPER × tolerance × max(|λ|, floor) or round-off. Raises ConvergenceError when some pair does
    not get there.
    """
    basis = basis.without_sketches()
    basis.include(random)
    conservative = basis.family.conservative(at)
    done = (np.zeros(0, dtype=complex), np.zeros(0), np.zeros(0), np.zeros(0, dtype=complex))
    for _ in range(ROUNDS):
        projected = basis.projected()
        modes = solve_points(projected, at, conservative, min(k + GUARD, 2 * projected.size))
        modes = modes.take(np.flatnonzero(np.isfinite(modes.eigenvalues[0]))[None])
        lam, condition = modes.eigenvalues[0], modes.condition[0]
        own, residual, step, rest = _carried(*done, lam)
        looked = _residuals_of(basis, projected, at, modes.take(rest[None]))
        own[rest], residual[rest], step[rest] = looked.own, looked.residual, looked.step
        bound = coupled(own[None], lam[None], modes.condition)[0]
        noise = np.finfo(float).eps * modes.spread[0] * condition
        allowed = np.maximum(SHARPER * tolerance * np.maximum(np.abs(lam), floor), noise)
        settled = (bound <= allowed) | _outside(lam, residual, k)
        if settled.all() or basis.complete:
            rounded = basis.reference.round_off(np.maximum(np.abs(lam), floor)) * condition
            exact = lam + np.where(np.abs(step) > np.maximum(allowed, rounded), step, 0.0)
            return RefinedEigenvalues(exact[:k], bound[:k])
        done = (lam[settled], own[settled], residual[settled], step[settled])
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
    before: Complex, own: Array, residual: Array, step: Complex, lam: Complex
) -> tuple[Array, Array, Complex, Index]:
    """Bounds, residuals and steps of pairs that are as they were when they settled; which are
    not."""
    bounds, residuals = np.full(len(lam), np.nan), np.full(len(lam), np.nan)
    steps = np.zeros(len(lam), dtype=complex)
    for value, bound, size, change in zip(before, own, residual, step, strict=True):
        distance = np.where(np.isnan(bounds), np.abs(lam - value), np.inf)
        nearest = int(distance.argmin())
        if distance[nearest] <= bound:
            bounds[nearest], residuals[nearest], steps[nearest] = bound, size, change
    return bounds, residuals, steps, np.flatnonzero(np.isnan(bounds))


def _residuals_of(
    basis: ReducedBasis, projected: Projected, at: Coefficients, modes: SmallModes
) -> _Residuals:
    """Residuals of some pairs in the full problem."""
    lam = modes.eigenvalues[0]
    residual, right, solution = _residual(basis, at, lam, modes.right[0], transposed=False)
    left, transposed = right, solution[:, :0]
    if not modes.exact[0]:
        _, left, transposed = _residual(basis, at, lam.conj(), modes.left[0], transposed=True)
    tiny = np.finfo(float).tiny
    pairing = derivative_pairing(projected, at, modes)[0]
    pairing = np.where(np.abs(pairing) > tiny, pairing, tiny)
    shared = from_parts(basis.rotation.T @ (basis.columns.V.T @ residual))
    step = -(modes.left[0].conj() * shared).sum(axis=0) / pairing
    energy = np.abs(lam) * np.sqrt(2.0) * mass_norm(projected, at, modes.right)[0]
    own = AMPLIFICATION * left * right / np.abs(pairing)
    return _Residuals(own, right / np.maximum(energy, tiny), step, solution, transposed)


def _residual(
    basis: ReducedBasis, at: Coefficients, lam: Complex, vectors: Complex, transposed: bool
) -> tuple[Array, Array, Array]:
    """r = T(λ)x or Tᵀ(λ)x, real parts first (n, 2k), ‖r‖ in the K_ref⁻¹ norm (k,), K_ref⁻¹ r."""
    gamma, k = stacked(at, lam[None])[0], len(lam)
    X = from_parts(basis.lift(in_parts(vectors)))
    blocks = (in_parts(X * each) if np.any(each) else None for each in gamma.T)
    residual = summed(basis.family.terms, blocks, (basis.family.n, 2 * k), transposed)
    solution = basis.reference.solve(residual)
    square = np.einsum("ij,ij->j", residual, solution).reshape(2, -1).sum(axis=0)
    return residual, np.sqrt(np.maximum(square, 0.0)), solution
