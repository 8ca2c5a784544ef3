"""Frequencies and participations of Floquet modes, from their harmonics.

A Floquet mode p(t) e^{λt} has the frequencies |Im λ + 2πj/T| of all harmonics j of p. The
participation of a harmonic is its amplitude over the sum of the amplitudes of all (C. L. Bottasso
and S. Cacciola, Wind Energy 18, 2015). The frequency of a mode is that of its strongest harmonic:
the multiplier determines λ up to multiples of 2πi/T, and p determines these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr

from assembly.errors import InputError
from modal.data.datasets import described_array
from modal.data.variables import ARRAYS
from modal.periodic.orbits import Orbits, cut, harmonics, participations
from modal.types import Array, Complex, Index

TIE = 1e-7  # relative difference of amplitudes that are equal


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
