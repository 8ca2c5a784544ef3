"""The equations Φ(q, t) = 0 of a loop closure, with their Jacobian, at one pose or at several."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from assembly.mechanisms.jacobian import Jacobian
from assembly.mechanisms.joint_rows import Evaluated, JointRows
from assembly.mechanisms.rigid_state import Pose, resting_frames
from assembly.types import Array


class ClosureEquations:
    """rows: the conditions, drivers included. count: number of moving bodies. components: the rigid
    DOFs of a body: all six, or (0, 1, 5) in the plane. length: a characteristic length, m.
    """

    def __init__(
        self, rows: JointRows, count: int, components: tuple[int, ...], length: float
    ) -> None:
        self.rows, self.count = rows, count
        self.active = (np.arange(count)[:, None] * 6 + np.array(components)).ravel()
        self.column_scale = np.tile(np.where(np.array(components) < 3, length, 1.0), count)
        self.row_scale = np.where(rows.distance[:, 0] > 0.0, 1.0 / length, 1.0)

    def jacobian(self, e: Evaluated) -> Jacobian:
        """∂Φ/∂(active rigid DOFs)."""
        gradient = self.rows.rigid_gradient(e).value
        wide = np.zeros((*gradient.shape[:-1], self.count + 1, 6))
        numbers = np.arange(len(self.rows))
        wide[..., numbers, self.rows.bodies[:, 0], :] = gradient[..., :6]
        wide[..., numbers, self.rows.bodies[:, 1], :] += gradient[..., 6:]
        J = wide.reshape(*gradient.shape[:-1], -1)[..., self.active]
        return Jacobian(J, self.row_scale, self.column_scale)

    def linearised(
        self, t: ArrayLike, pose: Pose, lag: Array | None = None
    ) -> tuple[Array, Jacobian]:
        """Φ and its Jacobian."""
        e = self.rows.evaluate(resting_frames(pose), t, lag)
        return e.value.value, self.jacobian(e)

    def expand(self, values: Array) -> Array:
        wide = np.zeros((*values.shape[:-1], self.count * 6))
        wide[..., self.active] = values
        return wide.reshape(*values.shape[:-1], self.count, 6)
