"""Rigid motion of a mechanism: loop closure for positions, velocities and accelerations at any
time.

Φ(q, t) = 0 is solved by Newton on frame positions and rotations; Φ̇ = J ν + Φ_t = 0 and Φ̈ = J ν̇ +
γ = 0 give the rates, with Φ_t and γ read from the same jets. Positions are continued from t = 0
along a sequence of anchors that depends on the mechanism alone, so the answer at t does not depend
on what was asked before.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

import numpy as np

from assembly.errors import MechanismError, RedundantConstraintError, SingularPositionError
from assembly.mechanisms.jacobian import SINGULAR, Jacobian
from assembly.mechanisms.joint_rows import Evaluated, JointRows
from assembly.mechanisms.rigid_state import Pose, RigidState, between, moving_frames, resting_frames
from assembly.types import Array

NEWTON_STEPS = 12
ASSEMBLY_STEPS = 200
STRIDE = 0.2  # rad (or characteristic lengths) that no body may exceed between two anchors
FIRST_STEP = 1e-3  # s
SHORTEST_STEP = 1e-9  # of the longest step taken: below it the mechanism is stuck


class _Wall(SingularPositionError):
    """A singular position that ends the motion at t (s)."""

    def __init__(self, t: float, message: str) -> None:
        super().__init__(message)
        self.t = t


class Closure:
    """The loop closure of a mechanism.

    rows: the conditions, drivers included. count: number of moving bodies. components: the rigid
    DOFs of a body: all six, or (0, 1, 5) in the plane. initial: a pose to assemble from.
    length: a characteristic length, m. period: of the motion, s, when it has one.
    """

    def __init__(
        self,
        rows: JointRows,
        count: int,
        components: tuple[int, ...],
        initial: Pose,
        length: float,
        period: float | None,
    ) -> None:
        self.rows, self.count, self.components = rows, count, components
        self.length, self.period = length, period
        wide = (np.arange(count)[:, None] * 6 + np.array(components)).ravel()
        self.active = wide
        scale = np.where(np.array(components) < 3, length, 1.0)
        self._column_scale = np.tile(scale, count)
        self._row_scale = np.where(rows.distance[:, 0] > 0.0, 1.0 / length, 1.0)
        start = self._assemble(initial)
        self._check_rank(start)
        self._anchors = {1: [self._rates(0.0, start)], -1: [self._rates(0.0, start)]}
        self._step = {1: FIRST_STEP, -1: FIRST_STEP}
        self._walls: dict[int, _Wall] = {}
        self._cache: dict[float, RigidState] = {}

    # What the rest of a mechanism asks for.

    def state(self, t: float) -> RigidState:
        """Pose, velocities and accelerations at t (s).

        Raises SingularPositionError where the loop does not close or loses rank, MechanismError
        when t is not finite.
        """
        if not np.isfinite(t):
            raise MechanismError(f"t: must be a finite time in s, got {t}")
        found = self._cache.get(t)
        if found is None:
            found = self._rates(t, self._pose(t))
            if len(self._cache) > 4:
                self._cache.pop(next(iter(self._cache)))
            self._cache[t] = found
        return found

    def sample_times(self, count: int) -> list[float]:
        """Instants that stand for the motion: over a period, or the first anchors."""
        if self.period is not None:
            return [self.period * k / count for k in range(count)]
        anchors = self._anchors[1]
        while len(anchors) < count and 1 not in self._walls:
            try:
                anchors.append(self._next_anchor(anchors[-1], 1))
            except _Wall as wall:
                self._walls[1] = wall
        return [anchor.t for anchor in anchors[:count]]

    def evaluate(self, state: RigidState) -> Evaluated:
        return self.rows.evaluate(state.frames, state.t)

    def _jacobian(self, e: Evaluated) -> Jacobian:
        """∂Φ/∂(active rigid DOFs)."""
        gradient = self.rows.rigid_gradient(e).value
        wide = np.zeros((len(self.rows), self.count + 1, 6))
        numbers = np.arange(len(self.rows))
        wide[numbers, self.rows.bodies[:, 0]] = gradient[:, :6]
        wide[numbers, self.rows.bodies[:, 1]] += gradient[:, 6:]
        J = wide.reshape(len(self.rows), -1)[:, self.active]
        return Jacobian(J, self._row_scale, self._column_scale)

    def _regular(self, e: Evaluated, t: float) -> Jacobian:
        """The Jacobian, once checked to be regular; SingularPositionError otherwise."""
        J = self._jacobian(e)
        if J.is_singular:
            raise _Wall(
                t,
                f"singular position at t = {t:.6g} s: the drivers cannot carry the mechanism on "
                f"through joint {self._weakest(J.loosest)} (a link too short, or a dead centre)",
            )
        return J

    # Position.

    def _pose(self, t: float) -> Pose:
        if self.period is not None and not 0.0 <= t < self.period and self._repeats:
            t = t - np.floor(t / self.period) * self.period
        sign = 1 if t >= 0.0 else -1
        anchors = self._anchors[sign]
        while sign * anchors[-1].t < sign * t and sign not in self._walls:
            try:
                anchors.append(self._next_anchor(anchors[-1], sign))
            except _Wall as wall:
                self._walls[sign] = wall
        if sign in self._walls and sign * t >= sign * self._walls[sign].t:
            raise SingularPositionError(str(self._walls[sign]))
        k = bisect_right(anchors, sign * t, key=lambda a: sign * a.t) - 1
        if k + 1 < len(anchors) and anchors[k].t != t:
            near = between(anchors[k], anchors[k + 1], t)
            found = None if near is None else self._newton(t, near)
            if found is not None and self._is_near(found, anchors[k]):
                return found
        return self._travel(anchors[k], t)

    def _is_near(self, pose: Pose, anchor: RigidState) -> bool:
        return anchor.pose.distance(pose, self.length) <= 2.0 * STRIDE

    @cached_property
    def _repeats(self) -> bool:
        """Whether one period really leads back to the first position (not to another branch)."""
        assert self.period is not None
        first = self._anchors[1][0].pose
        return first.distance(self._pose(np.nextafter(self.period, 0.0)), self.length) < 1e-6

    def _next_anchor(self, last: RigidState, sign: int) -> RigidState:
        t, pose = last.t, last.pose
        longest = self.period / 24.0 if self.period is not None else np.inf
        step = min(self._step[sign], longest)
        shortest = SHORTEST_STEP * step
        while True:
            found = self._newton(t + sign * step, last.ahead(sign * step))
            moved = np.inf if found is None else pose.distance(found, self.length)
            if found is not None and moved <= STRIDE:
                grow = 2.0 if moved < 0.5 * STRIDE else 1.0
                self._step[sign] = min(grow * step, longest)
                ahead = self._rates(t + sign * step, found)
                if ahead.jacobian.side != last.jacobian.side:
                    self._crossed(last, ahead)
                return ahead
            step *= 0.5
            if step < shortest:
                self._stuck(t + sign * step, t, pose)

    def _travel(self, anchor: RigidState, t: float) -> Pose:
        """From an anchor to t, in halves where one step does not converge."""
        here, step = anchor, t - anchor.t
        while here.t != t:
            reaches = abs(step) >= abs(t - here.t)
            target = t if reaches else here.t + step
            found = self._newton(target, here.ahead(target - here.t))
            if found is not None and self._is_near(found, here):
                if reaches:
                    return found
                here = self._rates(target, found)
                continue
            step = 0.5 * (target - here.t)
            if abs(step) < SHORTEST_STEP * abs(t - anchor.t):
                self._stuck(target, here.t, here.pose)
        return here.pose

    def _newton(self, t: float, pose: Pose) -> Pose | None:
        """Newton to round-off from a near pose; None where it does not converge."""
        closing = False
        for _ in range(NEWTON_STEPS):
            residual, J = self._linearised(t, pose)
            step = -J.solve(residual)
            size = float(np.abs(step / self._column_scale).max())
            if not size <= 4.0:
                return None
            pose = pose.moved(self._expand(step))
            if closing:
                return pose
            # Convergence is quadratic: after a step this small the next one reaches round-off.
            closing = size < 1e-7
        return None

    def _linearised(self, t: float, pose: Pose, lag: Array | None = None) -> tuple[Array, Jacobian]:
        """Φ and its Jacobian."""
        e = self.rows.evaluate(resting_frames(pose), t, lag)
        return e.value.value, self._jacobian(e)

    def _assemble(self, pose: Pose) -> Pose:
        """The first position: closed where the drivers are by the guess, then driven to the
        start."""
        guess = self.rows.evaluate(resting_frames(pose), 0.0)
        lag = -self.rows.driver_errors(guess)
        scaled = np.abs(lag * self._row_scale)
        for part in np.linspace(1.0, 0.0, 2 + int(scaled.max(initial=0.0) / STRIDE)):
            pose, residual = self._close(pose, part * lag)
        if np.linalg.norm(residual) > 1e-10:
            worst = int(np.abs(residual).argmax())
            raise SingularPositionError(
                f"the mechanism cannot be assembled at t = 0 s: joint {self.rows.joints[worst]} "
                f"stays open by {abs(residual[worst] / self._row_scale[worst]):.3g} "
                f"({'m' if self.rows.distance[worst, 0] else 'rad'}); check the lengths, or give "
                f"initial positions nearer to the assembled ones"
            )
        found = self.rows.evaluate(resting_frames(pose), 0.0)
        wrong = self.rows.reversed_joints(found)
        if wrong:
            raise SingularPositionError(
                f"at t = 0 s the mechanism is assembled with joint {wrong[0]} reversed; give "
                f"initial positions nearer to the ones meant"
            )
        return pose

    def _close(self, pose: Pose, lag: Array) -> tuple[Pose, Array]:
        """Levenberg–Marquardt at t = 0 with the drivers behind by `lag`: pose and scaled
        residual."""
        residual, J = self._scaled(pose, lag)
        damping, error = 1e-3, float(np.linalg.norm(residual))
        for _ in range(ASSEMBLY_STEPS):
            if error < 1e-14:
                break
            normal = J.T @ J + damping * np.eye(J.shape[1])
            step = np.linalg.solve(normal, -J.T @ residual)
            largest = float(np.abs(step).max())
            step = step * min(1.0, 0.5 / max(largest, 1e-300))
            trial = pose.moved(self._expand(step * self._column_scale))
            trial_residual, trial_J = self._scaled(trial, lag)
            trial_error = float(np.linalg.norm(trial_residual))
            if trial_error < error:
                pose, residual, J, error = trial, trial_residual, trial_J, trial_error
                damping = max(0.1 * damping, 1e-15)
            else:
                damping *= 10.0
                if damping > 1e8 or largest < 1e-15:
                    break
        return pose, residual

    def _scaled(self, pose: Pose, lag: Array) -> tuple[Array, Array]:
        residual, J = self._linearised(0.0, pose, lag)
        return residual * self._row_scale, J.scaled

    def _stuck(self, t: float, last: float, pose: Pose) -> None:
        left = self._linearised(t, pose)[1].loosest
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
            side = self._linearised(middle, found)[1].side
            before, after = (middle, after) if side == last.jacobian.side else (before, middle)
        left = self._linearised(after, ahead.pose)[1].loosest
        raise _Wall(
            before,
            f"singular position at t = {after:.6g} s: joint {self._weakest(left)} lets the "
            f"mechanism change over to another assembly; keep the motion away from it",
        )

    def _weakest(self, left: Array) -> str:
        """The joint with the largest share in a vector of the left null space."""
        return self.rows.joints[int(np.abs(np.where(self.rows.driven, 0.0, left)).argmax())]

    # Velocity and acceleration.

    def _rates(self, t: float, pose: Pose) -> RigidState:
        e = self.rows.evaluate(resting_frames(pose), t)
        J = self._regular(e, t)
        twist = -self._expand(J.solve(self.rows.drift(e, t)))
        e = self.rows.evaluate(moving_frames(pose, twist, np.zeros((self.count, 6))), t)
        return RigidState(t, pose, twist, -self._expand(J.solve(e.value.second)), J)

    # Bookkeeping.

    def _expand(self, values: Array) -> Array:
        wide = np.zeros(self.count * 6)
        wide[self.active] = values
        return wide.reshape(self.count, 6)

    def _check_rank(self, pose: Pose) -> None:
        """Distinguishes redundant joints and undriven mobility from a singular position."""
        rank, weight, loose = self._rank(pose)
        rows, free = len(self.rows), len(self.active)
        if rank < min(rows, free):
            # A position that is singular by chance is regular at neighbouring times.
            try:
                rank, weight, loose = self._rank(self._assemble(pose.moved(loose)))
            except SingularPositionError:
                return
        if rank < rows:
            named = zip(self.rows.labels, weight, strict=True)
            names = dict.fromkeys(label for label, w in named if w > 1e-6)
            extra = "1 condition" if rows - rank == 1 else f"{rows - rank} conditions"
            raise RedundantConstraintError(
                f"{extra} too many: {', '.join(names)} repeat what others "
                f"impose; free some motions (spherical instead of revolute) or drivers"
            )
        if rank < free:
            raise MechanismError(
                f"{free - rank} of the mechanism's degrees of mobility have no driver: add as many "
                f"drivers, or joints"
            )

    def _rank(self, pose: Pose) -> tuple[int, Array, Array]:
        """Rank; weight of each row in the left null space; a small motion along the right one."""
        U, sizes, Vt = np.linalg.svd(self._linearised(0.0, pose)[1].scaled)
        rank = int((sizes > SINGULAR * sizes[0]).sum())
        loose = self._expand(1e-2 * Vt[rank:].sum(axis=0) * self._column_scale)
        return rank, np.linalg.norm(U[:, rank:], axis=1), loose
