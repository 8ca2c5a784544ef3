"""Growth rate of a periodic mechanism in full order."""

from __future__ import annotations

from functools import reduce

import numpy as np

from assembly.mechanisms.mechanism import Mechanism
from modal.periodic.collocation import step_maps
from modal.reduction.interpolation import periodic_interpolant
from modal.transient.equations import Balanced, SecondOrderModel


def full_growth(mechanism: Mechanism, period: float, steps: int) -> float:
    """Largest growth rate, 1/s, from Gauss steps of all degrees of freedom, in first-order form."""
    equations = SecondOrderModel(mechanism)
    smooth = periodic_interpolant(equations.first_orders, 0.0, period)
    assert smooth is not None
    A = Balanced.energy(smooth, equations.at(0.0)).many
    P = reduce(lambda total, step: step @ total, step_maps(A, 0.0, period, steps))
    return float(np.log(np.abs(np.linalg.eigvals(P)).max()) / period)
