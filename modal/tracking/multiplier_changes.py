"""Derivatives of the matrices of an affine family along a sweep, from those of its multipliers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from modal.reduction.affine import Coefficients
from modal.tracking.pencils import Triple
from modal.tracking.stencil import Stencil
from modal.tracking.variation import Derivatives
from modal.types import Array


def multiplier_changes(
    stencils: Sequence[Stencil | None], near: Callable[[Array], Coefficients]
) -> list[Array | None]:
    """The first and the second derivative, and the first by the stencil of lower order, of the
    multipliers of every value: (3, 3, J) for M, C + D and K.

    near: the multipliers at some values. None without a stencil, and where the model cannot be
    frozen next to the value.
    """
    out: list[Array | None] = []
    for stencil in stencils:
        try:
            table = None if stencil is None else _stacked(near(stencil.values))
        except Exception:  # what the model raises at an instant itself is raised there
            table = None
        if stencil is None or table is None:
            out.append(None)
            continue
        weights = np.stack([stencil.first, stencil.second, stencil.check])
        # From the value's own multipliers, so that constant ones have no derivative at all.
        out.append(np.tensordot(weights, table - table[stencil.centre], axes=1))
    return out


def derivatives(at: Coefficients, changes: Sequence[Array], matrices: Array) -> Derivatives:
    """M, C + D and K of P values, and their derivatives, of operators `matrices` (J, m, m)."""

    def triple(parts: Array) -> Triple:
        M, C, K = (np.tensordot(part, matrices, axes=1) for part in np.moveaxis(parts, 1, 0))
        return M, C, K

    first, second, check = (triple(order) for order in np.stack(changes, axis=1))
    return Derivatives(triple(_stacked(at)), first, second, check)


def _stacked(at: Coefficients) -> Array:
    """The multipliers (P, 3, J)."""
    return np.stack([at.mass, at.damping, at.stiffness], axis=1)
