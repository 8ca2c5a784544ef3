"""Floquet multipliers of the low modes of a large model, on the space of its frozen modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from assembly.errors import ConvergenceError
from modal.data.progress import counted, shown
from modal.periodic.balanced import Balanced
from modal.periodic.basis_error import basis_error
from modal.periodic.collocation import ORDER, monodromy_factors
from modal.periodic.galerkin import GalerkinModel, modal_basis
from modal.periodic.magnus import SPREAD
from modal.periodic.product_eigen import EPS, product_modes
from modal.reduction.interpolation import Interpolant, one_by_one, periodic_interpolant
from modal.transient.equations import SecondOrderModel
from modal.types import Array, Complex

INSTANTS = 8  # of a period, whose frozen modes span the basis
GUARD = 2  # additional modes in the basis
RESOLUTION = 0.5  # |λ| h of the fastest requested mode, in the first run
GROWTH = 1.5
MOST_STEPS = 1 << 15
LEAST_FACTORS = 3  # the error of the basis is evaluated between them, off the basis' instants


def reduced_basis(
    model: Any, period: float, t0: float, k: int, progress: bool | None = False
) -> Array:
    """Shapes (n, r) of the k slowest frozen modes, and GUARD more, at instants of the period."""
    times = (t0 + period * np.arange(INSTANTS) / INSTANTS).tolist()
    instants = shown(times, "frozen modes as a basis", "instant", progress)
    return modal_basis(model, instants, k + GUARD)


def reduced_motion(
    model: Any, basis: Array, period: float, t0: float, progress: bool | None = False
) -> tuple[Balanced, Interpolant | None]:
    """A(t) of the model on the basis, and its interpolant where it is smooth."""
    equations = SecondOrderModel(GalerkinModel(model, basis))
    exact = equations.first_order
    with counted(exact, "matrices of the motion", "instant", progress) as sampled:
        smooth = periodic_interpolant(one_by_one(sampled), t0, period)
    return Balanced.energy(smooth or exact, equations.at(t0)), smooth


def reduced_multipliers(
    model: Any,
    A: Balanced,
    basis: Array,
    period: float,
    t0: float,
    k: int,
    tolerance: float,
    progress: bool | None = False,
) -> tuple[Complex, Complex, Array]:
    """Log μ (m,) of the multipliers, Floquet vectors (2n, m) on (q, q̇) at t0, and the errors of log
    μ: of the steps, of round-off by the eigenvalue's condition, and of the basis.

    A: of the model on the basis (n, r). The k slowest frozen modes of t0 are followed (m = 2k; real
    eigenvalues count by themselves): of all Floquet vectors, those that consist of them most. Steps
    grow until log μ agrees to `tolerance`. Raises ConvergenceError.
    """
    values, frozen = la.eig(A.many(np.array([t0]))[0])
    slow = np.argsort(np.abs(values), kind="stable")[: 2 * k]
    share = la.inv(frozen)
    decay = float(np.abs(values[slow].real).max()) * period
    count = max(LEAST_FACTORS, int(np.ceil(decay / SPREAD)))
    steps = max(32, 2 * count, int(np.ceil(period * np.abs(values[slow]).max() / RESOLUTION)))
    before: Complex | None = None
    last = steps
    while steps <= MOST_STEPS:
        factors = monodromy_factors(A, t0, t0 + period, steps, count, progress)
        modes = product_modes(factors, np.full(count, steps * EPS / count))
        parts = np.abs(share @ modes.vectors) ** 2
        kept = np.argsort(-(parts[slow].sum(axis=0) / parts.sum(axis=0)), kind="stable")
        kept = kept[: len(slow)]
        found = modes.logs[kept]
        if before is not None:
            gap = _nearest(before, found)[1] / ((steps / last) ** ORDER - 1.0)
            if gap.max() <= tolerance:
                full = A.restored(modes.vectors[:, kept])
                r = len(A.root) // 2
                lifted = np.vstack([basis @ full[:r], basis @ full[r:]])
                missed = period * _missed(model, A, basis, found, factors, t0, period, steps)
                return found, lifted, gap + modes.error[kept] + missed
        before, last = found, steps
        steps = int(np.ceil(GROWTH * steps))
    raise ConvergenceError(
        f"Floquet: {last} steps a period do not give the multipliers to {tolerance:.1e}; "
        "ask for fewer modes (k) or a larger tolerance",
        partial=before,
    )


def _missed(
    model: Any,
    A: Balanced,
    basis: Array,
    logs: Complex,
    factors: Array,
    t0: float,
    period: float,
    steps: int,
) -> Array:
    """The error by the basis (m,), 1/s: the largest found at a third and two thirds of the period.

    The Floquet vectors there are those of the same factors in cyclic order.
    """
    count = len(factors)
    out = np.zeros(len(logs))
    for first in (count // 3, 2 * count // 3):
        rolled = product_modes(np.roll(factors, -first, axis=0), np.zeros(count))
        place, _ = _nearest(rolled.logs, logs)
        t = t0 + period * -(-first * steps // count) / steps
        out = np.maximum(out, basis_error(model, basis, A, t, rolled.vectors[:, place]))
    return out


def _nearest(values: Complex, wanted: Complex) -> tuple[NDArray[np.intp], Array]:
    """For each log μ of `wanted` the nearest of `values` and its distance, Im on its circle."""
    apart = wanted[:, None] - values[None, :]
    distance = np.hypot(apart.real, np.abs(np.exp(1j * apart.imag) - 1.0))
    return distance.argmin(axis=1), np.asarray(distance.min(axis=1))
