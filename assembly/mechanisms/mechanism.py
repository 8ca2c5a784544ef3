"""Mechanisms: bodies tied by joints and moved by drivers, frozen at any time.

The loop closure gives the rigid motion, inverse dynamics the joint reactions, inertia loads and
reactions the prestress of every body, and δ = T(t) q ties the elastic degrees of freedom
(docs/theory.md, "Mechanisms").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from assembly.arguments import as_list, as_number, as_numbers, check_kind
from assembly.bodies.body import Body, Prestress, check_prestress
from assembly.bodies.made_from import in_words
from assembly.elements.taylor import Taylor
from assembly.errors import InputError, MechanismError
from assembly.kinematics import as_vector
from assembly.linalg.factorization import Factorization
from assembly.linalg.symmetric import SMALL
from assembly.magnitudes import ENTRIES
from assembly.mechanisms.applied_loads import Load
from assembly.mechanisms.closure import Closure
from assembly.mechanisms.drivers import Driver
from assembly.mechanisms.elastic_mechanism import ElasticMechanism
from assembly.mechanisms.elastic_reduction import ElasticReduction
from assembly.mechanisms.first_order import FREE, FirstOrderDeflections
from assembly.mechanisms.joint_assembly import K
from assembly.mechanisms.joints import Bushing, Joint
from assembly.mechanisms.reactions import Instant, InverseDynamics, deflections_by_name
from assembly.mechanisms.topology import Topology
from assembly.system.frozen import FrozenSeries, FrozenSystem
from assembly.system.supports import unresisted
from assembly.types import Array

LARGE_BODY = SMALL  # degrees of freedom of a body from which a reduced basis of it pays


class Mechanism(ElasticMechanism):
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
    bushings : sequence of Bushing
        Springs and dampers in all directions between points of two bodies.
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
        bushings: Sequence[Bushing] = (),
        initial: Mapping[str, ArrayLike] | None = None,
        coordinates: Mapping[str, str] | None = None,
        gravity: ArrayLike = (0.0, 0.0, 0.0),
        period: float | None = None,
        name: str = "mechanism",
    ) -> None:
        for given, what, entry in (
            (bodies, "bodies", '{"crank": crank}'),
            (initial or {}, "initial", '{"rod": (0.15, 0, 0)}'),
            (coordinates or {}, "coordinates", '{"B": "rod"}'),
        ):
            check_kind(given, Mapping, what, f"a mapping such as {entry}", MechanismError)
        topology = Topology.of(
            dict(bodies),
            tuple(as_list(joints, Joint, "joints", "assembly.revolute(…)", MechanismError)),
            tuple(as_list(drivers, Driver, "drivers", "assembly.driver(…)", MechanismError)),
            tuple(as_list(loads, Load, "loads", "assembly.Load(…)", MechanismError)),
            tuple(as_list(bushings, Bushing, "bushings", "assembly.bushing(…)", MechanismError)),
        )
        self.name, self._preferred, self._reductions = name, dict(coordinates or {}), {}
        topology.check_coordinates(self._preferred)
        self.topology, self.bodies = topology, topology.bodies
        self.gravity = as_vector(gravity, "gravity")
        start = topology.initial_pose(dict(initial or {}))
        period = topology.period if period is None else _positive(period)
        self.closure = Closure(topology, start, period, *(_SWEPT.get() or ()))
        self.dynamics = InverseDynamics(topology, self.closure, self.gravity)

    @property
    def matrix_period(self) -> float | None:
        """The time (s) after which the frozen systems repeat, or None.

        It is `period` unless a force, a stiffness or a damping is a function of time.
        """
        varies = any(callable(load.force) for load in self.topology.applied.loads)
        return None if varies or self.topology.compliance.varies else self.period

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
        prestress : {"linear", "first-order", "nonlinear", None}
            "linear": K_G of the stress on the undeformed bodies. "nonlinear": about the equilibrium
            at finite deflections (`trim`), from which the degrees of freedom count. "first-order":
            the derivative of that by the loads; for deflections far below the thickness of the
            bodies. None: no K_G.
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
        later = self.has_large_bodies or _SWEPT.get() is not None
        if later and prestress not in ("first-order", "nonlinear"):
            return MechanismSystem(
                self, as_number(t, "t", MechanismError), transport, prestress, driven
            )
        return self.freeze_many([t], transport, prestress, driven)[0]

    @property
    def has_large_bodies(self) -> bool:
        """Whether a body has so many degrees of freedom that a reduced basis of it pays."""
        return any(self.is_large(name) for name in self.bodies)

    def is_large(self, body: str) -> bool:
        """Whether a body has so many degrees of freedom."""
        return self.bodies[body].size >= LARGE_BODY

    def freeze_many(
        self,
        times: ArrayLike,
        transport: bool = True,
        prestress: Prestress = "linear",
        driven: bool | None = None,
    ) -> FrozenSeries:
        """The frozen systems at several times, in one batch of array operations.

        Parameters
        ----------
        times : array_like, shape (P,)
            s.
        transport, prestress, driven
            As in `freeze`.

        Returns
        -------
        FrozenSeries
            ``freeze_many(times)[i]`` is ``freeze(times[i])``.

        Raises
        ------
        InputError
            For another value of `prestress`.
        SingularPositionError
            When the mechanism cannot be assembled, or loses rank, at one of the times.
        """
        check_prestress(prestress)
        at = as_numbers(times, "times", MechanismError)
        if at.ndim != 1 or not len(at):
            raise InputError(f"times: expected a list of times, got shape {at.shape}")
        if prestress == "nonlinear":
            return self._freeze_trimmed(at, transport, driven)
        elastic, stressed = self.elastic(driven), prestress is not None
        size = elastic.numbers_an_instant(stressed, prestress == "first-order")
        batches = np.array_split(at, min(len(at), -(-len(at) * size // ENTRIES)))
        each = (self.instants(part) for part in batches)
        series = [self._freeze_batch(now, transport, prestress, elastic) for now in each]
        return FrozenSeries.joined(series)

    def causes(self, times: Array) -> list[Array]:
        """What the matrices at times (P,), s, are functions of, and smooth ones, (P, ...) each:
        rotations, velocities, accelerations, loads, forces in joints, their directions, and
        stiffnesses and dampings of drives and bushings."""
        now = self.instants(times)
        state, springs = now.state, self.topology.compliance.over_time(times)
        motion = (state.pose.R, state.twist, state.rate, now.loading)
        return [*motion, now.forces, now.multipliers, now.wrench, *springs]

    def _freeze_batch(
        self, now: Instant, transport: bool, prestress: Prestress, elastic: ElasticReduction
    ) -> FrozenSeries:
        times, stressed = now.state.t, prestress is not None
        deflected = prestress == "first-order"
        pattern = elastic.pattern(stressed, deflected)[1]
        T = elastic.transform(now)
        T = T if transport else Taylor.constant(T.value)
        found = elastic.parts(now, T, transport, stressed, deflected)

        def without_stiffness(motions: Array) -> tuple[Array, ...]:
            if not motions.shape[-1]:
                return tuple(motions[:, elastic.masters])
            resists = [self._frame_stiffness] * len(times)
            if K in found.joints:
                springs = [self.topology.over_all(S) for S in found.joints[K]]
                resists = [(*self._frame_stiffness, S) for S in springs]
            pairs = zip(motions, resists, strict=True)
            return tuple(unresisted(fields, *springs)[elastic.masters] for fields, springs in pairs)

        # Drivers that neither hold nor vibrate.
        free = ~elastic.held & ~self.closure.rows.gives
        rigid = without_stiffness(self.dynamics.released(now, free))
        parts = found.parts
        Q = pattern.reduce_vector(self.dynamics.load(now, elastic.held), T.value)
        if deflected:
            # Elastic drives and bushings of no stiffness too: K is singular there, not its factor.
            released = without_stiffness(self.dynamics.released(now, ~elastic.held))
            if any(fields.shape[1] for fields in released):
                raise MechanismError(FREE)
            shape = FirstOrderDeflections(self.dynamics, elastic, now, T.value, found, Q)
            parts, Q = shape.parts(T, transport), 0.0 * Q
        return FrozenSeries(times, pattern.sparsity, parts, Q, rigid, elastic.dofs, elastic.frame)

    def deflections(self, t: float) -> dict[str, Array]:
        """Deflections of elastic drives and bushings in equilibrium at time t.

        Parameters
        ----------
        t : float
            s.

        Returns
        -------
        dict of str to ndarray
            By the name of the joint, as in `driving`, the deflection (1,) from the law, rad or m;
            by the name of the bushing its deflection (6,), in the plane (3,).

        Raises
        ------
        MechanismError
            For a mechanism that is free to move.

        Notes
        -----
        The equilibrium is that of the frozen system, K_total q = Q: with the forces of the
        undeflected motion, to first order, the velocity q̇ left out.
        """
        now = self.instants(np.array([t]))
        (q,) = self._static(now, None, "deflections")
        elastic = self.elastic(None)
        full = elastic.pattern(True)[1].expand(q, elastic.transform(now).value[0])
        moved = np.asarray(now.gradient.value[0] @ full[self.topology.touched])
        return deflections_by_name(self.topology, now.x[0][0] + moved)

    def _static(self, now: Instant, driven: bool | None, what: str) -> Array:
        out = []
        series = self._freeze_batch(now, True, "linear", self.elastic(driven))
        for system in (series[k] for k in range(len(now.state.t))):
            if system.rigid.shape[1]:
                raise MechanismError(
                    f"{what}: the mechanism is free to move, so that no equilibrium is determined; "
                    "hold its drivers, or give them a stiffness"
                )
            with Factorization(system.stiffness, "general") as factor:
                out.append(factor.solve(system.Q))
        return np.array(out)

    @property
    def _frame_stiffness(self) -> tuple[sp.csr_matrix, ...]:
        """The bodies' springs to their frames, each over the DOFs of all bodies."""
        size, out = int(self.topology.offsets[-1]), []
        for body, first in zip(self.bodies.values(), self.topology.offsets[:-1], strict=True):
            for A in (A.tocoo() for A in body.frame_stiffness):
                entries = (A.data, (A.row + first, A.col + first))
                out.append(sp.csr_matrix(entries, shape=(size, size)))
        return tuple(out)

    @property
    def made_from(self) -> str:
        """The parts of the mechanism with all their values, in one line."""
        topology = self.topology
        parts = dict(bodies=topology.bodies, joints=topology.joints, drivers=topology.drivers)
        loads, gravity = topology.applied.loads, self.gravity
        parts |= dict(bushings=topology.bushings, loads=loads, gravity=gravity)
        words = [f"{key}={in_words(value)}" for key, value in parts.items()]
        return f"Mechanism({', '.join(words)})"

    def __str__(self) -> str:
        topology, count = self.topology, int(self.topology.offsets[-1])
        lines = [f"mechanism {self.name}: {len(topology.bodies)} bodies, {count} DOFs"]
        lines += [f"  {body}: {b.size} DOFs" for body, b in topology.bodies.items()]
        lines += [f"  joint {j.name}: {j.kind}, {' – '.join(j.bodies)}" for j in topology.joints]
        for drive in topology.drivers:
            kind = "elastic" if drive.gives else "held" if drive.held else "not held"
            lines.append(f"  driver of {drive.joint}: {kind}")
        lines += [f"  bushing {b.name}: {' – '.join(b.bodies)}" for b in topology.bushings]
        return "\n".join(lines)


_SWEPT: ContextVar[tuple[Closure | None] | None] = ContextVar("swept", default=None)


@contextmanager
def swept(guide: Closure | None) -> Iterator[None]:
    """Within it every mechanism is frozen to a `MechanismSystem`, so that whoever calls a function
    that freezes many can form their matrices together. guide: of those that are made within it."""
    token = _SWEPT.set((guide,))
    try:
        yield
    finally:
        _SWEPT.reset(token)


class MechanismSystem(FrozenSystem):
    """The frozen system of a mechanism, its matrices formed when they are used.

    What sweeps the motion reads `mechanism` and `t` instead, and forms none.

    Raises
    ------
    SingularPositionError
        When the motion ends before t: the mechanism cannot be assembled, or loses rank.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        t: float,
        transport: bool,
        prestress: Prestress,
        driven: bool | None,
    ) -> None:
        check_prestress(prestress)
        mechanism.closure.reach(t)
        self.mechanism, self.t, self.driven = mechanism, t, driven
        self.transport, self.prestress = transport, prestress
        self.parameters = dict(t=t)

    @property
    def options(self) -> dict[str, Any]:
        """How the mechanism is frozen: the arguments of its `freeze`."""
        return dict(transport=self.transport, prestress=self.prestress, driven=self.driven)

    @property
    def elastic(self) -> ElasticReduction:
        """Which degrees of freedom are independent."""
        return self.mechanism.elastic(self.driven)

    def at(self, times: ArrayLike) -> FrozenSeries:
        """The mechanism frozen in the same way at several times, s."""
        return self.mechanism.freeze_many(times, **self.options)

    def __getattr__(self, name: str) -> Any:
        if name in ("n", "dofs", "frame"):
            elastic = self.elastic
            self.n, self.dofs, self.frame = len(elastic.masters), elastic.dofs, elastic.frame
            return getattr(self, name)
        if name not in ("parts", "Q", "rigid"):
            raise AttributeError(name)
        whole = self.at([self.t])[0]
        self.parts, self.Q, self.rigid = whole.parts, whole.Q, whole.rigid
        return getattr(self, name)


def _positive(period: float) -> float:
    if not (np.isfinite(period) and period > 0.0):
        raise MechanismError(f"period: must be a positive time in s, got {period!r}")
    return float(period)
