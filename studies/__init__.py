"""Frozen Motion, studies: runnable studies, their command line, datasets and figures.

The studies are attributes (`studies.slider_crank`), imported at first use.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

from frozen_motion import check_names

check_names()
STUDIES = tuple(sorted(path.parent.name for path in Path(__file__).parent.glob("*/study.py")))


def __getattr__(name: str) -> ModuleType:
    if name in STUDIES:
        return importlib.import_module(f"studies.{name}")
    raise AttributeError(f"module 'studies' has no attribute {name!r}")
