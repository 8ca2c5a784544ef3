"""Least distances of two eigenvalues inside a step that are veerings, or where to cut the step.

A veering is distinguished from an approach of two modes by the rate at which the shapes turn into
each other at the least distance g. A pure veering has Δ = (λ_i − λ_j)² = g² + c²s², the angle
½ atan(cs/g) and the rate c/2g.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from modal.data.growth import ROUND_OFF
from modal.tracking import hermite
from modal.tracking.encounters import Encounter, Search
from modal.tracking.matching import Match
from modal.tracking.snapshot import Snapshot
from modal.types import Array, Complex, Index, Mask

# Fraction of the turning rate of a pure veering from which an approach is a veering.
TURN = 0.6
# Fraction of it, predicted from a distance, from which an approach is followed to its end.
SUSPECTED = 0.25
# A veering is closer than this fraction of the frequency.
WIDEST = 0.25
# A veering is located to this part of its width.
OF_WIDTH = 1e-2
# The error of the cubic may be this part of a distance to an event.
CLEAR = 0.5


@dataclass(frozen=True)
class Branches:
    """The followed modes of a step: their numbers at a, values at both ends on their own branches,
    and slopes times the length of the step; the same of the values without the terms that only
    exchange energy (steady), and the errors of these. counted: what the frame prescribes is left
    out.
    """

    number: Index
    lam: tuple[Complex, Complex]
    slope: tuple[Complex, Complex]
    steady: tuple[Complex, Complex]
    steady_slope: tuple[Complex, Complex]
    error: tuple[Array, Array]
    counted: Mask

    @classmethod
    def of(cls, a: Snapshot, b: Snapshot, match: Match, watched: Mask) -> Branches | None:
        """Of the watched modes; None where derivatives are not known."""
        one, two, length = a.variation, b.variation, b.at - a.at
        if one is None or two is None:
            return None
        number = np.flatnonzero(watched & (match.target >= 0))
        target, mirrored = match.target[number], match.mirrored[number]

        def both(before: Complex, after: Complex, factor: float = 1.0) -> tuple[Complex, Complex]:
            onward: Complex = np.where(mirrored, after[target].conj(), after[target])
            return factor * before[number], factor * onward

        return cls(
            number,
            both(a.eigenvalues, b.eigenvalues),
            both(one.slope, two.slope, length),
            both(one.steady, two.steady),
            both(one.steady_slope, two.steady_slope, length),
            (a.steady[1][number], b.steady[1][target]),
            (a.kind[number] != "prescribed") & (b.kind[target] != "prescribed"),
        )


def veerings_inside(
    a: Snapshot, b: Snapshot, branches: Branches, match: Match, met: list[Encounter], search: Search
) -> list[Encounter]:
    """The least distances of two modes inside the step that are veerings, or where to cut.

    met: events of two modes that are known.
    """
    length, found = b.at - a.at, []
    near = distances_inside(branches.lam, branches.slope)
    settled = {frozenset((e.first, e.second)) for e in met}
    for n in np.flatnonzero(near.approach | near.unclear):
        p, q = (int(branches.number[each[n]]) for each in near.pairs)
        ends, unclear, size = [x[n] for x in near.ends], near.unclear[n], near.size[n]
        if frozenset((p, q)) in settled:
            continue
        if near.approach[n] and not near.passes[n]:
            dip = _dip(ends)
            if not unclear and not (
                dip.gap <= 2.0 * WIDEST * size and _suspected(a, b, match, p, q, ends, dip)
            ):
                continue
            width = dip.gap / max(abs(ends[2]), abs(ends[3]), 1e-300)
            edge = max(search.tolerance / abs(length), OF_WIDTH * width)
            tau, inside = dip.tau, min(dip.tau, 1.0 - dip.tau) > edge
            if not inside:
                pair = (p, q) if tau <= 0.5 else (int(match.target[p]), int(match.target[q]))
                turn = 2.0 * _turn(a if tau <= 0.5 else b, *pair) * abs(length) * dip.gap
                if dip.gap <= WIDEST * size and turn >= TURN * dip.speed:
                    found.append(Encounter(p, q, a.at + tau * length, dip.gap, "veering"))
                continue
        elif unclear:
            # Two crossings inside the step have the other order between them.
            along = near.along[:, n]
            passes = along.imag * np.sign(ends[0].imag)
            tau = hermite.lowest_inside(passes if near.passes[n] else np.abs(along))
        else:
            continue
        found.append(Encounter(p, q, a.at + tau * length, 0.0, "cut"))
    return found


@dataclass(frozen=True)
class Distances:
    """The differences of all pairs of modes inside a step.

    pairs: places of the modes of each pair. ends: at both ends, and their slopes times the length
    of the step; size: the larger |λ|. along (PLACES, pairs): between the ends. passes: whether
    the order of frequency changes; unclear, approach: whether it may, and whether the distance has
    a least value inside.
    """

    pairs: tuple[Index, Index]
    ends: list[Complex]
    size: Array
    along: Complex
    passes: Mask
    unclear: Mask
    approach: Mask


def distances_inside(lam: tuple[Complex, Complex], slope: tuple[Complex, Complex]) -> Distances:
    """From λ and slopes times the length of the step at both ends, each (R,)."""
    p, q = np.triu_indices(lam[0].shape[-1], 1)
    d = [x[..., p] - x[..., q] for x in (*lam, *slope)]
    absolute = np.abs(lam[0])
    size = np.maximum(absolute[..., p], absolute[..., q])
    usable = (np.abs(d[0]) > ROUND_OFF * size) & (np.abs(d[1]) > ROUND_OFF * size)
    for x in lam:
        moving = np.abs(x.imag)
        usable &= np.minimum(moving[..., p], moving[..., q]) > ROUND_OFF * size
    usable &= np.isfinite(d[2]) & np.isfinite(d[3]) & (d[0].imag * d[1].imag > 0.0)
    approach = ((d[0].conj() * d[2]).real < 0.0) & ((d[1].conj() * d[3]).real >= 0.0)
    along = hermite.along(hermite.coefficients(*d))
    nearest = np.abs(along).min(axis=0)
    passes = (along.imag * np.sign(d[0].imag)).min(axis=0) < 0.0
    unclear = usable & (passes | (hermite.error(*d) > CLEAR * nearest))
    return Distances((p, q), d, size, along, passes, unclear, usable & approach)


@dataclass(frozen=True)
class _Dip:
    """Least distance of two eigenvalues: τ, rad/s, and √(Δ″/2) there, per length of the step."""

    tau: float
    gap: float
    speed: float


def _dip(ends: list[complex]) -> _Dip:
    """From the cubic of Δ = (λ_i − λ_j)² over the step."""
    start, end, slope, onward = ends
    squares = start**2, end**2, 2.0 * start * slope, 2.0 * end * onward
    c = hermite.coefficients(*(np.asarray(x) for x in squares))
    tau = hermite.lowest(np.abs(hermite.along(c)))
    bend = abs(complex(c[2] + 3.0 * c[3] * tau))
    return _Dip(tau, float(np.sqrt(np.abs(hermite.value(c, tau)))), float(np.sqrt(bend)))


def _turn(s: Snapshot, i: int, j: int) -> float:
    """Rate at which the shapes of two modes turn into each other, rad per unit of the sweep."""
    assert s.variation is not None
    change = s.variation.change[0]
    distance = abs(s.eigenvalues[i] - s.eigenvalues[j])
    return float(np.sqrt(abs(change[i, j] * change[j, i])) / max(distance, 1e-300))


def _suspected(
    a: Snapshot, b: Snapshot, match: Match, i: int, j: int, ends: list[complex], dip: _Dip
) -> bool:
    """Whether the shapes turn, at either end, as they do on the way to a veering of this gap.

    At distance D a veering of gap g turns by 2θ′ = g √(D² − g²)/D² × |d|D|/ds| … and g follows.
    """
    length = abs(b.at - a.at)
    one, two = _turn(a, i, j), _turn(b, int(match.target[i]), int(match.target[j]))
    for turn, distance, slope in ((one, ends[0], ends[2]), (two, ends[1], ends[3])):
        wide = 4.0 * (turn * length) ** 2 * abs(distance) ** 2
        along = abs((np.conj(distance) * slope).real) / abs(distance)
        predicted = abs(distance) * np.sqrt(wide / max(along**2 + wide, 1e-300))
        if predicted >= SUSPECTED * dip.gap:
            return True
    return False
