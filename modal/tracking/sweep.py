"""The sweep: the instants of a motion, or the values of one parameter."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from assembly.errors import InputError
from assembly.kinematics import unit_axis
from assembly.system.frozen import FrozenSystem
from modal.tracking.over import axis_values, check_over, is_swept
from modal.types import Array

# Parameters that are the speed of rotation.
SPEEDS = ("omega", "speed_rpm")


@dataclass(frozen=True)
class Sweep:
    """A model frozen at the values `at` (T,) of `name`: "time" (s) or a parameter.

    constant: the other parameters. axis: of the sense of rotation, or None.
    """

    model: Any
    name: str
    at: Array
    constant: Mapping[str, Any]
    axis: Array | None = None
    _spins: Array = field(init=False, repr=False)
    _sizes: list[int] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_spins", np.full(len(self.at), np.nan))

    @classmethod
    def of(
        cls,
        model: Any,
        times: ArrayLike | None,
        parameters: Mapping[str, Any],
        axis: ArrayLike | None,
        over: Mapping[str, ArrayLike] | None = None,
    ) -> Sweep:
        """From the arguments of `modal.track`. Raises InputError when they are not one sweep."""
        if not callable(getattr(model, "freeze", None)):
            raise InputError(
                f"model: expected an object with a method freeze, got {type(model).__name__}"
            )
        about = None if axis is None else unit_axis(axis)
        if over is not None:
            name, values = _only(over, times, parameters)
            return cls(model, name, _values(name, values), dict(parameters), about)._accepted()
        if times is not None:
            found = cls(model, "time", _values("times", times), dict(parameters), about)
            return found._accepted()
        arrays = [key for key, value in parameters.items() if is_swept(key, value)]
        if len(arrays) > 1:  # three components are a vector when something else can be the sweep
            arrays = [key for key in arrays if len(parameters[key]) != 3] or arrays
        if len(arrays) != 1:
            names = ", ".join(arrays) or "none"
            raise InputError(
                "track: give times, over, or exactly one parameter as an array; "
                f"arrays found: {names}"
            )
        name = arrays[0]
        constant = {key: value for key, value in parameters.items() if key != name}
        return cls(model, name, _values(name, parameters[name]), constant, about)._accepted()

    def _accepted(self) -> Sweep:
        """Itself, when the model's freeze takes what is swept and what is constant."""
        try:
            signature = inspect.signature(self.model.freeze)
        except ValueError:  # a compiled callable does not say what it takes
            return self
        swept = {} if self.name == "time" else {self.name: self.at[0]}
        first = next(iter(signature.parameters), "")
        if self.name == "time" and first in SPEEDS:
            raise InputError(
                f"times: this model's freeze takes {first}, not a time; sweep {first}, or give it "
                "a motion"
            )
        try:
            signature.bind(*(() if swept else (self.at[0],)), **swept, **self.constant)
        except TypeError as fault:
            raise InputError(f"model: freeze cannot be called so: {fault}") from None
        return self

    def freeze(self, value: float) -> FrozenSystem:
        """The model at one value. Raises InputError when that is not a frozen system, or one of
        another size than before.
        """
        if self.name == "time":
            system = self.model.freeze(value, **self.constant)
        else:
            system = self.model.freeze(**{self.name: value}, **self.constant)
        if not isinstance(system, FrozenSystem):
            raise InputError(
                f"model: freeze at {self.place(value)} returned {type(system).__name__}, "
                "expected a FrozenSystem"
            )
        if not self._sizes:
            self._sizes.append(system.n)
        elif system.n != self._sizes[0]:
            raise InputError(
                f"model: has {system.n} degrees of freedom at {self.place(value)}, "
                f"{self._sizes[0]} elsewhere"
            )
        n = self._number(value)
        if n is not None:
            self._spins[n] = self._spin(value, system)
        return system

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest value."""
        return float(min(self.at[0], self.at[-1])), float(max(self.at[0], self.at[-1]))

    @property
    def span(self) -> float:
        """Their distance."""
        return abs(float(self.at[-1] - self.at[0]))

    def _number(self, value: float) -> int | None:
        """The number of a swept value, None for a value between them."""
        at, wanted = (self.at, value) if self.at[0] <= self.at[-1] else (-self.at, -value)
        n = int(np.searchsorted(at, wanted))
        return n if n < len(at) and at[n] == wanted else None

    def place(self, value: float) -> str:
        """A value by name, for messages."""
        return f"{self.name} = {value:.6g}"

    def spin(self, value: float) -> float:
        """Angular velocity about the axis at a swept value that was frozen, NaN if not known."""
        n = self._number(value)
        return np.nan if n is None else float(self._spins[n])

    @staticmethod
    def sense(spins: Array) -> Array:
        """The sense of rotation about the axis from the `spin` of the first values, ±1 (T, 1).

        From the angular velocity of the frozen system, otherwise from a parameter that is a speed,
        swept or constant; positive where neither is known. At rest it is that of the next rotating
        value, otherwise of the last one.
        """
        sense = np.where(spins < 0.0, -1.0, 1.0)
        turning = np.flatnonzero(spins != 0.0)
        for n in np.flatnonzero(spins == 0.0) if turning.size else ():
            after = turning[turning > n]
            sense[n] = sense[after[0] if after.size else turning[-1]]
        return sense[:, None]

    def _spin(self, value: float, system: FrozenSystem) -> float:
        given = (system.parameters or {}).get("omega")
        if given is None:
            known = {**self.constant, self.name: value}
            given = next((known[name] for name in SPEEDS if name in known), np.nan)
        omega = np.asarray(given, dtype=float)
        if omega.size == 1:
            return float(omega.reshape(()))
        return float(omega @ self.axis) if self.axis is not None and omega.size == 3 else np.nan


def _only(
    over: Mapping[str, ArrayLike], times: ArrayLike | None, parameters: Mapping[str, Any]
) -> tuple[str, ArrayLike]:
    """The one parameter of an explicit sweep. Raises InputError."""
    check_over(over, parameters)
    if times is not None:
        raise InputError("track: give times or over, not both")
    if len(over) != 1:
        raise InputError(f"over: track needs exactly one parameter, got {', '.join(over)}")
    return next(iter(over.items()))


def _values(name: str, values: ArrayLike) -> Array:
    at = axis_values(name, values)
    steps = np.diff(at)
    if not (np.all(steps > 0.0) or np.all(steps < 0.0)):
        raise InputError(
            f"{name}: values must increase (or decrease) strictly, so that modes can be followed"
        )
    return at
