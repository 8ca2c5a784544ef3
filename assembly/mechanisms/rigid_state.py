"""Where the bodies of a mechanism are and how they move at one time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial.transform import Rotation

from assembly.kinematics import Kinematics
from assembly.mechanisms.jacobian import Jacobian
from assembly.mechanisms.jets import Jet, rotation_jet
from assembly.mechanisms.joint_rows import Frames
from assembly.types import Array

STRAIGHT = 1e-7  # largest entry of RᵀR − I that one step of Newton's polar iteration removes


@dataclass(frozen=True)
class Pose:
    """Origins r (B, 3), m, and rotations R (B, 3, 3), body to fixed axes, of the moving bodies."""

    r: Array
    R: Array

    def moved(self, step: Array) -> Pose:
        """After the small motion (B, 6) of each frame, translation and rotation in body axes."""
        turn = Rotation.from_rotvec(step[:, 3:]).as_matrix()
        return Pose(self.r + np.einsum("bij,bj->bi", self.R, step[:, :3]), self.R @ turn)

    def distance(self, other: Pose, length: float) -> float:
        """The largest rotation (rad) or translation (in lengths) between two poses."""
        # Rotations an angle a apart have ‖R₁ − R₂‖_F = √8 sin(a/2).
        apart = np.sqrt(((self.R - other.R) ** 2).sum(axis=(1, 2)).max() / 8.0)
        turn = 2.0 * np.arcsin(min(float(apart), 1.0))
        shift = np.sqrt(((self.r - other.r) ** 2).sum(axis=1).max()) / length
        return float(max(turn, shift))


@dataclass(frozen=True)
class RigidState:
    """Pose, velocities and accelerations of all moving bodies at one time.

    twist (B, 6): origin velocity and angular velocity; rate (B, 6): acceleration of the origin and
    angular acceleration; both in body axes (m/s, rad/s, m/s², rad/s²). jacobian: of the closure.
    """

    t: float
    pose: Pose
    twist: Array
    rate: Array
    jacobian: Jacobian

    def kinematics(self, body: int) -> Kinematics:
        """ω, ε, a_O and v_O of one body."""
        twist, rate = self.twist[body], self.rate[body]
        return Kinematics(twist[3:], rate[3:], rate[:3], twist[:3])

    def ahead(self, step: float) -> Pose:
        """The pose a small time (s) later, to second order."""
        half = 0.5 * step * step * self.rate
        # The origin's acceleration minus ω × v is the rate of its velocity's components.
        half[:, :3] -= 0.5 * step * step * np.cross(self.twist[:, 3:], self.twist[:, :3])
        return self.pose.moved(step * self.twist + half)

    @cached_property
    def frames(self) -> Frames:
        """The jets of all frames, the ground last."""
        return moving_frames(self.pose, self.twist, self.rate)


def resting_frames(pose: Pose) -> Frames:
    """Frames, and the ground's, without rates."""
    count = len(pose.r)
    origin, rotation = np.zeros((1, count + 1, 3)), np.empty((1, count + 1, 3, 3))
    origin[0, :count] = pose.r
    rotation[0, :count], rotation[0, count] = pose.R, np.eye(3)
    return Frames(Jet(origin), Jet(rotation))


def moving_frames(pose: Pose, twist: Array, rate: Array) -> Frames:
    """Jets of the frames, and of the ground, from twists and accelerations in body axes."""
    count = len(pose.r)
    origin = np.zeros((3, count + 1, 3))
    origin[0, :count] = pose.r
    origin[1, :count] = (pose.R @ twist[:, :3, None])[..., 0]
    origin[2, :count] = (pose.R @ rate[:, :3, None])[..., 0]
    rotation = np.zeros((3, count + 1, 3, 3))
    rotation[0, count] = np.eye(3)
    rotation[:, :count] = rotation_jet(pose.R, twist[:, 3:], rate[:, 3:]).data
    return Frames(Jet(origin), Jet(rotation))


def between(first: RigidState, second: RigidState, t: float) -> Pose | None:
    """The pose at a time t between two states, by quintic Hermite interpolation of all frames.

    Its error is of sixth order in the time between. None where that is too long for interpolated
    rotations to be nearly rotations.
    """
    h = second.t - first.t
    weights = _hermite((t - first.t) / h, h)
    r, R = (
        np.tensordot(weights[:3], a.data[:, :-1], 1) + np.tensordot(weights[3:], b.data[:, :-1], 1)
        for a, b in (
            (first.frames.origin, second.frames.origin),
            (first.frames.rotation, second.frames.rotation),
        )
    )
    stretch = np.asarray(R.swapaxes(1, 2) @ R - np.eye(3))
    if not np.abs(stretch).max() <= STRAIGHT:
        return None
    return Pose(np.asarray(r), np.asarray(R - 0.5 * R @ stretch))


def _hermite(s: float, h: float) -> Array:
    """Weights (6,) of x, ẋ, ẍ at both ends of an interval h, a share s into it."""
    cubic, quartic, quintic = s**3, s**4, s**5
    end = 10.0 * cubic - 15.0 * quartic + 6.0 * quintic
    return np.array(
        [
            1.0 - end,
            h * (s - 6.0 * cubic + 8.0 * quartic - 3.0 * quintic),
            h * h * 0.5 * (s * s - 3.0 * cubic + 3.0 * quartic - quintic),
            end,
            h * (-4.0 * cubic + 7.0 * quartic - 3.0 * quintic),
            h * h * 0.5 * (cubic - 2.0 * quartic + quintic),
        ]
    )
