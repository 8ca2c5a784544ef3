"""Equilibrium of an elastic mechanism at an instant: Newton's method with continuation.

R(q, 0, 0, t) = 0 (`deformed_motion`) is solved along a path of equilibria: from no loads to all,
predicted by the deflections of the linear equations, or from the equilibria of earlier instants.
The steps adapt; the first tries the whole path. Where the path ends, the stiffness there tells
buckling, at a limit point, from a failure to converge.
"""

from __future__ import annotations

from collections.abc import Callable
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
from assembly.types import Array

Point = tuple[float, Array, Array]  # share of the path, independent DOFs (n,), all DOFs (all,)


def newton(
    motion: DeformedMotion, q: Array, guess: Array, before: Array
) -> tuple[DeformedState, int]:
    """The equilibrium near q (n,) and the steps to it; ConvergenceError where there is none.

    guess (all,): displacements, found by a linear step from others, `before`.
    """
    (found,) = newtons(motion.at(None), q[None], guess[None], before[None])
    if isinstance(found, Exception):
        raise found
    return found


def newtons(
    motion: DeformedMotion, q: Array, guess: Array, before: Array
) -> list[tuple[DeformedState, int] | Exception]:
    """The same at several instants, all elements in one pass: equilibria near q (P, n), and why
    others are not found. Raises where some leaves the range of the equations."""
    near = np.stack([guess, 0.0 * guess, 0.0 * guess])
    state = replace(motion.closed(q, 0.0 * q, 0.0 * q, near), step=np.stack([before, guess]))
    factors: dict[int, Factorization] = {}
    try:
        return _settled(state, factors)
    finally:
        for factor in factors.values():
            factor.destroy()


def _settled(
    state: DeformedState, factors: dict[int, Factorization], reach: int = 6
) -> list[tuple[DeformedState, int] | Exception]:
    """What `newtons` finds from a state; the last stiffness of each instant stays in `factors`.

    It is kept where its steps, each θ times the one before, come to round-off in `reach` more. The
    last one leaves θ/(1 − θ) of its size; θ of two such steps, as stresses that were foreseen make
    the first one better than the next.
    """
    count = len(state.q)
    out, numbers, formed = list[Any]([None] * count), np.arange(count), np.zeros(count, dtype=int)
    sizes, again = np.full((2, count), np.inf), np.zeros(count, dtype=bool)
    while len(numbers):
        noise = ROUND_OFF * np.abs(state.force).max(axis=-1, initial=0.0)
        quiet = np.abs(state.residual).max(axis=-1, initial=0.0) <= noise
        step, allowed = np.zeros_like(state.q), ROUND_OFF * np.linalg.norm(state.q, axis=-1)
        for k in np.flatnonzero(formed[numbers]):
            step[k] = -np.asarray(factors[numbers[k]].solve(state.residual[k]))
        size, before, twice = np.linalg.norm(step, axis=-1), sizes[0, numbers], again[numbers]
        rate = size / before
        # What no longer falls is round-off, which another stiffness would not lower.
        still = twice & (rate > 0.5) & (size <= STEP_TOLERANCE * np.linalg.norm(state.q, axis=-1))
        kept = quiet | still | ((formed[numbers] > 0) & (size * rate**reach <= allowed))
        new = np.flatnonzero(~kept)
        at = state if len(new) == len(numbers) else state.at(new)
        for k, stiffness in zip(new, at.stiffness() if len(new) else (), strict=True):
            if numbers[k] in factors:
                factors[numbers[k]].destroy()
            factors[numbers[k]] = factor = Factorization(stiffness, "general")
            step[k] = -np.asarray(factor.solve(state.residual[k]))
        formed[numbers[new]] += 1
        size = np.where(quiet, 0.0, np.linalg.norm(step, axis=-1))
        # Foreseen stresses may make every other step small: compared with both before it.
        grown = size > np.maximum(2.0 * before, 0.5 * sizes[1, numbers])
        turns = (formed[numbers] > 4) & ~kept & ~twice & grown
        wild, tired = turns | ~np.isfinite(size), formed[numbers] > ITERATIONS
        step[quiet | wild], again[numbers] = 0.0, kept
        sizes[:, numbers] = size, before
        moved = state.motion.closed(state.q + step, 0 * step, 0 * step, state.path, state.gradients)
        left = np.where(twice, size * rate / np.maximum(1.0 - rate, ROUND_OFF), size)
        near = size <= STEP_TOLERANCE * np.linalg.norm(moved.q, axis=-1)
        ends = quiet | still | np.where(kept, left <= allowed, near) | wild | tired
        for k in np.flatnonzero(ends):
            out[numbers[k]] = moved.at(k), int(formed[numbers[k]])
            if wild[k] or tired[k]:
                why = "diverges" if wild[k] else f"has not settled after {ITERATIONS} steps"
                out[numbers[k]] = ConvergenceError(f"Newton's method {why}")
        state = replace(moved, step=np.stack([state.path[0], moved.path[0]]))
        if np.any(ends):
            state, numbers = state.at(~ends), numbers[~ends]
    return out


def equilibrium(
    at: Callable[[float], DeformedMotion],
    before: Point,
    here: Point,
    step: float = 1.0,
    smallest: float = 2.0**-9,
    steepest: float = 5.0,
) -> Trim | ConvergenceError:
    """The equilibrium at the end of a path, or why the path ends before.

    at: the equations at a share of the path, from 0 to 1. here: the equilibrium at 0; before: one
    at a negative share, or `here` again. The next is sought along the secant of the last two. The
    error says at which share the path ends; `partial`: the DOFs (all,) of the last equilibrium.
    step, smallest: of the path, the first one and that below which it ends. steepest: times the
    slope of the path at its start, above which it turns back.
    """
    iterations, slopes = 0, [np.inf]
    reached: DeformedState | None = None
    while here[0] < 1.0:
        share, q, guess = here
        target = min(1.0, share + step)
        ahead = (target - share) / (share - before[0]) if share > before[0] else 0.0
        start = q + ahead * (q - before[1]), guess + ahead * (guess - before[2])
        try:
            reached, count = newton(at(target), *start, guess)
        except (ConvergenceError, SingularSystemError, MechanismError) as failure:
            step *= 0.5
            if step >= smallest:
                continue
            why = f"no equilibrium found beyond {share:.4g} of the loads ({failure})"
            if slopes[-1] > steepest * slopes[0]:
                why = (
                    f"the machine buckles at {share:.4g} of its loads: the path of equilibria "
                    "ends there at a limit point"
                )
            partial = None if reached is None else reached.path[0]
            return ConvergenceError(f"trim: {why}", partial)
        slope = float(np.linalg.norm(reached.q - q)) / (target - share)
        slopes = [min(slopes[0], slope), slope]
        iterations += count
        before, here = here, (target, reached.q, reached.path[0])
        step *= 2.0 if count <= 5 else 1.0
    assert reached is not None
    return Trim(reached, iterations)


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
