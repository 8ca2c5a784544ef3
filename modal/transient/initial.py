"""Initial states of transients."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from assembly.arguments import shown
from assembly.errors import InputError
from modal.types import Array


def initial_state(initial: Any, n: int) -> tuple[Array, Array]:
    """Displacement and velocity (n,) from None, a pair, or a stacked (2n,) vector; real parts."""
    if initial is None:
        return np.zeros(n), np.zeros(n)
    if isinstance(initial, (tuple, list)) and len(initial) == 2 and np.ndim(initial[0]) == 1:
        return vector(initial[0], n, "initial displacement"), vector(
            initial[1], n, "initial velocity"
        )
    stacked = vector(initial, 2 * n, "initial")
    return stacked[:n].copy(), stacked[n:].copy()


def vector(value: ArrayLike | None, n: int, name: str) -> Array:
    """Real parts (n,) of a value that a user gives; InputError for another shape."""
    given = np.asarray(value)
    numbers = given.dtype.kind in "biufc"
    vector = np.array(np.real(given), dtype=float) if numbers else np.zeros(0)
    if not numbers or vector.shape != (n,):
        got = f"shape {vector.shape}" if numbers else shown(value)
        raise InputError(f"{name}: expected {n} numbers, got {got}")
    if not np.all(np.isfinite(vector)):
        raise InputError(f"{name}: has entries that are not finite numbers")
    return vector
