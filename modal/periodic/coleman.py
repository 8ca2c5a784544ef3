"""The transformation to multiblade (Coleman) coordinates, q = T(ψ) z.

Blade b of N is at the azimuth ψ_b. Its degree of freedom reads

    q_b = a_0 + Σ_n (a_nc cos nψ_b + a_ns sin nψ_b) + (−1)ᵇ a_d,    n = 1 … ⌊(N − 1)/2⌋,

with a_d for even N alone (R. P. Coleman and A. M. Feingold, NACA Report 1351, 1958; W. Johnson,
Helicopter Theory, 1980, section 8-4). A pair of degrees of freedom in axes that turn with the rotor
becomes the pair in axes that do not. At a constant rate Ṫ = T S and T̈ = T S² with a constant S.

A mechanism keeps those degrees of freedom that determine the others best, and they may differ from
blade to blade. With all degrees of freedom δ = T_m(t) q, the same ones of every blade are d = E q,
where E is made of their rows of T_m, and q = F d with F = E⁻¹, Ḟ = −F Ė F and
F̈ = −F (Ë F + 2 Ė Ḟ). Then q = F T z.

Names of modes: the pair a_c, a_s of a mode e^{λt}, ω = Im λ > 0, is two waves over the blades,
q_b = ½ (a_c + i a_s) e^{−inψ_b} + ½ (a_c − i a_s) e^{inψ_b}, with the frequencies ω − nΩ and
ω + nΩ in the turning frame. A wave that runs from blade to blade in the direction of rotation is
progressive, one that runs against it regressive: the first wave is progressive above nΩ and
regressive below, the second is regressive (Johnson, section 8-4; of a turbine: forward and backward
whirl).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
import xarray as xr

from assembly.errors import InputError
from modal.data.datasets import described_array
from modal.data.variables import ARRAYS
from modal.types import Array, Complex, Index

FEWEST_BLADES = 3
GROUPS = ("support", "collective", "regressive", "progressive", "reactionless")
SUPPORT, COLLECTIVE, REGRESSIVE, PROGRESSIVE, REACTIONLESS = range(5)


@dataclass(frozen=True)
class Coleman:
    """The transformation of a rotor of N blades with m degrees of freedom each.

    n: number of degrees of freedom. blades (N, m): their numbers, the same order in every blade.
    pairs (p, 2): numbers of (x, y) in axes that turn with the rotor. azimuths (N,): of the blades
    at t = 0, rad. rate: rad/s. The coordinates a_0, a_1c, a_1s, a_2c, …, a_d take the places of
    the blades, in this order. rows (n,): numbers, in those of all bodies of a mechanism, of the
    degrees of freedom that are transformed; None: those of the model.
    """

    n: int
    blades: Index
    pairs: Index
    azimuths: Array
    rate: float
    rows: Index | None = None

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
        c, s = np.cos(self.rate * t), np.sin(self.rate * t)
        return self._on_all(self.columns(t), np.array([[c, s], [-s, c]]), 1.0)

    def _on_all(self, of_blades: Array, of_pairs: Array, of_others: float) -> sp.csr_matrix:
        """The matrix (n, n) that acts on the blades as one (N, N), on every turning pair as one
        (2, 2), and multiplies the other degrees of freedom by a number."""
        sets = (of_blades, self.blades), (of_pairs, self.pairs.T), (of_others, self.others[None])
        rows = np.concatenate([np.repeat(x, len(x), axis=0).ravel() for _, x in sets])
        columns = np.concatenate([np.tile(x, (len(x), 1)).ravel() for _, x in sets])
        values = np.concatenate([np.repeat(A, x.shape[1]) for A, x in sets])
        out = sp.csr_matrix((values, (rows, columns)), shape=(self.n, self.n))
        out.eliminate_zeros()
        return out

    @cached_property
    def others(self) -> Index:
        """Degrees of freedom of neither a blade nor a turning pair."""
        named = np.concatenate([self.blades.ravel(), self.pairs.ravel()])
        return np.setdiff1d(np.arange(self.n), named)

    def of_model(self, model: Any, t: float) -> tuple[Any, Any, Any]:
        """W, Ẇ and Ẅ (n, n) of q = W z, q those of the model."""
        T, S = self.matrix(t), self.rotation
        rate = T @ S
        if self.rows is None:
            return T, rate, rate @ S
        F, turned, bent = self.of_blades(model, t)
        return F @ T, turned @ T + F @ rate, bent @ T + 2.0 * turned @ rate + F @ (rate @ S)

    def of_blades(self, model: Any, t: float) -> tuple[Array, Array, Array]:
        """F, Ḟ and F̈ (n, n) of q = F d, d the degrees of freedom that are alike in all blades."""
        E, first, second = (A[self.rows].toarray() for A in model.transformation(t))
        F = la.inv(E)
        turned = -F @ first @ F
        return F, turned, -F @ (second @ F + 2.0 * first @ turned)

    def backwards(self, model: Any, t: float, q: Any) -> Any:
        """z (n, ...) of degrees of freedom q (n, ...) of the model."""
        d = q if self.rows is None else model.transformation(t)[0][self.rows] @ q
        T = self.matrix(t)
        sizes = np.asarray(T.power(2).sum(axis=0)).ravel()  # of its columns, which are orthogonal
        return np.asarray((np.asarray(T.T @ d).T / sizes).T)

    @cached_property
    def rotation(self) -> sp.csr_matrix:
        """S (n, n) of Ṫ = T S."""
        turn = np.array([[0.0, self.rate], [-self.rate, 0.0]])
        of_blades = np.zeros((self.count, self.count))
        for n in range(1, self.waves + 1):
            of_blades[2 * n - 1 : 2 * n + 1, 2 * n - 1 : 2 * n + 1] = n * turn
        return self._on_all(of_blades, turn, 0.0)

    @classmethod
    def of(
        cls,
        n: int,
        blades: Sequence[Sequence[int]],
        pairs: Sequence[Sequence[int]],
        azimuths: Array,
        rate: float,
        rows: Index | None = None,
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
        return cls(n, numbers, turning, np.asarray(azimuths, dtype=float), float(rate), rows)


def wave_shares(
    coleman: Coleman, M: sp.csr_matrix, eigenvalues: Complex, shapes: Complex
) -> xr.DataArray:
    """Shares (mode, group) of the groups in shapes (n, k), by their own inertia in M.

    All waves with two or more periods around the rotor, and the differential coordinate of an even
    number of blades, move no hub: they are reactionless.
    """
    energy = np.zeros((shapes.shape[1], len(GROUPS)))
    rest = np.concatenate([coleman.others, coleman.pairs.ravel()])
    energy[:, SUPPORT] = _energy(M, rest, shapes[rest])
    energy[:, COLLECTIVE] = _energy(M, coleman.blades[0], shapes[coleman.blades[0]])
    rate = abs(coleman.rate)
    sense = np.sign(coleman.rate)
    upper = np.where(np.imag(eigenvalues) < 0.0, -1.0, 1.0)
    frequency = np.abs(np.imag(eigenvalues))
    for n in range(1, coleman.waves + 1):
        cosine, sine = coleman.blades[2 * n - 1], coleman.blades[2 * n]
        a, b = shapes[cosine], 1j * sense * upper * shapes[sine]
        ahead, against = ((a + s * b) / np.sqrt(2.0) for s in (1.0, -1.0))
        first, second = _energy(M, cosine, ahead), _energy(M, cosine, against)
        if n > 1:
            energy[:, REACTIONLESS] += first + second
            continue
        energy[:, PROGRESSIVE] += np.where(frequency > n * rate, first, 0.0)
        energy[:, REGRESSIVE] += second + np.where(frequency > n * rate, 0.0, first)
    if coleman.count % 2 == 0:
        energy[:, REACTIONLESS] += _energy(M, coleman.blades[-1], shapes[coleman.blades[-1]])
    total = energy.sum(axis=1, keepdims=True)
    values = energy / np.where(total > 0.0, total, 1.0)
    coords = {"group": list(GROUPS)}
    shares = xr.DataArray(values, coords, ("mode", "group"), name="share")
    return described_array(shares, ARRAYS)


def _energy(M: Any, rows: Any, shapes: Complex) -> Array:
    inner = M[rows][:, rows]
    return np.asarray((shapes.conj() * (inner @ shapes)).sum(axis=0).real)


def names_of(shares: Array) -> list[str]:
    """The group with the largest share of each mode; shares (mode, group)."""
    return [GROUPS[i] for i in np.asarray(shares).argmax(axis=-1)]
