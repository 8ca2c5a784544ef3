"""Universal file format (UFF): mode shapes (dataset 55) and frequency responses (58), by pyuff."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from assembly.errors import InputError, StorageError
from assembly.optional import optional
from modal.data.folder import storage_faults
from modal.exchange.shape_set import ShapeSet

DIRECTIONS = {"ux": 1, "uy": 2, "uz": 3, "rx": 4, "ry": 5, "rz": 6}
DISPLACEMENT = 8  # specific data type
COMPLEX_MODES, COMPLEX_DATA = 3, 5


def write_uff(path: str | os.PathLike[str], content: ShapeSet | xr.Dataset) -> Path:
    """Write mode shapes or frequency responses as a universal file.

    Parameters
    ----------
    path : path
        File to write.
    content : ShapeSet or xarray.Dataset
        Shapes (datasets 15 and 55, as complex modes), or the result of
        `modal.frequency_response` over (frequency, probe) (dataset 58).

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        pyuff is not installed, or the content is of another kind.
    StorageError
        The file cannot be written.
    """
    target = Path(path)
    if isinstance(content, ShapeSet):
        sets = _shape_sets(content)
    elif isinstance(content, xr.Dataset) and content["displacement"].dims == ("frequency", "probe"):
        sets = _function_sets(content)
    else:
        raise InputError("content: expected a ShapeSet or a frequency response (frequency, probe)")
    with storage_faults(target):
        target.unlink(missing_ok=True)
        _pyuff().UFF(str(target)).write_sets(sets, mode="overwrite")
    return target


def read_uff(path: str | os.PathLike[str]) -> ShapeSet:
    """Read the mode shapes of a universal file: datasets 15 or 2411 (nodes) and 55 (shapes).

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    ShapeSet
        Displacements in the file's order of modes.

    Raises
    ------
    InputError
        pyuff is not installed, or the file has no nodes or no shapes.
    StorageError
        The file cannot be read.
    """
    source = Path(path)
    if not source.is_file():
        raise StorageError(f"{source}: no such file")
    file = _pyuff().UFF(str(source))
    kinds = [int(kind) for kind in file.get_set_types()]
    node_sets = [k for k, kind in enumerate(kinds) if kind in (15, 2411)]
    shapes = [file.read_sets(k) for k, kind in enumerate(kinds) if kind == 55]
    if not node_sets or not shapes:
        raise InputError(f"{source}: has no nodes (15, 2411) or no shapes (55)")
    grid = file.read_sets(node_sets[0])
    numbers = np.asarray(grid["node_nums"], dtype=int)
    points = np.column_stack([np.asarray(grid[axis], dtype=float) for axis in "xyz"])
    place = {number: k for k, number in enumerate(numbers.tolist())}
    displacements = np.zeros((len(shapes), len(points), 3), dtype=complex)
    eigenvalues = np.full(len(shapes), np.nan + 0j)
    frequency = np.full(len(shapes), np.nan)
    for j, one in enumerate(shapes):
        rows = [place[int(number)] for number in one["node_nums"]]
        for axis, name in enumerate(("r1", "r2", "r3")):
            displacements[j, rows, axis] = one[name]
        if "eig" in one and one.get("analysis_type") == COMPLEX_MODES:
            eigenvalues[j] = one["eig"]
            frequency[j] = abs(eigenvalues[j].imag) / (2.0 * np.pi)
        elif "freq" in one:
            frequency[j] = float(one["freq"])
    return ShapeSet(points, displacements, frequency, eigenvalues)


def _pyuff() -> Any:
    return optional("pyuff", "UFF files")


def _shape_sets(shapes: ShapeSet) -> list[dict[str, Any]]:
    numbers = np.arange(1, len(shapes.points) + 1)
    zero = np.zeros(len(numbers), dtype=int)
    x, y, z = shapes.points.T
    nodes = _pyuff().prepare_15(
        node_nums=numbers, def_cs=zero, disp_cs=zero, color=zero, x=x, y=y, z=z
    )
    lines = [nodes]
    for j, shape in enumerate(shapes.displacements):
        r1, r2, r3 = np.asarray(shape, dtype=complex).T
        lines.append(
            _pyuff().prepare_55(
                id1="frozen motion", id5=f"mode {j + 1}",
                model_type=1, analysis_type=COMPLEX_MODES, data_ch=2,
                spec_data_type=DISPLACEMENT, data_type=COMPLEX_DATA, n_data_per_node=3,
                r1=r1, r2=r2, r3=r3, node_nums=numbers, load_case=1, mode_n=j + 1,
                eig=complex(np.nan_to_num(shapes.eigenvalues[j])), modal_a=1.0 + 0j,
                modal_b=1.0 + 0j,
            )
        )  # fmt: skip
    return lines


def _function_sets(response: xr.Dataset) -> list[dict[str, Any]]:
    hertz = response["frequency"].values
    lines = []
    for k, probe in enumerate(response["probe"].values.tolist()):
        node, component = int(response["node"].values[k]), str(probe).split()[-1]
        lines.append(
            _pyuff().prepare_58(
                id1="frozen motion", func_type=4, rsp_node=node + 1,
                rsp_dir=DIRECTIONS.get(component, 0), ref_node=0, ref_dir=0,
                data=response["displacement"].values[:, k], x=hertz, abscissa_spec_data_type=18,
                ordinate_spec_data_type=DISPLACEMENT, orddenom_spec_data_type=13,
                abscissa_axis_units_lab="Hz", ordinate_axis_units_lab="m",
                orddenom_axis_units_lab="N",
            )
        )  # fmt: skip
    return lines
