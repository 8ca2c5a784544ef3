"""Springs and dampers of elastic drives and bushings: their steady forces and their matrices.

Row k of the conditions has the gradient g_k. A spring S and a damper c on a group G of rows act
with −Gᵀ(S x + c ẋ) on the degrees of freedom; with x = x₀(t) + G δ + ½ δᵀHδ the terms of first
order are

    Gᵀ S G,   Gᵀ c G δ̇ + Gᵀ c Ġ δ,   Σ w_k H_k,

w = S x₀ + c ẋ₀ the steady force. The last belongs to all conditions alike, w their multipliers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from assembly.mechanisms.bushings import Bushing
from assembly.mechanisms.deflections import Deflected, Deflections
from assembly.mechanisms.drivers import Driver
from assembly.types import Array, Index, Mask

RATE_STEP = 1e-5  # s, or of the time: step of the central difference of a stiffness over time

OverTime = Callable[[Array], Array]
Group = tuple[Index, OverTime, OverTime]  # rows, and their stiffness and damping over time


@dataclass(frozen=True)
class ElasticTerms:
    """Stiffness, damping and Gᵀ c Ġ (P, J, J) over the constrained DOFs at P instants."""

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
        self._drive_groups: list[Group] = [
            (
                np.array([row]),
                _over_time(drive.stiffness_at, callable(drive.stiffness)),
                _over_time(drive.damping_at, callable(drive.damping)),
            )
            for row, drive in self._drives
        ]
        self._bushing_groups: list[Group] = []
        for number, bushing in enumerate(bushings):
            rows = self.rows(number)
            stiffness = partial(bushing.stiffness_at, size=len(rows))
            damping = partial(bushing.damping_at, size=len(rows))
            self._bushing_groups.append(
                (
                    rows,
                    _over_time(stiffness, callable(bushing.stiffness)),
                    _over_time(damping, callable(bushing.damping)),
                )
            )

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

    def steady(self, t: ArrayLike, at: Deflected | None) -> Array:
        """Forces (..., rows) at zero elastic deflection, at times t (...), s.

        They are those of dampers, of preloads, and of bushings that the joints' motion deflects.
        """
        times = np.asarray(t, dtype=float)
        out = np.zeros((*times.shape, self.size))
        for (row, drive), (_, _, damping) in zip(self._drives, self._drive_groups, strict=True):
            rate = _over_time(drive.rate_at, varies=True)(times)
            out[..., row] = (damping(times) * rate)[..., 0, 0]
        for bushing, (rows, S, c) in zip(self.bushings, self._bushing_groups, strict=True):
            assert at is not None
            own = rows - self.count
            forces = S(times) @ at.x[..., own, None] + c(times) @ at.rate[..., own, None]
            out[..., rows] = forces[..., 0] + bushing.preload_of(len(rows))
        return out

    def beside_joints(self, times: Array, x: Array) -> Array:
        """Forces (P, rows) of the springs of bushings beside joints, at further deflections x."""
        out = np.zeros(x.shape)
        pairs = zip(self._mean_rows, self._bushing_groups, strict=True)
        for rows, stiffness in ((rows, S) for mean, (rows, S, _) in pairs if not len(mean)):
            out[..., rows] = (stiffness(times) @ x[..., rows, None])[..., 0]
        return out

    def forces(self, t: float, x: Array, rate: Array) -> Array:
        """Forces (rows,) of springs, dampers and preloads at time t, s.

        x, rate (rows,): elastic deflections of drives beyond their laws, whole deflections of
        bushings, and their rates.
        """
        out, at = np.zeros(self.size), np.asarray(t, dtype=float)
        for (row, drive), (_, S, c) in zip(self._drives, self._drive_groups, strict=True):
            total = drive.rate_at(float(t)) + rate[row]
            out[row] = S(at)[0, 0] * x[row] + c(at)[0, 0] * total
        for bushing, (rows, S, c) in zip(self.bushings, self._bushing_groups, strict=True):
            out[rows] = S(at) @ x[rows] + c(at) @ rate[rows] + bushing.preload_of(len(rows))
        return out

    def springs(self, t: float, x: Array) -> Array:
        """Forces (rows,) of the springs of drives alone at time t, s."""
        out, at = np.zeros(self.size), np.asarray(t, dtype=float)
        for (row, _), (_, S, _) in zip(self._drives, self._drive_groups, strict=True):
            out[row] = S(at)[0, 0] * x[row]
        return out

    def energy(self, t: float, x: Array) -> float:
        """½ xᵀS x of all springs and the work of preloads on deflections x (rows,), J."""
        at = np.asarray(t, dtype=float)
        groups = (*self._drive_groups, *self._bushing_groups)
        stored = [0.5 * x[rows] @ S(at) @ x[rows] for rows, S, _ in groups]
        preloads = zip(self.bushings, self._bushing_groups, strict=True)
        stored += [b.preload_of(len(rows)) @ x[rows] for b, (rows, _, _) in preloads]
        return float(sum(stored))

    def parametric_power(self, t: float, x: Array) -> float:
        """½ xᵀ(dS/dt) x of springs whose stiffness is a function of time, W."""
        if not self.varies:
            return 0.0
        h = RATE_STEP * max(1.0, abs(t))
        rest = self.energy(t - h, x), self.energy(t + h, x)
        return (rest[1] - rest[0]) / (2.0 * h)

    def dissipation(self, t: float, rate: Array) -> float:
        """What the dampers of drives and bushings take at rates (rows,) of deflections, W."""
        at, taken = np.asarray(t, dtype=float), []
        for (row, drive), (_, _, c) in zip(self._drives, self._drive_groups, strict=True):
            taken.append(c(at)[0, 0] * (drive.rate_at(float(t)) + rate[row]) ** 2)
        for rows, _, c in self._bushing_groups:
            taken.append(rate[rows] @ c(at) @ rate[rows])
        return float(sum(taken))

    def total(self, multipliers: Array, steady: Array, wrench: Array) -> Array:
        """Force (..., rows) of every row.

        multipliers (..., m): of the conditions. Those that keep the mean of a bushing are turned
        into the force that the bushing exerts on its second body. wrench (..., rows, 12): gradients
        by the motions of the points.
        """
        out = steady.copy()
        out[..., : self.count] = multipliers
        for number, mean in enumerate(self._mean_rows):
            if len(mean):
                rows = self.rows(number)
                entries = [6, 7, 11] if len(rows) == 3 else list(range(6, 12))
                of_mean, own = (wrench[..., chosen, :][..., entries] for chosen in (mean, rows))
                exerted = multipliers[..., None, mean] @ of_mean
                transposed = own.swapaxes(-1, -2)
                out[..., rows] += np.linalg.solve(transposed, exerted.swapaxes(-1, -2))[..., 0]
                out[..., mean] = 0.0
        return out

    def terms(self, times: Array, gradient: Array) -> ElasticTerms:
        """The matrices at times (P,), s; gradient (≥ 2, P, rows, J) with its first rate."""
        G, dG = gradient[:2]
        K, D, transport = np.zeros((3, *G.shape[:-2], G.shape[-1], G.shape[-1]))
        for rows, S, c in (*self._drive_groups, *self._bushing_groups):
            g, rate, stiffness, damping = G[..., rows, :], dG[..., rows, :], S(times), c(times)
            gt = g.swapaxes(-1, -2)
            K += gt @ stiffness @ g
            D += gt @ damping @ g
            transport += gt @ damping @ rate
        return ElasticTerms(K, D, transport)


def _over_time(value: Callable[[float], ArrayLike], varies: bool) -> OverTime:
    """A matrix as a function of times (...): (..., r, r), evaluated once where it is constant."""
    if not varies:
        constant = np.atleast_2d(np.asarray(value(0.0), dtype=float))
        return lambda times: np.broadcast_to(constant, (*times.shape, *constant.shape))

    def sampled(times: Array) -> Array:
        values = np.array([np.atleast_2d(value(float(t))) for t in times.ravel()])
        return np.asarray(values.reshape((*times.shape, *values.shape[1:])))

    return sampled
