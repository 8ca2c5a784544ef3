"""Verdicts of the points of a map as columns of its dataset, and what all methods hold them to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modal.data.variables import MAP
from modal.proofs.judge import Verdict

VALIDATION = 60  # seeded random points that complete the training
SHARPEST = 1e-10  # least tolerance for a growth rate near zero
NOISE = 4.0  # growth rates below this multiple of the round-off are not resolved


def columns(verdicts: Sequence[Verdict], source: NDArray[np.int8]) -> dict[str, NDArray[Any]]:
    """Verdicts of points as the columns of the dataset."""
    names = [name for name in MAP if name not in ("source", "done")]
    return {name: np.array([getattr(v, name) for v in verdicts]) for name in names} | {
        "source": source
    }
