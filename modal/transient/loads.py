"""Loads on the vibration: harmonic, impulse, tabulated, and the inertia of the rigid motion.

The place of a load (`at`) is (body, node, component) such as ("blade", 10, "ux"), the number of a
degree of freedom, or a vector (n,) of generalised forces that the amplitude multiplies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from assembly.arguments import as_number, as_numbers
from assembly.errors import InputError
from assembly.system.frozen import FrozenSystem
from modal.transient.probes import dof_number, is_place
from modal.types import Array

Place: TypeAlias = "tuple[str, int, str] | tuple[int, str] | int | ArrayLike"


class Load(Protocol):
    """A generalised force as a function of time, of any class with these members; a class that
    inherits them is smooth and has no cycle."""

    @property
    def events(self) -> tuple[float, ...]:
        """Instants where the load is not smooth, s. An adaptive step ends there."""
        return ()

    @property
    def shortest(self) -> float:
        """Shortest cycle of the load, s."""
        return np.inf

    def force(self, t: float, system: FrozenSystem) -> Array:
        """Generalised forces (n,) at time t (s)."""
        ...


@dataclass(frozen=True)
class Harmonic(Load):
    """Harmonic load, amplitude · sin(angular_frequency · t + phase).

    Parameters
    ----------
    at : (str, int, str), int, or array_like, shape (n,)
        (body, node, component) such as ("blade", 10, "ux"), the number of a degree of freedom, or a
        vector of generalised forces that the amplitude multiplies.
    amplitude : float
        N, or N·m for a rotation.
    angular_frequency : float
        Angular frequency, rad/s.
    phase : float, default 0.0
        rad.

    Raises
    ------
    InputError
        A value is not a finite number.

    Examples
    --------
    >>> import modal
    >>> load = modal.Harmonic(at=("blade", 4, "uy"), amplitude=10.0, angular_frequency=50.0)
    """

    at: Place
    amplitude: float
    angular_frequency: float
    phase: float = 0.0

    def __post_init__(self) -> None:
        for name in ("amplitude", "angular_frequency", "phase"):
            if not np.isfinite(as_number(getattr(self, name), f"harmonic load: {name}")):
                raise InputError(f"harmonic load: {name} must be finite")

    @property
    def shortest(self) -> float:
        return 2.0 * np.pi / abs(self.angular_frequency) if self.angular_frequency else np.inf

    def force(self, t: float, system: FrozenSystem) -> Array:
        size = self.amplitude * np.sin(self.angular_frequency * t + self.phase)
        return np.asarray(size * direction(self.at, system))


@dataclass(frozen=True)
class Impulse:
    """Half-sine impulse.

    Parameters
    ----------
    at : (str, int, str), int, or array_like, shape (n,)
        Place of the load, as in `Harmonic`.
    impulse : float
        Integral of the force over time, N·s, or N·m·s for a rotation.
    duration : float
        s, positive.
    start : float, default 0.0
        s.

    Raises
    ------
    InputError
        The duration is not positive.

    Notes
    -----
    The force is (π/2) (impulse / duration) sin(π (t − start) / duration) within the duration and
    zero outside.
    """

    at: Place
    impulse: float
    duration: float
    start: float = 0.0

    def __post_init__(self) -> None:
        for name in ("impulse", "duration", "start"):
            if not np.isfinite(as_number(getattr(self, name), f"impulse: {name}")):
                raise InputError(f"impulse: {name} must be finite")
        if not self.duration > 0.0:
            raise InputError(f"impulse: duration must be positive, got {self.duration} s")

    @property
    def events(self) -> tuple[float, ...]:
        return (self.start, self.start + self.duration)

    @property
    def shortest(self) -> float:
        return 2.0 * self.duration

    def force(self, t: float, system: FrozenSystem) -> Array:
        phase = (t - self.start) / self.duration
        if not 0.0 < phase < 1.0:
            return np.zeros(system.n)
        # ∫ sin(π s) ds over [0, 1] is 2/π.
        size = 0.5 * np.pi * self.impulse / self.duration * np.sin(np.pi * phase)
        return np.asarray(size * direction(self.at, system))


class Table:
    """A table over time, linear between the values and zero outside."""

    times: ArrayLike
    values: ArrayLike

    @property
    def events(self) -> tuple[float, ...]:
        return tuple(float(t) for t in np.asarray(self.times))

    @property
    def shortest(self) -> float:
        return 4.0 * float(np.diff(np.asarray(self.times, dtype=float)).min())

    def value(self, t: float) -> float:
        """The value at time t, s."""
        return float(np.interp(t, np.asarray(self.times), np.asarray(self.values), 0.0, 0.0))


@dataclass(frozen=True)
class Tabulated(Table):
    """Tabulated load, linear between the values and zero outside the table.

    Parameters
    ----------
    at : (str, int, str), int, or array_like, shape (n,)
        Place of the load, as in `Harmonic`.
    times : array_like, shape (T,)
        s, strictly increasing, two or more.
    values : array_like, shape (T,)
        N, or N·m for a rotation.

    Raises
    ------
    InputError
        The shapes differ, a number is not finite, or the times do not increase.
    """

    at: Place
    times: ArrayLike
    values: ArrayLike

    def __post_init__(self) -> None:
        times = as_numbers(self.times, "tabulated load: times")
        values = as_numbers(self.values, "tabulated load: values")
        if times.ndim != 1 or times.shape != values.shape or times.size < 2:
            raise InputError(
                "tabulated load: times and values must be two lists of one length, 2 or more; got "
                f"shapes {times.shape} and {values.shape}"
            )
        if not (np.all(np.isfinite(times)) and np.all(np.isfinite(values))):
            raise InputError("tabulated load: times and values must be finite numbers")
        if np.any(np.diff(times) <= 0.0):
            k = int(np.argmax(np.diff(times) <= 0.0))
            raise InputError(f"tabulated load: times must increase, but entry {k + 1} does not")

    def force(self, t: float, system: FrozenSystem) -> Array:
        return self.value(t) * direction(self.at, system)


@dataclass(frozen=True)
class InertiaLoads(Load):
    """Inertia loads of the rigid motion, and all else that the model has in Q(t), times `factor`.

    Parameters
    ----------
    factor : float, default 1.0
        Factor of the frozen system's Q.
    """

    factor: float = 1.0

    def force(self, t: float, system: FrozenSystem) -> Array:
        return self.factor * system.Q


def direction(at: Any, system: FrozenSystem) -> Array:
    """The generalised force (n,) of a unit amplitude."""
    if is_place(at) or np.ndim(at) == 0:
        unit = np.zeros(system.n)
        unit[dof_number(at, system)] = 1.0
        return unit
    vector = np.asarray(at, dtype=float)
    if vector.shape != (system.n,) or not np.all(np.isfinite(vector)):
        raise InputError(
            f"load: expected {system.n} finite generalised forces, got shape {vector.shape}"
        )
    return vector


def total_force(
    loads: Sequence[Load], system_at: Callable[[float], FrozenSystem], n: int
) -> Callable[[float], Array]:
    """The sum of the loads (n,) as a function of time."""

    def force(t: float) -> Array:
        total = np.zeros(n)
        if not loads:
            return total
        system = system_at(t)
        for load in loads:
            total += load.force(t, system)
        return total

    return force


def check_resolved(loads: Sequence[Load], span: tuple[float, float], step: float) -> None:
    """Raise InputError where an impulse within the span is shorter than four steps."""
    for load in loads:
        if not isinstance(load, Impulse) or load.duration >= 4.0 * step:
            continue
        if load.start < span[1] and load.start + load.duration > span[0]:
            raise InputError(
                f"step: {step:.6g} s is too long for an impulse of {load.duration:.6g} s; "
                f"take {0.25 * load.duration:.6g} s or less, or let the steps adapt"
            )
