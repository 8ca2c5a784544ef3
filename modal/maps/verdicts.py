"""Verdicts of the points of a map: on all modes where the lowest leave them undecided, and as
columns of the dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.system.frozen import FrozenSystem
from modal.data.variables import MAP
from modal.maps.grid import Grid
from modal.proofs.judge import PROOFS, STABLE, UNDECIDED, WORDS, Verdict, judge
from modal.proofs.verdict import AFFORDABLE, ALL_MODES, Stability, stability
from modal.reduction.full_order import full_modes


def is_affordable(n: int, points: int, work: float = 1.8e11) -> bool:
    """Whether all modes of n degrees of freedom cost little at so many points.

    work: n³ times the points of a map up to which LAPACK decides the undecided ones: at 1e-8 s each
    half an hour of one core, if all of them are.
    """
    return n <= ALL_MODES or (n <= AFFORDABLE and points * float(n) ** 3 <= work)


def judged(system: FrozenSystem, k: int, points: int) -> Verdict:
    """The verdict on a system that is solved by itself, one of so many points: on its k lowest
    elastic modes, and on all modes where none of these is unstable."""
    found = judge(*full_modes(system, k))
    if found.unstable_modes or not is_affordable(system.n, points):
        return found
    return _extended(found, stability(system, k))


def on_all_modes(
    grid: Grid, points: Sequence[Mapping[str, float]], verdicts: Sequence[Verdict], n: int, k: int
) -> list[Verdict]:
    """The verdicts on some points of a grid of systems of n degrees of freedom; those that are
    undecided on all modes, where that is affordable."""
    if not is_affordable(n, grid.count):
        return list(verdicts)
    return [
        _extended(found, stability(grid.freeze(point), k)) if found.verdict == UNDECIDED else found
        for point, found in zip(points, verdicts, strict=True)
    ]


def _extended(found: Verdict, result: Stability) -> Verdict:
    """The verdict on lowest modes of which none is unstable, extended by that on all modes."""
    if result.verdict == WORDS[UNDECIDED]:
        return found
    proof = PROOFS.index(result.proof)
    if result.verdict == WORDS[STABLE]:
        return replace(found, verdict=STABLE, proof=proof)
    code = next(code for code, word in WORDS.items() if word == result.verdict)
    return Verdict(
        result.growth_rate, result.error_bound, result.critical_frequency, result.unstable_modes,
        code, proof,
    )  # fmt: skip


def columns(verdicts: Sequence[Verdict], source: NDArray[np.int8]) -> dict[str, NDArray[Any]]:
    """Verdicts of points as the columns of the dataset."""
    names = [name for name in MAP if name not in ("source", "done")]
    return {name: np.array([getattr(v, name) for v in verdicts]) for name in names} | {
        "source": source
    }
