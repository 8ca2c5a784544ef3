"""A marker record of a bar whose motion is known: the lever of the wind pump, seen by cameras."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assembly import Kinematics
from assembly.types import Array
from studies.wind_pump.machine import Pump
from studies.wind_pump.rigid import motion

# Vlase, Nicolescu & Marin (2020), Table 2: least and greatest speed (m/s) and acceleration (m/s²)
# of markers 1 and 2.
TABLE_2 = np.array(
    [
        [[0.3064, 0.8942, 1.923, 8.991], [0.2524, 0.6702, 1.480, 7.325]],
        [[0.2633, 1.006, 1.763, 9.962], [0.2423, 0.8458, 0.8995, 9.851]],
        [[0.2538, 1.194, 2.448, 14.580], [0.3259, 1.015, 2.233, 14.490]],
        [[0.3464, 1.243, 2.445, 13.980], [0.2592, 0.9965, 2.421, 12.610]],
        [[0.3155, 1.538, 2.957, 16.330], [0.3552, 1.296, 3.000, 14.260]],
    ]
)
# Markers in the axes of the bar, m: 1 and 2 on it, two on brackets: they must not be in line.
MARKERS = np.array([[0.35, 0.0, 0.0], [0.2, 0.0, 0.0], [0.1, 0.06, 0.0], [0.5, -0.06, 0.0]])


@dataclass(frozen=True)
class KnownMotion:
    """The lever's exact motion at a crank speed (rad/s). The frame's origin is the joint B."""

    speed: float

    @property
    def pump(self) -> Pump:
        return Pump(speed_rpm=self.speed * 60.0 / (2.0 * np.pi))

    @property
    def period(self) -> float:
        return 2.0 * np.pi / self.speed

    def frame(self, t: float) -> tuple[Array, Array]:
        """Origin (3,), m, and rotation (3, 3), body to fixed axes."""
        now = motion(self.pump, t)
        phi, beta = now.q[0], now.angles[0]
        c, s = np.cos(beta), np.sin(beta)
        r = self.pump.l1 * np.array([np.cos(phi), np.sin(phi), 0.0])
        return r, np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])

    def at(self, t: float) -> Kinematics:
        """ω, ε, a_O and v_O in body axes, exact."""
        now = motion(self.pump, t)
        r, R = self.frame(t)
        moved = np.array([-self.speed * r[1], self.speed * r[0], 0.0])
        return Kinematics(
            np.array([0.0, 0.0, now.angle_rates[0]]),
            np.array([0.0, 0.0, now.angle_accelerations[0]]),
            R.T @ (-(self.speed**2) * r),
            R.T @ moved,
        )

    def markers(self, times: Array) -> Array:
        """Exact places (n, N, 3) of the markers, m."""
        return np.array([r + MARKERS @ R.T for r, R in map(self.frame, times)])

    def marker_rates(self, t: float) -> tuple[Array, Array]:
        """Speed and size of the acceleration (N,) of the markers, m/s and m/s²."""
        now = self.at(t)
        velocity = now.velocity + np.cross(now.omega, MARKERS)
        acceleration = now.acceleration + np.cross(now.epsilon, MARKERS)
        acceleration = acceleration + np.cross(now.omega, np.cross(now.omega, MARKERS))
        return np.linalg.norm(velocity, axis=1), np.linalg.norm(acceleration, axis=1)


def speeds_of_table_2() -> list[KnownMotion]:
    """Motions whose marker 1 reaches the greatest speeds of Table 2.

    All places of the pump depend on the crank angle alone, so speeds are in proportion to ω.
    """
    unit = KnownMotion(1.0)
    turn = np.linspace(0.0, unit.period, 361)
    fastest = max(float(unit.marker_rates(t)[0][0]) for t in turn)
    return [KnownMotion(float(row[0, 1]) / fastest) for row in TABLE_2]


def record(motion: KnownMotion, rate: float, noise: float, seed: int) -> tuple[Array, Array]:
    """Times (n,) and markers (n, N, 3) at `rate` (1/s) over a turn and a margin, each coordinate
    with independent normal noise of standard deviation `noise` (m).
    """
    margin = 0.12 * motion.period  # at each end: splines are loose at their ends
    times = np.arange(-margin, motion.period + margin, 1.0 / rate)
    generator = np.random.default_rng(seed)
    exact = motion.markers(times)
    return times, exact + noise * generator.standard_normal(exact.shape)


def extremes(motion: KnownMotion) -> Array:
    """(2, 4): least and greatest speed and acceleration of markers 1 and 2, as in Table 2."""
    turn = np.linspace(0.0, motion.period, 181)
    rates = np.array([motion.marker_rates(t) for t in turn])[:, :, :2]
    ends = np.stack([rates.min(axis=0), rates.max(axis=0)], axis=-1)
    return np.asarray(ends.swapaxes(0, 1).reshape(2, 4))
