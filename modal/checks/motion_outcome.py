"""What a nonlinear motion that started in a mode becomes, from the mode's coordinate."""

from __future__ import annotations

import numpy as np

from modal.types import Complex

SETTLED = 0.02  # relative change of an envelope, from one quarter of the motion to the next
NO_RATE = 1e-9  # of |λ|: a smaller growth rate is none
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
    return "limit cycle" if lam.real > NO_RATE * abs(lam) else "decays"


def agrees(found: complex, lam: complex, outcome: str, tolerance: float) -> bool:
    """Whether frequency, growth rate and stability are those of the linear verdict λ."""
    size = abs(lam)
    rates = tolerance * max(abs(lam.real), tolerance * size)
    if not abs(found.imag - lam.imag) <= tolerance * size:
        return False
    if not abs(found.real - lam.real) <= rates:
        return False
    return found.real > 0.0 if lam.real > NO_RATE * size else outcome in STABLE
