"""Data classes as named arrays, and back: what a file without pickled objects can hold."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
T = TypeVar("T")


def packed(value: Any, name: str) -> Arrays:
    """The arrays of a data class, of a sequence or mapping of them, or of one array or number.

    Names are joined by dots below `name`; None leaves no array. Keys of mappings are whole numbers.
    """
    if value is None:
        return {}
    if is_dataclass(value):
        parts = {f.name: getattr(value, f.name) for f in fields(value)}
    elif isinstance(value, Mapping):
        keys = list(value)
        parts = {"keys": np.array(keys, dtype=np.intp)}
        parts |= {str(n): value[key] for n, key in enumerate(keys)}
    elif isinstance(value, (list, tuple)):
        parts = {"length": len(value)} | {str(n): item for n, item in enumerate(value)}
    else:
        return {name: np.asarray(value)}
    out: Arrays = {f"{name}.": np.zeros(0)}  # it is there, though all it holds may be None
    for key, part in parts.items():
        out |= packed(part, f"{name}.{key}")
    return out


def unpacked(kind: Any, name: str, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The value of type `kind` that `packed` was given; KeyError where an array is missing."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        present = name in arrays or f"{name}." in arrays
        inner = next(a for a in arguments if a is not type(None))
        return unpacked(inner, name, arrays) if present else None
    if is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return kind(  # type: ignore[operator]
            **{f.name: unpacked(hints[f.name], f"{name}.{f.name}", arrays) for f in fields(kind)}
        )
    if isinstance(origin, type) and issubclass(origin, Mapping):
        keys = arrays[f"{name}.keys"].tolist()
        items = (unpacked(arguments[1], f"{name}.{n}", arrays) for n in range(len(keys)))
        return dict(zip(keys, items, strict=True))
    if origin in (list, tuple):
        length = int(arrays[f"{name}.length"])
        return origin(unpacked(arguments[0], f"{name}.{n}", arrays) for n in range(length))
    value = arrays[name]
    return kind(value.item()) if kind in (int, float, str, bool) else value
