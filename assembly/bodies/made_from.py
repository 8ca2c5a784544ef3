"""What a body was made from, in one line: builder and arguments, files by their SHA-256."""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import meshio
import numpy as np
import scipy.sparse as sp

from assembly.arguments import plain_array
from assembly.bodies.body import Body
from assembly.bodies.body_data import LISTED

Parameters = ParamSpec("Parameters")
Built = TypeVar("Built")


def described(build: Callable[Parameters, Built]) -> Callable[Parameters, Built]:
    """The builder of a Body or a Rotor, which then says what it was made from (`made_from`); what a
    function does to its argument `body` is added to that body's."""
    signature = inspect.signature(build)

    @functools.wraps(build)
    def wrapped(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Built:
        built: Any = build(*args, **kwargs)
        given = dict(signature.bind(*args, **kwargs).arguments)
        before: Any = given.pop("body", None)
        parts = [f"{name}={in_words(value)}" for name, value in given.items() if name != "name"]
        words = f"{build.__name__}({', '.join(parts)})"
        if before is not None:
            words = f"{before.made_from} + {words}"
        if isinstance(built, Body):
            built = replace(built, made_from=words)
        else:
            built = replace(built, body=replace(built.body, made_from=words))
        result: Built = built
        return result

    return wrapped


def in_words(value: Any) -> str:
    """A value in one line: small ones as they are, files and large arrays by their SHA-256."""
    if isinstance(value, Path | str) and Path(value).suffix and Path(value).is_file():
        with Path(value).open("rb") as file:
            return f"{Path(value).name} [{_shortened(hashlib.file_digest(file, 'sha256'))}]"
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, meshio.Mesh):
        cells = [np.asarray(block.data) for block in value.cells]
        return f"mesh of {len(value.points)} points [{_digest(value.points, *cells)}]"
    if sp.issparse(value):
        A = sp.csr_matrix(value)
        return f"matrix {A.shape} [{_digest(A.data, A.indices, A.indptr)}]"
    if isinstance(value, Body):
        return f"{value.name}: {value.made_from}" if value.made_from else value.name
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {in_words(v)}" for key, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        array = plain_array(value)
        if array is None or array.dtype.kind not in "biufc" or array.size <= LISTED:
            return "(" + ", ".join(in_words(entry) for entry in value) + ")"
        value = array
    if isinstance(value, np.ndarray):
        if value.size <= LISTED:
            return str(value.tolist())
        return f"array {value.shape} [{_digest(value)}]"
    if callable(value) and hasattr(value, "__name__"):
        return f"function {value.__name__}"
    text = " ".join(repr(value).split())
    return text if len(text) <= 300 and " at 0x" not in text else _fields(value)


def _fields(value: Any) -> str:
    """An object by its kind and its fields."""
    fields = getattr(value, "__dict__", {})
    parts = [f"{name}={in_words(v)}" for name, v in fields.items() if not name.startswith("_")]
    return f"{type(value).__name__}({', '.join(parts)})"


def _digest(*arrays: Any) -> str:
    total = hashlib.sha256()
    for array in arrays:
        total.update(np.ascontiguousarray(array).tobytes())
    return _shortened(total)


def _shortened(total: Any) -> str:
    """The first 12 digits of a SHA-256."""
    return f"sha256 {total.hexdigest()[:12]}"
