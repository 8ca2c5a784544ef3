"""The boundary of the public functions: what is not an error of this suite is explained there.

A public function checks its arguments itself where it can say most. Where it ends with an exception
of Python or of another library, its arguments are compared with its signature and with the shapes
in its docstring, and an argument that does not fit is named. Where all fit, the exception stays as
it is: it is a fault of this suite, or of a function of the user.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from assembly.arguments import plain_array, real_array, shown
from assembly.errors import FrozenMotionError, InputError, MemoryLimitError

OURS = ("assembly", "modal")
SHAPE = re.compile(r"shape \(([^()]*)\)")


def at_boundary(thing: Any, special: Collection[str] = ("__init__", "__call__")) -> Any:
    """A public function that explains foreign exceptions; a class with such methods."""
    if inspect.isfunction(thing):
        return _guarded(thing)
    if inspect.isclass(thing) and not issubclass(thing, BaseException):
        for base in thing.__mro__:
            if base.__module__.split(".")[0] in OURS and not getattr(base, "_is_protocol", False):
                _guard_methods(base, special)
    return thing


def _guard_methods(owner: type, special: Collection[str]) -> None:
    for name, member in list(vars(owner).items()):
        if name.startswith("_") and name not in special:
            continue
        if inspect.isfunction(member):
            setattr(owner, name, _guarded(member))
        elif isinstance(member, (classmethod, staticmethod)):
            setattr(owner, name, type(member)(_guarded(member.__func__)))


@functools.cache
def _explains(kind: type) -> None:
    """The methods of what a public function returns explain foreign exceptions as well."""
    if kind.__module__.split(".")[0] in OURS:
        at_boundary(kind, ("__call__",))


def _guarded(function: Any) -> Any:
    if hasattr(function, "at_boundary"):
        return function

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        try:
            result = function(*args, **kwargs)
        except Exception as fault:
            named = isinstance(fault, FrozenMotionError)
            if not named and isinstance(fault, MemoryError):
                raise out_of_memory(function.__qualname__, fault) from fault
            wrong = None if named else _unfit(function, args, kwargs)
            if wrong is None:
                raise
            raise InputError(wrong) from fault
        _explains(type(result))  # type: ignore[arg-type]  # a class is hashable
        return result

    guarded.at_boundary = True  # type: ignore[attr-defined]
    return guarded


def out_of_memory(what: str, fault: BaseException) -> MemoryLimitError:
    """The error of memory that ran out, with the size that was asked for where it is known."""
    size = re.search(r"allocate (\S+ \S+)", str(fault))
    needed = f"an array of {size[1]} does not fit" if size else "there is not enough"
    return MemoryLimitError(
        f"{what}: out of memory: {needed}; take fewer elements, modes or points, "
        "a coarser mesh, or factors on disk (out_of_core)"
    )


def _unfit(function: Any, args: Any, kwargs: Any) -> str | None:
    """The first argument that does not fit the signature or the docstring, in one line."""
    signature = inspect.signature(function)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return None  # Python's own error says it
    document = inspect.getdoc(function) or ""
    if function.__name__ == "__init__":
        owner = getattr(sys.modules[function.__module__], function.__qualname__.split(".")[0], None)
        document = inspect.getdoc(owner) or ""
    for name, value in given.items():
        parameter = signature.parameters[name]
        hint = _resolved(parameter.annotation, function)
        variadic = {parameter.VAR_POSITIONAL: tuple, parameter.VAR_KEYWORD: dict}
        expected = None
        if parameter.kind in variadic:
            parts = value.items() if isinstance(value, dict) else ((name, part) for part in value)
            for key, part in parts:
                expected = expected or _misfit(part, hint)
                if expected:
                    return f"{key}: expected {expected}, got {shown(part)}"
            continue
        if value is not parameter.default:
            expected = _misfit(value, hint) or _misshaped(value, hint, name, document)
        if expected:
            return f"{name}: expected {expected}, got {shown(value)}"
    return None


def _resolved(annotation: Any, function: Any) -> Any:
    """An annotation as an object; Any where it cannot be told."""
    if not isinstance(annotation, str):
        return Any if annotation is inspect.Parameter.empty else annotation
    try:
        return eval(annotation, sys.modules[function.__module__].__dict__)
    except Exception:  # a name that is imported for type checkers only
        return Any


def _finite(value: Any) -> bool:
    """Whether a value is made of finite numbers, real or complex."""
    array = real_array(value)
    if array is None and (array := plain_array(value)) is None:
        return False
    return array.dtype.kind in "fc" and bool(np.all(np.isfinite(array)))


# Of annotations that are not classes of this suite: the test, and what is expected in words.
PLAIN: dict[Any, tuple[Callable[[Any], bool], str]] = {
    float: (lambda x: np.ndim(x) == 0 and _finite(x), "a finite number"),
    int: (
        lambda x: isinstance(x, (int, np.integer)) and not isinstance(x, bool), "a whole number",
    ),
    bool: (lambda x: isinstance(x, (bool, np.bool_)), "True or False"),
    str: (lambda x: isinstance(x, str), "a text"),
    None: (lambda x: x is None, "None"),
    type(None): (lambda x: x is None, "None"),
}  # fmt: skip


def _misfit(value: Any, hint: Any) -> str | None:
    """What an annotation expects, in words; None where the value fits it."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or hint is object or isinstance(hint, (typing.TypeVar, str)):
        return None
    if hint == ArrayLike or origin is np.ndarray:
        return None if _finite(value) else "finite numbers"
    if hint in PLAIN:
        fits, words = PLAIN[hint]
        return None if fits(value) else words
    if origin in (typing.Union, types.UnionType):
        each = [_misfit(value, part) for part in arguments]
        return None if None in each else " or ".join(dict.fromkeys(map(str, each)))
    if origin is typing.Literal:
        choices = " or ".join(repr(choice) for choice in arguments)
        return None if isinstance(value, str) and value in arguments else choices
    kind = origin or hint
    if kind is Callable or kind is typing.Callable:
        return None if callable(value) else "a function"
    if not inspect.isclass(kind) or getattr(kind, "_is_protocol", False):
        return None
    if not isinstance(value, kind) and not (kind is PathLike and isinstance(value, str)):
        listed = issubclass(kind, Iterable) and np.ndim(value) and isinstance(value, np.ndarray)
        if not listed:
            return f"a {kind.__name__}" if not arguments else f"a {kind.__name__.lower()}"
    if isinstance(value, str) and kind is not str and issubclass(kind, Collection):
        return f"a {kind.__name__.lower()}"
    return _misfit_inside(value, kind, arguments)


def _misfit_inside(value: Any, kind: type, arguments: tuple[Any, ...]) -> str | None:
    """What the entries of a container should be; None where they fit."""
    if not arguments:
        return None
    if issubclass(kind, Mapping):
        words = [_misfit(part, arguments[1]) for part in value.values()]
    elif kind is tuple and arguments[-1] is not Ellipsis:
        if len(value) != len(arguments):
            return f"{len(arguments)} entries"
        words = [_misfit(part, argument) for part, argument in zip(value, arguments, strict=True)]
    elif issubclass(kind, Iterable) and hasattr(value, "__len__"):
        words = [_misfit(part, arguments[0]) for part in value]
    else:
        return None
    return next((f"entries that are {word}" for word in words if word), None)


def _misshaped(value: Any, hint: Any, name: str, document: str) -> str | None:
    """The shape that the docstring states for an array; None where the value has it."""
    line = re.search(rf"^(?:.*, )?{name}(?:, .*)? : (.*)$", document, re.MULTILINE)
    stated = SHAPE.findall(line[1]) if line else []
    if not stated or value is None or (hint == Any and real_array(value) is None):
        return None
    shape = np.shape(np.asarray(value))
    for text in stated:
        sizes = [size.strip() for size in text.split(",") if size.strip()]
        if len(sizes) == len(shape) and all(
            not size.isdigit() or int(size) == length
            for size, length in zip(sizes, shape, strict=True)
        ):
            return None
    return "shape " + " or ".join(f"({text})" for text in stated)
