"""Whirl direction: the sense in which a complex mode moves the material points about an axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from assembly.dofs import DofMap
from assembly.kinematics import skew, unit_axis
from assembly.system.frozen import FrozenSystem
from modal.types import Array, Complex

# A mode with less than this part of its mass norm across the axis does not whirl; a whirl number
# below it is planar.
PLANAR = 0.1


class Whirl:
    """The whirl number of modes about an axis, for degrees of freedom with known positions.

    With e × q the shape turned by the axis e and q_⊥ its part across e, w = Im(q_⊥ᴴM(e × q)) /
    q_⊥ᴴMq_⊥: the angular momentum of the motion Re(q exp iωt), ω > 0, over its largest possible
    value. +1 is a circle in the positive sense of e, −1 one in the negative sense, 0 a motion in a
    plane through the axis.
    """

    def __init__(self, axis: ArrayLike) -> None:
        self.axis = unit_axis(axis)
        self._dofs: DofMap | None = None
        self._turn: sp.csr_matrix | None = None

    def forms(self, system: FrozenSystem, shapes: Complex) -> WhirlForms | None:
        """Of shapes (n, K); None when no places are known."""
        if system.dofs is None:
            return None
        turn = self._turning(system.dofs)
        turned = turn @ shapes
        across = -(turn @ turned)
        inertia = (system.M @ across).conj().T
        return WhirlForms(inertia @ turned, inertia @ across)

    def _turning(self, dofs: DofMap) -> sp.csr_matrix:
        """The sparse matrix (n, n) of e × on the displacements, zero on the rotations."""
        if self._turn is None or dofs is not self._dofs:
            self._turn = dofs.turning(skew(self.axis))
            self._dofs = dofs
        return self._turn


@dataclass(frozen=True)
class WhirlForms:
    """q_⊥ᴴM(e × q) and q_⊥ᴴMq_⊥ between shapes, (K, K)."""

    momentum: Complex
    across: Complex

    @property
    def number(self) -> Array:
        """w of each shape at unit mass norm, (K,), NaN for a motion along the axis."""
        forms = self.momentum.imag, self.across.real
        momentum, size = (np.diagonal(form, axis1=-2, axis2=-1) for form in forms)
        enough = size > PLANAR
        return np.where(enough, np.clip(momentum / np.where(enough, size, 1.0), -1.0, 1.0), np.nan)

    def turned(self, T: Complex) -> WhirlForms:
        """Of the shapes X T; of a stack of T one a stack."""
        row = T.conj().swapaxes(-1, -2)
        return WhirlForms(row @ self.momentum @ T, row @ self.across @ T)

    def taken(self, index: int | slice) -> WhirlForms:
        """Of one instant of a stack, or of some."""
        return WhirlForms(self.momentum[index], self.across[index])


def direction(number: Array, sense: Array) -> NDArray[np.str_]:
    """ "forward", "backward", "planar" or "none" of whirl numbers (T, R), by the sense of rotation
    ±1 (T, 1).
    """
    names = np.full(number.shape, "none", dtype="<U8")
    known = np.isfinite(number)
    with np.errstate(invalid="ignore"):
        names[known & (np.abs(number) < PLANAR)] = "planar"
        names[known & (number * sense >= PLANAR)] = "forward"
        names[known & (number * sense <= -PLANAR)] = "backward"
    return names
