"""What an import brings with it: public names come at their first use, heavy packages later."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import assembly
import modal
from assembly.lazy import names_of
from tests.support.paths import ROOT

HEAVY = {"matplotlib", "meshio", "mpi4py", "petsc4py", "skfem", "slepc4py", "xarray", "zarr"}


def imported(arguments: list[str], loaded: str = "") -> set[str]:
    """The packages in an interpreter that ends; the last line it prints is their list."""
    script = (
        "import atexit, json, sys\n"
        "atexit.register(lambda: print('\\n' + json.dumps(sorted(sys.modules))))\n"
        f"sys.argv = {['frozen-motion', *arguments]!r}\n{loaded}"
    )
    # A process that has imported mpi4py looks to its children as one of several ranks.
    own = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMI"))}
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True, text=True, cwd=ROOT, check=True, env=own,
    )  # fmt: skip
    return {name.split(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}


def test_the_packages_alone_import_nothing() -> None:
    assert not imported([], "import assembly, modal, studies") & (HEAVY | {"numpy", "scipy"})


def test_help_imports_no_numerics() -> None:
    code = "from studies.__main__ import main\nassert main(['--help']) == 0"
    assert not imported(["--help"], code) & (HEAVY | {"scipy"})


@pytest.mark.slow
def test_solving_and_tracking_do_not_import_what_they_do_not_use() -> None:
    names = imported([], "from assembly import beam\nfrom modal import solve, track")
    assert not names & (HEAVY - {"skfem", "meshio", "xarray"})


@pytest.mark.parametrize("package", [assembly, modal], ids=lambda package: package.__name__)
def test_every_line_of_the_stub_is_a_public_name(package: ModuleType) -> None:
    stub = Path(str(package.__file__)).with_suffix(".pyi")
    places = names_of(stub)
    assert list(places) == package.__all__ and dir(package) == sorted(places)
    for name in places:
        assert getattr(package, name) is vars(package)[name]  # kept after the first use
    for node in ast.walk(ast.parse(stub.read_text("utf-8"))):
        if isinstance(node, ast.alias):  # a stub exports what is named twice
            assert node.name == node.asname
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(package, "nothing")  # noqa: B009
