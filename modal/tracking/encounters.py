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

import numpy as np

from modal.eigen.tolerances import ATTEMPTS, HALF
from modal.tracking.matching import Match, Overlap, align
from modal.tracking.snapshot import Snapshot
from modal.types import Complex, Index, Mask


@dataclass
class Search:
    """tolerance: to which an onset is located, in units of the swept value. left: extra instants
    that may still be spent on the step.
    """

    tolerance: float
    left: int


@dataclass(frozen=True)
class Encounter:
    """What happens to mode `first`, with mode `second` or −1: where (parameter), the least
    |λ_i − λ_j| of a veering (rad/s), what it is (modal/tracking/events.py). newborn: the mode of
    the instant after it that begins there as the other root, −1 for none. "cut" asks for an extra
    instant at the place, where something may happen; it is no event. In the record of a run, first
    and second are tracks, and index is the number of the instant after it.
    """

    first: int
    second: int
    at: float
    gap: float
    kind: str
    newborn: int = -1
    index: int = -1


def swapped_pairs(a: Snapshot, b: Snapshot, match: Match, watched: Mask) -> list[tuple[int, int]]:
    """Pairs whose order of frequency changes between a and b if each mode keeps its shape, in the
    order of their places."""
    pairs = swaps(a, b, match) & (watched[:, None] | watched)
    if not pairs.any():
        return []
    lam_a, lam_b = a.eigenvalues, continued(b, match)
    return sorted(
        ((int(p), int(q)) for p, q in np.argwhere(np.triu(pairs))),
        key=lambda p: _zero(lam_a[p[0]] - lam_a[p[1]], lam_b[p[0]] - lam_b[p[1]]),
    )


def swaps(a: Snapshot, b: Snapshot, match: Match) -> Mask:
    """Of which pairs of modes, (K, K), the order of frequency changes; of P steps (P, K, K)."""
    before, after = a.eigenvalues.imag, continued(b, match).imag
    tie = HALF * np.abs(a.eigenvalues)
    oscillates = (np.abs(before) > tie) & (np.abs(after) > tie) & (match.target >= 0)
    floor = np.maximum(tie[..., None], tie[..., None, :])
    one, two = (x[..., None] - x[..., None, :] for x in (before, after))
    turned = (one * two < 0.0) & (np.abs(one) > floor) & (np.abs(two) > floor)
    return np.asarray(turned & oscillates[..., None] & oscillates[..., None, :])


def continued(b: Snapshot, match: Match) -> Complex:
    """The eigenvalue at b of each mode of a on its own branch (conjugate where it passed through
    zero).
    """
    lam = match.onward(b.eigenvalues)
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
    pair: tuple[int, int],
    solve: Callable[[float], Snapshot | None],
    tolerance: float,
    *,
    widths: tuple[float, float] = (0.005, 0.1),
    spread: float = 5.0,
    resolved: float = 0.25,
    agreed: float = 0.1,
) -> Encounter | None:
    """The meeting of two modes between a and b; None where a third mode takes part in it.

    Extra instants are used where the coupling of the modes is not clearly zero.

    tolerance: a least distance below tolerance |λ| is a crossing. widths: parts of the step between
    the first three points of a parabola, at least and at most; the straight line between the two
    ends does not say better where they meet. spread: largest factor by which the points are spread
    in a further round. resolved: a parabola is believed when its half-distance of roots is this
    part of their spacing. agreed: part of the gap by which the difference at the vertex of the
    parabola may differ from it.
    """
    members = list(pair)
    before, after = a.eigenvalues[members], continued(b, match)[members]
    start, end = complex(before[0] - before[1]), complex(after[0] - after[1])
    least, length = tolerance * float(np.abs(before).max()), b.at - a.at
    # The difference does not reverse: only its imaginary part passes through zero.
    if (np.conj(start) * end).real > 0.0:
        place = a.at + start.imag / (start.imag - end.imag) * length
        return Encounter(*pair, place, 0.0, "crossing")
    centre = a.at + _zero(start, end) * length
    slope = abs(end - start) / abs(length)
    # Far from a veering the shapes have turned by g / (2 |λ_i − λ_j|) on each side of it.
    mirrored = match.mirrored[members, None]
    table = np.where(mirrored, overlap.mirrored_mac[members], overlap.mac[members])
    turned = np.sqrt(table[[0, 1], match.target[members[::-1]]].max())
    gap = 2.0 * turned / (1.0 / abs(start) + 1.0 / abs(end))
    if gap < 0.1 * least:
        return Encounter(*pair, centre, 0.0, "crossing")
    narrow, wide = (share * abs(length) for share in widths)
    width = float(np.clip(0.5 * gap / slope, narrow, wide))
    low, high = min(a.at, b.at), max(a.at, b.at)

    def difference(at: float) -> tuple[complex, int] | None:
        return _difference(a, b, match, members, solve(at))

    for _ in range(ATTEMPTS):
        centre = float(np.clip(centre, low + width, high - width))
        samples = [difference(s) for s in (centre - width, centre, centre + width)]
        if any(sample is None for sample in samples):
            return None
        squares = np.array([sample[0] for sample in samples if sample], dtype=complex) ** 2
        c = 0.5 * (squares[0] + squares[2]) - squares[1]
        linear = 0.5 * (squares[2] - squares[0])
        roots = np.roots([c, linear, squares[1]]) if c != 0.0 else np.zeros(2, dtype=complex)
        middle, half = roots.mean().real, 0.5 * abs(roots[1] - roots[0])
        gap = float(np.sqrt(abs(c * np.prod(middle - roots))))
        centre += float(np.clip(middle, -spread, spread)) * width
        if abs(middle) <= 1.5 and (half >= resolved or gap < least):
            break
        width *= float(np.clip(max(half, 0.1 * abs(middle)), spread**-2, spread))
        width = float(np.clip(width, 0.1 * least / slope, wide))
    centre = float(np.clip(centre, low, high))
    apart = abs(roots[1] - roots[0])
    if gap < least or apart == 0.0:
        return Encounter(*pair, centre, 0.0, "crossing")
    locked = bool(np.all(np.abs(roots.imag) < 0.02 * apart))
    if not locked and roots[0].imag * roots[1].imag >= 0.0:
        return Encounter(*pair, centre, gap, "crossing")
    vertex = difference(centre)
    # The difference has the parabola's size there, and is real where two modes lock.
    if vertex is None or abs(abs(vertex[0]) - gap) > agreed * gap:
        return None
    if not locked:
        return Encounter(*pair, centre, gap, "veering")
    if abs(vertex[0].real) <= abs(vertex[0].imag):
        return None
    growing = {_growing(a, members), _growing(b, match.target[members]), vertex[1]}
    return Encounter(*pair, centre, gap, "crossing" if len(growing) == 1 else "cut")


def _growing(s: Snapshot, modes: Index | list[int]) -> int:
    """How many of some modes grow."""
    return int(s.regimes[1][modes].sum())


def _difference(
    a: Snapshot,
    b: Snapshot,
    match: Match,
    members: list[int],
    middle: Snapshot | None,
    captured: float = 2.4,
    third: float = 0.5,
) -> tuple[complex, int] | None:
    """λ_p − λ_q, of either sign, of the two modes between a and b that span what the members of a
    pair span, and how many of the two grow; None if unclear, or if the extra instant has no modes.

    captured: least sum of the four MACs of the two with the ends (4 when nothing else takes part).
    third: largest share of another mode in the pair, of that of its lesser member.
    """
    if middle is None:
        return None
    middle = align(middle, a)
    ahead, back = Overlap.between(a, middle), Overlap.between(middle, b)
    ends = match.target[members]
    direct = ahead.mac[members].sum(axis=0) + back.mac[:, ends].sum(axis=1)
    mirror = ahead.mirrored_mac[members].sum(axis=0) + back.mirrored_mac[:, ends].sum(axis=1)
    share = np.maximum(direct, mirror)
    p, q, *others = np.argsort(-share)
    if share[p] + share[q] < captured or (others and share[others[0]] > third * share[q]):
        return None
    lam = np.where(mirror > direct + 1e-9, middle.eigenvalues.conj(), middle.eigenvalues)
    return complex(lam[p] - lam[q]), _growing(middle, [p, q])
