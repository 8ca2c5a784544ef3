"""Equilibrium of an elastic mechanism at an instant: Newton's method with continuation in the load.

R(q, 0, 0, t) = 0 (`deformed_motion`) is solved from the deflections of the linear equations, or of
a neighbouring instant; where that fails, along a growing share of all loads with steps that adapt.
Where the path ends, the stiffness there tells buckling, at a limit point, from a failure to
converge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from assembly.errors import ConvergenceError, MechanismError, SingularSystemError
from assembly.linalg.factorization import Factorization
from assembly.mechanisms.deformed_motion import DeformedMotion, DeformedState
from assembly.types import Array

ITERATIONS = 15
STEP_TOLERANCE = 1e-9  # of the last Newton step against q; the error is then about its square
SLOW = 0.05  # ratio of two Newton steps from which the tangent is formed exactly
ROUND_OFF = 1e-13  # of the largest force: a smaller residual is zero
FIRST_SHARE, SMALLEST_SHARE = 0.25, 2.0**-9
LIMIT_POINT = 0.2  # of the first smallest eigenvalue of the stiffness: below it, it vanishes
DENSE = 1500  # DOFs up to which these eigenvalues are computed

AtShare = Callable[[float], DeformedMotion]


@dataclass(frozen=True)
class Equilibrium:
    """The state in equilibrium and the number of Newton steps that it took."""

    state: DeformedState
    iterations: int


def equilibrium(at_share: AtShare, q: Array, guess: Array) -> Equilibrium:
    """The equilibrium under all loads.

    at_share: the equations under a share of the loads. q (n,), guess (all,): an estimate of the
    independent and of all DOFs. Raises ConvergenceError (`partial`: the DOFs (all,) of the last
    equilibrium reached) with the share of the loads at which the path ends.
    """
    try:
        return newton(at_share(1.0), q, guess)
    except (ConvergenceError, SingularSystemError, MechanismError):
        return _continued(at_share, 0.0 * q, 0.0 * guess)


def newton(motion: DeformedMotion, q: Array, guess: Array) -> Equilibrium:
    """The equilibrium near q (n,); ConvergenceError where there is none near by."""
    rest = np.zeros_like(q)
    state = motion.closed(q, rest, rest, guess)
    last, exact = np.inf, False
    for iteration in range(1, ITERATIONS + 1):
        _, _, K = state.tangents(exact)
        with Factorization(K, "general") as factor:
            step = -np.asarray(factor.solve(state.residual))
        size = float(np.linalg.norm(step))
        if not np.isfinite(size) or (iteration > 4 and size > 2.0 * last):
            raise ConvergenceError("Newton's method diverges")
        state = motion.closed(state.q + step, rest, rest, state.path[0])
        converged = size <= STEP_TOLERANCE * float(np.linalg.norm(state.q))
        noise = ROUND_OFF * np.abs(state.force).max(initial=0.0)
        if converged or np.abs(state.residual).max(initial=0.0) <= noise:
            return Equilibrium(state, iteration)
        exact = exact or size > SLOW * last
        last = size
    raise ConvergenceError(f"Newton's method has not settled after {ITERATIONS} steps")


def _continued(at_share: AtShare, q: Array, guess: Array) -> Equilibrium:
    """The equilibrium along a growing share of the loads."""
    share, step, iterations = 0.0, FIRST_SHARE, 0
    reached: DeformedState | None = None
    before: tuple[float, Array, Array] = (0.0, q, guess)
    first: DeformedState | None = None
    while share < 1.0:
        target = min(1.0, share + step)
        start_q, start = q, guess
        if share > before[0]:  # along the secant of the last two
            ahead = (target - share) / (share - before[0])
            start_q, start = q + ahead * (q - before[1]), guess + ahead * (guess - before[2])
        try:
            found = newton(at_share(target), start_q, start)
        except (ConvergenceError, SingularSystemError, MechanismError) as failure:
            step *= 0.5
            if step < SMALLEST_SHARE:
                raise _path_ends(share, first, reached, failure) from failure
            continue
        iterations += found.iterations
        before, share = (share, q, guess), target
        reached, q, guess = found.state, found.state.q, found.state.path[0]
        first = reached if first is None else first
        step *= 2.0 if found.iterations <= 5 else 1.0
    assert reached is not None
    return Equilibrium(reached, iterations)


def _path_ends(
    share: float, first: DeformedState | None, reached: DeformedState | None, fault: Exception
) -> ConvergenceError:
    """The error that says why the path of equilibria ends at a share of the loads."""
    partial = None if reached is None else reached.path[0]
    both = first is not None and reached is not None and reached is not first
    if both and _smallest(reached) < LIMIT_POINT * _smallest(first):
        return ConvergenceError(
            f"trim: the machine buckles at {share:.4g} of its loads: the path of equilibria ends "
            "there at a limit point",
            partial,
        )
    return ConvergenceError(
        f"trim: no equilibrium found beyond {share:.4g} of the loads, though the stiffness has not "
        f"vanished there ({fault})",
        partial,
    )


def _smallest(state: DeformedState | None) -> float:
    """The smallest eigenvalue of the symmetric part of the stiffness, scaled by its diagonal."""
    assert state is not None
    K = state.tangents()[2]
    if K.shape[0] > DENSE:
        return np.inf
    dense = 0.5 * (K + K.T).toarray()
    scale = 1.0 / np.sqrt(np.maximum(np.abs(np.diag(dense)), np.finfo(float).tiny))
    return float(np.linalg.eigvalsh(scale[:, None] * dense * scale)[0])
