"""Scalar laws of time for drivers: value, rate and second derivative, all analytic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from assembly.arguments import as_number, real_array, shown
from assembly.errors import MotionError
from assembly.magnitudes import ACCELERATION, RATE


@runtime_checkable
class Law(Protocol):
    """A scalar function of time with two derivatives."""

    def at(self, t: float) -> tuple[float, float, float]:
        """(q, q̇, q̈) at time t."""
        ...

    @property
    def period(self) -> float | None:
        """The time (s) after which a rotation repeats its position, or None."""
        ...


@dataclass(frozen=True)
class Uniform:
    """q = start + rate t + ½ acceleration t².

    Parameters
    ----------
    rate : float
        rad/s or m/s.
    start : float
        Value at t = 0, rad or m.
    acceleration : float
        rad/s² or m/s².

    Raises
    ------
    MotionError
        For values that are not finite or too large.
    """

    rate: float
    start: float = 0.0
    acceleration: float = 0.0

    def __post_init__(self) -> None:
        RATE.number(self.rate, "rate", MotionError)
        ACCELERATION.number(self.acceleration, "acceleration", MotionError)
        if not np.isfinite(as_number(self.start, "start", MotionError)):
            raise MotionError(f"start: must be a finite number, got {self.start}")

    def at(self, t: float) -> tuple[float, float, float]:
        """(q, q̇, q̈) at time t (s)."""
        rate = self.rate + self.acceleration * t
        return self.start + (self.rate + 0.5 * self.acceleration * t) * t, rate, self.acceleration

    @property
    def period(self) -> float | None:
        """Time (s) of one turn when q is an angle at constant rate, or None."""
        if self.acceleration != 0.0 or self.rate == 0.0:
            return None
        return 2.0 * np.pi / abs(self.rate)


@dataclass(frozen=True)
class Harmonic:
    """q = mean + amplitude sin(angular_frequency t + phase).

    Parameters
    ----------
    amplitude : float
        rad or m.
    angular_frequency : float
        Angular frequency, rad/s.
    phase : float
        rad.
    mean : float
        rad or m.

    Raises
    ------
    MotionError
        For values that are not finite, or an angular frequency that is not positive.
    """

    amplitude: float
    angular_frequency: float
    phase: float = 0.0
    mean: float = 0.0

    def __post_init__(self) -> None:
        for name in ("amplitude", "angular_frequency", "phase", "mean"):
            if not np.isfinite(as_number(getattr(self, name), name, MotionError)):
                raise MotionError(f"{name}: must be a finite number, got {getattr(self, name)}")
        if not RATE.least <= self.angular_frequency <= RATE.largest:
            raise MotionError(
                f"angular_frequency: must be positive, between {RATE.least:g} and "
                f"{RATE.largest:g} rad/s, got {self.angular_frequency}"
            )

    def at(self, t: float) -> tuple[float, float, float]:
        """(q, q̇, q̈) at time t (s)."""
        angle = self.angular_frequency * t + self.phase
        swing = self.amplitude * np.sin(angle)
        rate = self.amplitude * self.angular_frequency * np.cos(angle)
        return self.mean + swing, rate, -(self.angular_frequency**2) * swing

    @property
    def period(self) -> float | None:
        """Period 2π over the angular frequency, s."""
        return 2.0 * np.pi / self.angular_frequency


@dataclass(frozen=True)
class FunctionLaw:
    """A law from one callable t → (q, q̇, q̈); `period` when the caller knows it."""

    function: Callable[[float], tuple[float, float, float]]
    period: float | None = None

    def at(self, t: float) -> tuple[float, float, float]:
        given = self.function(t)
        values = real_array(given)
        if values is None or values.shape != (3,) or not np.all(np.isfinite(values)):
            raise MotionError(
                f"driver law at t = {t:g} s: expected three finite numbers q, q', q'', got "
                f"{shown(given)}"
            )
        q, rate, acceleration = values.tolist()
        return q, rate, acceleration


def as_law(value: Law | float | Callable[[float], tuple[float, float, float]]) -> Law:
    """A law from a law, a constant rate (per s), or a callable t → (q, q̇, q̈)."""
    if isinstance(value, Law):
        return value
    if isinstance(value, int | float):
        return Uniform(float(value))
    if callable(value):
        return FunctionLaw(value)
    raise MotionError(
        f"driver law: expected a rate, a law or a function of time, got {type(value).__name__}"
    )
