"""Rigid motion of a mechanism: loop closure for positions, velocities and accelerations at any
time.

Φ(q, t) = 0 is solved by Newton on frame positions and rotations; Φ̇ = J ν + Φ_t = 0 and Φ̈ = J ν̇ +
γ = 0 give the rates, with Φ_t and γ read from the same jets. Positions are continued from t = 0
along a sequence of anchors that depends on the mechanism alone, so the answer at t does not depend
on what was asked before. Many times are solved together, each from the anchors around it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from assembly.arguments import as_number, as_numbers
from assembly.bodies.nonlinear import ITERATIONS
from assembly.errors import MechanismError, SingularPositionError
from assembly.linalg.symmetric import ROUND_OFF
from assembly.magnitudes import EQUAL
from assembly.mechanisms.closure_equations import STRIDE, ClosureEquations, assembled, check_rank
from assembly.mechanisms.joint_rows import Evaluated
from assembly.mechanisms.rigid_state import (
    Jacobian,
    Pose,
    RigidState,
    between,
    moving_frames,
    resting_frames,
)
from assembly.mechanisms.topology import Topology
from assembly.types import Array, Index, Mask


class _Wall(SingularPositionError):
    """A singular position that ends the motion at t (s)."""

    def __init__(self, t: float, message: str) -> None:
        super().__init__(message)
        self.t = t


class Closure:
    """The loop closure of a mechanism.

    initial: a pose to assemble from. period: of the motion, s, when it has one. guide: of another
    mechanism, whose way it goes where that is its own at another pace, instead of finding it.
    """

    def __init__(
        self, topology: Topology, initial: Pose, period: float | None, guide: Closure | None = None
    ) -> None:
        self.rows, self.count, self.period = topology.rows, len(topology.bodies), period
        self.equations = ClosureEquations(topology)
        self.active = self.equations.active
        self.bodies = topology.body_of[topology.row_points[: len(self.rows)]]  # of each condition
        start = assembled(self.equations, initial)
        check_rank(self.equations, start)
        # A chain of many links is larger than these.
        self.length = max(topology.length, float(np.ptp(start.r, axis=0).max()))
        # To round-off, as at all other times: an error of the position is one of accelerations.
        start = self._newton(0.0, start) or start
        self._anchors = {1: [self._rates(0.0, start)], -1: [self._rates(0.0, start)]}
        self._walls: dict[int, _Wall] = {}
        self._cache: dict[float, RigidState] = {}
        self._guide = guide

    # What the rest of a mechanism asks for.

    def state(self, t: float) -> RigidState:
        """Pose, velocities and accelerations at t (s).

        Raises SingularPositionError where the loop does not close or loses rank, MechanismError
        when t is not finite.
        """
        t = as_number(t, "t", MechanismError)
        found = self._cache.get(t)
        if found is None:
            found = self.states(np.array([t])).at(0)
            if len(self._cache) > 4:
                self._cache.pop(next(iter(self._cache)))
            self._cache[t] = found
        return found

    def states(self, times: Array) -> RigidState:
        """The same at times (P,), all at once."""
        times = as_numbers(times, "t", MechanismError)
        return self._rates(times, self._poses(times))

    def reach(self, t: float) -> None:
        """Follow the motion up to t (s), without solving for the position there.

        Raises what `state` raises where the motion ends before t.
        """
        t = as_number(t, "t", MechanismError)
        (t,) = self._in_first_period(np.array([t]))
        self._extend(float(t), 1 if t >= 0.0 else -1)

    def sample_times(self, count: int) -> list[float]:
        """Instants that stand for the motion: over a period, or the first anchors."""
        if self.period is not None:
            return [self.period * k / count for k in range(count)]
        self._follow(1, lambda anchors: len(anchors) >= count)
        return [anchor.t for anchor in self._anchors[1][:count]]

    def _follow(self, sign: int, enough: Callable[[list[RigidState]], bool]) -> None:
        """Anchors of one sign until they are enough, or the motion ends."""
        anchors = self._anchors[sign]
        if len(anchors) == 1 and self._guide is not None:
            anchors += self._guided(self._guide, sign)
        while not enough(anchors) and sign not in self._walls:
            try:
                anchors += self._next_anchors(anchors, sign)
            except _Wall as wall:
                self._walls[sign] = wall

    def _guided(self, guide: Closure, sign: int) -> list[RigidState]:
        """The anchors of the guide's first period at the pace of this motion, as far as they close
        the loops with all their rates."""
        if not (self.period and guide.period) or guide.rows.labels != self.rows.labels:
            return []
        last, pace = guide.period, self.period / guide.period
        guide._follow(sign, lambda anchors: sign * anchors[-1].t >= last)
        found = [
            RigidState(pace * a.t, a.pose, a.twist / pace, a.rate / pace**2, a.jacobian)
            for a in guide._anchors[sign]
        ]
        if self._anchors[sign][0].pose.distance(found[0].pose, self.length) > ROUND_OFF:
            return []
        twist, rate, t = (np.array([getattr(a, x) for a in found]) for x in ("twist", "rate", "t"))
        frames = moving_frames(Pose.stacked([a.pose for a in found]), twist, rate)
        error = np.abs(self.equations.evaluate(frames, t).value.data * self.equations.row_scale)
        most = np.array([ROUND_OFF, EQUAL / self.period, EQUAL / self.period**2])
        closed = (error.max(axis=-1) <= most[:, None]).all(axis=0)
        return found[1 : int(np.append(closed, False).argmin())]

    def _regular(self, e: Evaluated, t: ArrayLike) -> Jacobian:
        """The Jacobian, once checked to be regular; SingularPositionError otherwise."""
        J = self.equations.jacobian(e)
        singular = J.is_singular
        if np.any(singular):
            n = np.unravel_index(int(np.argmax(singular)), singular.shape)
            at = float(np.asarray(t)[n])
            raise _Wall(
                at,
                f"singular position at t = {at:.6g} s: the drivers cannot carry the mechanism on "
                f"through joint {self._weakest(J.loosest[n])} (a link too short, or a dead "
                f"centre)",
            )
        return J

    # Position.

    def _poses(self, times: Array) -> Pose:
        """The poses (P, ...) at times (P,): Newton from between two anchors, else by way."""
        times = self._in_first_period(times)
        count, bodies = len(times), self.count
        found = Pose(np.empty((count, bodies, 3)), np.empty((count, bodies, 3, 3)))
        for sign in (1, -1):
            mine = np.flatnonzero((times >= 0.0) == (sign > 0))
            if len(mine):
                poses = self._on_side(times[mine], sign)
                found.r[mine], found.R[mine] = poses.r, poses.R
        return found

    def _in_first_period(self, times: Array) -> Array:
        """Times in the first period at which the positions are those at times (P,), which must be
        finite."""
        finite = np.isfinite(times)
        if not np.all(finite):
            raise MechanismError(
                f"t: must be a finite time in s, got {float(times[np.argmin(finite)])}"
            )
        if self.period is not None:
            outside = ~((times >= 0.0) & (times < self.period))
            if np.any(outside) and self._repeats:
                turns = np.floor(times / self.period)
                times = np.where(outside, times - turns * self.period, times)
        return times

    def _extend(self, last: float, sign: int) -> None:
        """Anchors of one sign up to a time; SingularPositionError where the motion ends before."""
        self._follow(sign, lambda anchors: sign * anchors[-1].t >= sign * last)
        if sign in self._walls and sign * last >= sign * self._walls[sign].t:
            raise SingularPositionError(str(self._walls[sign]))

    def _on_side(self, times: Array, sign: int) -> Pose:
        """The poses at times of one sign."""
        anchors = self._anchors[sign]
        self._extend(float(times[np.argmax(sign * times)]), sign)
        at = np.array([sign * a.t for a in anchors])
        first = np.searchsorted(at, sign * times, side="right") - 1
        if len(anchors) == 1:
            return self._by_way(times, first, anchors)
        inner = np.minimum(first, len(anchors) - 2)
        near, usable = between(anchors, inner, times)
        usable &= (inner == first) & (at[first] != sign * times)
        poses, closed = self._newton_all(times, near, usable)
        at_anchor = Pose.stacked([anchors[n].pose for n in first])
        closed &= at_anchor.distance(poses, self.length) <= 2.0 * STRIDE
        open_ = np.flatnonzero(~closed)
        if len(open_):
            others = self._by_way(times[open_], first[open_], anchors)
            poses.r[open_], poses.R[open_] = others.r, others.R
        return poses

    def _by_way(self, times: Array, first: Index, anchors: list[RigidState]) -> Pose:
        """The poses at times, each travelled to from its anchor."""
        ways = zip(first, times.tolist(), strict=True)
        return Pose.stacked([self._travel(anchors[n], t) for n, t in ways])

    def _newton_all(self, times: Array, pose: Pose, usable: Mask) -> tuple[Pose, Mask]:
        """Newton to round-off from near poses (P, ...), where usable, and where it converged."""
        running, closed = usable.copy(), np.zeros(len(times), dtype=bool)
        for _ in range(ITERATIONS):
            if not running.any():
                break
            at = np.flatnonzero(running)
            here = pose.at(at)
            residual, J = self.equations.linearised(times[at], here)
            if np.any(J.side == 0.0):  # exactly singular somewhere: each by its own way
                break
            step = -J.solve(residual)
            size = np.abs(step / self.equations.column_scale).max(axis=-1)
            good = size <= 4.0
            moved = here.moved(self.equations.expand(np.where(good[:, None], step, 0.0)))
            pose.r[at], pose.R[at] = moved.r, moved.R
            # Convergence is quadratic: what such a step leaves is round-off.
            closed[at] = size < 1e-8
            running[at] = good & ~closed[at]
        return pose, closed

    @cached_property
    def _repeats(self) -> bool:
        """Whether one period really leads back to the first position (not to another branch)."""
        assert self.period is not None
        first, end = self._anchors[1][0].pose, np.array([np.nextafter(self.period, 0.0)])
        return bool(first.distance(self._poses(end).at(0), self.length) < 1e-6)

    def _next_anchors(self, anchors: list[RigidState], sign: int) -> list[RigidState]:
        """The next anchors, at most a stride apart: as many as the motion between the last two
        leads to, solved together, up to the first that is no neighbour of the one before."""
        last = anchors[-1]
        times, poses = self._strides(anchors, sign)
        shortest = EQUAL * abs(times[0] - last.t)
        while True:
            poses, closed = self._newton_all(times, poses, np.ones(len(times), dtype=bool))
            near_by = closed & (self._moved(last.pose, poses) <= STRIDE)
            reached = int(np.append(near_by, False).argmin())
            if reached:
                states = self._rates(times[:reached], poses.at(slice(reached)))
                same = states.jacobian.side == last.jacobian.side
                if not same[0]:
                    self._crossed(last, states.at(0))
                return [states.at(n) for n in range(int(np.append(same, False).argmin()))]
            times = last.t + 0.5 * (times[:1] - last.t)
            if abs(times[0] - last.t) < shortest:
                self._stuck(float(times[0]), last.t, last.pose)
            poses = last.ahead(times[0] - last.t).at(None)

    def _strides(self, anchors: list[RigidState], sign: int) -> tuple[Array, Pose]:
        """Times of up to 16 anchors, a stride apart by the motion between the last two, and the
        poses there."""
        last = anchors[-1]
        if len(anchors) == 1:
            return np.array([1e-3 * sign]), last.ahead(1e-3 * sign).at(None)
        step = abs(last.t - anchors[-2].t)
        longest = self.period / 24.0 if self.period is not None else np.inf

        def ahead(times: Array) -> tuple[Pose, Mask]:
            return between(anchors, np.full(len(times), len(anchors) - 2), times, 0.3)

        fine = last.t + sign * step * np.arange(1, 65) / 4.0
        poses, usable = ahead(fine)
        count = int(np.append(usable, False).argmin())
        if count == 0:
            return fine[:1], last.ahead(fine[0] - last.t).at(None)
        moved = self._moved(last.pose, poses.at(slice(count))) / (0.9 * STRIDE)
        way = np.cumsum(np.maximum(moved, 0.25 * step / longest))
        wanted = np.arange(1, min(16, int(way[-1])) + 1) if way[-1] >= 1.0 else way[-1:]
        times = np.interp(wanted, np.append(0.0, way), np.append(last.t, fine[:count]))
        return times, ahead(times)[0]

    def _moved(self, first: Pose, poses: Pose) -> Array:
        """Distances of poses (P, ...), each from the one before, of the first from a given one."""
        before = Pose(np.roll(poses.r, 1, axis=0), np.roll(poses.R, 1, axis=0))
        before.r[0], before.R[0] = first.r, first.R
        return before.distance(poses, self.length)

    def _travel(self, anchor: RigidState, t: float) -> Pose:
        """From an anchor to t, in halves where one step does not converge."""
        here, step = anchor, t - anchor.t
        while here.t != t:
            reaches = abs(step) >= abs(t - here.t)
            target = t if reaches else here.t + step
            found = self._newton(target, here.ahead(target - here.t))
            if found is not None and here.pose.distance(found, self.length) <= 2.0 * STRIDE:
                if reaches:
                    return found
                here = self._rates(target, found)
                continue
            step = 0.5 * (target - here.t)
            if abs(step) < EQUAL * abs(t - anchor.t):
                self._stuck(target, here.t, here.pose)
        return here.pose

    def _newton(self, t: float, pose: Pose) -> Pose | None:
        """Newton to round-off from a near pose; None where it does not converge."""
        near, usable = Pose.stacked([pose]), np.ones(1, dtype=bool)
        found, closed = self._newton_all(np.array([t]), near, usable)
        return found.at(0) if closed[0] else None

    def _stuck(self, t: float, last: float, pose: Pose) -> None:
        left = self.equations.linearised(t, pose)[1].loosest
        raise _Wall(
            last,
            f"the mechanism cannot go on after t = {last:.6g} s: joint {self._weakest(left)} would "
            f"open (a link too short, or a dead centre)",
        )

    def _crossed(self, last: RigidState, ahead: RigidState) -> None:
        """The determinant of J has changed its sign: a singular position lies between."""
        before, after = last.t, ahead.t
        for _ in range(30):
            middle = 0.5 * (before + after)
            found = self._newton(middle, last.ahead(middle - last.t))
            if found is None:
                break
            side = self.equations.linearised(middle, found)[1].side
            before, after = (middle, after) if side == last.jacobian.side else (before, middle)
        left = self.equations.linearised(after, ahead.pose)[1].loosest
        raise _Wall(
            before,
            f"singular position at t = {after:.6g} s: joint {self._weakest(left)} lets the "
            f"mechanism change over to another assembly; keep the motion away from it",
        )

    def _weakest(self, left: Array) -> str:
        """The joint with the largest share in a vector of the left null space."""
        return self.rows.joints[int(np.abs(np.where(self.rows.driven, 0.0, left)).argmax())]

    # Velocity and acceleration.

    def _rates(self, t: Any, pose: Pose) -> RigidState:
        """Velocities and accelerations of a pose at t, or of poses at times (P,)."""
        e = self.equations.evaluate(resting_frames(pose), t)
        J = self._regular(e, t)
        twist = -self.equations.expand(J.solve(self.rows.drift(e, t)))
        e = self.equations.evaluate(moving_frames(pose, twist, np.zeros_like(twist)), t)
        rate = -self.equations.expand(J.solve(e.value.second))
        # Uniform rotation has no angular acceleration: what is left of its terms is round-off, and
        # would be a circulatory force.
        speeds = np.abs(twist).reshape(*twist.shape[:-2], -1)[..., self.active]
        rotation = np.zeros((*twist.shape[:-2], self.count + 1))
        rotation[..., :-1] = np.linalg.norm(twist[..., 3:], axis=-1)
        terms = J.largest(speeds, rotation[..., self.bodies].sum(axis=-1))
        clear = np.abs(rate) > ROUND_OFF * self.equations.expand(terms)
        return RigidState(t, pose, twist, np.where(clear, rate, 0.0), J)
