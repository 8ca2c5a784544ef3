"""Abaqus and CalculiX input decks, put into the words meshio's reader knows."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assembly.errors import MeshError

# Element types by number of nodes and shape, as meshio's reader calls them. Variants (reduced,
# hybrid, incompatible modes) have the same nodes; which formulation is used is ours.
_FAMILIES: tuple[tuple[str, str], ...] = (
    (r"C3D4H?", "C3D4"),
    (r"C3D10(H|I|M|MH|T|R)?", "C3D10"),
    (r"C3D8(H|I|IH|R|RH|T|RT)?", "C3D8"),
    (r"C3D20(H|R|RH|T|RT|RI)?", "C3D20"),
    (r"C3D6H?", "C3D6"),
    (r"C3D15H?", "C3D15"),
    (r"(CPS|CPE|CAX|S|M3D|STRI|R3D|F3D)3(R|RS|H|T)?", "CPS3"),
    (r"((CPS|CPE|CAX|S|M3D)6(M|MH|H|T)?|STRI65)", "STRI65"),
    (r"(CPS|CPE|CAX|S|M3D|R3D|F3D)4(R|I|H|RH|IH|RS|RSW|R5|T|RT|P)?", "CPS4"),
    (r"(CPS|CPE|CAX|S|M3D)8(R|R5|H|RH|T|RT)?", "S8R"),
    (r"(T3D2|T2D2|B31|B21|B33|B31R)H?", "T3D2"),
    (r"(T3D3|T2D3|B32|B22|B32R)H?", "T3D3"),
)


def translated(path: Path) -> str:
    """The deck's text with comments removed, element types renamed and sets of sets spelt out.

    Raises MeshError for an element type that is not known, with its line.
    """
    out: list[str] = []
    sets: dict[str, list[str]] = {}
    current: str | None = None
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1):
        if line.startswith("**") or not line.strip():
            continue
        if line.startswith("*"):
            keyword = line.partition(",")[0].strip().upper()
            current = None
            if keyword == "*ELEMENT":
                line = _renamed(line, f"{path}, line {number}")
            elif keyword == "*NSET":
                current = _option(line, "NSET")
                if "GENERATE" in line.upper():
                    current = None
                else:
                    sets.setdefault(current or "", [])
            out.append(line)
            continue
        if current is not None:
            members = [word.strip() for word in line.split(",") if word.strip()]
            spelt: list[str] = []
            for word in members:
                spelt += [word] if word.lstrip("-").isdigit() else sets.get(word, [word])
            sets[current] += spelt
            line = ", ".join(spelt)
        out.append(line)
    return "\n".join(out) + "\n"


def _option(line: str, key: str) -> str | None:
    found = re.search(rf",\s*{key}\s*=\s*([^,\s]+)", line, re.IGNORECASE)
    return found.group(1) if found else None


def _renamed(line: str, where: str) -> str:
    kind = (_option(line, "TYPE") or "").upper()
    for pattern, known in _FAMILIES:
        if re.fullmatch(pattern, kind):
            return re.sub(
                r"(,\s*)TYPE\s*=\s*[^,\s]+", rf"\1TYPE={known}", line, flags=re.IGNORECASE
            )
    raise MeshError(f"{where}: element type {kind or '(none)'} is not known")


def node_table(path: Path) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Node numbers (N,) and positions (N, 3) of a deck, in its order. Raises MeshError."""
    try:
        text = path.read_text(errors="replace")
    except OSError as fault:
        raise MeshError(f"{path}: cannot be read: {fault.strerror}") from None
    numbers: list[int] = []
    positions: list[list[float]] = []
    inside = False
    for row, line in enumerate(text.splitlines(), start=1):
        if line.startswith("*"):
            if not line.startswith("**"):
                inside = line.partition(",")[0].strip().upper() == "*NODE"
        elif inside and line.strip():
            words = line.rstrip().rstrip(",").split(",")
            try:
                numbers.append(int(words[0]))
                positions.append(([float(word) for word in words[1:4]] + [0.0] * 3)[:3])
            except ValueError:
                raise MeshError(f"{path}, line {row}: expected node, x, y, z") from None
    if not numbers:
        raise MeshError(f"{path}: has no *NODE lines")
    return np.array(numbers), np.array(positions)
