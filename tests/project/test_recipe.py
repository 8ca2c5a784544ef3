"""The conda recipe asks for what pyproject.toml asks for and for PETSc; links on the index."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.support.paths import ROOT

CONDA = {"matplotlib": "matplotlib-base"}  # conda-forge's name without a window system
PETSC = {"petsc4py >=3.18", "slepc4py >=3.18", "petsc * real_*", "slepc * real_*", "mpi4py"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[ <>=]", requirement)[0] for requirement in requirements}


def test_the_recipe_runs_with_the_dependencies_of_the_package() -> None:
    recipe = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text("utf-8"))
    expected = {f"python {PROJECT['project']['requires-python']}"} | PETSC
    for requirement in PROJECT["project"]["dependencies"]:
        name, bound = requirement.split(">=")
        expected.add(f"{CONDA.get(name, name)} >={bound}")
    assert set(recipe["requirements"]["run"]) == expected
    host = names(recipe["requirements"]["host"])
    assert host == {"python", "pip"} | names(PROJECT["build-system"]["requires"])
    commands = [f"{k} = {v}" for k, v in PROJECT["project"]["scripts"].items()]
    assert recipe["build"]["python"]["entry_points"] == commands
    assert recipe["about"]["homepage"] == PROJECT["project"]["urls"]["Source"]


def test_the_recipe_renders() -> None:
    """One package for all platforms, by the program that builds it."""
    rattler_build = pytest.importorskip("rattler_build", reason="pip install py-rattler-build")
    recipe = rattler_build.Stage0Recipe.from_file(ROOT / "recipe" / "recipe.yaml")
    variants = recipe.render(rattler_build.VariantConfig(), rattler_build.RenderConfig())
    assert len(variants) == 1
    assert "petsc4py >=3.18" in map(str, variants[0].recipe.requirements.run)


@pytest.mark.slow
def test_the_recipe_builds_against_stand_ins(tmp_path: Path) -> None:
    """Its script, its entry point and its tests; needs the build requirements too."""
    for needed in ("rattler_build", "setuptools_scm"):
        pytest.importorskip(needed, reason="pip install py-rattler-build setuptools-scm")
    tool = [sys.executable, str(ROOT / "tools" / "try_recipe.py"), str(tmp_path / "recipe")]
    printed = subprocess.run(tool, capture_output=True, text=True, check=True).stdout
    assert "all tests passed!" in printed and printed.splitlines()[-1].startswith("built ")


@pytest.mark.parametrize("link", ["docs/index.md", "https://a.org/b", "#ten-lines"])
def test_links_of_the_long_description_are_whole(link: str) -> None:
    import runpy

    whole = runpy.run_path(str(ROOT / "setup.py"))["with_whole_addresses"]
    made = whole(f"![p]({link}) and [w]({link})", "https://x.org/y")
    due = {
        "docs/index.md": (
            "![p](https://x.org/y/raw/main/docs/index.md) and "
            "[w](https://x.org/y/blob/main/docs/index.md)"
        ),
        "https://a.org/b": "![p](https://a.org/b) and [w](https://a.org/b)",
        "#ten-lines": "![p](https://x.org/y#ten-lines) and [w](https://x.org/y#ten-lines)",
    }
    assert made == due[link]
