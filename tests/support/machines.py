"""A random machine with known motions of its frame, for verdicts on all modes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from assembly.system.frozen import FrozenSystem


@dataclass(frozen=True)
class Machine:
    """A frozen system, how many zero eigenvalues its rigid motions have, and all eigenvalues that
    the kinematics of its frame prescribe where these are not zero."""

    system: FrozenSystem
    zeros: int = 0
    prescribed: tuple[complex, ...] = ()


def spread(rng: Generator, low: float, high: float) -> float:
    """A number from low to high, uniform in its logarithm."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))
