"""The faces of solid and plane cells that a drawing shows."""

from __future__ import annotations

import numpy as np

from modal.exchange.shape_set import Cells
from modal.types import Index

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
