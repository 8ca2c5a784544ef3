"""One step of following modes: match, refine the step where the match is in doubt, classify every
event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from assembly.arguments import as_number
from assembly.errors import FrozenMotionError, InputError
from modal.tracking.encounters import Encounter, continued, examine, swapped_pairs
from modal.tracking.inspection import inspect
from modal.tracking.matching import Match, Overlap, align, assign
from modal.tracking.snapshot import Snapshot
from modal.tracking.veerings import Doubt, Search
from modal.types import Complex, Mask

# Fractions at which a step is cut: the first one where the modes can be computed.
HALVES = (0.5, 0.45, 0.55)


@dataclass(frozen=True)
class Rules:
    """Thresholds of the matching of modes and of the location of events.

    Parameters
    ----------
    clear_mac : float, default 0.8
        MAC below which a step is halved.
    known_mac : float, default 0.8
        MAC from which a mode that enters the window is identified with one that left it.
    least_mac : float, default 0.3
        MAC below which a mode ends.
    halvings : int, default 6
        Largest number of successive halvings of a step.
    crossing : float, default 1e-6
        Relative least distance of two eigenvalues below which they cross.
    edge : float, default 0.9
        Fraction of the window's largest |λ| from which a mode may leave the window.
    location : float, default 1e-5
        Accuracy to which an onset is located, as a fraction of the sweep.
    extra : int, default 120
        Largest number of extra instants for the events of one step.

    Raises
    ------
    InputError
        A fraction is outside 0 to 1, or a number is not a whole number.
    """

    clear_mac: float = 0.8
    known_mac: float = 0.8
    least_mac: float = 0.3
    halvings: int = 6
    crossing: float = 1e-6
    edge: float = 0.9
    location: float = 1e-5
    extra: int = 120

    def __post_init__(self) -> None:
        for name in ("clear_mac", "known_mac", "least_mac", "crossing", "edge", "location"):
            if not 0.0 <= as_number(getattr(self, name), name) <= 1.0:
                raise InputError(f"{name}: expected 0 to 1, got {getattr(self, name)!r}")
        for name in ("halvings", "extra"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 0:
                raise InputError(f"{name}: expected a whole number, got {getattr(self, name)!r}")


@dataclass(frozen=True)
class Step:
    """From instant a to instant b: the match, b with its clusters aligned, the events in
    between."""

    match: Match
    b: Snapshot
    encounters: tuple[Encounter, ...]


@dataclass
class Follower:
    """Follows the modes of an instant to the next.

    solve(s): the modes at an extra instant, which is not stored. rules: thresholds of the matching.
    span: length of the sweep.
    """

    solve: Callable[[float], Snapshot]
    rules: Rules
    span: float

    def follow(self, a: Snapshot, b: Snapshot, watched: Mask) -> Step:
        """The modes of a at b.

        watched (Ka,): modes for which extra instants are solved; the others only guard the window.
        """
        slope = np.zeros(a.size, dtype=complex)
        if a.variation is not None:
            slope = np.nan_to_num(a.variation.slope, nan=0.0)
        search = Search(self.rules.location * self.span, self.rules.extra)
        return self._follow(a, b, slope, watched, self.rules.halvings, search)

    def _follow(
        self, a: Snapshot, b: Snapshot, slope: Complex, watched: Mask, left: int, search: Search
    ) -> Step:
        """slope (Ka,): best estimate of dλ/ds on each mode's branch at a."""
        rules = self.rules
        b = align(b, a)
        overlap = Overlap.between(align(a, b), b)
        predicted = a.eigenvalues + slope * (b.at - a.at)
        match = assign(a, b, overlap, predicted)
        heeded = watched & ~overlap.merging if left < rules.halvings else watched
        if left > 0 and _doubtful(a, b, match, predicted, heeded, rules).any():
            return self._halved(a, b, slope, watched, left, search)
        match = replace(match, target=np.where(match.mac >= rules.least_mac, match.target, -1))
        met = []
        pairs = swapped_pairs(a, b, match, watched)
        if pairs:
            curve = np.arange(a.size)  # the shape each mode is on: it changes at every veering
            certainty = match.certainty.copy()
            for i, j in pairs:
                found = examine(a, b, match, overlap, i, j, self._modes, rules.crossing)
                if found is None and left > 0:
                    return self._halved(a, b, slope, watched, left, search)
                if found is not None and found.kind == "locked":
                    step = self._cut(a, b, found.at, slope, watched, left, search)
                    if step is not None:
                        return step
                    found = replace(found, kind="unresolved")
                p, q = (int(np.flatnonzero(curve == m)[0]) for m in (i, j))
                if found is None:  # no smaller step tells: the shapes go on as they are
                    found = Encounter(p, q, 0.5 * (a.at + b.at), 0.0, "unresolved")
                    certainty[[p, q]] = 0.0
                met.append(replace(found, first=p, second=q))
                if found.kind == "veering":
                    curve[[p, q]] = curve[[q, p]]
                    certainty[[p, q]] = certainty[[p, q]].min()
            target, mirrored = match.target[curve], match.mirrored[curve]
            table = np.where(mirrored[:, None], overlap.mirrored_mac, overlap.mac)
            mac = np.where(target >= 0, table[np.arange(a.size), target], 0.0)
            match = Match(target, mirrored, mac, certainty)
        events = inspect(a, b, match, watched, met, search)
        if isinstance(events, Doubt):
            step = self._cut(a, b, events.at, slope, watched, left, search)
            if step is not None:
                return step
            events = [*met, events.unresolved()]
        return Step(match, b, tuple(events))

    def _cut(
        self,
        a: Snapshot,
        b: Snapshot,
        at: float,
        slope: Complex,
        watched: Mask,
        left: int,
        search: Search,
    ) -> Step | None:
        """The modes of a at b by way of an extra instant near `at`, where an event is expected;
        None where no instant is left, or none has modes there."""
        if search.left <= 0:
            return None
        search.left -= 1
        part = (at - a.at) / (b.at - a.at)
        middle = self._between(a, b, (part, 0.9 * part, 0.1 + 0.9 * part))
        if middle is None:
            return None
        return self._through(a, middle, b, slope, watched, left, search)

    def _halved(
        self, a: Snapshot, b: Snapshot, slope: Complex, watched: Mask, left: int, search: Search
    ) -> Step:
        """The modes of a at b by way of an instant in the middle, which must have modes."""
        middle = self._between(a, b, HALVES) or self.solve(0.5 * (a.at + b.at))
        return self._through(a, middle, b, slope, watched, left - 1, search)

    def _between(self, a: Snapshot, b: Snapshot, parts: Iterable[float]) -> Snapshot | None:
        """The modes part of the way from a to b, at the first part where they can be found."""
        found = (self._modes(a.at + part * (b.at - a.at)) for part in parts)
        return next((middle for middle in found if middle is not None), None)

    def _modes(self, at: float) -> Snapshot | None:
        """The modes at an extra instant; None at a defective instant, which has none."""
        try:
            return self.solve(at)
        except FrozenMotionError:
            return None

    def _through(
        self,
        a: Snapshot,
        middle: Snapshot,
        b: Snapshot,
        slope: Complex,
        watched: Mask,
        left: int,
        search: Search,
    ) -> Step:
        """The modes of a at b by way of an extra instant."""
        first = self._follow(a, middle, slope, watched, left, search)
        middle, one = first.b, first.match
        kept = np.flatnonzero(one.target >= 0)
        onward = np.zeros(middle.size, dtype=complex)
        branch = (continued(middle, one)[kept] - a.eigenvalues[kept]) / (middle.at - a.at)
        onward[one.target[kept]] = np.where(one.mirrored[kept], branch.conj(), branch)
        seen = np.zeros(middle.size, dtype=bool)
        seen[one.target[kept]] = watched[kept]
        # The second real root of a mode that ceased to oscillate has no mode of a; its onset is
        # one of the mode that it comes from.
        parents = [
            e.first
            for e in first.encounters
            if e.kind == "critical damping" and one.target[e.first] >= 0
        ]
        roots, parent = middle.eigenvalues, {}
        for j in np.setdiff1d(np.flatnonzero(roots.imag == 0.0), one.target) if parents else ():
            parent[int(j)] = min(parents, key=lambda p: abs(roots[one.target[p]] - roots[j]))
            seen[j] = True
        second = self._follow(middle, b, onward, seen, left, search)
        two = second.match
        target = np.where(one.target >= 0, two.target[one.target], -1)
        mirrored = one.mirrored ^ np.where(one.target >= 0, two.mirrored[one.target], False)
        overlap = Overlap.between(align(a, second.b), second.b)
        table = np.where(mirrored[:, None], overlap.mirrored_mac, overlap.mac)
        mac = np.where(target >= 0, table[np.arange(a.size), target], 0.0)
        origin = np.full(middle.size + 1, -1)  # the last one stands for −1, no mode
        origin[one.target[kept]] = kept
        grown = tuple(
            replace(e, first=parent[e.first], newborn=int(two.target[e.first]))
            for e in second.encounters
            if e.first in parent and "onset" in e.kind
        )
        later = grown + tuple(
            replace(e, first=int(origin[e.first]), second=int(origin[e.second]))
            for e in second.encounters
            if origin[e.first] >= 0 and (e.second < 0 or origin[e.second] >= 0)
        )
        sooner = tuple(
            e if e.newborn < 0 else replace(e, newborn=int(two.target[e.newborn]))
            for e in first.encounters
        )
        onward_certainty = np.where(one.target >= 0, two.certainty[one.target], 0.0)
        match = Match(target, mirrored, mac, np.minimum(one.certainty, onward_certainty))
        return Step(match, second.b, sooner + later)


def _doubtful(
    a: Snapshot, b: Snapshot, match: Match, predicted: Complex, watched: Mask, rules: Rules
) -> Mask:
    """The watched modes without a clear continuation, other than by leaving the window."""
    window = rules.edge * np.abs(b.eigenvalues).max(initial=0.0)
    return np.asarray(watched & (match.mac < rules.clear_mac) & (np.abs(predicted) < window))
