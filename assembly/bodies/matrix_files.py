"""Matrices written by other programs: CalculiX, Abaqus, Nastran, Matrix Market.

Each reader gives a Body through `from_matrices`; node numbers of the program become positions 0, 1,
… in the order of its node list.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

from assembly.bodies.body import Body
from assembly.bodies.made_from import described
from assembly.bodies.matrices import from_matrices
from assembly.dofs import SPATIAL
from assembly.errors import InputError
from assembly.mesh.decks import node_table
from assembly.mesh.text_files import read_text, regular_file
from assembly.optional import optional
from assembly.types import AnyArray, Array, Index

# Matrix Market: banner, comments and the line of sizes; then lines that are no entries.
HEADER = re.compile(rb"[^\n]*\n(?:[ \t\r]*(?:%[^\n]*)?\n)*[^\n]*\n?")
NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][+-]?\d+)?"
WRONG = {
    layout: re.compile(rb"^(?!(?:" + entry + NUMBER + rb")?[ \t\r]*$)[^\n]+$", re.MULTILINE)
    for layout, entry in (("coordinate", rb"[ \t]*\d+[ \t]+\d+[ \t]+"), ("array", rb"[ \t]*"))
}
EXPONENTS = bytes.maketrans(b"dD", b"ee")


@described
def from_calculix(job: str | Path) -> Body:
    """A body from the matrices that CalculiX stores with `*FREQUENCY, SOLVER=MATRIXSTORAGE`.

    Parameters
    ----------
    job : str or Path
        The deck, `job.inp`. In the same folder are `job.sti` and `job.mas` (upper triangles: row,
        column, value, numbered from 1) and `job.dof` (one `node.direction` per degree of freedom;
        supports are already removed).

    Returns
    -------
    Body

    Raises
    ------
    InputError
        For a file that cannot be used.
    """
    deck = Path(job).with_suffix(".inp")
    numbers, X = node_table(deck)
    map_file = deck.with_suffix(".dof")
    try:
        rows = [[int(word) for word in line.split(".")] for line in read_text(map_file).split()]
        pairs = np.array(rows, dtype=np.int64)
    except (ValueError, OverflowError) as fault:
        raise InputError(f"{map_file}: expected lines node.direction: {fault}") from None
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.isin(pairs[:, 1] - 1, SPATIAL).all():
        raise InputError(f"{map_file}: expected lines node.direction, directions 1 to 6")
    dofs = np.column_stack([_places(numbers, pairs[:, 0], deck), pairs[:, 1] - 1])
    K, M = (_triplets(deck.with_suffix(end), len(dofs)) for end in (".sti", ".mas"))
    return _solid_body(M, K, X, dofs)


@described
def from_abaqus(deck: str | Path, stiffness: str | Path, mass: str | Path) -> Body:
    """A body from the matrices that Abaqus writes with `*MATRIX GENERATE`, format MATRIX INPUT.

    Parameters
    ----------
    deck : str or Path
        The input deck with the nodes.
    stiffness, mass : str or Path
        `.mtx` files of rows "node, dof, node, dof, value" of one triangle, with the node labels of
        the deck. dofs are 1–3; 4–6 must carry no mass.

    Returns
    -------
    Body

    Raises
    ------
    InputError
        For a file that cannot be used.
    """
    numbers, X = node_table(Path(deck))
    tables = [_table(Path(path), 5, "node, dof, node, dof, value") for path in (stiffness, mass)]
    for table, path in zip(tables, (stiffness, mass), strict=True):
        _check_whole(table[:, :4], path)
        if not np.isin(table[:, [1, 3]] - 1, SPATIAL).all():
            raise InputError(f"{path}: dofs must be 1 to 6")
    used = np.unique(
        np.concatenate([t[:, k : k + 2] for t in tables for k in (0, 2)]).astype(np.int64), axis=0
    )
    keys = used[:, 0] * 8 + used[:, 1]
    matrices = []
    for table in tables:
        whole = table[:, :4].astype(np.int64)
        row = np.searchsorted(keys, whole[:, 0] * 8 + whole[:, 1])
        col = np.searchsorted(keys, whole[:, 2] * 8 + whole[:, 3])
        matrices.append(_symmetric(row, col, table[:, 4], len(keys)))
    dofs = np.column_stack([_places(numbers, used[:, 0], Path(deck)), used[:, 1] - 1])
    return _solid_body(matrices[1], matrices[0], X, dofs)


@described
def from_nastran(
    op4: str | Path, deck: str | Path, mass: str = "MGG", stiffness: str = "KGG"
) -> Body:
    """A body from matrices of the g-set in a Nastran OP4 file; needs the package pyyeti.

    Parameters
    ----------
    op4 : str or Path
        The OP4 file. The g-set has six components a grid point, in the order of the points'
        numbers. Components without mass (rotations of solids) are dropped.
    deck : str or Path
        Bulk data deck with the grid points.
    mass, stiffness : str
        Names of the matrices in the file.

    Returns
    -------
    Body

    Raises
    ------
    InputError
        For a file that cannot be used, or when pyyeti is not installed.
    """
    nastran = [optional(f"pyyeti.nastran.{name}", "Nastran OP4 files") for name in ("bulk", "op4")]
    bulk, reader = nastran
    op4, deck = regular_file(op4), regular_file(deck)
    try:
        stored = reader.load(str(op4), into="dct", sparse=True)
    except Exception as fault:
        raise InputError(f"{op4}: cannot be read as OP4: {type(fault).__name__}: {fault}") from None
    names = {key.upper(): value for key, value in stored.items()}
    matrices = []
    for name in (mass, stiffness):
        if name.upper() not in names:
            raise InputError(f"{op4}: has no matrix {name}; it has {', '.join(sorted(names))}")
        matrices.append(_whole(sp.csr_matrix(names[name.upper()][0])))
    try:
        grids = np.asarray(bulk.rdgrids(str(deck)), dtype=float).reshape(-1, 8)
    except Exception as fault:
        raise InputError(f"{deck}: cannot be read as bulk data: {fault}") from None
    if np.any(grids[:, 1] != 0):
        raise InputError(f"{deck}: grid points in local coordinate systems are not supported")
    grids = grids[np.argsort(grids[:, 0])]
    count = len(grids)
    if matrices[0].shape[0] != 6 * count:
        raise InputError(
            f"{op4}: {matrices[0].shape[0]} rows are not six for each of {count} grid points"
        )
    dofs = np.column_stack([np.repeat(np.arange(count), 6), np.tile(np.arange(6), count)])
    return _solid_body(matrices[0], matrices[1], grids[:, 2:5], dofs)


@described
def from_matrix_market(
    mass: str | Path, stiffness: str | Path, dofs: str | Path, clamped: list[int] | None = None
) -> Body:
    """A body from Matrix Market files of M and K and a table of the degrees of freedom.

    Parameters
    ----------
    mass, stiffness : str or Path
        Matrix Market files.
    dofs : str or Path
        Text file with one row per degree of freedom, "node, component, x, y, z": any node number,
        component 1–3 for x, y, z, the node's position in m. Lines that start with # are skipped.
    clamped : list of int, optional
        Node numbers of the table.

    Returns
    -------
    Body

    Raises
    ------
    InputError
        For a file that cannot be used.
    """
    table = _table(Path(dofs), 5, "node, component, x, y, z")
    _check_whole(table[:, :2], dofs)
    numbers, first, place = np.unique(table[:, 0], return_index=True, return_inverse=True)
    X = table[first, 2:5]
    if not np.array_equal(X[place], table[:, 2:5]):
        bad = int(np.flatnonzero((X[place] != table[:, 2:5]).any(axis=1))[0])
        raise InputError(f"{dofs}: row {bad + 1}: node {table[bad, 0]:g} has two positions")
    matrices = [_matrix_market(path, len(table)) for path in (mass, stiffness)]
    nodes = None if clamped is None else _places(numbers, np.asarray(clamped), Path(dofs))
    rows = np.column_stack([place, table[:, 1].astype(np.intp) - 1])
    return from_matrices(matrices[0], matrices[1], X, rows, clamped=nodes)


def _matrix_market(path: str | Path, n: int) -> Any:
    """A real (n, n) matrix of a Matrix Market file; InputError for any other."""
    file = regular_file(path)
    try:
        rows, columns, entries, layout, field, _ = scipy.io.mminfo(file)
        if (rows, columns) != (n, n):
            raise ValueError(f"it is {rows} × {columns}, the dof map has {n} rows")
        if field not in ("real", "double", "integer", "unsigned-integer"):
            raise ValueError(f"its entries are {field}, expected real")
        if entries > file.stat().st_size:
            raise ValueError(f"{entries} entries are announced, the file is shorter")
        return scipy.io.mmread(io.BytesIO(_checked_lines(file.read_bytes(), layout)))
    except (OSError, ValueError, OverflowError, MemoryError) as fault:
        reason = " ".join(str(fault).split()) or "too large for the memory"
        raise InputError(f"{path}: cannot be read as Matrix Market: {reason}") from None


def _checked_lines(text: bytes, layout: str) -> bytes:
    """A Matrix Market file with exponents as scipy reads them; ValueError names a wrong line.

    scipy drops what follows a number: 1.42D+08 is 1.42 to it, and 1,42 is 1.
    """
    head = HEADER.match(text)
    start = head.end() if head else 0
    wrong = WRONG[layout].search(text, start)
    if wrong is None and not text.endswith(b"\n"):
        wrong = re.compile(rb"[^\n]*\Z").search(text, text.rfind(b"\n") + 1)
    if wrong is not None:
        line = text.count(b"\n", 0, wrong.start()) + 1
        expected = "row, column and value" if layout == "coordinate" else "one value"
        if WRONG[layout].match(wrong[0]) is None:
            expected += " and a line end (the file may be cut off)"
        shown = wrong[0][:80].decode("utf-8", "replace").strip()
        raise ValueError(f"line {line}: expected {expected}, got {shown!r}")
    return text[:start] + text[start:].translate(EXPONENTS)


def _check_whole(labels: Array, path: str | Path) -> None:
    """InputError unless all are whole numbers that an integer can hold."""
    bad = np.argwhere((labels != np.floor(labels)) | (np.abs(labels) > 2.0**53))
    if len(bad):
        row, column = bad[0]
        raise InputError(
            f"{path}: row {row + 1}: expected a whole number, got {labels[row, column]:g}"
        )


def _solid_body(M: sp.csr_matrix, K: sp.csr_matrix, X: Array, dofs: Index) -> Body:
    """The body of the DOFs that carry mass, on the nodes that have any."""
    rotation = dofs[:, 1] > 2
    if rotation.any() and np.any(M.diagonal()[rotation] != 0.0):
        raise InputError("rotations with mass: only the matrices of solids can be imported")
    carrying_mass = np.flatnonzero(~rotation & (M.diagonal() > 0.0))
    nodes, place = np.unique(dofs[carrying_mass, 0], return_inverse=True)
    rows = np.column_stack([place, dofs[carrying_mass, 1]])
    M, K = (A[carrying_mass][:, carrying_mass] for A in (M, K))
    return from_matrices(M, K, X[nodes], rows)


def _places(numbers: AnyArray, labels: AnyArray, where: Path) -> Index:
    """Positions in the node list of the program's node numbers."""
    order = np.argsort(numbers)
    place = np.searchsorted(numbers, labels, sorter=order)
    place = order[np.minimum(place, len(numbers) - 1)]
    missing = numbers[place] != labels
    if np.any(missing):
        raise InputError(f"{where}: has no node {np.asarray(labels)[missing][0]:g}")
    return np.asarray(place)


def _triplets(path: Path, n: int) -> sp.csr_matrix:
    table = _table(path, 3, "row column value")
    _check_whole(table[:, :2], path)
    rows, cols = table[:, 0].astype(np.intp) - 1, table[:, 1].astype(np.intp) - 1
    if min(rows.min(), cols.min()) < 0 or max(rows.max(), cols.max()) >= n:
        raise InputError(f"{path}: row and column numbers must lie between 1 and {n}")
    return _symmetric(rows, cols, table[:, 2], n)


def _symmetric(rows: Index, cols: Index, values: Array, n: int) -> sp.csr_matrix:
    """The whole of a matrix of which the file has one triangle (or both, equal)."""
    return _whole(sp.coo_matrix((values, (rows, cols)), shape=(n, n)).tocsr())


def _whole(A: sp.csr_matrix) -> sp.csr_matrix:
    lower, upper = sp.tril(A, -1), sp.triu(A, 1)
    if lower.nnz and upper.nnz:
        return sp.csr_matrix(A)
    return sp.csr_matrix(A + (lower + upper).T)


def _table(path: Path, columns: int, meaning: str) -> Array:
    """Numbers in rows, separated by blanks or commas; ** and # start comments."""
    lines = [
        line.replace(",", " ").replace("D", "E").replace("d", "e")
        for line in read_text(path).splitlines()
        if line.strip() and not line.lstrip().startswith(("*", "#"))
    ]
    if not lines:
        raise InputError(f"{path}: expected rows of {meaning}, the file has none")
    try:
        table = np.loadtxt(lines, ndmin=2)
    except ValueError as fault:
        raise InputError(f"{path}: expected rows of {meaning}: {fault}") from None
    if table.shape[1] != columns:
        raise InputError(f"{path}: expected rows of {meaning}, got {table.shape[1]} columns")
    if not np.isfinite(table).all():
        bad = int(np.flatnonzero(~np.isfinite(table).all(axis=1))[0])
        raise InputError(f"{path}: row {bad + 1} of {meaning} has a number that is not finite")
    return np.asarray(table)
