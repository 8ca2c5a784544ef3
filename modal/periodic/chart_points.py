"""The points of a Hill chart one by one, each by its own Floquet analysis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.errors import ConvergenceError
from modal.maps.grid import Grid, named
from modal.maps.store import Slices
from modal.maps.verdict_columns import columns
from modal.periodic.floquet import floquet
from modal.periodic.floquet_modes import periodic_verdict
from modal.proofs.codes import COUNT, MODES
from modal.proofs.judge import Verdict
from modal.provenance.fingerprint import TIMES, MotionProbe, PointPrints
from modal.transient.equations import instants
from modal.types import Array

Period = float | Callable[..., float]

FULL = 1  # value of the map's flag `source`


class ChartPoints:
    """A chart: the models of its points, their periods, and the verdict on one of them."""

    def __init__(self, grid: Grid, period: Period, k: int, breaks: Sequence[float]) -> None:
        self.grid, self.k, self.breaks = grid, k, breaks
        self._period = period

    def period(self, point: Mapping[str, float]) -> float:
        """Of the motion at a point, s."""
        if callable(self._period):
            return float(self._period(**point, **self.grid.constants))
        return self._period

    def motion(self, point: Mapping[str, float]) -> tuple[Any, float]:
        """The model of a point and its period, s."""
        return self.grid.model(**point, **self.grid.constants), self.period(point)

    def prints(self) -> PointPrints:
        """The fingerprints of the family: its period and its matrices at a few instants of it."""
        probe = MotionProbe()

        def of(point: Mapping[str, float]) -> Array:
            axes = self.grid.axes
            place = [int(np.argmax(axes[name] == value)) for name, value in point.items()]
            model, period = self.motion(point)
            times = period * np.random.default_rng([37, *place]).uniform(size=TIMES)
            return probe.of(instants(model, times), period)

        return PointPrints(self.grid.points, self.grid.sampled(), of, MotionProbe.rows)

    def tile(self, tile: Slices) -> dict[str, NDArray[Any]]:
        """The columns of the points of a tile."""
        points = self.grid.points(tile)
        source = np.full(len(points), FULL, dtype=np.int8)
        return columns([self.verdict(point) for point in points], source)

    def verdict(self, point: Mapping[str, float]) -> Verdict:
        """Of one point. Raises ConvergenceError with its name."""
        model, T = self.motion(point)
        try:
            found = floquet(model, T, k=self.k, breaks=self.breaks)
        except ConvergenceError as fault:
            raise ConvergenceError(f"at {named(point)}: {fault}", partial=fault.partial) from fault
        # Where the error is infinite the exponent is an upper bound: below zero it is not critical.
        counted = np.isfinite(found.error) | (found.exponents.real > 0.0)
        proof = COUNT if found.is_complete else MODES
        return periodic_verdict(found.exponents[counted], found.error[counted], T, proof)
