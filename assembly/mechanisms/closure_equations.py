"""The equations Φ(q, t) = 0 of a loop closure, at one pose or at several, and their first solution
from a guess.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from assembly.dofs import PLANAR, SPATIAL
from assembly.errors import MechanismError, RedundantConstraintError, SingularPositionError
from assembly.magnitudes import EQUAL, MOST_STEPS
from assembly.mechanisms.joint_rows import Evaluated, Frames
from assembly.mechanisms.rigid_state import SINGULAR, Jacobian, Pose, resting_frames
from assembly.mechanisms.topology import Topology
from assembly.types import Array

STRIDE = 0.2  # rad (or characteristic lengths) that a driver may advance from one pose to the next


class ClosureEquations:
    """The conditions of a mechanism, drivers included, on the rigid DOFs of its bodies: all six, or
    those in the plane.
    """

    def __init__(self, topology: Topology) -> None:
        self.topology, rows = topology, topology.rows
        count, length = len(topology.bodies), topology.length
        components = np.array(PLANAR if topology.planar else SPATIAL)
        self.rows, self.count = rows, count
        self.active = (np.arange(count)[:, None] * 6 + components).ravel()
        self.column_scale = np.tile(np.where(components < 3, length, 1.0), count)
        self.row_scale = np.where(rows.distance[:, 0] > 0.0, 1.0 / length, 1.0)

    def evaluate(self, frames: Frames, t: ArrayLike, lag: Array | None = None) -> Evaluated:
        """Φ and its ingredients for frames of the bodies, each with the rates that these have."""
        return self.rows.evaluate(self.topology.frames(frames), t, lag)

    def jacobian(self, e: Evaluated) -> Jacobian:
        """∂Φ/∂(active rigid DOFs)."""
        wide = self.topology.on_bodies(self.rows.gradient(e).value)
        J = wide.reshape(*wide.shape[:-2], -1)[..., self.active]
        return Jacobian(J, self.row_scale, self.column_scale)

    def linearised(
        self, t: ArrayLike, pose: Pose, lag: Array | None = None
    ) -> tuple[Array, Jacobian]:
        """Φ and its Jacobian."""
        e = self.evaluate(resting_frames(pose), t, lag)
        return e.value.value, self.jacobian(e)

    def expand(self, values: Array) -> Array:
        wide = np.zeros((*values.shape[:-1], self.count * 6))
        wide[..., self.active] = values
        return wide.reshape(*values.shape[:-1], self.count, 6)


def assembled(equations: ClosureEquations, pose: Pose) -> Pose:
    """The first position: closed where the drivers are by the guess, then driven to the
    start."""
    guess = equations.evaluate(resting_frames(pose), 0.0)
    lag = -equations.rows.driver_errors(guess)
    scaled = np.abs(lag * equations.row_scale)
    for part in np.linspace(1.0, 0.0, 2 + int(scaled.max(initial=0.0) / STRIDE)):
        pose, residual = _closed(equations, pose, part * lag)
    if np.linalg.norm(residual) > EQUAL:
        worst = int(np.abs(residual).argmax())
        raise SingularPositionError(
            f"the mechanism cannot be assembled at t = 0 s: joint {equations.rows.joints[worst]} "
            f"stays open by {abs(residual[worst] / equations.row_scale[worst]):.3g} "
            f"({'m' if equations.rows.distance[worst, 0] else 'rad'}); check the lengths, or give "
            f"initial positions nearer to the assembled ones"
        )
    found = equations.evaluate(resting_frames(pose), 0.0)
    wrong = equations.rows.reversed_joints(found)
    if wrong:
        raise SingularPositionError(
            f"at t = 0 s the mechanism is assembled with joint {wrong[0]} reversed; give "
            f"initial positions nearer to the ones meant"
        )
    return pose


def _closed(equations: ClosureEquations, pose: Pose, lag: Array) -> tuple[Pose, Array]:
    """Levenberg–Marquardt at t = 0 with the drivers behind by `lag`: pose and scaled
    residual."""
    residual, J = _scaled(equations, pose, lag)
    damping, error = 1e-3, float(np.linalg.norm(residual))
    for _ in range(MOST_STEPS):
        if error < 1e-14:
            break
        normal = J.T @ J + damping * np.eye(J.shape[1])
        step = np.linalg.solve(normal, -J.T @ residual)
        largest = float(np.abs(step).max())
        step = step * min(1.0, 0.5 / max(largest, 1e-300))
        trial = pose.moved(equations.expand(step * equations.column_scale))
        trial_residual, trial_J = _scaled(equations, trial, lag)
        trial_error = float(np.linalg.norm(trial_residual))
        if trial_error < error:
            pose, residual, J, error = trial, trial_residual, trial_J, trial_error
            damping = max(0.1 * damping, 1e-15)
        else:
            damping *= 10.0
            if damping > 1e8 or largest < 1e-15:
                break
    return pose, residual


def _scaled(equations: ClosureEquations, pose: Pose, lag: Array) -> tuple[Array, Array]:
    residual, J = equations.linearised(0.0, pose, lag)
    return residual * equations.row_scale, J.scaled


def check_rank(equations: ClosureEquations, pose: Pose) -> None:
    """Distinguishes redundant joints and undriven mobility from a singular position."""
    rank, weight, loose = _rank(equations, pose)
    rows, free = len(equations.rows), len(equations.active)
    if rank < min(rows, free):
        # A position that is singular by chance is regular at neighbouring times.
        near, residual = _closed(equations, pose.moved(loose), 0.0 * equations.row_scale)
        if np.linalg.norm(residual) > EQUAL:
            return
        rank, weight, loose = _rank(equations, near)
    if rank < rows:
        named = zip(equations.rows.labels, weight, strict=True)
        names = dict.fromkeys(label for label, w in named if w > 1e-6)
        extra = "1 condition" if rows - rank == 1 else f"{rows - rank} conditions"
        raise RedundantConstraintError(
            f"{extra} too many: {', '.join(names)} repeat what others "
            f"impose; free some motions (spherical instead of revolute) or drivers"
        )
    if rank < free:
        raise MechanismError(
            f"{free - rank} of the mechanism's degrees of mobility have no driver: add as many "
            f"drivers (stiffness=0 is a hinge that vibrates), or joints"
        )


def _rank(equations: ClosureEquations, pose: Pose) -> tuple[int, Array, Array]:
    """Rank; weight of each row in the left null space; a small motion along the right one."""
    U, sizes, Vt = np.linalg.svd(equations.linearised(0.0, pose)[1].scaled)
    rank = int((sizes > SINGULAR * sizes[0]).sum())
    loose = equations.expand(1e-2 * Vt[rank:].sum(axis=0) * equations.column_scale)
    return rank, np.linalg.norm(U[:, rank:], axis=1), loose
