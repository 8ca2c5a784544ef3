"""Floquet modes over a period: x(t) = p(t) e^{λ(t − t0)} with a periodic p, and its harmonics.

Propagated by itself, a vector that decays faster than others turns into them by round-off. All
vectors are therefore propagated together: forward as an orthonormal basis, largest growth first,
F_i Q_{i−1} = Q_i R_i, and backward in its coordinates, y_{i−1} = e^{λh} R_i⁻¹ y_i with the upper
triangles R_i, in which what grows faster decays (compare modal/periodic/product_eigen.py). Of modes
that decouple (modal/periodic/decoupling.py) nothing fast is propagated: the frequency of a mode is
in its rate, and the harmonics of its shape are shifted by whole numbers.

A mode has the frequencies |Im λ + 2πj/T| of all harmonics j of p. The participation of a harmonic
is its amplitude over the sum of the amplitudes of all (C. L. Bottasso and S. Cacciola, Wind Energy
18, 2015). The frequency of a mode is that of its strongest harmonic: the multiplier determines λ up
to multiples of 2πi/T, and p determines these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np
import scipy.linalg as la

from modal.eigen.tolerances import HALF
from modal.periodic.product_eigen import without_zero_pivots
from modal.periodic.tolerances import (
    FEWEST,
    GAIN,
    MOST_MATRICES,
    MOST_STEPS,
    RESOLUTION,
    RESOLVED,
)
from modal.transient.tolerances import NEGLIGIBLE
from modal.types import Array, Complex, Index

Map = Callable[[Complex], Complex]


@dataclass(frozen=True)
class PropagatedModes:
    """Eigenvalues and vectors of the propagation of x' = A(t) x over a period.

    logs (m,): log μ, Im in (−π, π]. vectors (N, m): Floquet vectors at the start. error (m,):
    bounds on |δ log μ|, infinite for multipliers that are not known. rates (m,), 1/s: the
    exponents, but for multiples of 2πi/T. states: the periodic parts (s, N, m) at s equal parts of
    the period, relative to the rates; at as many parts as resolve them where no s is given. NaN for
    modes that are not known.
    """

    logs: Complex
    vectors: Complex
    error: Array
    rates: Complex
    states: Callable[..., Complex]

    def chosen(self, modes: Index) -> PropagatedModes:
        """Some of the modes, in the order of their numbers."""
        columns = self.logs[modes], self.vectors[:, modes], self.error[modes], self.rates[modes]
        return PropagatedModes(*columns, lambda *s: self.states(*s)[:, :, modes])


def conditions_of(vectors: Complex) -> Array:
    """Condition of each eigenvalue of a matrix with the eigenvectors (N, N)."""
    return np.asarray(np.linalg.norm(la.inv(vectors), axis=1) * np.linalg.norm(vectors, axis=0))


def distances(logs: Complex, others: Complex) -> Array:
    """Of each of `others` (m,) from all log μ (N,), imaginary parts on their circle: (m, N)."""
    apart = logs[None, :] - others[:, None]
    return np.hypot(apart.real, np.abs(np.exp(1j * apart.imag) - 1.0))


@dataclass(frozen=True)
class Orbits:
    """How the Floquet modes of an analysis move over a period.

    states: of the periodic parts p(t) at equal parts of the period, (s, N, m), in the coordinates
    of the analysis; NaN for modes that are not known. rates (m,), 1/s: what p is relative to; they
    differ from the exponents by multiples of 2πi/T. lift: from the states to the degrees of
    freedom, (N, m) → (n, m). weights (n,): of the degrees of freedom in an amplitude.
    """

    states: Callable[[], Complex]
    rates: Complex
    lift: Callable[[Complex], Complex]
    weights: Array

    def orbits(self, exponents: Complex, period: float, known: Array) -> Complex:
        """The periodic parts at equal parts of the period, (s, n, m), relative to the exponents.

        NaN for modes that are not `known` (m,), and for those whose p does not close.
        """
        lifted = np.stack([self.lift(state) for state in self.states()])
        shift = np.round((self.rates - exponents).imag * period / (2.0 * np.pi)).astype(int)
        count = len(lifted)
        lifted[:, :, ~np.asarray(known, dtype=bool)] = np.nan
        if not np.any(shift):
            return lifted
        waves = np.fft.fft(lifted, axis=0) / count
        number = np.fft.fftfreq(count, 1.0 / count).astype(int)
        size = 2 ** int(np.ceil(np.log2(2 * np.abs(shift).max() + 2 * count)))
        out = np.zeros((size, *lifted.shape[1:]), dtype=complex)
        for mode in range(len(exponents)):
            out[(number + shift[mode]) % size, :, mode] = waves[:, :, mode]
        return np.asarray(np.fft.ifft(out, axis=0) * size)


def propagated(
    maps: Callable[[int], Iterable[Map]],
    start: Complex,
    exponents: Complex,
    known: Array,
    period: float,
    fastest: float,
) -> Complex:
    """The periodic parts of modes at equal parts of the period, (s, N, m), relative to the
    exponents; NaN for modes that are not `known` (m,), and for those whose p does not close.

    maps(count): the maps of `count` equal parts of the period, in order. start (N, m): Floquet
    vectors at the beginning. fastest: largest |λ| of the modes, rad/s.
    """
    least = max(FEWEST, min(MOST_MATRICES, fastest * period / RESOLUTION))
    parts = steps = 2 ** int(np.ceil(np.log2(least)))
    last = np.inf
    while True:
        several = zip(*[iter(maps(steps))] * (steps // parts), strict=True)
        joined = (partial(reduce, lambda x, advance: advance(x), each) for each in several)
        states, worst = run(joined, start, exponents * period / parts, known)
        # Beyond the accuracy of the vectors themselves smaller steps do not help; more steps than
        # are kept have only to close.
        enough = HALF if 2 * steps <= MOST_MATRICES else RESOLVED
        if 2 * steps > MOST_STEPS or worst <= enough or worst > GAIN * last:
            return states
        last, steps = worst, 2 * steps
        parts = min(steps, MOST_MATRICES)


def run(maps: Iterable[Map], start: Complex, logs: Complex, known: Array) -> tuple[Complex, float]:
    """The periodic parts at the beginning of every step, and how far the worst is from closing.
    logs (m,) or (steps, m): growth of the modes in a step; the others as of `propagated`."""
    whole = np.atleast_2d(logs).sum(axis=0).real
    order = np.flatnonzero(known)[np.argsort(-whole[known], kind="stable")]
    first = start[:, order]
    Q, R = la.qr(first, mode="economic")
    bases, triangles = [Q], []
    for advance in maps:
        Q, R = la.qr(advance(Q), mode="economic", check_finite=False)
        bases.append(Q)
        triangles.append(without_zero_pivots(R))
    y = np.triu(Q.conj().T @ first)
    growth = np.broadcast_to(np.exp(logs), (len(triangles), len(whole)))[:, order]
    out = np.full((len(triangles), *start.shape), np.nan, dtype=complex)
    for step in range(len(triangles) - 1, -1, -1):
        y = la.solve_triangular(triangles[step], y, check_finite=False) * growth[step]
        out[step][:, order] = bases[step] @ y
    gap = np.linalg.norm(out[0] - start, axis=0) / np.linalg.norm(start, axis=0)
    out[:, :, ~(gap <= RESOLVED)] = np.nan
    return out, float(gap[order].max(initial=0.0))


def harmonics(orbits: Complex) -> tuple[Complex, Index]:
    """Fourier coefficients (h, n, m) of periodic parts (s, n, m), and their numbers j, rising:
    p(t) = Σ p_j e^{2πij(t − t0)/T}."""
    count = len(orbits)
    numbers = np.fft.fftshift(np.fft.fftfreq(count, 1.0 / count)).astype(int)
    return np.fft.fftshift(np.fft.fft(orbits, axis=0), axes=0) / count, numbers


def participations(amplitudes: Array) -> Array:
    """Share of each harmonic (h, m) in the sum of the amplitudes of a mode."""
    total = amplitudes.sum(axis=0)
    return np.asarray(amplitudes / np.where(total > 0.0, total, 1.0))


def cut(numbers: Index, shares: Array) -> slice:
    """The harmonics −H … H beyond which no mode has a share, of `numbers` rising."""
    largest = np.nan_to_num(shares).max(axis=1)
    last = int(np.abs(numbers[largest > NEGLIGIBLE]).max(initial=1))
    last = min(last, int(numbers[-1]))
    middle = int(np.flatnonzero(numbers == 0)[0])
    return slice(middle - last, middle + last + 1)
