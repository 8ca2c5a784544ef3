"""Gauss collocation of order 6 over a period, of x' = A(t) x and of small second-order systems.

A-stable and symplectic: frequencies beyond the steps are aliased but neither grow nor decay, so the
slow multipliers have the order of the method, and the steps need not resolve the highest
frequencies. Of η̈ = H(t) (ω η, η̇), in scaled coordinates (ω η, η̇), the stages are those of the
accelerations, a third of the work of the first-order form; the multipliers of half as many steps
are their error estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np
import scipy.linalg as la

from modal.periodic.product_eigen import product_of
from modal.periodic.tolerances import NOISE
from modal.reduction.interpolation import Sampled
from modal.transient.integrators.tableau import Tableau
from modal.transient.tolerances import BATCH_NUMBERS
from modal.types import Array, Complex

GAUSS = Tableau(3)
SHARP = Tableau(8)  # of order 16: for accuracies near round-off, and long steps
DECAYING = Tableau(5, radau=True)  # of order 9: what the steps do not resolve decays
ALIASED = 1.5  # rad a step of three stages from which a mode is not resolved


def step_maps(A: Sampled, t0: float, t1: float, steps: int) -> Iterator[Array]:
    """The map (n, n) of each of `steps` equal steps from t0 to t1, in order:
    x_{n+1} = (I + h Σ b_i k_i) x_n with k_i − h Σ_j a_ij A_i k_j = A_i."""
    n, stages = A(np.array([t0])).shape[-1], len(GAUSS.c)
    h = (t1 - t0) / steps
    batch = max(1, BATCH_NUMBERS // (stages * n) ** 2)
    for first in range(0, steps, batch):
        starts = t0 + h * np.arange(first, min(first + batch, steps))
        right = A((starts[:, None] + h * GAUSS.c).ravel()).reshape(-1, stages, n, n)
        system = GAUSS.stage_matrix(h, right)
        slopes = np.linalg.solve(system, right.reshape(-1, stages * n, n)).reshape(right.shape)
        yield from np.eye(n) + h * np.einsum("i,minl->mnl", GAUSS.b, slopes)


@dataclass(frozen=True)
class Multipliers:
    """log μ (N,), Im in (−π, π], their errors (N,), eigenvalue conditions and vectors (N, N), and
    their speeds ‖η̇‖/‖η‖ (N,), rad/s: the frequency of a mode, which its exponent does not tell.
    complete_to: up to this speed, rad/s, all are known, or known to have decayed to nothing;
    infinite where all N are.
    """

    logs: Complex
    errors: Array
    conditions: Array
    vectors: Complex
    speeds: Array
    complete_to: float


def refinements(
    half: Callable[[Array], Array],
    frequencies: Array,
    period: float,
    steps: int,
    rule: Tableau = GAUSS,
) -> Iterator[Multipliers]:
    """Of one period by `steps` steps, then by twice as many, and so on.

    half(phases): H (P, m, 2m) at parts of the period. frequencies (m,): ω. steps: an even number.
    """
    aliased = ALIASED * len(rule.c) / len(GAUSS.c)
    before = la.eigvals(second_order_monodromy(half, frequencies, period, steps // 2, rule))
    # Half the order next to the edge of a tongue, where two multipliers meet: errors are roots.
    from_half = 1.0 / (2.0 ** (0.5 * rule.order) - 1.0)
    while True:
        fine = second_order_monodromy(half, frequencies, period, steps, rule)
        values, left, right = la.eig(fine, left=True, right=True)
        pairing = np.abs((left.conj() * right).sum(axis=0))
        conditions = 1.0 / np.maximum(pairing, np.finfo(float).eps)
        size = np.abs(values)
        smallest = NOISE * size.max(initial=0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(values)
            gap = np.abs(before[:, None] / values - 1.0).min(axis=0)
            round_off = np.finfo(float).eps * steps * conditions * la.norm(fine, 2) / size
            errors = from_half * np.abs(np.log1p(np.minimum(gap, 1.0))) + round_off
        known = np.isfinite(logs) & (size > smallest)
        logs = np.where(known, logs, np.log(np.maximum(smallest, np.finfo(float).tiny)))
        speeds = speeds_of(right, frequencies)
        # Exponents of aliased shapes are next to others of half the steps by chance.
        resolved = speeds * period <= aliased * steps
        settled = (gap < 0.5) | ~known
        # What Radau steps do not resolve decays by the steps, and is hidden among the decayed.
        every = rule is GAUSS and np.all(resolved & settled)
        complete_to = np.inf if every else aliased * steps / period
        complete_to = complete_to if np.all(settled | ~resolved) else 0.0
        known &= (gap < 0.5) & resolved
        errors = np.where(known, errors, np.inf)
        yield Multipliers(logs, errors, conditions, right, speeds, complete_to)
        before, steps = values, 2 * steps


def speeds_of(vectors: Complex, frequencies: Array) -> Array:
    """‖η̇‖/‖η‖ (N,), rad/s, of vectors (2m, N) in scaled coordinates."""
    displaced, rate = np.split(vectors, 2)
    size = np.linalg.norm(displaced / frequencies[:, None], axis=0)
    return np.asarray(np.linalg.norm(rate, axis=0) / np.maximum(size, np.finfo(float).tiny))


def second_order_monodromy(
    half: Callable[[Array], Array],
    frequencies: Array,
    period: float,
    steps: int,
    rule: Tableau = GAUSS,
) -> Array:
    """Φ(T, 0) (2m, 2m) in scaled coordinates (ω η, η̇)."""
    products = map(product_of, second_order_maps(half, frequencies, period, steps, rule))
    return reduce(lambda total, product: product @ total, products)


def second_order_maps(
    half: Callable[[Array], Array],
    frequencies: Array,
    period: float,
    steps: int,
    rule: Tableau = GAUSS,
) -> Iterator[Array]:
    """The maps (S, 2m, 2m) by the steps of a period in scaled coordinates, several at a time."""
    m, h, s = len(frequencies), period / steps, len(rule.c)
    batch = min(steps, max(1, BATCH_NUMBERS // (s * m) ** 2))
    # Allocated once: the system would take such arrays back and clear them at every batch.
    room = [np.empty((batch, s, m, n)) for n in (s * m, 2 * m)]
    for first in range(0, steps, batch):
        starts = np.arange(first, min(first + batch, steps))
        phases = ((starts[:, None] + rule.c) / steps).ravel()
        stages = half(phases).reshape(len(starts), s, m, 2 * m)
        matrix, right = (array[: len(starts)] for array in room)
        yield _scaled_steps(stages, frequencies, np.full(len(starts), h), matrix, right, rule)


def sharp_maps(A: Sampled, starts: Array, h: Array) -> Array:
    """The maps (S, 2m, 2m) by steps of lengths h (S,) and of order 16, of x' = A x with
    A = [[0, ω], [H]] in scaled coordinates."""
    times = (starts[:, None] + h[:, None] * SHARP.c).ravel()
    values = A(times).reshape(*starts.shape, len(SHARP.c), *A(times[:1]).shape[1:])
    m = values.shape[-1] // 2
    matrix, right = (np.empty((len(h), len(SHARP.c), m, n)) for n in (len(SHARP.c) * m, 2 * m))
    frequencies = values[0, 0, :m, m:].diagonal()
    return _scaled_steps(values[:, :, m:].copy(), frequencies, h, matrix, right, SHARP)


def _scaled_steps(
    stages: Array, frequencies: Array, h: Array, matrix: Array, right: Array, rule: Tableau
) -> Array:
    """The maps (S, 2m, 2m) of (ω η, η̇) by steps of lengths h (S,), with H at their nodes (S, s, m,
    2m), which is overwritten."""
    one = np.ones((len(h), len(frequencies)))
    units = np.hstack([h[:, None] * frequencies, one])  # (ω η, η̇) of (η/h, η̇)
    stages *= (h[:, None] * units)[:, None, None]
    maps = _steps(stages, matrix, right, rule)
    maps *= units[:, :, None] / units[:, None]
    return maps


def _steps(stages: Array, matrix: Array, right: Array, rule: Tableau) -> Array:
    """The maps (S, 2m, 2m) of (η/h, η̇) by steps, with [h²K, hC] at their nodes (S, s, m, 2m).

    η̈ = K η + C η̇. The unknowns are g_i = h Σ_j a_ij k_j of the accelerations k_j at the nodes: the
    velocities there are η̇ + g_i, the displacements η + h c_i η̇ + h Σ_j a_ij g_j. With A the matrix
    of their equations, the response to η̇ is A⁻¹(Σ_j (a⁻¹)_ij η̇) − η̇. matrix (S, s, m, s m) and
    right (S, s, m, 2m) are overwritten by the equations.
    """
    S, _, m, _ = stages.shape
    K, C = stages[..., :m], stages[..., m:]
    blocks = matrix.reshape(S, len(rule.c), m, len(rule.c), m)
    np.multiply(K[:, :, :, None, :], -rule.a[:, None, :, None], out=blocks)
    for i in range(len(rule.c)):
        blocks[:, i, :, i] -= C[:, i]
    np.einsum("siaja->sija", blocks)[...] += rule.inverse[:, :, None]
    right[..., :m], right[..., m:] = K, 0.0
    np.einsum("siaa->sia", right[..., m:])[...] = rule.inverse.sum(axis=1)[:, None]
    n = len(rule.c) * m
    g = np.linalg.solve(matrix.reshape(S, n, n), right.reshape(S, n, 2 * m))
    maps: Array = (rule.ends @ g.reshape(S, len(rule.c), -1)).reshape(S, 2 * m, 2 * m)
    first, last = 1.0 - rule.ends.sum(axis=1)
    np.einsum("saa->sa", maps[:, :m, m:])[...] += first
    np.einsum("saa->sa", maps[:, :m, :m])[...] += 1.0
    np.einsum("saa->sa", maps[:, m:, m:])[...] += last
    return maps
