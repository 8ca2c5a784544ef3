"""The command response: frequency and unbalance response from a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

import modal
from assembly.errors import InputError, ModelFileError
from modal import plot
from modal.data.datasets import described
from modal.data.progress import phase
from modal.data.variables import UNBALANCE
from studies.cli.one_state import time_of
from studies.figures.drawing import Drawing
from studies.model_files.loading import LoadedModel, load_model
from studies.model_files.motions import RPM
from studies.model_files.points import Points, parameters_of
from studies.reporting.output import OutputFolder
from studies.reporting.ranges import parse_range

CAPTION = "Amplitude of every probe."


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
    folder = OutputFolder(
        out or Path("outputs") / f"{path.stem}-response", f"response {path.name}", force
    )
    folder.record = model.record(
        "response", frequencies=frequencies, speeds=speeds, settings=settings
    )
    with phase("response", None):
        result = compute()
    folder.write_dataset("response.nc", result)
    values = result["displacement"]
    phase_deg = xr.apply_ufunc(np.angle, values, kwargs={"deg": True})
    table = xr.Dataset({"amplitude": abs(values), "phase_deg": phase_deg})
    columns = table.to_dataframe()[["amplitude", "phase_deg"]]
    folder.write_text("response.csv", columns.to_csv())
    _drawing(result, path.stem).write(folder)
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
    system, points = model.freeze(**parameters), Points(model)
    load = points.force(given.force, time_of(model, parameters))
    if not np.any(load):
        raise ModelFileError(
            f"{model.path}: response.force: acts on what supports hold, or is zero"
        )
    assert system.dofs is not None
    probes = points.probes(given.probe, system.dofs)
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
    probes = Points(model).probes(given.probe, free)
    modal.unbalance_response(rotor, rpm[-1:] * RPM, unbalances, probes)  # checks the arguments
    return lambda: _in_rpm(modal.unbalance_response(rotor, rpm * RPM, unbalances, probes), rpm)


def _in_rpm(result: xr.Dataset, rpm: Any) -> xr.Dataset:
    """The response with its speeds in rpm too."""
    return described(result.assign_coords(speed_rpm=("speed", rpm)), UNBALANCE)


def _drawing(result: xr.Dataset, title: str) -> Drawing:
    def draw(axes: list[Axes]) -> None:
        plot.response(result, axes[0])
        axes[0].set_title(title)

    return Drawing("response.png", CAPTION, draw)


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
