"""The measures of a state: energy, and the norm of adaptive steps.

Energy of the vibration and the work that changes it (property P6):

E = ½ q̇ᵀM q̇ + ½ qᵀ S q with S the symmetric stiffness (all but the circulatory part). Along a
solution

    dE/dt = q̇ᵀ[F − (C + D) q̇ − (K − S) q] + ½ q̇ᵀ Ṁ q̇ + ½ qᵀ Ṡ q,

so the energy defect E(t) − E(0) − ∫ (right-hand side) dt is zero for the exact solution. In a
frame that rotates at constant ω this E is the Jacobi integral of the vibration, and the right-hand
side is zero without damping and loads.

The norm of adaptive steps: a state (q, q̇) is measured by the displacement that follows from it.

    ‖(q, q̇)‖² = qᵀM q + (M q̇)ᵀ (K + M/T²)⁻¹ (M q̇)

In modal coordinates that is Σ a_j² + ȧ_j²/(ω_j² + 1/T²): the squared amplitudes of all modes, and
for a free mobility its drift over the time T of the run. The exact undamped motion conserves it, so
the total error of a run is at most the sum of the errors of its steps in this norm. A fast mode is
measured by its displacement, not by its velocity.

A mode that a step does not resolve is another matter: an A-stable method keeps its amplitude, and
gives it a wrong phase. Its error is at most twice its amplitude, whatever the number of steps, and
does not add up. `resolved` separates the two parts of an estimate, by a filter as stiff integrators
have it (L. F. Shampine and L. S. Baca, SIAM J. Numer. Anal. 21, 1984; Hairer and Wanner, Solving
Ordinary Differential Equations II, IV.8).
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
import xarray as xr
from numpy.polynomial import polynomial

from assembly.linalg.factorization import Factorization, cholesky
from assembly.materials.plausibility import ask
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


def check_balance(transient: xr.Dataset, share: float = 0.25) -> None:
    """Asks about nonlinear steps that make or lose more than a share of the largest kinetic and
    strain energy: what they do not resolve decides the motion."""
    names = ("kinetic_energy", "strain_energy", "energy_defect")
    kinetic, strain, made = (np.abs(transient[name].values) for name in names)
    largest, at = (kinetic + strain).max(), transient.time.values[made.argmax()]
    if made.max() > share * largest:
        ask(
            "step",
            transient.attrs["step"],
            f"the steps do not resolve the motion: energy_defect reaches {made.max():.3g} J "
            f"at t = {at:.6g} s, where the largest energy is {largest:.3g} J; take shorter steps"
            + (", or rho_infinity below 1" if transient.attrs["rho_infinity"] == 1.0 else ""),
            stacklevel=5,
        )


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
    degree = len(nodes) - 1
    coefficients = np.linalg.inv(polynomial.polyvander(nodes, degree))
    return np.asarray(polynomial.polyvander(nodes, degree - 1) @ polynomial.polyder(coefficients))


class DisplacementNorm:
    """The norm of a model over a span of time, s: M of each instant, K + M/T² of the first.

    Where K is not positive semidefinite, M/T² replaces K + M/T². Owns a factorization: call
    `destroy()`.
    """

    def __init__(self, equations: SecondOrderModel, span: tuple[float, float]) -> None:
        self.equations, self.span = equations, span
        self._made: Factorization | None = None
        self._filters: dict[float, Factorization] = {}

    @cached_property
    def _first(self) -> tuple[sp.csr_matrix, sp.csr_matrix]:
        """M and the symmetric K of the first instant."""
        system = self.equations.system(self.span[0])
        return system.M, sp.csr_matrix(0.5 * (system.K + system.K.T))

    @property
    def _factor(self) -> Factorization:
        """Computed at the first use: fixed steps do not need it."""
        if self._made is None:
            M, K = self._first
            drift = M / (self.span[1] - self.span[0]) ** 2
            self._made = cholesky(K + drift) or Factorization(sp.csr_matrix(drift), "spd")
        return self._made

    def __call__(self, t: float, q: Array, v: Array) -> Any:
        """Of a state, q and v (n,), or of each of several, (P, n)."""
        M = self.equations.at(t).M
        momentum = M @ v.T
        square = q.T * (M @ q.T) + momentum * self._factor.solve(momentum)
        return np.sqrt(np.maximum(square.sum(axis=0), 0.0))

    def resolved(self, h: float, q: Array, v: Array) -> tuple[Array, Array]:
        """The part of a difference of states, (n,) or (P, n), that steps of length h (s) resolve:
        every mode times 1/(1 + (ωh)²/4), with the matrices of the first instant."""
        M, K = self._first
        factor = self._filters.get(h) or cholesky(sp.csr_matrix(M + (0.25 * h * h) * K))
        if factor is None:
            return q, v
        self._filters[h] = factor
        both = np.stack([q, v])
        kept = factor.solve(M @ both.reshape(-1, both.shape[-1]).T).T.reshape(both.shape)
        return kept[0], kept[1]

    def destroy(self) -> None:
        """Release the factorizations."""
        if self._made is not None:
            self._made.destroy()
        for factor in self._filters.values():
            factor.destroy()


class PlainNorm:
    """|x| of x' = A(t) x."""

    def __call__(self, t: float, x: Array, rate: Array) -> float:
        return float(np.linalg.norm(x))

    def resolved(self, h: float, x: Array, rate: Array) -> tuple[Array, Array]:
        """All of it."""
        return x, rate

    def destroy(self) -> None:
        """Nothing to release."""
