"""One body at finite displacements in a frame whose motion is prescribed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from assembly.bodies.balance import Energies, Momenta, Powers
from assembly.bodies.body import Body
from assembly.bodies.in_motion import BodiesMotion, MovingBodies, rigid_velocities
from assembly.errors import InputError
from assembly.kinematics import Kinematics
from assembly.motion.motion import Motion
from assembly.system.frozen import DAMPING_PARTS, PARTS, STIFFNESS_PARTS, FrozenSystem
from assembly.types import Array


@dataclass(frozen=True)
class DeformedBody:
    """A body with finite displacements of all its nodes; made by `MovingBody.displaced`.

    Parameters
    ----------
    stack : MovingBodies
        The body alone.
    law : Motion
        Of the frame.
    now : Kinematics
        Its kinematics at this time.
    t : float
        s.
    q, v, a : ndarray, shape (n,)
        Free degrees of freedom and their rates, in the frame.
    """

    stack: MovingBodies
    law: Motion
    now: Kinematics
    t: float
    q: Array
    v: Array
    a: Array

    @property
    def body(self) -> Body:
        """The body."""
        return self.stack.bodies[0]

    @cached_property
    def motion(self) -> BodiesMotion:
        """The body in motion."""
        path = np.zeros((3, self.body.size))
        path[:, self.body.free] = self.q, self.v, self.a
        c = self.now.coefficients()[None]
        return BodiesMotion(self.stack, self.now.twist()[None], c, c, path)

    @property
    def residual(self) -> Array:
        """What is out of balance (n,), N and N·m."""
        return np.asarray(self.motion.force[self.body.free])

    @cached_property
    def energies(self) -> Energies:
        """Kinetic energy and potentials."""
        return self.motion.energies(np.zeros((1, 3)), np.eye(3)[None], np.zeros(3))

    @property
    def momenta(self) -> Momenta:
        """Momentum and angular momentum.

        In the frame's axes and about its origin where the motion does not say where the frame is.
        """
        place = getattr(self.law, "frame", None)
        r, R = (np.zeros(3), np.eye(3)) if place is None else place(self.t)
        return self.motion.momenta(r[None], R[None])

    @cached_property
    def powers(self) -> Powers:
        """What moves the frame supplies through the supports, and dampers take."""
        reactions = np.where(self.body.fixed, self.motion.force, 0.0)
        return Powers(0.0, self.motion.power(reactions), self.motion.damping_power)

    def power(self, force: Array) -> float:
        """The power of forces on the free degrees of freedom.

        Parameters
        ----------
        force : ndarray, shape (n,)
            N and N·m, in the frame's axes.

        Returns
        -------
        float
            W, of the absolute motion.
        """
        whole = np.zeros(self.body.size)
        whole[self.body.free] = force
        return self.motion.power(whole)

    @cached_property
    def symmetries(self) -> Array:
        """Velocities (n, m) of the rigid motions of a body that nothing holds."""
        if self.body.fixed.any():
            return np.zeros((len(self.q), 0))
        fields = rigid_velocities(self.body, self.motion.path[0])
        return fields[:, np.abs(fields).max(axis=0) > 0.0]

    def system(self) -> FrozenSystem:
        """The frozen system about this state.

        Returns
        -------
        FrozenSystem
            Its load Q is what is out of balance, with the opposite sign.
        """
        parts = dict(zip(PARTS, self.motion.parts(), strict=True))
        return FrozenSystem(
            **{name: self._free(values) for name, values in parts.items() if np.any(values)},
            Q=-self.residual,
            dofs=self.body.free_dofs,
            frame=self.body.name,
            parameters=dict(t=self.t),
        )

    def tangents(self, exact: bool = True) -> tuple[sp.csr_matrix, sp.csr_matrix, sp.csr_matrix]:
        """The derivatives of the residual.

        Parameters
        ----------
        exact : bool
            Whether M, C and D are those of the displaced body.

        Returns
        -------
        tuple of scipy.sparse.csr_matrix
            By accelerations, by velocities and by q, (n, n).
        """
        parts = dict(zip(PARTS, self.motion.tangents(exact), strict=True))
        by_v, by_q = (
            sum(parts[name] for name in names) for names in (DAMPING_PARTS, STIFFNESS_PARTS)
        )
        return self._free(parts["M"]), self._free(by_v), self._free(by_q)

    def _free(self, values: Array) -> sp.csr_matrix:
        """The matrix (n, n) of values (entries,)."""
        free = self.body.free
        matrix = sp.csr_matrix(self.stack.matrix(values)[free][:, free])
        matrix.eliminate_zeros()
        return matrix


def check_body(body: Body) -> None:
    """InputError for a body whose hub would have to hold a large rotation."""
    if len(body.hold):
        raise InputError(
            "nonlinear: a body pinned on its axis is not taken alone; clamp it, leave it free, or "
            "make it a mechanism with a revolute joint"
        )
