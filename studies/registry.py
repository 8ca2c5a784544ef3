"""The studies by name: each a folder with one documented main() that returns its dataset."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xarray import Dataset

from assembly.errors import StudyError
from studies.reporting.ranges import nearest
from studies.reporting.tables import table

# A study is a folder with a study.py; its name on the command line has hyphens.
MODULES = {
    path.parent.name.replace("_", "-"): f"studies.{path.parent.name}"
    for path in sorted(Path(__file__).parent.glob("*/study.py"))
}


@dataclass(frozen=True)
class Study:
    """A named study: its main(), one line of what it shows, and its settings with their
    defaults. report: the study's own numbers in words, where it has such a function.
    """

    name: str
    main: Callable[..., Any]
    report: Callable[[Dataset], str] = table

    @property
    def summary(self) -> str:
        """The first paragraph of main()'s description, as one line."""
        return " ".join((inspect.getdoc(self.main) or "").split("\n\n")[0].split())

    @property
    def settings(self) -> dict[str, Any]:
        parameters = inspect.signature(self.main).parameters
        return {n: p.default for n, p in parameters.items() if n not in ("out", "progress")}


def study(name: str) -> Study:
    """The study of that name; StudyError naming the nearest otherwise."""
    if name not in MODULES:
        raise StudyError(f"no study {name!r}; {nearest(name, MODULES)}")
    module = importlib.import_module(MODULES[name])
    return Study(name, module.main, getattr(module, "report", table))


def all_studies() -> list[Study]:
    return [study(name) for name in MODULES]
