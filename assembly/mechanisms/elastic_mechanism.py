"""A mechanism in motion: positions, kinematics and reactions of its rigid motion, its independent
degrees of freedom, what vectors over them are, and its equilibrium at finite deflections.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from assembly.bodies.body import Body
from assembly.dofs import DofMap
from assembly.errors import ConvergenceError, InputError
from assembly.kinematics import Kinematics, as_vector
from assembly.magnitudes import ENTRIES
from assembly.mechanisms.closure import Closure
from assembly.mechanisms.deformed_joints import DeformedJoints
from assembly.mechanisms.deformed_motion import DeformedMotion, DeformedState
from assembly.mechanisms.elastic_reduction import ElasticReduction, all_dofs
from assembly.mechanisms.reactions import (
    Instant,
    InverseDynamics,
    Reaction,
    drive_names,
    joint_reactions,
)
from assembly.mechanisms.rigid_state import RigidState
from assembly.mechanisms.topology import Topology
from assembly.mechanisms.trim import Trim, equilibria
from assembly.motion.motion import FunctionMotion
from assembly.system.frozen import PARTS, FrozenSeries
from assembly.types import Array, Index, Inexact, Mask


class ElasticMechanism:
    """Bodies, joints and drivers in their rigid motion, and the DOFs that joints leave.

    topology: what is connected to what. gravity (3,): m/s², fixed axes. _preferred: for a joint,
    the body whose DOFs remain.
    """

    topology: Topology
    bodies: dict[str, Body]
    gravity: Array
    closure: Closure
    dynamics: InverseDynamics
    _preferred: dict[str, str]
    _reductions: dict[tuple[bool, ...], ElasticReduction]

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
        rest = {name: np.zeros(len(body.dofs)) for name, body in self.bodies.items()}
        shapes = rest if q is None else self.recover(t, q, driven)
        return self.topology.deployed(self.state(t).pose, shapes)

    # Equilibrium at finite deflections.

    @abstractmethod
    def _static(self, now: Instant, driven: bool | None, what: str) -> Array:
        """Independent DOFs (P, n) in equilibrium to first order, K q = Q of linear prestress."""

    def trim(self, t: float, *, driven: bool | None = None, start: Trim | None = None) -> Trim:
        """The elastic mechanism in equilibrium at one time, at finite deflections.

        Parameters
        ----------
        t : float
            s.
        driven : bool, optional
            Whether drivers constrain the elastic degrees of freedom; None: as each driver says.
        start : Trim, optional
            The equilibrium at a neighbouring time, to start from. Without it Newton's method starts
            from the deflections of the linear equations.

        Returns
        -------
        Trim
            Displacements, reactions, section forces, and the frozen system about the equilibrium.

        Raises
        ------
        ConvergenceError
            Where no equilibrium is found. The message tells a machine that buckles, at a limit
            point of the path of equilibria over the load, from an iteration that fails; `partial`
            has the displacements (all degrees of freedom) of the last equilibrium on the path.
        InputError
            For a body without a law of large displacements.
        MechanismError
            For a mechanism that is free to move.
        SingularPositionError
            When the mechanism cannot be assembled, or loses rank, at t.

        Notes
        -----
        The independent degrees of freedom rest, q̇ = q̈ = 0: the equilibrium of forces under the
        rigid motion's inertia loads, gravity, applied loads, drives and bushings (docs/theory.md,
        "Mechanisms at finite deflection"). A rigid motion with stiffness against it is found; a
        bifurcation that the path has passed is not an error: the frozen system is unstable there.

        Examples
        --------
        >>> import assembly
        >>> arm = assembly.beam(1.0, assembly.rectangle(0.02, 0.002), assembly.steel, 8)
        >>> machine = assembly.Mechanism(
        ...     {"arm": arm},
        ...     [assembly.revolute("ground", (0, 0, 0), "arm", "start", name="hub")],
        ...     [assembly.driver("hub", 2.0)],
        ...     gravity=(0, 0, -9.81),
        ... )
        >>> trim = machine.trim(0.0)
        >>> droop = trim.displacements["arm"][arm.dofs.index(8, 2)]
        >>> print(f"{droop:.3f}")
        -0.130
        """
        near = None if start is None else self._along_time(start, t, driven)
        return near or self.trims([t], driven=driven)[0]

    def _motion(self, now: Instant, driven: bool | None) -> DeformedMotion:
        return DeformedMotion(self.dynamics, self.elastic(driven), self._deformed_joints, now)

    def _along_loads(self, times: Array, driven: bool | None) -> list[Trim | ConvergenceError]:
        """From no loads, with the deflections of the linear equations first."""
        now, rest = self.instants(times), np.zeros((3, int(self.topology.offsets[-1])))
        paths = [((0.0, 0.0 * q, rest), q) for q in self._static(now, driven, "trim")]
        motion = self._motion(now, driven)
        return equilibria(lambda x, n: motion.at(n).under(x), paths)

    def _along_time(self, start: Trim, t: float, driven: bool | None) -> Trim | None:
        """From the equilibrium at another time: others than along the loads, where these end."""
        if len(start.q) != len(self.elastic(driven).masters) or start.t == t:
            return None

        def at(x: Array, _: Index) -> DeformedMotion:
            return self._motion(self.instants(start.t + x * (t - start.t)), driven)

        (found,) = equilibria(at, [((0.0, start.q, start.state.path), 0.0 * start.q)])
        return found if isinstance(found, Trim) else None

    @cached_property
    def _deformed_joints(self) -> DeformedJoints:
        return DeformedJoints(self.topology)

    def displaced(
        self,
        t: ArrayLike,
        q: ArrayLike,
        velocity: ArrayLike,
        acceleration: ArrayLike,
        *,
        near: DeformedState | None = None,
    ) -> DeformedState:
        """The elastic mechanism with given independent degrees of freedom, in motion.

        Parameters
        ----------
        t : float or array_like, shape (P,)
            s; several times give one state with a first axis of these.
        q, velocity, acceleration : array_like, shape (n,) or (P, n)
            Independent degrees of freedom, m and rad, and their first two rates.
        near : DeformedState, optional
            A neighbouring state, or one at P times, from which the joints are closed.

        Returns
        -------
        DeformedState
            Its `residual` is what is out of balance, N and N·m; `tangents()` are the derivatives
            by acceleration, velocity and q; `system()` is the frozen system about it.

        Raises
        ------
        ConvergenceError
            Where the joints cannot be closed, or a displacement is out of range.
        InputError
            For vectors of another length, or a body without a law of large displacements.
        SingularPositionError
            When the mechanism cannot be assembled, or loses rank, at t.
        """
        elastic, times = self.elastic(None), np.asarray(t, dtype=float)
        n, several = len(elastic.masters), times.shape
        values = [np.asarray(x, dtype=float) for x in (q, velocity, acceleration)]
        if times.ndim > 1 or any(x.shape != (*several, n) for x in values):
            raise InputError(
                f"q, velocity, acceleration: expected {n} numbers each, at each of the times"
            )
        motion = getattr(near, "motion", None)
        known = motion is not None and np.array_equal(motion.state.t, times)
        if motion is None or not known or motion.elastic != elastic or np.any(motion.share != 1.0):
            now = self.instants(times) if several else self.instant(float(times))
            motion = self._motion(now, None)
        if near is None:
            path = np.zeros((3, *several, int(self.topology.offsets[-1])))
            path[..., motion.masters] = values
            return motion.closed(path)
        around = [
            x if x.ndim > axes or not several else np.repeat(x[:, None], len(times), axis=1)
            for x, axes in ((near.path, 2), (near.gradients, 3))
        ]
        return motion.closed(motion.ahead(np.stack(values), *around))

    def trims(self, times: ArrayLike, *, driven: bool | None = None) -> list[Trim]:
        """The equilibria at several times, each that of `trim` where it finds one.

        Where the path from no loads ends, the equilibrium is followed from the times before.

        Parameters
        ----------
        times : array_like, shape (P,)
            s.
        driven : bool, optional
            As for `trim`.

        Returns
        -------
        list of Trim

        Raises
        ------
        ConvergenceError, InputError, MechanismError, SingularPositionError
            As `trim`.
        """
        at, out = np.asarray(times, dtype=float), list[Trim]()
        size = self.elastic(driven).numbers_an_instant(True)
        for part in np.array_split(at, -(-len(at) * size // ENTRIES)) if len(at) else ():
            for t, found in zip(part.tolist(), self._along_loads(part, driven), strict=True):
                if isinstance(found, ConvergenceError):
                    near = self._along_time(out[-1], t, driven) if out else None
                    if near is None:
                        raise found
                    found = near
                out.append(found)
        return out

    def _freeze_trimmed(self, times: Array, transport: bool, driven: bool | None) -> FrozenSeries:
        """The frozen systems about the equilibria at times (P,), on one pattern."""
        if not transport:
            raise InputError(
                'prestress: "nonlinear" has the transport terms; transport=False is for "linear"'
            )
        trims = self.trims(times, driven=driven)
        parts, n = [trim.state.parts() for trim in trims], len(trims[0].q)
        sparsity, elastic = trims[0].state.sparsity, trims[0].state.motion.elastic
        zero = np.zeros(len(sparsity.indices))
        names = [name for name in PARTS if any(name in own for own in parts)]
        values = {name: np.stack([own.get(name, zero) for own in parts]) for name in names}
        Q, rigid = np.zeros((len(trims), n)), tuple(np.zeros((n, 0)) for _ in trims)
        return FrozenSeries(times, sparsity, values, Q, rigid, elastic.dofs, elastic.frame)
