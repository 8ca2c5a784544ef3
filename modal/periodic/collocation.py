"""The monodromy of a stiff periodic system by Gauss collocation of order 6.

The steps need not resolve the highest frequencies. The method is A-stable and symplectic:
frequencies beyond the step are aliased but neither grow nor decay, so the slow multipliers have the
order of the method.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from modal.data.progress import shown
from modal.periodic.balanced import Balanced
from modal.transient.integrators.tableau import Tableau
from modal.types import Array

STAGES = 3
ORDER = 2 * STAGES
BATCH_NUMBERS = 1 << 22


def monodromy(A: Balanced, t0: float, t1: float, steps: int) -> Array:
    """Φ(t1, t0) (n, n) of x' = A(t) x in `steps` equal steps."""
    return np.asarray(monodromy_factors(A, t0, t1, steps, 1)[0])


def monodromy_factors(
    A: Balanced, t0: float, t1: float, steps: int, count: int, progress: bool | None = False
) -> Array:
    """Factors (count, n, n) whose product, the last one leftmost, is Φ(t1, t0) in `steps` steps."""
    n = len(A.root)
    factors = np.repeat(np.eye(n)[None], count, axis=0)
    maps = shown(step_maps(A, t0, t1, steps), "Floquet", "step", progress, steps)
    for i, step in enumerate(maps):
        at = i * count // steps
        factors[at] = step @ factors[at]
    return factors


def step_maps(A: Balanced, t0: float, t1: float, steps: int) -> Iterator[Array]:
    """The map (n, n) of each of `steps` equal steps from t0 to t1, in order."""
    tableau = Tableau(STAGES)
    n = len(A.root)
    h = (t1 - t0) / steps
    batch = max(1, BATCH_NUMBERS // (STAGES * n) ** 2)
    for first in range(0, steps, batch):
        starts = t0 + h * np.arange(first, min(first + batch, steps))
        stage = A.many((starts[:, None] + h * tableau.c).ravel())
        yield from _solved(stage.reshape(len(starts), STAGES, n, n), h, tableau)


def _solved(stage: Array, h: float, tableau: Tableau) -> Array:
    """x_{n+1} = (I + h Σ b_i k_i) x_n with k_i − h Σ_j a_ij A_i k_j = A_i, for each step (m, n,
    n)."""
    m, s, n, _ = stage.shape
    system = tableau.stage_matrix(h, stage)
    slopes = np.linalg.solve(system, stage.reshape(m, s * n, n)).reshape(m, s, n, n)
    return np.asarray(np.eye(n) + h * np.einsum("i,minl->mnl", tableau.b, slopes))
