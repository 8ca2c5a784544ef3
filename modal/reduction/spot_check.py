"""Full-order verification of randomly chosen points of a reduced sweep."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from assembly.errors import AccuracyError, ConvergenceError, SingularSystemError
from assembly.system.frozen import FrozenSystem
from modal.eigen.solve import solve
from modal.reduction.affine import Point
from modal.reduction.full_order import FullModes, full_order_modes, random_shapes
from modal.reduction.space import Space
from modal.types import Array, Complex


def full_modes(system: FrozenSystem, k: int) -> FullModes:
    """The k lowest eigenvalues of an instant that count, and their error bounds, from a full solve.

    Those that the kinematics of the frame prescribe do not count.
    """
    modes = solve(system, k=min(k + 2 * system.rigid.shape[1], 2 * system.n))
    counted = np.flatnonzero(np.asarray(modes.kind) != "prescribed")[:k]
    return FullModes(modes.eigenvalues[counted], modes.error_bound[counted])


def spot_check(space: Space, points: Sequence[Point], wanted: int, k: int | None = None) -> int:
    """Compare the reduced eigenvalues with full ones at the first `wanted` points that allow it.

    k: how many of the lowest, by default all that the space is made for.

    The full ones come from the factorization of the space (modal/reduction/full_order.py). Where
    that does not converge, or the model has rigid motions, they come from a separate solve. A point
    that has operators of its own is skipped: it is solved in full anyway. So is one whose solve
    fails (a stiffness that is singular there). Returns the number of points compared. Raises
    AccuracyError when the two sets of eigenvalues differ by more than the bounds.
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
        _check_same(found.counted(0, space.wanted), exact, count, floor, where)
        compared += 1
    return compared


def _check_same(
    reduced: tuple[Complex, Array], full: FullModes, k: int, floor: float, where: str
) -> None:
    """Raise AccuracyError where eigenvalues and their bounds exclude one another."""
    exact, exact_bound = full.eigenvalues, full.error_bound
    missing = unmatched(*reduced, exact, exact_bound, floor)
    if missing is not None:
        raise AccuracyError(
            f"reduced basis: at {where} λ = {missing:.8g} rad/s of the full problem is not "
            "within the error bound of any reduced eigenvalue"
        )
    values, bound = reduced
    invented = unmatched(exact, exact_bound, values[:k], bound[:k], floor)
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
    about equal size can have taken its place.
    """
    apart = np.abs(found[None] - exact[:-1, None])
    apart = np.minimum(apart, np.abs(found.conj()[None] - exact[:-1, None]))
    far = apart > bound[None] + exact_bound[:-1, None] + floor
    rows, columns = linear_sum_assignment(far)
    wrong = np.setdiff1d(np.arange(len(exact) - 1), rows[~far[rows, columns]])
    return complex(exact[wrong[0]]) if wrong.size else None
