"""Joint reactions of the rigid motion by inverse dynamics: the multipliers of M q̈ + Φ_qᵀ λ = Q."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assembly.body import Body
from assembly.closure import Closure
from assembly.joint_rows import Evaluated
from assembly.kinematics import Kinematics
from assembly.rigid_state import RigidState

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RigidLoads:
    """Resultant inertia loads of one body about its origin, (6, 12): force and moment per unit
    kinematics.

    They are sums of the body's own finite-element loads, so that loads and reactions balance to
    round-off and a statically determinate support of the body carries nothing.
    """

    units: Array

    @classmethod
    def of(cls, body: Body) -> RigidLoads:
        return cls(body.dofs.rigid_fields().T @ body.operators.inertia_loads)

    def resultant(self, motion: Kinematics) -> Array:
        return np.asarray(self.units @ motion.coefficients())


def multipliers(closure: Closure, state: RigidState, e: Evaluated, resultants: Array) -> Array:
    """λ (m,) of all conditions from the resultant loads (B, 6) on the bodies, in body axes.

    J is square and regular: dynamic equilibrium Jᵀλ = Q has one solution.
    """
    J = closure.matrix(e, state.t)
    return np.asarray(np.linalg.solve(J.T, resultants.reshape(-1)[closure.active]))
