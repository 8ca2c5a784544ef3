"""Types of arguments with what a shell completes for them; nothing here imports numpy."""

from __future__ import annotations

import ast
import os
import shlex
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType

STUDIES = Path(__file__).parents[1]
KINDS = ("beam", "solid", "blade", "rotor", "arm", "mechanism", "matrices")


class File(ParamType):
    """A path. A file that is missing gets our own error, so nothing is checked here."""

    name = "path"

    def __init__(self, complete: str) -> None:
        self.complete = complete

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:
        return Path(value)

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type=self.complete)]


def typed() -> list[str]:
    """The words of the command line that is completed; click's context lacks them while an option
    waits for its value."""
    return shlex.split(os.environ.get("COMP_WORDS", ""))


class Word(ParamType):
    """A text that is completed from a list; it is checked by the command."""

    name = "text"

    def words(self, ctx: click.Context) -> Iterable[str]:
        """What may stand there."""
        raise NotImplementedError

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        try:
            words = list(self.words(ctx))
        except (OSError, ValueError, SyntaxError):  # an open quote, or a file that cannot be read
            words = []
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]


class StudyName(Word):
    """A study: a folder with a study.py."""

    def words(self, ctx: click.Context) -> Iterable[str]:
        paths = sorted(STUDIES.glob("*/study.py"))
        return [path.parent.name.replace("_", "-") for path in paths]


class Setting(Word):
    """A setting of the study that is named before it."""

    def words(self, ctx: click.Context) -> Iterable[str]:
        named = [word for word in typed() if word in STUDY.words(ctx)]
        folder = (named or [""])[0].replace("-", "_")
        tree = ast.parse((STUDIES / folder / "study.py").read_text("utf-8"))
        mains = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        return [
            f"{argument.arg}="
            for node in mains
            if node.name == "main"
            for argument in node.args.kwonlyargs
            if argument.arg not in ("progress", "out")
        ]


class Kind(Word):
    """A kind of starter."""

    def words(self, ctx: click.Context) -> Iterable[str]:
        return KINDS


class Parameter(Word):
    """A parameter of the model file that is named before it."""

    def words(self, ctx: click.Context) -> Iterable[str]:
        models = [word for word in typed() if word.endswith(".toml")]
        content = tomllib.loads(Path((models or [""])[0]).read_text("utf-8"))
        if "joint" not in content and "bushing" not in content:
            return ["omega=", "speed_rpm=", "epsilon="]
        drivers = list(content.get("driver", {}))
        speeds = ["speed_rpm="] * (len(drivers) == 1) + [f"{name}_rpm=" for name in drivers]
        return [*speeds, "t=", "turn="]


FILE, FOLDER = File("file"), File("dir")
STUDY, SETTING, KIND, PARAMETER = StudyName(), Setting(), Kind(), Parameter()
