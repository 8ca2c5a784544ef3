"""Forces applied to a mechanism's bodies, with their stiffness.

A force on a point at the offset s from a node does work on u + θ×s + ½θ×(θ×s). A force that keeps
its direction in space (dead) has the potential −f·x, whose second derivative is on the rotations
only; one that turns with the node (follower) is f + θ×f, which has no potential:

    dead      K_θθ = −[½(f sᵀ + s fᵀ) − (f·s) I]
    follower  K_uθ = f̃,  K_θθ = ½ m̃,  m = s × f,

the ½ because the moment conjugate to the rotation vector is (I − ½θ̃)(m + θ×m).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from assembly.arguments import real_array, shown
from assembly.bodies.body import Body
from assembly.errors import MechanismError
from assembly.kinematics import skew
from assembly.mechanisms.joint_points import JointPoint, body_point
from assembly.mechanisms.joints import GROUND, Point
from assembly.mechanisms.rigid_state import RigidState
from assembly.types import Array, Index


@dataclass(frozen=True)
class Load:
    """A force on a point of a body.

    Parameters
    ----------
    body : str
        Name of the body.
    at : str, int or sequence of float
        Point of the body: a named node set, a node number, or coordinates in body axes, m.
    force : array_like or callable
        Two or three components, N, or a function of time (s) that returns them; fixed axes.
    follower : bool
        The force is in the body's axes and rotates with the node as well.
    """

    body: str
    at: Point
    force: ArrayLike | Callable[[float], ArrayLike]
    follower: bool = False

    def value(self, t: float) -> Array:
        """The force at time t.

        Parameters
        ----------
        t : float
            s.

        Returns
        -------
        ndarray, shape (3,)
            N.

        Raises
        ------
        MechanismError
            When it is not two or three finite numbers.
        """
        given = self.force(t) if callable(self.force) else self.force
        values = real_array(given)
        if values is None or values.size not in (2, 3) or not np.all(np.isfinite(values)):
            raise MechanismError(
                f"load on {self.body!r} at t = {t:g} s: expected two or three finite numbers, N, "
                f"got {shown(given)}"
            )
        return np.array([*values.ravel(), 0.0][:3])


@dataclass(frozen=True)
class AppliedLoads:
    """All loads of a mechanism, and the DOFs they act on."""

    loads: tuple[Load, ...]
    points: tuple[JointPoint, ...]
    bodies: tuple[Body, ...]
    planar: bool

    @classmethod
    def of(cls, loads: tuple[Load, ...], bodies: dict[str, Body], planar: bool) -> AppliedLoads:
        """Raises MechanismError for a body or point that is not there."""
        points = []
        for load in loads:
            if load.body == GROUND or load.body not in bodies:
                raise MechanismError(f"load: no body {load.body!r}; bodies are {', '.join(bodies)}")
            load.value(0.0)
            points.append(body_point(f"load on {load.body!r}", load.body, load.at, bodies))
        found = cls(loads, tuple(points), tuple(bodies.values()), planar)
        for load, point in zip(loads, points, strict=True):
            needs = load.follower or np.any(point.lever)
            counts = np.diff(found._motion(point).indptr)
            if needs and not (counts[5] if planar else counts[3:].min()):
                raise MechanismError(
                    f"load on {load.body!r}: the node has no rotations to turn a force; use "
                    f"a set of several nodes"
                )
        return found

    def _motion(self, point: JointPoint) -> sp.csr_matrix:
        """Displacement and rotation of a load's node or nodes, (6, DOFs of its body)."""
        return point.forms(self.bodies[point.body], self.planar).motion

    @property
    def _offsets(self) -> Index:
        return np.cumsum([0, *(body.size for body in self.bodies)])

    @property
    def touched(self) -> Index:
        """DOFs in which loads have a stiffness."""
        stiff = [
            self._motion(point).indices + self._offsets[point.body]
            for load, point in zip(self.loads, self.points, strict=True)
            if load.follower or np.any(point.lever)
        ]
        whole = np.concatenate([np.zeros(0, dtype=np.intp), *stiff])
        return np.asarray(np.unique(whole), dtype=np.intp)

    def ties(self, body: int) -> Array:
        """Nodal loads (DOFs of the body, 6 a load) of forces and moments at the loaded nodes."""
        mine = [self._motion(point).toarray().T for point in self.points if point.body == body]
        return np.concatenate([np.zeros((self.bodies[body].size, 0)), *mine], axis=1)

    def unit_loads(self, body: int) -> Array:
        """Nodal loads (DOFs of the body, 3 a load) of the unit forces on one body."""
        mine = [
            np.asarray(self._motion(point).T @ np.concatenate([np.eye(3), skew(point.lever)]))
            for point in self.points
            if point.body == body
        ]
        return np.concatenate([np.zeros((self.bodies[body].size, 0)), *mine], axis=1)

    def forces(self, state: RigidState) -> Array:
        """Forces (..., loads, 3) at an instant or at several, in body axes."""
        times = np.asarray(state.t, dtype=float)
        out = np.zeros((*times.shape, len(self.loads), 3))
        for k, (load, point) in enumerate(zip(self.loads, self.points, strict=True)):
            values = np.array([load.value(float(t)) for t in times.ravel()])
            values = values.reshape(*times.shape, 3)
            if not load.follower:
                values = (values[..., None, :] @ state.pose.R[..., point.body, :, :])[..., 0, :]
            out[..., k, :] = values
        return out

    def on_body(self, forces: Array, body: int) -> Array:
        """The forces on one body, one after the other, (..., 3 a load)."""
        mine = [k for k, point in enumerate(self.points) if point.body == body]
        return np.asarray(forces[..., mine, :].reshape(*forces.shape[:-2], -1))

    def stiffness(self, forces: Array, touched: Index) -> Array:
        """Stiffness of the loads over the constrained DOFs of the mechanism, (..., J, J)."""
        out = np.zeros((*forces.shape[:-2], len(touched), len(touched)))
        for k, (load, point) in enumerate(zip(self.loads, self.points, strict=True)):
            local = force_stiffness(forces[..., k, :], point.lever, load.follower)
            if np.any(local):
                motion, own = self._motion(point), touched - self._offsets[point.body]
                inside = np.flatnonzero((own >= 0) & (own < motion.shape[1]))
                seen = motion[:, own[inside]].toarray()
                out[..., inside[:, None], inside] += seen.T @ local @ seen
        return out


def force_stiffness(f: Array, s: Array, follower: bool) -> Array:
    """Stiffness (..., 6, 6) of forces f (..., 3) at the offset s from a node, by its motion."""
    local = np.zeros((*f.shape[:-1], 6, 6))
    if follower:
        local[..., :3, 3:], local[..., 3:, 3:] = skew(f), 0.5 * skew(np.cross(s, f))
    else:
        outer = f[..., :, None] * s
        mean = 0.5 * (outer + outer.swapaxes(-1, -2))
        local[..., 3:, 3:] = (f @ s)[..., None, None] * np.eye(3) - mean
    return local
