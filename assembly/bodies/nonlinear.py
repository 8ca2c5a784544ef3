"""Prestress at the stretched shape: the body in relative rest under the inertia loads of its
motion.

With δ the displacement from the undeformed shape, in body axes,

    f(δ) + [K(ε) + K(ω²) + K_D] δ = Q,   f(δ) internal force, Q load on the undeformed geometry,

is equilibrium with the load on the deformed one (the inertia load, and that of the dampers against
the surroundings, is linear in X + δ). Newton's
method with the exact tangent, in as many load steps as it needs. Small vibrations about the result
then have the stiffness ∂f/∂δ + K(ε) + K(ω²) + K_D + ½ M̃, M the couple that a ball pin needs in this
equilibrium (`held_couples`): K_G is ∂f/∂δ + ½ M̃ − K (docs/theory.md,
"Geometric stiffness is not optional"). Mass, Coriolis and damping matrices are those of the
displaced shape too: sections and rigid masses that have rotated move about other axes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.bodies.operators import BodyOperators, held_couples, nonzero, restrict
from assembly.elements.family import Beyond, Passage
from assembly.errors import ConvergenceError, SingularSystemError
from assembly.kinematics import Kinematics
from assembly.linalg.combination import Combination
from assembly.linalg.factorization import Factorization
from assembly.magnitudes import EQUAL
from assembly.types import Array

ITERATIONS = 20
STEP_TOLERANCE = EQUAL  # of the last step of Newton against q; the error is about its square


@dataclass(frozen=True)
class Equilibrium:
    """Displacement (n,) of all DOFs, m and rad, and ∂f/∂δ + ½ M̃ (n, n) there; n before
    supports. beyond: what the displacement adds to M, C and the dampers' D.
    """

    displacement: Array
    tangent: sp.csr_matrix
    beyond: Beyond


def equilibrium(
    ops: BodyOperators, motion: Kinematics, smallest: float = 1.0 / 64.0
) -> Equilibrium:
    """The body at rest in its moving frame, stretched by its own inertia; ops over all DOFs.

    Raises ConvergenceError (`partial` is the displacement of the last load step reached) when there
    is no equilibrium near by: past a divergence, or under a load that buckles the body. smallest:
    load step, of the whole load, below which it gives up.
    """
    problem, u = _Problem(ops, motion), np.zeros(ops.n)
    share, step = 0.0, 1.0
    while share < 1.0:
        try:
            u = problem.newton(share + step, u)
            share += step
        except (ConvergenceError, SingularSystemError) as failure:
            step *= 0.5
            if step < smallest:
                raise ConvergenceError(
                    f"prestress: no equilibrium found at the stretched shape beyond {share:.4g} of "
                    f"the load ({failure}); is the motion past a divergence?",
                    partial=u,
                ) from None
    return problem.displaced(u)


class _Problem:
    """The equilibrium equations of a body under a share of its load, and Newton's method."""

    def __init__(self, ops: BodyOperators, motion: Kinematics) -> None:
        coefficients = motion.coefficients()
        self.body, self.statics = ops.body, ops.statics
        self.coefficients, self.omega = coefficients, motion.omega
        self.load = ops.load(motion)
        factors = [*coefficients[:9], *motion.omega]
        fixed = [*ops.S, *ops.G, *ops.circulatory]
        self.softening = Combination.of(ops.n, factors, fixed).tocsr()
        self.hub = ops.statics.balance_stiffness(motion)
        self.symmetric = not np.any(coefficients[6:9]) and not nonzero(ops.d)

    def balance(self, share: float, u: Array) -> tuple[Array, sp.csr_matrix]:
        """Internal less external force (n,), zero at the free DOFs, the reaction at others; and its
        derivative (n, n)."""
        at = Passage.at_rest(u, share * self.coefficients)
        each = [family.linearized(at, False) for family in self.body.families]
        of_load: Any = share * (self.softening + self.hub)
        force = np.sum([own for own, _ in each], axis=0) + of_load @ u - share * self.load
        return np.asarray(force), sp.csr_matrix(sum((K.tocsr() for _, (K,) in each), of_load))

    def newton(self, share: float, u: Array) -> Array:
        """The displacement (n,) under a share of the load, from an estimate u."""
        inner = np.flatnonzero(~self.statics.held)
        for _ in range(ITERATIONS):
            excess, J = self.balance(share, u)
            J = J[inner][:, inner]
            with Factorization(J, "symmetric" if self.symmetric else "general") as factor:
                step = np.asarray(factor.solve(-excess[inner]))
            size = float(np.linalg.norm(step))
            if not np.isfinite(size):
                raise ConvergenceError("Newton's step is not finite")
            u = u.copy()
            u[inner] += step
            if size <= STEP_TOLERANCE * float(np.linalg.norm(u)):
                return u
        raise ConvergenceError(f"Newton's method has not settled after {ITERATIONS} steps")

    def displaced(self, u: Array) -> Equilibrium:
        """What the families add at u under the full load; all internal damping is in D."""
        body = self.body
        at = Passage.at_rest(u, self.coefficients, body.rayleigh)
        each = [family.tangents(replace(at, omega=self.omega)) for family in body.families]
        tangent = sum((K.tocsr() for _, K in each), self.hub)
        couples = held_couples(body.dofs, body.hold, self.balance(1.0, u)[0][body.hold])
        beyond = (sp.csr_matrix(sum(A)) for A in zip(*(own for own, _ in each), strict=True))
        return Equilibrium(u, sp.csr_matrix(tangent + couples), Beyond(*beyond))


def displaced(ops: BodyOperators, parts: dict[str, Any], shape: Equilibrium) -> dict[str, Any]:
    """M, C, D and K_G of a displaced shape.

    parts: of the undeformed one. K_G is the tangent, over all DOFs of the body, less K. The
    families' D holds all internal damping.
    """
    M, C, D, tangent = (restrict(A, ops.keep, {}) for A in (*shape.beyond[:3], shape.tangent))

    def total(*operators: Any) -> Combination:
        acting = [A for A in operators if nonzero(A)]
        return Combination.of(ops.n, [1.0] * len(acting), acting)

    return dict(
        M=parts["M"] + total(M),
        C=parts["C"] + total(C),
        D=total(ops.D, ops.d, D),
        K_G=total(tangent) + Combination.of(ops.n, [-1.0], [ops.K]),
    )
