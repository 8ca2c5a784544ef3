"""Another package under one of the import names is reported in one line, by import and command."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT


def ended(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """An interpreter that finds the packages of a folder before those of the project."""
    path = os.pathsep.join([str(folder), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True, text=True, cwd=folder, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "statement"),
    [("modal", "assembly"), ("assembly", "modal"), ("studies", "modal"), ("modal", "studies")],
)
def test_another_package_is_named_at_import(name: str, statement: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text("client = 'of another service'\n")
    done = ended(f"import {statement}", tmp_path)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: Frozen Motion's package {name!r} is hidden")
    assert str(tmp_path / f"{name}.py") in last


def test_the_command_says_it_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "__init__.py").touch()
    done = ended("import frozen_motion, sys; sys.exit(frozen_motion.main())", tmp_path)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("frozen-motion: Frozen Motion's package 'studies' is hidden")
    assert len(done.stderr.splitlines()) == 1


def test_the_version_is_that_of_the_installed_distribution(tmp_path: Path) -> None:
    from importlib.metadata import version

    done = ended("import frozen_motion; print(frozen_motion.__version__)", tmp_path)
    assert done.stdout.strip() == version("frozen-motion")
