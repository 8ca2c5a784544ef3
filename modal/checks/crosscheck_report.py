"""The result of a cross-check: rates and verdicts of each mode, printable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from modal.checks.diagnosis import Diagnosis
from modal.periodic.floquet_modes import FloquetModes


@dataclass(frozen=True)
class CrossCheck:
    """Comparison of frozen growth rates with the unfrozen motion, printable.

    Attributes
    ----------
    dataset : xarray.Dataset
        Over "mode": frozen_rate, corrected_rate, transient_rate, transient_uncertainty,
        floquet_rate, floquet_error (1/s), mean_frequency (Hz), frozen_interval and
        vibration_period (s), frozen_share, gain, verdict, reason, remark.
    diagnoses : tuple of Diagnosis
        One for each mode: its outcome, reason and remark. They concern the growth rates;
        `stands` concerns the frozen modes themselves.
    floquet : FloquetModes or None
        Exponents of a periodic motion, of all modes or of the slow ones (`floquet.method`).
    """

    dataset: xr.Dataset
    diagnoses: tuple[Diagnosis, ...]
    floquet: FloquetModes | None = None

    @property
    def confirmed(self) -> bool:
        """Whether the frozen growth rate of every mode is confirmed."""
        return all(d.outcome == "confirmed" for d in self.diagnoses)

    @property
    def misleading(self) -> bool:
        """Whether the frozen growth rate of some mode is wrong."""
        return any(d.outcome == "frozen misleads" for d in self.diagnoses)

    @property
    def stands(self) -> NDArray[np.bool_]:
        """Modes (m,) whose frozen interval is at least one of their own periods at every instant.
        Where it is shorter, the modes change within one cycle of the vibration."""
        return np.asarray(self.dataset.frozen_share.values == 1.0)

    @property
    def headline(self) -> str:
        """The verdict on a periodic motion, of its Floquet exponents; else that there is none."""
        if self.floquet is None:
            return "no verdict over periods: no period is given; rates are means over the instants"
        return f"verdict: {floquet_verdict(self.floquet)}"

    def __str__(self) -> str:
        return f"{self.headline}\n{rates_table(self)}"


def floquet_verdict(floquet: FloquetModes) -> str:
    """The verdict on a periodic motion in words."""
    if floquet.verdict == "unstable":
        return (
            f"unstable, a vibration grows at {floquet.growth_rate.max():+.4g} 1/s over the periods "
            "(Floquet)"
        )
    if floquet.verdict == "undecided":
        return "undecided, a growth over the periods is within its error (Floquet)"
    if floquet.method == "dense":
        return "stable, no vibration grows over the periods (Floquet)"
    return (
        "no vibration of the slowest modes grows over the periods (Floquet); undecided for faster "
        "modes"
    )


def rates_table(compared: CrossCheck) -> str:
    """Rates and outcome of every mode; the headline is not part of it."""
    names = f"{'frozen':>11} {'corrected':>11} {'transient':>11} {'Floquet':>11}"
    lines = [
        "frozen, corrected: mean rates of the instants; transient, Floquet: rates of the motion",
        f"{'':4}  {'mean':>11} {'mean growth rate, 1/s':^47}   {'shortest':>11} {'vibration':>11}",
        f"mode  {'freq., Hz':>11} {names}   {'interval, s':>11} {'period, s':>11}",
    ]
    d = compared.dataset
    for i, diagnosis in enumerate(compared.diagnoses):
        rates = [
            f"{float(d[name][i]):+11.4g}" if np.isfinite(d[name][i]) else "          –"
            for name in ("frozen_rate", "corrected_rate", "transient_rate", "floquet_rate")
        ]
        frequency, interval = float(d.mean_frequency[i]), float(d.frozen_interval[i])
        period = float(d.vibration_period[i])
        lines.append(
            f"{int(d.mode[i]) + 1:4d}  {frequency:11.6g} {' '.join(rates)}   {interval:11.3g}"
            f" {period:11.3g}"
        )
        lines.append(f"      growth rate {diagnosis}")
        if not compared.stands[i]:
            lines.append(
                f"      frozen mode changes within one of its own periods in "
                f"{100.0 * (1.0 - float(d.frozen_share[i])):.0f} % of the motion"
            )
    return "\n".join(lines)


class CrossCheckInterrupted(KeyboardInterrupt):
    """Ctrl-C during `modal.crosscheck`.

    Attributes
    ----------
    partial : CrossCheck or None
        Report of what was finished.
    """

    def __init__(self, message: str, partial: CrossCheck | None) -> None:
        super().__init__(message)
        self.partial = partial
