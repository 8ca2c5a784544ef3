"""Joint reactions of the rigid motion by inverse dynamics: the multipliers of M q̈ + Φ_qᵀ λ = Q."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from assembly.elements.taylor import Taylor
from assembly.kinematics import unit_coefficients
from assembly.mechanisms.closure import Closure
from assembly.mechanisms.joint_rows import Frames
from assembly.mechanisms.rigid_state import RigidState
from assembly.mechanisms.topology import Topology
from assembly.types import Array, Mask


@dataclass(frozen=True)
class Instant:
    """The rigid state, conditions and loads of a mechanism, at one instant or at several (...).

    frames: of the points of joints and bushings.
    Rows are the m conditions, then the deflections of bushings. x (2, ..., rows): these and their
    rates at zero elastic deflection, zero for conditions. wrench (..., rows, 12): their
    gradient by the motion of their two points; gradient: its jets over the constrained DOFs,
    (..., rows, J), of deflections without the second rate. coefficients, loading (..., B, 12): the
    unit kinematics of every body, as it moves and as its inertia loads it, weight included. forces
    (..., loads, 3): applied, in body axes. multipliers (..., rows): the forces that act, the
    springs' for what gives. steady (..., rows): those of dampers and bushings at zero elastic
    deflection.
    """

    state: RigidState
    frames: Frames
    x: Array
    wrench: Array
    gradient: Taylor
    coefficients: Array
    loading: Array
    forces: Array
    multipliers: Array
    steady: Array


@dataclass(frozen=True)
class Reaction:
    """The force and moment of a joint on its second body, at the joint's point of this body.

    The first body gets the opposite.

    Parameters
    ----------
    joint : str
        Name of the joint.
    force : ndarray, shape (3,)
        N, fixed axes, the driver's share included.
    moment : ndarray, shape (3,)
        N·m, fixed axes, the driver's share included.
    """

    joint: str
    force: Array
    moment: Array


def joint_reactions(
    topology: Topology, multipliers: Array, wrench: Array, rotations: Array
) -> dict[str, Reaction]:
    """Reactions by joint and bushing, of multipliers (rows,) and their wrenches (rows, 12).

    rotations: from the axes of each joint point to fixed axes, (points, 3, 3).
    """
    forces = -multipliers[:, None] * wrench
    out = {}
    for number, name in enumerate(topology.tie_names):
        second = 2 * number + 1
        R, lever = rotations[second], topology.points[second].lever
        total = forces[topology.row_points[:, 1] == second, 6:].sum(axis=0)
        # Moments are about the node; `lever` is the offset of the point from it.
        out[name] = Reaction(name, R @ total[:3], R @ (total[3:] - np.cross(lever, total[:3])))
    return out


def drive_names(topology: Topology) -> list[str]:
    """Names of the drives: the joint's, with the motion where a joint has two."""
    joints = [driver.joint for driver in topology.drivers]
    return [
        driver.joint if joints.count(driver.joint) == 1 else f"{driver.joint} {driver.of}"
        for driver in topology.drivers
    ]


def deflections_by_name(topology: Topology, x: Array) -> dict[str, Array]:
    """Deflections x (rows,) of elastic drives and bushings."""
    drives = zip(
        drive_names(topology), topology.drivers, np.flatnonzero(topology.rows.driven), strict=True
    )
    out = {name: x[k : k + 1] for name, drive, k in drives if drive.gives}
    for number, bushing in enumerate(topology.bushings):
        out[bushing.name] = x[topology.compliance.rows(number)]
    return out


class InverseDynamics:
    """Loads on all bodies of a mechanism, and the reactions that balance them.

    gravity (3,): m/s², fixed axes. Resultants are sums of the bodies' own finite-element loads, so
    that loads and reactions balance to round-off and a statically determinate support of a body
    carries nothing.
    """

    def __init__(self, topology: Topology, closure: Closure, gravity: Array) -> None:
        self.topology, self.closure, self.gravity = topology, closure, gravity
        self._fields = [body.rigid_fields() for body in topology.bodies.values()]
        self._inertia = [body.operators.inertia_loads for body in topology.bodies.values()]
        self._dampers = [body.operators.damper_loads for body in topology.bodies.values()]
        # Force and moment about the body's origin, per unit kinematics and per unit twist.
        self._by_motion, self._by_twist = (
            np.array([fields.T @ own for fields, own in zip(self._fields, loads, strict=True)])
            for loads in (self._inertia, self._dampers)
        )
        self._applied = [topology.applied.unit_loads(i) for i in range(len(self._fields))]

    def at(self, state: RigidState) -> Instant:
        """Conditions, loads and multipliers of a rigid state, of one time or of several."""
        topology = self.topology
        frames = topology.frames(state.frames)
        values, gradient = topology.evaluate(frames, state.t)
        x = values[:2]
        x[..., : len(topology.rows)] = 0.0  # closed to round-off
        omega, epsilon = state.twist[..., 3:], state.rate[..., 3:]
        acceleration = state.rate[..., :3]
        weightless = acceleration - self.gravity @ state.pose.R
        loading = unit_coefficients(omega, epsilon, weightless)
        forces = topology.applied.forces(state)
        steady = topology.compliance.forces(state.t, *x)
        wrench, jets = gradient[0], Taylor(topology.spread(gradient))
        multipliers = self._multipliers(state, loading, forces, steady, wrench)
        total = topology.compliance.total(multipliers, steady, wrench)
        moving = unit_coefficients(omega, epsilon, acceleration)
        return Instant(state, frames, x, wrench, jets, moving, loading, forces, total, steady)

    def _multipliers(
        self, state: RigidState, loading: Array, forces: Array, steady: Array, wrench: Array
    ) -> Array:
        """λ (..., m) of all conditions: J is square and regular, so Jᵀλ = Q has one solution."""
        resultants = (self._by_motion @ loading[..., None])[..., 0]
        resultants += (self._by_twist @ state.twist[..., None])[..., 0]
        if forces.shape[-2]:
            for i, (fields, units) in enumerate(zip(self._fields, self._applied, strict=True)):
                nodal = self.topology.applied.on_body(forces, i) @ units.T
                resultants[..., i, :] += nodal @ fields
        count = len(self.topology.rows)
        if wrench.shape[-2] > count:
            pulled = self.topology.on_bodies(wrench[..., count:, :], count)
            resultants -= (steady[..., count:, None, None] * pulled).sum(axis=-3)[..., :-1, :]
        wide = resultants.reshape(*resultants.shape[:-2], -1)
        return state.jacobian.solve_transposed(wide[..., self.closure.active])

    def with_steady(self, now: Instant, steady: Array) -> Instant:
        """The same with other forces (..., rows) at zero elastic deflection."""
        found = self._multipliers(now.state, now.loading, now.forces, steady, now.wrench)
        total = self.topology.compliance.total(found, steady, now.wrench)
        return replace(now, steady=steady, multipliers=total)

    def load(self, now: Instant, held: Mask) -> Array:
        """Inertia, weight, dampers against the surroundings, applied loads, drivers that do not
        hold, and steady forces of elastic joints, over all DOFs, (..., DOFs).

        The force that a spring transmits is left out: the spring deflects until it has that force.
        """
        loads = [
            now.loading[..., i, :] @ units.T + now.state.twist[..., i, :] @ dampers.T
            for i, (units, dampers) in enumerate(zip(self._inertia, self._dampers, strict=True))
        ]
        if now.forces.shape[-2]:
            on_body = self.topology.applied.on_body
            loads = [x + on_body(now.forces, i) @ self._applied[i].T for i, x in enumerate(loads)]
        load = np.concatenate(loads, axis=-1)
        acting = np.where(self.topology.compliance.carried, now.steady, now.multipliers)
        acting[..., : len(held)] = np.where(held, 0.0, acting[..., : len(held)])
        load[..., self.topology.touched] -= (acting[..., None, :] @ now.gradient.value)[..., 0, :]
        return load

    def released(self, now: Instant, rows: Mask) -> Array:
        """Velocity fields (..., all DOFs, r) per unit rate of each chosen condition (m,)."""
        free = np.flatnonzero(rows)
        leading = now.multipliers.shape[:-1]
        if not len(free):
            return np.zeros((*leading, int(self.topology.offsets[-1]), 0))
        unit = np.zeros((len(rows), len(free)))
        unit[free, np.arange(len(free))] = 1.0
        twists = np.zeros((*leading, 6 * len(self._fields), len(free)))
        jacobian = now.state.jacobian
        units = np.broadcast_to(unit, (*leading, *unit.shape))
        twists[..., self.closure.active, :] = jacobian.solve_columns(units)
        return np.concatenate(
            [fields @ twists[..., 6 * i : 6 * i + 6, :] for i, fields in enumerate(self._fields)],
            axis=-2,
        )
