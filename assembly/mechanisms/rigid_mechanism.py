"""Rigid motion of a mechanism and the forces that it needs: positions, kinematics, reactions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from assembly.kinematics import Kinematics, as_vector
from assembly.mechanisms.closure import Closure
from assembly.mechanisms.naming import drive_names
from assembly.mechanisms.reactions import (
    Instant,
    InverseDynamics,
    Reaction,
    joint_reactions,
)
from assembly.mechanisms.rigid_state import Pose, RigidState
from assembly.mechanisms.topology import Topology
from assembly.motion.motion import FunctionMotion
from assembly.types import Array


class RigidMechanism:
    """Bodies, joints and drivers as they move without elastic displacements.

    topology: what is connected to what. initial: a pose to assemble from. gravity (3,): m/s², fixed
    axes. period: of the motion, s, or None.
    """

    def __init__(
        self, topology: Topology, initial: Pose, gravity: Array, period: float | None
    ) -> None:
        self.topology, self.bodies, self.gravity = topology, topology.bodies, gravity
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
