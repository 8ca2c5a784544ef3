"""A mechanism in motion: positions, kinematics and reactions of its rigid motion, its independent
degrees of freedom, and what vectors over them are.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from assembly.dofs import DofMap
from assembly.errors import InputError
from assembly.kinematics import Kinematics, as_vector
from assembly.mechanisms.closure import Closure
from assembly.mechanisms.elastic_reduction import ElasticReduction, all_dofs
from assembly.mechanisms.reactions import (
    Instant,
    InverseDynamics,
    Reaction,
    drive_names,
    joint_reactions,
)
from assembly.mechanisms.rigid_state import Pose, RigidState
from assembly.mechanisms.topology import Topology
from assembly.motion.motion import FunctionMotion
from assembly.types import Array, Inexact, Mask


class ElasticMechanism:
    """Bodies, joints and drivers in their rigid motion, and the DOFs that joints leave.

    topology: what is connected to what. initial: a pose to assemble from. gravity (3,): m/s², fixed
    axes. period: of the motion, s, or None. preferred: for a joint, the body whose DOFs remain.
    """

    _reductions: dict[tuple[bool, ...], ElasticReduction]

    def __init__(
        self,
        topology: Topology,
        initial: Pose,
        gravity: Array,
        period: float | None,
        preferred: Mapping[str, str],
    ) -> None:
        self.topology, self.bodies, self.gravity = topology, topology.bodies, gravity
        self._preferred, self._reductions = dict(preferred), {}
        components = (0, 1, 5) if topology.planar else (0, 1, 2, 3, 4, 5)
        self.closure = Closure(
            topology.rows, len(self.bodies), components, initial, topology.length, period
        )
        self.dynamics = InverseDynamics(topology, self.closure, gravity)

    @property
    def period(self) -> float | None:
        """The time (s) after which the rigid motion repeats, or None."""
        return self.closure.period

    def state(self, t: float) -> RigidState:
        """Positions, velocities and accelerations of all bodies at time t.

        Parameters
        ----------
        t : float
            s.

        Returns
        -------
        RigidState

        Raises
        ------
        SingularPositionError
            When the mechanism cannot be assembled, or loses rank, at t.
        """
        return self.closure.state(t)

    def position(self, t: float) -> dict[str, tuple[Array, Array]]:
        """Position of every body's frame at time t.

        Parameters
        ----------
        t : float
            s.

        Returns
        -------
        dict of str to (ndarray, ndarray)
            Origin (3,), m, fixed axes, and rotation (3, 3) from body to fixed axes.

        Raises
        ------
        SingularPositionError
            When the mechanism cannot be assembled, or loses rank, at t.
        """
        pose = self.state(t).pose
        return {name: (pose.r[i], pose.R[i]) for i, name in enumerate(self.bodies)}

    def kinematics(self, t: float) -> dict[str, Kinematics]:
        """Kinematics of every body's frame at time t, in its own axes.

        Parameters
        ----------
        t : float
            s.

        Returns
        -------
        dict of str to Kinematics

        Raises
        ------
        SingularPositionError
            When the mechanism cannot be assembled, or loses rank, at t.
        """
        state = self.state(t)
        return {name: state.kinematics(i) for i, name in enumerate(self.bodies)}

    def motion(self, body: str) -> FunctionMotion:
        """The motion of one body's frame, for `assembly.moving` of this body alone.

        The prestress is then that of the body's own inertia, without joint reactions.

        Parameters
        ----------
        body : str
            Name of the body.

        Returns
        -------
        FunctionMotion

        Raises
        ------
        MechanismError
            For an unknown body.
        """
        self.topology.number(body)
        return FunctionMotion(lambda t: self.kinematics(t)[body], self.period)

    def place(self, t: float, body: str, point: ArrayLike) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration of a point of a body's frame at time t.

        Parameters
        ----------
        t : float
            s.
        body : str
            Name of the body.
        point : array_like, shape (2,) or (3,)
            Body axes, m.

        Returns
        -------
        position, velocity, acceleration : ndarray, shape (3,)
            Fixed axes, m, m/s, m/s².

        Raises
        ------
        MechanismError
            For an unknown body.
        """
        i, frames = self.topology.number(body), self.state(t).frames
        X = as_vector([*np.ravel(point), 0.0][:3], "point")
        r, v, a = frames.origin.data[:, i] + frames.rotation.data[:, i] @ X
        return r, v, a

    def reactions(self, t: float) -> dict[str, Reaction]:
        """Force and moment of every joint and bushing on its second body at time t.

        Parameters
        ----------
        t : float
            s.

        Returns
        -------
        dict of str to Reaction
            By the name of the joint or bushing.

        Raises
        ------
        SingularPositionError
            When the mechanism cannot be assembled, or loses rank, at t.
        """
        now = self.instant(t)
        rotations = now.state.frames.rotation.value[[p.body for p in self.topology.points]]
        return joint_reactions(self.topology, now.multipliers, now.wrench, rotations)

    def driving(self, t: float) -> dict[str, float]:
        """Force or torque of every driver along its joint's motion at time t.

        What the damper of the joint takes in the steady motion is included.

        Parameters
        ----------
        t : float
            s.

        Returns
        -------
        dict of str to float
            N or N·m, by the joint's name. For a cylindrical joint with two drivers the keys are
            "joint angle" and "joint displacement".

        Raises
        ------
        SingularPositionError
            When the mechanism cannot be assembled, or loses rank, at t.
        """
        now = self.instant(t)
        values = now.multipliers - now.steady
        rows = np.flatnonzero(self.closure.rows.driven)
        names = drive_names(self.topology)
        return {name: -float(values[k]) for name, k in zip(names, rows, strict=True)}

    def instant(self, t: float) -> Instant:
        """Rigid state, conditions and multipliers at time t (s)."""
        return self.dynamics.at(self.closure.state(t))

    def instants(self, times: Array) -> Instant:
        """The same at times (P,), in arrays with a first axis of instants."""
        return self.dynamics.at(self.closure.states(times))

    def held(self, driven: bool | None) -> Mask:
        """Which conditions (m,) tie the elastic DOFs."""
        rows = self.closure.rows
        return rows.held if driven is None else np.where(rows.driven, bool(driven), True)

    def elastic(self, driven: bool | None) -> ElasticReduction:
        """The independent DOFs where joints, and drivers that hold, tie the elastic ones."""
        held = self.held(driven)
        key = tuple(held.tolist())
        if key not in self._reductions:
            self._reductions[key] = ElasticReduction.chosen(self.dynamics, held, self._preferred)
        return self._reductions[key]

    @cached_property
    def dofs(self) -> DofMap:
        """The degrees of freedom and nodes of all bodies, numbered in sequence; body axes."""
        return all_dofs(self.topology)

    def transformation(self, t: float, driven: bool | None = None) -> tuple[Any, Any, Any]:
        """The matrices T, Ṫ, T̈ of δ = T(t) q.

        Parameters
        ----------
        t : float
            s.
        driven : bool, optional
            Whether drivers constrain the elastic degrees of freedom; None: as each driver says.

        Returns
        -------
        T, rate, second : scipy.sparse.csr_matrix
            (all degrees of freedom, independent ones).

        Raises
        ------
        SingularPositionError
            When the mechanism cannot be assembled, or loses rank, at t.
        """
        elastic = self.elastic(driven)
        _, pattern = elastic.pattern(True)
        T = elastic.transform(self.instant(t))
        first, rate, second = (pattern.matrix(T.data[k], rate=k > 0) for k in range(3))
        return first, rate, second

    def recover(self, t: float, q: Inexact, driven: bool | None = None) -> dict[str, Inexact]:
        """All degrees of freedom of every body from those of the frozen system.

        Parameters
        ----------
        t : float
            s.
        q : ndarray, shape (n, ...)
            Independent degrees of freedom, real or complex.
        driven : bool, optional
            Whether drivers constrain the elastic degrees of freedom; None: as each driver says.

        Returns
        -------
        dict of str to ndarray
            By body, in its own axes.

        Raises
        ------
        InputError
            For another length of `q`.
        """
        elastic = self.elastic(driven)
        _, pattern = elastic.pattern(True)
        if len(q) != len(pattern.masters):
            raise InputError(f"q: expected {len(pattern.masters)} DOFs, got {len(q)}")
        full = pattern.expand(np.asarray(q), elastic.transform(self.instant(t)).value)
        parts = np.split(full, self.topology.offsets[1:-1])
        return dict(zip(self.bodies, parts, strict=True))

    def deployed(
        self, t: float, q: Inexact | None = None, driven: bool | None = None
    ) -> dict[str, tuple[Array, Inexact]]:
        """Nodes and their displacements in fixed axes.

        Parameters
        ----------
        t : float
            s.
        q : ndarray, shape (n,), optional
            Degrees of freedom of the frozen system, real or complex; zero by default.
        driven : bool, optional
            Whether drivers constrain the elastic degrees of freedom; None: as each driver says.

        Returns
        -------
        dict of str to (ndarray, ndarray)
            By body: positions (N, 3) of the rigid motion and displacements (N, 3), m.
        """
        pose = self.state(t).pose
        shapes = {} if q is None else self.recover(t, q, driven)
        out = {}
        for i, (name, body) in enumerate(self.bodies.items()):
            nodes = pose.r[i] + body.dofs.coordinates @ pose.R[i].T
            moved = np.zeros_like(nodes) if q is None else body.dofs.displacement(shapes[name])
            out[name] = (nodes, moved @ pose.R[i].T)
        return out
