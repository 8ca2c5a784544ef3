"""The nonlinear equations of a mechanism's elastic motion, and their tangents.

With the displacements d of all nodes in the frames of the rigid motion, joint conditions g(d, t) =
0 and independent DOFs q, d = d(q, t) and

    R(q, q̇, q̈, t) = Tᵀ F(d, ḋ, d̈, t),   T = ∂d/∂q,

F the forces of bodies, springs, dampers and loads. With λ from F + Gᵀλ = 0 on the eliminated DOFs,

    ∂R/∂q̈ = TᵀMT,   ∂R/∂q̇ = Tᵀ[C T + 2 M Ṫ],
    ∂R/∂q = Tᵀ[(K + Σλ ∇²g) T + C Ṫ + M T̈],

the formulas of the undeformed mechanism, at the deformed one (docs/theory.md, "Mechanisms at
finite deflection").
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.bodies.in_motion import K_D, K_G, BodiesMotion, D, Energies, K, Momenta, Powers
from assembly.bodies.nonlinear import ITERATIONS
from assembly.elements.family import Wanted
from assembly.elements.taylor import Taylor, matrix_vector
from assembly.errors import ConvergenceError
from assembly.linalg.combination import Pattern
from assembly.magnitudes import HALF, ROUND_OFF
from assembly.mechanisms.deformed_joints import DeformedJoints, DeformedRows
from assembly.mechanisms.elastic_reduction import ElasticReduction
from assembly.mechanisms.reactions import Instant, InverseDynamics
from assembly.mechanisms.transformation import inverted
from assembly.system.frozen import FrozenSystem
from assembly.types import Array


class DeformedMotion:
    """The equations at one time, or at several (...), under a share of the motion's loads.

    now: the rigid motion, its forces and reactions.
    """

    def __init__(
        self,
        dynamics: InverseDynamics,
        elastic: ElasticReduction,
        joints: DeformedJoints,
        now: Instant,
    ) -> None:
        self.dynamics, self.elastic, self.joints = dynamics, elastic, joints
        self.topology = dynamics.topology
        self.size = int(self.topology.offsets[-1])
        self.held = np.flatnonzero(elastic.held)
        self.masters = elastic.masters
        touched, partition = self.topology.touched, elastic.partition
        self.slaves, self._slave_places = touched[partition.slaves], partition.slaves
        compliance = self.topology.compliance
        self.state, self.share = now.state, np.ones(np.shape(now.state.t))
        self._motion, self._loading, self._forces = now.coefficients, now.loading, now.forces
        # What drives without a spring that could carry its force acts as a load.
        free = ~compliance.carried
        free[: len(elastic.held)] &= ~elastic.held
        self._motors = np.where(free, now.multipliers - now.steady, 0.0)
        self._motors[..., self.held] = 0.0
        self._steady = now.steady.copy()
        self._steady[..., self.held] = 0.0

    def under(self, share: Array) -> DeformedMotion:
        """Under a share (...) of all loads: the motion at √share of its pace, so that all inertia
        loads are that share."""
        out, part = copy(self), share[..., None]
        out.share, pace = share * self.share, np.sqrt(part[..., None])
        out.state = replace(
            self.state, twist=pace * self.state.twist, rate=pace**2 * self.state.rate
        )
        # The coefficients of all inertia loads are products of two rates, or accelerations.
        for name in ("_motion", "_loading", "_forces"):
            setattr(out, name, part[..., None] * getattr(self, name))
        out._motors = part * self._motors
        return out

    def at(self, n: Any) -> DeformedMotion:
        """That of one of several instants, or of some; with a first axis of instants for None."""
        out = copy(self)
        out.state = self.state.at(n)
        for name in ("share", "_motion", "_loading", "_forces", "_motors", "_steady"):
            setattr(out, name, getattr(self, name)[n])
        return out

    def rows(self, path: Array) -> DeformedRows:
        """Conditions and deflections of a jet of all DOFs (3, ..., n)."""
        return self.joints.at(self.state, path, np.sqrt(self.share))

    def ahead(self, q: Array, near: Array, gradients: Array) -> Array:
        """Jets (3, ..., all) at those of the independent DOFs q (3, ..., n).

        near (3, ..., all): those of others, from which the eliminated DOFs change linearly, by
        gradients: the `DeformedRows.G` there.
        """
        path = near.copy()
        path[..., self.masters] = q
        change = Taylor((path - near)[..., self.topology.touched])
        moved = matrix_vector(Taylor(gradients), change).data
        path[..., self.slaves] -= self._solved(gradients, moved)
        return path

    def closed(self, near: Array) -> DeformedState:
        """The whole mechanism at the independent DOFs of the jets near (3, ..., all), which are
        approximate for the others.

        Raises ConvergenceError where the joints cannot be closed.
        """
        path, touched, length = near.copy(), self.topology.touched, self.topology.length
        scale = self.elastic.scale
        if not len(self.slaves):
            return DeformedState(self, path, self.rows(path))
        frames = np.stack([self.state.twist, self.state.rate]) / np.repeat([length, 1.0], 3)
        pace, change = np.abs(frames).reshape(2, -1).max(axis=-1)
        size = np.inf
        for _ in range(ITERATIONS):
            at, last = self.rows(path), size
            step = self._solved(at.G, at.x)
            path[..., self.slaves] -= step
            large = np.abs(path[..., touched] / scale).reshape(3, -1).max(axis=-1)
            sizes = np.abs(step / scale[self._slave_places]).reshape(3, -1).max(axis=-1)
            large += [1.0, pace, (pace + large[1]) ** 2 + change]
            size = float((sizes / np.maximum(large, np.finfo(float).tiny ** 0.5)).max())
            # Convergence is quadratic: after such a step the next one is of the order of round-off.
            if last <= HALF or size <= ROUND_OFF:
                slopes = Taylor(at.G[..., self._slave_places])
                at.x[:] -= matrix_vector(slopes, Taylor(step)).data
                return DeformedState(self, path, at)
        raise ConvergenceError("the joints of the deformed mechanism cannot be closed")

    def _solved(self, G: Array, gap: Array) -> Array:
        """Jets (3, ..., s) of the eliminated DOFs that change the held conditions by the jet gap
        (..., rows)."""
        J, rate, second = G[..., self.held, :][..., self._slave_places]
        x = gap[..., self.held, None]
        inverse, condition = inverted(J)
        value = inverse @ x[0]
        first = inverse @ (x[1] - rate @ value)
        step = np.stack([value, first, inverse @ (x[2] - second @ value - 2.0 * (rate @ first))])
        if not (np.all(np.isfinite(step)) and np.all(np.isfinite(condition))):
            raise ConvergenceError("the joints of the deformed mechanism cannot be closed")
        return np.asarray(step[..., 0])


@dataclass(frozen=True)
class DeformedState:
    """A mechanism with finite displacements of all its nodes; made by `Mechanism.displaced`.

    At several instants (P,) all have an axis of these.

    Parameters
    ----------
    motion : DeformedMotion
        The equations at this time.
    path : ndarray, shape (3, all)
        Displacements and rotation vectors of all bodies in their own axes, m and rad, and their
        first two rates.
    known : DeformedRows, optional
        The `rows`, where they are known.
    step : ndarray, shape (2, 3, all), optional
        The path before the last step of Newton's method and linearly after it, for derivatives.
        Forces after these are those of the stresses that the step foresees.
    """

    motion: DeformedMotion
    path: Array
    known: DeformedRows | None = None
    step: Array | None = None

    def at(self, n: Any) -> DeformedState:
        """That of one of several instants, or of some."""
        out = DeformedState(self.motion.at(n), self.path[:, n])
        vars(out).update({name: vars(self)[name][n] for name in ("force",) if name in vars(self)})
        return out

    @cached_property
    def rows(self) -> DeformedRows:
        """Conditions of joints and deflections of springs, with their first rates."""
        return self.known or self.motion.rows(self.path)

    @property
    def gradients(self) -> Array:
        """Jets (3, rows, J) of the gradients of conditions and deflections by the constrained DOFs.

        With the path they are what a neighbouring state starts from.
        """
        return self.rows.G

    @property
    def q(self) -> Array:
        """The independent degrees of freedom (n,), m and rad."""
        return np.asarray(self.path[0][..., self.motion.masters])

    @cached_property
    def bodies(self) -> BodiesMotion:
        """The bodies in motion at these displacements."""
        m = self.motion
        motion = m.state.twist, m._motion, m._loading
        return BodiesMotion(m.topology.moving, *motion, self.path, self.step)

    def _transform(self, rows: DeformedRows) -> Taylor:
        m = self.motion
        G = rows.G[..., m.held, :]
        J = Taylor(G.reshape(3, -1, *G.shape[-2:]))
        return m.elastic.partition.transform(J, np.atleast_1d(m.state.t))

    @cached_property
    def row_forces(self) -> Array:
        """Forces (rows,) of springs, dampers, preloads and motors on the deflections."""
        m, compliance = self.motion, self.motion.topology.compliance
        live = compliance.forces(m.state.t, self.rows.x[0], self.rows.x[1])
        live[..., m.held] = 0.0
        return np.asarray(live - (1.0 - m.share[..., None]) * m._steady + m._motors)

    @property
    def load(self) -> Array:
        """Nodal forces (all,) of the applied loads."""
        return self.motion.joints.load(self.rows.carried, self.motion._forces)

    @cached_property
    def force(self) -> Array:
        """F (all,): zero at the independent DOFs in equilibrium, Gᵀλ at the others."""
        m, total = self.motion, self.bodies.force - self.load
        pulled = self.row_forces[..., None, :] @ self.rows.G[0]
        total[..., m.topology.touched] += pulled[..., 0, :]
        return total

    @cached_property
    def residual(self) -> Array:
        """What is out of balance, R = TᵀF (n,), N and N·m: F + Gᵀλ at the independent DOFs."""
        m, total = self.motion, self.force.copy()
        held = self.multipliers[..., None, m.held] @ self.rows.G[0][..., m.held, :]
        total[..., m.topology.touched] += held[..., 0, :]
        return np.asarray(total[..., m.masters])

    @cached_property
    def multipliers(self) -> Array:
        """λ (rows,) of the held conditions; the forces of springs and motors for the others."""
        m, out = self.motion, self.row_forces.copy()
        if len(m.slaves):
            J = self.rows.G[0][..., m.held, :][..., m._slave_places]
            forces = -self.force[..., m.slaves, None]
            out[..., m.held] = np.linalg.solve(J.swapaxes(-1, -2), forces)[..., 0]
        return out

    @cached_property
    def energies(self) -> Energies:
        """Kinetic energy and potentials."""
        m, pose = self.motion, self.motion.state.pose
        found = self.bodies.energies(pose.r, pose.R, m.dynamics.gravity)
        springs = m.topology.compliance.energy(m.state.t, self.rows.x[0])
        return replace(found, strain=found.strain + springs)

    @property
    def momenta(self) -> Momenta:
        """Momentum and angular momentum."""
        pose = self.motion.state.pose
        return self.bodies.momenta(pose.r, pose.R)

    @cached_property
    def powers(self) -> Powers:
        """What loads, drives and dampers supply.

        Row k of the conditions acts on the bodies with −λ_k ∇x_k. Along the motion it has the power
        −λ_k (ẋ_k − ∂x_k/∂t): of held conditions λ_k ∂x_k/∂t, which is zero but for drives. A spring
        S on the deflection x of a drive stores ½ S x²; what is left of its power is the motor's. A
        damper c of a drive takes c (q̇ + ẋ)², q̇ the rate of its law.
        """
        m = self.motion
        compliance, t = m.topology.compliance, m.state.t
        x, rate = self.rows.x[:2]
        count = len(m.topology.rows)
        moved = m.topology.evaluate(self.rows.frames.still, t, m.share**0.5)[0][1]  # ∂x/∂t
        held = np.isin(np.arange(x.shape[-1]), m.held)
        forces = np.where(held, self.multipliers, compliance.elastic(t, x))
        driven = np.sum(forces[..., :count] * moved[..., :count], axis=-1)
        driven = driven + np.sum(m._motors * (moved - rate), axis=-1)
        driven = driven + compliance.parametric_power(t, x)
        dampers = self.bodies.damping_power - compliance.dissipation(t, rate)
        loads = self.bodies.power(self.load)
        return Powers(loads, driven, dampers)

    @property
    def symmetries(self) -> Array:
        """Velocities (n, 0) of rigid motions that nothing holds: joints hold a mechanism."""
        return np.zeros((len(self.q), 0))

    def power(self, force: Array) -> Any:
        """The power of forces on the independent degrees of freedom.

        Parameters
        ----------
        force : ndarray, shape (..., n)
            N and N·m, in the axes of their bodies.

        Returns
        -------
        float or ndarray, shape (P,)
            W, of the absolute motion.
        """
        whole = np.zeros((*force.shape[:-1], self.motion.size))
        whole[..., self.motion.masters] = force
        return self.bodies.power(whole)

    def parts(self) -> dict[str, Array]:
        """The named matrices of the frozen system, as values on `sparsity`.

        Returns
        -------
        dict of str to ndarray
            Over the independent degrees of freedom, (entries,); those that are zero are left out.
        """
        found = self.motion.elastic.moving_pattern.reduce(*self._with_joints(self.bodies.parts()))
        return {name: part[0] for name, part in found.items()}

    def derivatives(self, exact: Wanted = True, at_rest: bool = False) -> list[Array]:
        """The derivatives of the residual at several instants, as values on `sparsity`.

        Parameters
        ----------
        exact : bool
            As of `tangents`.
        at_rest : bool
            For Newton's method: as if the displacements rested in the frames, in the bodies'
            share. Forces of relative rates are left out of the derivative by q, and spins of
            sections of that by velocities.

        Returns
        -------
        list of ndarray
            By accelerations, by velocities and by q, (P, entries).
        """
        bodies = (self.bodies.resting if at_rest else self.bodies).tangents(exact)
        return self.motion.elastic.moving_pattern.reduce_sums(*self._with_joints(bodies))

    def _with_joints(self, bodies: Array) -> tuple[Array, Taylor, dict[int, Array]]:
        """Values (parts, P, entries) of the bodies, (parts, ..., entries), with the stiffness of
        loads, the jet of T, and what joints add to parts over the constrained DOFs, (P, J, J)."""
        m, topology = self.motion, self.motion.topology
        J, times = len(topology.touched), np.atleast_1d(m.state.t)
        joints = {part: np.zeros((len(times), J, J)) for part in (K, D, K_D, K_G)}
        curvature = m.joints.curvature(self.rows, m.state.t, self.multipliers)
        joints[K_G] += 0.5 * (curvature + curvature.swapaxes(-1, -2))
        if not topology.compliance.is_empty:
            G = self.rows.G[:2].reshape(2, len(times), -1, J)
            springs = topology.compliance.terms(times, G)
            for part, term in zip((K, D, K_D), springs, strict=True):
                joints[part] += term
        values = bodies.reshape(len(bodies), len(times), -1)
        for numbers, block in m.joints.load_stiffness(self.rows.carried, m._forces):
            pairs = np.repeat(numbers, len(numbers)), np.tile(numbers, len(numbers))
            slots, turned = topology.moving.places(*pairs), block.swapaxes(-1, -2)
            values[K_G][:, slots] += 0.5 * (block + turned).reshape(len(times), -1)
            values[K_D][:, slots] += 0.5 * (block - turned).reshape(len(times), -1)
        return values, self._transform(self.rows), joints

    @property
    def sparsity(self) -> Pattern:
        """Where the entries of all matrices are."""
        return self.motion.elastic.moving_pattern.sparsity

    def system(self) -> FrozenSystem:
        """The frozen system about this state.

        Returns
        -------
        FrozenSystem
            Its load Q is what is out of balance, with the opposite sign.
        """
        elastic = self.motion.elastic
        return FrozenSystem(
            **{name: self.sparsity.tocsr(part) for name, part in self.parts().items()},
            Q=-self.residual,
            dofs=elastic.dofs,
            frame=elastic.frame,
            parameters=dict(t=float(self.motion.state.t)),
        )

    def tangents(self, exact: Wanted = True) -> tuple[sp.csr_matrix, sp.csr_matrix, sp.csr_matrix]:
        """The derivatives of the residual.

        Parameters
        ----------
        exact : bool
            Whether M, C and D of bodies, which joints bring into the derivative by q as well, are
            those of the displaced bodies; without that they cost a fraction.

        Returns
        -------
        tuple of scipy.sparse.csr_matrix
            By accelerations, by velocities and by q, (n, n).
        """
        by_a, by_v, by_q = self.derivatives(exact)
        tocsr = self.sparsity.tocsr
        return tocsr(by_a[0]), tocsr(by_v[0]), tocsr(by_q[0])

    def stiffness(self) -> list[sp.csr_matrix]:
        """The exact derivative of the residual by q alone, at each of the instants.

        Returns
        -------
        list of scipy.sparse.csr_matrix
            (n, n); M and C count in it where joints move the DOFs that they eliminate.
        """
        by_q = self.derivatives(self.motion.slaves)[2]
        return [self.sparsity.tocsr(own) for own in by_q]
