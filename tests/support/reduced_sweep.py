"""A whole sweep from one reduced basis, trained, checked and bounded as `track` and maps do it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assembly.errors import AccuracyError
from modal.reduction.affine import AffineFamily, Freeze, Point
from modal.reduction.basis import ReducedBasis
from modal.reduction.body_space import BodySpace
from modal.reduction.full_order import spot_check
from modal.reduction.reduced_eigen import SmallModes
from modal.reduction.space import spread
from modal.types import Array, Complex, Mask

TRAINING = 9  # points the basis is first grown on


@dataclass(frozen=True)
class Sweep:
    """Eigenvalues of P points of a sweep, k each, with their certificates.

    eigenvalues (P, k) rad/s, smallest |λ| first, one of each conjugate pair; error_bound (P, k)
    rad/s; rigid (P, k): the mode is a rigid motion's; exact (P,): imaginary by structure. size:
    vectors in the basis; solves: right-hand sides solved with the one factor. `right(p)` and
    `left(p)` give the full vectors (n, k) of a point.
    """

    eigenvalues: Complex
    error_bound: Array
    rigid: Mask
    exact: Mask
    size: int
    solves: int
    basis: ReducedBasis
    small: SmallModes

    def right(self, point: int) -> Complex:
        return np.asarray(self.basis.lift(self.small.right[point]))

    def left(self, point: int) -> Complex:
        return np.asarray(self.basis.lift(self.small.left[point]))


def sweep(
    freeze: Freeze,
    points: Sequence[Point],
    k: int = 10,
    tolerance: float = 1e-6,
    checks: int = 1,
) -> Sweep:
    """The k lowest modes at every point of a sweep, certified to `tolerance` (relative).

    freeze: point → FrozenSystem of shared operators (see modal/reduction/affine.py); points in
    sweep order. checks: points, chosen by a seeded draw, that are looked at in full order
    (modal/reduction/full_order.py). Raises AccuracyError when the basis cannot be made good enough,
    or a check fails.
    """
    family = AffineFamily(freeze, points[0])
    at = family.coefficients(points)
    space = BodySpace(family, at, k, tolerance)
    try:
        space.train(at.take(spread(len(points), TRAINING)))
        found = space.solve(at)
        failing = np.flatnonzero(space.accepted(found).max(axis=1) > 1.0)
        if failing.size:
            space.train(at.take(failing))
            found = space.solve(at)
        worst = space.worst(found)
        if worst > 1.0:
            raise AccuracyError(
                f"sweep: an error bound stays {worst:.3g} times above the tolerance "
                f"{tolerance:g} with {space.projected.size} basis vectors"
            )
        drawn = np.random.default_rng(13).permutation(len(points))
        spot_check(space, [points[i] for i in drawn[: 4 * checks]], checks)
    finally:
        space.destroy()
    return Sweep(
        found.modes.eigenvalues,
        found.bounds.error_bound,
        found.prescribed,
        found.modes.exact,
        space.projected.size,
        space.reference.solves,
        space.basis,
        found.modes,
    )
