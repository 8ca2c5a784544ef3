"""The commands solve and response: modes of one state, responses to forces and to unbalance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

import modal
from assembly.errors import InputError, ModelFileError
from modal import plot
from modal.data.datasets import described, provenance
from modal.data.progress import phase
from modal.data.variables import MODES, UNBALANCE
from studies.cli.runs import fewer
from studies.figures.drawing import Drawing, drawing
from studies.model_files.loading import LoadedModel, load_model
from studies.model_files.motions import RPM
from studies.model_files.points import force_of, parameters_of, probes_of
from studies.reporting.frozen_verdicts import verdict
from studies.reporting.ranges import parse_range

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
    place = out or Path("outputs") / f"{path.stem}-modes"
    folder = model.folder(place, force, "solve", settings=settings, modes=modes)
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
        folder.draw(of_shapes(model, solved, t))
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


def of_shapes(model: LoadedModel, solved: modal.Modes, t: float, most: int = 6) -> Drawing:
    """The lowest modes, one a panel."""
    count = min(most, len(solved))
    columns = min(3, count)
    rows = -(-count // columns)

    def draw(axes: list[Axes]) -> None:
        for ax in axes[count:]:
            ax.remove()
        for j, ax in enumerate(axes[:count]):
            plot.shape(model.drawn, solved, j + 1, ax, t=t)
            ax.set_title(f"mode {j + 1}: {solved.frequency[j]:.5g} Hz", fontsize="medium")

    layout = (rows, columns, 3.4 * columns, 3.2 * rows)
    return Drawing("modes.png", SHAPES, draw, *layout, projection="3d")


def run_response(
    path: Path,
    frequencies: str | None,
    speeds: str | None,
    settings: tuple[str, ...],
    out: Path | None = None,
    force: bool = False,
    files: Path | None = None,
) -> tuple[str, list[Path]]:
    """Response to the forces, or to the unbalances, of the model file's [response].

    frequencies, speeds: START:STOP:COUNT in Hz and rpm; by default those of the file.
    files: folder of the files that the model file names.
    """
    with phase("assembling", None):
        model = load_model(path, files)
        parameters = parameters_of(model, settings)
        given = model.spec.response
        unbalance = speeds is not None or (frequencies is None and bool(given.unbalance))
        text = (speeds or given.speeds_rpm) if unbalance else (frequencies or given.frequencies)
        label, key = ("--speeds", "speeds_rpm") if unbalance else ("--frequencies", "frequencies")
        if text is None:
            raise ModelFileError(
                f"{path}: response.{key}: missing; give it, or {label} START:STOP:COUNT"
            )
        axis = parse_range(text, label)
        compute = _unbalanced(model, axis) if unbalance else _forced(model, axis, parameters)
    place = out or Path("outputs") / f"{path.stem}-response"
    options = dict(frequencies=frequencies, speeds=speeds, settings=settings)
    folder = model.folder(place, force, "response", **options)
    with phase("response", None):
        result = compute()
    folder.write_dataset("response.nc", result)
    values = result["displacement"]
    phase_deg = xr.apply_ufunc(np.angle, values, kwargs={"deg": True})
    table = xr.Dataset({"amplitude": abs(values), "phase_deg": phase_deg})
    columns = table.to_dataframe()[["amplitude", "phase_deg"]]
    folder.write_text("response.csv", columns.to_csv())
    folder.draw(of_response(result, path.stem))
    return response_table(result), folder.written


def _forced(model: LoadedModel, hertz: Any, parameters: dict[str, float]) -> Any:
    """What computes the frequency response; everything is checked before."""
    given = model.spec.response
    if not given.force:
        raise ModelFileError(
            f"{model.path}: response.force: missing; a [[response.force]] has at, component and "
            "amplitude"
        )
    if hertz.min() < 0.0:
        raise InputError("--frequencies: must not be negative")
    system = model.freeze(**parameters)
    load = force_of(model, time_of(model, parameters))
    if not np.any(load):
        raise ModelFileError(
            f"{model.path}: response.force: acts on what supports hold, or is zero"
        )
    assert system.dofs is not None
    probes = probes_of(model, system.dofs)
    return lambda: modal.frequency_response(system, hertz, load, probes)


def _unbalanced(model: LoadedModel, rpm: Any) -> Any:
    """What computes the unbalance response; everything is checked before."""
    given, rotor = model.spec.response, model.rotor
    if rotor is None:
        raise ModelFileError(f'{model.path}: --speeds: needs a body of kind = "rotor"')
    if not given.unbalance and not rotor.discs:
        raise ModelFileError(
            f"{model.path}: response.unbalance: missing; a [[response.unbalance]] has at and size"
        )
    unbalances = [(u.at, u.size, u.phase) for u in given.unbalance]
    free = rotor.freeze(float(rpm[0]) * RPM).dofs
    assert free is not None
    probes = probes_of(model, free)
    modal.unbalance_response(rotor, rpm[-1:] * RPM, unbalances, probes)  # checks the arguments
    return lambda: _in_rpm(modal.unbalance_response(rotor, rpm * RPM, unbalances, probes), rpm)


def _in_rpm(result: xr.Dataset, rpm: Any) -> xr.Dataset:
    """The response with its speeds in rpm too."""
    return described(result.assign_coords(speed_rpm=("speed", rpm)), UNBALANCE)


@drawing("response.png")
def of_response(axes: list[Axes], result: xr.Dataset, title: str) -> None:
    """Amplitude of every probe."""
    plot.response(result, axes[0])
    axes[0].set_title(title)


def response_table(result: xr.Dataset) -> str:
    """One line a probe: largest amplitude, and where."""
    values = abs(result["displacement"])
    dim = next(str(d) for d in values.dims if d != "probe")
    name, unit = ("speed_rpm", "rpm") if dim == "speed" else (dim, "Hz")
    at = result[name].values
    lines = [f"response at {len(at)} values of {name}, {at[0]:.6g} to {at[-1]:.6g} {unit}"]
    names = [str(probe) for probe in result["probe"].values]
    wide = max(12, *map(len, names))
    lines.append(f"{'probe':<{wide}} {'largest amplitude':>18}  at ({unit})")
    for k, name in enumerate(names):
        column = values.isel(probe=k).values
        peak = int(column.argmax())
        lines.append(f"{name:<{wide}} {column[peak]:>18.6g}  {at[peak]:.6g}")
    bound = result.get("error_bound")
    if bound is not None and float(bound.max()) > 0.0:
        lines.append(f"largest error bound {float(bound.max()):.2g}")
    return "\n".join(lines)
