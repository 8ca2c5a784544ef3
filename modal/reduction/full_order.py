"""Full-order verification of randomly chosen points of a reduced sweep.

The lowest modes of one point in full order come from the reduced bases and a random start. A copy
of the bases takes a block Krylov space of K_ref⁻¹M on a seeded random block, M-orthogonal to them,
in which a mode that they miss shows. It grows by K_ref⁻¹ of the residuals, right and left, of every
Ritz pair that is not settled. The residuals are formed with the operators of the point over all
degrees of freedom, and an eigenvalue is the two-sided Rayleigh quotient that they give where it
differs by more than its bound: what is projected, and K_ref, decide how fast, not what, is found.

The bound of a pair is that of modal/reduction/error_bounds.py with the norm ‖r‖² = rᴴK_ref⁻¹r
itself in place of sketches, which the solve for the next vectors gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from assembly.errors import AccuracyError, ConvergenceError, SingularSystemError
from assembly.system.frozen import FrozenSystem
from modal.eigen.quadratic import from_parts
from modal.eigen.solve import solve
from modal.eigen.tolerances import BLOCK, ROUNDS, WEAK
from modal.reduction.affine import Point
from modal.reduction.basis import ReducedBasis
from modal.reduction.error_bounds import coupled, distance
from modal.reduction.instants import Instants, motion_of_modes
from modal.reduction.projection import combined
from modal.reduction.reduced_eigen import SmallModes
from modal.reduction.space import Space
from modal.types import Array, Complex


class FullModes(NamedTuple):
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


def full_modes(system: FrozenSystem, k: int) -> FullModes:
    """The k lowest eigenvalues of an instant that count, and their error bounds, from a full solve.

    Those that the kinematics of the frame prescribe do not count.
    """
    modes = solve(system, k=min(k + 2 * system.rigid.shape[1], 2 * system.n))
    counted = np.flatnonzero(np.asarray(modes.kind) != "prescribed")[:k]
    return FullModes(modes.eigenvalues[counted], modes.error_bound[counted])


def random_shapes(basis: ReducedBasis, seed: int = 29, steps: int = 2) -> Array:
    """A block Krylov space of K_ref⁻¹M on a seeded random block, (n, BLOCK × steps).

    Each step is M-orthogonal to the basis.
    """
    reference, columns = basis.reference, basis.columns
    blocks = [np.random.default_rng(seed).standard_normal((basis.family.n, BLOCK))]
    for _ in range(steps):
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
    at most tolerance × max(|λ|, floor) or round-off. None where some pair does not get there: the
    point is too far from the reference.
    """
    for name, part in space.parts.items():
        part.include(random[name])
    tiny = np.finfo(float).tiny
    for _ in range(ROUNDS):
        space.refresh()
        at = space.on(point)
        modes = space.lowest(at, k + 1)
        modes = modes.take(np.flatnonzero(np.isfinite(modes.eigenvalues[0]))[None])
        lam, condition = modes.eigenvalues[0], modes.condition[0]
        right = _residuals(space, at, modes, transposed=False)
        left = right if modes.exact[0] else _residuals(space, at, modes, transposed=True)
        pairing = at.pairing(modes)[0]
        pairing = np.where(np.abs(pairing) > tiny, pairing, tiny)
        apart = distance(lam[None], at.resolved, at.complement)[0]
        with np.errstate(divide="ignore", invalid="ignore"):
            there = left.norm * right.norm / np.abs(pairing) / apart[:, None]
        bound = coupled(np.diagonal(there)[None], lam[None], modes.condition, there[None])[0]
        size = np.maximum(np.abs(lam), at.floor)
        noise = np.finfo(float).eps * modes.spread[0] * condition
        rounded = np.maximum(noise, space.quotient_round_off(size) * condition)
        allowed = np.maximum(space.tolerance * size, rounded)
        # The next mode is known to be beyond the k-th, or well enough to be put in order.
        energy = np.sqrt(2.0) * np.abs(lam) * at.mass_norm(modes.right)[0]  # √(2|λ|²uᴴMu)
        relative = right.norm / np.maximum(energy, tiny)
        outside = np.abs(lam) * (1.0 - relative) > np.abs(lam[:k]).max()
        outside |= relative <= WEAK
        outside[:k] = apart[:k] == 0.0
        failing = np.flatnonzero((bound > allowed) & ~outside)
        if not failing.size or space.complete:
            work = -right.work / pairing
            exact = lam + np.where(np.abs(work) > allowed, work, 0.0)
            return FullModes(exact[:k], (bound + rounded)[:k])
        chosen = np.concatenate([failing, failing + len(lam)])
        sides = (right,) if left is right else (right, left)
        added = sum(
            part.include(np.hstack([side.steps[name][:, chosen] for side in sides]))
            for name, part in space.parts.items()
        )
        if not added:
            break
    return None


def _residuals(space: Space, at: Instants, modes: SmallModes, transposed: bool) -> _Residuals:
    """Residuals of the pairs of one point, or of the adjoint problem."""
    lam, vectors = modes.eigenvalues[0], (modes.left if transposed else modes.right)[0]
    here = at.taken(np.zeros(len(lam), dtype=np.intp))
    columns = vectors.T[:, :, None]
    motion = motion_of_modes((lam.conj() if transposed else lam)[:, None], columns)
    square, steps, work = np.zeros(len(lam)), {}, np.zeros(len(lam), dtype=complex)
    for name, part in space.parts.items():
        x = here.residual(name, here.roles(name, motion, transposed))
        wide = part.rotation @ np.concatenate([x.real, x.imag], axis=2)
        images = combined(part.family.terms, part.V, wide, transposed)
        residual = part.free(images)
        steps[name] = part.solve(residual)
        energy = np.einsum("ij,ij->j", residual, steps[name]).reshape(2, -1).sum(axis=0)
        square += np.maximum(energy, 0.0)
        if not transposed:
            left = modes.left
            test = at.roles(name, (left, left, left), True)[2][0]
            inside = from_parts(part.rotation.T @ (part.V.T @ images))
            inside -= (here.projected[name].matrices[: len(x)] @ x).sum(axis=0)
            work += (test.conj() * inside).sum(axis=0)
    return _Residuals(np.sqrt(square), steps, work)


def spot_check(space: Space, points: Sequence[Point], wanted: int, k: int | None = None) -> int:
    """Compare the reduced eigenvalues with full ones at the first `wanted` points that allow it.

    k: how many of the lowest, by default all that the space is made for.

    The full ones come from the factorization of the space. Where that does not converge, or the
    model has rigid motions, they come from a separate solve. A point that has operators of its own
    is skipped: it is solved in full anyway. So is one where no reduced eigenvalue has a bound, and
    one whose solve fails (a stiffness that is singular there). Returns the number of points
    compared. Raises AccuracyError when the two sets of eigenvalues differ by more than the bounds.
    """
    compared = 0
    random: dict[str, Array] = {}
    count = space.wanted if k is None else min(k, space.wanted)
    for point in points:
        if compared == wanted:
            break
        at = space.usable(point)
        if at is None:
            continue
        found = space.solve(at)
        if np.isinf(found.bounds.error_bound[~found.prescribed]).all():
            continue
        try:
            system = space.family.freeze(point)
            full = None
            if space.represents(system, at):
                random = random or {n: random_shapes(part) for n, part in space.parts.items()}
                full = full_order_modes(space.without_sketches(), at, count, random)
            exact = full_modes(system, count) if full is None else full
        except (SingularSystemError, ConvergenceError, AccuracyError):
            continue
        where = ", ".join(f"{name} = {value}" for name, value in point.items())
        floor = found.instants.floor * space.tolerance
        if isinstance(here := found.instants, Instants):
            # Where 0 is in the numerical range (error_bounds.py) the space claims nothing.
            apart = distance(exact.eigenvalues[None], here.resolved, here.complement)[0]
            exact = exact._replace(error_bound=np.where(apart > 0.0, exact.error_bound, np.inf))
        _check_same(found.counted(0, space.wanted), exact, count, floor, where)
        compared += 1
    return compared


def _check_same(
    reduced: tuple[Complex, Array], full: FullModes, k: int, floor: float, where: str
) -> None:
    """Raise AccuracyError where eigenvalues and their bounds exclude one another."""
    missing = unmatched(*reduced, *full, floor)
    if missing is not None:
        raise AccuracyError(
            f"reduced basis: at {where} λ = {missing:.8g} rad/s of the full problem is not "
            "within the error bound of any reduced eigenvalue"
        )
    values, bound = reduced
    invented = unmatched(*full, values[:k], bound[:k], floor)
    if invented is not None:
        raise AccuracyError(
            f"reduced basis: at {where} no eigenvalue of the full problem is within the error "
            f"bound of λ = {invented:.8g} rad/s"
        )


def unmatched(
    found: Complex, bound: Array, exact: Complex, exact_bound: Array, floor: float
) -> complex | None:
    """The first of `exact` that lies within no bound of a `found` of its own, or None.

    One to one, so that half of a double eigenvalue is missed. The last may be missing: another of
    about equal size can have taken its place. Those of infinite bound are left out.
    """
    found, bound = (values[np.isfinite(bound)] for values in (found, bound))
    exact, exact_bound = (v[:-1][np.isfinite(exact_bound[:-1])] for v in (exact, exact_bound))
    apart = np.abs(found[None] - exact[:, None])
    apart = np.minimum(apart, np.abs(found.conj()[None] - exact[:, None]))
    far = apart > bound[None] + exact_bound[:, None] + floor
    rows, columns = linear_sum_assignment(far)
    wrong = np.setdiff1d(np.arange(len(exact)), rows[~far[rows, columns]])
    return complex(exact[wrong[0]]) if wrong.size else None
