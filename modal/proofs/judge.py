"""Stable, divergence or flutter: the verdict on the elastic modes of an instant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from modal.proofs.codes import MODES, UNSTABLE_MODE
from modal.types import Array, Complex

STABLE, DIVERGENCE, FLUTTER = 0, 1, 2


@dataclass(frozen=True)
class Verdict:
    """The mode that grows most: growth_rate and error_bound 1/s, critical_frequency Hz.

    verdict 0 (stable) is a statement on all modes where `proof` is not 0 (modal/proofs/codes.py).
    """

    growth_rate: float
    error_bound: float
    critical_frequency: float
    unstable_modes: int
    verdict: int
    proof: int


def judge(eigenvalues: Complex, error_bound: Array, proof: int = MODES) -> Verdict:
    """The verdict on elastic eigenvalues (k,) rad/s with their error bounds (k,).

    proof: what is known of the modes that are not among them.

    A growth rate that does not exceed its own error bound is never called an instability. The mode
    that grows most is a divergence when its frequency is not above its bound, else flutter. Of
    growth rates that are equal, or zero within their bounds, the lowest frequency is
    critical. NaN entries are modes that do not exist.
    """
    exists = np.isfinite(eigenvalues)
    lam, bound = eigenvalues[exists], error_bound[exists]
    if lam.size == 0:
        return Verdict(np.nan, np.nan, np.nan, 0, STABLE, int(proof))
    unstable = lam.real > bound
    candidates = np.flatnonzero(unstable) if unstable.any() else np.arange(lam.size)
    growth = np.where(np.abs(lam.real) <= bound, 0.0, lam.real)
    order = np.lexsort((np.abs(lam[candidates].imag), -growth[candidates]))
    worst = candidates[order[0]]
    code = STABLE
    if unstable.any():
        code = DIVERGENCE if abs(lam[worst].imag) <= bound[worst] else FLUTTER
    frequency = abs(lam[worst].imag) / (2.0 * np.pi)
    return Verdict(
        float(lam[worst].real),
        float(bound[worst]),
        float(frequency),
        int(unstable.sum()),
        code,
        UNSTABLE_MODE if unstable.any() else int(proof),
    )
