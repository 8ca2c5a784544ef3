"""The set-up's search for PETSc, and the environment it made."""

import importlib.util

import pytest

from tests.support.paths import ROOT


def tool(name):
    """A module of tools/, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def install(root, library, version, kind="real"):
    """An imitation of Debian's folder of one build."""
    folder = root / f"{library}dir" / f"{library}{version}" / f"x86_64-linux-gnu-{kind}"
    python = folder / "lib/python3/dist-packages"
    (python / f"{library}4py").mkdir(parents=True)
    return python


@pytest.fixture
def petsc_folders():
    return tool("petsc_folders")


def test_newest_version_that_both_have_is_taken(tmp_path, petsc_folders):
    install(tmp_path, "petsc", "3.9")
    install(tmp_path, "slepc", "3.9")
    newest = [install(tmp_path, "petsc", "3.18"), install(tmp_path, "slepc", "3.18")]
    install(tmp_path, "petsc", "3.22")
    assert petsc_folders.newest_pair(tmp_path) == newest


def test_complex_builds_and_strangers_are_left_alone(tmp_path, petsc_folders):
    for library in ("petsc", "slepc"):
        install(tmp_path, library, "3.18", kind="complex")
        install(tmp_path, library, "64-3.18")
    assert petsc_folders.newest_pair(tmp_path) == []


def test_a_complex_build_is_taken_on_request(tmp_path, petsc_folders):
    both = [install(tmp_path, library, "3.18", kind="complex") for library in ("petsc", "slepc")]
    assert petsc_folders.newest_pair(tmp_path, "complex") == both


def test_folders_of_the_environment_variables_come_first(tmp_path, petsc_folders, monkeypatch):
    chosen = []
    for library in ("petsc", "slepc"):
        chosen.append(install(tmp_path, library, "3.18", kind="complex"))
        monkeypatch.setenv(f"{library.upper()}_DIR", str(chosen[-1].parents[2]))
    monkeypatch.delenv("PETSC_ARCH", raising=False)
    assert petsc_folders.chosen_by_user() == chosen
    monkeypatch.delenv("SLEPC_DIR")
    assert petsc_folders.chosen_by_user() == []


def test_environment_imports_everything_and_mumps_solves():
    assert tool("check_environment").main() == 0
