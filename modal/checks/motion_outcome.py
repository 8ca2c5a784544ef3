"""What a nonlinear motion that started in a mode becomes, from the mode's coordinate."""

from __future__ import annotations

import numpy as np

from assembly.magnitudes import EQUAL
from modal.types import Complex

SETTLED = 0.02  # relative change of an envelope, from one quarter of the motion to the next
VANISHED = 1e-3  # of the initial amplitude
STABLE = ("decays", "periodic", "bounded")  # outcomes that a stable linear verdict allows


def outcome_of(coordinate: Complex, lam: complex, span: float, conservative: bool) -> str:
    """The outcome of a motion that was integrated to its end.

    coordinate (T,): at evenly spaced instants over `span` s, 1 at the start in the linear motion
    e^{λt}. Envelopes are the largest |coordinate| of the quarters of the motion.
    """
    third, last = np.array_split(coordinate, 4)[2:]
    envelope = float(np.abs(last).max())
    if not conservative and envelope < VANISHED * abs(coordinate[0]):
        return "decays"
    change = float(np.log(envelope / np.abs(third).max()))
    spreads = [float(np.abs(part - part.mean()).max()) for part in (third, last)]
    offset = abs(complex(last.mean()))
    if conservative:
        if abs(change) <= SETTLED:
            return "periodic"
        return "grows" if change > 0.0 and envelope > 2.0 * abs(coordinate[0]) else "bounded"
    comes_to_rest = spreads[1] < (1.0 - SETTLED) * spreads[0] or spreads[1] < SETTLED * offset
    if comes_to_rest and offset > spreads[1]:
        return "another equilibrium"
    # A slow linear rate changes the envelope by less than SETTLED, yet it has not settled.
    if abs(change) <= min(SETTLED, 0.1 * abs(lam.real) * 0.25 * span):
        return "limit cycle"
    if change > 0.0:
        return "grows"
    # Where the equilibrium is unstable, a falling envelope ends at a finite amplitude.
    return "limit cycle" if lam.real > EQUAL * abs(lam) else "decays"


def sizes(lam: complex) -> tuple[float, float]:
    """The sizes, 1/s, to which differences of frequency and of growth rate are relative: |Im λ| and
    |Re λ|, each |λ| where there is none of it."""
    size = abs(lam)
    grows = abs(lam.real) > EQUAL * size
    return abs(lam.imag) or size, abs(lam.real) if grows else size


def agreement(motion: complex, lam: complex, outcome: str, tolerance: float) -> tuple[bool, bool]:
    """Whether the frequency of a motion is the linear one, and whether growth rate and stability
    are.

    motion: growth rate and angular frequency at the start, NaN for none. A mode without growth is
    taken to keep its amplitude where the motion's rate is below tolerance² |λ|.
    """
    frequency, growth = sizes(lam)
    same_frequency = abs(motion.imag - lam.imag) <= tolerance * frequency
    none = abs(lam.real) <= EQUAL * abs(lam)
    allowed = tolerance**2 * growth if none else tolerance * growth
    stable = outcome in STABLE if lam.real <= EQUAL * abs(lam) else motion.real > 0.0
    return same_frequency, abs(motion.real - lam.real) <= allowed and stable
