"""The command check: properties P1–P6 of a model, frozen against unfrozen, and the verdict."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

import modal
from assembly.errors import ModelFileError
from modal.checks.balance import energy_balance
from modal.checks.diagnosis import rates_table
from modal.data.progress import hidden, phase
from studies.cli.check_verdict import floquet_lines, verdict_lines
from studies.model_files.loading import load_model
from studies.reporting.frozen_verdicts import is_steady, verdict, verdicts
from studies.reporting.ranges import parse_range
from studies.reporting.tables import table

INSTANTS = 81


def run_check(
    path: Path, times: str | None, modes: int | None, show: Callable[[str], None] = print
) -> None:
    """Properties at the first instant, the energy balance, the cross-check, the Floquet exponents
    of a periodic motion, and the verdict.

    times: start:stop:count over which frozen and unfrozen are compared; by default one period.
    show: takes every part of the report as soon as it is known. On Ctrl-C the part in work is shown
    as far as it got, and KeyboardInterrupt is raised again.
    """
    model = load_model(path)
    if times is not None:
        at = parse_range(times, "--times")
    elif model.period is not None:
        at = np.linspace(0.0, model.period, INSTANTS)
    else:
        raise ModelFileError(f"{path}: the motion has no period; give --times start:stop:count")
    k = min(modes or model.spec.analysis.modes, 4) if modes is None else modes
    system = model.motion.freeze(float(at[0]))
    show(f"{system}\n")
    with phase("properties", None):
        report = modal.properties(system, k)
    show(f"properties\n{report}")
    balance = energy_balance(model.motion, float(at[0]), float(at[-1]), not hidden(None))
    report = modal.PropertyReport((*report.properties, balance))
    show(str(modal.PropertyReport((balance,))).splitlines()[-1] + "\n")
    tracks = _tracked(model.motion, at, k, show)
    compared = _compared(model.motion, tracks, show)
    show(f"frozen against unfrozen\n{rates_table(compared)}\n")
    if compared.floquet is not None:
        show("\n".join(["Floquet exponents of the periodic motion", *floquet_lines(compared), ""]))
    show(f"{verdicts(tracks, model.motion.freeze, k)}\n")
    steady = is_steady(model.motion.freeze, at)
    of_all = verdict(model.motion.freeze(float(at[0])), k) if steady else None
    show("\n".join(verdict_lines(report, compared, of_all)))


def _tracked(motion: object, at: NDArray[Any], k: int, show: Callable[[str], None]) -> xr.Dataset:
    """The tracks; what there is of them is shown when they are interrupted."""
    try:
        return modal.track(motion, times=at, k=k)
    except modal.TrackingInterrupted as stopped:
        if isinstance(stopped.partial, xr.Dataset):
            show(f"frozen modes, {stopped}\n{table(stopped.partial)}\n")
        raise


def _compared(motion: object, tracks: xr.Dataset, show: Callable[[str], None]) -> modal.CrossCheck:
    """The cross-check; what there is of it is shown when it is interrupted."""
    try:
        return modal.crosscheck(motion, tracks, progress=None)
    except modal.CrossCheckInterrupted as stopped:
        show(f"frozen against unfrozen, {stopped}\n{stopped.partial}\n")
        raise
