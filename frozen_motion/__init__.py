"""Frozen Motion: its version, and the check that its import names lead to its packages.

The packages are `assembly`, `modal` and `studies`. Other projects use these names too.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("assembly", "modal", "studies")


def other_package() -> str:
    """In one line, which other package is found under a name of these; empty where none is."""
    for name in PACKAGES:
        spec = find_spec(name)
        origin = spec.origin if spec is not None else None
        if origin is None or "Frozen Motion" not in Path(origin).read_text("utf-8"):
            return (
                f"Frozen Motion's package {name!r} is hidden: the import finds "
                f"{origin or 'nothing of it'}; rename or uninstall that (docs/names.md)"
            )
    return ""


def check_names() -> None:
    """Raises ImportError where another package is found under one of the names."""
    fault = other_package()
    if fault:
        raise ImportError(fault)


def main() -> int:
    """The command `frozen-motion`; returns the exit code."""
    fault = other_package()
    if fault:
        print(f"frozen-motion: {fault}", file=sys.stderr)
        return 1
    from studies.__main__ import main as run

    return run()


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version

        return version("frozen-motion")
    raise AttributeError(f"module 'frozen_motion' has no attribute {name!r}")
