"""Lines of the Python files of folders: code, docstrings, comments, blank.

    python tools/count_lines.py [assembly modal studies]

A line that has code and a comment counts as code.
"""

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

KINDS = ("code", "docstring", "comment", "blank")
LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstring_lines(tree: ast.Module) -> set[int]:
    """Numbers of the lines of all docstrings."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            lines |= set(range(text.lineno, text.end_lineno + 1))
    return lines


def count(path: Path) -> Counter[str]:
    """Lines of one file by kind."""
    source = path.read_text("utf-8")
    documented = docstring_lines(ast.parse(source))
    code, comments = set(), set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            comments.add(token.start[0])
        elif token.type not in LAYOUT:
            code |= set(range(token.start[0], token.end[0] + 1))
    code -= documented
    comments -= code
    total = len(source.splitlines())
    blank = total - len(code) - len(documented) - len(comments)
    return Counter(
        dict(zip(KINDS, map(len, (code, documented, comments)), strict=False)), blank=blank
    )


def main(folders: list[str]) -> None:
    totals: Counter[str] = Counter()
    print(f"{'':<12}{'files':>7}{'lines':>9}" + "".join(f"{kind:>11}" for kind in KINDS))
    for folder in [*folders, "all"]:
        paths = sorted(Path(folder).rglob("*.py"))
        lines = sum(map(count, paths), Counter(files=len(paths))) if folder != "all" else totals
        print(
            f"{folder:<12}{lines['files']:>7,}{sum(lines[kind] for kind in KINDS):>9,}"
            + "".join(f"{lines[kind]:>11,}" for kind in KINDS)
        )
        totals = totals + lines


if __name__ == "__main__":
    main(sys.argv[1:] or ["assembly", "modal", "studies"])
