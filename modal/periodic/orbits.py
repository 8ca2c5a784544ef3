"""Floquet modes over a period: x(t) = p(t) e^{λ(t − t0)} with a periodic p, and its harmonics.

Propagated by itself, a vector that decays faster than others turns into them by round-off. All
vectors are therefore propagated together: forward as an orthonormal basis, largest growth first,
F_i Q_{i−1} = Q_i R_i, and backward in its coordinates, y_{i−1} = e^{λh} R_i⁻¹ y_i with the upper
triangles R_i, in which what grows faster decays (compare modal/periodic/product_eigen.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la

from modal.types import Array, Complex, Index

FEWEST_STEPS, MOST_STEPS = 64, 8192
RESOLUTION = 0.5  # |λ| h of the fastest mode
CLOSED = (
    1e-8  # relative difference of a mode after a period from its start that needs no more steps
)
GAIN = 0.25  # of the difference by half the step, below which steps are halved again
ACCEPTED = 1e-3  # … and beyond which the mode is not known
NEGLIGIBLE = 1e-9  # of the participations: harmonics beyond the last larger one are left out

Map = Callable[[Complex], Complex]


@dataclass(frozen=True)
class Propagation:
    """How the Floquet modes of an analysis move over a period.

    maps(count): the maps of `count` equal parts of the period, in order. start (N, m): Floquet
    vectors at the beginning, in the coordinates of the maps. lift: from these to the degrees of
    freedom, (N, m) → (n, m). weights (n,): of the degrees of freedom in an amplitude. fastest:
    largest |λ| of the modes, rad/s. steps: a fixed number of parts, or 0.
    """

    maps: Callable[[int], Iterable[Map]]
    start: Complex
    lift: Callable[[Complex], Complex]
    weights: Array
    fastest: float
    steps: int = 0

    def orbits(self, exponents: Complex, period: float, known: Array) -> Complex:
        """The periodic parts p of the modes at equal parts of the period, (s, n, m).

        NaN for modes that are not `known` (m,), and for those whose p does not close.
        """
        order = np.flatnonzero(known)[np.argsort(-exponents[known].real, kind="stable")]
        least = int(np.ceil(self.fastest * period / RESOLUTION))
        steps = self.steps or int(
            np.clip(2 ** int(np.ceil(np.log2(max(least, 1)))), FEWEST_STEPS, MOST_STEPS)
        )
        last = np.inf
        while True:
            states, gap = self._run(exponents[order], order, period / steps, steps)
            worst = float(gap.max(initial=0.0))
            # Beyond the accuracy of the vectors themselves smaller steps do not help.
            if self.steps or 2 * steps > MOST_STEPS or worst <= CLOSED or worst > GAIN * last:
                break
            last, steps = worst, 2 * steps
        out = np.full((steps, len(self.weights), len(exponents)), np.nan, dtype=complex)
        good = gap <= ACCEPTED
        for i, state in enumerate(states):
            out[i][:, order[good]] = self.lift(state[:, good])
        return out

    def _run(
        self, exponents: Complex, order: Index, h: float, steps: int
    ) -> tuple[list[Complex], Array]:
        """p (N, m) at the beginning of every step, and how far each mode is from closing."""
        start = self.start[:, order]
        Q, R = la.qr(start, mode="economic")
        bases, triangles = [Q], []
        for advance in self.maps(steps):
            Q, R = la.qr(advance(Q), mode="economic", check_finite=False)
            bases.append(Q)
            triangles.append(R)
        turn = np.exp(exponents * h)
        y = np.triu(Q.conj().T @ start)
        states: list[Complex] = []
        for Q, R in zip(bases[-2::-1], triangles[::-1], strict=True):
            y = la.solve_triangular(R, y, check_finite=False) * turn
            states.append(Q @ y)
        states.reverse()
        size = np.linalg.norm(start, axis=0)
        return states, np.asarray(np.linalg.norm(states[0] - start, axis=0) / size)


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
