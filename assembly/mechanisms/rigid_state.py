"""Where the bodies of a mechanism are and how they move, at one time or at several.

Arrays have leading axes (...) of instants, none for one time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from assembly.elements.taylor import Taylor
from assembly.kinematics import Kinematics, skew
from assembly.mechanisms.joint_rows import Frames
from assembly.types import Array, Index, Mask

SINGULAR = 1e-8  # smallest over largest singular value of the scaled Jacobian


class Jacobian:
    """∂Φ/∂(rigid DOFs) J (..., m, m) at one position or several, regular or not.

    rows, columns (m,): positive scales that bring all entries to one unit; S = rows J columns.
    """

    def __init__(self, J: Array, rows: Array, columns: Array) -> None:
        self._J, self._rows, self._columns = J, rows, columns
        self.scaled = rows[:, None] * J * columns

    def at(self, n: Any) -> Jacobian:
        """That of one position, or of several."""
        return Jacobian(self._J[n], self._rows, self._columns)

    @cached_property
    def side(self) -> Array:
        """The sign of det J (...), which changes in a singular position."""
        return np.asarray(np.linalg.slogdet(self.scaled)[0])

    @cached_property
    def _inverse(self) -> Array:
        """S⁻¹, NaN where it does not exist."""
        regular = (self.side != 0.0)[..., None, None]
        inverse = np.linalg.inv(np.where(regular, self.scaled, np.eye(self.scaled.shape[-1])))
        return np.where(regular, inverse, np.nan)

    @property
    def is_singular(self) -> Mask:
        """Whether the singular values show a singular position, (...)."""
        # |S| |S⁻¹| is at least the ratio of the extreme ones, and clears most positions.
        bound = np.linalg.norm(self.scaled, axis=(-2, -1))
        bound = bound * np.linalg.norm(self._inverse, axis=(-2, -1))
        singular = np.asarray(~(bound < 1.0 / SINGULAR))
        if singular.any():
            sizes = np.linalg.svd(self.scaled[singular], compute_uv=False)
            singular[singular] = ~(sizes[..., -1] > SINGULAR * sizes[..., 0])
        return singular

    @property
    def loosest(self) -> Array:
        """The left singular vector (..., m) of the smallest singular value: which conditions give
        way."""
        return np.asarray(np.linalg.svd(self.scaled)[0][..., -1])

    def solve(self, rhs: Array) -> Array:
        """J⁻¹ of a vector (..., m) at each position."""
        return self.solve_columns(rhs[..., None])[..., 0]

    def largest(self, speeds: Array, rates: Array) -> Array:
        """|J⁻¹| of the terms of Φ̈ that are products of velocities, (..., m).

        speeds: moduli of the velocities (..., m); rates: of the frames of each condition (..., m).
        """
        terms = rates[..., None] * (np.abs(self.scaled) @ (speeds / self._columns)[..., None])
        return np.asarray((np.abs(self._inverse) @ terms)[..., 0] * self._columns)

    def solve_columns(self, rhs: Array) -> Array:
        """J⁻¹ of columns (..., m, k)."""
        return np.asarray(
            np.linalg.solve(self.scaled, self._rows[:, None] * rhs) * self._columns[:, None]
        )

    def solve_transposed(self, rhs: Array) -> Array:
        """J⁻ᵀ of a vector (..., m)."""
        turned = np.swapaxes(self.scaled, -1, -2)
        return np.asarray(
            np.linalg.solve(turned, (rhs * self._columns)[..., None])[..., 0] * self._rows
        )


@dataclass(frozen=True)
class Pose:
    """Origins and rotations of the moving bodies, at one time or several.

    Parameters
    ----------
    r : ndarray, shape (..., B, 3)
        Origins, m, fixed axes.
    R : ndarray, shape (..., B, 3, 3)
        Rotations, body to fixed axes.
    """

    r: Array
    R: Array

    @classmethod
    def stacked(cls, poses: Sequence[Pose]) -> Pose:
        """Poses at one instant each, along a first axis."""
        return cls(np.stack([pose.r for pose in poses]), np.stack([pose.R for pose in poses]))

    def at(self, n: Any) -> Pose:
        """That of one instant, or of several."""
        return Pose(self.r[n], self.R[n])

    def moved(self, step: Array) -> Pose:
        """After small motions (..., B, 6), translation and rotation of each frame in body axes."""
        turn = Rotation.from_rotvec(step[..., 3:].reshape(-1, 3)).as_matrix()
        shift = (self.R @ step[..., :3, None])[..., 0]
        return Pose(self.r + shift, self.R @ turn.reshape(self.R.shape))

    def distance(self, other: Pose, length: float) -> Array:
        """The largest rotation (rad) or translation (in lengths) between two poses, (...)."""
        # Rotations an angle a apart have ‖R₁ − R₂‖_F = √8 sin(a/2).
        apart = np.sqrt(((self.R - other.R) ** 2).sum(axis=(-2, -1)).max(axis=-1) / 8.0)
        turn = 2.0 * np.arcsin(np.minimum(apart, 1.0))
        shift = np.sqrt(((self.r - other.r) ** 2).sum(axis=-1).max(axis=-1)) / length
        return np.asarray(np.maximum(turn, shift))


@dataclass(frozen=True)
class RigidState:
    """Pose, velocities and accelerations of all moving bodies, at one time or several.

    Parameters
    ----------
    t : float or ndarray, shape (...)
        Times, s.
    pose : Pose
        Origins and rotations.
    twist : ndarray, shape (..., B, 6)
        Velocity of the origin and angular velocity, body axes, m/s and rad/s.
    rate : ndarray, shape (..., B, 6)
        Acceleration of the origin and angular acceleration, body axes, m/s² and rad/s².
    jacobian : Jacobian
        Of the closure.
    """

    t: Any
    pose: Pose
    twist: Array
    rate: Array
    jacobian: Jacobian

    def at(self, n: Any) -> RigidState:
        """That of one of several times, or of some; with a first axis of times for None."""
        t = np.asarray(self.t)[n]
        rates = self.twist[n], self.rate[n]
        return RigidState(t if t.ndim else float(t), self.pose.at(n), *rates, self.jacobian.at(n))

    def kinematics(self, body: int) -> Kinematics:
        """ω, ε, a_O and v_O of one body, at one time."""
        twist, rate = self.twist[body], self.rate[body]
        return Kinematics(twist[3:], rate[3:], rate[:3], twist[:3])

    def ahead(self, step: float) -> Pose:
        """The pose a small time (s) later, to second order."""
        half = 0.5 * step * step * self.rate
        # The origin's acceleration minus ω × v is the rate of its velocity's components.
        half[..., :3] -= 0.5 * step * step * np.cross(self.twist[..., 3:], self.twist[..., :3])
        return self.pose.moved(step * self.twist + half)

    @cached_property
    def frames(self) -> Frames:
        """The jets of all frames, the ground last."""
        return moving_frames(self.pose, self.twist, self.rate)


def resting_frames(pose: Pose) -> Frames:
    """Frames, and the ground's, without rates."""
    *leading, count, _ = pose.r.shape
    origin = np.zeros((1, *leading, count + 1, 3))
    rotation = np.empty((1, *leading, count + 1, 3, 3))
    origin[0, ..., :count, :] = pose.r
    rotation[0, ..., :count, :, :], rotation[0, ..., count, :, :] = pose.R, np.eye(3)
    return Frames(Taylor(origin), Taylor(rotation))


def moving_frames(pose: Pose, twist: Array, rate: Array) -> Frames:
    """Jets of the frames, and of the ground, from twists and accelerations in body axes."""
    *leading, count, _ = pose.r.shape
    origin = np.zeros((3, *leading, count + 1, 3))
    origin[0, ..., :count, :] = pose.r
    origin[1, ..., :count, :] = (pose.R @ twist[..., :3, None])[..., 0]
    origin[2, ..., :count, :] = (pose.R @ rate[..., :3, None])[..., 0]
    rotation = np.zeros((3, *leading, count + 1, 3, 3))
    rotation[0, ..., count, :, :] = np.eye(3)
    rotation[..., :count, :, :] = _rotations(pose.R, twist[..., 3:], rate[..., 3:])
    return Frames(Taylor(origin), Taylor(rotation))


def between(
    states: Sequence[RigidState], first: Index, t: Array, straight: float = 1e-3
) -> tuple[Pose, Mask]:
    """The poses at times t (P,), each between the states number `first` (P,) and the next one, by
    quintic Hermite interpolation of all frames.

    Outside of the two it extrapolates. The error is of sixth order in the time. False where that is
    too long for interpolated rotations to be nearly rotations. straight: largest entry of RᵀR − 1,
    up to 0.3.
    """
    near, place = np.unique(np.concatenate([first, first + 1]), return_inverse=True)
    chosen = [states[n] for n in near]
    start, end = place.reshape(2, -1)
    at = np.array([state.t for state in chosen])
    h = at[end] - at[start]
    weights = _hermite((t - at[start]) / h, h)
    pose = Pose.stacked([state.pose for state in chosen])
    twist, rate = (np.stack([getattr(state, x) for state in chosen]) for x in ("twist", "rate"))
    frames = moving_frames(pose, twist, rate)
    r, R = (
        # Entry by entry, so that the result does not depend on the other times.
        sum(
            weights[k + 3 * side].reshape(-1, *(1,) * (jets.ndim - 2)) * jets[k, number]
            for side, number in enumerate((start, end))
            for k in range(3)
        )
        for jets in (frames.origin.data[:, :, :-1], frames.rotation.data[:, :, :-1])
    )
    stretch = R.swapaxes(-1, -2) @ R - np.eye(3)
    usable = np.abs(stretch).max(axis=(-3, -2, -1)) <= straight
    R[~usable] = np.eye(3)
    for _ in range(5):  # of Newton and Schulz: to round-off
        R = R @ (1.5 * np.eye(3) - 0.5 * R.swapaxes(-1, -2) @ R)
    return Pose(r, R), np.asarray(usable)


def _hermite(s: Array, h: Array) -> Array:
    """Weights (6, P) of x, ẋ, ẍ at both ends of intervals h (P,), a share s (P,) into them."""
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


def _rotations(R: Array, omega: Array, epsilon: Array) -> Array:
    """R, Ṙ = Rω̃, R̈ = R(ω̃ω̃ + ε̃) for rotations (..., 3, 3) and body-axes ω, ε (..., 3)."""
    spin = skew(omega)
    return np.stack([R, R @ spin, R @ (spin @ spin + skew(epsilon))])
