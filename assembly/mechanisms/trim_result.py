"""The equilibrium of an elastic mechanism at an instant, as a result."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from assembly.errors import MechanismError
from assembly.mechanisms.deformed_motion import DeformedState
from assembly.mechanisms.naming import deflections_by_name
from assembly.mechanisms.reactions import Reaction, joint_reactions
from assembly.system.frozen import FrozenSystem
from assembly.types import Array


@dataclass(frozen=True)
class Resultants:
    """Section forces and moments along the beams of a body.

    Parameters
    ----------
    position : ndarray, shape (S, 3)
        Where the sections are in the undeformed body, m, body axes.
    force : ndarray, shape (S, 3)
        What the part beyond a section exerts on the part before it, N. The axes are those of the
        body, rotated with the section.
    moment : ndarray, shape (S, 3)
        N·m, same axes.
    """

    position: Array
    force: Array
    moment: Array


class Trim:
    """A mechanism in elastic equilibrium at one time: the result of `Mechanism.trim`.

    Parameters
    ----------
    state : DeformedState
        The equilibrium.
    iterations : int
        Steps of Newton's method.

    Attributes
    ----------
    t : float
        s.
    q : ndarray, shape (n,)
        Independent degrees of freedom, m and rad: what the degrees of freedom of `system` count
        from.
    displacements : dict of str to ndarray
        All degrees of freedom of every body in its own axes, m and rad.
    """

    def __init__(self, state: DeformedState, iterations: int) -> None:
        self._state, self.iterations = state, iterations
        motion, topology = state.motion, state.motion.topology
        self.t, self.q = float(motion.state.t), state.q
        parts = np.split(state.path[0], topology.offsets[1:-1])
        self.displacements: dict[str, Array] = dict(zip(topology.bodies, parts, strict=True))

    @property
    def state(self) -> DeformedState:
        """Displacements and their rates, for a neighbouring trim."""
        return self._state

    @cached_property
    def system(self) -> FrozenSystem:
        """The frozen system about the equilibrium; Q is zero."""
        system = self._state.system()
        system.Q = np.zeros(system.n)
        return system

    def deployed(self) -> dict[str, tuple[Array, Array]]:
        """Nodes of the rigid motion and their displacements in fixed axes.

        Returns
        -------
        dict of str to (ndarray, ndarray)
            By body: positions (N, 3) of the rigid motion and displacements (N, 3), m.
        """
        motion = self._state.motion
        pose, out = motion.state.pose, {}
        for i, (name, body) in enumerate(motion.topology.bodies.items()):
            moved = body.dofs.displacement(self.displacements[name])
            nodes = pose.r[i] + body.dofs.coordinates @ pose.R[i].T
            out[name] = (nodes, moved @ pose.R[i].T)
        return out

    @cached_property
    def reactions(self) -> dict[str, Reaction]:
        """Force and moment of every joint and bushing on its second body, at its displaced point.

        The driver's share is included.
        """
        state, motion = self._state, self._state.motion
        rotations = motion.joints.frames(motion.state, state.rows.carried).rotation.value
        return joint_reactions(motion.topology, state.multipliers, state.rows.wrench, rotations)

    @cached_property
    def deflections(self) -> dict[str, Array]:
        """Deflections of elastic drives (1,), rad or m, and of bushings (6,), in the plane (3,)."""
        state, topology = self._state, self._state.motion.topology
        x = state.rows.x[0].copy()
        mean = state.rows.deflected
        if mean is not None:
            x[len(topology.rows) :] -= mean.x
        return deflections_by_name(topology, x, mean)

    def resultants(self, body: str) -> Resultants:
        """Section forces and moments of a body of beams.

        Parameters
        ----------
        body : str
            Name of the body.

        Returns
        -------
        Resultants

        Raises
        ------
        MechanismError
            For an unknown body, or one without beam elements.
        """
        at = self._state.bodies.loading[self._state.motion.topology.number(body)]
        u, families = self.displacements[body], self._state.motion.topology.bodies[body].families
        tables = [f.section_resultants(u, at) for f in families]
        tables = [table for table in tables if len(table)]
        if not tables:
            raise MechanismError(f"resultants: body {body!r} has no beam elements")
        whole = np.concatenate(tables)
        return Resultants(whole[:, :3], whole[:, 3:6], whole[:, 6:])

    def __str__(self) -> str:
        lines = [f"trim at t = {self.t:.6g} s, {self.iterations} Newton steps"]
        for name, (_, moved) in self.deployed().items():
            largest = np.linalg.norm(moved, axis=1).max()
            lines.append(f"  {name}: displaced by {largest:.4g} m at most")
        for name, x in self.deflections.items():
            lines.append(f"  {name}: deflected by {', '.join(f'{v:.4g}' for v in x)}")
        return "\n".join(lines)
