"""Following modes along a motion or over a parameter: `modal.track`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any, cast

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from tqdm import tqdm

from assembly import FrozenSystem
from assembly.errors import (
    AccuracyError,
    ConvergenceError,
    FrozenMotionError,
    InputError,
    SingularSystemError,
)
from modal.datasets import provenance, tracks_dataset
from modal.following import Rules
from modal.snapshot import ModesLike
from modal.solve import Backend
from modal.solve import solve as solve_instant
from modal.sources import (
    WORTH_A_BASIS,
    Freeze,
    FullSource,
    ReducedSource,
    Solver,
    Source,
    reducible,
)
from modal.tracks import Recorder
from modal.whirl import Whirl

BACKENDS = ("auto", "reduced", "slepc", "scipy", "dense")

# Vectors, never swept over.
VECTORS = ("axis",)


class TrackingInterrupted(KeyboardInterrupt):
    """Ctrl-C while tracking; `partial` is the dataset of the instants that were finished, or
    None.
    """

    def __init__(self, message: str, partial: xr.Dataset | None) -> None:
        super().__init__(message)
        self.partial = partial


def track(
    model: Any,
    times: ArrayLike | None = None,
    k: int = 6,
    *,
    guard: int | None = None,
    backend: str = "auto",
    accuracy: float = 1e-8,
    solver: Solver | None = None,
    rate: float | None = None,
    tolerance: float = 0.05,
    rules: Rules | None = None,
    whirl_axis: ArrayLike | None = None,
    progress: bool | None = None,
    **parameters: Any,
) -> xr.Dataset:
    """Follow the modes of a model along a motion, or over one parameter given as a one-dimensional
    array.

        track(mechanism, times=times, k=6)
        track(blade, omega=speeds, axis=(0, 0, 1), k=6)

    model: anything with `freeze(t, **parameters)` (times, s) or `freeze(**parameters)`; parameters
    that are not the array are passed on as they are.
    k: elastic modes of smallest |λ| followed at every instant, with the rigid ones below them;
    `guard` more are solved so that a mode may pass the window's edge and come back. The dataset has
    a row for every mode that was among them at any instant: those of the first instant, then those
    that came in, in the order they came; NaN where a mode is outside the window.
    backend: "slepc", "scipy" or "dense" solve every instant by itself; "reduced" takes all of them
    from one certified basis with eigenvalues to `accuracy` |λ|; "auto" does that where instants
    share their operators and nothing is free to move, else "slepc". solver(system, k): another
    source of modes.
    rate: speed of the parameter, units per second, if it changes in time; for omega it is the
    epsilon given beside it, if any. Else the parameter is steady at every point,
    growth_rate_corrected is growth_rate and frozen_interval infinite.
    tolerance: of frozen_interval, on drift and coupling. rules: when a match is believed.
    whirl_axis: axis of the whirl direction, `axis` if that is given.
    progress: a bar on stderr; None shows it on a terminal.

    Returns the dataset "tracks" of DESIGN.md, section 5, with `coupling`, `partner`, `gap` (rad/s)
    and, where displacements and an axis are known, `whirl` and `whirl_number`. Raises InputError
    for arguments that cannot be used, ConvergenceError whose `partial` is the dataset up to the
    instant that failed, and TrackingInterrupted, the same, on Ctrl-C.
    """
    name, at, freeze = _swept(model, times, parameters)
    if not isinstance(k, (int, np.integer)) or k < 1:
        raise InputError(f"k: expected a whole number of modes, 1 or more, got {k!r}")
    if not tolerance > 0.0:
        raise InputError(f"tolerance: expected a positive number, got {tolerance!r}")
    rules = rules or Rules()
    if rate is None and name == "omega" and np.ndim(parameters.get("epsilon", 0.0)) == 0:
        rate = float(parameters.get("epsilon", 0.0)) or None
    guard = 2 + k // 4 if guard is None else int(guard)
    axis = whirl_axis if whirl_axis is not None else parameters.get("axis")
    whirl = None if axis is None else Whirl(axis)
    source = _source(freeze, at, int(k) + guard, backend, solver, accuracy, whirl)
    speed = 1.0 if name == "time" else rate
    recorder = Recorder(int(k), source.snapshot, rules, moving=speed is not None)

    def finished() -> xr.Dataset | None:
        if not recorder.count:
            return None
        variables = recorder.variables(speed, tolerance, _sense(name, at[: recorder.count]))
        attributes = provenance(
            title=f"modes followed over {name}",
            model=type(model).__name__,
            model_parameters=_constant(name, parameters),
            solver=source.description,
            modes_followed=int(k),
            modes_guarding=guard,
            tracking_rules=asdict(rules),
            frozen_interval_tolerance=tolerance,
            rate="none" if rate is None else rate,
            extra_instants=recorder.extra,
        )
        return tracks_dataset(name, at[: recorder.count], variables, attributes)

    try:
        for value in _shown(at, name, progress):
            recorder.add(source.snapshot(float(value)))
    except KeyboardInterrupt:
        raise TrackingInterrupted(
            f"stopped after {recorder.count} of {len(at)} instants", finished()
        ) from None
    except FrozenMotionError as fault:
        if not isinstance(fault, ArithmeticError):
            raise
        place = f"{name} = {float(at[recorder.count]):.6g}"
        raise ConvergenceError(f"{place}: {fault}", partial=finished()) from fault
    done = finished()
    assert done is not None
    return done


def _swept(
    model: Any, times: ArrayLike | None, parameters: Mapping[str, Any]
) -> tuple[str, NDArray[np.float64], Callable[[float], FrozenSystem]]:
    """The name and values of what is swept, and how to freeze the model at one value."""
    if not callable(getattr(model, "freeze", None)):
        raise InputError(
            f"model: expected an object with a method freeze, got {type(model).__name__}"
        )
    if times is not None:
        at = _values("times", times)
        return "time", at, lambda value: model.freeze(value, **parameters)
    arrays = [
        key for key, value in parameters.items() if key not in VECTORS and np.ndim(value) == 1
    ]
    if len(arrays) > 1:  # three components are a vector when something else can be the sweep
        arrays = [key for key in arrays if len(parameters[key]) != 3] or arrays
    if len(arrays) != 1:
        found = ", ".join(arrays) or "none"
        raise InputError(
            f"track: give times, or exactly one parameter as an array; arrays found: {found}"
        )
    name = arrays[0]
    constant = {key: value for key, value in parameters.items() if key != name}
    return (
        name,
        _values(name, parameters[name]),
        lambda value: model.freeze(**{name: value}, **constant),
    )


def _values(name: str, values: ArrayLike) -> NDArray[np.float64]:
    at = np.asarray(values, dtype=float)
    if at.ndim != 1 or len(at) == 0:
        raise InputError(
            f"{name}: expected a one-dimensional array of values, got shape {at.shape}"
        )
    if not np.all(np.isfinite(at)):
        raise InputError(f"{name}: values must be finite")
    steps = np.diff(at)
    if not (np.all(steps > 0.0) or np.all(steps < 0.0)):
        raise InputError(
            f"{name}: values must increase (or decrease) strictly, so that modes can be followed"
        )
    return at


def _sense(name: str, at: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sense of rotation about the axis, ±1 (T, 1): that of the swept speed, positive where it
    is not known.
    """
    turning = at if name in ("omega", "speed_rpm") else np.ones_like(at)
    return np.where(turning < 0.0, -1.0, 1.0)[:, None]


def _constant(name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in parameters.items() if key != name}


def _source(
    freeze: Freeze,
    at: NDArray[np.float64],
    count: int,
    backend: str,
    solver: Solver | None,
    accuracy: float,
    whirl: Whirl | None,
) -> Source:
    """The source of modes that `backend` and `solver` ask for."""
    if solver is not None:
        name = getattr(solver, "__name__", type(solver).__name__)
        return FullSource(freeze, count, solver, name, whirl)
    if backend not in BACKENDS:
        raise InputError(f"backend: expected one of {', '.join(BACKENDS)}, got {backend!r}")
    asked = backend == "reduced"
    if asked or (backend == "auto" and len(at) >= WORTH_A_BASIS):
        usable = reducible(freeze, at)
        if asked and not usable:
            raise InputError(
                "backend: a reduced basis needs instants that share their operators, and nothing "
                "free to move; take another backend"
            )
        try:
            if usable:
                return ReducedSource(freeze, at, count, accuracy, whirl)
        except (AccuracyError, ConvergenceError, SingularSystemError):
            if asked:
                raise
    chosen = "slepc" if backend == "auto" else backend

    def full(system: FrozenSystem, wanted: int) -> ModesLike:
        return solve_instant(system, wanted, backend=cast(Backend, chosen))

    return FullSource(freeze, count, full, chosen, whirl)


def _shown(at: NDArray[np.float64], name: str, progress: bool | None) -> Iterable[float]:
    hidden = not sys.stderr.isatty() if progress is None else not progress
    return tqdm(
        at, desc=f"modes over {name}", unit="instant", file=sys.stderr, disable=hidden, leave=False
    )
