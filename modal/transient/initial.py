"""Initial states of transients."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

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
    vector = np.array(np.real(np.asarray(value)), dtype=float) if value is not None else None
    if vector is None or vector.shape != (n,):
        got = "nothing" if vector is None else f"shape {vector.shape}"
        raise InputError(f"{name}: expected {n} numbers, got {got}")
    if not np.all(np.isfinite(vector)):
        raise InputError(f"{name}: has entries that are not finite numbers")
    return vector
