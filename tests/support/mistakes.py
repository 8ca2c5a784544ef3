"""The page of mistakes: its tables are the data, and what each mistake says is compared with them.

    python -m tests.support.mistakes        # writes what each mistake says today into the page

A row has what is typed, the class of the error or the exit code, and the line. "…" in a line stands
for any text. A row is Python, a command (`frozen-motion …`), or a change of the model file of its
section (`before → after`). The section's code runs before, each row in a copy of its names.
"""

from __future__ import annotations

import contextlib
import copy
import io
import os
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from assembly import PlausibilityWarning
from assembly.errors import FrozenMotionError
from studies.__main__ import main as command_line

PAGE = Path(__file__).parents[2] / "docs" / "mistakes.md"
ROW = re.compile(r"^\| `+ ?(.+?) ?`+ \| (\w[\w ]*|\?) \| `+ ?(.*?) ?`+ \|$", re.MULTILINE)
FENCE = re.compile(r"^```(python|toml)\n(.*?)^```", re.MULTILINE | re.DOTALL)
MODEL_FILE = "model.toml"


@dataclass(frozen=True)
class Mistake:
    """What is typed, and the class and the line of the page."""

    typed: str
    kind: str
    line: str

    def matches(self, kind: str, line: str) -> bool:
        """Whether the page says this; "…" stands for any text."""
        pattern = ".+".join(re.escape(part) for part in self.line.split("…"))
        return kind == self.kind and re.fullmatch(pattern, line) is not None


@dataclass(frozen=True)
class Section:
    """A section of the page: its heading, its code, its model file, and its mistakes."""

    name: str
    code: str
    model: str
    mistakes: tuple[Mistake, ...]


def sections() -> tuple[Section, ...]:
    """All sections that have mistakes."""
    parts = re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]
    return tuple(section for section in map(_section, parts) if section.mistakes)


def _section(text: str) -> Section:
    name, _, rest = text.partition("\n")
    blocks = {kind: "" for kind in ("python", "toml")}
    for kind, block in FENCE.findall(rest):
        blocks[kind] += block
    rows = (Mistake(_plain(a), b, _plain(c)) for a, b, c in ROW.findall(rest))
    return Section(name, blocks["python"], blocks["toml"], tuple(rows))


def _plain(cell: str) -> str:
    return cell.replace("\\|", "|")


class Bench:
    """Makes the mistakes of a section in a folder, which is the working directory meanwhile."""

    def __init__(self, section: Section, folder: Path) -> None:
        self.section, self.folder = section, folder
        self.names: dict[str, Any] = {}
        with warnings.catch_warnings(), self._here():
            warnings.simplefilter("ignore")
            exec(section.code, self.names)
            if section.model:
                Path(MODEL_FILE).write_text(section.model, encoding="utf-8")
        self.before = self._files()

    def make(self, mistake: Mistake) -> tuple[str, str]:
        """Class of the error or exit code, and the line. Asserts that nothing was left behind."""
        with self._here():
            if " → " in mistake.typed:
                found = self._changed(*mistake.typed.split(" → "))
            elif mistake.typed.startswith("frozen-motion"):
                found = self._command(mistake.typed.split()[1:])
            else:
                found = self._python(mistake.typed)
        assert self._files() == self.before, f"{mistake.typed}: files were left behind"
        return found

    @contextlib.contextmanager
    def _here(self) -> Iterator[None]:
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            yield
        finally:
            os.chdir(before)

    def _files(self) -> list[tuple[str, int]]:
        return sorted((str(p), p.stat().st_size) for p in self.folder.rglob("*"))

    def _python(self, typed: str) -> tuple[str, str]:
        with warnings.catch_warnings():
            warnings.simplefilter("error", PlausibilityWarning)
            try:
                exec(typed, copy.copy(self.names))
            except (FrozenMotionError, PlausibilityWarning, TypeError) as fault:
                return type(fault).__name__, str(fault)
        return "nothing", "no error"

    def _changed(self, before: str, after: str) -> tuple[str, str]:
        """The line of `frozen-motion check` of the model file with a change."""
        assert self.section.model.count(before) == 1, before
        path = Path(MODEL_FILE)
        try:
            path.write_text(self.section.model.replace(before, after), encoding="utf-8")
            return self._command(["check", str(path), "--strict"])
        finally:
            path.write_text(self.section.model, encoding="utf-8")

    def _command(self, arguments: list[str]) -> tuple[str, str]:
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            code = command_line(arguments)
        return f"exit {code}", click.unstyle(said.getvalue()).rstrip("\n")


def write_page() -> None:
    """Write what each mistake says today into the page; lines that still match stay."""
    import tempfile

    text = PAGE.read_text("utf-8")
    for section in sections():
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(section, Path(folder).resolve())
            for mistake in section.mistakes:
                kind, line = bench.make(mistake)
                if not mistake.matches(kind, line):
                    text = _replaced(text, mistake, kind, line)
    PAGE.write_text(text, encoding="utf-8")


def _replaced(text: str, mistake: Mistake, kind: str, line: str) -> str:
    def row(match: re.Match[str]) -> str:
        if (_plain(match[1]), match[2], _plain(match[3])) != (
            mistake.typed,
            mistake.kind,
            mistake.line,
        ):
            return match[0]
        return f"| `{match[1]}` | {kind} | `{line.replace('|', chr(92) + '|')}` |"

    return ROW.sub(row, text)


if __name__ == "__main__":
    sys.exit(write_page())
