"""Models frozen at the instants of a motion, or at the values of one parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike

from assembly.arguments import axis_values
from assembly.errors import InputError
from assembly.system.frozen import FrozenSystem
from modal.types import Array


def swept_values(
    times: ArrayLike | None, over: Mapping[str, ArrayLike] | None, caller: str
) -> tuple[str, Array]:
    """Name and values (T,) of what is swept. Raises InputError."""
    if times is not None and over is not None:
        raise InputError(f"{caller}: give times or over, not both")
    if over is not None and len(over) != 1:
        raise InputError(f"over: give exactly one parameter, got {', '.join(over) or 'none'}")
    name, given = ("time", times) if over is None else next(iter(over.items()))
    return name, axis_values(name, given)


def frozen_at(model: Any, point: Mapping[str, float], fixed: Mapping[str, Any]) -> FrozenSystem:
    """The model frozen at one point. Raises InputError naming what it is instead of a model."""
    if not callable(getattr(model, "freeze", None)):
        raise InputError(
            "model: expected a FrozenSystem or an object with a method freeze, "
            f"got {type(model).__name__}"
        )
    try:
        if "time" in point:
            system = model.freeze(point["time"], **fixed)
        else:
            system = model.freeze(**point, **fixed)
    except TypeError as fault:
        raise InputError(f"model: freeze cannot be called so: {fault}") from None
    if not isinstance(system, FrozenSystem):
        raise InputError(f"model: freeze returned {type(system).__name__}, not a FrozenSystem")
    return system
