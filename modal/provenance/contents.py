"""The contents of an object that a user gives, such as a load, independent of the process.

Numbers, arrays, containers, dataclasses and functions with what they refer to count by their
values. Of other objects of these packages the class counts, of all others also their attributes.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from modal.data.checkpoint import checksum

OURS = ("assembly", "modal", "numpy", "scipy", "xarray")  # packages whose objects keep caches


def contents(value: Any, above: tuple[int, ...] = ()) -> Any:
    """What tells a value from others, in lists and words that JSON can hold.

    above: identities of the objects that hold it, against endless recursion.
    """
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if id(value) in above:
        return ["again", len(above) - above.index(id(value))]

    def inner(part: Any) -> Any:
        return contents(part, (*above, id(value)))

    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, (complex, np.generic, bytes)):
        return [kind, repr(value)]
    if isinstance(value, np.ndarray):
        whole = value.tolist() if value.dtype == object else value
        return [kind, inner(whole) if value.dtype == object else checksum(value)]
    if isinstance(value, Mapping):
        return [kind, sorted(([inner(k), inner(v)] for k, v in value.items()), key=repr)]
    if isinstance(value, Set):
        return [kind, sorted((inner(part) for part in value), key=repr)]
    if isinstance(value, (list, tuple)):
        return [kind, *(inner(part) for part in value)]
    if isinstance(value, types.CodeType):
        return [value.co_code.hex(), inner(value.co_consts), inner(value.co_names)]
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        parts = (value.__code__, value.__defaults__, value.__kwdefaults__, cells)
        return [kind, *(inner(part) for part in parts)]
    if isinstance(value, types.MethodType):
        return [kind, inner(value.__func__), inner(value.__self__)]
    if isinstance(value, functools.partial):
        return [kind, inner(value.func), inner(value.args), inner(value.keywords)]
    if is_dataclass(value) and not isinstance(value, type):
        return [kind, *([f.name, inner(getattr(value, f.name))] for f in fields(value))]
    if isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType)):
        return [kind, value.__name__]
    if type(value).__module__.split(".")[0] in OURS:
        return [kind]
    return [kind, inner(getattr(value, "__dict__", {}))]
