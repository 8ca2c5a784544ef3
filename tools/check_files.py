"""Check files before a commit: one line end at the end, no trailing blanks, not too large.

python tools/check_files.py FILE …
"""

from __future__ import annotations

import sys
from pathlib import Path

LARGEST = 1_000_000  # bytes
TEXT = {".cff", ".css", ".html", ".md", ".py", ".rst", ".toml", ".txt", ".yaml", ".yml"}


def faults(path: Path) -> list[str]:
    """What is wrong with a file, one line each."""
    content = path.read_bytes()
    found = []
    if len(content) > LARGEST:
        found.append(f"{path}: {len(content)} bytes, expected at most {LARGEST}")
    if path.suffix not in TEXT or not content:
        return found
    if not content.endswith(b"\n") or content.endswith(b"\n\n"):
        found.append(f"{path}: expected exactly one line end at the end")
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line != line.rstrip():
            found.append(f"{path}:{number}: blanks at the end of the line")
    return found


if __name__ == "__main__":
    lines = [line for name in sys.argv[1:] for line in faults(Path(name))]
    print("\n".join(lines), end="\n" if lines else "")
    sys.exit(bool(lines))
