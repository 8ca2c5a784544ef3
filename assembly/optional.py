"""Packages that only some work needs: whether one is installed, and what to install."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

from assembly.errors import InputError

# By package: what to type.
INSTALL = {
    "mpi4py": "conda install -c conda-forge mpi4py, or pip install mpi4py",
    "petsc4py": "conda install -c conda-forge petsc4py slepc4py, or on Debian and Ubuntu "
    "apt install python3-petsc4py python3-slepc4py",
    "pyuff": 'pip install "frozen-motion[exchange]"',
    "pyyeti": 'pip install "frozen-motion[nastran]"',
}


def installed(package: str) -> bool:
    """Whether a package is there; it is not imported."""
    return find_spec(package) is not None


def check_installed(package: str, what: str) -> None:
    """Raises InputError, in one line that says what to type, where a package is missing."""
    if not installed(package):
        raise InputError(f"{what}: the package {package} is missing: {INSTALL[package]}")


def optional(module: str, what: str) -> Any:
    """A module of an optional package, imported now. Raises InputError as `check_installed`."""
    check_installed(module.partition(".")[0], what)
    return importlib.import_module(module)
