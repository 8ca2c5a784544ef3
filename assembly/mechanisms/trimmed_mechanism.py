"""Mechanisms in elastic equilibrium: trim, and frozen systems about it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike

from assembly.errors import ConvergenceError, InputError
from assembly.mechanisms.deformed_joints import DeformedJoints
from assembly.mechanisms.deformed_motion import DeformedMotion, DeformedState
from assembly.mechanisms.elastic_mechanism import ElasticMechanism
from assembly.mechanisms.trim import Trim, equilibrium
from assembly.system.frozen import PARTS, FrozenSeries
from assembly.types import Array


class TrimmedMechanism(ElasticMechanism):
    """What a mechanism can do about its equilibrium at finite deflections."""

    @abstractmethod
    def _static(self, t: float, driven: bool | None, what: str) -> Array:
        """Independent DOFs (n,) in equilibrium to first order, K q = Q of linear prestress."""

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
        return self._trimmed(t, driven, () if start is None else (start,))

    def _trimmed(
        self, t: float, driven: bool | None, recent: Sequence[Trim], ahead: bool = True
    ) -> Trim:
        """By the path from no loads, and by that from equilibria at up to two earlier times, the
        last one nearest to t; ahead: which of the two is tried first."""
        recent = [trim for trim in recent if len(trim.q) == len(self.elastic(driven).masters)]
        paths: list[Callable[[float, bool | None], Trim | ConvergenceError]] = [self._along_loads]
        if recent and recent[-1].t != t:
            paths.insert(0 if ahead else 1, partial(self._along_time, recent))
        failures = []
        for path in paths:
            found = path(t, driven)
            if isinstance(found, Trim):
                return found
            failures.append(found)
        raise failures[paths.index(self._along_loads)]

    def _motion(self, t: float, share: float, driven: bool | None) -> DeformedMotion:
        now, elastic = self.dynamics.at(self.state(t)), self.elastic(driven)
        return DeformedMotion(self.dynamics, elastic, self._deformed_joints, now, share)

    def _along_loads(self, t: float, driven: bool | None) -> Trim | ConvergenceError:
        """From no loads, with the deflections of the linear equations first."""
        elastic, q = self.elastic(driven), self._static(t, driven, "trim")
        T = elastic.transform(self.instant(t)).value
        guess = np.asarray(elastic.moving_pattern.expand(q, T), dtype=float)
        origin = (0.0, 0.0 * q, 0.0 * guess)
        return equilibrium(lambda x: self._motion(t, x, driven), (-1.0, -q, -guess), origin)

    def _along_time(
        self, recent: Sequence[Trim], t: float, driven: bool | None
    ) -> Trim | ConvergenceError:
        """From the equilibria at earlier times: others than along the loads, where these end."""
        start, span = recent[-1].t, t - recent[-1].t
        path = [((trim.t - start) / span, trim.q, trim.state.path[0]) for trim in recent]
        return equilibrium(lambda x: self._motion(start + x * span, 1.0, driven), path[0], path[-1])

    @cached_property
    def _deformed_joints(self) -> DeformedJoints:
        return DeformedJoints(self.topology)

    def displaced(
        self,
        t: float,
        q: ArrayLike,
        velocity: ArrayLike,
        acceleration: ArrayLike,
        *,
        near: DeformedState | None = None,
    ) -> DeformedState:
        """The elastic mechanism with given independent degrees of freedom, in motion.

        Parameters
        ----------
        t : float
            s.
        q, velocity, acceleration : array_like, shape (n,)
            Independent degrees of freedom, m and rad, and their first two rates.
        near : DeformedState, optional
            A neighbouring state, from which the joints are closed.

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
        elastic = self.elastic(None)
        n = len(elastic.masters)
        values = [np.asarray(x, dtype=float) for x in (q, velocity, acceleration)]
        if any(x.shape != (n,) for x in values):
            raise InputError(f"q, velocity, acceleration: expected {n} numbers each")
        guess = np.zeros(int(self.topology.offsets[-1])) if near is None else near.path[0]
        motion = getattr(near, "motion", None)
        if motion is None or (motion.state.t, motion.share, motion.elastic) != (t, 1.0, elastic):
            now = self.dynamics.at(self.state(float(t)))
            motion = DeformedMotion(self.dynamics, elastic, self._deformed_joints, now)
        return motion.closed(values[0], values[1], values[2], guess)

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
        out: list[Trim] = []
        for t in np.asarray(times, dtype=float):
            out.append(self._trimmed(float(t), driven, out[-2:], ahead=False))
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
        return FrozenSeries(
            times,
            sparsity,
            {
                name: np.stack([own.get(name, zero) for own in parts])
                for name in PARTS
                if any(name in own for own in parts)
            },
            Q=np.zeros((len(trims), n)),
            rigid=tuple(np.zeros((n, 0)) for _ in trims),
            dofs=elastic.dofs,
            frame=elastic.frame,
        )
