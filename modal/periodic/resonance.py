"""Parametric resonances predicted by mean frequencies: ω̄_i ± ω̄_j ≈ k · 2π/T."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

HARMONICS = 4  # of 2π/T that are looked at


@dataclass(frozen=True)
class Resonance:
    """Modes first ≤ second, sign ±1, the harmonic k of 2π/T, and the mismatch |ω̄_i ± ω̄_j − k
    2π/T|, rad/s."""

    first: int
    second: int
    sign: int
    harmonic: int
    mismatch: float

    def __str__(self) -> str:
        sign = "+" if self.sign > 0 else "−"
        return (
            f"ω{self.first} {sign} ω{self.second} ≈ {self.harmonic} · 2π/T "
            f"(off by {self.mismatch:.3g} rad/s)"
        )


def announced(mean_frequencies: ArrayLike, period: float, width: float) -> list[Resonance]:
    """The combinations closer than `width` · 2π/T to one of the first harmonics, closest first.

    mean_frequencies (m,): ω̄_i, rad/s, means over the period. Of an undamped Hamiltonian model
    the sums can be unstable; the differences only where a mode has negative energy.
    """
    omega, base = np.asarray(mean_frequencies, dtype=float), 2.0 * np.pi / period
    found = []
    for i in range(len(omega)):
        for j in range(i, len(omega)):
            for sign in (1, -1) if i != j else (1,):
                total = abs(omega[i] + sign * omega[j])
                k = round(total / base)
                mismatch = abs(total - k * base)
                if 1 <= k <= HARMONICS and mismatch <= width * base:
                    found.append(Resonance(i, j, sign, k, float(mismatch)))
    return sorted(found, key=lambda r: r.mismatch)
