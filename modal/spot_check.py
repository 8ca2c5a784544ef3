"""Full solves at a few drawn points of a sweep: has the reduced basis missed or bent a mode?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assembly.errors import AccuracyError, ConvergenceError, SingularSystemError
from assembly.frozen import FrozenSystem
from modal.affine import Point
from modal.reducer import Reducer
from modal.solve import solve

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]


def full_modes(system: FrozenSystem, k: int) -> tuple[Complex, Array]:
    """The k lowest elastic eigenvalues of an instant and their error bounds, from a full solve."""
    modes = solve(system, k=min(k + 2 * system.rigid.shape[1], system.n))
    elastic = np.flatnonzero(np.asarray(modes.kind) == "elastic")[:k]
    return modes.eigenvalues[elastic], modes.error_bound[elastic]


def spot_check(reducer: Reducer, points: Sequence[Point], wanted: int) -> int:
    """Compare the reduced eigenvalues with full solves at the first `wanted` points that allow one.

    A point whose full solve fails (a stiffness that is singular just there) is passed over. Returns
    how many were compared. Raises AccuracyError when a full eigenvalue lies in no reduced bound.
    """
    compared = 0
    for point in points:
        if compared == wanted:
            break
        try:
            exact, exact_bound = full_modes(reducer.family.freeze(point), reducer.wanted)
        except (SingularSystemError, ConvergenceError, AccuracyError):
            continue
        modes, certificate, rigid = reducer.solve(reducer.family.coefficients([point]))
        elastic = np.flatnonzero(~rigid[0])[: reducer.wanted]
        found, bound = modes.eigenvalues[0, elastic], certificate.error_bound[0, elastic]
        missing = unmatched(found, bound, exact, exact_bound, reducer.floor * reducer.tolerance)
        if missing is not None:
            where = ", ".join(f"{name} = {value}" for name, value in point.items())
            raise AccuracyError(
                f"reduced basis: at {where} λ = {missing:.8g} rad/s of the full solve is not "
                "within the error bound of any reduced eigenvalue"
            )
        compared += 1
    return compared


def unmatched(
    found: Complex, bound: Array, exact: Complex, exact_bound: Array, floor: float
) -> complex | None:
    """The first of `exact` that lies within no bound of `found`, or None.

    The last may be missing: another of about equal size can have taken its place.
    """
    for lam, own in zip(exact[:-1], exact_bound[:-1], strict=True):
        distance = np.minimum(np.abs(found - lam), np.abs(found.conj() - lam))
        if not np.any(distance <= bound + own + floor):
            return complex(lam)
    return None
