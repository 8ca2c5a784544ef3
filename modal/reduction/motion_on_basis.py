"""The reduced basis that serves a model in motion, if one does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from assembly.errors import AccuracyError, ConvergenceError, SingularSystemError
from assembly.mechanisms.mechanism import LARGE_BODY, MechanismSystem
from assembly.system.frozen import FrozenSystem
from modal.reduction.body_motion import BodyMotion, body_space
from modal.reduction.link_motion import LinkMotion
from modal.reduction.link_space import linked
from modal.reduction.reduced_motion import TRAINING, ReducedMotion
from modal.types import Array


def may_be_reduced(system: FrozenSystem) -> bool:
    """Whether an instant is that of a mechanism with large links, or of a model that is large."""
    if isinstance(system, MechanismSystem):
        return linked(system) is not None
    return system.n >= LARGE_BODY


def motion_on_basis(
    freeze: Callable[[float], FrozenSystem],
    times: tuple[float, float],
    k: int,
    accuracy: float,
    shapes: Sequence[Array] = (),
    forces: Sequence[Array] = (),
    period: float | None = None,
    free: bool = False,
) -> ReducedMotion | None:
    """Of a mechanism with large links, or a large body, between two times, s; None of another
    model, or where a basis does not serve.

    k, accuracy: frozen modes that the basis holds all along the motion, and their error, relative.
    shapes (n,): contained in the basis; forces (n,): whose static responses are. period: of the
    motion of a body, s. free: whether a body that is free to move may be reduced.
    """
    first = freeze(times[0])
    if not may_be_reduced(first):
        return None
    try:
        if isinstance(first, MechanismSystem):
            return LinkMotion.of(first, times, k, accuracy, shapes, forces)
        points = [{"t": float(t)} for t in np.linspace(*times, TRAINING)]
        space = body_space(
            lambda point: freeze(point["t"]), points, k, accuracy, shapes, forces, free
        )
        return None if space is None else BodyMotion(freeze, space, period)
    except (AccuracyError, ConvergenceError, SingularSystemError):
        return None
