"""Pages of the manual whose code is run as printed, with what it prints and draws.

    python -m tests.support.printed_pages tutorial roles     # writes today's output and figures

A block of `python` runs in the names of its page or section, a block of `sh` runs `frozen-motion`,
a block of `toml` is saved under the name of the line "File `name`:" above it. A block of `text`
right below is what was printed: numbers agree to a relative NUMBERS, "…" stands for any text. How
many entries of a matrix are not zero depends on round-off: that number is not compared. A figure
of `images/PAGE/` is one that the page's code has written under the same name.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import matplotlib
import matplotlib.pyplot as plt

from studies.__main__ import main as command_line

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(
    r"(?:^File `([^`]+)`:\n\n)?^```(python|sh|toml)\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
FIGURE = re.compile(r"!\[[^\]]*\]\((images/(\w+)/([^)]+))\)")
NUMBER = re.compile(r"[-+−]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
NONZEROS = re.compile(r"\d+(?= nonzeros)")
NUMBERS = 2e-4
ROUND_OFF = 1e-7  # numbers below are round-off, of any size
LEAST_FIGURE = 5_000  # bytes


@dataclass
class Page:
    """A page or a section of one, in a folder of its own: names, what was wrong, what it prints."""

    text: str
    folder: Path
    source: str = "page"
    line: int = 0
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    wrong: list[str] = field(default_factory=list)
    printed: list[tuple[re.Match[str], str]] = field(default_factory=list)

    def run(self) -> Page:
        """Run all blocks; `wrong` has what differs from the page."""
        with _inside(self.folder), matplotlib.rc_context({"backend": "agg"}):
            for block in BLOCK.finditer(self.text):
                said = io.StringIO()
                with contextlib.redirect_stdout(said):
                    self._run(block)
                self.printed.append((block, said.getvalue()))
                if block[4] is not None and not agrees(block[4], said.getvalue()):
                    self.wrong.append(f"printed:\n{said.getvalue()}the page has:\n{block[4]}")
        plt.close("all")
        for figure in FIGURE.finditer(self.text):
            made = self.made(figure[3])
            if made is None or made.stat().st_size < LEAST_FIGURE:
                self.wrong.append(f"{figure[1]}: no such figure was written")
        return self

    def made(self, name: str) -> Path | None:
        """The figure of a name that the code has written."""
        return next(iter(sorted(self.folder.rglob(name))), None)

    def _run(self, block: re.Match[str]) -> None:
        name, kind, code, _ = block.groups()
        if kind == "toml":
            if name:
                Path(name).write_text(code, encoding="utf-8")
        elif kind == "python":
            first = self.line + self.text[: block.start(3)].count("\n")
            exec(compile("\n" * first + code, self.source, "exec"), self.names)
        else:
            for line in code.splitlines():
                program, *arguments = line.split()
                assert program == "frozen-motion", line
                code_of_exit = command_line(arguments)
                assert code_of_exit == 0, f"{line}: exit code {code_of_exit}"


def agrees(page: str, printed: str) -> bool:
    """Whether the words are the same and the numbers agree; "…" on the page is any text."""
    at = 0
    words, numbers = _parts(printed)
    pattern, expected = _parts(page)
    regular = r"(.*?)".join(re.escape(part) for part in pattern.split("…"))
    if not re.fullmatch(regular, words, re.DOTALL):
        return False
    if "…" not in page:
        return len(numbers) == len(expected) and all(map(_same, expected, numbers))
    for value in expected:  # in the order of the page, others in between
        while at < len(numbers) and not _same(value, numbers[at]):
            at += 1
        if at == len(numbers):
            return False
        at += 1
    return True


def _parts(text: str) -> tuple[str, list[float]]:
    """The text with # for every number and single spaces, and the numbers."""
    plain = NONZEROS.sub("", click.unstyle(text))
    numbers = [float(found.replace("−", "-")) for found in NUMBER.findall(plain)]
    return " ".join(NUMBER.sub("#", plain).split()), numbers


def _same(a: float, b: float) -> bool:
    return abs(a - b) <= max(NUMBERS * max(abs(a), abs(b)), ROUND_OFF)


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def sections(page: Path) -> dict[str, tuple[str, int]]:
    """The text and the first line of every section of a page, by its heading."""
    text = page.read_text("utf-8")
    starts = [m.start() for m in re.finditer(r"^## ", text, re.MULTILINE)]
    out = {}
    for a, b in zip(starts, [*starts[1:], len(text)], strict=True):
        out[text[a + 3 :].partition("\n")[0]] = (text[a:b], text[:a].count("\n"))
    return out


def write(page: Path, ran: list[Page]) -> None:
    """Write what was printed into the `text` blocks of the page, and its figures."""
    text = page.read_text("utf-8")
    for one in ran:
        new, end = "", 0
        for block, said in one.printed:
            new += one.text[end : block.start()]
            whole = block[0]
            if block[4] is not None and not agrees(block[4], said):
                lines = "\n".join(line.rstrip() for line in click.unstyle(said).splitlines())
                head = whole[: whole.rindex("```text\n")]
                whole = f"{head}```text\n{lines}\n```"
            new, end = new + whole, block.end()
        text = text.replace(one.text, new + one.text[end:])
        for figure in FIGURE.finditer(one.text):
            made = one.made(figure[3])
            assert made is not None, figure[1]
            target = DOCS / figure[1]
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(made, target)
    page.write_text(text, encoding="utf-8")


def main(names: list[str]) -> None:
    import tempfile

    for name in names:
        page = DOCS / f"{name}.md"
        parts = {name: (page.read_text("utf-8"), 0)} if name != "roles" else sections(page)
        with tempfile.TemporaryDirectory() as place:
            ran = []
            for k, (title, (text, line)) in enumerate(parts.items()):
                folder = Path(place).resolve() / str(k)
                folder.mkdir()
                if name == "tutorial":
                    shutil.copy(ROOT / "studies" / "rotating_blade" / "blade.msh", folder)
                print(title, file=sys.stderr)
                ran.append(Page(text, folder, str(page), line).run())
            write(page, ran)


if __name__ == "__main__":
    main(sys.argv[1:])
