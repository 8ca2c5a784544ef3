"""One step of following modes: match, look closer where the match is in doubt, settle every
meeting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from assembly.errors import FrozenMotionError, InputError
from modal.encounters import Encounter, continued, examine, swapped_pairs
from modal.matching import Match, Overlap, align, assign
from modal.snapshot import Complex, Mask, Snapshot

# Halvings spent on a mode that merges with another: more do not help.
FUTILE = 1
# Where a step is cut in two: the first part of it where the modes can be found.
HALVES = (0.5, 0.45, 0.55)


@dataclass(frozen=True)
class Rules:
    """When a match is believed. Raises InputError for parts outside 0 … 1.

    clear_mac: below it a step is halved. known_mac: from it on a mode that enters the window is one
    that left it. least_mac: below it a mode has ended. halvings: how often a step may be halved.
    crossing: relative least distance of two eigenvalues below which they cross. edge: part of the
    window's largest |λ| from which on a mode may leave it.
    """

    clear_mac: float = 0.8
    known_mac: float = 0.8
    least_mac: float = 0.3
    halvings: int = 6
    crossing: float = 1e-6
    edge: float = 0.9

    def __post_init__(self) -> None:
        for name in ("clear_mac", "known_mac", "least_mac", "crossing", "edge"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InputError(f"{name}: expected 0 to 1, got {getattr(self, name)!r}")
        if not isinstance(self.halvings, int) or self.halvings < 0:
            raise InputError(f"halvings: expected a whole number, got {self.halvings!r}")


@dataclass(frozen=True)
class Step:
    """From instant a to instant b: the match, b with its clusters aligned, what met on the way, the
    overlaps.

    between: where the step was cut, and the eigenvalue of each mode of a there (Ka,), NaN for none.
    """

    match: Match
    b: Snapshot
    encounters: tuple[Encounter, ...]
    overlap: Overlap
    between: tuple[tuple[float, Complex], ...] = ()


def follow(
    a: Snapshot,
    b: Snapshot,
    slope: Complex,
    watched: Mask,
    solve: Callable[[float], Snapshot],
    rules: Rules,
    halvings: int | None = None,
) -> Step:
    """The modes of a at b.

    slope (Ka,): dλ/ds on each mode's branch at a, the best guess known. watched (Ka,): modes worth
    extra instants; the others only guard the window. solve(s): the modes at an extra instant, which
    is not stored.
    """
    left = rules.halvings if halvings is None else halvings
    b = align(b, a)
    overlap = Overlap.between(align(a, b), b)
    predicted = a.eigenvalues + slope * (b.at - a.at)
    match = assign(a, b, overlap, predicted)
    heeded = watched & ~overlap.merging if left <= rules.halvings - FUTILE else watched
    if left > 0 and _doubtful(a, b, match, predicted, heeded, rules):
        return _halve(a, b, slope, watched, solve, rules, left)
    match = replace(match, target=np.where(match.mac >= rules.least_mac, match.target, -1))
    met = []
    pairs = swapped_pairs(a, b, match, watched)
    if pairs:
        curve = np.arange(a.size)  # the shape each mode is on: it changes at every veering
        certainty = match.certainty.copy()
        for i, j in pairs:
            found = examine(a, b, match, overlap, i, j, solve, rules.crossing)
            if found is None and left > 0:
                return _halve(a, b, slope, watched, solve, rules, left)
            p, q = (int(np.flatnonzero(curve == m)[0]) for m in (i, j))
            if found is None:  # no smaller step tells: the shapes go on as they are
                found = Encounter(p, q, 0.5 * (a.at + b.at), 0.0, "crossing")
                certainty[[p, q]] = 0.0
            met.append(replace(found, first=p, second=q))
            if found.kind == "veering":
                curve[[p, q]] = curve[[q, p]]
                certainty[[p, q]] = certainty[[p, q]].min()
        target, mirrored = match.target[curve], match.mirrored[curve]
        table = np.where(mirrored[:, None], overlap.mirrored_mac, overlap.mac)
        mac = np.where(target >= 0, table[np.arange(a.size), target], 0.0)
        match = Match(target, mirrored, mac, certainty)
    return Step(match, b, tuple(met), overlap)


def _doubtful(
    a: Snapshot, b: Snapshot, match: Match, predicted: Complex, watched: Mask, rules: Rules
) -> bool:
    """Whether a watched mode has no clear continuation, other than by leaving the window."""
    doubt = watched & (match.mac < rules.clear_mac)
    if not doubt.any():
        return False
    window = rules.edge * np.abs(b.eigenvalues).max(initial=0.0)
    return bool((doubt & (np.abs(predicted) < window)).any())


def _between(a: Snapshot, b: Snapshot, solve: Callable[[float], Snapshot]) -> Snapshot:
    """The modes half-way, or beside it where no modes are to be had there (a defective instant)."""
    fault: FrozenMotionError | None = None
    for part in HALVES:
        try:
            return solve(a.at + part * (b.at - a.at))
        except FrozenMotionError as found:
            fault = fault or found
    assert fault is not None
    raise fault


def _halve(
    a: Snapshot,
    b: Snapshot,
    slope: Complex,
    watched: Mask,
    solve: Callable[[float], Snapshot],
    rules: Rules,
    left: int,
) -> Step:
    middle = _between(a, b, solve)
    first = follow(a, middle, slope, watched, solve, rules, left - 1)
    middle, one = first.b, first.match
    kept = np.flatnonzero(one.target >= 0)
    onward = np.zeros(middle.size, dtype=complex)
    branch = (continued(middle, one)[kept] - a.eigenvalues[kept]) / (middle.at - a.at)
    onward[one.target[kept]] = np.where(one.mirrored[kept], branch.conj(), branch)
    seen = np.zeros(middle.size, dtype=bool)
    seen[one.target[kept]] = watched[kept]
    second = follow(middle, b, onward, seen, solve, rules, left - 1)
    two = second.match
    target = np.where(one.target >= 0, two.target[one.target], -1)
    mirrored = one.mirrored ^ np.where(one.target >= 0, two.mirrored[one.target], False)
    overlap = Overlap.between(align(a, second.b), second.b)
    table = np.where(mirrored[:, None], overlap.mirrored_mac, overlap.mac)
    mac = np.where(target >= 0, table[np.arange(a.size), target], 0.0)
    origin = np.full(middle.size, -1)
    origin[one.target[kept]] = kept
    later = tuple(
        replace(e, first=int(origin[e.first]), second=int(origin[e.second]))
        for e in second.encounters
        if origin[e.first] >= 0 and origin[e.second] >= 0
    )
    onward_certainty = np.where(one.target >= 0, two.certainty[one.target], 0.0)
    match = Match(target, mirrored, mac, np.minimum(one.certainty, onward_certainty))
    known = ((middle.at, middle.eigenvalues), *second.between)
    cut = tuple((at, np.where(one.target >= 0, lam[one.target], np.nan)) for at, lam in known)
    return Step(match, second.b, first.encounters + later, overlap, first.between + cut)
