"""Meshes of other programs, through meshio: nodes, cells and named sets.

Gmsh (.msh), Abaqus and CalculiX (.inp), Nastran (.bdf), MED, VTK and whatever else meshio reads.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import meshio
import numpy as np

from assembly.arguments import check_kind
from assembly.elements.cells import CellBlock
from assembly.elements.reference import CELLS
from assembly.errors import MeshError
from assembly.magnitudes import POSITION
from assembly.mesh import decks
from assembly.mesh.text_files import regular_file, shown
from assembly.types import AnyArray, Array, Index, Mask


@dataclass(frozen=True)
class Mesh:
    """Nodes (N, 3), blocks of cells of one dimension, and named sets.

    sets: node numbers. cell_sets: for each block which of its cells belong (E,). place: for each
    node of the file its number here, −1 for nodes that no cell uses.
    """

    points: Array
    blocks: tuple[CellBlock, ...]
    sets: Mapping[str, Index]
    cell_sets: Mapping[str, tuple[Mask, ...]]
    place: Index
    name: str = "mesh"

    def nodes_of(self, chosen: str | Iterable[int], role: str) -> Index:
        """Node numbers of a named set, or of nodes of the file (from 0); MeshError when none."""
        if isinstance(chosen, str):
            if chosen not in self.sets:
                present = ", ".join(sorted(self.sets)) or "none"
                raise MeshError(
                    f'{role}: {self.name} has no set named "{shown(chosen)}"; its sets are:'
                    f" {present}"
                )
            return self.sets[chosen]
        numbers = np.asarray(list(chosen) if isinstance(chosen, Iterable) else chosen)
        if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
            raise MeshError(
                f"{role}: expected the name of a set, or a list of node numbers, got {chosen!r}"
            )
        nodes = np.unique(numbers.astype(np.intp))
        if nodes.size == 0 or nodes[0] < 0 or nodes[-1] >= len(self.place):
            raise MeshError(
                f"{role}: expected node numbers from 0 to {len(self.place) - 1} of {self.name},"
                f" got {nodes.tolist()[:8]}"
            )
        idle = self.place[nodes] < 0
        if idle.any():
            raise MeshError(f"{role}: node {nodes[idle][0]} of {self.name} belongs to no element")
        return self.place[nodes]


def read_mesh(source: str | Path | meshio.Mesh, kinds: tuple[str, ...]) -> Mesh:
    """The cells of the given kinds and the nodes they use, with the sets named in the file.

    source: a path, or a mesh already read. kinds: cell names of meshio, all of one dimension; cells
    of lower dimension only serve to name sets. Raises MeshError when the file cannot be read, has
    other cells of that dimension, has no usable cell, or a coordinate that is not finite.
    """
    expected = "a path or a meshio.Mesh"
    check_kind(source, (str, Path, meshio.Mesh), "mesh", expected, MeshError)
    name = "the mesh" if isinstance(source, meshio.Mesh) else str(source)
    raw = source if isinstance(source, meshio.Mesh) else _read_file(Path(source))
    coordinates = np.asarray(raw.points, dtype=float)
    if coordinates.ndim != 2 or coordinates.shape[1] not in (2, 3):
        raise MeshError(f"{name}: has no nodes")
    points = np.zeros((len(coordinates), 3))
    points[:, : coordinates.shape[1]] = coordinates
    dimension = _dimension(kinds[0])
    used = np.zeros(len(points), dtype=bool)
    cells: dict[str, list[Index]] = {}  # Gmsh writes a block for each of its geometric entities
    merged: dict[str, list[int]] = {}
    for k, block in enumerate(raw.cells):
        if block.type in kinds:
            nodes = np.asarray(block.data, dtype=np.intp)
            if nodes.size and not (0 <= nodes.min() and nodes.max() < len(points)):
                raise MeshError(
                    f"{name}: a cell of type {block.type} has a node that the file does not have"
                )
            if name.endswith(".med"):
                nodes = _from_med(points, nodes, block.type)
            cells.setdefault(block.type, []).append(nodes)
            merged.setdefault(block.type, []).append(k)
            used[nodes] = True
        elif _dimension(block.type) >= dimension:
            raise MeshError(
                f"{name}: cells of type {block.type} are not supported here; use {', '.join(kinds)}"
            )
    if not used.any():
        present = ", ".join(sorted({block.type for block in raw.cells})) or "none"
        raise MeshError(f"{name}: no cells of type {', '.join(kinds)}; it has: {present}")
    if not POSITION.accepts(points[used]):
        outside = ~(np.abs(points) <= POSITION.largest).all(axis=1)
        bad = int(np.flatnonzero(used & outside)[0])
        raise MeshError(
            f"{name}: node {bad} has the coordinates {points[bad].tolist()}, expected finite"
            f" numbers of at most {POSITION.largest:g} m"
        )
    # Nodes that no element uses (geometry points, hanging nodes) would be DOFs without
    # stiffness.
    number = np.where(used, np.cumsum(used) - 1, -1)
    sets = {
        label: number[nodes[used[nodes]]]
        for label, nodes in _node_sets(raw).items()
        if used[nodes].any()
    }
    blocks = tuple(CellBlock(kind, number[np.vstack(parts)]) for kind, parts in cells.items())
    cell_sets = _merged_cell_sets(raw, list(merged.values()))
    return Mesh(points[used], blocks, sets, cell_sets, number, name)


def _read_file(path: Path) -> meshio.Mesh:
    regular_file(path, MeshError)
    if path.stat().st_size == 0:
        raise MeshError(f"{path}: cannot be read as a mesh: the file is empty")
    quiet = io.StringIO()
    try:
        with contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
            if path.suffix.lower() == ".inp":
                return decks.read_deck(path)
            if path.suffix.lower() in (".bdf", ".nas", ".fem"):
                raw = meshio.read(io.StringIO(decks.translated(path)), file_format="nastran")
                raw.point_sets.update(decks.grid_sets(path))
                return raw
            return meshio.read(path)
    except (Exception, SystemExit) as fault:
        if isinstance(fault, MeshError):
            raise
        reason = " ".join(str(fault).split()) or type(fault).__name__
        if isinstance(fault, SystemExit):
            reason = f"no complete {path.suffix} file"
        elif "deduce file format" in reason:
            reason = "unknown ending; expected one that meshio reads, as .msh, .inp, .bdf, .vtk"
        raise MeshError(f"{path}: cannot be read as a mesh: {reason}") from None


def _from_med(points: Array, nodes: Index, kind: str) -> Index:
    """Cells in the order used here. MED numbers the base of tetrahedra and bricks the other way
    round, and meshio hands that on; files that meshio itself wrote keep its own order."""
    turned = {"tetra": (0, 2, 1, 3), "hexahedron": (0, 3, 2, 1, 4, 7, 6, 5)}
    corner = turned.get(kind.rstrip("0123456789"))
    if corner is None:
        return nodes
    first = points[nodes[:, [0, 1, 2, 3] if len(corner) == 4 else [0, 1, 3, 4]]]
    if not np.all(np.linalg.det(first[:, 1:] - first[:, :1]) < 0.0):
        return nodes
    edges = CELLS[kind].edges
    place = {frozenset(edge): k for k, edge in enumerate(edges)}
    middles = [len(corner) + place[frozenset((corner[a], corner[b]))] for a, b in edges]
    return nodes[:, [*corner, *middles]]


def _dimension(kind: str) -> int:
    return int(meshio._mesh.topological_dimension.get(kind, 0))


def _node_sets(raw: meshio.Mesh) -> dict[str, Index]:
    """All named sets as sorted node numbers.

    Node and cell sets; physical groups of Gmsh (both formats); families of MED; properties of
    Nastran ("property 3"); of VTK, arrays over nodes or cells that hold only 0 and 1.
    """
    parts_of: dict[str, list[Any]] = {}
    for label, nodes in raw.point_sets.items():
        parts_of.setdefault(label, []).append(np.asarray(nodes, dtype=np.intp))
    for label, k, mask in _cell_sets(raw):
        parts_of.setdefault(label, []).append(raw.cells[k].data[mask].ravel())
    for label, mask in _marked_nodes(raw):
        parts_of.setdefault(label, []).append(np.flatnonzero(mask))
    return {label: np.unique(np.concatenate(parts)) for label, parts in parts_of.items() if parts}


def _merged_cell_sets(raw: meshio.Mesh, merged: list[list[int]]) -> dict[str, tuple[Mask, ...]]:
    """Masks over the cells of each merged block, from the numbers of the blocks merged in it."""
    sizes = [len(block.data) for block in raw.cells]
    masks: dict[str, list[Mask]] = {}
    for label, k, mask in _cell_sets(raw):
        of_blocks = masks.setdefault(label, [np.zeros(size, dtype=bool) for size in sizes])
        of_blocks[k] |= mask
    return {
        label: tuple(np.concatenate([of_blocks[k] for k in group]) for group in merged)
        for label, of_blocks in masks.items()
    }


def _cell_sets(raw: meshio.Mesh) -> Iterator[tuple[str, int, Mask]]:
    """Set names, the number of a block, and which of its cells belong."""
    for label, members in raw.cell_sets.items():
        if label.startswith("gmsh:"):
            continue
        for k, chosen in enumerate(members):
            if chosen is not None and len(chosen):
                mask = np.zeros(len(raw.cells[k].data), dtype=bool)
                mask[np.asarray(chosen, dtype=np.intp)] = True
                yield label, k, mask
    yield from _marked_cells(raw)


def _marked_cells(raw: meshio.Mesh) -> Iterator[tuple[str, int, Mask]]:
    """Set names, the number of a block, and which of its cells belong, from data on cells."""
    families = getattr(raw, "cell_tags", None) or {}
    for key, columns in raw.cell_data.items():
        for k, column in enumerate(columns):
            values = np.asarray(column)
            if values.ndim != 1:
                continue
            if key == "gmsh:physical":
                dimension = _dimension(raw.cells[k].type)
                for label, (tag, of_dimension) in raw.field_data.items():
                    if of_dimension == dimension and label not in raw.cell_sets:
                        yield label, k, values == tag
            elif key == "cell_tags":
                for tag, labels in families.items():
                    for label in labels:
                        yield label, k, values == tag
            elif key == "nastran:ref":
                for tag in np.unique(values):
                    yield f"property {tag}", k, values == tag
            elif ":" not in key and _is_mask(values):
                yield key, k, values == 1


def _marked_nodes(raw: meshio.Mesh) -> Iterator[tuple[str, Mask]]:
    """Set names and which nodes belong, from data on nodes."""
    families = getattr(raw, "point_tags", None) or {}
    for key, column in raw.point_data.items():
        values = np.asarray(column)
        if key == "point_tags":
            for tag, labels in families.items():
                for label in labels:
                    yield label, values == tag
        elif ":" not in key and _is_mask(values):
            yield key, values == 1


def _is_mask(values: AnyArray) -> bool:
    return values.ndim == 1 and values.size > 0 and bool(np.isin(values, (0, 1)).all())
