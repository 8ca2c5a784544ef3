"""The command solve: the modes of one state, as a table, datasets, shapes and a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

import modal
from modal import plot
from modal.data.datasets import described, provenance
from modal.data.progress import phase
from modal.data.variables import MODES
from studies.cli.runs import fewer
from studies.figures.drawing import figure
from studies.model_files.loading import LoadedModel, load_model
from studies.model_files.points import parameters_of
from studies.reporting.frozen_verdicts import verdict
from studies.reporting.output import OutputFolder

SHAPES = "Shapes of the lowest modes at the largest displacement; colour is its size."


def run_solve(
    path: Path,
    settings: tuple[str, ...],
    modes: int | None,
    out: Path | None = None,
    force: bool = False,
    files: Path | None = None,
) -> tuple[str, list[Path]]:
    """Modes of one state: table and verdict; modes.nc, modes.csv, modes.vtu, modes.png.

    files: folder of the files that the model file names.
    """
    with phase("assembling", None):
        model = load_model(path, files)
        parameters = parameters_of(model, settings)
        system = model.freeze(**parameters)
    folder = OutputFolder(
        out or Path("outputs") / f"{path.stem}-modes", f"solve {path.name}", force
    )
    folder.record = model.record("solve", settings=settings, modes=modes)
    k = modes or model.spec.analysis.modes
    with phase("modes", None):
        solved = modal.solve(system, k)
    with phase("verdict on all modes", None):
        judged = verdict(system, k)
    t = time_of(model, parameters)
    dataset = modes_dataset(solved, model, t, parameters)
    folder.write_dataset("modes.nc", dataset)
    columns = dataset.drop_dims(["node", "axis"], errors="ignore").to_dataframe()
    columns.index += 1  # tables count modes from 1, datasets from 0
    folder.write_text("modes.csv", columns.to_csv())
    if "shape" in dataset:
        with folder.file("modes.vtu") as file:
            modal.write_shapes(file, model.drawn, solved, t=t)
        _draw(folder, model, solved, t)
    state = ", ".join(f"{name} = {value:g}" for name, value in parameters.items())
    head = f"{path.name}{' at ' + state if state else ''}: {system.n} degrees of freedom"
    return f"{head}\n{fewer(k, len(solved.eigenvalues))}{solved}\n{judged}", folder.written


def time_of(model: LoadedModel, parameters: dict[str, float]) -> float:
    """The time (s) of a state."""
    if "turn" in parameters and model.period is not None:
        return parameters["turn"] * model.period
    return parameters.get("t", 0.0)


def modes_dataset(
    solved: modal.Modes, model: LoadedModel, t: float, parameters: dict[str, float]
) -> xr.Dataset:
    """The modes as a dataset over the mode; with shapes where there are nodes."""
    content: dict[str, Any] = {
        name: ("mode", solved.eigenvalues if name == "eigenvalue" else getattr(solved, name))
        for name in MODES
        if name not in ("shape", "position")
    }
    coords: dict[str, Any] = {"mode": np.arange(len(solved))}
    if len(solved):
        shapes = modal.shape_set(model.drawn, solved, t)
        content["shape"] = (("mode", "node", "axis"), np.asarray(shapes.displacements))
        content["position"] = (("node", "axis"), shapes.points)
        coords |= {"node": np.arange(len(shapes.points)), "axis": list("xyz")}
    attributes = provenance(
        title="modes of one state", solver=solved.solver, backend=solved.backend, **parameters
    )
    return described(xr.Dataset(content, coords, attributes), MODES)


def _draw(
    folder: OutputFolder, model: LoadedModel, solved: modal.Modes, t: float, most: int = 6
) -> None:
    count = min(most, len(solved))
    columns = min(3, count)
    rows = -(-count // columns)
    with figure(rows, columns, 3.4 * columns, 3.2 * rows, False) as (drawn, axes):
        for j, ax in enumerate(axes):
            place = ax.get_subplotspec()
            ax.remove()
            if j < count:
                space: Axes = drawn.add_subplot(place, projection="3d")
                plot.shape(model.drawn, solved, j + 1, space, t=t)
                space.set_title(f"mode {j + 1}: {solved.frequency[j]:.5g} Hz", fontsize="medium")
        folder.write_figure("modes.png", drawn, SHAPES)
