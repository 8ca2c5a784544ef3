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


class Mechanism:
    """Elastic and rigid bodies, joints and drivers.

    Parameters
    ----------
    bodies : mapping of str to Body
        Bodies by name, without supports: joints hold them. All are planar (ux, uy, rz) or all in
        space. "ground" is always present.
    joints : sequence of Joint
        Joints.
    drivers : sequence of Driver
        Motors.
    loads : sequence of Load
        Applied forces.
    initial : mapping of str to array_like, optional
        Approximate position of body frames at t = 0, which selects the branch of the closure:
        (x, y, angle) in the plane, (x, y, z, rotation vector) in space; m and rad.
    coordinates : mapping of str to str, optional
        For a joint, the body whose axes its displacements are in. Default: the first body named,
        where that is well conditioned along the motion.
    gravity : array_like, shape (3,)
        m/s², fixed axes.
    period : float, optional
        Period of the motion, s, where the drivers do not determine it.
    name : str
        Name of the mechanism.

    Raises
    ------
    MechanismError
        For parts that do not fit together.
    RedundantConstraintError
        When some joints repeat the conditions of others.
    SingularPositionError
        When the mechanism cannot be assembled.

    Notes
    -----
    δ = T(t) q ties the elastic displacements at the joints: M_r = TᵀMT,
    C_r = Tᵀ[(C + D)T + 2MṪ], K_r = Tᵀ[K T + (C + D)Ṫ + M T̈] (the manual, "Theory").

    Examples
    --------
    A slider-crank: crank 0.1 m, rod 0.3 m, 50 rad/s.

    >>> import assembly
    >>> section, steel = assembly.rectangle(0.02, 0.01), assembly.steel
    >>> crank, rod = (
    ...     assembly.beam(length, section, steel, 4, planar=True) for length in (0.1, 0.3)
    ... )
    >>> mechanism = assembly.Mechanism(
    ...     {"crank": crank, "rod": rod, "piston": assembly.rigid_body(0.2, 1e-4, planar=True)},
    ...     [
    ...         assembly.revolute("ground", (0, 0), "crank", "start", name="A"),
    ...         assembly.revolute("crank", "end", "rod", "start", name="B"),
    ...         assembly.revolute("rod", "end", "piston", "origin", name="C"),
    ...         assembly.prismatic("ground", (0, 0), "piston", "origin", axis=(1, 0), name="D"),
    ...     ],
    ...     [assembly.driver("A", 50.0)],
    ...     initial={"rod": (0.1, 0, 0), "piston": (0.4, 0, 0)},
    ... )
    >>> origin, rotation = mechanism.position(0.0)["piston"]
    >>> print(origin.round(6))
    [0.4 0.  0. ]
    >>> mechanism.freeze(t=0.01).n
    24
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
        self._number(body)
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
        i, frames = self._number(body), self.state(t).frames
        X = as_vector([*np.ravel(point), 0.0][:3], "point")
        r, v, a = frames.origin.data[:, i] + frames.rotation.data[:, i] @ X
        return r, v, a

    def _number(self, body: str) -> int:
        if body not in self.bodies:
            raise MechanismError(f"no body {body!r}; bodies are {', '.join(self.bodies)}")
        return list(self.bodies).index(body)

    def reactions(self, t: float) -> dict[str, Reaction]:
        """Force and moment of every joint on its second body at time t.

        Parameters
        ----------
        t : float
            s.

        Returns
        -------
        dict of str to Reaction
            By the joint's name.

        Raises
        ------
        SingularPositionError
            When the mechanism cannot be assembled, or loses rank, at t.
        """
        now = self.instant(t)
        wrench = -now.multipliers[:, None] * now.wrench
        out: dict[str, Reaction] = {}
        for joint in self.topology.joints:
            rows = [k for k, name in enumerate(self.closure.rows.joints) if name == joint.name]
            second = self.closure.rows.bodies[rows[0], 1]
            R = now.state.frames.rotation.value[second]
            total = wrench[rows, 6:].sum(axis=0)
            # Moments are about the node; `lever` is the offset of the point from it.
            lever = self.topology.lever(joint)
            moment = total[3:] - np.cross(lever, total[:3])
            out[joint.name] = Reaction(joint.name, R @ total[:3], R @ moment)
        return out

    def driving(self, t: float) -> dict[str, float]:
        """Force or torque of every driver along its joint's motion at time t.

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
        values = self.instant(t).multipliers
        rows = np.flatnonzero(self.closure.rows.driven)
        joints = [driver.joint for driver in self.topology.drivers]
        names = [
            driver.joint if joints.count(driver.joint) == 1 else f"{driver.joint} {driver.of}"
            for driver in self.topology.drivers
        ]
        return {name: -float(values[k]) for name, k in zip(names, rows, strict=True)}

    # Elastic DOFs.

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
        """The frozen system at one time.

        Parameters
        ----------
        t : float
            s.
        transport : bool
            True: with Ṫ and T̈, consistent with time integration. False: without them, equation
            (1.2) of Scutaru and Vlase (2012), for which C is exactly skew.
        prestress : {"linear", None}
            With or without K_G.
        driven : bool, optional
            Whether drivers constrain the elastic degrees of freedom; None: as each driver says.

        Returns
        -------
        FrozenSystem
            The matrices over the independent degrees of freedom.

        Raises
        ------
        InputError
            For another value of `prestress`.
        SingularPositionError
            When the mechanism cannot be assembled, or loses rank, at t.
        """
        if prestress not in ("linear", None):
            raise InputError(
                f'prestress: a mechanism takes "linear" or None, got {prestress!r}; the deformed '
                "equilibrium exists for one body in a prescribed motion only (assembly.moving)"
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
            # The part of a follower's stiffness without a potential is circulatory.
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
        held = self._held(driven)
        _, pattern = self._pattern(held, True)
        if len(q) != len(pattern.masters):
            raise InputError(f"q: expected {len(pattern.masters)} DOFs, got {len(q)}")
        full = pattern.expand(np.asarray(q), self._T(self.instant(t), held).value)
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

    @cached_property
    def dofs(self) -> DofMap:
        """The degrees of freedom and nodes of all bodies, numbered in sequence; body axes."""
        maps = [body.dofs for body in self.bodies.values()]
        first = np.cumsum([0, *(len(m.coordinates) for m in maps)])
        return DofMap(
            np.concatenate([m.coordinates for m in maps]),
            np.concatenate([m.node + k for m, k in zip(maps, first[:-1], strict=True)]),
            np.concatenate([m.component for m in maps]),
        )

    # Bookkeeping.

    def _rigid(self, now: Instant, held: Mask) -> Array:
        """Velocity fields (all DOFs, m) of the free mobilities that no spring resists."""
        return unresisted(self._dynamics.mobility(now, held), *self._frame_stiffness)

    @cached_property
    def _frame_stiffness(self) -> tuple[sp.csr_matrix, ...]:
        """The bodies' springs to their frames, each over the DOFs of all bodies."""
        size, out = int(self.topology.offsets[-1]), []
        for body, first in zip(self.bodies.values(), self.topology.offsets[:-1], strict=True):
            for K in (K.tocoo() for K in body.frame_stiffness):
                entries = (K.data, (K.row + first, K.col + first))
                out.append(sp.csr_matrix(entries, shape=(size, size)))
        return tuple(out)

    def _dofs_of(self, pattern: ReducedPattern) -> DofMap:
        """Which DOF is which of those that remain; one object for all instants."""
        found = self._master_dofs.get(id(pattern))
        if found is None:
            found = self._master_dofs[id(pattern)] = self.dofs.select(pattern.masters)
        return found

    def _held(self, driven: bool | None) -> Mask:
        """Which conditions tie elastic DOFs: all joints, and the drivers that hold."""
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
        """In whose axes the DOFs at each joint are, for the record."""
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
        lines = [f"mechanism {self.name}: {len(self.bodies)} bodies, {len(self.dofs)} DOFs"]
        lines += [f"  {n}: {b.size} DOFs" for n, b in self.bodies.items()]
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
