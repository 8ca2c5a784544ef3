"""Floquet modes of the slow part of a large periodic model.

The model is sampled on a space of its frozen modes at parts of a period
(modal/periodic/chart_motion.py), its fast shapes are eliminated (modal/periodic/slow_motion.py) in
coordinates that move with the slow ones (modal/periodic/moving_frame.py), and the few slow
coordinates z' = B(t) z that are left are propagated over the period. The error of an exponent comes
from the residual that its periodic mode leaves in the equations (modal/periodic/orbit_error.py),
times the condition of the exponent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import scipy.linalg as la

from assembly.errors import AccuracyError, ConvergenceError
from modal.periodic.balanced import Balanced
from modal.periodic.chart_motion import ChartMotion, accelerations_of
from modal.periodic.chart_panel import SHARE, Spectra, slow_first
from modal.periodic.decoupled_orbits import DecoupledOrbits
from modal.periodic.decoupling import decoupled_modes
from modal.periodic.floquet_modes import FloquetModes, of_logs
from modal.periodic.magnus import propagator_factors, step_factors
from modal.periodic.moving_frame import moving_frame, moving_states
from modal.periodic.orbit_error import orbit_error
from modal.periodic.orbits import Map, Propagation
from modal.periodic.product_eigen import product_modes
from modal.periodic.slow_motion import slow_motion
from modal.reduction.error_bounds import coupled
from modal.reduction.interpolation import Interpolant, fourier_interpolant
from modal.reduction.motion import ReducedMotion
from modal.types import Array, Complex, Index

TOLERANCE = 1e-9  # of the factors of the slow monodromy, relative
# Instants whose frozen modes span the space, its least singular value of the largest, and parts of
# the period: the second where the stated error of the first is too large.
SPACES = ((6, 1e-5, 1), (24, 1e-6, 128))
ENOUGH = 1e-6  # stated error, of the frequency, that is not improved
MOST_TRIES = 4  # numbers of slow coordinates of a space
FEWEST_HARMONICS = 4  # of the elimination of fast shapes
FASTEST = 2e4  # rad a period of the fastest mode of a space of which nothing is eliminated
BATCH = 64  # steps computed together


@dataclass(frozen=True)
class _Slow:
    """A model on its slow coordinates z: x = X(t) z, z' = B(t) z, x = (ω η, η̇) of `motion`."""

    motion: ChartMotion
    X: Interpolant
    B: Interpolant
    period: float

    @property
    def start(self) -> float:
        """Where the period begins, s."""
        return self.motion.start

    def modes(self) -> _Orbits:
        """All of its Floquet modes. Raises ConvergenceError."""
        same = np.eye(self.B.table.shape[1])  # its coordinates are those of the energy
        A = Balanced(self.B, same, same)
        apart = decoupled_modes(A, self.start, self.period)
        if apart is not None:
            z, rates, vectors = apart.states, apart.rates, apart.vectors
            logs, error = apart.logs, apart.error
        else:
            made = propagator_factors(A, self.start, self.start + self.period, TOLERANCE)
            found = product_modes(made.matrices, made.errors)
            logs, error, vectors = found.logs, found.error, found.vectors
            rates = logs / self.period
            z = self._propagated(A, vectors, rates, np.isfinite(error))
        times = self.start + self.period * np.arange(len(z)) / len(z)
        return _Orbits(logs, error, rates, vectors, self.X.many(times) @ z)

    def _propagated(
        self, A: Balanced, vectors: Complex, exponents: Complex, known: Array
    ) -> Complex:
        """The periodic parts (s, 2m, 2m) of z from vectors at the start of the period."""

        def maps(count: int) -> Iterator[Map]:
            starts = self.start + self.period * np.arange(count) / count
            for first in range(0, count, BATCH):
                for step in step_factors(A, starts[first : first + BATCH], self.period / count):
                    yield step.__matmul__

        values = np.linalg.eigvals(A.many(np.array([self.start]))[0])
        fastest, ones = float(np.abs(values).max()), np.ones(len(vectors))
        whole = Propagation(maps, vectors, lambda z: z, ones, fastest)
        return whole.orbits(exponents, self.period, known)


@dataclass(frozen=True)
class _Orbits:
    """log μ (N,), their errors (N,), and rates (N,), 1/s, that differ from log μ / T by multiples
    of 2πi/T; z (N, N) at the start of the period, and the periodic parts p (s, 2r, N) of x."""

    logs: Complex
    error: Array
    rates: Complex
    z: Complex
    p: Complex


def slow_modes(reduced: ReducedMotion, period: float, t0: float, k: int) -> FloquetModes | None:
    """The k slowest modes of a mechanism on bases of its reduced, errors of the bases included.

    None where the matrices are not smooth, or the propagation does not converge.
    """
    best: FloquetModes | None = None
    for instants, independent, parts in SPACES:
        try:
            motion = ChartMotion.of(lambda _: (reduced, period), [{}], k, t0, independent, instants)
        except AccuracyError:
            return best
        motion = replace(motion, parts=max(parts, motion.parts))
        for slow in islice(_slow_parts(motion, reduced, period, k), MOST_TRIES):
            try:
                found = _modes_of(slow, reduced, k)
            except ConvergenceError:
                continue
            if best is None or found.error.max() < best.error.max():
                best = found
            if best.error.max() <= ENOUGH * np.abs(best.eigenvalues).max():
                return best
    return best


def _modes_of(slow: _Slow, reduced: ReducedMotion, k: int) -> FloquetModes:
    """The k slowest modes and their errors. Raises ConvergenceError."""
    motion, period, t0 = slow.motion, slow.period, slow.start
    found = slow.modes()
    chosen = _slowest(slow.B(t0), found.z, k)
    chosen = chosen[np.argsort(-found.logs.real[chosen], kind="stable")]
    condition = (np.linalg.norm(la.pinv(found.z), axis=1) * np.linalg.norm(found.z, axis=0))[chosen]
    p, rates = found.p[:, :, chosen], found.rates[chosen]
    V, r = motion.shapes, len(motion.frequencies)
    eta = p[:, :r] / motion.frequencies[:, None]
    missed = orbit_error(reduced, V, eta, rates, (t0, period)) * condition
    exponents = found.logs[chosen] / period
    missed = coupled(missed[None], exponents[None], condition[None])[0]
    error = np.where(np.isfinite(missed), found.error[chosen] + missed * period, np.inf)
    vectors = motion.lifted(slow.X(t0) @ found.z[:, chosen])
    modes = of_logs(found.logs[chosen], vectors, error, period, t0, "reduced")
    lift = V / motion.frequencies
    inertia = np.sqrt(np.maximum(reduced.freeze(t0).M.diagonal(), 0.0))
    size = np.linalg.norm(vectors, axis=0)
    moves = DecoupledOrbits(p / size, rates, lambda x: np.asarray(lift @ x[:r]), inertia)
    return replace(modes, propagation=moves)


def _slow_parts(
    motion: ChartMotion, reduced: ReducedMotion, period: float, k: int
) -> Iterator[_Slow]:
    """With so many slow coordinates that the others are apart from them; all at the end, unless
    these are too fast."""
    times = motion.start + period * np.arange(motion.parts) / motion.parts
    M, C, K = motion.at(reduced, times)
    H = accelerations_of(np.concatenate([M, K / motion.frequencies, C], axis=2))
    spectra, rate = Spectra.of(motion, [H]), 2.0 * np.pi / period
    A, r = motion.states(H), len(motion.frequencies)
    K = 0.5 * (K + K.swapaxes(1, 2))

    def part(X: Array, B: Array) -> _Slow:
        on_slow, of_slow = (fourier_interpolant(table, motion.start, period) for table in (X, B))
        return _Slow(motion, on_slow, of_slow, period)

    # The error by the elimination is measured, so modes that are less far apart may be tried too.
    for m in dict.fromkeys([spectra.slow(min(k, r), rate), *range(min(k, r), r)]):
        harmonics = int(SHARE * spectra.gap(m) / rate) if m < r else 0
        frame = moving_frame(M, K, m) if harmonics >= FEWEST_HARMONICS else None
        if frame is None:
            continue
        stiffness = np.abs((frame * (K @ frame)).sum(axis=1)).mean(axis=0)
        frequencies = np.stack([motion.frequencies, np.sqrt(stiffness)])
        T, moving = moving_states(A, frame, frequencies, period)
        order = slow_first(r, m)
        found = slow_motion(moving[:, order][:, :, order], 2 * m, period, harmonics)
        if found is not None:
            T = T[:, :, order]
            yield part(T[:, :, : 2 * m] + T[:, :, 2 * m :] @ found.L, found.B)
    if float(spectra.sizes.max()) * period <= FASTEST:
        yield part(np.repeat(np.eye(2 * r)[None], len(A), axis=0), A)


def _slowest(A: Array, vectors: Complex, k: int) -> Index:
    """Numbers of the 2k vectors that consist most of the slowest frozen modes of A."""
    values, frozen = la.eig(A)
    slow = np.argsort(np.abs(values), kind="stable")[: 2 * k]
    parts = np.abs(la.solve(frozen, vectors)) ** 2
    share = parts[slow].sum(axis=0) / parts.sum(axis=0)
    return np.asarray(np.argsort(-share, kind="stable")[: len(slow)])
