"""The lowest modes of one point in full order, from reduced bases and from a random start.

A copy of the bases takes a block Krylov space of K_ref⁻¹M on a seeded random block, M-orthogonal to
them, in which a mode that they miss shows. It grows by K_ref⁻¹ of the residuals, right and left, of
every Ritz pair that is not settled. The residuals are formed with the operators of the point over
all degrees of freedom, and an eigenvalue is the two-sided Rayleigh quotient that they give where it
differs by more than round-off: what is projected, and K_ref, decide how fast, not what, is found.

The bound of a pair is that of modal/reduction/error_bounds.py with the norm ‖r‖² = rᴴK_ref⁻¹r
itself in place of sketches, which the solve for the next vectors gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from modal.eigen.quadratic import from_parts
from modal.reduction.basis import ReducedBasis
from modal.reduction.error_bounds import coupled
from modal.reduction.instants import Instants
from modal.reduction.projection import combined
from modal.reduction.reduced_eigen import SmallModes
from modal.reduction.residuals import roles_of_modes
from modal.reduction.space import ROUNDS, Space
from modal.types import Array, Complex, Index, Mask

PROBE, PROBE_STEPS = 8, 2  # columns and steps of the random Krylov space
GUARD = 1  # Ritz pairs beyond those wanted that have to be settled too
SETTLED = 1e-3  # relative residual, in the energy norm, of a guard that may lie inside the window
SHARPER = 1e-2  # of the tolerance: error bounds asked for
AMPLIFICATION = 2.0  # of a residual on the complement of V, where |λ|² is at most half of K_ref


@dataclass(frozen=True)
class FullModes:
    """eigenvalues (k,) rad/s of the lowest modes, Im λ ≥ 0; error_bound (k,) rad/s."""

    eigenvalues: Complex
    error_bound: Array


@dataclass(frozen=True)
class _Residuals:
    """Of k pairs: norms (k,) dual to K_ref, K_ref⁻¹ρ of every part, and what the projection of ρ on
    the bases does to λ (k,), zero but for round-off where what is projected is right."""

    norm: Array
    steps: Mapping[str, Array]
    work: Complex


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


def full_order_modes(
    space: Space, point: Any, k: int, random: Mapping[str, Array]
) -> FullModes | None:
    """The k lowest modes of a point with nothing free to move.

    space: a copy without sketches, which grows. random: `random_shapes` of every part. Bounds are
    at most SHARPER × tolerance × max(|λ|, floor) or round-off. None where some pair does not get
    there: the point is too far from the reference.
    """
    for name, part in space.parts.items():
        part.include(random[name])
    settled_before = (np.zeros(0, dtype=complex), np.zeros(0), np.zeros(0), np.zeros(0, complex))
    for _ in range(ROUNDS):
        at, modes = space.examined(point, k + GUARD)
        lam, condition = modes.eigenvalues[0], modes.condition[0]
        energy = np.sqrt(2.0) * np.abs(lam) * at.mass_norm(modes.right)[0]  # √(2|λ|²uᴴMu)
        own, relative, work, rest = _carried(*settled_before, lam)
        some = modes.take(rest[None])
        right = _residuals(space.parts, at, some, transposed=False)
        left = right
        if not modes.exact[0]:
            left = _residuals(space.parts, at, some, transposed=True)
        tiny = np.finfo(float).tiny
        pairing = at.pairing(modes)[0, rest]
        pairing = np.where(np.abs(pairing) > tiny, pairing, tiny)
        own[rest] = AMPLIFICATION * left.norm * right.norm / np.abs(pairing)
        relative[rest] = right.norm / np.maximum(energy[rest], tiny)
        work[rest] = -right.work / pairing
        bound = coupled(own[None], lam[None], modes.condition)[0]
        size = np.maximum(np.abs(lam), at.floor)
        noise = np.finfo(float).eps * modes.spread[0] * condition
        rounded = np.maximum(noise, space.quotient_round_off(size) * condition)
        allowed = np.maximum(SHARPER * space.tolerance * size, rounded)
        settled = (bound <= allowed) | _outside(lam, relative, k)
        if settled.all() or space.complete:
            exact = lam + np.where(np.abs(work) > allowed, work, 0.0)
            return FullModes(exact[:k], (bound + rounded)[:k])
        settled_before = (lam[settled], own[settled], relative[settled], work[settled])
        failing = np.flatnonzero(~settled[rest])
        chosen = np.concatenate([failing, failing + len(rest)])
        sides = (right,) if left is right else (right, left)
        added = sum(
            part.include(np.hstack([side.steps[name][:, chosen] for side in sides]))
            for name, part in space.parts.items()
        )
        if not added:
            break
    return None


def _outside(lam: Complex, residual: Array, k: int) -> Mask:
    """Guards that are known to be beyond the k-th mode, or well enough to be put in order."""
    size = np.abs(lam)
    known = (size * (1.0 - residual) > size[:k].max()) | (residual <= SETTLED)
    known[:k] = False
    return np.asarray(known)


def _carried(
    before: Complex, own: Array, residual: Array, work: Complex, lam: Complex
) -> tuple[Array, Array, Complex, Index]:
    """Bounds, residuals and works of pairs that are as they were when they settled; which are
    not."""
    bounds, residuals = np.full(len(lam), np.nan), np.full(len(lam), np.nan)
    works = np.zeros(len(lam), dtype=complex)
    for value, bound, size, change in zip(before, own, residual, work, strict=True):
        distance = np.where(np.isnan(bounds), np.abs(lam - value), np.inf)
        nearest = int(distance.argmin())
        if distance[nearest] <= bound:
            bounds[nearest], residuals[nearest], works[nearest] = bound, size, change
    return bounds, residuals, works, np.flatnonzero(np.isnan(bounds))


def _residuals(
    parts: Mapping[str, ReducedBasis], instants: Instants, modes: SmallModes, transposed: bool
) -> _Residuals:
    """Residuals of the pairs of one point, or of the adjoint problem."""
    lam, vectors = modes.eigenvalues, modes.left if transposed else modes.right
    motion = roles_of_modes(lam.conj() if transposed else lam, vectors)[::-1]
    square, steps, work = np.zeros(lam.shape[1]), {}, np.zeros(lam.shape[1], dtype=complex)
    for name, part in parts.items():
        roles = instants.roles(name, *motion, transposed)
        at = instants.coefficients[name]
        blocks = sum(c[0][:, None, None] * x[0] for c, x in zip(at.table, roles, strict=True))
        wide = part.rotation @ np.concatenate([blocks.real, blocks.imag], axis=2)
        residual = part.free(combined(part.terms, part.V, wide, transposed))
        steps[name] = part.solve(residual)
        energy = np.einsum("ij,ij->j", residual, steps[name]).reshape(2, -1).sum(axis=0)
        square += np.maximum(energy, 0.0)
        if not transposed:
            left = modes.left
            test = instants.roles(name, left, left, left, True)[2][0]
            inside = from_parts(part.rotation.T @ (part.V.T @ residual))
            work += (test.conj() * inside).sum(axis=0)
    return _Residuals(np.sqrt(square), steps, work)
