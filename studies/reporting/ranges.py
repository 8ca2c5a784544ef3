"""Ranges and settings as the command line writes them: start:stop:count and key=value."""

from __future__ import annotations

import difflib
import inspect
import typing
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, TypeAdapter, ValidationError

from assembly.errors import InputError, StudyError
from assembly.magnitudes import MOST_ELEMENTS
from assembly.mesh.text_files import shown

LARGEST = 1e24  # of a time or a parameter
# In words, by the type of pydantic's error.
EXPECTED = {
    "bool_parsing": "true or false",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
}


def parse_range(text: str, option: str) -> NDArray[np.float64]:
    """`start:stop:count` as that many equally spaced numbers, ends included.

    Raises InputError naming the option when the text is not of that form.
    """
    fields, text = text.split(":"), shown(text)
    try:
        start, stop = float(fields[0]), float(fields[1])
        count = int(fields[2])
        if len(fields) != 3 or not max(abs(start), abs(stop)) <= LARGEST:
            raise ValueError
    except (ValueError, IndexError):
        raise InputError(f"{option} {text}: expected start:stop:count, as in 0:400:100") from None
    if not 2 <= count <= MOST_ELEMENTS:
        raise InputError(
            f"{option} {text}: count must be between 2 and {MOST_ELEMENTS}, got {count}"
        )
    if start == stop:
        raise InputError(f"{option} {text}: start and stop are the same")
    return np.linspace(start, stop, count)


def parse_axis(text: str, option: str) -> tuple[str, NDArray[np.float64]]:
    """`name=start:stop:count`."""
    name, equals, numbers = text.partition("=")
    if not equals or not name.strip():
        raise InputError(f"{option} {text}: expected name=start:stop:count, as in omega=0:400:100")
    return name.strip(), parse_range(numbers, f"{option} {name}=")


def nearest(word: str, names: Iterable[str]) -> str:
    """A hint that names the nearest known word, or all of them."""
    names = sorted(names)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    return f'did you mean "{close[0]}"?' if close else f"known: {', '.join(names)}"


def parse_settings(function: Callable[..., Any], settings: Iterable[str]) -> dict[str, Any]:
    """Keyword arguments for a study's main() from `key=value` texts, by its annotations.

    Raises StudyError for an unknown key (naming the nearest) or a value of the wrong type.
    """
    hints = typing.get_type_hints(function)
    known = {
        name
        for name, p in inspect.signature(function).parameters.items()
        if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD) and name not in ("out", "progress")
    }
    arguments: dict[str, Any] = {}
    for text in settings:
        key, equals, value = text.partition("=")
        key = key.strip().replace("-", "_")
        if not equals:
            raise StudyError(f"--set {text}: expected key=value")
        if key not in known:
            hint = nearest(key, known)
            raise StudyError(f"--set {shown(text)}: unknown key {shown(key)!r}; {hint}")
        arguments[key] = convert(value.strip(), hints[key], shown(f"--set {key}={value}"))
    return arguments


def convert(value: str, kind: Any, where: str) -> Any:
    """The text as a bool, int, finite float, str, or one of a Literal's words."""
    try:
        return TypeAdapter(kind, config=ConfigDict(allow_inf_nan=False)).validate_python(value)
    except ValidationError as fault:
        error = fault.errors()[0]
        expected = EXPECTED.get(error["type"], error["msg"].removeprefix("Input should be "))
        raise StudyError(f"{where}: expected {expected}") from None
