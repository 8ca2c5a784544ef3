"""The result of a Floquet analysis: multipliers, exponents, vectors, and the verdict on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import xarray as xr

from assembly.errors import InputError
from modal.data.datasets import described_array
from modal.data.variables import ARRAYS
from modal.periodic.periodic_modes import Orbits, cut, harmonics, participations
from modal.periodic.tolerances import RESOLVED
from modal.proofs.judge import COUNT, MODES, STABLE, UNDECIDED, judge
from modal.proofs.judge import Verdict as Judged
from modal.reduction.interpolation import Interpolant
from modal.types import Array, Complex, Index

Verdict = Literal["stable", "unstable", "undecided"]

TIE = 1e-7  # relative difference of amplitudes that are equal


@dataclass(frozen=True)
class FloquetModes:
    """Floquet multipliers, exponents and vectors, in the order of decreasing growth.

    Attributes
    ----------
    period : float
        T, s.
    t0 : float
        Instant at which the period begins, s.
    multipliers : ndarray of complex, shape (m,)
        μ. Values beyond the range of floating-point numbers are 0 or inf; their exponents are
        right.
    exponents : ndarray of complex, shape (m,)
        log(μ) / T, 1/s, with Im in (−π/T, π/T].
    vectors : ndarray of complex, shape (N, m)
        Floquet vectors at t0, of x in x' = A x or of (q, q̇), with unit 2-norm.
    error : ndarray, shape (m,)
        Bound on the error of the exponents, 1/s, from the error of the propagation and the
        condition of the eigenvalue. Where it is infinite, the multiplier is smaller than these
        errors, and the real part of the exponent is an upper bound.
    method : str
        "dense" or "reduced".
    interpolated : Interpolant or None
        Interpolant of the matrices of a model with ``freeze(t)``; None where the matrices were
        assembled at every instant.
    basis : str
        Description of the reduced bases of the links of a mechanism; empty without.
    propagation : Orbits or None
        How the modes move over the period: what `frequency` and `participation` come from.
    narrowest_visible : float
        Width, s, of the narrowest pulse of the matrices that cannot have been missed between the
        instants where they were evaluated. Declared `breaks` are exact. 0 for constant matrices.
    """

    period: float
    t0: float
    multipliers: Complex
    exponents: Complex
    vectors: Complex
    error: Array
    method: str
    interpolated: Interpolant | None = None
    basis: str = ""
    propagation: Orbits | None = None
    narrowest_visible: float = 0.0

    @cached_property
    def orbits(self) -> Complex:
        """Periodic parts p of x(t) = p(t) e^{λt} of the displacements at equal parts of the period,
        (s, n, m), λ of `exponents`; NaN for modes that are not known."""
        if self.propagation is None:
            raise InputError("Floquet: modes that were put together by hand have no shapes")
        known = np.isfinite(self.error)
        return self.propagation.orbits(self.exponents, self.period, known)

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
        assert self.propagation is not None
        weighted = values[:, rows] * self.propagation.weights[rows][:, None]
        return np.asarray(np.linalg.norm(weighted, axis=1))

    def _hertz(self, numbers: Index) -> Array:
        """Signed frequencies of harmonics, (h, m)."""
        return np.asarray(self.exponents.imag / (2.0 * np.pi) + numbers[:, None] / self.period)

    @cached_property
    def strongest(self) -> Index:
        """Number of the strongest harmonic of each mode, (m,); 0 for one that is not known."""
        shares, numbers = self._shares
        # The harmonics of a real multiplier come in equal pairs: the one of positive frequency.
        rank = np.nan_to_num(shares) * (1.0 + TIE * (self._hertz(numbers) >= 0.0))
        return np.asarray(np.where(np.isnan(shares[0]), 0, numbers[rank.argmax(axis=0)]))

    @cached_property
    def eigenvalues(self) -> Complex:
        """λ of the strongest harmonic, (m,), 1/s: the exponent and a multiple of 2πi/T."""
        return np.asarray(self.exponents + 2j * np.pi * self.strongest / self.period)

    @property
    def frequency(self) -> Array:
        """Frequency of the strongest harmonic of each mode, (m,), Hz."""
        return np.asarray(np.abs(self.eigenvalues.imag) / (2.0 * np.pi))

    @property
    def participation(self) -> xr.DataArray:
        """Participation of each harmonic, (mode, harmonic): its share in the sum of amplitudes.

        Amplitudes are those of the displacements, weighted by the root of their inertia. NaN for a
        mode whose multiplier is not known.
        """
        return self._participation(self._shares[0].T, ("mode", "harmonic"))

    def participation_of(self, groups: Mapping[str, Sequence[int]]) -> xr.DataArray:
        """Participation of each harmonic on groups of degrees of freedom.

        Parameters
        ----------
        groups : mapping of str to sequence of int
            Numbers of the degrees of freedom of each group.

        Returns
        -------
        xarray.DataArray
            Dimensions (group, mode, harmonic); the sum over the harmonics is 1.

        Raises
        ------
        InputError
            For a number that is not that of a degree of freedom.
        """
        n, inside = self.orbits.shape[1], np.isin(self._harmonics[1], self._shares[1])
        shares = []
        for name, rows in groups.items():
            index = np.asarray(list(rows), dtype=np.intp)
            if not index.size or index.min() < 0 or index.max() >= n:
                raise InputError(
                    f"group {name!r}: expected numbers of degrees of freedom, 0 … {n - 1}"
                )
            shares.append(participations(self._amplitudes(index))[inside].T)
        found = self._participation(np.array(shares), ("group", "mode", "harmonic"))
        return found.assign_coords(group=list(groups))

    def _participation(self, shares: Array, dims: tuple[str, ...]) -> xr.DataArray:
        """Shares of the harmonics with their numbers and frequencies (Hz)."""
        numbers = self._shares[1]
        hertz = np.abs(self._hertz(numbers)).T
        coords = {"harmonic": numbers, "frequency": (("mode", "harmonic"), hertz)}
        found = xr.DataArray(shares, dims=dims, coords=coords, name="participation")
        return described_array(found, ARRAYS)

    def orbit(self, mode: int) -> xr.DataArray:
        """A mode over the period, without its growth and its strongest frequency.

        Parameters
        ----------
        mode : int
            Number of the mode in this list.

        Returns
        -------
        xarray.DataArray
            Complex, dimensions (time, dof): p(t) of x(t) = p(t) e^{λt}, λ of `eigenvalues`.
        """
        count = len(self.orbits)
        times = self.period * np.arange(count) / count
        turn = np.exp(-2j * np.pi * self.strongest[mode] * times / self.period)
        shape, coords = self.orbits[:, :, mode] * turn[:, None], {"time": self.t0 + times}
        out = xr.DataArray(shape, coords, ("time", "dof"), name="shape")
        return described_array(out, ARRAYS)

    @property
    def growth_rate(self) -> Array:
        """Growth rate of each mode, (m,), 1/s: the real parts of the exponents."""
        return np.asarray(self.exponents.real)

    @property
    def is_complete(self) -> bool:
        """Whether these are all multipliers, and not those of the lowest modes alone."""
        return len(self.multipliers) == len(self.vectors)

    @property
    def growth_bound(self) -> float:
        """Upper bound on the growth rate of the modes of this list, 1/s."""
        error = np.where(np.isfinite(self.error), self.error, 0.0)
        return float((self.exponents.real + error).max())

    @property
    def verdict(self) -> Verdict:
        """On the modes of this list: unstable where an exponent exceeds its error, stable where
        none does and all of them are known to a thousandth of growth a period, else undecided."""
        if np.any(self.exponents.real > self.error):
            return "unstable"
        return "stable" if self.growth_bound * self.period <= RESOLVED else "undecided"

    @property
    def is_stable(self) -> bool:
        """The verdict is "stable": of all modes where `is_complete`, else of these."""
        return self.verdict == "stable"

    def __str__(self) -> str:
        count = len(self.multipliers)
        scope = "all" if self.is_complete else "others were not computed"
        lines = [
            f"Floquet: period {self.period:.6g} s, {self.method}, "
            f"{self.verdict} in {count} multipliers ({scope})",
            "    |multiplier|     growth rate, 1/s    frequency, Hz    error, 1/s",
        ]
        if self.interpolated is not None:
            lines.insert(1, f"  {self.interpolated}")
        if self.basis:
            lines.insert(1, f"  {self.basis}")
        if self.narrowest_visible > 0.0:
            share = 100.0 * self.narrowest_visible / self.period
            lines.insert(
                1,
                f"  pulses of the matrices narrower than {self.narrowest_visible:.2g} s "
                f"({share:.2g} % of the period) may be unseen",
            )
        heard = np.abs(self.exponents.imag) / (2.0 * np.pi)
        if self.propagation is not None:
            heard = self.frequency
        rows = zip(self.multipliers, self.exponents, heard, self.error, strict=True)
        for mu, s, hertz, e in rows:
            lines.append(f"  {abs(mu):14.9g} {s.real:+20.9e} {hertz:16.6g} {e:13.1e}")
        return "\n".join(lines)


def of_logs(
    logs: Complex, vectors: Complex, error: Array, period: float, t0: float, method: str
) -> FloquetModes:
    """From log μ, decreasing, Im in (−π, π], and its errors; μ itself may be beyond the range of
    numbers."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        sizes = np.exp(logs.real)
        multipliers = np.where(np.isfinite(sizes), sizes * np.exp(1j * logs.imag), np.inf)
    unit = vectors / np.linalg.norm(vectors, axis=0)
    return FloquetModes(period, t0, multipliers, logs / period, unit, error / period, method)


def periodic_verdict(
    exponents: Complex, error_bound: Array, period: float, proof: int = MODES
) -> Judged:
    """The verdict on exponents (k,), 1/s, with their error bounds (k,).

    proof: COUNT where these are all exponents that may grow, else MODES. "Stable" needs all of
    them, known to a thousandth of growth a period, as in `FloquetModes.verdict`.
    """
    verdict = judge(exponents, error_bound, proof)
    if verdict.unstable_modes:
        return verdict
    bound = float(np.max(exponents.real + error_bound, initial=-np.inf))
    if proof == COUNT and bound * period <= RESOLVED:
        return replace(verdict, verdict=STABLE, proof=COUNT)
    return replace(verdict, verdict=UNDECIDED, proof=MODES)
