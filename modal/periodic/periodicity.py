"""Check that a model repeats itself after a given time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from assembly.arguments import real_array, shown
from assembly.errors import InputError
from assembly.system.frozen import DAMPING_PARTS, PARTS, STIFFNESS_PARTS
from modal.transient.equations import FirstOrderModel, SecondOrderModel
from modal.types import Array

CHECKS = 7  # instants of the period, at irrational distances: on no symmetry of a motion
PERIODIC = 1e-6  # largest change after a period, relative to the matrix
VARIATION = 1e-3  # the same, relative to its variation within the period
ROUND_OFF = 1e-11  # relative change of a matrix that is round-off
NEGLIGIBLE = 1e-12  # parts below this fraction of the whole stiffness or velocity matrix
EDGE = 1e-6  # of the period: instants closer to a jump of the matrices are not compared


def check_period_length(period: Any) -> None:
    """InputError unless the period is a positive number."""
    length = real_array(period)
    if length is None or length.ndim or not (np.isfinite(length) and length > 0.0):
        raise InputError(f"period: expected a positive number of seconds, got {shown(period)}")


def check_period(
    equations: FirstOrderModel | SecondOrderModel, period: float, t0: float, breaks: Sequence[float]
) -> None:
    """InputError unless every matrix at t + T is that at t, for several t of the period.

    Whole multiples of the shortest period are periods. Each part of a model (M, C, D, K, …) is
    compared by itself, an entry of a callable's A(t) with the largest of its row.
    """
    golden = 0.5 * (np.sqrt(5.0) - 1.0)
    times = [
        float(t)
        for t in t0 + period * (np.arange(1, CHECKS + 1) * golden % 1.0)
        if all(abs(t - b) > EDGE * period for b in breaks)
    ]
    found = _matrices(equations, np.array([t + shift for shift in (0.0, period) for t in times]))
    here, later = found[: len(times)], found[len(times) :]
    whole = {name: max(_largest(m[name]) for m in here) for name in here[0]}
    stiffness = max((whole[name] for name in STIFFNESS_PARTS if name in whole), default=0.0)
    for name, size in whole.items():
        reference = stiffness if name in STIFFNESS_PARTS else size
        if name in DAMPING_PARTS:
            reference = float(np.sqrt(whole["M"] * stiffness))
        if size <= NEGLIGIBLE * reference:
            continue
        gaps = np.array([_largest(b[name] - a[name]) for a, b in zip(here, later, strict=True)])
        within = max(_largest(a[name] - b[name]) for a, b in combinations(here, 2))
        worst = int(np.argmax(gaps))
        if gaps[worst] > min(PERIODIC * size, max(VARIATION * within, ROUND_OFF * size)):
            raise InputError(
                f"period: the model does not repeat itself after {period:.6g} s "
                f"(from t = {times[worst]:.6g} s, {name} changes by {gaps[worst] / size:.1e} "
                "of its size)"
            )


def _matrices(equations: FirstOrderModel | SecondOrderModel, times: Array) -> list[dict[str, Any]]:
    """The matrices of instants by name: the parts of a model, or their values on the pattern that
    all instants share; the rows of A(t)."""
    if isinstance(equations, SecondOrderModel):
        if not equations.constant and hasattr(equations.model, "freeze_many"):
            parts = equations.model.freeze_many(times).values
            return [{name: parts[name][n] for name in parts} for n in range(len(times))]
        systems = [instant.system for instant in equations.several(times)]
        return [{name: system.parts[name].tocsr() for name in PARTS} for system in systems]
    return [
        {f"row {i + 1} of A": row for i, row in enumerate(equations.first_order(float(t)))}
        for t in times
    ]


def _largest(matrix: Any) -> float:
    return float(abs(matrix).max())
