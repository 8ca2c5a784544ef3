"""Floquet multipliers of small second-order systems by Gauss collocation of order 6.

η̈ = H(t) (ω η, η̇) in scaled coordinates (ω η, η̇). Stages are those of the accelerations, a third of
the work of the first-order form. A-stable and symplectic, as modal/periodic/collocation.py: shapes
faster than the steps are aliased and neither grow nor decay. The multipliers of half as many steps
are their error estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from modal.transient.integrators.tableau import Tableau
from modal.types import Array, Complex

STAGES = 3
GAUSS = Tableau(STAGES)
COLLOCATED = GAUSS.a @ GAUSS.a
BATCH_NUMBERS = 1 << 16  # entries of the stage matrices computed together: they stay in the cache
# Of the difference from half the steps. The error is 1/63 of it where multipliers are simple and
# the root of that next to the edge of a tongue, where two of them meet.
FROM_HALF = 1.0 / 7.0
SMALLEST = 1e-11  # multipliers below this share of the largest drown in its round-off


@dataclass(frozen=True)
class Multipliers:
    """log μ (N,), Im in (−π, π], their errors (N,), eigenvalue conditions and vectors (N, N)."""

    logs: Complex
    errors: Array
    conditions: Array
    vectors: Complex


def multipliers(
    half: Callable[[Array], Array], frequencies: Array, period: float, steps: int
) -> Multipliers:
    """Of one period.

    half(phases): H (P, m, 2m) at parts of the period. frequencies (m,): ω. steps: an even number.
    """
    fine = monodromy(half, frequencies, period, steps)
    coarse = monodromy(half, frequencies, period, steps // 2)
    values, left, right = la.eig(fine, left=True, right=True)
    before = la.eigvals(coarse)
    pairing = np.abs((left.conj() * right).sum(axis=0))
    conditions = 1.0 / np.maximum(pairing, np.finfo(float).eps)
    size = np.abs(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(values)
        gap = np.abs(before[:, None] / values - 1.0).min(axis=0)
        round_off = np.finfo(float).eps * steps * conditions * la.norm(fine, 2) / size
        errors = FROM_HALF * np.abs(np.log1p(np.minimum(gap, 1.0))) + round_off
    known = np.isfinite(logs) & (size > SMALLEST * size.max(initial=0.0))
    tiny = np.finfo(float).tiny
    logs = np.where(known, logs, np.log(np.maximum(SMALLEST * size.max(initial=0.0), tiny)))
    return Multipliers(logs, np.where(known & (gap < 0.5), errors, np.inf), conditions, right)


def monodromy(
    half: Callable[[Array], Array], frequencies: Array, period: float, steps: int
) -> Array:
    """Φ(T, 0) (2m, 2m) in scaled coordinates (ω η, η̇)."""
    m = len(frequencies)
    batch = max(1, BATCH_NUMBERS // (STAGES * m) ** 2)
    total = np.eye(2 * m)
    for first in range(0, steps, batch):
        starts = np.arange(first, min(first + batch, steps))
        phases = ((starts[:, None] + GAUSS.c) / steps).ravel()
        stages = half(phases).reshape(len(starts), STAGES, m, 2 * m)
        total = _product(_steps(stages, frequencies, period / steps)) @ total
    return total


def _steps(stages: Array, frequencies: Array, h: float) -> Array:
    """The maps (S, 2m, 2m) of steps with H at their nodes, stages (S, 3, m, 2m)."""
    S, _, m, _ = stages.shape
    K, C = stages[..., :m] * frequencies, stages[..., m:]
    weights = h * h * COLLOCATED
    matrix = -(
        np.einsum("ij,sikl->sikjl", h * GAUSS.a, C) + np.einsum("ij,sikl->sikjl", weights, K)
    )
    matrix = matrix.reshape(S, STAGES * m, STAGES * m) + np.eye(STAGES * m)
    rest = np.concatenate([stages[..., :m], C + h * GAUSS.c[:, None, None] * K], axis=-1)
    k = np.linalg.solve(matrix, rest.reshape(S, STAGES * m, 2 * m)).reshape(S, STAGES, m, 2 * m)
    maps = np.broadcast_to(np.eye(2 * m), (S, 2 * m, 2 * m)).copy()
    place = np.arange(m)
    maps[:, place, m + place] += h * frequencies
    maps[:, :m] += h * h * frequencies[:, None] * np.einsum("sikl,i->skl", k, GAUSS.b @ GAUSS.a)
    maps[:, m:] += h * np.einsum("sikl,i->skl", k, GAUSS.b)
    return maps


def _product(maps: Array) -> Array:
    """The product, the last map leftmost, by pairs."""
    while len(maps) > 1:
        last = maps[-1:] if len(maps) % 2 else maps[:0]
        even = maps[: len(maps) - len(last)]
        maps = np.concatenate([even[1::2] @ even[::2], last])
    return np.asarray(maps[0])
