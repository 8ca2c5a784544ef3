"""Where the bodies of a mechanism are and how they move at one time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from assembly.jets import Jet, rotation_jet
from assembly.joint_rows import Frames
from assembly.kinematics import Kinematics

Array = NDArray[np.float64]


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
        turn = Rotation.from_matrix(np.swapaxes(self.R, 1, 2) @ other.R).magnitude()
        shift = np.linalg.norm(self.r - other.r, axis=1) / length
        return float(max(turn.max(), shift.max()))


@dataclass(frozen=True)
class RigidState:
    """Pose, velocities and accelerations of all moving bodies at one time.

    twist (B, 6): origin velocity and angular velocity; rate (B, 6): acceleration of the origin and
    angular acceleration; both in body axes (m/s, rad/s, m/s², rad/s²). side: sign of det J, which
    changes in a singular position.
    """

    t: float
    pose: Pose
    twist: Array
    rate: Array
    side: float

    def kinematics(self, body: int) -> Kinematics:
        """ω, ε and a_O of one body."""
        return Kinematics(self.twist[body, 3:], self.rate[body, 3:], self.rate[body, :3])

    def ahead(self, step: float) -> Pose:
        """The pose a small time (s) later, to second order."""
        half = 0.5 * step * step * self.rate
        # The origin's acceleration minus ω × v is the rate of its velocity's components.
        half[:, :3] -= 0.5 * step * step * np.cross(self.twist[:, 3:], self.twist[:, :3])
        return self.pose.moved(step * self.twist + half)

    def frames(self) -> Frames:
        """The jets of all frames, the ground last."""
        return moving_frames(self.pose, self.twist, self.rate)


def moving_frames(pose: Pose, twist: Array, rate: Array) -> Frames:
    """Jets of the frames, and of the ground, from twists and accelerations in body axes."""
    count = len(pose.r)
    origin = np.zeros((3, count + 1, 3))
    origin[0, :count] = pose.r
    origin[1, :count] = np.einsum("bij,bj->bi", pose.R, twist[:, :3])
    origin[2, :count] = np.einsum("bij,bj->bi", pose.R, rate[:, :3])
    rotation = np.zeros((3, count + 1, 3, 3))
    rotation[0, count] = np.eye(3)
    rotation[:, :count] = rotation_jet(pose.R, twist[:, 3:], rate[:, 3:]).data
    return Frames(Jet(origin), Jet(rotation))
