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

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce

import numpy as np
import scipy.linalg as la
import xarray as xr

from assembly.errors import InputError
from modal.data.datasets import described_array
from modal.data.variables import ARRAYS
from modal.eigen.tolerances import HALF
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

TIE = 1e-7  # relative difference of amplitudes that are equal

Map = Callable[[Complex], Complex]


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
    logs (m,): growth of the modes in a step; the others as of `propagated`."""
    order = np.flatnonzero(known)[np.argsort(-logs[known].real, kind="stable")]
    first = start[:, order]
    Q, R = la.qr(first, mode="economic")
    bases, triangles = [Q], []
    for advance in maps:
        Q, R = la.qr(advance(Q), mode="economic", check_finite=False)
        bases.append(Q)
        triangles.append(R)
    y = np.triu(Q.conj().T @ first)
    out = np.full((len(triangles), *start.shape), np.nan, dtype=complex)
    for step in range(len(triangles) - 1, -1, -1):
        y = la.solve_triangular(triangles[step], y, check_finite=False) * np.exp(logs[order])
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


@dataclass(frozen=True)
class PeriodicShapes:
    """The Floquet modes of one analysis over its period.

    propagation: how they move. exponents (m,): 1/s. known (m,): which multipliers are known.
    """

    propagation: Orbits
    exponents: Complex
    known: Array
    period: float
    t0: float

    @cached_property
    def orbits(self) -> Complex:
        """p at equal parts of the period, (s, n, m); NaN for modes that are not known."""
        return self.propagation.orbits(self.exponents, self.period, self.known)

    @cached_property
    def _harmonics(self) -> tuple[Complex, Index]:
        return harmonics(self.orbits)

    @cached_property
    def _shares(self) -> tuple[Array, Index]:
        """Participations (h, m) of all degrees of freedom together, and the harmonics' numbers."""
        _, numbers = self._harmonics
        shares = participations(self._amplitudes(slice(None)))
        kept = cut(numbers, shares)
        return shares[kept], numbers[kept]

    def _amplitudes(self, rows: slice | Index) -> Array:
        values, _ = self._harmonics
        weighted = values[:, rows] * self.propagation.weights[rows][:, None]
        return np.asarray(np.linalg.norm(weighted, axis=1))

    @cached_property
    def strongest(self) -> Index:
        """Number of the strongest harmonic of each mode, (m,); 0 for one that is not known."""
        shares, numbers = self._shares
        # The harmonics of a real multiplier come in equal pairs: the one of positive frequency.
        rank = np.nan_to_num(shares) * (1.0 + TIE * (self._hertz(numbers) >= 0.0))
        return np.asarray(np.where(np.isnan(shares[0]), 0, numbers[rank.argmax(axis=0)]))

    def _hertz(self, numbers: Index) -> Array:
        """Signed frequencies of harmonics, (h, m)."""
        return np.asarray(self.exponents.imag / (2.0 * np.pi) + numbers[:, None] / self.period)

    @cached_property
    def eigenvalues(self) -> Complex:
        """λ + 2πij/T of the strongest harmonic j, (m,), 1/s."""
        return np.asarray(self.exponents + 2j * np.pi * self.strongest / self.period)

    def participation(self, groups: Mapping[str, Sequence[int]] | None = None) -> xr.DataArray:
        """Participations (mode, harmonic), or (group, mode, harmonic) of groups of DOFs."""
        shares, numbers = self._shares
        hertz = np.abs(self._hertz(numbers)).T
        coords = {"harmonic": numbers, "frequency": (("mode", "harmonic"), hertz)}
        if groups is None:
            values, dims = shares.T, ("mode", "harmonic")
        else:
            n, every, kept = len(self.propagation.weights), self._harmonics[1], []
            inside = np.isin(every, numbers)
            for name, rows in groups.items():
                index = np.asarray(list(rows), dtype=np.intp)
                if not index.size or index.min() < 0 or index.max() >= n:
                    raise InputError(
                        f"group {name!r}: expected numbers of degrees of freedom, 0 … {n - 1}"
                    )
                kept.append(participations(self._amplitudes(index))[inside].T)
            values, dims = np.array(kept), ("group", "mode", "harmonic")  # type: ignore[assignment]
            coords = {"group": list(groups)} | coords
        out = xr.DataArray(values, dims=dims, coords=coords, name="participation")
        return described_array(out, ARRAYS)

    def orbit(self, mode: int) -> xr.DataArray:
        """p of one mode over the period, (time, dof), relative to its strongest harmonic."""
        count = len(self.orbits)
        times = self.period * np.arange(count) / count
        turn = np.exp(-2j * np.pi * self.strongest[mode] * times / self.period)
        out = xr.DataArray(
            self.orbits[:, :, mode] * turn[:, None],
            dims=("time", "dof"),
            coords={"time": self.t0 + times},
            name="shape",
        )
        return described_array(out, ARRAYS)
