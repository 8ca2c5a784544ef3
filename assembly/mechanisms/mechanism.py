"""Mechanisms: bodies tied by joints and moved by drivers, frozen at any time.

The loop closure gives the rigid motion, inverse dynamics the joint reactions, inertia loads and
reactions the prestress of every body, and δ = T(t) q ties the elastic degrees of freedom
(docs/theory.md, "Mechanisms").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from assembly.bodies.body import Body, Prestress
from assembly.dofs import DofMap
from assembly.errors import InputError, MechanismError
from assembly.kinematics import Kinematics, as_vector
from assembly.mechanisms.applied_loads import Load
from assembly.mechanisms.closure import Closure
from assembly.mechanisms.jets import Jet
from assembly.mechanisms.joint_assembly import BodyStack, ReducedPattern
from assembly.mechanisms.joints import Driver, Joint
from assembly.mechanisms.reactions import Instant, InverseDynamics
from assembly.mechanisms.rigid_state import RigidState
from assembly.mechanisms.topology import Topology
from assembly.mechanisms.transformation import Partition, choose_partition
from assembly.motion.motion import FunctionMotion
from assembly.system.frozen import FrozenSystem
from assembly.system.supports import unresisted
from assembly.types import Array, Inexact, Mask

SAMPLES = 32  # instants at which the choice of slaves is tried
PLANAR_UNITS, ALL_UNITS = (2, 8, 9, 10), tuple(range(12))


@dataclass(frozen=True)
class Reaction:
    """What a joint exerts on its second body at its point, and the opposite on its first.

    force (3,), N, and moment (3,), N·m, in fixed axes; a driver's share included.
    """

    joint: str
    force: Array
    moment: Array


class Mechanism:
    """Elastic and rigid bodies, joints and drivers.

    bodies: by name; all planar (unknowns ux, uy, rz) or all in space, without supports: joints hold
    them; "ground" is always there. initial: position of a body's frame to assemble from at t = 0,
    (x, y, angle) in the plane, (x, y, z, rotation vector) in space; it picks the branch.
    coordinates: for a joint, the body whose axes its displacements are in (default: the first
    named, where that is well conditioned along the motion). loads: applied forces. gravity: m/s²,
    fixed axes. period: of the motion, s, where drivers do not tell.

    Raises MechanismError, RedundantConstraintError, SingularPositionError.
    """

    def __init__(
        self,
        bodies: Mapping[str, Body],
        joints: Sequence[Joint],
        drivers: Sequence[Driver],
        *,
        loads: Sequence[Load] = (),
        initial: Mapping[str, ArrayLike] | None = None,
        coordinates: Mapping[str, str] | None = None,
        gravity: ArrayLike = (0.0, 0.0, 0.0),
        period: float | None = None,
        name: str = "mechanism",
    ) -> None:
        self.topology = Topology.of(dict(bodies), tuple(joints), tuple(drivers), tuple(loads))
        self.bodies, self.name = self.topology.bodies, name
        self.gravity = as_vector(gravity, "gravity")
        self._preferred = dict(coordinates or {})
        self.topology.check_coordinates(self._preferred)
        components = (0, 1, 5) if self.topology.planar else (0, 1, 2, 3, 4, 5)
        self.closure = Closure(
            self.topology.rows,
            len(self.bodies),
            components,
            self.topology.initial_pose(dict(initial or {})),
            self.topology.length,
            self.topology.period if period is None else _positive(period),
        )
        self._dynamics = InverseDynamics(self.topology, self.closure, self.gravity)
        self._partition_of: dict[tuple[bool, ...], Partition] = {}
        self._frames: dict[tuple[bool, ...], str] = {}
        self._master_dofs: dict[int, DofMap] = {}
        self._reduced: dict[
            tuple[tuple[bool, ...], bool], tuple[list[BodyStack], ReducedPattern]
        ] = {}

    # Rigid motion.

    @property
    def period(self) -> float | None:
        """The time (s) after which the rigid motion repeats, or None."""
        return self.closure.period

    def state(self, t: float) -> RigidState:
        """Positions, velocities and accelerations of all bodies at t (s)."""
        return self.closure.state(t)

    def position(self, t: float) -> dict[str, tuple[Array, Array]]:
        """Origin (3,), m, and rotation (3, 3), body to fixed axes, of every body."""
        pose = self.state(t).pose
        return {name: (pose.r[i], pose.R[i]) for i, name in enumerate(self.bodies)}

    def kinematics(self, t: float) -> dict[str, Kinematics]:
        """ω, ε, acceleration and velocity of the origin of every body, in its own axes."""
        state = self.state(t)
        return {name: state.kinematics(i) for i, name in enumerate(self.bodies)}

    def motion(self, body: str) -> FunctionMotion:
        """The prescribed motion of one body's frame, for `assembly.moving` of a body by itself.

        Its own inertia stresses it then, without the joint reactions that `freeze` has.
        """
        self._number(body)
        return FunctionMotion(lambda t: self.kinematics(t)[body], self.period)

    def place(self, t: float, body: str, point: ArrayLike) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration (3,) in fixed axes of a body's point (body axes)."""
        i, frames = self._number(body), self.state(t).frames
        X = as_vector([*np.ravel(point), 0.0][:3], "point")
        r, v, a = frames.origin.data[:, i] + frames.rotation.data[:, i] @ X
        return r, v, a

    def _number(self, body: str) -> int:
        if body not in self.bodies:
            raise MechanismError(f"no body {body!r}; bodies are {', '.join(self.bodies)}")
        return list(self.bodies).index(body)

    def reactions(self, t: float) -> dict[str, Reaction]:
        """What every joint exerts on its second body at time t."""
        now = self.instant(t)
        wrench = -now.multipliers[:, None] * now.wrench
        out: dict[str, Reaction] = {}
        for joint in self.topology.joints:
            rows = [k for k, name in enumerate(self.closure.rows.joints) if name == joint.name]
            second = self.closure.rows.bodies[rows[0], 1]
            R = now.state.frames.rotation.value[second]
            total = wrench[rows, 6:].sum(axis=0)
            # Moments are about the node; the point is at the lever from it.
            lever = self.topology.lever(joint)
            moment = total[3:] - np.cross(lever, total[:3])
            out[joint.name] = Reaction(joint.name, R @ total[:3], R @ moment)
        return out

    def driving(self, t: float) -> dict[str, float]:
        """The force (N) or torque (N·m) every driver exerts along its joint's motion, by joint.

        Of a cylindrical joint that both turns and slides driven: "joint angle", "joint
        displacement".
        """
        values = self.instant(t).multipliers
        rows = np.flatnonzero(self.closure.rows.driven)
        joints = [driver.joint for driver in self.topology.drivers]
        names = [
            driver.joint if joints.count(driver.joint) == 1 else f"{driver.joint} {driver.of}"
            for driver in self.topology.drivers
        ]
        return {name: -float(values[k]) for name, k in zip(names, rows, strict=True)}

    # Elastic unknowns.

    def transformation(self, t: float, driven: bool | None = None) -> tuple[Any, Any, Any]:
        """T, Ṫ, T̈ as sparse matrices (all unknowns, masters)."""
        held = self._held(driven)
        _, pattern = self._pattern(held, True)
        T = self._T(self.instant(t), held)
        first, rate, second = (pattern.matrix(T.data[k], rate=k > 0) for k in range(3))
        return first, rate, second

    def freeze(
        self,
        t: float,
        transport: bool = True,
        prestress: Prestress = "linear",
        driven: bool | None = None,
    ) -> FrozenSystem:
        """The frozen system at time t (s).

        transport: with Ṫ and T̈ (consistent), or without, the literal equation (1.2) of the 2012
        paper, for which C is exactly skew. prestress: "linear" or None (no K_G). driven: whether
        drivers hold the elastic unknowns too; None keeps what each driver says. Raises
        SingularPositionError.
        """
        if prestress not in ("linear", None):
            raise InputError(
                f'prestress: a mechanism takes "linear" or None, got {prestress!r}; the stretched '
                "shape is found for one body in a prescribed motion only (assembly.moving)"
            )
        held = self._held(driven)
        now = self.instant(t)
        stacks, pattern = self._pattern(held, prestress is not None)
        T = self._T(now, held) if transport else Jet.constant(self._T(now, held).value)
        topology, lam = self.topology, now.multipliers
        reactions = -lam @ topology.on_units(now.wrench)
        values = [
            stack.parts(
                now.state.twist[i],
                now.coefficients[i],
                now.loading[i],
                np.concatenate([reactions[own], topology.applied.on_body(now.forces, i)]),
            )
            for i, (stack, own) in enumerate(zip(stacks, topology.own, strict=True))
        ]
        turning = circulatory = np.zeros((len(topology.touched), len(topology.touched)))
        if prestress is not None:
            hessian = self.closure.rows.node_hessian(now.evaluated)
            turning = topology.gather_hessian(lam, now.wrench, hessian)
            on_loads = topology.applied.stiffness(now.forces, topology.touched)
            turning += 0.5 * (on_loads + on_loads.T)
            # What a follower's stiffness has no potential for belongs with the circulatory terms.
            circulatory = 0.5 * (on_loads - on_loads.T)
        return FrozenSystem(
            **pattern.reduce(np.concatenate(values, axis=1), T, turning, circulatory),
            Q=pattern.reduce_vector(self._dynamics.load(now, held), T.value),
            rigid=self._rigid(now, held)[pattern.masters],
            dofs=self._dofs_of(pattern),
            frame=self._frame_of(tuple(held)),
            parameters=dict(t=float(t)),
        )

    def recover(self, t: float, q: Inexact, driven: bool | None = None) -> dict[str, Inexact]:
        """All unknowns of every body, in its own axes, from those of the frozen system (n, ...)."""
        held = self._held(driven)
        _, pattern = self._pattern(held, True)
        if len(q) != len(pattern.masters):
            raise InputError(f"q: expected {len(pattern.masters)} unknowns, got {len(q)}")
        full = pattern.expand(np.asarray(q), self._T(self.instant(t), held).value)
        parts = np.split(full, self.topology.offsets[1:-1])
        return dict(zip(self.bodies, parts, strict=True))

    def deployed(
        self, t: float, q: Inexact | None = None, driven: bool | None = None
    ) -> dict[str, tuple[Array, Inexact]]:
        """Nodes (N, 3) in fixed axes and their displacements (N, 3) in fixed axes, by body."""
        pose = self.state(t).pose
        shapes = {} if q is None else self.recover(t, q, driven)
        out = {}
        for i, (name, body) in enumerate(self.bodies.items()):
            nodes = pose.r[i] + body.dofs.coordinates @ pose.R[i].T
            moved = np.zeros_like(nodes) if q is None else body.dofs.displacement(shapes[name])
            out[name] = (nodes, moved @ pose.R[i].T)
        return out

    @cached_property
    def dofs(self) -> DofMap:
        """The unknowns of all bodies one after the other; nodes numbered through, in body axes."""
        maps = [body.dofs for body in self.bodies.values()]
        first = np.cumsum([0, *(len(m.coordinates) for m in maps)])
        return DofMap(
            np.concatenate([m.coordinates for m in maps]),
            np.concatenate([m.node + k for m, k in zip(maps, first[:-1], strict=True)]),
            np.concatenate([m.component for m in maps]),
        )

    # Bookkeeping.

    def _rigid(self, now: Instant, held: Mask) -> Array:
        """Velocity fields (all unknowns, m) of the free mobilities that no spring resists."""
        return unresisted(self._dynamics.mobility(now, held), *self._frame_stiffness)

    @cached_property
    def _frame_stiffness(self) -> tuple[sp.csr_matrix, ...]:
        """The bodies' springs to their frames, each over the unknowns of all bodies."""
        size, out = int(self.topology.offsets[-1]), []
        for body, first in zip(self.bodies.values(), self.topology.offsets[:-1], strict=True):
            for K in (K.tocoo() for K in body.frame_stiffness):
                entries = (K.data, (K.row + first, K.col + first))
                out.append(sp.csr_matrix(entries, shape=(size, size)))
        return tuple(out)

    def _dofs_of(self, pattern: ReducedPattern) -> DofMap:
        """Which unknown is which of those that remain; one object for all instants."""
        found = self._master_dofs.get(id(pattern))
        if found is None:
            found = self._master_dofs[id(pattern)] = self.dofs.select(pattern.masters)
        return found

    def _held(self, driven: bool | None) -> Mask:
        """Which conditions tie elastic unknowns: all joints, and the drivers that hold."""
        rows = self.closure.rows
        if driven is None:
            return rows.held
        return np.where(rows.driven, bool(driven), True)

    def instant(self, t: float) -> Instant:
        """Rigid state, conditions and multipliers at time t (s)."""
        return self._dynamics.instant(t)

    def _T(self, now: Instant, held: Mask) -> Jet:
        return self._partitions(tuple(held)).transform(now.gradient[held], now.state.t)

    def _frame_of(self, held: tuple[bool, ...]) -> str:
        """In whose axes the unknowns at each joint are, for the record."""
        if held not in self._frames:
            keepers = self.topology.keepers(self._partitions(held).slaves)
            shown = ", ".join(f"{joint} in {body}" for joint, body in keepers.items())
            self._frames[held] = f"bodies' (joints: {shown})"
        return self._frames[held]

    def _partitions(self, held: tuple[bool, ...]) -> Partition:
        found = self._partition_of
        if held not in found:
            mask = np.array(held, dtype=bool)
            times = self.closure.sample_times(SAMPLES)
            gradients = [self.instant(t).gradient.value for t in times]
            read = np.max(np.abs(gradients), axis=0) > 1e-9 * self.topology.length
            weight = self.topology.preference(self._preferred, read)
            chosen = choose_partition([J[mask] for J in gradients], weight)
            kept = self.topology.keepers(chosen.slaves)
            for joint, body in self._preferred.items():
                if kept[joint] != body:
                    raise MechanismError(
                        f"coordinates: the displacements at joint {joint} cannot be in the axes of "
                        f"{body!r}: they do not determine the others all along the motion"
                    )
            found[held] = chosen
        return found[held]

    def _pattern(self, held: Mask, stressed: bool) -> tuple[list[BodyStack], ReducedPattern]:
        key = (tuple(held), stressed)
        if key not in self._reduced:
            partition = self._partitions(tuple(held))
            offsets, touched = self.topology.offsets, self.topology.touched
            units = PLANAR_UNITS if self.topology.planar else ALL_UNITS
            stacks = [
                BodyStack(
                    body,
                    np.hstack([self.topology.unit_loads(i), self.topology.applied.unit_loads(i)]),
                    stressed,
                    units,
                )
                for i, body in enumerate(self.bodies.values())
            ]
            rows = np.concatenate([s.rows + k for s, k in zip(stacks, offsets[:-1], strict=True)])
            cols = np.concatenate([s.cols + k for s, k in zip(stacks, offsets[:-1], strict=True)])
            self._reduced[key] = (
                stacks,
                ReducedPattern(offsets[-1], rows, cols, touched, partition),
            )
        return self._reduced[key]

    def __str__(self) -> str:
        lines = [f"mechanism {self.name}: {len(self.bodies)} bodies, {len(self.dofs)} unknowns"]
        lines += [f"  {n}: {b.size} unknowns" for n, b in self.bodies.items()]
        lines += [
            f"  joint {j.name}: {j.kind}, {' – '.join(j.bodies)}" for j in self.topology.joints
        ]
        lines += [
            f"  driver of {d.joint}: {'held' if d.held else 'not held'}"
            for d in self.topology.drivers
        ]
        return "\n".join(lines)


def _positive(period: float) -> float:
    if not (np.isfinite(period) and period > 0.0):
        raise MechanismError(f"period: must be a positive time in s, got {period!r}")
    return float(period)
