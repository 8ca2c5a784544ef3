"""Arguments that are of the wrong kind: one line that names the argument and what is accepted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from numbers import Real
from typing import Any

import numpy as np

from assembly.errors import InputError
from assembly.types import AnyArray, Array


def shown(value: object, longest: int = 80) -> str:
    """The value in one line of a message; arrays and objects by their kind."""
    if isinstance(value, np.ndarray) and value.size > 6:
        return f"an array of shape {value.shape}"
    text = " ".join(repr(value).split())
    if text.startswith("<") or len(text) > longest:
        return f"{type(value).__name__}"
    return text


def plain_array(values: Any) -> AnyArray | None:
    """The values as an array; None where they are not nested evenly, or do not become one."""
    try:
        return np.asarray(values)
    except Exception:  # of an object with an `__array__` that fails, any
        return None


def real_array(values: Any) -> Array | None:
    """The values as an array of floats; None where they are not real numbers (nested evenly)."""
    if isinstance(values, np.ndarray) and values.dtype == np.float64:
        return values
    if (array := plain_array(values)) is None:
        return None
    if array.dtype.kind in "biuf":
        return np.asarray(array, dtype=np.float64)
    if array.dtype.kind == "O" and all(isinstance(entry, Real) for entry in array.ravel()):
        return np.asarray(array, dtype=np.float64)
    return None


def as_numbers(values: Any, what: str, error: type[InputError] = InputError) -> Array:
    """The values as an array of floats; the error, naming what, where they are no real numbers."""
    array = real_array(values)
    if array is None:
        raise error(f"{what}: expected real numbers, got {shown(values)}")
    return array


def axis_values(name: str, value: Any) -> Array:
    """The values (T,) of a swept parameter. Raises InputError."""
    array = plain_array(value)
    numbers = array is not None and array.ndim == 1 and array.dtype.kind in "fiu"
    if array is None or not (numbers and array.size and np.all(np.isfinite(array))):
        raise InputError(
            f"{name}: expected finite numbers, a one-dimensional array, got {shown(value)}"
        )
    return array.astype(float)


def as_number(value: Any, what: str, error: type[InputError] = InputError) -> float:
    """One real number as a float; the error, naming what, for anything else."""
    array = real_array(value)
    if array is None or array.ndim:
        raise error(f"{what}: expected a number, got {shown(value)}")
    return float(array)


def check_kind(
    value: object,
    kind: Any,
    what: str,
    expected: str,
    error: type[InputError] = InputError,
) -> None:
    """Raises the error, naming what and what was expected, unless the value is of the kind."""
    if not isinstance(value, kind):
        raise error(f"{what}: expected {expected}, got {shown(value)}")


def as_list(
    values: Any, kind: Any, what: str, expected: str, error: type[InputError] = InputError
) -> list[Any]:
    """A list of values of one kind; the error, naming what, for anything else."""
    if isinstance(values, str | Mapping) or not hasattr(values, "__iter__"):
        raise error(f"{what}: expected a list of {expected}, got {shown(values)}")
    entries = list(values)
    for entry in entries:
        check_kind(entry, kind, what, f"a list of {expected}", error)
    return entries


def check_choice(
    value: object, choices: Collection[object], what: str, error: type[InputError] = InputError
) -> None:
    """Raises the error, naming what and the choices, unless the value is one of them."""
    if not any(
        value is choice or (isinstance(value, str) and value == choice) for choice in choices
    ):
        *first, last = [f'"{c}"' if isinstance(c, str) else str(c) for c in choices]
        words = f"{', '.join(first)} or {last}" if first else last
        raise error(f"{what}: expected {words}, got {shown(value)}")


def check_between(value: Any, what: str, low: float, high: float) -> None:
    """Raises InputError, naming what, unless low < value < high."""
    number = real_array(value)
    if number is None or number.ndim or not low < number < high:
        limits = f"above {low:g}" if high == np.inf else f"between {low:g} and {high:g}"
        raise InputError(f"{what}: expected a number {limits}, got {shown(value)}")
