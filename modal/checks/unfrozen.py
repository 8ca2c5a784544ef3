"""The unfrozen motion that a cross-check compares with: A(t), its energy norm, and its propagation.

A callable is not reduced and has the 2-norm. A model with `freeze` is reduced to the space of its
frozen modes and has the energy ½ q̇ᵀM q̇ + ½ qᵀ|S| q. |S| is the absolute value of the symmetric
stiffness, so it is a norm beyond a divergence too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.linalg as la

from modal.data.progress import counted, shown
from modal.periodic.balanced import Balanced, energy_root
from modal.periodic.collocation import monodromy
from modal.periodic.floquet import on_basis
from modal.periodic.galerkin import GalerkinModel, modal_basis
from modal.reduction.interpolation import (
    chebyshev_interpolant,
    one_by_one,
    periodic_interpolant,
)
from modal.transient.equations import FirstOrderModel, SecondOrderModel, is_second_order
from modal.types import Array, Complex

Matrix = Callable[[float], Array]

INSTANTS = 12  # whose frozen modes span the reduced space
GUARD = 2
FULL = 24  # degrees of freedom up to which a model is not reduced


class Unfrozen:
    """x' = A(t) x over [t0, t1] with an energy norm, and the shapes (n, r) of its coordinates."""

    def __init__(
        self,
        model: Any,
        t0: float,
        t1: float,
        k: int,
        period: float | None = None,
        progress: bool | None = False,
    ) -> None:
        self.t0, self.t1 = t0, t1
        self.source = model
        self.basis: Array | None = None
        self.frozen: Array | None = None
        self._second: SecondOrderModel | None = None
        if is_second_order(model):
            self._second = self._reduced(model, k, period, progress)
            exact: Matrix = self._second.first_order
        else:
            exact = FirstOrderModel(model, t0).first_order
        with counted(exact, "matrices of the motion", "instant", progress) as sampled:
            smooth = (
                periodic_interpolant(one_by_one(sampled), t0, period)
                if period is not None and t1 - t0 > 0.5 * period
                else chebyshev_interpolant(one_by_one(sampled), t0, t1)
            )
        self.interpolated = smooth
        self.matrix = smooth or exact
        self.size = self.matrix(t0).shape[0]

    def _reduced(
        self, model: Any, k: int, period: float | None, progress: bool | None
    ) -> SecondOrderModel:
        span = min(self.t1 - self.t0, period or np.inf)
        reduced = on_basis(model, self.t0, span, k)
        if reduced is not None:
            self.source = model = reduced
        full = SecondOrderModel(model)
        if reduced is None and full.at(self.t0).system.n <= FULL:
            return full
        times = (self.t0 + span * np.linspace(0.0, 1.0, INSTANTS)).tolist()
        instants = shown(times, "frozen modes as a basis", "instant", progress)
        basis = modal_basis(model, instants, k + GUARD)
        self.frozen = basis if reduced is None else None
        self.basis = basis if reduced is None else np.asarray(reduced.lift(basis))
        return SecondOrderModel(GalerkinModel(model, basis))

    def norm(self, t: float) -> Array:
        """A square root L (N, N) of the energy: ‖L x‖² is twice the energy of x at t."""
        if self._second is None:
            return np.eye(self.size)
        return energy_root(self._second.at(t))

    def balanced(self) -> Balanced:
        """A(t) in the coordinates that its propagation is computed in."""
        if self._second is None:
            return Balanced.diagonal(self.matrix, self.t0)
        return Balanced.energy(self.matrix, self._second.at(self.t0))

    def frozen(self, t: float, norm: Array | None = None) -> tuple[Complex, Complex, Complex]:
        """Eigenvalues (N,), right vectors of unit energy and left ones with yᴴx = 1, at t."""
        L = self.norm(t) if norm is None else norm
        A = L @ self.matrix(t) @ la.inv(L)
        values, left, right = la.eig(A, left=True, right=True)
        left = left / (left.conj() * right).sum(axis=0).conj()
        return values, la.solve(L, right), L.T @ left

    def numerical_abscissa(self, t: float) -> float:
        """The largest growth rate of the instant's energy norm, 1/s: beyond it no motion can
        grow."""
        L = self.norm(t)
        A = L @ self.matrix(t) @ la.inv(L)
        return float(la.eigvalsh(0.5 * (A + A.T))[-1])

    def propagators(
        self,
        times: Sequence[float] | Array,
        longest: float,
        halves: int,
        progress: bool | None = False,
    ) -> list[Array]:
        """Φ (N, N) between successive times, each in equal Gauss steps of order 6.

        halves: 2 for steps of at most `longest` (s), 1 for steps twice as long, to see their error.
        """
        balanced = self.balanced()
        out = []
        spans = shown(list(pairwise(times)), "transient", "instant", progress)
        for start, end in spans:
            steps = halves * max(1, int(np.ceil((end - start) / (2.0 * longest))))
            inner = monodromy(balanced, float(start), float(end), steps)
            out.append(balanced.inverse @ inner @ balanced.root)
        return out
