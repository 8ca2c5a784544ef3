"""A motion through recorded positions and attitudes, and the checks of a record."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

from assembly.errors import MotionError
from assembly.kinematics import Kinematics
from assembly.magnitudes import POSITION
from assembly.types import Array

LONGEST_TIME, SHORTEST_STEP = 1e15, 1e-15  # s, of a record


@dataclass(frozen=True)
class Sampled:
    """A motion through recorded positions and attitudes, interpolated with continuous ε and a_O.

    Parameters
    ----------
    times : array_like, shape (n,)
        s, increasing, n ≥ 4.
    positions : array_like, shape (n, 3)
        Origin of the frame, fixed axes, m.
    quaternions : array_like, shape (n, 4)
        (x, y, z, w), body to fixed axes, either sign.
    period : float, optional
        Time after which the motion repeats, s.

    Raises
    ------
    MotionError
        For a record that cannot be used.

    Notes
    -----
    Cubic splines: scipy's CubicSpline for positions and RotationSpline for attitudes.
    """

    times: Array
    positions: Array
    quaternions: Array
    period: float | None = field(default=None)

    def __post_init__(self) -> None:
        times = check_times(self.times, least=4)
        for name, width in (("positions", 3), ("quaternions", 4)):
            value = np.asarray(getattr(self, name), dtype=float)
            if value.shape != (len(times), width):
                raise MotionError(
                    f"{name}: expected shape ({len(times)}, {width}), got {value.shape}"
                )
            bad = np.flatnonzero(~(np.abs(value) <= POSITION.largest).all(axis=1))
            if bad.size:
                raise MotionError(
                    f"{name}: row {bad[0]} (t = {times[bad[0]]:g} s) is not a finite number of at"
                    f" most {POSITION.largest:g}"
                )
            object.__setattr__(self, name, value)
        sizes = np.linalg.norm(self.quaternions, axis=1)
        if np.any(np.abs(sizes - 1.0) > 1e-2):
            row = int(np.abs(sizes - 1.0).argmax())
            raise MotionError(
                f"quaternions: row {row} has the norm {sizes[row]:.4g}; unit quaternions are needed"
            )
        object.__setattr__(self, "times", times)

    @cached_property
    def _splines(self) -> tuple[CubicSpline, RotationSpline]:
        attitudes = Rotation.from_quat(self.quaternions)
        return CubicSpline(self.times, self.positions), RotationSpline(self.times, attitudes)

    def at(self, t: float) -> Kinematics:
        """Kinematics at time t (s). Raises MotionError outside the recorded time."""
        check_inside(t, self.times)
        place, attitude = self._splines
        R = attitude(t).as_matrix()
        return Kinematics(attitude(t, 1), attitude(t, 2), R.T @ place(t, 2), R.T @ place(t, 1))

    def frame(self, t: float) -> tuple[Array, Array]:
        """Origin (3,), m, and rotation (3, 3) of the frame, body to fixed axes, at time t (s).

        Raises MotionError outside the recorded time.
        """
        check_inside(t, self.times)
        place, attitude = self._splines
        return np.asarray(place(t)), np.asarray(attitude(t).as_matrix())


def check_times(times: ArrayLike, least: int) -> Array:
    """Increasing finite times; MotionError otherwise."""
    t = np.asarray(times, dtype=float)
    if t.ndim != 1 or len(t) < least:
        raise MotionError(f"times: at least {least} instants are needed, got shape {t.shape}")
    inside = np.abs(t) <= LONGEST_TIME
    if not np.all(inside):
        entry = int(np.argmin(inside))
        raise MotionError(
            f"times: entry {entry} is not a finite number of at most {LONGEST_TIME:g} s"
        )
    steps = np.diff(t)
    if np.any(steps <= 0.0):
        row = int(steps.argmin()) + 1
        raise MotionError(f"times: must increase, but t[{row}] = {t[row]:g} ≤ t[{row - 1}]")
    if steps.min() < SHORTEST_STEP:
        row = int(steps.argmin()) + 1
        raise MotionError(f"times: t[{row}] is less than {SHORTEST_STEP:g} s after t[{row - 1}]")
    return t


def check_inside(t: float, times: Array) -> None:
    """MotionError when t is outside of a record."""
    if not times[0] <= t <= times[-1]:
        raise MotionError(
            f"t = {t:g} s is outside of the record, which is from {times[0]:g} to {times[-1]:g} s"
        )
