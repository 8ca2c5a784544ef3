"""The explicit sweep, `over={"omega": speeds}`, in the place of keyword arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from assembly.errors import InputError

VECTORS = ("axis",)  # parameters that are one vector, never swept


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
    twice = [name for name, value in parameters.items() if name in over or _is_array(name, value)]
    if twice:
        raise InputError(
            "over: give the swept values in over or as keyword arrays, not both; "
            f"keyword arrays found: {', '.join(twice)}"
        )


def _is_array(name: str, value: Any) -> bool:
    array = np.asarray(value)
    numbers = array.ndim == 1 and array.dtype.kind in "fiu"
    return name not in VECTORS and numbers and len(array) != 3
