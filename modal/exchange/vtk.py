"""Mode shapes and motions as VTK files, for ParaView and PyVista."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import meshio
import numpy as np
from numpy.typing import ArrayLike, NDArray

from assembly.arguments import as_numbers
from assembly.errors import InputError
from assembly.magnitudes import EQUAL
from modal.data.folder import storage_faults
from modal.eigen.modes import Modes
from modal.exchange.shape_set import ShapeSet, shape_set
from modal.types import Array


def write_shapes(
    path: str | os.PathLike[str],
    model: Any,
    modes: Modes | NDArray[np.inexact[Any]],
    t: float = 0.0,
) -> Path:
    """Write mode shapes as one VTU file, the real and the imaginary part of each as a vector field.

    Parameters
    ----------
    path : path
        File to write, ``*.vtu``.
    model : Body, moving body, Rotor or Mechanism
        The model that was frozen.
    modes : Modes or array_like, shape (n, k)
        Modes of the frozen system, or vectors over its degrees of freedom.
    t : float, default 0.0
        Instant at which a mechanism was frozen, s.

    Returns
    -------
    Path
        The file. Its point data are ``mode 1 real``, ``mode 1 imag`` and so on, without an
        imaginary part where that is round-off.

    Raises
    ------
    InputError
        The model has no geometry, or the file name does not end in .vtu.
    StorageError
        The file cannot be written.

    Examples
    --------
    >>> import tempfile, assembly, meshio, modal
    >>> blade = assembly.beam(1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 10,
    ...                       clamped="start")
    >>> modes = modal.solve(blade.freeze(), k=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = modal.write_shapes(f"{folder}/modes.vtu", blade, modes)
    ...     sorted(meshio.read(path).point_data)
    ['mode 1 real', 'mode 2 real']
    """
    target = _target(path, ".vtu")
    shapes = shape_set(model, modes, t)
    data: dict[str, Array] = {}
    for j, shape in enumerate(shapes.displacements, start=1):
        data[f"mode {j} real"] = np.ascontiguousarray(shape.real, dtype=float)
        if np.abs(shape.imag).max() > EQUAL * np.abs(shape).max():
            data[f"mode {j} imag"] = np.ascontiguousarray(shape.imag)
    return _write(target, shapes, shapes.points, data)


def write_motion(
    path: str | os.PathLike[str],
    model: Any,
    times: ArrayLike,
    displacements: ArrayLike,
    *,
    scale: float = 1.0,
) -> Path:
    """Write a motion as a PVD series: the deformed model at every time.

    Parameters
    ----------
    path : path
        File to write, ``*.pvd``; the VTU files go to a folder of the same name beside it.
    model : Body, moving body, Rotor or Mechanism
        The model. A mechanism is drawn where it stands at each time.
    times : array_like, shape (T,)
        s.
    displacements : array_like, shape (T, n)
        Real degrees of freedom of the frozen system at each time.
    scale : float, default 1.0
        Factor on the displacements.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        The arguments do not fit together.
    StorageError
        A file cannot be written.
    """
    at, vectors = as_numbers(times, "times"), as_numbers(displacements, "displacements")
    if at.ndim != 1 or vectors.ndim != 2 or len(at) != len(vectors) or len(at) == 0:
        raise InputError(
            f"displacements: expected one row for each of the times, got shape {vectors.shape} "
            f"for {at.shape}"
        )
    target = _target(path, ".pvd")
    shape_set(model, vectors[0], float(at[0]))  # what does not fit is refused before the first file
    folder = target.with_suffix("")
    with storage_faults(folder):
        folder.mkdir(exist_ok=True)
    root = ET.Element("VTKFile", type="Collection", version="0.1")
    collection = ET.SubElement(root, "Collection")
    for j, (t, vector) in enumerate(zip(at.tolist(), vectors, strict=True)):
        shapes = shape_set(model, vector, t)
        moved = scale * np.real(shapes.displacements[0])
        file = folder / f"{j:05d}.vtu"
        _write(file, shapes, shapes.points + moved, {"displacement": moved / scale})
        entry = {"timestep": repr(t), "part": "0", "file": f"{folder.name}/{file.name}"}
        ET.SubElement(collection, "DataSet", entry)
    with storage_faults(target):
        ET.ElementTree(root).write(target, encoding="utf-8", xml_declaration=True)
    return target


def _target(path: str | os.PathLike[str], suffix: str) -> Path:
    target = Path(path)
    if target.suffix != suffix:
        raise InputError(f"path: expected a name that ends in {suffix}, got {target.name!r}")
    return target


def _write(path: Path, shapes: ShapeSet, points: Array, data: Mapping[str, Array]) -> Path:
    cells = [(kind, np.asarray(nodes)) for kind, nodes in shapes.cells]
    if not cells:
        cells = [("vertex", np.arange(len(points))[:, None])]
    with storage_faults(path):
        meshio.Mesh(points, cells, point_data=dict(data)).write(path)
    return path
