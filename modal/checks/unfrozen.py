"""The unfrozen motion that a cross-check compares with: A(t), its energy norm, and its propagation.

A callable is not reduced and has the 2-norm. A model with `freeze` is reduced to the space of its
frozen modes and has the energy ½ q̇ᵀM q̇ + ½ qᵀ|S| q. |S| is the absolute value of the symmetric
stiffness, so it is a norm beyond a divergence too. Every frozen mode is started in it, and its
coordinate, its energy norm and their uncertainty are recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.linalg as la
from scipy.integrate import cumulative_trapezoid
from scipy.optimize import linear_sum_assignment

from modal.data.progress import phase, shown
from modal.periodic.collocation import GAUSS, monodromy
from modal.periodic.floquet import on_basis
from modal.periodic.galerkin import GalerkinModel, modal_basis
from modal.reduction.interpolation import (
    Sampled,
    chebyshev_interpolant,
    one_by_one,
    periodic_interpolant,
)
from modal.reduction.tolerances import GUARD
from modal.transient.equations import (
    Balanced,
    FirstOrderModel,
    SecondOrderModel,
    energy_root,
    is_second_order,
)
from modal.types import Array, Complex

RECORDS = 65  # instants of a period that are tracked by default, and where coordinates are taken


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
        self.frozen_basis: Array | None = None
        self._second: SecondOrderModel | None = None
        sampled: Sampled
        if is_second_order(model):
            self._second = self._reduced(model, k, period, progress)
            exact, sampled = self._second.first_order, self._second.first_orders
        else:
            exact = FirstOrderModel(model, t0).first_order
            sampled = one_by_one(exact)
        with phase("matrices of the motion", progress):
            smooth = (
                periodic_interpolant(sampled, t0, period)
                if period is not None and t1 - t0 > 0.5 * period
                else chebyshev_interpolant(sampled, t0, t1)
            )
        self.interpolated = smooth
        self.matrix = smooth or exact
        self.size = self.matrix(t0).shape[0]

    def _reduced(
        self,
        model: Any,
        k: int,
        period: float | None,
        progress: bool | None,
        small: int = 24,
        count: int = 12,
    ) -> SecondOrderModel:
        """The model of up to `small` degrees of freedom, or that on the frozen modes of so many
        instants."""
        span = min(self.t1 - self.t0, period or np.inf)
        reduced = on_basis(model, self.t0, span, k)
        if reduced is not None:
            self.source = model = reduced
        full = SecondOrderModel(model)
        if reduced is None and full.at(self.t0).n <= small:
            return full
        times = (self.t0 + span * np.linspace(0.0, 1.0, count)).tolist()
        instants = shown(times, "frozen modes as a basis", "instant", progress)
        basis = modal_basis(model, instants, k + GUARD)
        self.frozen_basis = basis if reduced is None else None
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
            inner = monodromy(balanced.many, float(start), float(end), steps)
            out.append(balanced.inverse @ inner @ balanced.root)
        return out


@dataclass(frozen=True)
class ModeTransients:
    """Per mode (m,): rate, the growth of its own coordinate over the span, 1/s, ± uncertainty;
    gain, the largest growth of the energy norm; basis_gap, the relative distance of the reduced
    eigenvalues from the tracks'. abscissa: largest growth rate the instants' norms allow, 1/s.
    """

    rate: Array
    uncertainty: Array
    gain: Array
    basis_gap: Array
    abscissa: float

    @classmethod
    def unknown(cls, count: int) -> ModeTransients:
        """Of `count` modes, before the transient was computed."""
        nothing = np.full(count, np.nan)
        return cls(nothing, nothing, nothing, nothing, np.nan)


def follow_transients(
    unfrozen: Unfrozen,
    at: Array,
    lam: Complex,
    sigma: Array,
    turns: int = 1,
    progress: bool | None = False,
    resolution: float = 0.25,
) -> ModeTransients:
    """Start in every frozen mode at once, and project on the left vectors of later instants.

    at (T,): times of the tracks; lam (T, m) their eigenvalues, sigma (T, m) their corrected
    rates. turns: how often the motion over `at`, then a period, is run through. resolution:
    |λ| h of the fastest mode, in steps of order 6.
    """
    chosen = np.unique(np.linspace(0, len(at) - 1, RECORDS).round().astype(int))
    times = at[chosen]
    pairs = shown(list(zip(times, chosen, strict=True)), "frozen modes", "instant", progress)
    instants = [Instant(unfrozen, float(t), lam[j]) for t, j in pairs]
    longest = resolution / max(float(np.nanmax(np.abs(lam))), 1e-300)
    fine, rough = (unfrozen.propagators(times, longest, n, progress) for n in (2, 1))
    x = instants[0].right
    y = x.copy()
    logs, sizes = [instants[0].logs(x)], [instants[0].sizes(x)]
    for _ in range(turns):
        for map_, coarse, instant in zip(fine, rough, instants[1:], strict=True):
            x, y = map_ @ x, coarse @ y
            logs.append(instant.logs(x))
            sizes.append(instant.sizes(x))
    length = float(at[-1] - at[0])
    span = turns * length
    step_error = np.abs(instants[-1].logs(y) - logs[-1]) / (2.0**GAUSS.order - 1.0)
    # The rest after the corrected rate and a straight line is coupling: an error of both ends.
    known = np.where(np.isfinite(sigma), sigma, 0.0)
    once = cumulative_trapezoid(known, at, axis=0, initial=0.0)[chosen]
    due = np.concatenate([once] + [once[1:] + n * once[-1] for n in range(1, turns)])
    when = np.concatenate([times] + [times[1:] + n * length for n in range(1, turns)]) - times[0]
    rest = np.array(logs) - due
    rest = rest - rest[0] - np.outer(when / span, rest[-1] - rest[0])
    with np.errstate(invalid="ignore"):
        blur = np.nan_to_num(np.std(rest, axis=0), nan=0.0)
    all_sizes = np.array(sizes)
    return ModeTransients(
        rate=(logs[-1] - logs[0]) / span,
        uncertainty=(blur + step_error) / span,
        gain=(all_sizes / all_sizes[0]).max(axis=0),
        basis_gap=np.max([instant.gaps for instant in instants], axis=0),
        abscissa=max(instant.abscissa for instant in instants),
    )


class Instant:
    """The modes of an instant that represent tracks with the eigenvalues λ (m,), NaN where a track
    has ended.

    norm (N, N): a square root of the energy. known: the tracks that have not ended; of these,
    values (k,), right vectors of unit energy and left ones with yᴴx = 1, (N, k). gaps (m,):
    relative distances of the values from λ. abscissa: the largest growth rate of the energy norm,
    1/s: beyond it no motion can grow.
    """

    def __init__(self, unfrozen: Unfrozen, t: float, lam: Complex) -> None:
        L = unfrozen.norm(t)
        A = L @ unfrozen.matrix(t) @ la.inv(L)
        values, left, right = la.eig(A, left=True, right=True)
        left = left / (left.conj() * right).sum(axis=0).conj()
        self.norm, self.abscissa = L, float(la.eigvalsh(0.5 * (A + A.T))[-1])
        self.known = np.flatnonzero(np.isfinite(lam))
        distance = np.abs(values[None, :] - lam[self.known, None])
        index = linear_sum_assignment(distance)[1]
        self.values = values[index]
        self.right, self.left = la.solve(L, right[:, index]), L.T @ left[:, index]
        self.gaps = np.zeros(len(lam))
        size = np.maximum(np.abs(lam[self.known]), 1e-300)
        self.gaps[self.known] = np.abs(self.values - lam[self.known]) / size

    def logs(self, x: Complex) -> Array:
        """log|yᴴx| of each mode's own coordinate, NaN where the track has ended."""
        out = np.full(x.shape[1], np.nan)
        own = np.abs((self.left.conj() * x[:, self.known]).sum(axis=0))
        with np.errstate(divide="ignore"):
            out[self.known] = np.log(own)
        return out

    def sizes(self, x: Complex) -> Array:
        return np.asarray(np.linalg.norm(self.norm @ x, axis=0))
