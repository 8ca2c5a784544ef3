"""Floquet multipliers of the low modes of a large model, on the space of its frozen modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from assembly.errors import ConvergenceError
from modal.collocation import ORDER, monodromy
from modal.equations import SecondOrderModel
from modal.galerkin import GalerkinModel, modal_basis
from modal.interpolation import Interpolant, periodic_interpolant

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

INSTANTS = 8  # of a period, whose frozen modes span the basis
GUARD = 2  # modes more than asked for in the basis
RESOLUTION = 0.5  # |λ| h of the fastest mode asked for, at the first try
GROWTH = 1.5
MOST_STEPS = 1 << 15


def reduced_multipliers(
    model: Any, period: float, t0: float, k: int, tolerance: float, basis: Array | None
) -> tuple[Complex, Complex, Array, Interpolant | None]:
    """Multipliers (m,), Floquet vectors (2n, m) on (q, q̇) at t0, absolute errors of the
    multipliers, and what the matrices were read off.

    The k slowest frozen modes of t0 are followed (m = 2k; real eigenvalues count by themselves):
    of all Floquet vectors, those that consist of them most. Steps grow until the multipliers
    agree to `tolerance`. Raises ConvergenceError.
    """
    if basis is None:
        times = t0 + period * np.arange(INSTANTS) / INSTANTS
        basis = modal_basis(model, [float(t) for t in times], k + GUARD)
    equations = SecondOrderModel(GalerkinModel(model, basis))
    exact: Callable[[float], Array] = equations.first_order
    smooth = periodic_interpolant(exact, t0, period)
    A = smooth or exact
    here = A(t0)
    _, (scale, _) = la.matrix_balance(here, permute=False, separate=True)

    def balanced(t: float) -> Array:
        return np.asarray(A(t) * (scale[None, :] / scale[:, None]))

    values, frozen = la.eig(balanced(t0))
    slow = np.argsort(np.abs(values), kind="stable")[: 2 * k]
    share = la.inv(frozen)
    steps = max(32, int(np.ceil(period * np.abs(values[slow]).max() / RESOLUTION)))
    before: Complex | None = None
    last = steps
    while steps <= MOST_STEPS:
        multipliers, vectors = la.eig(monodromy(balanced, t0, t0 + period, steps))
        parts = np.abs(share @ vectors) ** 2
        kept = np.argsort(-(parts[slow].sum(axis=0) / parts.sum(axis=0)), kind="stable")
        kept = kept[: len(slow)]
        found = multipliers[kept]
        if before is not None:
            gap = _distances(before, found) / ((steps / last) ** ORDER - 1.0)
            if gap.max() <= tolerance:
                full = vectors[:, kept] * scale[:, None]
                r = len(scale) // 2
                lifted = np.vstack([basis @ full[:r], basis @ full[r:]])
                floor = 1e2 * np.finfo(float).eps * float(np.linalg.cond(vectors))
                return found, lifted, np.maximum(gap, floor), smooth
        before, last = found, steps
        steps = int(np.ceil(GROWTH * steps))
    raise ConvergenceError(
        f"Floquet: {last} steps a period do not give the multipliers to {tolerance:.1e}; "
        "ask for fewer modes (k) or a larger tolerance",
        partial=before,
    )


def _distances(before: Complex, now: Complex) -> Array:
    """From each multiplier to the nearest of the coarser run."""
    return np.asarray(np.abs(now[:, None] - before[None, :]).min(axis=1))
