"""Events of modes between two matched instants, and where a step must be cut to locate them.

Eigenvalues and their slopes at both instants give a cubic between them. A step is accepted when no
event can lie inside it, or when the event is located: an onset between two instants no further
apart than the tolerance, a veering at the least distance of its two eigenvalues. Otherwise the step
is cut where the event is expected, and both parts are examined again. When the extra instants run
out, the event is reported as "unresolved".
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from modal.data.growth import growth_floor
from modal.tracking import hermite
from modal.tracking.encounters import Encounter, Search
from modal.tracking.matching import Match
from modal.tracking.onsets import onsets_between
from modal.tracking.snapshot import Snapshot
from modal.tracking.veerings import Branches, veerings_inside
from modal.types import Mask


def inspect(
    a: Snapshot, b: Snapshot, match: Match, branches: Branches | None, watched: Mask,
    met: list[Encounter], search: Search,
) -> list[Encounter]:  # fmt: skip
    """All events between a and b, or where to cut.

    match: of a with b. branches: of the match. met: the events of two modes that are already
    classified. watched (Ka,).
    """
    fine = abs(b.at - a.at) <= search.tolerance
    onsets = list(onsets_between(a, b, match, watched, counted=fine))
    branches = None if fine else branches
    if onsets and not fine and search.left > 0:
        place = _onset_place(a, b, onsets[0], branches, search)
        return [*met, replace(onsets[0], at=place, kind="cut")]
    if branches is None:
        return [*met, *onsets]
    placed = [_placed(a, b, branches, e, search) if e.kind == "crossing" else e for e in met]
    if any(e.kind == "cut" for e in placed):
        return placed
    events, usable = [*placed, *onsets], branches.counted & watched
    usable[[e.first for e in onsets]] = False
    for reached, curve in (branches.growth_changes, branches.oscillation_changes):
        for p in np.flatnonzero(reached & usable):
            place = a.at + hermite.lowest_inside(curve[:, p]) * (b.at - a.at)
            return [*events, Encounter(int(p), -1, place, 0.0, "cut")]
    return [*events, *veerings_inside(a, b, match, branches, watched, met, search)]


def _placed(
    a: Snapshot, b: Snapshot, branches: Branches, e: Encounter, search: Search
) -> Encounter:
    """A crossing where the cubic has one, or a cut next to it where the cubic is not accurate
    enough.
    """
    p, q = sorted((e.first, e.second))
    ends = [complex(x[p] - x[q]) for x in (*branches.lam, *branches.slope)]
    start, end, slope, onward = (x.imag for x in ends)
    if not np.all(np.isfinite(ends)) or start * end >= 0.0:
        return e
    length, tau = b.at - a.at, hermite.root(start, end, slope, onward)
    off = float(hermite.error(*(np.asarray(x) for x in ends))) / abs(end - start)
    aside = np.clip(3.0 * off, search.tolerance / abs(length), 0.25)
    wide = tau - aside if tau >= 0.5 else tau + aside
    if off * abs(length) <= search.tolerance or search.left <= 0 or not 0.01 < wide < 0.99:
        return replace(e, at=a.at + tau * length)
    return replace(e, at=a.at + wide * length, kind="cut")


def _onset_place(
    a: Snapshot,
    b: Snapshot,
    onset: Encounter,
    branches: Branches | None,
    search: Search,
    bracket: float = 0.45,
) -> float:
    """Where to cut a step with an onset inside: next to where the growth rate exceeds its error
    and round-off where that is smooth, in the middle where modes lock or stop oscillating.

    bracket: part of the tolerance, on either side, by which an onset that the cubic predicts is
    bracketed.
    """
    start, length = float(a.at), float(b.at - a.at)
    if branches is not None and onset.second < 0 and onset.kind in ("flutter onset", "split"):
        steady = (*branches.steady, *branches.steady_slope)
        lam = np.array([x[onset.first] for x in steady])
        level = growth_floor(lam[:2]) + [error[onset.first] for error in branches.error]
        heights, slopes = lam[:2].real - level, lam[2:].real - np.diff(level)
        oscillates = (lam[:2].imag != 0.0).all() and np.isfinite(lam).all()
        if oscillates and heights.prod() < 0.0:
            tau = hermite.root(*heights.tolist(), *slopes.tolist())
            aside = bracket * search.tolerance / abs(length)
            tau = tau - aside if tau >= 0.5 else tau + aside
            return start + float(np.clip(tau, aside, 1.0 - aside)) * length
    return start + 0.5 * length
