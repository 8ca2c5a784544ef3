"""What a shell completes for the arguments of the commands; nothing here imports numpy."""

from __future__ import annotations

import ast
import os
import shlex
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from click.shell_completion import CompletionItem

Completion = Callable[[Any, Any, str], list[CompletionItem]]

STUDIES = Path(__file__).parents[1]
KINDS = ("beam", "solid", "blade", "rotor", "arm", "mechanism", "matrices")


def paths(kind: str) -> Completion:
    """Leaves the names of files ("file") or of folders ("dir") to the shell."""
    return lambda context, parameter, incomplete: [CompletionItem(incomplete, type=kind)]


def words(every: Callable[[], Iterable[str]]) -> Completion:
    """Completes from the words of a list; none where it cannot be made."""

    def complete(context: Any, parameter: Any, incomplete: str) -> list[CompletionItem]:
        try:
            return [CompletionItem(word) for word in every() if word.startswith(incomplete)]
        except (OSError, ValueError, SyntaxError):  # an open quote, or a file that cannot be read
            return []

    return complete


def typed() -> list[str]:
    """The words of the command line that is completed; click's context lacks them while an option
    waits for its value."""
    return shlex.split(os.environ.get("COMP_WORDS", ""))


def _studies() -> list[str]:
    """The studies: folders with a study.py."""
    return [path.parent.name.replace("_", "-") for path in sorted(STUDIES.glob("*/study.py"))]


def _settings() -> list[str]:
    """The settings of the study that is named before."""
    named = [word for word in typed() if word in _studies()]
    folder = (named or [""])[0].replace("-", "_")
    tree = ast.parse((STUDIES / folder / "study.py").read_text("utf-8"))
    return [
        f"{argument.arg}="
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name == "main"
        for argument in node.args.kwonlyargs
        if argument.arg not in ("progress", "out")
    ]


def _parameters() -> list[str]:
    """The parameters of the model file that is named before."""
    models = [word for word in typed() if word.endswith(".toml")]
    content = tomllib.loads(Path((models or [""])[0]).read_text("utf-8"))
    if "joint" not in content and "bushing" not in content:
        return ["omega=", "speed_rpm=", "epsilon="]
    drivers = list(content.get("driver", {}))
    speeds = ["speed_rpm="] * (len(drivers) == 1) + [f"{name}_rpm=" for name in drivers]
    return [*speeds, "t=", "turn="]


FILE, FOLDER, KIND = paths("file"), paths("dir"), words(lambda: KINDS)
STUDY, SETTING, PARAMETER = words(_studies), words(_settings), words(_parameters)
