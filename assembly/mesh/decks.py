"""Input decks of Abaqus, CalculiX and Nastran: nodes, elements and named sets as a meshio mesh.

meshio's own reader of Abaqus decks stops at comments inside a block, does not know plane strain,
puts the sets of *ELEMENT on the wrong block when one has none, and drops sets of sets; so the deck
is read here. Of Nastran bulk data here is what meshio's reader needs, and the sets of grid points
that it drops.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import meshio
import numpy as np
from numpy.typing import NDArray

from assembly.errors import MeshError
from assembly.mesh.text_files import LARGEST_SET, read_text, regular_file, shown
from assembly.types import Array, Index

# Element types by shape and number of nodes. Variants (reduced, hybrid, incompatible modes) have
# the same nodes; the formulation is that of this package.
_KINDS: tuple[tuple[str, str, int], ...] = (
    (r"C3D4H?", "tetra", 4),
    (r"C3D10(H|I|M|MH|T|R)?", "tetra10", 10),
    (r"C3D8(H|I|IH|R|RH|T|RT)?", "hexahedron", 8),
    (r"C3D20(H|R|RH|T|RT|RI)?", "hexahedron20", 20),
    (r"C3D6H?", "wedge", 6),
    (r"C3D15H?", "wedge15", 15),
    (r"(CPS|CPE|CAX|S|M3D|STRI|R3D|F3D)3(R|RS|H|T)?", "triangle", 3),
    (r"((CPS|CPE|CAX|S|M3D)6(M|MH|H|T)?|STRI65)", "triangle6", 6),
    (r"(CPS|CPE|CAX|S|M3D|R3D|F3D)4(R|I|H|RH|IH|RS|RSW|R5|T|RT|P)?", "quad", 4),
    (r"(CPS|CPE|CAX|S|M3D)8(R|R5|H|RH|T|RT)?", "quad8", 8),
    (r"(T3D2|T2D2|B31|B21|B33|B31R)H?", "line", 2),
    (r"(T3D3|T2D3|B32|B22|B32R)H?", "line3", 3),
)


MOST_INCLUDES = 200


@dataclass
class _Deck:
    """What has been read so far, by the deck's own numbers."""

    nodes: dict[int, tuple[float, float, float]] = field(default_factory=dict)
    elements: list[tuple[str, NDArray[np.int64]]] = field(default_factory=list)  # number, nodes
    node_sets: dict[str, list[int]] = field(default_factory=dict)
    element_sets: dict[str, list[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Block:
    """A keyword line with its options and the data lines below it."""

    where: str
    keyword: str
    options: dict[str, str]
    data: list[str]


def read_deck(path: Path) -> meshio.Mesh:
    """The mesh of a deck: nodes in its order, a block of cells per *ELEMENT, node and cell sets.

    Raises MeshError, with the line, for what cannot be understood.
    """
    deck = _read(path)
    place = {number: k for k, number in enumerate(deck.nodes)}
    cells, numbers = [], []
    for kind, table in deck.elements:
        try:
            nodes = [[place[n] for n in row] for row in table[:, 1:].tolist()]
        except KeyError as fault:
            raise MeshError(f"{path}: an element names node {fault}, which is not there") from None
        cells.append((kind, np.array(nodes, dtype=np.intp).reshape(len(table), -1)))
        numbers.append(table[:, 0])
    point_sets = {}
    for label, members in deck.node_sets.items():
        absent = [n for n in members if n not in place]
        if absent:
            raise MeshError(f"{path}: set {label} names node {absent[0]}, which is not there")
        point_sets[label] = np.array([place[n] for n in members], dtype=np.intp)
    cell_sets = {
        label: [np.flatnonzero(np.isin(block, members)) for block in numbers]
        for label, members in deck.element_sets.items()
    }
    points = np.array(list(deck.nodes.values()))
    return meshio.Mesh(points, cells, point_sets=point_sets, cell_sets=cell_sets)


def node_table(path: Path) -> tuple[NDArray[np.int64], Array]:
    """Node numbers (N,) and positions (N, 3) of a deck, in its order. Raises MeshError."""
    deck = _read(path)
    return np.array(list(deck.nodes)), np.array(list(deck.nodes.values()))


def _read(path: Path) -> _Deck:
    deck = _Deck()
    add = {"*NODE": _add_nodes, "*ELEMENT": _add_elements, "*NSET": _add_set, "*ELSET": _add_set}
    for block in _blocks(path):
        try:
            if block.keyword in add:
                add[block.keyword](deck, block)
        except ValueError as fault:
            if isinstance(fault, MeshError):
                raise
            raise MeshError(f"{block.where}: {block.keyword}: {fault}") from None
    if not deck.nodes:
        raise MeshError(f"{path}: cannot be read as a mesh: it has no *NODE lines")
    return deck


def _blocks(
    path: Path, within: tuple[Path, ...] = (), opened: list[Path] | None = None
) -> Iterator[_Block]:
    """Keyword blocks, comments left out, *INCLUDE followed.

    within: the decks that include this one. opened: all that were opened so far.
    """
    text = read_text(path, MeshError)
    chain = (*within, path.resolve())
    opened = [] if opened is None else opened
    opened.append(path)
    block: _Block | None = None
    for row, line in enumerate(text.splitlines(), start=1):
        if line.startswith("**") or not line.strip():
            continue
        if not line.startswith("*"):
            if block is not None:
                block.data.append(line)
            continue
        if block is not None:
            yield block
        keyword, *words = [word.strip() for word in line.split(",")]
        pairs = [word.partition("=") for word in words if word]
        options = {key.strip().upper(): value.strip() for key, _, value in pairs}
        block = _Block(f"{path}, line {row}", keyword.upper(), options, [])
        if block.keyword == "*INCLUDE":
            included = regular_file(path.parent / options.get("INPUT", "").strip('"'), MeshError)
            if included.resolve() in chain:
                raise MeshError(f"{block.where}: {shown(included)} is included by itself")
            if len(opened) >= MOST_INCLUDES:
                raise MeshError(f"{block.where}: more than {MOST_INCLUDES} files are included")
            yield from _blocks(included, chain, opened)
            block = None
    if block is not None:
        yield block


def _words(block: _Block) -> list[str]:
    return [word.strip() for line in block.data for word in line.split(",") if word.strip()]


def _number(word: str, largest: int = 2**53) -> int:
    """A node or element number; ValueError for one that no program writes."""
    number = int(word)
    if abs(number) > largest:
        raise ValueError(f"a number with {len(word)} digits is too large")
    return number


def _add_nodes(deck: _Deck, block: _Block) -> None:
    added = []
    for line in block.data:
        number, *position = [word for word in line.split(",") if word.strip()]
        x = ([float(word) for word in position] + [0.0] * 3)[:3]
        node = (x[0], x[1], x[2])
        label = _number(number)
        if deck.nodes.setdefault(label, node) != node:
            raise ValueError(
                f"node {label} has two positions (a deck of several parts must be flattened)"
            )
        added.append(label)
    if "NSET" in block.options:
        deck.node_sets.setdefault(block.options["NSET"], []).extend(added)


def _add_elements(deck: _Deck, block: _Block) -> None:
    label = block.options.get("TYPE", "").upper()
    kinds = [(kind, count) for pattern, kind, count in _KINDS if re.fullmatch(pattern, label)]
    if not kinds:
        raise ValueError(f"element type {label or '(none)'} is not known")
    kind, count = kinds[0]
    numbers = np.array([_number(word) for word in _words(block)], dtype=np.int64)
    if numbers.size % (count + 1):
        raise ValueError(f"{label} needs a number and {count} nodes for each element")
    table = numbers.reshape(-1, count + 1)
    deck.elements.append((kind, table))
    if "ELSET" in block.options:
        deck.element_sets.setdefault(block.options["ELSET"], []).extend(table[:, 0].tolist())


def _add_set(deck: _Deck, block: _Block) -> None:
    sets = deck.node_sets if block.keyword == "*NSET" else deck.element_sets
    label = block.options.get(block.keyword[1:])
    if label is None:
        raise ValueError("the set has no name")
    members = sets.setdefault(label, [])
    if "GENERATE" in block.options:
        for line in block.data:
            first, last, *step = [_number(word) for word in line.split(",") if word.strip()]
            numbers = range(first, last + 1, step[0] if step else 1)
            if (last - first) // abs(numbers.step) > LARGEST_SET:
                raise ValueError(f"set {label} has more than {LARGEST_SET} members")
            members.extend(numbers)
        return
    for word in _words(block):
        if word.lstrip("-").isdigit():
            members.append(_number(word))
        elif word in sets:
            if len(members) + len(sets[word]) > LARGEST_SET:
                raise ValueError(f"set {label} has more than {LARGEST_SET} members")
            members.extend(sets[word])
        else:
            raise ValueError(f"set {label} names the set {word}, which is not there")


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
