"""Tests stand alone: what they share is in tests/support; none needs another, or a benchmark but
its subject."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.support.paths import ROOT

HERE = ROOT / "tests"
FILES = sorted(HERE.rglob("*.py"))


def imported(path: Path) -> set[str]:
    """The modules that a file imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_only_support_is_shared(path: Path) -> None:
    for name in imported(path):
        of_subject = path.stem == "test_anywhere" and name.startswith("benchmarks.anywhere")
        assert of_subject or not name.startswith("benchmarks"), f"{path.name} imports {name}"
        assert not any(part.startswith("test_") for part in name.split(".")[:2]), name
        assert not name.startswith("tests.") or name.startswith("tests.support"), name


def test_only_tests_and_settings_lie_outside_support() -> None:
    others = {path.name for path in HERE.glob("*.py")}
    assert others == {"__init__.py", "conftest.py"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_internal_is_patched_by_a_path_in_a_string(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("setattr", "patch")):
            first = node.args[0] if node.args else None
            assert not (isinstance(first, ast.Constant) and isinstance(first.value, str)), (
                f"{path.name}:{node.lineno}"
            )
