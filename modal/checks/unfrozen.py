"""The unfrozen motion that a cross-check compares with: A(t), its energy norm, and its propagation.

A callable is not reduced and has the 2-norm. A model with `freeze` is reduced to the space of its
frozen modes and has the energy ½ q̇ᵀM q̇ + ½ qᵀ|S| q. |S| is the absolute value of the symmetric
stiffness, so it is a norm beyond a divergence too. Every frozen mode is started in it, and its
coordinate, its energy norm and their uncertainty are recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.linalg as la
from scipy.integrate import cumulative_trapezoid
from scipy.optimize import linear_sum_assignment

from assembly.motion.moving import MovingBody
from modal.data.progress import phase, shown
from modal.eigen.tolerances import EPS, WEAK
from modal.periodic import collocation
from modal.periodic.floquet import on_basis
from modal.periodic.galerkin import modal_basis
from modal.periodic.tolerances import DENSE_LIMIT
from modal.reduction.interpolated_motion import InterpolatedMotion
from modal.reduction.interpolation import interpolant, one_by_one
from modal.reduction.tolerances import GUARD
from modal.transient.equations import (
    Balanced,
    FirstOrderModel,
    SecondOrderModel,
    dense_state_matrices,
    energy_root,
    potential,
)
from modal.transient.small_steps import GAUSS, SmallMotion, batches
from modal.transient.tolerances import INSTANTS
from modal.types import Array, Complex

RECORDS = 65  # instants of a period that are tracked by default, and where coordinates are taken


class Unfrozen:
    """The equations of a model over [t0, t1], with its energy as a norm.

    source: the model, or a large one on its reduced basis. basis: the shapes (n, r) of the
    coordinates, None for all of them; frozen_basis: those of more than DENSE_LIMIT degrees of
    freedom. size: N of x = (q, q̇). Steps are those of Gauss collocation of order 8.
    """

    order, resolution = GAUSS.order, 2.0  # resolution: rad a step, of order 6 of 0.25 rad

    def __init__(
        self,
        model: Any,
        t0: float,
        t1: float,
        k: int,
        period: float | None = None,
        progress: bool | None = False,
        small: int = 24,
    ) -> None:
        """Of up to `small` degrees of freedom, or on the k lowest frozen modes of a few
        instants."""
        span = min(t1 - t0, period or np.inf)
        reduced = on_basis(model, t0, span, k)
        self.t0, self.source = t0, model if reduced is None else reduced
        self._model = SecondOrderModel(self.source)
        n = self._model.at(t0).n
        with phase("matrices of the motion", progress):
            self.motion = InterpolatedMotion.of(self.source, t0, t1)
        self._shapes, self.basis = np.eye(n), None
        if reduced is not None or n > small:
            times = (t0 + span * np.linspace(0.0, 1.0, INSTANTS)).tolist()
            instants = shown(times, "frozen modes as a basis", "instant", progress)
            V = self._shapes = modal_basis(self.motion or self.source, instants, k + GUARD)
            self.basis = V if reduced is None else np.asarray(reduced.lift(V))
        self.dense = reduced is None and n <= DENSE_LIMIT
        self.frozen_basis = self.basis if reduced is None and n > DENSE_LIMIT else None
        self.size = 2 * self._shapes.shape[1]
        self._small = self._smooth(t1, period)
        self.interpolated = None if self._small is None else self._small.matrices

    def _smooth(self, t1: float, period: float | None) -> SmallMotion | None:
        """The matrices off polynomials; None where they are not smooth."""
        if self.motion is not None:
            return SmallMotion.of(self.motion, self._shapes)
        if isinstance(self.source, MovingBody) or hasattr(self.source, "freeze_many"):
            return None
        found = interpolant(self._exact, self.t0, t1, period, _sizes)
        return None if found is None else SmallMotion(found)

    def _exact(self, times: Array, V: Array | None = None) -> Array:
        """M, C + D, all stiffness and that of the potential at times (P,), (P, 4, r, r)."""
        V, systems = self._shapes if V is None else V, self._model.several(times)
        sums = ((s.M, s.damping, s.stiffness, potential(s)) for s in systems)
        return np.stack([[V.T @ (A @ V) for A in matrices] for matrices in sums])

    def _stages(self, times: Array) -> Array:
        if self._small is not None:
            return self._small.stages(times, 3)
        return self._exact(times)[:, :3].swapaxes(2, 3)

    def at(self, t: float) -> tuple[Array, Array]:
        """A (N, N) of x' = A x at t, and a root L of the energy: ‖L x‖² is twice that of x."""
        if self._small is None:
            return _state(*self._exact(np.array([t]))[0])
        (M, C, K), (_, S) = self._small.matrices(t), self._small.energies(t)
        return _state(M, C, K, S)

    def for_floquet(self) -> tuple[Array, Array]:
        """The same at t0 in the coordinates that Floquet vectors are projected on: all where the
        analysis gives all modes."""
        if not self.dense:
            return self.at(self.t0)
        everything = np.eye(self._model.at(self.t0).n)
        return _state(*self._exact(np.array([self.t0]), everything)[0])

    def advanced(self, start: float, end: float, steps: int, x: Complex) -> Complex:
        """States (N, m) at the end of equal steps from those at the start."""
        parts = np.concatenate([x.real, x.imag], axis=1).T
        for _, states, _ in batches(self._stages, (start, end), parts, steps):
            parts = states[-1].reshape(parts.shape)
        real, imaginary = np.split(parts.T, 2, axis=1)
        return np.asarray(real + 1j * imaginary)


class UnfrozenCallable:
    """x' = A(t) x of a callable over [t0, t1], with the 2-norm. Steps are of order 6."""

    order, resolution, dense = collocation.GAUSS.order, 0.25, True
    basis = frozen_basis = motion = None

    def __init__(self, model: Any, t0: float, t1: float, period: float | None = None) -> None:
        self.t0, self.source = t0, model
        exact = FirstOrderModel(model, t0).first_order
        self.interpolated = interpolant(one_by_one(exact), t0, t1, period)
        self._matrix = self.interpolated or exact
        self._balanced = Balanced.diagonal(self._matrix, t0)
        self.size = len(self._balanced.root)

    def at(self, t: float) -> tuple[Array, Array]:
        """A (N, N) at t, and the unit matrix."""
        return self._matrix(t), np.eye(self.size)

    def for_floquet(self) -> tuple[Array, Array]:
        """The same at t0."""
        return self.at(self.t0)

    def advanced(self, start: float, end: float, steps: int, x: Complex) -> Complex:
        """States (N, m) at the end of equal steps from those at the start."""
        maps = collocation.step_maps(self._balanced.many, start, end, steps)
        y = reduce(lambda y, step: step @ y, maps, self._balanced.root @ x)
        return np.asarray(self._balanced.inverse @ y)


AnyUnfrozen = Unfrozen | UnfrozenCallable


def _state(M: Array, C: Array, K: Array, S: Array) -> tuple[Array, Array]:
    """A of x' = A x and the root of the energy, from matrices (r, r), S of the potential."""
    return dense_state_matrices(M[None], C[None], K[None])[0], energy_root(M, S)


def _sizes(values: Array) -> Array:
    """Of samples (P, 4, r, r) of M, C + D and two stiffnesses: what errors are relative to."""
    size = np.abs(values).max(axis=0)
    rows = size.max(axis=-1, keepdims=True)
    rows[1] = np.maximum(rows[1], np.sqrt(rows[0] * rows[2]))
    size = np.maximum(size, WEAK * rows)
    return np.where(size > 0.0, size, 1.0)


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
    unfrozen: AnyUnfrozen,
    at: Array,
    lam: Complex,
    sigma: Array,
    turns: int = 1,
    progress: bool | None = False,
) -> ModeTransients:
    """Start in every frozen mode at once, and project on the left vectors of later instants.

    at (T,): times of the tracks; lam (T, m) their eigenvalues, sigma (T, m) their corrected
    rates. turns: how often the motion over `at`, then a period, is run through.
    """
    chosen = np.unique(np.linspace(0, len(at) - 1, RECORDS).round().astype(int))
    times = at[chosen]
    pairs = shown(list(zip(times, chosen, strict=True)), "frozen modes", "instant", progress)
    instants = [Instant(*unfrozen.at(float(t)), lam[j]) for t, j in pairs]
    # Modes that have decayed below round-off, and their left vectors see no others, are gone.
    decay = cumulative_trapezoid(np.nan_to_num(lam.real), at, axis=0, initial=0.0)
    rates = np.where(decay > 2.0 * np.log(EPS), np.nan_to_num(np.abs(lam)), 0.0).max(axis=1)
    fastest = np.maximum.reduceat(np.maximum(rates[:-1], rates[1:]), chosen[:-1])
    steps = np.ceil(0.5 * np.diff(times) * fastest / unfrozen.resolution)
    counts = np.maximum(steps, 1.0).astype(int).tolist()
    x = instants[0].right
    y = x.copy()
    logs, sizes = [instants[0].logs(x)], [instants[0].sizes(x)]
    parts = list(zip(pairwise(times.tolist()), counts, instants[1:], strict=True))
    for part, count, instant in shown(turns * parts, "transient", "instant", progress):
        x = unfrozen.advanced(*part, 2 * count, x)
        y = unfrozen.advanced(*part, count, y)  # shows the error of the steps
        logs.append(instant.logs(x))
        sizes.append(instant.sizes(x))
    length = float(at[-1] - at[0])
    span = turns * length
    # Modes that the longer steps turn by up to 4 rad: less than 2^order in their errors.
    step_error = np.abs(instants[-1].logs(y) - logs[-1]) / 2.0 ** (unfrozen.order - 1)
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
    has ended; of x' = A x with a square root L of the energy.

    norm (N, N): a square root of the energy. known: the tracks that have not ended; of these,
    values (k,), right vectors of unit energy and left ones with yᴴx = 1, (N, k). gaps (m,):
    relative distances of the values from λ. abscissa: the largest growth rate of the energy norm,
    1/s: beyond it no motion can grow.
    """

    def __init__(self, A: Array, L: Array, lam: Complex) -> None:
        A = L @ A @ la.inv(L)
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
