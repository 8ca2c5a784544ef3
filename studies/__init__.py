"""Frozen Motion, studies: runnable studies, their command line, datasets and figures.

The study modules are attributes (`studies.slider_crank`), imported at first use.
"""

from __future__ import annotations

import importlib
from types import ModuleType

STUDY_MODULES = (
    "slider_crank",
    "rotating_blade",
    "rotating_bar",
    "two_zeros",
    "wind_pump",
    "measured_motion",
)


def __getattr__(name: str) -> ModuleType:
    if name in STUDY_MODULES:
        return importlib.import_module(f"studies.{name}")
    raise AttributeError(f"module 'studies' has no attribute {name!r}")
