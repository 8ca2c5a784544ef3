"""Points of a map whose model is a mechanism with large links: all from bases of the links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.errors import AccuracyError
from assembly.mechanisms.mechanism import Mechanism
from assembly.mechanisms.mechanism_system import MechanismSystem
from modal.maps.grid import Grid, named
from modal.maps.store import Prints, Slices
from modal.maps.verdict_columns import NOISE, SHARPEST, VALIDATION, columns
from modal.proofs.judge import Verdict, judge
from modal.provenance.fingerprint import ROWS, PointPrints, Probe
from modal.provenance.link_prints import LinkProbe
from modal.reduction.link_instants import Options
from modal.reduction.link_reducer import LinkModes, LinkReducer, Points, linked
from modal.reduction.spot_check import check_links
from modal.types import Array, Index, Mask

# Points of one mechanism: its number in the list, their numbers and times.
Group = tuple[Mechanism, Index, Array]


def link_method(grid: Grid, k: int, tolerance: float, checks: int) -> LinkMethod | None:
    """The method, where every corner of the grid is the same links in motion."""
    corners = grid.sampled(0)
    systems = [linked(grid.freeze(point)) for point in corners]
    first = systems[0]
    if first is None:
        return None
    for system in systems[1:]:
        if system is None or not same_links(first, system):
            return None
    return LinkMethod(grid, k, tolerance, checks, first)


def same_links(one: MechanismSystem, other: MechanismSystem) -> bool:
    """Whether two mechanisms consist of the same large bodies, and are frozen in the same way."""
    ours, theirs = one.mechanism, other.mechanism
    options = [(s.transport, s.prestress, s.driven) for s in (one, other)]
    return (
        options[0] == options[1]
        and ours.bodies.keys() == theirs.bodies.keys()
        and all(ours.bodies[b] is theirs.bodies[b] for b in ours.bodies if ours.is_large(b))
        and np.array_equal(ours.topology.offsets, theirs.topology.offsets)
        and np.array_equal(ours.topology.touched, theirs.topology.touched)
        and np.array_equal(ours.held(one.driven), theirs.held(other.driven))
    )


class LinkMethod:
    """All points from reduced bases of the links.

    The bases are grown on the training points and on seeded random ones; points of a tile that are
    not accurate enough get one private extension of them, so that a tile depends on `prepare`
    alone.
    """

    solver = "reduced bases of links"

    def __init__(
        self, grid: Grid, k: int, tolerance: float, checks: int, first: MechanismSystem
    ) -> None:
        self.grid, self.k, self.tolerance, self.checks = grid, k, tolerance, checks
        self._first = first
        self._options = Options(first.transport, first.prestress is not None, first.driven)
        self._training = self._groups(grid.training())
        self.reducer: LinkReducer | None = None

    def _groups(self, points: list[dict[str, float]]) -> list[Group]:
        """The points by their mechanism."""
        found: dict[int, tuple[Mechanism, list[int], list[float]]] = {}
        for p, point in enumerate(points):
            system = linked(self.grid.freeze(point))
            if system is None or not same_links(self._first, system):
                raise AccuracyError(f"at {named(point)}: the mechanism has other links than before")
            _, numbers, times = found.setdefault(id(system.mechanism), (system.mechanism, [], []))
            numbers.append(p)
            times.append(system.t)
        return [(m, np.array(numbers), np.array(times)) for m, numbers, times in found.values()]

    def _new(self) -> LinkReducer:
        mechanisms = [mechanism for mechanism, _, _ in self._training]
        return LinkReducer(mechanisms, self._options, self.k, self.tolerance)

    def prints(self) -> Prints:
        drawn, small = self.grid.sampled(), LinkProbe(self._first)
        probe = Probe(small.system(self.grid.freeze(drawn[0])))

        def of(point: Mapping[str, float]) -> Array:
            return probe.system(small.system(self.grid.freeze(point)))

        return PointPrints(self.grid.points, drawn, of, ROWS)

    def prepare(self) -> Mapping[str, NDArray[Any]]:
        self.reducer = self._new()
        validation = self._groups(self.grid.drawn(VALIDATION, seed=3))
        for groups in (self._training, validation):
            worst, _ = self.reducer.train([(m, times) for m, _, times in groups])
            if worst > 1.0:
                raise AccuracyError(
                    f"stability_map: an error bound stays {worst:.3g} times above the tolerance "
                    f"{self.tolerance:g}"
                )
        groups = self._groups(self.grid.drawn(4 * self.checks, seed=9))
        points = [(mechanism, float(t)) for mechanism, _, times in groups for t in times]
        check_links(self.reducer, points, self.checks, self.k)
        return self.reducer.arrays()

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.reducer = self._new()
        self.reducer.restore(arrays)

    def tile(self, tile: Slices) -> dict[str, NDArray[Any]]:
        assert self.reducer is not None
        points = self.grid.points(tile)
        groups = self._groups(points)
        numbers = np.concatenate([own for _, own, _ in groups])
        found = self.reducer.solve_all([(mechanism, times) for mechanism, _, times in groups])
        verdicts: list[Verdict | None] = [None] * len(points)
        needed = self._judged(self.reducer, found, numbers, verdicts)
        left = np.isfinite(needed)
        if left.any():
            known, times = _parted(found, left)
            private = self.reducer.branch(max(float(needed.min()), SHARPEST))
            _, found = private.train(times, known)
            self._judged(private, found, numbers[left], verdicts)
        return columns([v for v in verdicts if v is not None], np.zeros(len(points), dtype=np.int8))

    def _judged(
        self,
        reducer: LinkReducer,
        modes: Sequence[LinkModes],
        numbers: Index,
        verdicts: list[Verdict | None],
    ) -> Array:
        """Enter the verdicts of points, by their numbers; the tolerance that each still needs,
        infinite for none.

        A point is finished when its bounds are within the tolerance and no growth rate above
        round-off is below its bound.
        """
        needed = []
        places = iter(numbers)
        for found in modes:
            lam, bounds = found.modes.eigenvalues, found.bounds.error_bound
            accepted = reducer.accepted(found).max(axis=1) <= 1.0
            noise = NOISE * found.bounds.round_off * found.modes.condition
            size = np.abs(lam.real)
            with np.errstate(divide="ignore", invalid="ignore"):
                hidden = (size > noise) & (size <= bounds)
                tolerance = np.where(hidden, 0.5 * size / np.abs(lam), np.inf).min(axis=1)
            tolerance = np.where(tolerance < SHARPEST, np.inf, tolerance)
            needed.append(np.where(accepted, tolerance, np.minimum(tolerance, self.tolerance)))
            for values, error in zip(lam, bounds, strict=True):
                verdicts[next(places)] = judge(values, error)
        return np.concatenate(needed)

    def destroy(self) -> None:
        pass


def _parted(found: Sequence[LinkModes], chosen: Mask) -> tuple[list[LinkModes], list[Points]]:
    """The modes at the chosen instants of all, and the mechanisms and times of these."""
    known, start = [], 0
    for each in found:
        own = np.flatnonzero(chosen[start : start + len(each.instants.times)])
        start += len(each.instants.times)
        if len(own):
            known.append(each.points(own))
    return known, [(each.instants.mechanism.full, each.instants.times) for each in known]
