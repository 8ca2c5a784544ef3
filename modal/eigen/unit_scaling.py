"""Instants whose unknowns are in units many orders apart, solved in units that compare.

Normwise methods see only the stiffest unknowns of such an instant: what the others hold is below
their round-off. With q = d q̂, d making the diagonal of M/‖M‖ + K/‖K‖ one (van der Sluis, Numer.
Math. 14 (1969) 14), the eigenvalues are the same, x = d x̂ and y = d ŷ.
"""

from __future__ import annotations

from dataclasses import replace

import scipy.sparse as sp

from assembly.system.frozen import PARTS, FrozenSystem
from modal.eigen.checked_modes import condition_numbers, normalizing_phase
from modal.eigen.modes import Modes
from modal.eigen.quadratic import Quadratic, unit_diagonal
from modal.types import Array

APART = 1e4  # largest d over smallest from which it matters: its square is lost of 1e16


class Units:
    """The instant in units that compare, and the way back for its modes."""

    def __init__(self, system: FrozenSystem, quadratic: Quadratic, d: Array) -> None:
        self.quadratic, self.d = quadratic, d
        D = sp.diags(d)
        parts = {name: D @ getattr(system, name) @ D for name in PARTS}
        self.system = FrozenSystem(**parts, rigid=system.rigid / d[:, None])

    def restored(self, modes: Modes) -> Modes:
        """The modes in the instant's own units, with their errors and condition there."""
        lam, X, Y = modes.eigenvalues, self.d[:, None] * modes.right, self.d[:, None] * modes.left
        phase = normalizing_phase(X)
        X, Y = X * phase, Y * phase
        return replace(
            modes,
            right=X,
            left=Y,
            backward_error=self.quadratic.backward_error(lam, X),
            condition_number=condition_numbers(self.quadratic, lam, X, Y),
        )


def units_far_apart(system: FrozenSystem, quadratic: Quadratic) -> Units | None:
    """The units to solve an instant in, or None when its own will do."""
    m, _, k = quadratic.norms
    d = unit_diagonal(quadratic.M.diagonal(), quadratic.K.diagonal(), m, k)
    return Units(system, quadratic, d) if d.max() > APART * d.min() else None
