"""What is swept: arrays among the keywords, or the explicit sweep `over={"omega": speeds}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from assembly.arguments import shown
from assembly.errors import InputError
from modal.types import Array

VECTORS = ("axis",)  # parameters that are one vector, never swept


def is_swept(name: str, value: Any) -> bool:
    """Whether a keyword is an array of numbers, and no vector by its name."""
    array = np.asarray(value)
    return name not in VECTORS and array.ndim == 1 and array.dtype.kind in "fiu"


def axis_values(name: str, value: Any) -> Array:
    """The values (T,) of a swept parameter. Raises InputError."""
    array = np.asarray(value)
    numbers = array.ndim == 1 and array.size > 0 and array.dtype.kind in "fiu"
    if not (numbers and np.all(np.isfinite(array))):
        raise InputError(
            f"{name}: expected finite numbers, a one-dimensional array, got {shown(value)}"
        )
    return array.astype(float)


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
