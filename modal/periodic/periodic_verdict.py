"""Stable, divergence, flutter or undecided: the verdict on the exponents of a periodic motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from modal.periodic.floquet_modes import RESOLVED
from modal.proofs.codes import COUNT, MODES
from modal.proofs.judge import STABLE, UNDECIDED, Verdict, judge
from modal.types import Array, Complex


def periodic_verdict(
    exponents: Complex, error_bound: Array, period: float, proof: int = MODES
) -> Verdict:
    """The verdict on exponents (k,), 1/s, with their error bounds (k,).

    proof: COUNT where these are all exponents that may grow, else MODES. "Stable" needs all of
    them, known to a thousandth of growth a period, as in `FloquetModes.verdict`.
    """
    verdict = judge(exponents, error_bound, proof)
    if verdict.unstable_modes:
        return verdict
    bound = float(np.max(exponents.real + error_bound, initial=-np.inf))
    if proof == COUNT and bound * period <= RESOLVED:
        return replace(verdict, verdict=STABLE, proof=COUNT)
    return replace(verdict, verdict=UNDECIDED, proof=MODES)
