"""The nonlinear equations of a mechanism whose joints close by Newton's method, and their
derivatives.

What test_mechanism_residual.py and test_spatial_residual.py have in common: material
points with masses in fixed axes, a potential, joint conditions, and the masters q that the
mechanism under test has chosen. Derivatives by complex step in q, by central differences in time.
Nothing here knows of T, Ṫ, T̈ or of any frozen matrix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import assembly

Array = NDArray[np.float64]
Any = NDArray[np.inexact]

TINY = 1e-30  # of a complex step
# Sixth-order central differences at ±1, ±2, ±3 steps.
FIRST, SECOND = {1: 45.0, 2: -9.0, 3: 1.0}, {0: -490.0, 1: 270.0, 2: -27.0, 3: 2.0}


def masters(T: Array) -> NDArray[np.intp]:
    """Unknowns whose row of T only picks a master, in the order of the masters."""
    alone = (T != 0.0).sum(axis=1) == 1
    return np.array([np.flatnonzero(alone & (column == 1.0))[0] for column in T.T])


class ConstrainedMotion(ABC):
    """States d are stacks (k, unknowns), complex; T is the instant, `step` (s) that of differences
    in time."""

    T: float
    step: float
    masters: NDArray[np.intp]
    slaves: NDArray[np.intp]
    masses: Array
    # N·s/m of dampers between each material point and the fixed axes; none unless given.
    drag: Array | float = 0.0

    @abstractmethod
    def gaps(self, d: Any, t: float) -> Any:
        """All joint conditions in fixed axes, (k, conditions)."""

    @abstractmethod
    def points(self, d: Any, t: float) -> Any:
        """All material points in fixed axes, (k, points, dimension)."""

    @abstractmethod
    def potential(self, d: Any) -> Any:
        """Strain energy, and that of what drives, at T, (k,)."""

    def work(self, d: Any) -> Any:
        """Work of loads without a potential along the imaginary part of d, at T, (k,)."""
        return np.zeros(len(d))

    def close(self, q: Any, t: float) -> Any:
        """All unknowns (k, ·) from masters (k, n) of one real part; Newton with its Jacobian."""
        size = len(self.masters) + len(self.slaves)
        d = np.zeros((len(q), size), dtype=complex)
        d[:, self.masters] = q
        steps = np.zeros((len(self.slaves), size), dtype=complex)
        steps[np.arange(len(self.slaves)), self.slaves] = TINY * 1j
        for _ in range(30):
            J = self.gaps(d[:1].real + steps, t).imag.T / TINY
            change = np.linalg.solve(J, -self.gaps(d, t).T).T
            d[:, self.slaves] += change
            if np.abs(change.real).max() < 1e-14 and np.abs(change.imag).max() < 1e-14 * TINY:
                return d
        raise AssertionError("the joints do not close")

    def varied(self, q: Array, t: float) -> Any:
        """All unknowns, each master varied by a complex step, (n, ·)."""
        return self.close(q + TINY * 1j * np.eye(len(q)), t)

    def directions(self, q: Array, t: float) -> Array:
        """∂x/∂q, (n, points, dimension)."""
        return np.asarray(self.points(self.varied(q, t), t).imag / TINY)

    def residual(self, q: Array) -> Array:
        """Σ m x_q·ẍ + ∂W/∂q less the work of loads, while q rests, (n,)."""
        times = {k: self.T + k * self.step for k in range(-3, 4)}
        x = {k: self.points(self.close(q[None], t), t).real[0] for k, t in times.items()}
        acceleration = sum(SECOND[abs(k)] * x[k] for k in x) / (180.0 * self.step**2)
        d = self.varied(q, self.T)
        moved = self.points(d, self.T).imag
        inertia = np.einsum("p,kpi,pi->k", self.masses, moved, acceleration)
        velocity = sum(w * (x[k] - x[-k]) for k, w in FIRST.items()) / (60.0 * self.step)
        drag = self.drag * np.ones(len(self.masses))
        inertia = inertia + np.einsum("p,kpi,pi->k", drag, moved, velocity)
        return np.asarray((inertia + self.potential(d).imag - self.work(d)) / TINY)

    def check_balance(self, system: assembly.FrozenSystem) -> None:
        """The steady state: resultants by statics, reactions and accelerations fit together."""
        assert np.abs(system.Q).max() > 1e-2
        left = self.residual(np.zeros(system.n))
        assert_allclose(left, 0.0, atol=1e-9 * np.abs(system.Q).max())

    def check_mass_and_damping(self, system: assembly.FrozenSystem, tolerance: float) -> None:
        """M = Σ m x_qᵀx_q and C + D = Σ x_qᵀ(2 m ẋ_q + d x_q), to a tolerance of its size."""
        zero, h = np.zeros(system.n), self.step
        now = self.directions(zero, self.T)
        rate = np.zeros_like(now)
        for k, weight in FIRST.items():
            after, before = (self.directions(zero, self.T + s * k * h) for s in (1, -1))
            rate += weight * (after - before) / (60.0 * h)
        M = np.einsum("p,npi,mpi->nm", self.masses, now, now)
        C = 2.0 * np.einsum("p,npi,mpi->nm", self.masses, now, rate)
        C += np.einsum("p,npi,mpi->nm", self.drag * np.ones(len(self.masses)), now, now)
        assert_allclose(system.M.toarray(), M, atol=1e-12 * np.abs(M).max())
        assert_allclose(system.damping.toarray(), C, atol=tolerance * np.abs(C).max())

    def tangent(self, n: int, h: float) -> Array:
        """∂ residual/∂q (n, n), by differences of fourth order."""
        columns = []
        for e in np.eye(n):
            r = {k: self.residual(k * h * e) for k in (-2, -1, 1, 2)}
            columns.append((8.0 * (r[1] - r[-1]) - (r[2] - r[-2])) / (12.0 * h))
        return np.stack(columns, axis=1)
