"""Floquet modes over a period, from the periodic basis in which groups of modes decouple.

x = X(t) z with the periodic basis X of modal/periodic/decoupling.py: a mode of a group moves as
X_g(t) z(t), where z follows the small, slow equations of its group. Nothing fast is propagated: the
frequency of a mode is in its exponent, and the harmonics of its shape are shifted by whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from modal.types import Array, Complex


@dataclass(frozen=True)
class DecoupledOrbits:
    """Periodic parts of modes, as `Propagation` gives them.

    states (s, N, m): p(t) at equal parts of the period, relative to the rates (m,), 1/s, of which
    the exponents differ by multiples of 2πi/T. lift: to the degrees of freedom, (N, m) → (n, m).
    weights (n,): of the degrees of freedom in an amplitude.
    """

    states: Complex
    rates: Complex
    lift: Callable[[Complex], Complex]
    weights: Array

    def orbits(self, exponents: Complex, period: float, known: Array) -> Complex:
        """The periodic parts at equal parts of the period, (s, n, m), relative to the exponents."""
        shift = np.round((self.rates - exponents).imag * period / (2.0 * np.pi)).astype(int)
        count = len(self.states)
        lifted = np.stack([self.lift(state) for state in self.states])
        waves = np.fft.fft(lifted, axis=0) / count
        number = np.fft.fftfreq(count, 1.0 / count).astype(int)
        size = 2 ** int(np.ceil(np.log2(2 * np.abs(shift).max() + 2 * count)))
        out = np.zeros((size, *lifted.shape[1:]), dtype=complex)
        for mode in np.flatnonzero(known):
            out[(number + shift[mode]) % size, :, mode] = waves[:, :, mode]
        out = np.fft.ifft(out, axis=0) * size
        out[:, :, ~np.asarray(known, dtype=bool)] = np.nan
        return np.asarray(out)
