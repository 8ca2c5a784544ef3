"""Time stepping over a span: fixed steps, of which the default resolves the lowest modes and the
loads, or steps that halve and double.

A step that the integrator refuses (ConvergenceError) is divided: adaptive steps take it for one of
infinite error, fixed steps go through it in halves of halves. Positions are counted on a dyadic
grid of each piece of the span, so that every run ends exactly at the end of the span and an
interrupted run continues on the same instants.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy.linalg as la

from assembly.errors import ConvergenceError
from modal.eigen.solve import solve
from modal.eigen.tolerances import ZERO
from modal.transient.equations import SecondOrderModel
from modal.transient.integrators.stages import Integrator, Stages, State
from modal.transient.loads import Load
from modal.transient.tolerances import DIVISIONS, FEW, STEPS
from modal.types import Array


class Norm(Protocol):
    """The size of a state (q, q̇), and the part of a difference that steps of a length resolve."""

    def __call__(self, t: float, q: Array, v: Array) -> float: ...
    def resolved(self, h: float, q: Array, v: Array) -> tuple[Array, Array]: ...


PER_CYCLE = {2: 120, 4: 40, 6: 20}  # steps a cycle of these modes and of the loads, by order
DEEPEST = int(np.ceil(-np.log2(ZERO)))  # halvings of the span: such a step is called too small


Parts: TypeAlias = "tuple[tuple[float, float, Stages], ...]"  # starts, lengths, s


@dataclass(frozen=True)
class Accepted:
    """An accepted step: from `start` (s) by `length` (s) to `state`, by its parts with their
    stages. last: of those that have been solved as one."""

    start: float
    length: float
    state: State
    parts: Parts
    fraction: float
    last: bool = True


def attempted(
    integrator: Any, t: float, h: float, state: State, last: float | None = None, count: int = 1
) -> list[tuple[State, Stages]] | ConvergenceError:
    """A step of h after one of `last` (s; None: unknown), or up to `count`, or why the integrator
    refuses it."""
    try:
        state = state if h == last else integrator.change_step(t, state, h)
        many = count > 1
        return integrator.steps(t, h, count, state) if many else [integrator.step(t, h, state)]
    except ConvergenceError as refusal:
        return refusal


@dataclass
class FixedSteps:
    """`count` equal steps over t_span, of which `done` are finished.

    A refused step is divided into parts of 2^−level of its length. They become twice as long at
    every eighth part, or with the next step. Raises ConvergenceError where a part of 2^−DIVISIONS
    is refused too.
    """

    integrator: Integrator
    t_span: tuple[float, float]
    count: int
    done: int = 0
    level: int = 0  # of the parts with which the next step begins

    @property
    def first_length(self) -> float:
        return (self.t_span[1] - self.t_span[0]) / self.count

    def run(self, state: State) -> Iterator[Accepted]:
        (t0, t1), h = self.t_span, self.first_length
        while self.done < self.count:
            t = t0 + (t1 - t0) * (self.done / self.count)
            found = self._whole(t, h, state) or [self._divided(t, h, state)]
            for number, (state, parts) in enumerate(found, 1):
                start = t0 + (t1 - t0) * (self.done / self.count)
                self.done += 1
                last = number == len(found)
                yield Accepted(start, h, state, parts, self.done / self.count, last)

    def _whole(self, t: float, h: float, state: State) -> list[tuple[State, Parts]]:
        """The states after the next step, or after those that the integrator solves as one, and
        their parts; none where it refuses, or where steps begin with parts."""
        left, most = self.count - self.done, getattr(self.integrator, "together", 1)
        count = -(-left // -(-left // most))  # of equal parts of what is left
        found = [] if self.level else attempted(self.integrator, t, h, state, h, count)
        if isinstance(found, ConvergenceError):
            self.level, found = 1, []
        return [(own, ((t + h * k, h, stages),)) for k, (own, stages) in enumerate(found)]

    def _divided(self, t: float, h: float, state: State) -> tuple[State, Parts]:
        """The state after one step, and its parts."""
        total, ticks, level, last = 1 << DIVISIONS, 0, self.level, h
        parts: list[tuple[float, float, Stages]] = []
        while ticks < total:
            start, length = t + h * (ticks / total), float(np.ldexp(h, -level))
            result = attempted(self.integrator, start, length, state, last)
            if isinstance(result, ConvergenceError):
                if level == DIVISIONS:
                    raise result
                level += 1
                continue
            ((state, stages),), last = result, length
            parts.append((start, length, stages))
            ticks += total >> level
            if level and ticks % (total >> max(level - 3, 0)) == 0:
                level -= 1
        self.level = level
        if last != h:
            state = self.integrator.change_step(t + h, state, h)
        return state, tuple(parts)

    def position(self) -> dict[str, Any]:
        return dict(done=self.done, level=self.level)

    def restore(self, position: dict[str, Any]) -> None:
        self.done, self.level = int(position["done"]), int(position.get("level", 0))


@dataclass
class AdaptiveSteps:
    """Step doubling: a step h is compared with two steps of h/2, whose result is used.

    The difference divided by 2^p − 1 estimates the error of the two steps (order p). The error may
    be `tolerance` times the step's share of the span, relative to the largest state (q, q̇) so far,
    in the given norm. Rejected steps count too: they give a start at rest its scale. The errors of
    a run then add up to `tolerance` or less, unless the motion itself amplifies them. Errors of
    modes that the step does not resolve do not add up: the whole difference there may be
    `tolerance`. A step ends at each of `events`, the instants where a load is not smooth. Raises
    ConvergenceError when a step would be shorter than 2^−40 of its piece.
    """

    POSITION = ("piece", "level", "ticks", "largest", "error", "unresolved")

    integrator: Integrator
    t_span: tuple[float, float]
    tolerance: float
    norm: Norm
    events: tuple[float, ...] = ()
    piece: int = 0
    level: int = -1
    ticks: int = 0
    largest: float = 0.0
    error: float = 0.0  # sum of the estimated errors of the accepted steps, relative to `largest`
    unresolved: float = 0.0  # the largest difference of a step in modes that it does not resolve

    def __post_init__(self) -> None:
        t0, t1 = self.t_span
        inner = sorted({float(t) for t in self.events if t0 < t < t1})
        self.ends = [t0, *inner, t1]
        if self.level < 0:
            self.level = self._coarsest(0)

    @property
    def first_length(self) -> float:
        return self._length(self.level + 1)

    def _coarsest(self, piece: int, first: int = 5, least: int = 2) -> int:
        """Halvings of a piece whose steps are at most 2^−first of the span, and 2^−least of it."""
        t0, t1 = self.t_span
        share = (self.ends[piece + 1] - self.ends[piece]) / (t1 - t0)
        return max(least, first + int(np.ceil(np.log2(share))))

    def _length(self, level: int) -> float:
        return float(np.ldexp(self.ends[self.piece + 1] - self.ends[self.piece], -level))

    def run(self, state: State) -> Iterator[Accepted]:
        total, order, (t0, t1) = 1 << DEEPEST, self.integrator.order, self.t_span
        while self.piece < len(self.ends) - 1:
            start, end = self.ends[self.piece : self.piece + 2]
            t = start + (end - start) * (self.ticks / total)
            h = self._length(self.level)
            compared = self._compared(t, h, state)
            error = beyond = np.inf
            if compared is not None:
                coarse, fine, parts = compared
                error, beyond = self._errors(t + h, h, coarse, fine, state)
            ratio = error / (h / (t1 - t0))
            if compared is None or not max(ratio, beyond) <= 1.0:
                self.level += 1
                if self.level >= DEEPEST:
                    raise ConvergenceError(
                        f"transient: no step meets tolerance {self.tolerance:.1e} at t = {t:.9g} s"
                    )
                continue
            state = fine
            self.error += error * self.tolerance
            self.unresolved = max(self.unresolved, beyond * self.tolerance)
            self.ticks += total >> self.level
            aligned = self.ticks % (total >> (self.level - 1)) == 0
            if ratio < 0.5 / 2.0**order and self.level > self._coarsest(self.piece) and aligned:
                self.level -= 1
            reached = start + (end - start) * (self.ticks / total)
            if self.ticks == total:
                self.piece, reached = self.piece + 1, end
                if self.piece < len(self.ends) - 1:
                    self.ticks, self.level = 0, self._coarsest(self.piece)
            yield Accepted(t, h, state, parts, (reached - t0) / (t1 - t0))

    def _compared(self, t: float, h: float, state: State) -> tuple[State, State, Parts] | None:
        """The state after a step h and after two steps of h/2, with the parts of these; None where
        a step is refused."""
        whole = attempted(self.integrator, t, h, state)
        first = attempted(self.integrator, t, 0.5 * h, state)
        if isinstance(whole, ConvergenceError) or isinstance(first, ConvergenceError):
            return None
        middle, half = t + 0.5 * h, 0.5 * h
        ((fine, before),) = first
        second = attempted(self.integrator, middle, half, fine, half)
        if isinstance(second, ConvergenceError):
            return None
        ((fine, after),), ((coarse, _),) = second, whole
        return coarse, fine, ((t, half, before), (middle, half, after))

    def _errors(
        self, t: float, h: float, coarse: State, fine: State, before: State
    ) -> tuple[float, float]:
        """The estimated error, and the difference in what the step does not resolve, both divided
        by the error allowed for the whole span."""
        sizes = (self.norm(t, fine.q, fine.v), self.norm(t, before.q, before.v))
        self.largest = max(*sizes, self.largest)
        q, v = fine.q - coarse.q, fine.v - coarse.v
        if not (np.all(np.isfinite(q)) and np.all(np.isfinite(v))):
            return np.inf, np.inf
        q_in, v_in = self.norm.resolved(h, q, v)
        gap, beyond = self.norm(t, q_in, v_in), self.norm(t, q - q_in, v - v_in)
        if not np.isfinite(gap + beyond):
            return np.inf, np.inf
        allowed = self.largest * self.tolerance if gap + beyond > 0.0 else 1.0
        return gap / (2.0**self.integrator.order - 1.0) / allowed, beyond / allowed

    def position(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.POSITION}

    def restore(self, position: dict[str, Any]) -> None:
        for name in self.POSITION:
            setattr(self, name, position[name].item())


def default_step(
    equations: SecondOrderModel,
    span: tuple[float, float],
    loads: Sequence[Load],
    model: Any,
    order: int,
    modes: int = 2,
) -> float:
    """s: a part (1/120 for order 2) of the shortest cycle of the lowest modes and the loads.

    Also at most 1/200 of the span and of `model.period`. Higher frequencies are not resolved; the
    integrators remain stable. modes: how many lowest frozen ones at the start are resolved. Raises
    what `modal.solve` raises.
    """
    here = equations.system(span[0])
    if here.n <= FEW:
        sizes = np.sort(np.abs(la.eigvals(equations.first_order(span[0]))))[: 2 * modes]
    else:
        sizes = np.abs(solve(here, k=modes).eigenvalues)
    cycles = [2.0 * np.pi / sizes.max()] if sizes.max() > 0.0 else []
    cycles += [load.shortest for load in loads]
    step = min(cycles, default=np.inf) / PER_CYCLE[order]
    period = getattr(model, "period", None)
    if period is not None:
        step = min(step, period / STEPS)
    return float(min(step, (span[1] - span[0]) / STEPS))
