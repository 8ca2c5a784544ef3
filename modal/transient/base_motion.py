"""Motion of the base as a load: shock pulses and records of its acceleration.

The degrees of freedom are displacements relative to the base. An acceleration a(t) of the base,
which everything takes part in, is the load −(∫ρNᵀ) a on them: that of a_O in the equations of
docs/theory.md. The stress that it causes would add a K_G of the order of a; the response is of that
order too, so their product is of second order and left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from assembly.bodies.body import Body
from assembly.bodies.rotors import Rotor
from assembly.errors import InputError
from assembly.mechanisms.mechanism import Mechanism
from assembly.motion.moving import MovingBody
from assembly.system.frozen import FrozenSystem
from modal.data.checkpoint import checksum
from modal.transient.loads import Table
from modal.types import Array

Shape = Literal["half-sine", "triangle", "sawtooth", "rectangle"]
SHAPES = ("half-sine", "triangle", "sawtooth", "rectangle")


@dataclass(frozen=True)
class ShockPulse:
    """A pulse of the acceleration of the base.

    Parameters
    ----------
    amplitude : float
        Peak, m/s².
    duration : float
        s, positive.
    shape : {"half-sine", "triangle", "sawtooth", "rectangle"}
        The sawtooth rises to its peak at the end.
    start : float, default 0.0
        s.

    Raises
    ------
    InputError
        An argument cannot be used.

    Examples
    --------
    >>> import modal
    >>> modal.ShockPulse(100.0, 0.011).value(0.0055)
    100.0
    """

    amplitude: float
    duration: float
    shape: Shape = "half-sine"
    start: float = 0.0

    def __post_init__(self) -> None:
        if self.shape not in SHAPES:
            raise InputError(f"shock pulse: shape is one of {', '.join(SHAPES)}, got {self.shape}")
        if not (np.isfinite(self.duration) and self.duration > 0.0):
            raise InputError(f"shock pulse: duration must be positive, got {self.duration} s")
        if not (np.isfinite(self.amplitude) and np.isfinite(self.start)):
            raise InputError("shock pulse: amplitude and start must be finite")

    @property
    def events(self) -> tuple[float, ...]:
        """Where the pulse is not smooth, s."""
        half = (self.start + 0.5 * self.duration,) if self.shape == "triangle" else ()
        return (self.start, *half, self.start + self.duration)

    @property
    def shortest(self) -> float:
        """Shortest cycle, s."""
        return 2.0 * self.duration

    def value(self, t: float) -> float:
        """Acceleration (m/s²) at time t (s)."""
        phase = (t - self.start) / self.duration
        if not 0.0 <= phase <= 1.0:
            return 0.0
        shares = {
            "half-sine": float(np.sin(np.pi * phase)),
            "triangle": 1.0 - abs(2.0 * phase - 1.0),
            "sawtooth": phase,
            "rectangle": 1.0,
        }
        return self.amplitude * shares[self.shape]


@dataclass(frozen=True)
class _Record(Table):
    times: Array
    values: Array


@dataclass(frozen=True)
class _Function:
    function: Callable[[float], float]
    events: tuple[float, ...] = ()
    shortest: float = np.inf

    def value(self, t: float) -> float:
        return float(self.function(t))


@dataclass(frozen=True)
class BaseMotion:
    """Acceleration of the base as a load of `modal.integrate`. Made by `base_motion`.

    Parameters
    ----------
    history : object with ``value(t)``
        Acceleration over time, m/s².
    influence : callable
        Load (n,) of a unit acceleration at time t (s), N per m/s².
    name : str
        What it is in words.
    """

    history: Any
    influence: Callable[[float], Array]
    name: str

    def __repr__(self) -> str:
        return self.name

    @property
    def events(self) -> tuple[float, ...]:
        return tuple(self.history.events)

    @property
    def shortest(self) -> float:
        return float(self.history.shortest)

    def force(self, t: float, system: FrozenSystem) -> Array:
        size = self.history.value(t)
        return np.asarray(size * self.influence(t)) if size else np.zeros(system.n)


def base_motion(
    model: Any,
    acceleration: ShockPulse | tuple[ArrayLike, ArrayLike] | Callable[[float], float],
    direction: ArrayLike = (0.0, 0.0, 1.0),
) -> BaseMotion:
    """The load of a prescribed acceleration of the base, in one direction.

    Parameters
    ----------
    model : Body, moving body, Rotor, Mechanism or FrozenSystem
        What is integrated; a Body stands for its frozen systems at rest.
    acceleration : ShockPulse, pair of array_like, or callable
        Acceleration of the base over time, m/s²: a pulse; times (s) and values, linear between
        them and zero outside; or a function of time (s).
    direction : array_like, shape (3,)
        Direction in fixed axes; of a body with constant kinematics, in body axes. Of a
        FrozenSystem, shape (n,): the displacements r of all degrees of freedom by a unit
        displacement of the base, so that the load is −M r a(t).

    Returns
    -------
    BaseMotion
        For ``modal.integrate(..., loads=[...])``. The displacements of the result are relative to
        the base.

    Raises
    ------
    InputError
        An argument cannot be used.

    Notes
    -----
    The surroundings of external dampers move with the base. See docs/response.md.

    Examples
    --------
    A half-sine shock of 20 g and 11 ms on an oscillator of 40 Hz.

    >>> import numpy as np, modal
    >>> from assembly import FrozenSystem
    >>> system = FrozenSystem(M=np.eye(1), C=np.zeros((1, 1)), K=[[(2 * np.pi * 40.0) ** 2]])
    >>> load = modal.base_motion(system, modal.ShockPulse(196.0, 0.011), [1.0])
    >>> response = modal.integrate(system, (0.0, 0.05), "hamilton", loads=[load], step=1e-4)
    ... # doctest: +SKIP
    """
    history = _history(acceleration)
    along = np.asarray(direction, dtype=float)
    if along.ndim != 1 or not np.all(np.isfinite(along)) or not np.any(along):
        raise InputError(f"direction: expected finite numbers, not all zero, got {direction!r}")
    if isinstance(model, FrozenSystem):
        return BaseMotion(history, _of_system(model, along), _named(history, direction))
    if along.shape != (3,):
        raise InputError(f"direction: expected three numbers, got {direction!r}")
    unit = along / np.linalg.norm(along)
    return BaseMotion(history, _influence(model, unit), _named(history, unit.tolist()))


def _history(acceleration: Any) -> ShockPulse | _Record | _Function:
    if isinstance(acceleration, ShockPulse):
        return acceleration
    if callable(acceleration):
        return _Function(acceleration)
    try:
        times, values = (np.asarray(part, dtype=float) for part in acceleration)
    except (TypeError, ValueError):
        raise InputError(
            "acceleration: expected a ShockPulse, (times, values) or a function of time, "
            f"got {type(acceleration).__name__}"
        ) from None
    if times.ndim != 1 or times.shape != values.shape or len(times) < 2:
        raise InputError("acceleration: times and values must be two lists of one length")
    if not np.all(np.isfinite(values)) or not np.all(np.diff(times) > 0.0):
        raise InputError("acceleration: times must increase, and values be finite")
    return _Record(times, values)


def _named(history: Any, direction: Any) -> str:
    if isinstance(history, _Record):
        sum_of = checksum(history.times, history.values)[:12]
        shown = f"record of {len(history.times)} values, checksum {sum_of}"
    elif isinstance(history, _Function):
        shown = f"function {getattr(history.function, '__qualname__', type(history.function))}"
    else:
        shown = repr(history)
    return f"BaseMotion({shown}, direction={direction!r})"


def _of_system(system: FrozenSystem, along: Array) -> Callable[[float], Array]:
    if along.shape != (system.n,):
        raise InputError(
            f"direction: a frozen system needs the displacements ({system.n},) of its degrees of "
            f"freedom by a unit displacement of the base, got shape {along.shape}"
        )
    load = -np.asarray(system.M @ along)
    return lambda t: load


def _influence(model: Any, unit: Array) -> Callable[[float], Array]:
    """Load (n,) over time of a unit acceleration along a unit vector (3,)."""
    if isinstance(model, Body):
        load = model.supported.inertia_loads[:, 9:12] @ unit
        return lambda t: load
    if isinstance(model, Rotor):
        rotating = (model.body.operators.inertia_loads[:, 9:12] @ unit)[model.free]
        return lambda t: rotating
    if isinstance(model, MovingBody):
        loads, frame = model.body.supported.inertia_loads[:, 9:12], _rotation(model)
        return lambda t: np.asarray(loads @ (frame(t).T @ unit))
    if isinstance(model, Mechanism):
        return lambda t: _on_mechanism(model, t, unit)
    raise InputError(
        "model: expected a body, a moving body, a rotor, a mechanism or a frozen system, got "
        f"{type(model).__name__}"
    )


def _rotation(model: MovingBody) -> Callable[[float], Array]:
    """Rotation (3, 3) of the frame over time, body to fixed axes."""
    frame = getattr(model.motion, "frame", None)
    if frame is None:
        now = model.motion.at(0.0)
        still = not np.any(now.omega) and not np.any(now.epsilon)
        if still or hasattr(model.motion, "omega"):  # constant: the direction is in body axes
            return lambda t: np.eye(3)
        raise InputError(
            f"model: the motion {type(model.motion).__name__} does not say how its frame is "
            "oriented; use spin, ramp, swing, or a motion with frame(t)"
        )
    return lambda t: np.asarray(frame(t)[1])


def _on_mechanism(model: Mechanism, t: float, unit: Array) -> Array:
    pose = model.state(t).pose
    loads = [
        body.operators.inertia_loads[:, 9:12] @ (pose.R[i].T @ unit)
        for i, body in enumerate(model.bodies.values())
    ]
    return np.asarray(model.transformation(t)[0].T @ np.concatenate(loads))
