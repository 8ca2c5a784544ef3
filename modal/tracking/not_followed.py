"""Unstable modes that no track follows: the verdict on all modes at a few values of a sweep."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from assembly.errors import FrozenMotionError
from assembly.system.frozen import FrozenSystem
from modal.proofs.judge import UNDECIDED, WORDS
from modal.proofs.verdict import ALL_MODES, stability
from modal.tracking.variation import CLUSTER
from modal.types import Array, Complex

UNKNOWN = -1


def unstable_not_followed(
    freeze: Callable[[float], FrozenSystem],
    at: Array,
    eigenvalues: Complex,
    error: Array,
    checks: int,
) -> NDArray[np.int32]:
    """The number of unstable modes that no track follows, (T,); −1 where it is not known.

    eigenvalues, error (T, R): of the tracks, NaN where a track has no value. checks: 0 for no
    value; otherwise the first, the last and checks − 1 of a seeded draw are examined, and where two
    of them differ, those in between that enclose the step of the change. Systems of more than
    ALL_MODES degrees of freedom are not examined.
    """
    number = np.full(len(at), UNKNOWN, dtype=np.int32)
    if not checks or freeze(float(at[0])).n > ALL_MODES:
        return number

    drawn = np.random.default_rng(13).permutation(len(at))[: checks - 1]
    places = np.unique([0, len(at) - 1, *drawn]).tolist()
    spans = list(pairwise(places))
    while places:
        for n in places:
            number[n] = _beyond(freeze(float(at[n])), eigenvalues[n], error[n])
        differing = [
            (a, b)
            for a, b in spans
            if b - a > 1 and min(number[a], number[b]) >= 0 and number[a] != number[b]
        ]
        places = [(a + b) // 2 for a, b in differing]
        spans = [
            part for (a, b), m in zip(differing, places, strict=True) for part in ((a, m), (m, b))
        ]
    return number


def _beyond(system: FrozenSystem, tracks: Complex, error: Array) -> int:
    """The unstable modes of a system that are not among those of the tracks; −1 where not all modes
    are known."""
    try:
        verdict = stability(system)
    except FrozenMotionError:  # the mass is not definite, or the modes are not found
        return UNKNOWN
    if verdict.verdict == WORDS[UNDECIDED] or np.isfinite(verdict.examined_to):
        return UNKNOWN
    lam, bound = verdict.eigenvalues, verdict.bounds
    unstable = lam.real > bound
    distance = np.abs(lam[unstable, None] - tracks[None, :])
    near = distance <= bound[unstable, None] + error + CLUSTER * np.abs(lam[unstable, None])
    return int((~near.any(axis=1)).sum())
