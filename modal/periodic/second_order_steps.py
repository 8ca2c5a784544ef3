"""Floquet multipliers of small second-order systems by Gauss collocation of order 6.

η̈ = H(t) (ω η, η̇) in scaled coordinates (ω η, η̇). Stages are those of the accelerations, a third of
the work of the first-order form. A-stable and symplectic, as modal/periodic/collocation.py: shapes
faster than the steps are aliased and neither grow nor decay. The multipliers of half as many steps
are their error estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from modal.transient.integrators.tableau import Tableau
from modal.types import Array, Complex

STAGES = 3
GAUSS = Tableau(STAGES)
INVERSE = np.linalg.inv(GAUSS.a)
ENDS = np.stack([GAUSS.b, GAUSS.b @ INVERSE])  # Σ (b a)_i k_i and Σ b_i k_i from g
BATCH_NUMBERS = 1 << 15  # entries of the stage matrices computed together: they stay in the cache
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


def refinements(
    half: Callable[[Array], Array], frequencies: Array, period: float, steps: int
) -> Iterator[Multipliers]:
    """Of one period by `steps` steps, then by twice as many, and so on.

    half(phases): H (P, m, 2m) at parts of the period. frequencies (m,): ω. steps: an even number.
    """
    before = la.eigvals(monodromy(half, frequencies, period, steps // 2))
    while True:
        fine = monodromy(half, frequencies, period, steps)
        values, left, right = la.eig(fine, left=True, right=True)
        pairing = np.abs((left.conj() * right).sum(axis=0))
        conditions = 1.0 / np.maximum(pairing, np.finfo(float).eps)
        size = np.abs(values)
        smallest = SMALLEST * size.max(initial=0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(values)
            gap = np.abs(before[:, None] / values - 1.0).min(axis=0)
            round_off = np.finfo(float).eps * steps * conditions * la.norm(fine, 2) / size
            errors = FROM_HALF * np.abs(np.log1p(np.minimum(gap, 1.0))) + round_off
        known = np.isfinite(logs) & (size > smallest)
        logs = np.where(known, logs, np.log(np.maximum(smallest, np.finfo(float).tiny)))
        errors = np.where(known & (gap < 0.5), errors, np.inf)
        yield Multipliers(logs, errors, conditions, right)
        before, steps = values, 2 * steps


def monodromy(
    half: Callable[[Array], Array], frequencies: Array, period: float, steps: int
) -> Array:
    """Φ(T, 0) (2m, 2m) in scaled coordinates (ω η, η̇)."""
    m = len(frequencies)
    batch = min(steps, max(1, BATCH_NUMBERS // (STAGES * m) ** 2))
    # Allocated once: the system would take such arrays back and clear them at every batch.
    room = [np.empty((batch, STAGES, m, n)) for n in (STAGES * m, 2 * m)]
    total = np.eye(2 * m)
    for first in range(0, steps, batch):
        starts = np.arange(first, min(first + batch, steps))
        phases = ((starts[:, None] + GAUSS.c) / steps).ravel()
        stages = half(phases).reshape(len(starts), STAGES, m, 2 * m)
        matrix, right = (array[: len(starts)] for array in room)
        total = _product(_steps(stages, frequencies, period / steps, matrix, right)) @ total
    return total


def _steps(stages: Array, frequencies: Array, h: float, matrix: Array, right: Array) -> Array:
    """The maps (S, 2m, 2m) of steps with H at their nodes, stages (S, 3, m, 2m).

    The unknowns are g_i = Σ_j a_ij k_j of the accelerations k_j at the nodes: the velocities there
    are η̇ + h g_i, the displacements η + h c_i η̇ + h² Σ_j a_ij g_j. matrix (S, 3, m, 3m) and
    right (S, 3, m, 2m) are overwritten by their equations.
    """
    S, _, m, _ = stages.shape
    K, C = stages[..., :m] * (h * h * frequencies), h * stages[..., m:]
    blocks = matrix.reshape(S, STAGES, m, STAGES, m)
    np.multiply(K[:, :, :, None, :], -GAUSS.a[:, None, :, None], out=blocks)
    for i in range(STAGES):
        blocks[:, i, :, i] -= C[:, i]
    np.einsum("siaja->sija", blocks)[...] += INVERSE[:, :, None]
    np.multiply(stages[..., :m], h, out=right[..., :m])
    np.multiply(K, GAUSS.c[:, None, None], out=right[..., m:])
    right[..., m:] += C
    g = np.linalg.solve(
        matrix.reshape(S, STAGES * m, STAGES * m), right.reshape(S, STAGES * m, 2 * m)
    )
    change = (ENDS @ g.reshape(S, STAGES, -1)).reshape(S, 2, m, 2 * m)
    maps = np.empty((S, 2 * m, 2 * m))
    np.multiply(change[:, 0], (h * frequencies)[:, None], out=maps[:, :m])
    maps[:, m:] = change[:, 1]
    np.einsum("saa->sa", maps[:, :m, m:])[...] += h * frequencies
    np.einsum("saa->sa", maps)[...] += 1.0
    return maps


def _product(maps: Array) -> Array:
    """The product, the last map leftmost, by pairs."""
    while len(maps) > 1:
        last = maps[-1:] if len(maps) % 2 else maps[:0]
        even = maps[: len(maps) - len(last)]
        maps = np.concatenate([even[1::2] @ even[::2], last])
    return np.asarray(maps[0])
