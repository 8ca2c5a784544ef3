"""Least distances of two eigenvalues inside a step that are veerings, or where to cut the step.

A veering is distinguished from an approach of two modes by the rate at which the shapes turn into
each other at the least distance g. A pure veering has Δ = (λ_i − λ_j)² = g² + c²s², the angle
½ atan(cs/g) and the rate c/2g.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from modal.data.growth import growth_floor
from modal.eigen.tolerances import HALF
from modal.tracking import hermite
from modal.tracking.encounters import Encounter, Search
from modal.tracking.matching import Match
from modal.tracking.snapshot import Snapshot
from modal.tracking.variation import transposed
from modal.types import Array, Complex, Index, Mask


@dataclass(frozen=True)
class Branches:
    """Of each mode the values at both ends of a step on its own branch, NaN where it ends, and
    slopes times the length of the step; the same of the values without the terms that only
    exchange energy (steady), and the errors of these. counted: goes on, not prescribed by the
    frame. turn: rates at both ends at which the shapes of two modes turn into each other, (K, K)
    rad a step. Of P steps every array has one more axis, the first.
    """

    lam: tuple[Complex, Complex]
    slope: tuple[Complex, Complex]
    steady: tuple[Complex, Complex]
    steady_slope: tuple[Complex, Complex]
    error: tuple[Array, Array]
    counted: Mask
    turn: tuple[Array, Array]

    @classmethod
    def of(cls, a: Snapshot, b: Snapshot, match: Match) -> Branches | None:
        """None where derivatives are not known."""
        one, two, length = a.variation, b.variation, np.asarray(b.at - a.at)[..., None]
        if one is None or two is None:
            return None
        lost = match.target < 0

        def both(before: Complex, after: Complex, factor: Any = 1.0) -> tuple[Complex, Complex]:
            onward = match.onward(after)
            onward = np.where(lost, np.nan, np.where(match.mirrored, onward.conj(), onward))
            return factor * before, factor * onward

        here, there = (_turns(s, length[..., None]) for s in (a, b))
        there = np.take_along_axis(there, match.target[..., None], -2)
        there = np.take_along_axis(there, match.target[..., None, :], -1)
        free = (a.kind != "prescribed") & (match.onward(b.kind) != "prescribed")
        return cls(
            both(a.eigenvalues, b.eigenvalues),
            both(one.slope, two.slope, length),
            both(one.steady, two.steady),
            both(one.steady_slope, two.steady_slope, length),
            (a.steady[1], match.onward(b.steady[1])),
            free & ~lost,
            (here, there),
        )

    @property
    def may_grow(self) -> Mask:
        """The modes at a that may grow for a while inside, though they do not at the ends, (K,)."""
        return self.growth_changes[0] & self.counted

    @cached_property
    def growth_changes(self) -> tuple[Mask, Array]:
        """Which modes may start and stop growing inside the step, (K,); and the curves (PLACES, K)
        that are lowest there."""
        one, two = self.steady
        slope, onward = self.steady_slope
        level = np.maximum(growth_floor(one) + self.error[0], growth_floor(two) + self.error[1])
        growing = one.real > level
        sign_each = np.where(growing, -1.0, 1.0)
        curve = sign_each * (self._along.real - level)
        off, extreme = hermite.error(one.real, two.real, slope.real, onward.real), curve.max(axis=0)
        reached = ((extreme + off > 0.0) & (off > level)) | (extreme > 0.0)
        reached |= _tangents_meet(
            [sign_each * (x.real - level) for x in (one, two)],
            [sign_each * x.real for x in (slope, onward)],
        )
        return reached & self._moves & (growing == (two.real > level)), -curve

    @cached_property
    def oscillation_changes(self) -> tuple[Mask, Array]:
        """Which modes may stop and start oscillating inside the step, and the curves, the same."""
        one, two = self.steady
        curve = np.sign(one.imag) * self._along.imag
        off = hermite.error(*(x.imag for x in (*self.steady, *self.steady_slope)))
        reached = curve.min(axis=0) - off < 0.0
        return reached & self._moves & (one.imag * two.imag > 0.0), curve

    @cached_property
    def _along(self) -> Complex:
        return hermite.along(hermite.coefficients(*self.steady, *self.steady_slope))

    @cached_property
    def _moves(self) -> Mask:
        """Modes that oscillate at both ends, with slopes that are known, (K,)."""
        known = np.isfinite(self.steady_slope).all(axis=0)
        moves = [np.abs(x.imag) > growth_floor(x) for x in self.steady]
        return np.asarray(known & moves[0] & moves[1])

    def approaches(
        self, first: Index, second: Index, clear: float = 0.5, widest: float = 0.25
    ) -> Approaches:
        """Among R pairs of modes those that may meet inside the step.

        clear: part of a distance to an event that the error of the cubic may be. widest: of the
        frequency; a veering is closer.
        """
        d = [x[..., first] - x[..., second] for x in (*self.lam, *self.slope)]
        size = np.abs(self.lam[0])
        size = np.maximum(size[..., first], size[..., second])
        apart = [np.abs(x) for x in d[:2]]
        apart += [np.abs(x.imag[..., pair]) for x in self.lam for pair in (first, second)]
        usable = (np.array(apart) > HALF * size).all(axis=0) & (d[0].imag * d[1].imag > 0.0)
        usable &= np.isfinite(d[2]) & np.isfinite(d[3])
        nearer = ((d[0].conj() * d[2]).real < 0.0) & ((d[1].conj() * d[3]).real >= 0.0)
        along = hermite.along(hermite.coefficients(*d))
        distance, order = np.abs(along), along.imag * np.sign(d[0].imag)
        passes = order.min(axis=0) < 0.0  # the order of frequency changes, and back
        unclear = passes | (hermite.error(*d) > clear * distance.min(axis=0))

        some = np.nonzero(usable & (nearer | unclear))
        ends = [x[some] for x in d]
        tau, gap, speed = _dips(*ends)
        turns = [x[..., first, second][some] for x in self.turn]
        dip, close = (nearer & ~passes)[some], gap <= widest * size[some]
        near = (gap <= 2.0 * widest * size[some]) & _suspected(ends, gap, turns)
        kept = np.flatnonzero(unclear[some] | (dip & near))
        course = np.moveaxis(np.where(passes, order, distance), 0, -1)[some]
        width = gap / np.maximum(np.maximum(*np.abs(ends[2:])), 1e-300)
        parts: Any = (dip, tau, gap, speed, width, close, *turns, course)
        return Approaches(*[*(x[kept] for x in parts), tuple(x[kept] for x in some)])


@dataclass(frozen=True)
class Approaches:
    """N pairs that may meet inside a step.

    dip (N,): the distance of the two has a least value, at tau, parts of the step, of gap, rad/s;
    of the others course (N, PLACES) is lowest there. speed, width: of the dip; close: a veering may
    be so wide; turn, onward: rates at which the two shapes turn at both ends. pair: number of the
    pair; of P steps numbers of steps and of pairs.
    """

    dip: Mask
    tau: Array
    gap: Array
    speed: Array
    width: Array
    close: Mask
    turn: Array
    onward: Array
    course: Array
    pair: tuple[Index, ...]


def _tangents_meet(ends: list[Array], slopes: list[Array]) -> Mask:
    """Whether the tangents at both ends meet above zero inside the step: a concave curve between
    them, negative at both, may pass zero."""
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = (ends[1] - ends[0] - slopes[1]) / (slopes[0] - slopes[1])
        height = ends[0] + slopes[0] * tau
    return np.asarray((slopes[0] > 0.0) & (slopes[1] < 0.0) & (height > 0.0))


pairs_of = lru_cache(maxsize=64)(partial(np.triu_indices, k=1))  # so many modes


def veerings_inside(
    a: Snapshot,
    b: Snapshot,
    match: Match,
    branches: Branches,
    watched: Mask,
    met: list[Encounter],
    search: Search,
    *,
    turned: float = 0.6,
    of_width: float = 1e-2,
) -> list[Encounter]:
    """The least distances of two watched modes inside the step that are veerings, or where to cut.

    met: events of two modes that are known. turned: of the turning rate of a pure veering, from
    which an approach is a veering. of_width: part of its width to which a veering is located.
    """
    seen = np.flatnonzero(watched)
    first, second = (seen[place] for place in pairs_of(len(seen)))
    of = branches.approaches(first, second)
    settled = {frozenset((e.first, e.second)) for e in met}

    length, found = b.at - a.at, []
    for n, pair in enumerate(of.pair[0]):
        p, q = int(first[pair]), int(second[pair])
        if frozenset((p, q)) in settled:
            continue
        tau, gap = float(of.tau[n]), float(of.gap[n])
        if not of.dip[n]:
            # Two crossings inside the step have the other order between them.
            tau = hermite.lowest_inside(of.course[n])
        elif min(tau, 1.0 - tau) <= max(search.tolerance / abs(length), of_width * of.width[n]):
            turn = 2.0 * gap * (of.turn if tau <= 0.5 else of.onward)[n]
            if of.close[n] and turn >= turned * of.speed[n]:
                found.append(Encounter(p, q, a.at + tau * length, gap, "veering"))
            continue
        found.append(Encounter(p, q, a.at + tau * length, 0.0, "cut"))
    return found


def _dips(
    start: Complex, end: Complex, slope: Complex, onward: Complex
) -> tuple[Array, Array, Array]:
    """Least distances of two eigenvalues, (N,): τ, rad/s, and √(Δ″/2) there, per length of the
    step; from the cubic of Δ = (λ_i − λ_j)² over the step."""
    c = hermite.coefficients(start**2, end**2, 2.0 * start * slope, 2.0 * end * onward)
    tau = hermite.lowest(np.abs(hermite.along(c)))
    bend = np.abs(c[2] + 3.0 * c[3] * tau)
    return tau, np.sqrt(np.abs(hermite.value(c, tau))), np.sqrt(bend)


def _turns(s: Snapshot, length: Array) -> Array:
    """Rate at which the shapes of two modes turn into each other, (K, K) rad per length of the
    step."""
    assert s.variation is not None
    change, lam = s.variation.change[..., 0, :, :], s.eigenvalues
    distance = np.abs(lam[..., :, None] - lam[..., None, :])
    with np.errstate(over="ignore"):  # of modes that coincide
        turn = np.sqrt(np.abs(change * transposed(change))) * np.abs(length)
        return np.asarray(turn / np.maximum(distance, 1e-300))


def _suspected(ends: list[Complex], gap: Array, turns: list[Array], share: float = 0.25) -> Mask:
    """Whether the shapes turn, at either end, as they do on the way to a veering of this gap.

    At distance D a veering of gap g turns by 2θ′ = g √(D² − g²)/D² × |d|D|/ds| … and g follows.
    turns: rates at which the shapes turn at both ends, rad per length of the step.
    share: of the gap, that such a prediction must reach.
    """
    suspected = np.zeros(gap.shape, dtype=bool)
    for turn, distance, slope in zip(turns, ends[:2], ends[2:], strict=True):
        size = np.abs(distance)
        wide = 4.0 * turn**2 * size**2
        along = np.abs((distance.conj() * slope).real) / size
        suspected |= size * np.sqrt(wide / np.maximum(along**2 + wide, 1e-300)) >= share * gap
    return suspected
