"""Systems whose degrees of freedom have units many orders apart are solved in scaled units.

Normwise methods resolve only the stiffest degrees of freedom of such a system: the others are below
round-off. With q = d q̂, d = `Quadratic.scaling`, the eigenvalues are the same, x = d x̂ and y = d ŷ.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from assembly.system.frozen import PARTS, FrozenSystem
from modal.eigen.checked_modes import condition_numbers, normalizing_phase
from modal.eigen.modes import Modes
from modal.eigen.quadratic import Quadratic, diagonally_scaled
from modal.eigen.tolerances import HALF


class ScaledSystem:
    """The frozen system in scaled degrees of freedom, and the modes in the original ones."""

    def __init__(self, system: FrozenSystem, quadratic: Quadratic) -> None:
        self.quadratic, d = quadratic, quadratic.scaling
        parts = {name: diagonally_scaled(getattr(system, name), d) for name in PARTS}
        self.system = FrozenSystem(**parts, rigid=system.rigid / d[:, None])

    def restored(self, modes: Modes) -> Modes:
        """The modes in the original units, with their errors and condition numbers there."""
        d = self.quadratic.scaling[:, None]
        lam, X, Y = modes.eigenvalues, d * modes.right, d * modes.left
        phase = normalizing_phase(X)
        X, Y = X * phase, Y * phase
        return replace(
            modes,
            right=X,
            left=Y,
            backward_error=self.quadratic.backward_error(lam, X),
            condition_number=condition_numbers(self.quadratic, lam, X, Y),
        )


def scaled_system(system: FrozenSystem, quadratic: Quadratic) -> ScaledSystem | None:
    """The system to solve in place of this one, or None where its own units serve."""
    d = quadratic.scaling
    # The square of the ratio is that of the entries: half of the digits are lost.
    return ScaledSystem(system, quadratic) if d.max() > 1.0 / np.sqrt(HALF) * d.min() else None
