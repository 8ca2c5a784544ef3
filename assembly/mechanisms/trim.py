"""Equilibrium of an elastic mechanism at an instant: Newton's method with continuation.

R(q, 0, 0, t) = 0 (`deformed_motion`) is solved along a path of equilibria: from no loads to all,
predicted by the deflections of the linear equations, or from the equilibrium of another instant.
The steps adapt; the first tries the whole path. Where the path ends, the stiffness there tells
buckling, at a limit point, from a failure to converge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from assembly.bodies.nonlinear import ITERATIONS, STEP_TOLERANCE
from assembly.elements.family import Passage
from assembly.errors import ConvergenceError, MechanismError, SingularSystemError
from assembly.linalg.factorization import Factorization
from assembly.magnitudes import ROUND_OFF
from assembly.mechanisms.deformed_motion import DeformedMotion, DeformedState
from assembly.mechanisms.reactions import Reaction, deflections_by_name, joint_reactions
from assembly.system.frozen import FrozenSystem
from assembly.types import Array, Index

Point = tuple[float, Array, Array]  # share of the path, independent DOFs (n,), jets (3, all)


def newtons(
    motion: DeformedMotion, q: Array, before: Array
) -> list[tuple[DeformedState, int] | Exception]:
    """Equilibria near q (P, n) at several instants, all elements in one pass, and how many
    stiffnesses each took; or why it is not found.

    before (3, P, all): others, from which a linear step leads there.
    """
    factors: dict[int, Factorization] = {}
    try:
        return _settled(motion, q, before, factors)
    finally:
        for factor in factors.values():
            factor.destroy()


def _within(
    evaluate: Callable[[Index], DeformedState], some: Index, out: list[Any]
) -> tuple[Any, Index]:
    """The states of those instants that are in the range of the equations, and which these are;
    why others are not, in `out`."""
    try:
        return evaluate(some), some
    except (ConvergenceError, MechanismError) as failure:
        if len(some) == 1:
            out[some[0]] = failure
            return None, some[:0]
    rest = np.concatenate([_within(evaluate, part, out)[1] for part in np.array_split(some, 2)])
    return (evaluate(rest) if len(rest) else None), rest


def _settled(
    motion: DeformedMotion,
    q: Array,
    before: Array,
    factors: dict[int, Factorization],
    reach: int = 6,
) -> list[tuple[DeformedState, int] | Exception]:
    """What `newtons` finds; the last stiffness of each instant stays in `factors`.

    It is kept where its steps, each θ times the one before, come to round-off in `reach` more. The
    last one leaves θ/(1 − θ) of its size; θ of two such steps, as stresses that were foreseen make
    the first one better than the next.
    """
    count = len(q)
    out, numbers, formed = list[Any]([None] * count), np.arange(count), np.zeros(count, dtype=int)
    sizes, (again, ends) = np.full(count, np.inf), np.zeros((2, count), dtype=bool)
    q, steps = q.copy(), np.array([before, before])

    def closed(some: Index) -> DeformedState:
        return motion.at(some).closed(steps[1][:, some])

    def loaded(some: Index) -> DeformedState:
        whole = len(some) == len(numbers)
        at: DeformedState = state if whole else state.at(np.searchsorted(numbers, some))
        np.asarray(at.force)  # raises out of range
        return at

    def follow() -> None:
        """The next step: linear from the state to q."""
        at = np.stack([q[numbers], 0.0 * state.q, 0.0 * state.q])
        steps[:, :, numbers] = state.path, state.motion.ahead(at, state.path, state.gradients)

    state, numbers = _within(closed, numbers, out)
    if len(numbers):
        follow()
    while len(numbers):
        state, numbers = _within(closed, numbers, out)
        done = ends[numbers]
        for k in np.flatnonzero(done):
            out[numbers[k]] = state.at(k), int(formed[numbers[k]])
        if np.any(done):
            state, numbers = state.at(~done), numbers[~done]
        state, numbers = _within(loaded, numbers, out) if len(numbers) else (state, numbers)
        if not len(numbers):
            break
        noise = ROUND_OFF * np.abs(state.force).max(axis=-1, initial=0.0)
        quiet = np.abs(state.residual).max(axis=-1, initial=0.0) <= noise
        allowed = ROUND_OFF * np.linalg.norm(state.q, axis=-1)
        step = np.zeros_like(state.q)
        for k in np.flatnonzero(formed[numbers]):
            step[k] = -np.asarray(factors[numbers[k]].solve(state.residual[k]))
        size, last, twice = np.linalg.norm(step, axis=-1), sizes[numbers], again[numbers]
        rate = size / last
        # What no longer falls is round-off, which another stiffness would not lower.
        still = twice & (rate > 0.5) & (size <= STEP_TOLERANCE * np.linalg.norm(state.q, axis=-1))
        kept = (
            quiet
            | still
            | ((formed[numbers] > 0) & (size * np.minimum(rate, 1.0) ** reach <= allowed))
        )
        new = np.flatnonzero(~kept)
        at = replace(
            state if len(new) == len(numbers) else state.at(new), step=steps[:, :, numbers[new]]
        )
        for k, stiffness in zip(new, at.stiffness() if len(new) else (), strict=True):
            if numbers[k] in factors:
                factors.pop(numbers[k]).destroy()
            try:
                factors[numbers[k]] = factor = Factorization(stiffness, "general")
            except SingularSystemError as failure:
                out[numbers[k]] = failure
                continue
            step[k] = -np.asarray(factor.solve(state.residual[k]))
        formed[numbers[new]] += 1
        size = np.where(quiet, 0.0, np.linalg.norm(step, axis=-1))
        grown = (formed[numbers] > 4) & ~kept & ~twice & (size > 2.0 * last)
        wild = grown | ~np.isfinite(size)
        for k in np.flatnonzero(wild | (formed[numbers] > ITERATIONS)):
            why = "diverges" if wild[k] else f"has not settled after {ITERATIONS} steps"
            out[numbers[k]] = out[numbers[k]] or ConvergenceError(f"Newton's method {why}")
            step[k] = 0.0
        step[quiet], again[numbers], sizes[numbers] = 0.0, kept, size
        left = np.where(twice, size * rate / np.maximum(1.0 - rate, ROUND_OFF), size)
        q[numbers] = state.q + step
        close = size <= STEP_TOLERANCE * np.linalg.norm(q[numbers], axis=-1)
        ends[numbers] = quiet | still | np.where(kept, left <= allowed, close)
        follow()
        numbers = np.array([n for n in numbers if out[n] is None], dtype=np.intp)
    return out


@dataclass
class _Path:
    """One of those of `equilibria`: the last point, the direction, dq by the share, and length of
    the next step, the slopes of the first and of the last step."""

    here: Point
    direction: Array
    step: float
    iterations: int = 0
    slopes: tuple[float, float] = (np.inf, np.inf)
    reached: DeformedState | None = None

    @property
    def ahead(self) -> tuple[float, Array]:
        """On the secant of the last two."""
        share, q, _ = self.here
        target = min(1.0, share + self.step)
        return target, q + (target - share) * self.direction

    def follow(self, state: DeformedState, count: int) -> None:
        """To the equilibrium found ahead, by so many steps of Newton's method."""
        (share, q, _), target = self.here, self.ahead[0]
        self.direction = (state.q - q) / (target - share)
        slope = float(np.linalg.norm(self.direction))
        self.slopes, self.iterations = (min(self.slopes[0], slope), slope), self.iterations + count
        self.here, self.reached = (target, state.q, state.path), state
        self.step *= 2.0 if count <= 5 else 1.0

    def ended(self, failure: Exception, steepest: float) -> ConvergenceError:
        """Why there is none beyond."""
        share = self.here[0]
        why = f"no equilibrium found beyond {share:.4g} of the loads ({failure})"
        if self.slopes[1] > steepest * self.slopes[0]:
            why = (
                f"the machine buckles at {share:.4g} of its loads: the path of equilibria "
                "ends there at a limit point"
            )
        partial = None if self.reached is None else self.reached.path[0]
        return ConvergenceError(f"trim: {why}", partial)


def equilibria(
    at: Callable[[Array, Index], DeformedMotion],
    points: Sequence[tuple[Point, Array]],
    step: float = 1.0,
    smallest: float = 2.0**-9,
    steepest: float = 5.0,
) -> list[Trim | ConvergenceError]:
    """The equilibria at the ends of several paths, or why a path ends before.

    at: the equations at shares (P,), from 0 to 1, of the paths with these numbers. points: of each
    path the equilibrium at 0 and the direction from there. Each has its own steps; the next
    equilibria of all are sought together, along the secants of the last two. The error says
    at which share the path ends; `partial`: the DOFs (all,) of the last equilibrium. step,
    smallest: of a path, the first one and that below which it ends. steepest: times the slope of
    the path at its start, above which it turns back.
    """
    paths, out = [_Path(*own, step) for own in points], list[Any]([None] * len(points))
    while numbers := [n for n, found in enumerate(out) if found is None]:
        shares, q = map(np.array, zip(*(paths[n].ahead for n in numbers), strict=True))
        before = np.stack([paths[n].here[2] for n in numbers], axis=1)
        found = newtons(at(shares, np.array(numbers)), q, before)
        for n, share, result in zip(numbers, shares.tolist(), found, strict=True):
            if not isinstance(result, Exception):
                paths[n].follow(*result)
                if share >= 1.0:
                    out[n] = Trim(result[0], paths[n].iterations)
                continue
            paths[n].step = 0.5 * (share - paths[n].here[0])
            if paths[n].step < smallest:
                out[n] = paths[n].ended(result, steepest)
    return out


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
        The equilibrium, from which a neighbouring trim can start.
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
        self.state, self.iterations = state, iterations
        motion, topology = state.motion, state.motion.topology
        self.t, self.q = float(motion.state.t), state.q
        parts = np.split(state.path[0], topology.offsets[1:-1])
        self.displacements: dict[str, Array] = dict(zip(topology.bodies, parts, strict=True))

    @cached_property
    def system(self) -> FrozenSystem:
        """The frozen system about the equilibrium; Q is zero."""
        system = self.state.system()
        system.Q = np.zeros(system.n)
        return system

    def deployed(self) -> dict[str, tuple[Array, Array]]:
        """Nodes of the rigid motion and their displacements in fixed axes.

        Returns
        -------
        dict of str to (ndarray, ndarray)
            By body: positions (N, 3) of the rigid motion and displacements (N, 3), m.
        """
        motion = self.state.motion
        return motion.topology.deployed(motion.state.pose, self.displacements)

    @property
    def reactions(self) -> dict[str, Reaction]:
        """Force and moment of every joint and bushing on its second body, at its displaced point.

        The driver's share is included.
        """
        state, motion = self.state, self.state.motion
        rotations = motion.joints.frames(motion.state, state.rows.carried).rotation.value
        return joint_reactions(motion.topology, state.multipliers, state.rows.wrench, rotations)

    @property
    def deflections(self) -> dict[str, Array]:
        """Deflections of elastic drives (1,), rad or m, and of bushings (6,), in the plane (3,)."""
        return deflections_by_name(self.state.motion.topology, self.state.rows.x[0])

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
        at = self.state.bodies.loading[self.state.motion.topology.number(body)]
        u, families = self.displacements[body], self.state.motion.topology.bodies[body].families
        tables = [f.section_resultants(Passage.at_rest(u, at)) for f in families]
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
