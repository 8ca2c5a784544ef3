"""Springs and dampers of elastic drives and bushings: their steady forces and their matrices.

Row k of the conditions has the gradient g_k. A spring S and a damper c on a group G of rows act
with −Gᵀ(S x + c ẋ) on the degrees of freedom; with x = x₀(t) + G δ + ½ δᵀHδ the terms of first
order are

    Gᵀ S G,   Gᵀ c G δ̇ + Gᵀ c Ġ δ,   Σ w_k H_k,

w = S x₀ + c ẋ₀ the steady force. The last belongs to all conditions alike, w their multipliers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assembly.mechanisms.bushings import Bushing
from assembly.mechanisms.deflections import Deflected, Deflections
from assembly.mechanisms.drivers import Driver
from assembly.types import Array, Index, Mask


@dataclass(frozen=True)
class ElasticTerms:
    """Stiffness, damping and Gᵀ c Ġ (J, J) over the constrained DOFs."""

    stiffness: Array
    damping: Array
    transport: Array


class Compliance:
    """Elastic drives and bushings of a mechanism, on its rows: conditions, then deflections.

    drives: drivers and their rows. count: number of conditions. mean_rows: for each bushing, the
    conditions that keep its mean deflection at zero; none where joints determine it.
    """

    def __init__(
        self,
        drives: list[tuple[int, Driver]],
        bushings: tuple[Bushing, ...],
        deflections: Deflections | None,
        mean_rows: list[Index],
        count: int,
    ) -> None:
        self.deflections, self.count = deflections, count
        self._drives = [(row, d) for row, d in drives if d.gives or d.damping != 0.0]
        self.bushings, self._mean_rows = bushings, mean_rows
        self.size = count + (0 if deflections is None else len(deflections))

    @property
    def varies(self) -> bool:
        """Whether a stiffness or damping is a function of time."""
        drives = [callable(d.stiffness) or callable(d.damping) for _, d in self._drives]
        return any(drives) or any(
            callable(b.stiffness) or callable(b.damping) for b in self.bushings
        )

    def read(self, translation: Mask) -> Mask:
        """Which of the 12 entries of the gradient of each deflection count, (rows, 12).

        translation: of the displacements, as for distances. Deflections that nothing resists are
        left out, unless they keep bodies in place.
        """
        assert self.deflections is not None
        moves, size = self.deflections.moves, self.deflections.size
        read = np.zeros((len(self.bushings), size, 12), dtype=bool)
        read[:, :moves] = translation.reshape(-1, moves, 12)
        read[:, moves:, [3, 4, 5, 9, 10, 11]] = True
        for number, bushing in enumerate(self.bushings):
            if not len(self._mean_rows[number]):
                read[number, ~bushing.acts(size)] = False
        return read.reshape(-1, 12)

    @property
    def is_empty(self) -> bool:
        """Whether there is neither an elastic drive, nor a damper, nor a bushing."""
        return not self._drives and not self.bushings

    def rows(self, number: int) -> Index:
        """The rows of a bushing's deflection."""
        assert self.deflections is not None
        size = self.deflections.size
        return self.count + number * size + np.arange(size)

    def carried(self) -> Mask:
        """Rows (rows,) whose steady force a spring transmits, so that they deflect under it."""
        out = np.zeros(self.size, dtype=bool)
        for row, drive in self._drives:
            out[row] = drive.carries
        for number, bushing in enumerate(self.bushings):
            rows = self.rows(number)
            held_at_mean = len(self._mean_rows[number]) > 0
            out[rows] = bushing.carries(len(rows)) if held_at_mean else True
        return out

    def steady(self, t: float, at: Deflected | None) -> Array:
        """Forces (rows,) at zero elastic deflection: dampers, preload, bushings that joints
        stretch."""
        out = np.zeros(self.size)
        for row, drive in self._drives:
            out[row] = drive.damping_at(t) * drive.law.at(t)[1]
        for number, bushing in enumerate(self.bushings):
            assert at is not None
            rows = self.rows(number)
            own, size = rows - self.count, len(rows)
            out[rows] = bushing.stiffness_at(t, size) @ at.x[own] + bushing.preload_of(size)
            out[rows] += bushing.damping_at(t, size) @ at.rate[own]
        return out

    def total(self, multipliers: Array, steady: Array, wrench: Array) -> Array:
        """Force (rows,) of every row: multipliers (count,) of the conditions; for a bushing that
        keeps its bodies in place, what these multipliers exert on its second body besides.

        wrench (rows, 12): gradients by the motions of the points.
        """
        out = steady.copy()
        out[: self.count] = multipliers
        for number, mean in enumerate(self._mean_rows):
            if len(mean):
                rows = self.rows(number)
                entries = [6, 7, 11] if len(rows) == 3 else list(range(6, 12))
                exerted = multipliers[mean] @ wrench[mean][:, entries]
                out[rows] += np.linalg.solve(wrench[rows][:, entries].T, exerted)
                out[mean] = 0.0
        return out

    def terms(self, t: float, gradient: Array) -> ElasticTerms:
        """The matrices at time t (s); gradient (≥ 2, rows, J) with its first rate."""
        G, dG = gradient[:2]
        K, D, transport = np.zeros((3, G.shape[1], G.shape[1]))
        blocks = [
            (
                np.array([row]),
                np.array([[drive.stiffness_at(t)]]),
                np.array([[drive.damping_at(t)]]),
            )
            for row, drive in self._drives
        ]
        for number, bushing in enumerate(self.bushings):
            rows = self.rows(number)
            size = len(rows)
            blocks.append((rows, bushing.stiffness_at(t, size), bushing.damping_at(t, size)))
        for rows, stiffness, damping in blocks:
            K += G[rows].T @ stiffness @ G[rows]
            D += G[rows].T @ damping @ G[rows]
            transport += G[rows].T @ damping @ dG[rows]
        return ElasticTerms(K, D, transport)
