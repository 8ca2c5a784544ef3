"""Fixed steps of the generalised-α method on dense matrices off a polynomial, formed for many steps
at once.

The same steps as `modal.transient.integrators.generalized_alpha`, with the same energy. The power
of the motion on the vibration is taken at the middle of each step with the mean of the matrices at
its ends, and their rates are differences of the ends: of second order, as the method.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from modal.transient.integrators.generalized_alpha import GeneralizedAlpha
from modal.transient.integrators.stages import Integrator, State
from modal.transient.shared_pattern import LARGEST_DENSE, check_factor
from modal.transient.small_steps import form
from modal.transient.stepping import AdaptiveSteps, FixedSteps
from modal.transient.tabulated import TabulatedModel
from modal.types import Array, Index

BATCH_NUMBERS = 1 << 20  # of the matrices that are formed together


@dataclass(frozen=True)
class DenseRun:
    """Displacement and velocity (N + 1, n) at the ends of N steps, energy and energy defect
    (N + 1,), J."""

    times: Array
    q: Array
    v: Array
    energy: Array
    defect: Array

    def rows(self, indices: Index, every: int) -> dict[str, Array]:
        """The records of a transient: every so many steps, and the last."""
        last = len(self.times) - 1
        chosen = np.unique(np.append(np.arange(0, last + 1, every), last))
        return dict(
            time=self.times[chosen],
            displacement=self.q[chosen][:, indices],
            velocity=self.v[chosen][:, indices],
            energy=self.energy[chosen],
            energy_defect=self.defect[chosen],
        )


class _Ends:
    """M, the conservative stiffness, C + D and the circulatory stiffness at the ends (P,) of steps,
    as forms of the states there and of the states in the middle of the steps before and after."""

    def __init__(self, equations: TabulatedModel, times: Array) -> None:
        M, C, self.S, D, self.N = equations.dense(times)
        self.M, self.V = M, C + D

    def energy(self, q: Array, v: Array) -> Array:
        """E at the ends, J; q, v (P, n)."""
        return 0.5 * (form(v, self.M, v) + form(q, self.S, q))

    def powers(self, q: Array, v: Array, h: float, side: slice, sign: float) -> Array:
        """The share of these ends in the work of steps of length h, whose middles have q, v."""
        M, S, V, N = (A[side] for A in (self.M, self.S, self.V, self.N))
        skew = 0.5 * (form(q, S, v) - form(v, S, q))
        steady = skew - form(v, V, v) - form(v, N, q)
        return 0.5 * h * steady + 0.5 * sign * (form(v, M, v) + form(q, S, q))


def dense_alpha(
    integrator: Integrator, steps: FixedSteps | AdaptiveSteps, start: State
) -> DenseRun | None:
    """All of the steps, without loads, from a state as the method makes it at the start.

    None for other methods than generalised-α with fixed steps, and for other matrices than dense
    ones off a polynomial. Raises SingularSystemError.
    """
    if not (isinstance(integrator, GeneralizedAlpha) and isinstance(steps, FixedSteps)):
        return None
    method, equations = integrator, integrator.equations
    if not isinstance(equations, TabulatedModel) or equations.pattern.shape[0] > LARGEST_DENSE:
        return None
    if equations.pattern.layout(1).banded:
        return None
    span, count = steps.t_span, steps.count
    n, h = len(start.q), (span[1] - span[0]) / count
    am, af, beta, gamma = method.alpha_m, method.alpha_f, method.beta, method.gamma
    times = span[0] + (span[1] - span[0]) * (np.arange(count + 1) / count)
    q, v = np.empty((2, count + 1, n))
    energy, work = np.empty(count + 1), np.zeros(count + 1)
    q[0], v[0], a = start.q, start.v, start.carried
    batch = max(1, BATCH_NUMBERS // (n * n))
    for first in range(0, count, batch):
        last = min(first + batch, count)
        M, C, K, D, N = equations.dense(times[first:last] + (1.0 - af) * h)
        V, K = C + D, K + N
        matrix = (1.0 - am) * M + ((1.0 - af) * gamma * h) * V + ((1.0 - af) * beta * h * h) * K
        for i, k in enumerate(range(first, last)):
            q_known = q[k] + (1.0 - af) * (h * v[k] + h * h * (0.5 - beta) * a)
            v_known = v[k] + (1.0 - af) * h * (1.0 - gamma) * a
            rhs = -(V[i] @ v_known) - K[i] @ q_known - am * (M[i] @ a)
            lu, pivots, info = la.lapack.dgetrf(matrix[i].T, overwrite_a=True)
            check_factor(info, lu, n)
            a_new, _ = la.lapack.dgetrs(lu, pivots, rhs, trans=1)
            q[k + 1] = q[k] + h * v[k] + h * h * ((0.5 - beta) * a + beta * a_new)
            v[k + 1] = v[k] + h * ((1.0 - gamma) * a + gamma * a_new)
            a = a_new
        here = slice(first, last + 1)
        ends = _Ends(equations, times[here])
        energy[here] = ends.energy(q[here], v[here])
        middle_q, middle_v = (0.5 * (x[here][1:] + x[here][:-1]) for x in (q, v))
        work[first + 1 : last + 1] = ends.powers(
            middle_q, middle_v, h, slice(None, -1), -1.0
        ) + ends.powers(middle_q, middle_v, h, slice(1, None), 1.0)
    return DenseRun(times, q, v, energy, energy - energy[0] - np.cumsum(work))
