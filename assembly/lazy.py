"""Public names of a package that are imported at their first use.

The names are the imports of the package's stub, `__init__.pyi`, which type checkers and editors
read too: a new public name is one line there.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

# `__getattr__`, `__dir__` and `__all__` of a package.
Exports = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]

# Types that were names of a package in version 0.1, and the modules they are imported from now.
MOVED: dict[str, dict[str, str]] = {
    "assembly": {
        "BodyOperators": "assembly.bodies.operators",
        "DeformedBody": "assembly.motion.moving",
        "DeformedState": "assembly.mechanisms.deformed_motion",
        "ElementFamily": "assembly.elements.family",
        "Energies": "assembly.bodies.in_motion",
        "FittedMotion": "assembly.motion.records",
        "FrozenSeries": "assembly.system.frozen",
        "Momenta": "assembly.bodies.in_motion",
        "NullChain": "assembly.system.null_chain",
        "Pose": "assembly.mechanisms.rigid_state",
        "Powers": "assembly.bodies.in_motion",
        "Reaction": "assembly.mechanisms.reactions",
        "Resultants": "assembly.mechanisms.trim",
        "RigidState": "assembly.mechanisms.rigid_state",
        "SpeedTable": "assembly.bodies.rotor_parts",
        "Uncertainty": "assembly.motion.records",
    },
    "modal": {
        "BaseMotion": "modal.transient.base_motion",
        "Coleman": "modal.periodic.coleman",
        "CriticalSpeeds": "modal.critical.critical_speeds",
        "Diagnosis": "modal.checks.diagnosis",
        "Identified": "modal.checks.identification",
        "Interpolant": "modal.reduction.interpolation",
        "Load": "modal.transient.loads",
        "Model": "modal.maps.grid",
        "ModesLike": "modal.tracking.snapshot",
        "MultibladeModel": "modal.periodic.multiblade_model",
        "Property": "modal.checks.properties",
    },
}


def attach(package: str, file: str) -> Exports:
    """`__getattr__`, `__dir__` and `__all__` of a package.

    Parameters
    ----------
    package : str
        Its `__name__`.
    file : str
        Its `__file__`; the stub lies beside it.
    """
    folder = Path(file).parent
    places = names_of(folder / "__init__.pyi")

    def get(name: str) -> Any:
        from assembly.boundary import at_boundary  # numpy is imported with the first name

        module = places.get(name)
        if module not in (None, package):
            value = at_boundary(getattr(importlib.import_module(str(module)), name))
        elif (folder / name).is_dir() or (folder / f"{name}.py").is_file():
            value = importlib.import_module(f"{package}.{name}")
        else:
            absent = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(absent + _where(package, name))
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(places), list(places)


def _where(package: str, name: str) -> str:
    """What a message says of a name that a package had in an earlier version, or nothing."""
    module = MOVED[package].get(name)
    return "" if module is None else f"; it is in {module}: from {module} import {name}"


def names_of(stub: Path) -> dict[str, str]:
    """The names that a stub exports, and the modules that hold them."""
    return {
        alias.name: node.module
        for node in ast.parse(stub.read_text("utf-8")).body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
