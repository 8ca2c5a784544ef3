"""Two eigenvalues that meet between two instants: crossing, veering, or a narrow instability.

The square of the difference of two eigenvalues, Δ(s) = (λ_i − λ_j)², is an analytic function of the
parameter even where the eigenvalues themselves branch (Kato, Perturbation Theory, ch. II §1), so
near a meeting it is a parabola, c (s − z₀)(s − z₁). Its roots, the exceptional points, distinguish
the cases:

- z₀ = z₁: the eigenvalues cross; each keeps its shape;
- roots on both sides of the real axis: λ_i − λ_j keeps its sign; the branches veer and exchange
  shapes, and the least distance is √|Δ| at the real part of (z₀ + z₁)/2;
- both on one side: the frequencies cross while the damping tells the modes apart;
- two real roots: between them the frequencies lock, and one mode may grow. Whether it does is asked
  of the modes there, as of any other onset (modal/tracking/inspection.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from modal.data.growth import ROUND_OFF, grows
from modal.tracking.matching import Match, Overlap, align
from modal.tracking.snapshot import Snapshot
from modal.types import Complex, Index

Kind = Literal[
    "locked",
    "crossing",
    "veering",
    "flutter onset",
    "divergence onset",
    "split",
    "critical damping",
    "unresolved",
]

ROUNDS = 8
# Limits of the factors by which its three points are spread in a further round.
SHRINK, WIDEN = 0.05, 5.0
# The first ones are this part of the step apart: the straight line between the two ends does not
# say better where they meet.
NARROW, WIDE = 0.005, 0.1
# A parabola through three points is believed when its half-distance of roots is this part of their
# spacing.
RESOLVED = 0.25
# Sum of the four MACs of a pair with the two ends (4 when nothing else takes part), …
CAPTURED = 2.4
# … and the share of a third mode in the pair, of that of its lesser member, above which it does.
THIRD = 0.5
# Part of the gap by which the difference at the vertex of the parabola may differ from it.
AGREED = 0.1


@dataclass(frozen=True)
class Encounter:
    """What happens to mode `first`, with mode `second` or −1: where (parameter), the least
    |λ_i − λ_j| of a veering (rad/s), what it is. newborn: the mode of the instant after it that
    begins there as the other root, −1 for none. "locked" asks for an extra instant at the place,
    where one of the two grows and not at both ends; it is no event.
    """

    first: int
    second: int
    at: float
    gap: float
    kind: Kind
    newborn: int = -1


@dataclass(frozen=True)
class _Pair:
    """Two modes of instant a and what continues them at b; differences of their eigenvalues at both
    ends, and how many of them grow there.
    """

    i: int
    j: int
    at_a: complex
    at_b: complex
    size: float
    growing: tuple[int, int]


def swapped_pairs(
    a: Snapshot, b: Snapshot, match: Match, watched: NDArray[Any]
) -> list[tuple[int, int]]:
    """Pairs whose order of frequency changes between a and b if each mode keeps its shape."""
    kept = np.flatnonzero(match.target >= 0)
    before, after = a.eigenvalues[kept].imag, continued(b, match)[kept].imag
    tie = ROUND_OFF * np.abs(a.eigenvalues[kept])
    apart_a, apart_b = np.subtract.outer(before, before), np.subtract.outer(after, after)
    floor = np.maximum.outer(tie, tie)
    turned = (apart_a * apart_b < 0.0) & (np.abs(apart_a) > floor) & (np.abs(apart_b) > floor)
    oscillates = (np.abs(before) > tie) & (np.abs(after) > tie)
    turned &= np.logical_and.outer(oscillates, oscillates)
    if not turned.any():
        return []
    pairs = np.argwhere(np.triu(turned))
    found = [(int(kept[p]), int(kept[q])) for p, q in pairs if watched[kept[p]] or watched[kept[q]]]
    lam_b = continued(b, match)
    return sorted(
        found,
        key=lambda p: _zero(a.eigenvalues[p[0]] - a.eigenvalues[p[1]], lam_b[p[0]] - lam_b[p[1]]),
    )


def continued(b: Snapshot, match: Match) -> Complex:
    """The eigenvalue at b of each mode of a on its own branch (conjugate where it passed through
    zero).
    """
    lam = b.eigenvalues[match.target]
    return np.where(match.mirrored, lam.conj(), lam)


def _zero(start: complex, end: complex) -> float:
    """The place on 0 … 1 where the straight line from start to end is nearest to zero."""
    step = end - start
    return float(np.clip(-(start * np.conj(step)).real / max(abs(step) ** 2, 1e-300), 0.0, 1.0))


def examine(
    a: Snapshot,
    b: Snapshot,
    match: Match,
    overlap: Overlap,
    first: int,
    second: int,
    solve: Callable[[float], Snapshot | None],
    tolerance: float,
) -> Encounter | None:
    """The meeting of two modes between a and b; None where a third mode takes part in it.

    Extra instants are used where the coupling of the modes is not clearly zero.

    tolerance: a least distance below tolerance |λ| is a crossing.
    """
    lam_b = continued(b, match)
    size = max(abs(a.eigenvalues[first]), abs(a.eigenvalues[second]))
    pair = _Pair(
        first,
        second,
        a.eigenvalues[first] - a.eigenvalues[second],
        lam_b[first] - lam_b[second],
        size,
        (_growing(a, [first, second]), _growing(b, match.target[[first, second]])),
    )
    length = b.at - a.at
    # The difference does not reverse: only its imaginary part passes through zero.
    if (np.conj(pair.at_a) * pair.at_b).real > 0.0:
        part = pair.at_a.imag / (pair.at_a.imag - pair.at_b.imag)
        return Encounter(first, second, a.at + part * length, 0.0, "crossing")
    centre = a.at + _zero(pair.at_a, pair.at_b) * length
    slope = abs(pair.at_b - pair.at_a) / abs(length)
    # Far from a veering the shapes have turned by g / (2 |λ_i − λ_j|) on each side of it.
    turned = np.sqrt(
        max(_cross_mac(match, overlap, first, second), _cross_mac(match, overlap, second, first))
    )
    gap = 2.0 * turned / (1.0 / abs(pair.at_a) + 1.0 / abs(pair.at_b))
    if gap < 0.1 * tolerance * size:
        return Encounter(first, second, centre, 0.0, "crossing")
    finest = 0.1 * tolerance * size / slope
    width = float(np.clip(0.5 * gap / slope, NARROW * abs(length), WIDE * abs(length)))
    low, high = min(a.at, b.at), max(a.at, b.at)
    roots: NDArray[Any] = np.zeros(2)
    for _ in range(ROUNDS):
        centre = float(np.clip(centre, low + width, high - width))
        samples = [
            _difference(a, b, match, pair, solve(s))
            for s in (centre - width, centre, centre + width)
        ]
        if any(sample is None for sample in samples):
            return None
        squares = np.array([sample[0] for sample in samples if sample], dtype=complex) ** 2
        c = 0.5 * (squares[0] + squares[2]) - squares[1]
        roots = (
            np.roots([c, 0.5 * (squares[2] - squares[0]), squares[1]]) if c != 0.0 else np.zeros(2)
        )
        half = 0.5 * abs(roots[1] - roots[0])
        shift = 0.5 * (roots[0] + roots[1]).real
        gap = float(np.sqrt(abs(c * (shift - roots[0]) * (shift - roots[1]))))
        inside = abs(shift) <= 1.5
        centre += float(np.clip(shift, -WIDEN, WIDEN)) * width
        if inside and (half >= RESOLVED or gap < tolerance * size):
            break
        width *= float(np.clip(max(half, 0.1 * abs(shift)), SHRINK, WIDEN))
        width = float(np.clip(width, finest, WIDE * abs(length)))
    centre = float(np.clip(centre, low, high))
    gap, kind = _verdict(roots, gap, tolerance * size)
    if kind != "crossing":
        least = _difference(a, b, match, pair, solve(centre))
        if least is None or not _agrees(least[0], gap, kind):
            return None
        if kind == "locked" and pair.growing == (least[1], least[1]):
            kind = "crossing"
    return Encounter(first, second, centre, gap, kind)


def _verdict(roots: NDArray[Any], gap: float, tolerance: float) -> tuple[float, Kind]:
    """Gap and kind from the roots of the last parabola, equal where there was none."""
    apart = abs(roots[1] - roots[0])
    if gap < tolerance or apart == 0.0:
        return 0.0, "crossing"
    if np.all(np.abs(roots.imag) < 0.02 * apart):
        return gap, "locked"
    return gap, "veering" if roots[0].imag * roots[1].imag < 0.0 else "crossing"


def _agrees(least: complex, gap: float, kind: Kind) -> bool:
    """Whether the least difference has the parabola's size, and is real where two modes lock."""
    locked = abs(least.real) > abs(least.imag)
    return abs(abs(least) - gap) <= AGREED * gap and (kind != "locked" or locked)


def _growing(s: Snapshot, modes: Index | list[int]) -> int:
    """How many of some modes grow."""
    return int(grows(*s.steady)[np.asarray(modes, dtype=np.intp)].sum())


def _cross_mac(match: Match, overlap: Overlap, i: int, j: int) -> float:
    """MAC of mode i of a with what continues mode j at b."""
    table = overlap.mirrored_mac if match.mirrored[i] else overlap.mac
    return float(table[i, match.target[j]])


def _difference(
    a: Snapshot, b: Snapshot, match: Match, pair: _Pair, middle: Snapshot | None
) -> tuple[complex, int] | None:
    """λ_p − λ_q, of either sign, of the two modes between a and b that span what the pair spans,
    and how many of the two grow; None if unclear, or if the extra instant has no modes.
    """
    if middle is None:
        return None
    middle = align(middle, a)
    ahead, back = Overlap.between(a, middle), Overlap.between(middle, b)
    members = [pair.i, pair.j]
    ends = match.target[members]
    direct = ahead.mac[members].sum(axis=0) + back.mac[:, ends].sum(axis=1)
    mirror = ahead.mirrored_mac[members].sum(axis=0) + back.mirrored_mac[:, ends].sum(axis=1)
    share = np.maximum(direct, mirror)
    p, q, *others = np.argsort(-share)
    if share[p] + share[q] < CAPTURED or (others and share[others[0]] > THIRD * share[q]):
        return None
    lam = np.where(mirror > direct + 1e-9, middle.eigenvalues.conj(), middle.eigenvalues)
    return complex(lam[p] - lam[q]), _growing(middle, [p, q])
