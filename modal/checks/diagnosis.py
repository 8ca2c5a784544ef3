"""The verdict on one frozen mode: confirmed, misleading and why, or undecided and what to
refine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from modal.tracking.rates import FLOOR

Outcome = Literal["confirmed", "frozen misleads", "undecided"]

PRESTRESS, RESONANCE = "missing prestress", "parametric resonance"
DRIFT, NON_NORMAL = "drift", "non-normal growth"

BASIS = 1e-3  # of |λ|: largest accepted difference of reduced eigenvalues and those of the tracks
GAIN = 10.0  # largest transient growth of the energy norm of a confirmed mode


@dataclass(frozen=True)
class Evidence:
    """The results for one mode over the motion; rates in 1/s, NaN where not known.

    frozen, corrected: means of Re λ and of σ. transient: of the mode's own coordinate,
    uncertainty ±. floquet, floquet_error: the exponent's real part. size: mean |λ|. interval: the
    least frozen interval, s. gain: largest growth of the energy norm of a motion that starts in
    the mode. abscissa: the largest growth rate the instant's norm allows. basis_gap: relative, of
    the reduced space. prestressed: K(ω²) does not act without K_G. resonance: the combination
    announced, or "".
    """

    frozen: float
    corrected: float
    transient: float
    uncertainty: float
    floquet: float
    floquet_error: float
    size: float
    interval: float
    gain: float
    abscissa: float
    basis_gap: float
    prestressed: bool
    resonance: str


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


def diagnose(e: Evidence, tolerance: float = 0.05) -> Diagnosis:
    """Compare the frozen growth rate with the truth: the Floquet exponent, else the transient.

    tolerance: relative, on rates; two rates also agree when they differ by less than FLOOR |λ|.
    """
    if not np.isfinite(e.frozen):
        return Diagnosis(
            "undecided", "", "the mode leaves the tracked window: track more modes (k)"
        )
    if e.basis_gap > BASIS:
        return Diagnosis(
            "undecided",
            "",
            f"the reduced space misses it by {e.basis_gap:.1e}: track more modes (k)",
        )
    truth, doubt = e.transient, e.uncertainty
    if np.isfinite(e.floquet):
        truth, doubt = e.floquet, e.floquet_error
    if not (np.isfinite(truth) and np.isfinite(doubt)):
        return Diagnosis("undecided", "", "the transient does not show the mode: use finer times")
    allowed = tolerance * max(abs(e.frozen), abs(truth)) + FLOOR * e.size
    gap = abs(truth - e.frozen)
    if not e.prestressed and e.frozen > allowed:
        return Diagnosis(
            "frozen misleads", PRESTRESS, "K(ω²) acts without K_G: freeze with prestress"
        )
    if max(gap, doubt) <= allowed:
        if e.frozen <= allowed and e.gain > GAIN:
            return Diagnosis(
                "frozen misleads", NON_NORMAL, f"grows {e.gain:.3g} times before it settles"
            )
        return Diagnosis("confirmed", "", "")
    if doubt >= gap:
        if np.isfinite(e.floquet):
            return Diagnosis("undecided", "", "the Floquet exponent is not resolved: lower `k`")
        return Diagnosis(
            "undecided", "", "the transient is too short: track a longer span, or give the period"
        )
    return _misleading(e, truth, allowed)


def _misleading(e: Evidence, truth: float, allowed: float) -> Diagnosis:
    true_rate = f"true growth rate {truth:+.6g} 1/s"
    explained = np.isfinite(e.corrected) and abs(truth - e.corrected) <= allowed
    if e.resonance and np.isfinite(e.floquet) and truth > e.corrected + allowed:
        return Diagnosis("frozen misleads", RESONANCE, f"{e.resonance}; {true_rate}")
    if explained:
        return Diagnosis("frozen misleads", DRIFT, f"the corrected rate has it; {true_rate}")
    if truth > max(e.frozen, allowed) and e.abscissa > max(e.frozen, 0.0):
        return Diagnosis(
            "frozen misleads",
            NON_NORMAL,
            f"instants allow growth up to {e.abscissa:+.3g} 1/s; {true_rate}",
        )
    return Diagnosis("frozen misleads", DRIFT, f"modes turn as fast as they evolve; {true_rate}")
