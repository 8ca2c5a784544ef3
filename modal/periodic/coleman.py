"""The transformation to multiblade (Coleman) coordinates, q = T(ψ) z.

Blade b of N is at the azimuth ψ_b. Its degree of freedom reads

    q_b = a_0 + Σ_n (a_nc cos nψ_b + a_ns sin nψ_b) + (−1)ᵇ a_d,    n = 1 … ⌊(N − 1)/2⌋,

with a_d for even N alone (R. P. Coleman and A. M. Feingold, NACA Report 1351, 1958; W. Johnson,
Helicopter Theory, 1980, section 8-4). A pair of degrees of freedom in axes that turn with the rotor
becomes the pair in axes that do not. At a constant rate Ṫ = T S and T̈ = T S² with a constant S.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from assembly.errors import InputError
from modal.types import Array, Index

FEWEST_BLADES = 3


@dataclass(frozen=True)
class Coleman:
    """The transformation of a rotor of N blades with m degrees of freedom each.

    n: number of degrees of freedom. blades (N, m): their numbers, the same order in every blade.
    pairs (p, 2): numbers of (x, y) in axes that turn with the rotor. azimuths (N,): of the blades
    at t = 0, rad. rate: rad/s. The coordinates a_0, a_1c, a_1s, a_2c, …, a_d take the places of
    the blades, in this order.
    """

    n: int
    blades: Index
    pairs: Index
    azimuths: Array
    rate: float

    @property
    def count(self) -> int:
        """Number of blades N."""
        return len(self.blades)

    @property
    def waves(self) -> int:
        """Number of cosine and sine pairs."""
        return (self.count - 1) // 2

    def columns(self, t: float) -> Array:
        """q_b of unit multiblade coordinates, (N, N)."""
        psi = self.azimuths + self.rate * t
        out = np.ones((self.count, self.count))
        for n in range(1, self.waves + 1):
            out[:, 2 * n - 1], out[:, 2 * n] = np.cos(n * psi), np.sin(n * psi)
        if self.count % 2 == 0:
            out[:, -1] = 1.0 - 2.0 * (self._order % 2)
        return out

    @cached_property
    def _order(self) -> Index:
        """Number of each blade, counted in the direction of the rotation from the first."""
        ahead = (self.azimuths - self.azimuths[0]) * np.sign(self.rate)
        return np.asarray(np.round(ahead * self.count / (2.0 * np.pi)), dtype=np.intp) % self.count

    def matrix(self, t: float) -> sp.csr_matrix:
        """T(t) (n, n)."""
        N, m = self.blades.shape
        angle = self.rate * t
        c, s = np.cos(angle), np.sin(angle)
        x, y = self.pairs.T
        rows = [np.repeat(self.blades, N, axis=0).ravel(), self.others, x, x, y, y]
        cols = [np.tile(self.blades, (N, 1)).ravel(), self.others, x, y, x, y]
        one = np.ones(len(x))
        values = [np.repeat(self.columns(t).ravel(), m), np.ones(len(self.others))]
        values += [c * one, s * one, -s * one, c * one]
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(cols)))
        return sp.csr_matrix(entries, shape=(self.n, self.n))

    @cached_property
    def others(self) -> Index:
        """Degrees of freedom of neither a blade nor a turning pair."""
        return np.setdiff1d(
            np.arange(self.n), np.concatenate([self.blades.ravel(), self.pairs.ravel()])
        )

    @cached_property
    def sizes(self) -> Array:
        """Diagonal of TᵀT, (n,): it does not depend on time."""
        out = np.ones(self.n)
        out[self.blades] = self.count
        for n in range(1, self.waves + 1):
            out[self.blades[2 * n - 1 : 2 * n + 1]] = 0.5 * self.count
        return out

    @cached_property
    def rotation(self) -> sp.csr_matrix:
        """S (n, n) of Ṫ = T S."""
        rows, cols, values = [], [], []
        links = [
            (self.blades[2 * n - 1], self.blades[2 * n], n * self.rate)
            for n in range(1, self.waves + 1)
        ]
        links.append((self.pairs[:, 0], self.pairs[:, 1], self.rate))
        for cosine, sine, speed in links:
            rows += [cosine, sine]
            cols += [sine, cosine]
            values += [np.full(len(sine), speed), np.full(len(sine), -speed)]
        entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(cols)))
        return sp.csr_matrix(entries, shape=(self.n, self.n))

    @classmethod
    def of(
        cls,
        n: int,
        blades: Sequence[Sequence[int]],
        pairs: Sequence[Sequence[int]],
        azimuths: Array,
        rate: float,
    ) -> Coleman:
        """The transformation; InputError for degrees of freedom that cannot be those of blades."""
        sizes = {len(b) for b in blades}
        if len(blades) < FEWEST_BLADES:
            raise InputError(
                f"blades: multiblade coordinates need {FEWEST_BLADES} blades or more, "
                f"got {len(blades)}; modal.floquet takes any number"
            )
        if len(sizes) != 1 or not min(sizes):
            counts = [len(b) for b in blades]
            raise InputError(
                f"blades: all need the same number of degrees of freedom, got {counts}"
            )
        numbers = np.array([list(b) for b in blades], dtype=np.intp)
        if any(len(p) != 2 for p in pairs):
            raise InputError(f"turning: expected pairs (x, y) of numbers, got {list(pairs)!r}")
        turning = np.array([list(p) for p in pairs], dtype=np.intp).reshape(-1, 2)
        every = np.concatenate([numbers.ravel(), turning.ravel()])
        if every.min() < 0 or every.max() >= n:
            raise InputError(f"blades: the model has the degrees of freedom 0 … {n - 1}")
        if len(np.unique(every)) != len(every):
            raise InputError("blades: a degree of freedom is named twice")
        if not (np.isfinite(rate) and rate != 0.0):
            raise InputError(f"rate: expected a rate of rotation that is not zero, got {rate!r}")
        return cls(n, numbers, turning, np.asarray(azimuths, dtype=float), float(rate))
