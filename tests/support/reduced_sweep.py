"""A whole sweep from one reduced basis, trained, checked and bounded as `track` and maps do it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assembly.errors import AccuracyError
from modal.reduction.affine import AffineFamily, Freeze, Point
from modal.reduction.basis import ReducedBasis
from modal.reduction.reduced_eigen import SmallModes
from modal.reduction.reducer import Reducer, spread
from modal.reduction.spot_check import spot_check
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
    (modal/reduction/spot_check.py). Raises AccuracyError when the basis cannot be made good enough,
    or a check fails.
    """
    family = AffineFamily(freeze, points[0])
    at = family.coefficients(points)
    reducer = Reducer(family, at, k, tolerance)
    try:
        reducer.train(at.take(spread(len(points), TRAINING)))
        modes, certificate, rigid = reducer.solve(at)
        ratio = reducer.accepted(modes, certificate, rigid)
        failing = np.flatnonzero(ratio.max(axis=1) > 1.0)
        if failing.size:
            reducer.train(at.take(failing))
            modes, certificate, rigid = reducer.solve(at)
            ratio = reducer.accepted(modes, certificate, rigid)
        if ratio.max() > 1.0:
            raise AccuracyError(
                f"sweep: an error bound stays {ratio.max():.3g} times above the tolerance "
                f"{tolerance:g} with {reducer.projected.size} basis vectors"
            )
        drawn = np.random.default_rng(13).permutation(len(points))
        spot_check(reducer, [points[i] for i in drawn[: 4 * checks]], checks)
    finally:
        reducer.destroy()
    return Sweep(
        modes.eigenvalues,
        certificate.error_bound,
        rigid,
        modes.exact,
        reducer.projected.size,
        reducer.reference.solves,
        reducer.basis,
        modes,
    )
