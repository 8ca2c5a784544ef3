"""A model whose frozen systems are read off a polynomial through those of another model.

The values of all named matrices, the loads and the free mobilities at a few dozen instants give
them everywhere to about 1e-13 of their sizes (modal/reduction/interpolation.py): an instant then
costs one product with a small table.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from assembly.linalg.combination import Pattern
from assembly.motion.moving import MovingBody
from assembly.system.frozen import DAMPING_PARTS, STIFFNESS_PARTS, FrozenSeries, FrozenSystem
from modal.eigen.tolerances import SMALL, WEAK
from modal.reduction.interpolation import Interpolant, interpolant, irregular
from modal.reduction.tolerances import FEWEST_SAMPLES, MOST_SAMPLES
from modal.types import Array, Index

MOST_NUMBERS = 1 << 25  # of all samples: larger models are not interpolated


class InterpolatedMotion:
    """The frozen systems of a model over a span of time, off a polynomial.

    like: a series of the model, whose pattern and names hold at all times. interpolant: of the
    values of all parts, Q and the free mobilities, in one row (numbers,).
    """

    def __init__(
        self, like: FrozenSeries, interpolant: Interpolant, period: float | None = None
    ) -> None:
        self._like, self.interpolant, self.period = like, interpolant, period

    @classmethod
    def of(
        cls,
        model: Any,
        t0: float,
        t1: float,
        summed: bool = False,
        largest: int = SMALL,
        **options: Any,
    ) -> InterpolatedMotion | None:
        """Off the instants of `model.freeze_many`, or of a small body in motion; None of another
        model, where the matrices are not smooth, or where they are too large to keep.

        Over one period of the matrices (`model.matrix_period`) or more, trigonometric polynomials;
        else Chebyshev's. summed: only M, the sum of all damping and that of all stiffness. largest:
        degrees of freedom of a body. options: further arguments of `freeze_many`.
        """
        if isinstance(model, MovingBody) and len(model.body.free) <= largest:
            period = model.period
        elif hasattr(model, "freeze_many"):
            period = getattr(model, "matrix_period", None)
        else:
            return None

        def freeze_many(times: Array) -> FrozenSeries:
            if isinstance(model, MovingBody):
                series = FrozenSeries.of([model.freeze(t) for t in times.tolist()], times)
            else:
                series = model.freeze_many(times, **options)
            return series.summed() if summed else series

        # Parts that vanish at symmetric positions are there at the others.
        first = freeze_many(t0 + (t1 - t0) * irregular(4))
        names = tuple(first.values)
        places = _rows(first, names)
        most = min(MOST_SAMPLES, MOST_NUMBERS // len(places))
        if most < FEWEST_SAMPLES:
            return None

        def sampled(times: Array) -> Array:
            series = freeze_many(times)
            zero = np.zeros((len(times), len(first.pattern.indices)))
            if set(series.values) - set(names):  # a part that the first instants do not have
                return np.full((len(times), len(places)), np.nan)
            parts = [series.values.get(name, zero) for name in names]
            rigid = np.stack(series.rigid).reshape(len(times), -1)
            return np.concatenate([*parts, series.Q, rigid], axis=1)

        def sizes(values: Array) -> Array:
            size = np.abs(values).max(axis=0)
            largest = np.zeros(int(places.max()) + 1)
            np.maximum.at(largest, places, size)
            mass, damping, stiffness = largest[: 3 * first.n].reshape(3, -1)
            damping[:] = np.maximum(damping, WEAK * np.sqrt(mass * stiffness))
            size = np.maximum(size, WEAK * largest[places])
            return np.asarray(np.where(size > 0.0, size, 1.0))

        with np.errstate(invalid="ignore"):
            found = interpolant(sampled, t0, t1, period, sizes, most)
        return None if found is None else cls(first, found, period)

    def freeze(self, t: float) -> FrozenSystem:
        """The frozen system at time t (s)."""
        return self.freeze_many(np.array([t]))[0]

    def freeze_many(self, times: Array) -> FrozenSeries:
        """The frozen systems at times (P,), s."""
        like, times = self._like, np.asarray(times, dtype=float)
        rows = self.interpolant.many(times)
        width, count = len(like.pattern.indices), len(like.values)
        values = {name: rows[:, k * width : (k + 1) * width] for k, name in enumerate(like.values)}
        Q = rows[:, count * width : count * width + like.n]
        rigid = rows[:, count * width + like.n :].reshape(len(rows), *like.rigid[0].shape)
        return replace(like, times=times, values=values, Q=Q, rigid=tuple(rigid))

    @property
    def n(self) -> int:
        """Degrees of freedom."""
        return self._like.n

    @property
    def pattern(self) -> Pattern:
        """The sparsity (n, n) of all matrices."""
        return self._like.pattern

    def on_entries(self, *groups: tuple[str, ...]) -> Interpolant:
        """Sums of named parts on the entries of the pattern, (groups, entries), as functions of
        time."""
        like, found = self._like, self.interpolant
        assert found.errors is not None
        table = np.vstack([found.table, found.errors])
        width, names = len(like.pattern.indices), list(like.values)
        sums = np.zeros((len(table), len(groups), width))
        for number, group in enumerate(groups):
            for name in group:
                if name in names:
                    k = names.index(name)
                    sums[:, number] += table[:, k * width : (k + 1) * width]
        return replace(found, table=sums[:-1], errors=sums[-1])

    @cached_property
    def _sums(self) -> Interpolant:
        """M, C + D and all stiffness on the entries of the pattern."""
        return self.on_entries(("M",), DAMPING_PARTS, STIFFNESS_PARTS)

    def matrices(self, times: Array) -> Array:
        """M, C + D and all stiffness at times (P,), (3, P, n, n)."""
        return self._dense(self._sums.many(times))

    def errors(self) -> Array:
        """The largest differences of their entries from the model's that were found, (3, n, n)."""
        errors = self._sums.errors
        assert errors is not None
        return self._dense(errors[None])[:, 0]

    def _dense(self, values: Array) -> Array:
        """Values (P, 3, entries) of the pattern as matrices (3, P, n, n)."""
        n, out = self.n, np.zeros((3, len(values), self.n**2))
        rows = np.repeat(np.arange(n), np.diff(self.pattern.indptr))
        out[:, :, rows * n + self.pattern.indices] = values.swapaxes(0, 1)
        return out.reshape(3, len(values), n, n)

    def projected(self, V: Array) -> ProjectedMotion:
        """M, C + D and all stiffness on a space V (n, r), as functions of time.

        The table of the polynomials is projected, once.
        """
        return ProjectedMotion(replace(self._sums, table=self.on_space(self._sums.table, V)))

    def on_space(self, sums: Array, V: Array) -> Array:
        """VᵀAV (m, groups, r, r) of the matrices A with entries `sums` (m, groups, entries)."""
        count, (entries, n) = sums.shape[0] * sums.shape[1], (sums.shape[2], len(V))
        starts = (np.arange(count)[:, None] * entries + self.pattern.indptr[:-1]).reshape(-1)
        columns = np.tile(self.pattern.indices, count)
        parts = (sums.reshape(-1), columns, np.append(starts, count * entries))
        stacked = sp.csr_matrix(parts, shape=(count * n, n))
        return np.asarray(V.T @ (stacked @ V).reshape(*sums.shape[:2], n, -1))


class ProjectedMotion:
    """Small dense matrices of a motion off a polynomial."""

    def __init__(self, interpolant: Interpolant) -> None:
        self.interpolant = interpolant

    def __call__(self, times: Array) -> Array:
        """M, C + D and K at times (P,), (3, P, r, r)."""
        return self.interpolant.many(times).swapaxes(0, 1)


def _rows(series: FrozenSeries, names: tuple[str, ...]) -> Index:
    """For every number of an instant, which numbers its error is compared with: those of its row of
    M, of C + D or of all stiffness, all of Q, or those of one mobility."""
    n = series.n
    row = np.repeat(np.arange(n), np.diff(series.pattern.indptr))
    parts = [row + n * (0 if name == "M" else 1 if name in DAMPING_PARTS else 2) for name in names]
    mobile = series.rigid[0].shape[1]
    rigid = np.tile(np.arange(mobile), n) + 3 * n + 1
    return np.asarray(np.concatenate([*parts, np.full(n, 3 * n), rigid]).astype(np.intp))
