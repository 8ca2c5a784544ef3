"""Docstrings of the public names of `assembly`: every parameter has an entry, examples run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import assembly
from assembly.lazy import MOVED

MODULES = [m.name for m in pkgutil.walk_packages(assembly.__path__, "assembly.")]
FIRST_USED = ("beam", "solid", "rotor", "blade", "from_matrices", "attach_spring", "Mechanism")


def public_objects() -> Iterator[tuple[str, Any]]:
    """Functions, classes and the public methods and properties that the classes define."""
    moved = {
        name: getattr(importlib.import_module(module), name)
        for name, module in MOVED["assembly"].items()
    }
    for name, thing in ({key: getattr(assembly, key) for key in assembly.__all__} | moved).items():
        if inspect.isfunction(thing) or inspect.isclass(thing):
            yield name, thing
        if inspect.isclass(thing):
            for attribute, member in vars(thing).items():
                inner = getattr(member, "fget", None) or getattr(member, "func", None) or member
                inner = getattr(inner, "__func__", inner)
                if not attribute.startswith("_") and inspect.isfunction(inner):
                    yield f"{name}.{attribute}", inner


OBJECTS = dict(public_objects())
# Errors take a message, and the interfaces Motion and Law have no constructor.
CALLED = [
    name
    for name in OBJECTS
    if "." not in name and not name.endswith("Error") and name not in ("Motion", "Law")
]


@pytest.mark.parametrize("name", OBJECTS)
def test_every_public_object_says_what_it_is(name: str) -> None:
    text = inspect.getdoc(OBJECTS[name]) if "." not in name else OBJECTS[name].__doc__
    assert text and text.strip().splitlines()[0].rstrip().endswith((".", ":")), text


@pytest.mark.parametrize("name", CALLED)
def test_every_parameter_of_a_public_name_has_an_entry(name: str) -> None:
    thing = OBJECTS[name]
    text = inspect.getdoc(thing) or ""
    section = text.partition("Parameters\n----------\n")[2].split("\n\n")[0]
    entries = [line.split(" : ")[0] for line in section.splitlines() if " : " in line]
    named = {part.strip() for entry in entries for part in entry.split(",")}
    expected = set(inspect.signature(thing).parameters)
    assert expected <= named, f"{name}: no entry for {sorted(expected - named)}"
    if inspect.isfunction(thing):
        assert "\nReturns\n-------\n" in text or "\nYields\n------\n" in text


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("name", FIRST_USED)
def test_what_users_call_first_has_an_example(name: str) -> None:
    assert ">>> " in (inspect.getdoc(getattr(assembly, name)) or "")
