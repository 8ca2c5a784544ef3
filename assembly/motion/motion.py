"""Prescribed rigid motions of one body: where the frame is, and its kinematics in body axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

from assembly.bodies.body import Body, Prestress
from assembly.bodies.turning_checks import check_rotation, check_support
from assembly.errors import MotionError
from assembly.kinematics import Kinematics, as_vector, unit_axis
from assembly.magnitudes import POSITION
from assembly.motion.laws import Harmonic, Law, Uniform
from assembly.system.frozen import FrozenSystem
from assembly.types import Array

LONGEST_TIME, SHORTEST_STEP = 1e15, 1e-15  # s, of a record


@runtime_checkable
class Motion(Protocol):
    """The interface of a rigid motion of a body's frame: a method `at(t)`."""

    def at(self, t: float) -> Kinematics:
        """Kinematics in body axes at time t.

        Parameters
        ----------
        t : float
            s.

        Returns
        -------
        Kinematics
        """
        ...


@dataclass(frozen=True)
class Turning:
    """Rotation about an axis through the origin that is fixed in body and space.

    Parameters
    ----------
    law : Law
        The angle over time, rad: `Uniform`, `Harmonic` or another law with `at` and `period`.
    axis : array_like, shape (3,)
        Direction of the axis.
    """

    law: Law
    axis: ArrayLike = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "axis", unit_axis(self.axis))

    def at(self, t: float) -> Kinematics:
        """Kinematics at time t.

        Parameters
        ----------
        t : float
            s.

        Returns
        -------
        Kinematics
        """
        _, rate, second = self.law.at(t)
        axis = np.asarray(self.axis)
        return Kinematics(rate * axis, second * axis)

    def frame(self, t: float) -> tuple[Array, Array]:
        """Position of the frame at time t.

        Parameters
        ----------
        t : float
            s.

        Returns
        -------
        origin : ndarray, shape (3,)
            Fixed axes, m.
        rotation : ndarray, shape (3, 3)
            From body to fixed axes.
        """
        angle = self.law.at(t)[0]
        return np.zeros(3), Rotation.from_rotvec(angle * np.asarray(self.axis)).as_matrix()

    @property
    def period(self) -> float | None:
        """The time (s) after which the rotation repeats, or None."""
        return self.law.period


def spin(omega: float, axis: ArrayLike = (0.0, 0.0, 1.0)) -> Turning:
    """Rotation at constant speed.

    Parameters
    ----------
    omega : float
        rad/s.
    axis : array_like, shape (3,)
        Axis through the origin, fixed in body and space.

    Returns
    -------
    Turning

    Examples
    --------
    >>> import assembly
    >>> print(assembly.spin(100.0).at(0.5).omega)
    [  0.   0. 100.]
    """
    return Turning(Uniform(rate=omega), axis)


def ramp(epsilon: float, omega: float = 0.0, axis: ArrayLike = (0.0, 0.0, 1.0)) -> Turning:
    """Rotation at ω(t) = omega + epsilon t.

    Parameters
    ----------
    epsilon : float
        rad/s².
    omega : float
        Speed at t = 0, rad/s.
    axis : array_like, shape (3,)
        Axis through the origin, fixed in body and space.

    Returns
    -------
    Turning
    """
    return Turning(Uniform(rate=omega, acceleration=epsilon), axis)


def swing(
    amplitude: float,
    frequency: float,
    axis: ArrayLike = (0.0, 0.0, 1.0),
    phase: float = 0.0,
) -> Turning:
    """Harmonic rotation by the angle amplitude · sin(frequency t + phase).

    Parameters
    ----------
    amplitude : float
        rad.
    frequency : float
        Angular frequency, rad/s.
    axis : array_like, shape (3,)
        Axis through the origin, fixed in body and space.
    phase : float
        rad.

    Returns
    -------
    Turning
    """
    return Turning(Harmonic(amplitude, frequency, phase), axis)


@dataclass(frozen=True)
class Steady:
    """Constant kinematics: the coefficients do not depend on time, even where ε ≠ 0 would change ω.

    Parameters
    ----------
    omega, epsilon, acceleration, velocity : array_like, shape (3,)
        As for `Kinematics`.
    """

    omega: ArrayLike = (0.0, 0.0, 0.0)
    epsilon: ArrayLike = (0.0, 0.0, 0.0)
    acceleration: ArrayLike = (0.0, 0.0, 0.0)
    velocity: ArrayLike = (0.0, 0.0, 0.0)

    def at(self, t: float) -> Kinematics:
        """Kinematics at time t.

        Parameters
        ----------
        t : float
            s.

        Returns
        -------
        Kinematics
        """
        return Kinematics(
            as_vector(self.omega, "omega"),
            as_vector(self.epsilon, "epsilon"),
            as_vector(self.acceleration, "acceleration"),
            as_vector(self.velocity, "velocity"),
        )


@dataclass(frozen=True)
class FunctionMotion:
    """A motion from a function of time.

    Parameters
    ----------
    function : callable
        t (s) → Kinematics, (ω, ε, a_O) or (ω, ε, a_O, v_O) in body axes. Without v_O (m/s) the
        velocity of the origin is zero; only dampers against the surroundings depend on it.
    period : float, optional
        Time after which the motion repeats, s.
    """

    function: Callable[[float], Kinematics | tuple[ArrayLike, ...]]
    period: float | None = None

    def at(self, t: float) -> Kinematics:
        """Kinematics at time t.

        Parameters
        ----------
        t : float
            s.

        Returns
        -------
        Kinematics

        Raises
        ------
        MotionError
            When the function returns something else.
        """
        values = self.function(t)
        if isinstance(values, Kinematics):
            return values
        if not isinstance(values, tuple) or len(values) not in (3, 4):
            raise MotionError(
                f"motion at t = {t:g} s: expected Kinematics, (omega, epsilon, acceleration) or "
                f"(omega, epsilon, acceleration, velocity), got {type(values).__name__}"
            )
        names = ("omega", "epsilon", "acceleration", "velocity")
        return Kinematics(*(as_vector(v, n) for v, n in zip(values, names, strict=False)))


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
        """Kinematics at time t.

        Parameters
        ----------
        t : float
            s.

        Returns
        -------
        Kinematics

        Raises
        ------
        MotionError
            Outside the recorded time.
        """
        check_inside(t, self.times)
        place, attitude = self._splines
        R = attitude(t).as_matrix()
        return Kinematics(attitude(t, 1), attitude(t, 2), R.T @ place(t, 2), R.T @ place(t, 1))

    def frame(self, t: float) -> tuple[Array, Array]:
        """Position of the frame at time t.

        Parameters
        ----------
        t : float
            s.

        Returns
        -------
        origin : ndarray, shape (3,)
            Fixed axes, m.
        rotation : ndarray, shape (3, 3)
            From body to fixed axes.

        Raises
        ------
        MotionError
            Outside the recorded time.
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


@dataclass(frozen=True)
class MovingBody:
    """A body and its rigid motion: a model with `freeze(t)`. Made by `moving`.

    Parameters
    ----------
    body : Body
    motion : Motion
    prestress : {"linear", "nonlinear", None}
        As for `Body.freeze`.
    """

    body: Body
    motion: Motion
    prestress: Prestress = "linear"

    def __post_init__(self) -> None:
        if not isinstance(self.motion, Motion):
            raise MotionError(
                f"motion: expected an object with at(t), got {type(self.motion).__name__}"
            )

    @property
    def period(self) -> float | None:
        """The time (s) after which the motion repeats, or None."""
        return getattr(self.motion, "period", None)

    def freeze(self, t: float) -> FrozenSystem:
        """The frozen system at time t.

        Parameters
        ----------
        t : float
            s.

        Returns
        -------
        FrozenSystem
        """
        now = self.motion.at(float(t))
        shown = dict(
            t=float(t), omega=now.omega, epsilon=now.epsilon, acceleration=now.acceleration
        )
        if np.any(now.velocity):
            shown["velocity"] = now.velocity
        return self.body.freeze_kinematics(now, self.prestress, shown)


def moving(
    body: Body, motion: Motion | Callable[..., object], prestress: Prestress = "linear"
) -> MovingBody:
    """A body with a prescribed motion.

    A PlausibilityWarning is issued for a rotation that is too fast, and for a body that no support
    holds on the axis it turns about.

    Parameters
    ----------
    body : Body
        The body.
    motion : Motion or callable
        A motion, or a function as for `FunctionMotion`.
    prestress : {"linear", "nonlinear", None}
        As for `Body.freeze`.

    Returns
    -------
    MovingBody

    Raises
    ------
    MotionError
        When `motion` is neither.

    Examples
    --------
    >>> import assembly
    >>> section = assembly.rectangle(0.05, 0.02)
    >>> body = assembly.beam(1.0, section, assembly.steel, 10, clamped="start")
    >>> model = assembly.moving(body, assembly.ramp(epsilon=20.0))
    >>> print(model.freeze(t=3.0).parameters["omega"])
    [ 0.  0. 60.]
    """
    if not isinstance(motion, Motion):
        if not callable(motion):
            raise MotionError(
                f"motion: expected a motion or a function of time, got {type(motion).__name__}"
            )
        motion = FunctionMotion(motion)  # type: ignore[arg-type]
    if isinstance(motion, Turning | Steady):
        _check_turning(body, motion.at(0.0))
    return MovingBody(body, motion, prestress)


def _check_turning(body: Body, now: Kinematics) -> None:
    """Asks about a rotation that is too fast, or about an axis on which nothing holds the body."""
    turning = now.omega if now.omega.any() else now.epsilon
    if turning.any() and not now.acceleration.any():
        check_rotation(body, now.omega)
        check_support(body, turning)
