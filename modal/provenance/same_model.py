"""Fingerprints of a tracked model: a stored run continues with the same model only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from assembly.system.frozen import FrozenSystem
from modal.provenance.fingerprint import ROWS, TIMES, FamilyPrints, Probe
from modal.reduction.affine import AffineFamily, Coefficients
from modal.types import Array


def family_prints(
    family: AffineFamily, first: FrozenSystem, span: Coefficients, at: Coefficients, size: int
) -> Array:
    """Of an affine family at all values of a sweep, by blocks of some size, (rows, 2)."""

    def block(where: Any) -> tuple[AffineFamily, Coefficients]:
        return family, at.take(where[0])

    prints = FamilyPrints(family, first, span, block)
    starts = range(0, len(at), size)
    return np.vstack([prints.model, *(prints.tile((slice(n, n + size),)) for n in starts)])


def drawn_prints(freeze: Callable[[float], FrozenSystem], at: Array) -> Array:
    """Of the first and last value and a seeded draw of others, (rows, 2).

    Rows of a value where the model cannot be frozen are zero.
    """
    probe = Probe(freeze(float(at[0])))
    numbers = np.random.default_rng(41).permutation(len(at))[:TIMES]
    rows = []
    for value in at[np.unique([0, *numbers, len(at) - 1])].tolist():
        try:
            rows.append(probe.system(freeze(value)))
        except Exception:  # raised again, and named, when the sweep comes there
            rows.append(np.zeros((ROWS, 2)))
    return np.vstack(rows)
