"""The interface page lists every public name once."""

from __future__ import annotations

import importlib
import inspect
import re
from types import ModuleType

import pytest

import assembly
import modal
import studies
from assembly import errors
from assembly.lazy import MOVED
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "interface.md"


def listed(package: str) -> list[str]:
    """The names of a package on the page, without the types of its results."""
    tables = re.findall(r"currentmodule:: ([\w.]+)\n\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    return [
        name
        for module, table in tables
        if module == package
        for name in re.findall(r"^   ([\w.]+)$", table, re.MULTILINE)
        if package == "studies" or "." not in name  # the others are types of results
    ]


@pytest.mark.parametrize("package", [assembly, modal], ids=lambda package: package.__name__)
def test_every_public_name_is_listed_once(package: ModuleType) -> None:
    names = listed(package.__name__) + (listed("assembly.errors") if package is assembly else [])
    twice = {name for name in names if names.count(name) > 1}
    assert not twice
    assert set(package.__all__) <= set(names)
    assert set(listed(package.__name__)) <= set(package.__all__)


@pytest.mark.parametrize("package", [assembly, modal], ids=lambda package: package.__name__)
def test_names_that_left_a_package_say_where_they_are(package: ModuleType) -> None:
    page = PAGE.read_text("utf-8")
    for name, module in MOVED[package.__name__].items():
        assert getattr(importlib.import_module(module), name).__doc__
        shown = module.removeprefix(f"{package.__name__}.")  # below the name of the package
        assert page.count(f"   {shown}.{name}\n") == 1
        with pytest.raises(AttributeError, match=f"from {module} import {name}$"):
            getattr(package, name)


def test_every_error_is_listed_once() -> None:
    members = inspect.getmembers(errors, inspect.isclass)
    kinds = {name for name, kind in members if issubclass(kind, errors.FrozenMotionError)}
    assert sorted(listed("assembly.errors")) == sorted(kinds)


def test_every_study_is_listed() -> None:
    names = listed("studies")
    assert {name.removesuffix(".main") for name in names if name.endswith(".main")} == set(
        studies.STUDIES
    )
    for name in names:
        module, _, attribute = f"studies.{name}".rpartition(".")
        assert getattr(importlib.import_module(module), attribute).__doc__
