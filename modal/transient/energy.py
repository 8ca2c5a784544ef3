"""Energy of the vibration and the work that changes it: property P6.

E = ½ q̇ᵀM q̇ + ½ qᵀ S q with S the symmetric stiffness (all but the circulatory part). Along a
solution

    dE/dt = q̇ᵀ[F − (C + D) q̇ − (K − S) q] + ½ q̇ᵀ Ṁ q̇ + ½ qᵀ Ṡ q,

so the energy defect E(t) − E(0) − ∫ (right-hand side) dt is zero for the exact solution. In a
frame that rotates at constant ω this E is the Jacobi integral of the vibration, and the right-hand
side is zero without damping and loads.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from modal.transient.equations import SecondOrderModel
from modal.transient.integrators.stages import Force, Stages, State
from modal.transient.newton import Newton
from modal.transient.stepping import Accepted
from modal.types import Array


class Energies:
    """The energy at the start, and the work done since, of a ledger."""

    def __init__(self, ledger: Any, initial: float, work: Any) -> None:
        self.ledger, self.initial, self.work = ledger, initial, np.asarray(work, dtype=float)

    def add(self, accepted: Accepted) -> None:
        for t, h, stages in accepted.parts:
            self.work = self.work + self.ledger.work(t, h, stages)

    def row(self, t: float, state: State) -> dict[str, Any]:
        """What a record says about the energy."""
        E = self.ledger.energy(t, state.q, state.v)
        defect = E - self.initial - float(self.work.sum())
        row = dict(energy=E, energy_defect=defect)
        if isinstance(self.ledger, Newton):
            row |= self.ledger.details(t, state.q, state.v, self.work)
        return row


class EnergyLedger:
    """Energy at instants and work over steps, of a second-order model."""

    nothing = 0.0  # work at the start, J

    def __init__(self, equations: SecondOrderModel, load: Force) -> None:
        self.equations, self.load = equations, load

    def energy(self, t: float, q: Array, v: Array) -> float:
        """E at t, J."""
        here, S = self.equations.at(t), self.equations.potential(t)
        return float(0.5 * (v @ (here.M @ v) + q @ (S @ q)))

    def work(self, t: float, h: float, stages: Stages) -> float:
        """∫ dE/dt over the step from t to t + h, J, by the step's own quadrature.

        Ṁ and Ṡ come from the polynomial through the step's two ends and its stages.
        """
        total = 0.0
        for c, b, q, v in zip(stages.nodes, stages.weights, stages.q, stages.v, strict=True):
            now = t + c * h
            here, S = self.equations.at(now), self.equations.potential(now)
            total += b * h * (v @ (self.load(now) - here.damping @ v - here.stiffness @ q + S @ q))
        return float(total) + self._parametric(t, h, stages)

    def _parametric(self, t: float, h: float, stages: Stages) -> float:
        if self.equations.constant:
            return 0.0
        nodes, rates = _rates(tuple(stages.nodes.tolist()))
        pairs = [
            (self.equations.at(t + c * h).M, self.equations.potential(t + c * h)) for c in nodes
        ]
        total = 0.0
        for rate, b, q, v in zip(rates, stages.weights, stages.q, stages.v, strict=True):
            forms = [0.5 * (v @ (M @ v) + q @ (S @ q)) for M, S in pairs]
            total += b * float(rate @ np.array(forms))
        return total


@lru_cache(maxsize=16)
def _rates(stages: tuple[float, ...]) -> tuple[Array, Array]:
    """The ends and the stages of a step, and the derivatives at the stages of values there."""
    nodes = np.array([0.0, *stages, 1.0])
    return nodes, differentiation(nodes)[1:-1]


def differentiation(nodes: Array) -> Array:
    """Matrix (m, m) of the derivative at the nodes of the polynomial through values at the
    nodes."""
    powers = np.arange(len(nodes))
    values = nodes[:, None] ** powers
    slopes = np.zeros_like(values)
    slopes[:, 1:] = powers[1:] * nodes[:, None] ** (powers[1:] - 1)
    return np.asarray(np.linalg.solve(values.T, slopes.T).T)
