"""What is swept: the instants of a motion, or the values of parameters, as arrays among the
keywords or explicitly, `over={"omega": speeds}`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from assembly.arguments import axis_values
from assembly.errors import InputError
from assembly.kinematics import unit_axis
from assembly.system.frozen import FrozenSystem
from modal.data.checkpoint import checksum
from modal.data.datasets import constants_text
from modal.reduction.affine import Point, Terms, TermsOf, terms_together
from modal.reduction.tolerances import WHOLE
from modal.tracking.following import Rules
from modal.tracking.snapshot import ModesLike
from modal.types import Array

Solver = Callable[[FrozenSystem, int], ModesLike]

# Parameters that are the speed of rotation.
SPEEDS = ("omega", "speed_rpm")
VECTORS = ("axis",)  # parameters that are one vector, never swept


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
    _spins: dict[float, float] = field(default_factory=dict, repr=False)
    _sizes: list[int] = field(default_factory=list, repr=False)

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
        parameters = dict(parameters)
        arrays = [key for key, value in parameters.items() if is_swept(key, value)]
        if over is not None:
            check_over(over, parameters)
            if times is not None:
                raise InputError("track: give times or over, not both")
            if len(over) != 1:
                names = ", ".join(over)
                raise InputError(f"over: track needs exactly one parameter, got {names}")
            ((name, values),) = over.items()
        elif times is not None:
            name, values = "time", times
        else:
            if len(arrays) > 1:  # three components are a vector if something else can be the sweep
                arrays = [key for key in arrays if len(parameters[key]) != 3] or arrays
            if len(arrays) != 1:
                raise InputError(
                    "track: give times, over, or exactly one parameter as an array; "
                    f"arrays found: {', '.join(arrays) or 'none'}"
                )
            (name,) = arrays
            values = parameters.pop(name)
        argument = "times" if name == "time" else name
        at = axis_values(argument, values)
        steps = np.diff(at)
        if not (np.all(steps > 0.0) or np.all(steps < 0.0)):
            raise InputError(
                f"{argument}: values must increase (or decrease) strictly, so that modes can be "
                "followed"
            )
        unit = None if axis is None else unit_axis(axis)
        spins = dict.fromkeys(at.tolist() if unit is not None else (), np.nan)
        sweep = cls(model, name, at, parameters, unit, spins)
        sweep._check()
        return sweep

    def _check(self) -> None:
        """Raises InputError unless the model's freeze takes what is swept and what is constant."""
        try:
            signature = inspect.signature(self.model.freeze)
        except ValueError:  # a compiled callable does not say what it takes
            return
        first = next(iter(signature.parameters), "")
        if self.name == "time" and first in SPEEDS:
            raise InputError(
                f"times: this model's freeze takes {first}, not a time; sweep {first}, or give it "
                "a motion"
            )
        positional, named = self._arguments(float(self.at[0]))
        try:
            signature.bind(*positional, **named)
        except TypeError as fault:
            raise InputError(f"model: freeze cannot be called so: {fault}") from None

    def _arguments(self, value: float) -> tuple[list[float], dict[str, Any]]:
        """Of `freeze` at a value, by position and by name."""
        if self.name == "time":
            return [value], dict(self.constant)
        return [], {self.name: value, **self.constant}

    def freeze(self, value: float) -> FrozenSystem:
        """The model at one value. Raises InputError when that is not a frozen system, or one of
        another size than before.
        """
        positional, named = self._arguments(value)
        system = self.model.freeze(*positional, **named)
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
        if value in self._spins:
            self._spins[value] = self._spin(value, system)
        return system

    def freeze_many(self, values: Array) -> list[FrozenSystem]:
        """The model at some values, in one batch where it is a mechanism in motion."""
        if self.name != "time" or not hasattr(self.model, "freeze_many"):
            return [self.freeze(value) for value in values.tolist()]
        series = self.model.freeze_many(values, **self.constant)
        return [series[i] for i in range(len(series))]

    def freeze_point(self, point: Point) -> FrozenSystem:
        """The model at a point, the swept parameter by name."""
        return self.freeze(float(point[self.name]))

    @cached_property
    def terms(self) -> TermsOf | None:
        """As of `terms_together`, with the spins of the values."""
        terms_of = terms_together(self.model, self.constant, (self.name,))

        def terms(points: Sequence[Point]) -> tuple[Terms, Array]:
            assert terms_of is not None
            found, omega = terms_of(points)
            for point, own in zip(points, omega, strict=True):
                value = float(point[self.name])
                if self.axis is not None and value in self._spins:
                    self._spins[value] = float(own @ self.axis if own.ndim else own)
            return found, omega

        return terms_of and terms

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest value."""
        return float(self.at.min()), float(self.at.max())

    def place(self, value: float) -> str:
        """A value by name, for messages."""
        return f"{self.name} = {value:.6g}"

    def spin(self, value: float) -> float:
        """Angular velocity about the axis at a value that was frozen, NaN if not known."""
        return self._spins.get(value, np.nan)

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


@dataclass(frozen=True)
class Request:
    """What a run is asked for, as `modal.track` describes it.

    k, guard: modes that are followed, and further ones that are solved. every: all modes guard the
    window where the model is small. full: solves one value by the backend. rate: of the swept
    parameter, 1 for time, None where it is steady at every value. checks: values at which a reduced
    basis is verified.
    """

    sweep: Sweep
    k: int
    guard: int
    every: bool
    backend: str
    solver: Solver | None
    full: Solver
    tolerance: float
    rate: float | None
    rules: Rules
    checks: int

    def count(self, n: int, rigid: int = 0) -> int:
        """Modes that are solved of n degrees of freedom, with some of rigid motions."""
        every = self.every and self.solver is None and n <= WHOLE
        return max(self.k + self.guard + rigid, n if every else 0)

    @property
    def solver_name(self) -> str:
        """What the solver is called in the dataset."""
        if self.solver is None:
            return "slepc" if self.backend == "auto" else self.backend
        return str(getattr(self.solver, "__name__", type(self.solver).__name__))

    @property
    def settings(self) -> dict[str, Any]:
        """What must be the same to continue a stored run, besides the model's matrices."""
        sweep, at = self.sweep, self.sweep.at
        return {
            "title": "tracks",
            "model": type(sweep.model).__name__,
            "values": f"{sweep.name}: {at[0]:g} to {at[-1]:g}, {len(at)} values "
            f"({checksum(at)[:12]})",
            "fixed": constants_text(sweep.constant),
            "k": self.k,
            "guard": -1 if self.every else self.guard,
            "backend": self.backend if self.solver is None else self.solver_name,
            "accuracy": float(self.tolerance),
            "rate": self.rate,
            "rules": asdict(self.rules),
            "whirl_axis": None if sweep.axis is None else sweep.axis.tolist(),
        }


def is_swept(name: str, value: Any) -> bool:
    """Whether a keyword is an array of numbers, and no vector by its name."""
    array = np.asarray(value)
    return name not in VECTORS and array.ndim == 1 and array.dtype.kind in "fiu"


def check_over(over: Any, parameters: Mapping[str, Any]) -> None:
    """Check that `over` alone says what is swept, and that `parameters` are constants.

    A keyword of three numbers is a constant vector. Raises InputError when `over` is not a
    mapping from names to values, or when a parameter is swept by its keyword too.
    """
    if not isinstance(over, Mapping) or not over:
        raise InputError(f'over: expected a mapping such as {{"omega": speeds}}, got {over!r}')
    vectors = [name for name in over if name in VECTORS]
    if vectors:
        raise InputError(f"over: {vectors[0]} is one vector and cannot be swept")
    twice = [
        name
        for name, value in parameters.items()
        if name in over or (is_swept(name, value) and len(value) != 3)
    ]
    if twice:
        raise InputError(
            "over: give the swept values in over or as keyword arrays, not both; "
            f"keyword arrays found: {', '.join(twice)}"
        )
