"""Undecided, stable, divergence or flutter: the verdict on the elastic modes of an instant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from modal.types import Array, Complex, Mask

# What a verdict rests on, by word and by code. MODES is no proof: other modes than those examined
# may be unstable.
PROOFS = ("modes", "energy", "count", "lyapunov", "mode")
MODES, ENERGY, COUNT, LYAPUNOV, UNSTABLE_MODE = range(len(PROOFS))
UNDECIDED, STABLE, DIVERGENCE, FLUTTER = range(-1, 3)
WORDS = {
    UNDECIDED: "undecided", STABLE: "stable", DIVERGENCE: "divergence", FLUTTER: "flutter"
}  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """The mode that grows most: growth_rate and error_bound 1/s, critical_frequency Hz.

    proof: what the verdict rests on, one of PROOFS by number. "Stable" is a statement on all modes.
    lowest: the least |λ| of the modes examined, rad/s. final: undecided, and LAPACK cannot tell
    more.
    """

    growth_rate: float
    error_bound: float
    critical_frequency: float
    unstable_modes: int
    verdict: int
    proof: int
    lowest: float
    final: bool = False


def judge(
    eigenvalues: Complex, error_bound: Array, proof: int = MODES, settled: Mask | None = None
) -> Verdict:
    """The verdict on elastic eigenvalues (k,) rad/s with their error bounds (k,).

    proof: what is known of the modes that are not among them. settled (k,): modes that are known
    not to grow from elsewhere, whatever their bounds.

    "Stable" needs a proof on all modes; where that is a count, the growth rate of every mode that
    is not settled must be below zero by more than its bound. A growth rate that does not exceed its
    own error bound is never called an instability. The mode that grows most is a divergence when
    its frequency is not above its bound, else flutter. Of growth rates that are equal, or zero
    within their bounds, the lowest frequency is
    critical. NaN entries are modes that do not exist.
    """
    exists = np.isfinite(eigenvalues)
    lam, bound = eigenvalues[exists], error_bound[exists]
    if lam.size == 0:
        code = UNDECIDED if proof == MODES else STABLE
        return Verdict(np.nan, np.nan, np.nan, 0, code, int(proof), np.nan)
    unstable = lam.real > bound
    candidates = np.flatnonzero(unstable) if unstable.any() else np.arange(lam.size)
    growth = np.where(np.abs(lam.real) <= bound, 0.0, lam.real)
    order = np.lexsort((np.abs(lam[candidates].imag), -growth[candidates]))
    worst = candidates[order[0]]
    if unstable.any():
        proof, code = UNSTABLE_MODE, FLUTTER
        if abs(lam[worst].imag) <= bound[worst]:
            code = DIVERGENCE
    else:
        open_ = lam.real >= -bound
        if settled is not None:
            open_ &= ~settled[exists]
        if proof == COUNT and open_.any():
            proof = MODES
        code = UNDECIDED if proof == MODES else STABLE
    growth_rate, frequency = float(lam[worst].real), float(abs(lam[worst].imag) / (2.0 * np.pi))
    count, error = int(unstable.sum()), float(bound[worst])
    lowest = float(np.abs(lam).min())
    return Verdict(growth_rate, error, frequency, count, code, int(proof), lowest)
