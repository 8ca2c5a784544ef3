"""Prestress at the stretched shape: the body in relative rest under the inertia loads of its
motion.

With δ the displacement from the undeformed shape, in body axes,

    f(δ) + [K(ε) + K(ω²)] δ = Q,    f(δ) the internal force, Q the load on the undeformed geometry,

is equilibrium with the load on the deformed one (the inertia load is linear in X + δ). Newton's
method with the exact tangent, in as many load steps as it needs. Small vibrations about the result
then have the stiffness ∂f/∂δ + K(ε) + K(ω²): K_G is ∂f/∂δ − K. (DESIGN.md, section 2, "Mechanisms"
and K_G.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from assembly.combination import Combination
from assembly.errors import ConvergenceError, FrozenMotionError, SingularSystemError
from assembly.factorization import Factorization
from assembly.kinematics import Kinematics

if TYPE_CHECKING:
    from assembly.body import Body

Array = NDArray[np.float64]

LOAD_STEPS = (1, 4, 16, 64)
ITERATIONS = 20
STEP_TOLERANCE = (
    1e-9  # last Newton step against the displacement; the error is then about its square
)


@dataclass(frozen=True)
class Equilibrium:
    """Displacement (n,) of all unknowns, m and rad, and ∂f/∂δ (n, n) there; n before supports."""

    displacement: Array
    tangent: sp.csr_matrix


def equilibrium(body: Body, motion: Kinematics) -> Equilibrium:
    """The body at rest in its moving frame, stretched by its own inertia.

    Raises ConvergenceError (`partial` is the displacement of the last load step reached) when there
    is no equilibrium near by: past a divergence, or under a load that buckles the body.
    """
    coefficients = motion.coefficients()
    reached = np.zeros(body.size)
    fault: FrozenMotionError | None = None
    for count in LOAD_STEPS:
        u = np.zeros(body.size)
        try:
            for step in range(1, count + 1):
                u = _newton(body, coefficients * (step / count), u)
                reached = u
            return Equilibrium(u, _tangent(body, u, coefficients))
        except (ConvergenceError, SingularSystemError) as found:
            fault = found
    raise ConvergenceError(
        f"prestress: no equilibrium found at the stretched shape, in {LOAD_STEPS[-1]} load steps"
        f" ({fault}); is the motion past a divergence?",
        partial=reached,
    )


def _newton(body: Body, coefficients: Array, u: Array) -> Array:
    ops, inner = body.operators, np.flatnonzero(~body.held)
    n = body.size
    load = ops.inertia_loads @ coefficients
    softening = Combination.of(n, [*coefficients[:6], *coefficients[6:9]], [*ops.S, *ops.G]).tocsr()
    symmetric = not np.any(coefficients[6:9])
    for _ in range(ITERATIONS):
        force = np.sum([f.internal_force(u, coefficients) for f in body.families], axis=0)
        residual = (load - force - softening @ u)[inner]
        J = sp.csr_matrix(_tangent(body, u, coefficients) + softening)[inner][:, inner]
        with Factorization(J, "symmetric" if symmetric else "general") as factor:
            step = np.asarray(factor.solve(residual))
        size = float(np.linalg.norm(step))
        if not np.isfinite(size):
            raise ConvergenceError("Newton's step is not finite")
        u = u.copy()
        u[inner] += step
        if size <= STEP_TOLERANCE * float(np.linalg.norm(u)):
            return u
    raise ConvergenceError(f"Newton's method has not settled after {ITERATIONS} steps")


def _tangent(body: Body, u: Array, coefficients: Array) -> Any:
    total: Any = sp.csr_matrix((body.size, body.size))
    for family in body.families:
        total = total + family.tangent_stiffness(u, coefficients).tocsr()
    return sp.csr_matrix(total)
