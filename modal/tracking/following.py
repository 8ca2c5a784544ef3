"""One step of following modes: match, refine the step where the match is in doubt, classify every
event.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from assembly.arguments import as_number
from assembly.errors import FrozenMotionError, InputError
from modal.eigen.spectrum import overdamped
from modal.tracking.encounters import (
    Encounter,
    Search,
    continued,
    examine,
    swapped_pairs,
    swaps,
)
from modal.tracking.inspection import inspect
from modal.tracking.matching import Match, Overlap, align, assign
from modal.tracking.onsets import same_regimes
from modal.tracking.snapshot import Snapshot
from modal.tracking.veerings import Branches, pairs_of
from modal.types import Complex, Index, Mask


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
        Fraction of the window's largest |λ|, of overdamped modes of the largest frequency of their
        shape, from which a mode may leave the window.
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
    """From instant a to instant b: the match, b with its clusters aligned, the events in between.
    may_grow (K,): modes that may grow for a while in between, where derivatives are known."""

    match: Match
    b: Snapshot
    encounters: tuple[Encounter, ...]
    may_grow: Mask


@dataclass(frozen=True)
class Steps:
    """The steps between neighbours in a stack of P + 1 instants, matched together.

    match: of all of them. clear (P,): neither end has clusters to be aligned, and all modes go on
    in the same regime. open (P, K): modes with which something may happen in between.
    """

    match: Match
    clear: Mask
    open: Mask
    may_grow: Mask

    @classmethod
    def of(cls, stack: Snapshot, rules: Rules) -> Steps:
        """None of the modes is looked at more closely."""
        a, b = stack.taken(slice(None, -1)), stack.taken(slice(1, None))
        predicted = _predicted(a, b, _slope(a))
        overlap = Overlap.between(a, b)
        if a.variation is not None:
            overlap = overlap.told_apart(predicted, b.eigenvalues)
        match = assign(a, b, overlap, predicted)
        clear = same_regimes(a, b, match) & (match.mac >= rules.least_mac).all(axis=1)
        aligned = stack.near & ~(stack.defective[:, :, None] | stack.defective[:, None, :])
        alone = ~aligned.any(axis=(1, 2))
        clear &= alone[:-1] & alone[1:]
        unclear = _doubtful(a, b, match, predicted, rules) | swaps(a, b, match).any(axis=1)
        branches = Branches.of(a, b, match)
        if branches is None:
            return cls(match, clear, unclear, np.zeros_like(unclear))
        for reached, _ in (branches.growth_changes, branches.oscillation_changes):
            unclear |= reached & branches.counted
        pairs = pairs_of(a.size)
        steps, numbers = branches.approaches(*pairs).pair
        for one in pairs:
            unclear[steps, one[numbers]] = True
        return cls(match, clear, unclear, branches.may_grow)

    def step(self, n: int, b: Snapshot, watched: Mask) -> Step | None:
        """Step n, to b, if nothing can happen to a watched mode."""
        if not self.clear[n] or (self.open[n] & watched).any():
            return None
        return Step(self.match.taken(n), b, (), self.may_grow[n])


@dataclass
class Follower:
    """Follows the modes of an instant to the next.

    solve(s): the modes at an extra instant, which is not stored. rules: thresholds of the matching.
    span: length of the sweep.
    """

    solve: Callable[[float], Snapshot]
    rules: Rules
    span: float
    _known: tuple[Snapshot, Steps] | None = None

    def follow(self, a: Snapshot, b: Snapshot, watched: Mask) -> Step:
        """The modes of a at b, by way of extra instants where these are needed.

        watched (Ka,): modes for which extra instants are solved; the others only guard the window.
        """
        known = self._together(a, b, watched)
        if known is not None:
            return known
        search = Search(self.rules.location * self.span, self.rules.extra)
        path, ahead = _Path(a, watched, _slope(a)), [(b, self.rules.halvings)]
        while ahead:
            end, left = ahead.pop()
            step = self._step(path.here, end, path.slope, path.watched, left, search)
            if not isinstance(step, Step):
                middle, left = step
                ahead += [(end, left), (middle, left)]
            elif path.here is a and not ahead:
                return step
            else:
                path.add(step)
        return path.whole()

    def _together(self, a: Snapshot, b: Snapshot, watched: Mask) -> Step | None:
        """The step of two neighbours in a stack, if nothing happens in between."""
        if b.stack is None or not b.stack[1]:
            return None
        stack, n = b.stack[0], b.stack[1] - 1
        # The last instant of a stored run is no part of the stack, but equal.
        if a.stack is None:
            if not np.array_equal(a.right, stack.right[n]):
                return None
        elif a.stack[0] is not stack or a.stack[1] != n:
            return None
        if self._known is None or self._known[0] is not stack:
            self._known = stack, Steps.of(stack, self.rules)
        return self._known[1].step(n, b, watched)

    def _step(
        self, a: Snapshot, b: Snapshot, slope: Complex, watched: Mask, left: int, search: Search
    ) -> Step | tuple[Snapshot, int]:
        """The modes of a at b, or an extra instant between them and the halvings left on both
        sides of it.

        slope (Ka,): best estimate of dλ/ds on each mode's branch at a. left: halvings left.
        """
        rules = self.rules
        b = align(b, a)
        predicted = _predicted(a, b, slope)
        overlap = Overlap.between(align(a, b), b)
        if a.variation is not None:
            overlap = overlap.told_apart(predicted, b.eigenvalues)
        match = assign(a, b, overlap, predicted)
        heeded = watched & ~overlap.merging if left < rules.halvings - 1 else watched
        if left > 0 and (heeded & _doubtful(a, b, match, predicted, rules)).any():
            return self._middle(a, b), left - 1
        match = replace(match, target=np.where(match.mac >= rules.least_mac, match.target, -1))
        met = []
        pairs = swapped_pairs(a, b, match, watched)
        curve = np.arange(a.size)  # the shape each mode is on: it changes at every veering
        certainty = match.certainty.copy()
        for i, j in pairs:
            found = examine(a, b, match, overlap, (i, j), self._modes, rules.crossing)
            if found is None and left > 0:
                return self._middle(a, b), left - 1
            if found is not None and found.kind == "cut":
                middle = self._cut(a, b, found.at, search)
                if middle is not None:
                    return middle, left
                found = replace(found, kind="unresolved")
            p, q = (int(np.flatnonzero(curve == m)[0]) for m in (i, j))
            if found is None:  # no smaller step tells: the shapes go on as they are
                found = Encounter(p, q, 0.5 * (a.at + b.at), 0.0, "unresolved")
                certainty[[p, q]] = 0.0
            met.append(replace(found, first=p, second=q))
            if found.kind == "veering":
                curve[[p, q]] = curve[[q, p]]
                certainty[[p, q]] = certainty[[p, q]].min()
        if pairs:
            target, mirrored = match.target[curve], match.mirrored[curve]
            match = Match(target, mirrored, overlap.of(target, mirrored), certainty)
        branches = Branches.of(a, b, match)
        events = inspect(a, b, match, branches, watched, met, search)
        place = next((e.at for e in events if e.kind == "cut"), None)
        middle = None if place is None else self._cut(a, b, place, search)
        if middle is not None:
            return middle, left
        events = [replace(e, kind="unresolved") if e.kind == "cut" else e for e in events]
        return Step(match, b, tuple(events), _may_grow(a, branches))

    def _cut(self, a: Snapshot, b: Snapshot, at: float, search: Search) -> Snapshot | None:
        """The modes near `at`, where an event is expected; None where no instant is left, or none
        has modes there."""
        if search.left <= 0:
            return None
        search.left -= 1
        return self._between(a, b, (at - a.at) / (b.at - a.at))

    def _middle(self, a: Snapshot, b: Snapshot) -> Snapshot:
        """The modes near the middle of a step, which must have modes."""
        return self._between(a, b, 0.5) or self.solve(0.5 * (a.at + b.at))

    def _between(self, a: Snapshot, b: Snapshot, part: float) -> Snapshot | None:
        """The modes part of the way from a to b, or a little before or after it, at the first place
        where they can be computed."""
        parts = (part, 0.9 * part, 0.1 + 0.9 * part)
        found = (self._modes(a.at + part * (b.at - a.at)) for part in parts)
        return next((middle for middle in found if middle is not None), None)

    def _modes(self, at: float) -> Snapshot | None:
        """The modes at an extra instant; None at a defective instant, which has none."""
        try:
            return self.solve(at)
        except FrozenMotionError:
            return None


class _Path:
    """A step that is made of several: what has been followed from instant a to `here`.

    slope, watched (K,): of the modes here.
    """

    def __init__(self, a: Snapshot, watched: Mask, slope: Complex) -> None:
        self.here, self.watched, self.slope = a, watched, slope
        self._a = a
        # Of each mode here: its number at a, from a.size on for those that begin on the way.
        self._number = np.arange(a.size)
        self._begun = a.size
        self._parent: dict[int, int] = {}  # of a number: the mode of a whose second real root it is
        self._mirrored = np.zeros(a.size, dtype=bool)
        self._certainty = np.full(a.size, np.inf)
        self._events: list[Encounter] = []

    def add(self, step: Step) -> None:
        """Go on to the end of a step."""
        a, b, match = self.here, step.b, step.match
        kept = np.flatnonzero(match.target >= 0)
        target, mirrored = match.target[kept], match.mirrored[kept]
        number = np.full(b.size, -1)
        number[target] = self._number[kept]
        new = np.flatnonzero(number < 0)
        number[new] = self._begun + np.arange(len(new))
        self._begun += len(new)

        slope, watched = np.zeros(b.size, dtype=complex), np.zeros(b.size, dtype=bool)
        branch = (continued(b, match)[kept] - a.eigenvalues[kept]) / (b.at - a.at)
        slope[target] = np.where(mirrored, branch.conj(), branch)
        watched[target] = self.watched[kept]
        for e in step.encounters:
            self._record(e, number)
        # The second real root of a mode that ceased to oscillate has no mode of a; its onset is
        # one of the mode that it comes from.
        damped = [e.first for e in step.encounters if e.kind == "critical damping"]
        damped = [i for i in damped if match.target[i] >= 0 and self._number[i] < self._a.size]
        for j in new[b.eigenvalues[new].imag == 0.0] if damped else ():
            ends = b.eigenvalues[match.target[damped]]
            i = damped[int(np.argmin(np.abs(ends - b.eigenvalues[j])))]
            self._parent[int(number[j])], watched[j] = int(self._number[i]), True

        onward = np.full(self._a.size, -1)
        old = self._number[kept] < self._a.size
        onward[self._number[kept][old]] = kept[old]
        lost = onward < 0
        self._mirrored ^= np.where(lost, False, match.mirrored[onward])
        self._certainty = np.minimum(self._certainty, np.where(lost, 0.0, match.certainty[onward]))
        self._number, self.here, self.slope, self.watched = number, b, slope, watched

    def _record(self, e: Encounter, onward: Index) -> None:
        """An event of the step from `here` to modes of the numbers `onward`, in those numbers."""
        first = int(self._number[e.first])
        second = int(self._number[e.second]) if e.second >= 0 else -1
        newborn = int(onward[e.newborn]) if e.newborn >= 0 else -1
        if first in self._parent and "onset" in e.kind:
            newborn, first = first, self._parent[first]
        if first < self._a.size and second < self._a.size:
            self._events.append(replace(e, first=first, second=second, newborn=newborn))

    def whole(self) -> Step:
        """All that was followed as one step."""
        a, b = self._a, self.here
        place = np.full(self._begun, -1)
        place[self._number] = np.arange(b.size)
        target = place[: a.size]
        mac = Overlap.between(align(a, b), b).of(target, self._mirrored)
        events = tuple(
            e if e.newborn < 0 else replace(e, newborn=int(place[e.newborn])) for e in self._events
        )
        match = Match(target, self._mirrored, mac, self._certainty)
        return Step(match, b, events, _may_grow(a, Branches.of(a, b, match)))


def _slope(a: Snapshot) -> Complex:
    """dλ/ds, zero where it is not known."""
    if a.variation is None:
        return np.zeros_like(a.eigenvalues)
    return np.nan_to_num(a.variation.slope, nan=0.0)


def _predicted(a: Snapshot, b: Snapshot, slope: Complex) -> Complex:
    """The eigenvalues at b on straight lines."""
    return np.asarray(a.eigenvalues + slope * np.asarray(b.at - a.at)[..., None])


def _may_grow(a: Snapshot, branches: Branches | None) -> Mask:
    return np.zeros(a.size, dtype=bool) if branches is None else branches.may_grow


def _doubtful(a: Snapshot, b: Snapshot, match: Match, predicted: Complex, rules: Rules) -> Mask:
    """The modes without a clear continuation, other than by leaving the window."""
    window = rules.edge * b.frequency.max(axis=-1, keepdims=True, initial=0.0)
    reached = np.where(overdamped(a.eigenvalues), a.frequency, np.abs(predicted))
    return np.asarray((match.mac < rules.clear_mac) & (reached < window))
