"""Coefficients of an affine family as polynomials of the swept value, where they are polynomials.

Over a speed, or along a motion of constant acceleration, every coefficient is a polynomial of low
degree. Where one polynomial goes through all values of a sweep to round-off, it replaces freezing
the model between them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from modal.reduction.affine import Coefficients
from modal.types import Array

DEGREE = 4  # largest: squares of an angular velocity that is quadratic in time
SURPLUS = 2  # values for each coefficient of the polynomial, at least
ROUND_OFF = 1e-14  # of the largest size of a coefficient over the sweep


@dataclass(frozen=True)
class CoefficientPolynomials:
    """centre, half: of the swept values; table (degree + 1, 3, J) in Chebyshev polynomials."""

    centre: float
    half: float
    table: Array

    @classmethod
    def through(cls, at: Array, values: Coefficients) -> CoefficientPolynomials | None:
        """The polynomials through all values (P,), or None where there are none."""
        if len(at) < SURPLUS * (DEGREE + 1):
            return None
        stacked = np.stack([values.mass, values.damping, values.stiffness], axis=1)
        low, high = float(at.min()), float(at.max())
        centre, half = 0.5 * (low + high), 0.5 * (high - low)
        waves = np.polynomial.chebyshev.chebvander((at - centre) / half, DEGREE)
        flat = stacked.reshape(len(at), -1)
        table = np.linalg.lstsq(waves, flat, rcond=None)[0]
        size = np.abs(flat).max(axis=0)
        if np.any(np.abs(waves @ table - flat) > ROUND_OFF * size):
            return None
        return cls(centre, half, table.reshape(DEGREE + 1, *stacked.shape[1:]))

    def at(self, values: Array) -> Coefficients:
        """The coefficients at some values (P,)."""
        x = (np.asarray(values) - self.centre) / self.half
        waves = np.polynomial.chebyshev.chebvander(x, DEGREE)
        parts = np.tensordot(waves, self.table, axes=1)
        return Coefficients(parts[:, 0], parts[:, 1], parts[:, 2])
