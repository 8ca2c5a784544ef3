"""Prescribed rigid motions of one body: where the frame is, and its kinematics in body axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from assembly.errors import MotionError
from assembly.kinematics import Kinematics, as_vector, unit_axis
from assembly.motion.laws import Harmonic, Law, Uniform
from assembly.types import Array


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
        """Kinematics at time t (s)."""
        _, rate, second = self.law.at(t)
        axis = np.asarray(self.axis)
        return Kinematics(rate * axis, second * axis)

    def frame(self, t: float) -> tuple[Array, Array]:
        """Origin (3,), m, and rotation (3, 3) of the frame, body to fixed axes, at time t (s)."""
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
    angular_frequency: float,
    axis: ArrayLike = (0.0, 0.0, 1.0),
    phase: float = 0.0,
) -> Turning:
    """Harmonic rotation by the angle amplitude · sin(angular_frequency t + phase).

    Parameters
    ----------
    amplitude : float
        rad.
    angular_frequency : float
        Angular frequency, rad/s.
    axis : array_like, shape (3,)
        Axis through the origin, fixed in body and space.
    phase : float
        rad.

    Returns
    -------
    Turning
    """
    return Turning(Harmonic(amplitude, angular_frequency, phase), axis)


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
        """Kinematics at time t (s)."""
        return Kinematics(**{name: as_vector(x, name) for name, x in vars(self).items()})


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
