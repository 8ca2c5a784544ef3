"""Nastran bulk data: what meshio's reader needs, and the sets of grid points it drops."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from assembly.errors import MeshError
from assembly.mesh.text_files import LARGEST_SET, read_text
from assembly.types import Index


def translated(path: Path) -> str:
    """The deck's text with BEGIN BULK (Gmsh writes none) and ENDDATA: meshio waits for both."""
    text = read_text(path, MeshError)
    starts = [line.strip().upper() for line in text.splitlines()]
    if not any(line.startswith("BEGIN BULK") for line in starts):
        text = "BEGIN BULK\n" + text
    if not any(line.startswith("ENDDATA") for line in starts):
        text += "\nENDDATA\n"
    return text


def grid_sets(path: Path) -> dict[str, Index]:
    """Sets "set N" of SET1 and "spc N" of SPC1 cards, as positions in the list of GRID cards.

    Raises MeshError for a card that names a grid point the deck does not have.
    """
    place: dict[int, int] = {}
    members: dict[str, list[str]] = {}
    for card in _cards(path):
        if card[0] == "GRID":
            place[int(card[1])] = len(place)
        elif card[0] == "SET1":
            members.setdefault(f"set {card[1]}", []).extend(card[2:])
        elif card[0] == "SPC1":
            members.setdefault(f"spc {card[1]}", []).extend(card[3:])
    sets: dict[str, Index] = {}
    for label, words in members.items():
        try:
            sets[label] = np.unique([place[k] for k in _expanded(words)]).astype(np.intp)
        except KeyError as fault:
            raise MeshError(f"{path}: {label}: there is no grid point {fault}") from None
        except ValueError as fault:
            raise MeshError(f"{path}: {label}: expected grid point numbers: {fault}") from None
    return sets


def _cards(path: Path) -> Iterator[list[str]]:
    """Cards with their continuations, in free (commas) and in small and large fixed fields."""
    card: list[str] = []
    for line in read_text(path, MeshError).splitlines():
        line = line.partition("$")[0].rstrip()
        if not line:
            continue
        width = 16 if "*" in line[:8] else 8
        if "," in line:
            fields = [word.strip() for word in line.split(",")]
        else:
            fields = [line[:8].strip(), *(line[k : k + width].strip() for k in range(8, 72, width))]
        name = fields[0].rstrip("* ").upper()
        words = [word for word in fields[1:9] if word and not word.startswith("+")]
        if name and not name.startswith("+"):
            if card:
                yield card
            card = [name]
        card += words
    if card:
        yield card


def _expanded(words: list[str]) -> Iterator[int]:
    """Numbers, with "a THRU b" spelt out."""
    k = 0
    while k < len(words):
        if k + 2 < len(words) and words[k + 1].upper() == "THRU":
            numbers = range(int(words[k]), int(words[k + 2]) + 1)
            if numbers.stop - numbers.start > LARGEST_SET:
                raise ValueError(f"a set of more than {LARGEST_SET} numbers")
            yield from numbers
            k += 3
        else:
            yield int(words[k])
            k += 1
