"""The command check: properties P1–P6 of a model, frozen against unfrozen, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

import modal
from modal.checks.balance import energy_balance
from modal.checks.diagnosis import rates_table
from modal.data.progress import hidden, phase
from studies.cli.runs import instants_of
from studies.model_files.loading import load_model
from studies.reporting.frozen_verdicts import is_steady, verdict, verdicts
from studies.reporting.tables import table


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
    at = instants_of(model, times, 81)
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


def floquet_lines(compared: modal.CrossCheck) -> list[str]:
    """What the Floquet exponents say, and of which modes they speak."""
    floquet = compared.floquet
    assert floquet is not None
    count = len(floquet.multipliers)
    if floquet.method == "dense":
        scope = f"all {count} multipliers of the model"
        others = []
    else:
        scope = f"the {count} multipliers of the slowest modes"
        others = ["  faster modes were not examined"]
    at = int(np.argmax(floquet.growth_rate))
    fastest = floquet.growth_rate[at]
    hertz = abs(floquet.exponents[at].imag) / (2.0 * np.pi)
    text = {
        "stable": "none grows",
        "unstable": "one grows",
        "undecided": "undecided, the error is larger than the growth",
    }[floquet.verdict]
    return [
        f"  {scope}: {text}; largest growth rate {fastest:+.4g} ± {floquet.error[at]:.1e} 1/s "
        f"(at {hertz:.6g} Hz, modulo {1.0 / floquet.period:.6g} Hz)",
        *others,
    ]


def verdict_lines(
    report: modal.PropertyReport, compared: modal.CrossCheck, steady: str | None = None
) -> list[str]:
    """Modes one by one: whose growth rate holds, whose frozen mode stands; then the one verdict.

    The verdict on a steady motion is that on all modes of any of its instants, `steady`; that on
    another periodic motion is of its Floquet exponents. What the frozen eigenvalues are worth is a
    line of its own.
    """
    modes = compared.dataset.mode.values
    outcomes = np.array([d.outcome for d in compared.diagnoses])
    stands = compared.stands
    lines = [f"the {len(modes)} modes followed (others were not examined)"]
    for outcome, text in (
        ("confirmed", "frozen growth rate is that of the unfrozen motion"),
        ("frozen misleads", "frozen growth rate is wrong, for the reason above"),
        ("undecided", "frozen growth rate could not be judged, for the reason above"),
    ):
        if np.any(outcomes == outcome):
            lines.append(f"  {_named(modes[outcomes == outcome])}: the {text}")
    if np.any(stands):
        lines.append(
            f"  {_named(modes[stands])}: the frozen interval covers a period of the vibration at "
            "every instant"
        )
    if not np.all(stands):
        shares = 100.0 * (1.0 - compared.dataset.frozen_share.values[~stands])
        lines.append(
            f"  {_named(modes[~stands])}: the frozen interval is shorter than a period of the "
            f"vibration in {_range(shares)} % of the motion; frequency and shape of an instant "
            "mean little there"
        )
    if not report.ok:
        failed = sorted({p.name for p in report.properties if p.verdict == "fails"})
        broken = f"verdict: the model breaks {', '.join(failed)}; do not trust its eigenvalues"
        return [*lines, "", broken]
    if steady is not None:
        return [*lines, f"  {_frozen(compared)}", "", f"verdict: {steady}"]
    if compared.floquet is None:
        return [*lines, "", f"verdict: {_frozen(compared)}"]
    return [*lines, f"  {_frozen(compared)}", "", compared.headline]


def _frozen(compared: modal.CrossCheck) -> str:
    """What the frozen eigenvalues are worth."""
    if compared.misleading:
        return "a frozen eigenvalue misleads here; use the unfrozen rates above"
    if not compared.confirmed:
        return "undecided whether the frozen rates hold; the remarks above say what to refine"
    if not np.all(compared.stands):
        return (
            "the frozen eigenvalues do not stand for the motion; only the mean growth rates of "
            "these modes are confirmed"
        )
    return "the frozen eigenvalues stand for the motion"


def _named(modes: Iterable[int]) -> str:
    numbers = [str(int(m) + 1) for m in modes]
    return ("mode " if len(numbers) == 1 else "modes ") + ", ".join(numbers)


def _range(values: NDArray[Any]) -> str:
    low, high = f"{values.min():.0f}", f"{values.max():.0f}"
    return low if low == high else f"{low} to {high}"
