"""The verdict on each frozen mode: confirmed, misleading and why, or undecided and what to refine;
and the result of a cross-check, printable."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from assembly.magnitudes import ALIKE
from modal.periodic.floquet_modes import FloquetModes
from modal.tracking.rates import FLOOR

Outcome = Literal["confirmed", "frozen misleads", "undecided"]

PRESTRESS, RESONANCE = "missing prestress", "parametric resonance"
DRIFT, NON_NORMAL = "drift", "non-normal growth"


@dataclass(frozen=True)
class Evidence:
    """The results for one mode over the motion; rates in 1/s, NaN where not known.

    frozen_rate, corrected_rate: means of Re λ and of σ. transient_rate: of the mode's own
    coordinate, transient_uncertainty ±. floquet_rate, floquet_error: the exponent's real part.
    gain: largest growth of the energy norm of a motion that starts in the mode. size: mean |λ|.
    basis_gap: relative, of the reduced space. resonance: the combination announced, or "".
    abscissa: the largest growth rate the instant's norm allows. prestressed: K(ω²) does not act
    without K_G.
    """

    frozen_rate: float
    corrected_rate: float
    transient_rate: float
    transient_uncertainty: float
    floquet_rate: float
    floquet_error: float
    gain: float
    size: float
    basis_gap: float
    resonance: str
    abscissa: float
    prestressed: bool


@dataclass(frozen=True)
class Diagnosis:
    """Outcome of the cross-check of one mode.

    Attributes
    ----------
    outcome : {"confirmed", "frozen misleads", "undecided"}
    reason : str
        Why the frozen verdict misleads, or "".
    remark : str
        Explanation, or what to refine.
    """

    outcome: Outcome
    reason: str
    remark: str

    def __str__(self) -> str:
        text = f"{self.outcome}: {self.reason}" if self.reason else self.outcome
        return f"{text} ({self.remark})" if self.remark else text


def _undecided(remark: str) -> Diagnosis:
    return Diagnosis("undecided", "", remark)


def _misleads(reason: str, remark: str) -> Diagnosis:
    return Diagnosis("frozen misleads", reason, remark)


def diagnose(e: Evidence, tolerance: float = 0.05, gain: float = 10.0) -> Diagnosis:
    """Compare the frozen growth rate with the truth: the Floquet exponent, else the transient.

    tolerance: relative, on rates; two rates also agree when they differ by less than FLOOR |λ|.
    gain: largest transient growth of the energy norm of a confirmed mode.
    """
    if not np.isfinite(e.frozen_rate):
        return _undecided("the mode leaves the tracked window: track more modes (k)")
    if e.basis_gap > ALIKE:
        return _undecided(f"the reduced space misses it by {e.basis_gap:.1e}: track more modes (k)")
    truth, doubt = e.transient_rate, e.transient_uncertainty
    if np.isfinite(e.floquet_rate):
        truth, doubt = e.floquet_rate, e.floquet_error
    if not (np.isfinite(truth) and np.isfinite(doubt)):
        return _undecided("the transient does not show the mode: use finer times")
    allowed = tolerance * max(abs(e.frozen_rate), abs(truth)) + FLOOR * e.size
    gap = abs(truth - e.frozen_rate)
    if not e.prestressed and e.frozen_rate > allowed:
        return _misleads(PRESTRESS, "K(ω²) acts without K_G: freeze with prestress")
    if max(gap, doubt) <= allowed:
        if e.frozen_rate <= allowed and e.gain > gain:
            return _misleads(NON_NORMAL, f"grows {e.gain:.3g} times before it settles")
        return Diagnosis("confirmed", "", "")
    if doubt >= gap:
        if np.isfinite(e.floquet_rate):
            return _undecided("the Floquet exponent is not resolved: lower `k`")
        return _undecided("the transient is too short: track a longer span, or give the period")
    return _misleading(e, truth, allowed)


def _misleading(e: Evidence, truth: float, allowed: float) -> Diagnosis:
    true_rate = f"true growth rate {truth:+.6g} 1/s"
    explained = np.isfinite(e.corrected_rate) and abs(truth - e.corrected_rate) <= allowed
    if e.resonance and np.isfinite(e.floquet_rate) and truth > e.corrected_rate + allowed:
        return _misleads(RESONANCE, f"{e.resonance}; {true_rate}")
    if explained:
        return _misleads(DRIFT, f"the corrected rate has it; {true_rate}")
    if truth > max(e.frozen_rate, allowed) and e.abscissa > max(e.frozen_rate, 0.0):
        allowed_rate = f"instants allow growth up to {e.abscissa:+.3g} 1/s"
        return _misleads(NON_NORMAL, f"{allowed_rate}; {true_rate}")
    return _misleads(DRIFT, f"modes turn as fast as they evolve; {true_rate}")


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
        rate = floquet.growth_rate.max()
        return f"unstable, a vibration grows at {rate:+.4g} 1/s over the periods (Floquet)"
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


def announced(
    mean_frequencies: ArrayLike, period: float, width: float, harmonics: int = 4
) -> list[str]:
    """For each mode the combination |ω̄_i ± ω̄_j| that is nearest to one of the first harmonics of
    2π/T, in words; "" where none is closer than `width` · 2π/T.

    mean_frequencies (m,): ω̄_i, rad/s, means over the period; NaN where not known. Of an undamped
    Hamiltonian model the sums can be unstable; the differences only where a mode has negative
    energy.
    """
    omega, base = np.asarray(mean_frequencies, dtype=float), 2.0 * np.pi / period
    words, nearest = [""] * len(omega), np.full(len(omega), width * base)
    for i, j in combinations_with_replacement(np.flatnonzero(omega > 0.0), 2):
        for sign, symbol in ((1, "+"), (-1, "−")):
            total = abs(omega[i] + sign * omega[j])
            k = round(total / base)
            mismatch = abs(total - k * base)
            for mode in (i, j):
                if 1 <= k <= harmonics and mismatch < nearest[mode]:
                    nearest[mode] = mismatch
                    words[mode] = f"ω{i} {symbol} ω{j} ≈ {k} · 2π/T (off by {mismatch:.3g} rad/s)"
    return words
