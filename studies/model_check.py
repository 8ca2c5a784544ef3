"""The command check: properties P1–P6 of a model, frozen against unfrozen, and the verdict."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import modal
from assembly.errors import ModelFileError
from modal.balance import energy_balance
from studies.frozen_verdicts import verdicts
from studies.model import load_model
from studies.ranges import parse_range

INSTANTS = 81


def run_check(path: Path, times: str | None, modes: int | None) -> str:
    """Properties at the first instant, the energy balance, the cross-check, the verdict on all
    modes of the first instant and of that of largest growth, and one line of verdict.

    times: start:stop:count over which frozen and unfrozen are compared; by default one period.
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
    report = modal.properties(system, k)
    balance = energy_balance(model.motion, float(at[0]), float(at[-1]))
    report = modal.PropertyReport((*report.properties, balance))
    tracks = modal.track(model.motion, times=at, k=k)
    compared = modal.crosscheck(model.motion, tracks)
    return "\n".join(
        [str(system), "", "properties", str(report), "", "frozen against unfrozen", str(compared),
         "", verdicts(tracks, model.motion.freeze, k), "", _verdict(report, compared)]
    )  # fmt: skip


def _verdict(report: modal.PropertyReport, compared: modal.CrossCheck) -> str:
    if not report.ok:
        failed = sorted({p.name for p in report.properties if p.verdict == "fails"})
        return f"verdict: the model breaks {', '.join(failed)}; do not trust its eigenvalues"
    if compared.misleading:
        return "verdict: a frozen eigenvalue misleads here; use the unfrozen rates above"
    if compared.confirmed:
        return "verdict: the frozen eigenvalues stand for the motion"
    return "verdict: undecided; the remarks above say what to refine"
