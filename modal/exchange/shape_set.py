"""Shapes at points in space: what shapes of different origin have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.arguments import check_kind
from assembly.bodies.body import Body
from assembly.bodies.rotors import Rotor
from assembly.dofs import DofMap
from assembly.errors import InputError
from assembly.mechanisms.mechanism import Mechanism
from assembly.motion.moving import MovingBody
from modal.eigen.modes import Modes
from modal.types import Array, Complex, Index

Cells = tuple[tuple[str, Index], ...]
# Corner nodes of the faces of solid cells; of cells in the plane the corners themselves.
FACES = {
    "tetra": ((0, 2, 1), (0, 1, 3), (1, 2, 3), (2, 0, 3)),
    "hexahedron": (
        *((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4)),
        *((1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)),
    ),
    "triangle": ((0, 1, 2),),
    "quad": ((0, 1, 2, 3),),
}


@dataclass(frozen=True)
class ShapeSet:
    """Displacements of points: mode shapes of a model, of a test or of another program.

    Parameters
    ----------
    points : ndarray, shape (N, 3)
        Positions of the points, m.
    displacements : ndarray, shape (k, N, 3)
        Displacement of each point in each shape, real or complex.
    frequency : ndarray, shape (k,)
        Frequencies, Hz; NaN where unknown.
    eigenvalues : ndarray of complex, shape (k,)
        Eigenvalues, rad/s; NaN where unknown.
    cells : tuple of (str, ndarray of int)
        Cells that connect the points, by meshio's names of their kinds.
    """

    points: Array
    displacements: NDArray[np.inexact[Any]]
    frequency: Array
    eigenvalues: Complex
    cells: Cells = ()

    def __len__(self) -> int:
        return len(self.displacements)


def shape_set(model: Any, shapes: Modes | NDArray[np.inexact[Any]], t: float = 0.0) -> ShapeSet:
    """Mode shapes or displacements of a model as displacements of its nodes.

    Parameters
    ----------
    model : Body, moving body, Rotor or Mechanism
        The model that was frozen.
    shapes : Modes or array_like, shape (n, k)
        Modes of the frozen system, or vectors over its degrees of freedom.
    t : float, default 0.0
        Instant at which a mechanism was frozen, s. Its nodes and displacements are in fixed axes;
        those of a body are in body axes.

    Returns
    -------
    ShapeSet

    Raises
    ------
    InputError
        The model has no geometry, or the vectors are not of its degrees of freedom.

    Examples
    --------
    >>> import assembly, modal
    >>> blade = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 10,
    ...                       clamped="start")
    >>> modes = modal.solve(blade.freeze(), k=3)
    >>> modal.shape_set(blade, modes).displacements.shape
    (3, 11, 3)
    """
    if isinstance(shapes, Modes):
        vectors, eigenvalues = np.asarray(shapes.right), shapes.eigenvalues
    else:
        check_kind(shapes, (np.ndarray, list, tuple), "shapes", "Modes or an array (n, k)")
        vectors = np.asarray(shapes)
        vectors = vectors[:, None] if vectors.ndim == 1 else vectors
        eigenvalues = np.full(vectors.shape[-1], np.nan + 0j)
    frequency = np.abs(eigenvalues.imag) / (2.0 * np.pi)
    frequency = np.where(np.isnan(eigenvalues), np.nan, frequency)
    if isinstance(model, Mechanism):
        points, displacements, cells = _of_mechanism(model, vectors, t)
    else:
        dofs, cells = _of_body(model)
        _check(vectors, len(dofs))
        points = dofs.coordinates
        displacements = np.array([dofs.displacement(v) for v in vectors.T])
    return ShapeSet(points, displacements, frequency, eigenvalues, cells)


def _of_body(model: Any) -> tuple[DofMap, Cells]:
    """The degrees of freedom of a frozen body, and its cells."""
    if isinstance(model, Rotor):
        return model.body.dofs.select(model.free), model.body.cells
    body = model.body if isinstance(model, MovingBody) else model
    if not isinstance(body, Body):
        raise InputError(
            f"model: expected a body, a moving body, a rotor or a mechanism, got "
            f"{type(model).__name__}"
        )
    return body.free_dofs, body.cells


def _of_mechanism(
    model: Mechanism, vectors: NDArray[np.inexact[Any]], t: float
) -> tuple[Array, NDArray[np.inexact[Any]], Cells]:
    _check(vectors, model.freeze(t).n)
    deployed = [model.deployed(t, v) for v in vectors.T]
    points = np.concatenate([nodes for nodes, _ in deployed[0].values()])
    displacements = [np.concatenate([moved for _, moved in one.values()]) for one in deployed]
    cells: list[tuple[str, Index]] = []
    first = 0
    for body in model.bodies.values():
        cells += [(kind, nodes + first) for kind, nodes in body.cells]
        first += len(body.dofs.coordinates)
    return points, np.array(displacements), tuple(cells)


def _check(vectors: NDArray[np.inexact[Any]], n: int) -> None:
    if vectors.ndim != 2 or len(vectors) != n or vectors.shape[1] == 0:
        raise InputError(
            f"shapes: expected vectors over {n} degrees of freedom, got shape {vectors.shape}"
        )


def line_segments(cells: Cells) -> Index:
    """Nodes (L, 2) of all line cells."""
    lines = [np.asarray(nodes)[:, :2] for kind, nodes in cells if kind == "line"]
    return np.concatenate(lines) if lines else np.zeros((0, 2), dtype=np.intp)


def outer_faces(cells: Cells) -> list[Index]:
    """Corner nodes of the faces that belong to one cell only, (F, 3) and (F, 4)."""
    faces: dict[int, list[Index]] = {}
    for kind, nodes in cells:
        for corners in FACES.get(kind.rstrip("0123456789"), ()):  # "tetra10" has those of "tetra"
            faces.setdefault(len(corners), []).append(np.asarray(nodes)[:, list(corners)])
    out = []
    for group in faces.values():
        every = np.concatenate(group)
        _, first, count = np.unique(
            np.sort(every, axis=1), axis=0, return_index=True, return_counts=True
        )
        out.append(every[first[count == 1]])
    return out
