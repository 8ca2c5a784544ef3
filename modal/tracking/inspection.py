"""Events of modes between two matched instants, and where a step must be cut to locate them.

Eigenvalues and their slopes at both instants give a cubic between them. A step is accepted when no
event can lie inside it, or when the event is located: an onset between two instants no further
apart than the tolerance, a veering at the least distance of its two eigenvalues. Otherwise the step
is cut where the event is expected, and both parts are examined again. When the extra instants run
out, the event is reported as "unresolved".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modal.data.growth import grows, growth_floor
from modal.tracking import hermite
from modal.tracking.encounters import Encounter
from modal.tracking.matching import Match
from modal.tracking.onsets import find_onsets
from modal.tracking.snapshot import Snapshot
from modal.tracking.veerings import Doubt, Search, distances_inside, veerings_inside
from modal.types import Array, Complex, Mask

# An onset predicted by the cubic is bracketed by this part of the tolerance on either side.
BRACKET = 0.45


@dataclass(frozen=True)
class _Branches:
    """The followed modes of a step: their numbers at a, values at both ends on their own branches,
    and slopes times the length of the step. steady: without the terms that only exchange energy.
    """

    number: NDArray[Any]
    lam: tuple[Complex, Complex]
    slope: tuple[Complex, Complex]
    steady: tuple[Complex, Complex]
    steady_slope: tuple[Complex, Complex]


def inspect(
    a: Snapshot, b: Snapshot, match: Match, watched: Mask, met: list[Encounter], search: Search
) -> Doubt | list[Encounter]:
    """All events between a and b, or where to cut.

    match: of a with b. met: the events of two modes that are already classified. watched (Ka,).
    """
    length = b.at - a.at
    fine = abs(length) <= search.tolerance
    onsets = list(_onsets(a, b, match, watched))
    if onsets and not fine and search.left > 0:
        return Doubt(_onset_place(a, b, match, onsets[0], search), onsets[0].first)
    if fine:
        onsets = _counted(a, b, match, onsets)
    if fine or a.variation is None or b.variation is None:
        return [*met, *onsets]
    placed: list[Encounter] = []
    for e in met:
        place = _crossing_place(a, b, match, e, search) if e.kind == "crossing" else e
        if isinstance(place, Doubt):
            return place
        placed.append(place)
    branches = _branches(a, b, match, watched)
    changed = [e.first for e in onsets]
    hidden = _hidden_onset(a, b, match, branches, changed)
    if hidden is not None:
        return hidden if search.left > 0 else [*placed, *onsets, hidden.unresolved()]
    settled = {frozenset((e.first, e.second)) for e in met}
    near = distances_inside(branches.lam, branches.slope)
    veerings = veerings_inside(a, b, branches.number, near, match, settled, search)
    return veerings if isinstance(veerings, Doubt) else [*placed, *onsets, *veerings]


def may_grow(a: Snapshot, b: Snapshot, match: Match) -> Mask:
    """Which modes of a (Ka,) may grow for a while before b, though they do not at its ends."""
    out = np.zeros(a.size, dtype=bool)
    if a.variation is not None and b.variation is not None:
        every = _branches(a, b, match, ~out)
        number, target = every.number, match.target[every.number]
        errors = a.steady[1][number], b.steady[1][target]
        reached, _ = next(regime_changes((*every.steady, *every.steady_slope), errors))
        counted = (a.kind[number] != "prescribed") & (b.kind[target] != "prescribed")
        out[number] = reached & counted
    return out


def _crossing_place(
    a: Snapshot, b: Snapshot, match: Match, e: Encounter, search: Search
) -> Encounter | Doubt:
    """A crossing where the cubic has one, or a cut next to it where the cubic is not accurate
    enough.
    """
    pair = [e.first, e.second]
    branches = _branches(a, b, match, np.isin(np.arange(a.size), pair))
    if len(branches.number) < 2:
        return e
    ends = [complex(x[0] - x[1]) for x in (*branches.lam, *branches.slope)]
    start, end, slope, onward = (x.imag for x in ends)
    if not np.all(np.isfinite(ends)) or start * end >= 0.0:
        return e
    length, tau = b.at - a.at, hermite.root(start, end, slope, onward)
    off = float(hermite.error(*(np.asarray(x) for x in ends))) / abs(end - start)
    aside = np.clip(3.0 * off, search.tolerance / abs(length), 0.25)
    wide = tau - aside if tau >= 0.5 else tau + aside
    if off * abs(length) <= search.tolerance or search.left <= 0 or not 0.01 < wide < 0.99:
        return replace(e, at=a.at + tau * length)
    return Doubt(a.at + wide * length, e.first, e.second)


def _branches(a: Snapshot, b: Snapshot, match: Match, watched: Mask) -> _Branches:
    assert a.variation is not None and b.variation is not None
    number = np.flatnonzero(watched & (match.target >= 0))
    target, mirrored, length = match.target[number], match.mirrored[number], b.at - a.at

    def onward(values: Complex) -> Complex:
        return np.where(mirrored, values[target].conj(), values[target])

    return _Branches(
        number,
        (a.eigenvalues[number], onward(b.eigenvalues)),
        (length * a.variation.slope[number], length * onward(b.variation.slope)),
        (a.variation.steady[number], onward(b.variation.steady)),
        (length * a.variation.steady_slope[number], length * onward(b.variation.steady_slope)),
    )


def _onsets(a: Snapshot, b: Snapshot, match: Match, watched: Mask) -> Iterator[Encounter]:
    """The onsets and ends of regimes between a and b."""
    if _same_regimes(a, b, match):
        return
    begun = np.setdiff1d(np.arange(b.size), match.target)
    rows = a.size + len(begun)
    lam = np.full((2, rows), complex(np.nan, np.nan))
    error, counted = np.zeros((2, rows)), np.zeros((2, rows), dtype=bool)
    kept = np.flatnonzero(match.target >= 0)
    target = match.target[kept]
    (lam[0, : a.size], error[0, : a.size]), (onward, error_b) = a.steady, b.steady
    lam[1, kept], error[1, kept] = onward[target], error_b[target]
    lam[1, a.size :], error[1, a.size :] = onward[begun], error_b[begun]
    counted[0, : a.size] = watched & (a.kind != "prescribed")
    counted[1, kept] = counted[0, kept] & (b.kind[target] != "prescribed")
    done = set()
    for onset in find_onsets(lam, error, counted):
        first, second = onset.track, onset.partner
        if first >= a.size or (first, onset.kind) in done:
            continue
        done.add((first, onset.kind))
        newborn = int(begun[second - a.size]) if second >= a.size else -1
        partner = -1 if second >= a.size else second
        middle = 0.5 * (a.at + b.at)
        yield Encounter(first, partner, middle, 0.0, onset.kind, newborn)


def _counted(a: Snapshot, b: Snapshot, match: Match, onsets: list[Encounter]) -> list[Encounter]:
    """The onsets and ends of a step too short for two events that the numbers of growing modes
    confirm.

    Where one mode begins to grow as another ceases to, they have exchanged their names.
    """
    before, after = (_numbers_growing(s) for s in (a, b))
    confirmed = {
        "flutter onset": after[0] > before[0],
        "divergence onset": after[1] > before[1],
        "split": sum(after) < sum(before),
    }
    return [e for e in onsets if confirmed.get(e.kind, True)]


def _numbers_growing(s: Snapshot) -> tuple[int, int]:
    """How many modes flutter, and how many diverge."""
    oscillates, grows = regimes(*s.steady) & (s.kind != "prescribed")
    return int((grows & oscillates).sum()), int((grows & ~oscillates).sum())


def regimes(lam: Complex, error: Array) -> Mask:
    """Whether each mode oscillates, and whether it grows, (2, …): steady values and errors."""
    return np.stack([np.abs(lam.imag) > growth_floor(lam), grows(lam, error)])


def _same_regimes(a: Snapshot, b: Snapshot, match: Match) -> bool:
    """Whether every mode continues, and oscillates and grows at b as it does at a."""
    if a.size != b.size or match.target.min(initial=0) < 0:
        return False
    flags = [regimes(*s.steady) for s in (a, b)]
    return np.array_equal(flags[0], flags[1][:, match.target]) and bool(flags[0][0].all())


def _onset_place(a: Snapshot, b: Snapshot, match: Match, onset: Encounter, search: Search) -> float:
    """Where to cut a step with an onset inside: next to the zero of the growth rate where that is
    smooth, in the middle where modes lock or stop oscillating.
    """
    length, i = b.at - a.at, onset.first
    if onset.second < 0 and onset.kind in ("flutter onset", "split") and a.variation is not None:
        j = int(match.target[i])
        one, two = a.variation, b.variation
        if two is not None and one.steady[i].imag != 0.0 and two.steady[j].imag != 0.0:
            ends = (one.steady[i].real, two.steady[j].real)
            slopes = (one.steady_slope[i].real * length, two.steady_slope[j].real * length)
            if ends[0] * ends[1] < 0.0 and np.all(np.isfinite(slopes)):
                tau = hermite.root(*ends, *slopes)
                aside = BRACKET * search.tolerance / abs(length)
                tau = tau - aside if tau >= 0.5 else tau + aside
                return a.at + float(np.clip(tau, aside, 1.0 - aside)) * length
    return a.at + 0.5 * length


def _hidden_onset(
    a: Snapshot, b: Snapshot, match: Match, branches: _Branches, changed: list[int]
) -> Doubt | None:
    """Where a mode may start and stop growing, or oscillating, inside the step."""
    one, two = branches.steady
    error = [s.steady[1] for s in (a, b)]
    target = match.target[branches.number]
    errors = error[0][branches.number], error[1][target]
    counted = (a.kind[branches.number] != "prescribed") & (b.kind[target] != "prescribed")
    usable = counted & ~np.isin(branches.number, changed)
    length = b.at - a.at
    for reached, curve in regime_changes((one, two, *branches.steady_slope), errors):
        for p in np.flatnonzero(reached & usable):
            tau = hermite.lowest(curve[:, p])
            tau = tau if 0.02 < tau < 0.98 else 0.5
            return Doubt(a.at + tau * length, int(branches.number[p]))
    return None


def regime_changes(
    ends: tuple[Complex, Complex, Complex, Complex], errors: tuple[Array, Array]
) -> Iterator[tuple[Mask, Array]]:
    """Which modes may start and stop growing, and which oscillating, inside the step, (R,); and the
    curves (PLACES, R) that are lowest there.

    ends: steady values at both ends, and slopes there times the length of the step; errors: of the
    values.
    """
    one, two, slope, onward = ends
    level = np.maximum(growth_floor(one) + errors[0], growth_floor(two) + errors[1])
    moves = (np.abs(one.imag) > growth_floor(one)) & (np.abs(two.imag) > growth_floor(two))
    usable = moves & np.isfinite(slope) & np.isfinite(onward)
    along = hermite.along(hermite.coefficients(*ends))
    off = hermite.error(*(x.real for x in ends))
    growing = one.real > level
    sign_each = np.where(growing, -1.0, 1.0)
    extreme = (sign_each * (along.real - level)).max(axis=0)
    reached = ((extreme + off > 0.0) & (off > level)) | (extreme > 0.0)
    reached |= _tangents_meet(
        [sign_each * x for x in (one.real - level, two.real - level)],
        [sign_each * x.real for x in (slope, onward)],
    )
    yield reached & usable & (growing == (two.real > level)), -sign_each * along.real
    curve = np.sign(one.imag) * along.imag
    reached = curve.min(axis=0) - hermite.error(*(x.imag for x in ends)) < 0.0
    yield reached & usable & (one.imag * two.imag > 0.0), curve


def _tangents_meet(ends: list[Array], slopes: list[Array]) -> Mask:
    """Whether the tangents at both ends meet above zero inside the step: a concave curve between
    them, negative at both, may pass zero."""
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = (ends[1] - ends[0] - slopes[1]) / (slopes[0] - slopes[1])
        height = ends[0] + slopes[0] * tau
    return np.asarray((slopes[0] > 0.0) & (slopes[1] < 0.0) & (height > 0.0))
