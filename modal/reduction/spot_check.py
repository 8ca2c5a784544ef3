"""Full-order verification of randomly chosen points of a reduced sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial

import numpy as np
from scipy.optimize import linear_sum_assignment

from assembly.errors import AccuracyError, ConvergenceError, SingularSystemError
from assembly.mechanisms.mechanism import Mechanism
from assembly.system.frozen import DAMPING_PARTS, STIFFNESS_PARTS, FrozenSystem
from modal.eigen.solve import solve
from modal.reduction.affine import Coefficients, Point
from modal.reduction.full_order import full_order_modes, random_shapes
from modal.reduction.link_reducer import LinkReducer
from modal.reduction.reducer import BodyPoints, Reducer
from modal.types import Array, Complex

SAME = 1e-12  # relative difference of products with the point's own matrices and with the family's


def full_modes(system: FrozenSystem, k: int) -> tuple[Complex, Array]:
    """The k lowest eigenvalues of an instant that count, and their error bounds, from a full solve.

    Those that the kinematics of the frame prescribe do not count.
    """
    modes = solve(system, k=min(k + 2 * system.rigid.shape[1], 2 * system.n))
    counted = np.flatnonzero(np.asarray(modes.kind) != "prescribed")[:k]
    return modes.eigenvalues[counted], modes.error_bound[counted]


def spot_check(reducer: Reducer, points: Sequence[Point], wanted: int, k: int | None = None) -> int:
    """Compare the reduced eigenvalues with full ones at the first `wanted` points that allow it.

    k: how many of smallest |λ|, by default all that the basis is made for.

    The full ones come from the sweep's own factorization (modal/reduction/full_order.py). Where
    that does not converge, or the model has rigid motions, they come from a separate solve. A point
    whose solve fails (a stiffness that is singular there) is skipped. Returns the number of points
    compared. Raises AccuracyError when the two sets of eigenvalues differ by more than the bounds.
    """
    compared = 0
    random = cache(partial(random_shapes, reducer.basis))
    count = reducer.wanted if k is None else min(k, reducer.wanted)
    for point in points:
        if compared == wanted:
            break
        extended, at = reducer.family.extended([point])
        if len(extended.terms) > len(reducer.projected.matrices):
            continue  # has an operator of its own: it is solved in full anyway
        modes, certificate, prescribed = reducer.solve(at)
        counted = np.flatnonzero(~prescribed[0] & np.isfinite(modes.eigenvalues[0]))[
            : reducer.wanted
        ]
        values, bound = modes.eigenvalues[0, counted], certificate.error_bound[0, counted]
        try:
            exact, exact_bound = _full(reducer, point, at, count, random)
        except (SingularSystemError, ConvergenceError, AccuracyError):
            continue
        where = ", ".join(f"{name} = {value}" for name, value in point.items())
        floor = reducer.floor * reducer.tolerance
        check_same((values, bound), (exact, exact_bound), count, floor, where)
        compared += 1
    return compared


def check_links(
    reducer: LinkReducer,
    points: Iterable[tuple[Mechanism, float]],
    wanted: int,
    k: int | None = None,
) -> int:
    """As `spot_check`, of mechanisms whose links have bases at times, s.

    A point whose full modes do not settle is skipped.
    """
    compared = 0
    count = reducer.wanted if k is None else min(k, reducer.wanted)
    random: dict[str, Array] = {}
    for mechanism, t in points:
        if compared == wanted:
            break
        (found,) = reducer.solve(mechanism, np.array([t]))
        there = np.isfinite(found.modes.eigenvalues[0])
        reduced = found.modes.eigenvalues[0, there], found.bounds.error_bound[0, there]
        random = random or {name: random_shapes(basis) for name, basis in reducer.bases.items()}
        try:
            full = full_order_modes(reducer.without_sketches(), (mechanism, t), count, random)
        except ConvergenceError:
            continue
        exact = full.eigenvalues, full.error_bound
        check_same(reduced, exact, count, reducer.floor * reducer.tolerance, f"t = {t:.6g} s")
        compared += 1
    return compared


def check_same(
    reduced: tuple[Complex, Array], full: tuple[Complex, Array], k: int, floor: float, where: str
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


def _full(
    reducer: Reducer, point: Point, at: Coefficients, k: int, random: Callable[[], Array]
) -> tuple[Complex, Array]:
    """The k lowest elastic eigenvalues of the point and their bounds, in full order."""
    family, reference = reducer.family, reducer.reference
    system = family.freeze(point)
    known = at.mass.shape[1] == len(reference.weights)
    if known and not system.rigid.shape[1] and same_operators(system, reducer, at):
        try:
            shapes = {BodyPoints.name: random()}
            exact = full_order_modes(reducer.without_sketches(), at, k, shapes)
            return exact.eigenvalues, exact.error_bound
        except ConvergenceError:
            pass  # a point far from the reference: a factorization of its own decides
    return full_modes(system, k)


def same_operators(system: FrozenSystem, reducer: Reducer, at: Coefficients) -> bool:
    """Whether M, C + D and K of the point are what the family takes them for, by one product."""
    x = np.random.default_rng(17).standard_normal((system.n, 1))
    groups = ((("M",), at.mass), (DAMPING_PARTS, at.damping), (STIFFNESS_PARTS, at.stiffness))
    for names, coefficients in groups:
        own = system.combined(names) @ x
        images = [
            c * term.apply(x)
            for c, term in zip(coefficients[0], reducer.family.terms, strict=True)
            if c != 0.0
        ]
        if np.linalg.norm(own - sum(images)) > SAME * sum(np.linalg.norm(i) for i in images):
            return False
    return True


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
