"""Whether a model repeats itself after a period, and what is seen of its matrices within it.

Every matrix is compared with that a period later at a few instants. Then the matrices are evaluated
at equal distances over two periods, the second time half a distance later. On each of a few panels
of the period they must lie on one polynomial. A panel where they do not is halved until they do, or
until what is off no longer matters: the ends of the panels enclose every pulse, kink and jump that
is wider than the distance of the instants, which is stated.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from assembly.arguments import real_array, shown
from assembly.errors import InputError
from assembly.system.frozen import DAMPING_PARTS, PARTS, STIFFNESS_PARTS
from modal.eigen.tolerances import ROUND_OFF, WEAK, ZERO
from modal.periodic.tolerances import FEWEST, LEAST, MOST_FROZEN, MOST_INSTANTS, NOISE, SAME, SMOOTH
from modal.reduction.interpolation import CHECKS, GOLDEN, irregular
from modal.transient.equations import GROUPS, FirstOrderModel, SecondOrderModel
from modal.transient.tolerances import BATCH_NUMBERS, PIECES
from modal.types import Array, Index

NODES = 24  # instants of a panel, at least: twice the coefficients of its polynomial


def check_period_length(period: Any) -> None:
    """InputError unless the period is a positive number."""
    length = real_array(period)
    if length is None or length.ndim or not (np.isfinite(length) and length > 0.0):
        raise InputError(f"period: expected a positive number of seconds, got {shown(period)}")


def check_period(
    equations: FirstOrderModel | SecondOrderModel, period: float, t0: float, breaks: Sequence[float]
) -> None:
    """InputError unless every matrix at t + T is that at t, for several t of the period.

    Whole multiples of the shortest period are periods. Each part of a model (M, C, D, K, …) is
    compared by itself, an entry of a callable's A(t) with the largest of its row. Where all that
    the matrices are made of repeats itself, so do they.
    """
    times = (t0 + period * irregular(CHECKS)).tolist()
    times = [t for t in times if all(abs(t - b) > SAME * period for b in breaks)]
    both = np.array([t + shift for shift in (0.0, period) for t in times])
    causes = _causes(equations)
    if causes is not None:
        made_of = [part for part in causes(both) if part.size]
        rows = [{str(k): part[n] for k, part in enumerate(made_of)} for n in range(len(both))]
        if not list(_changes(rows)):
            return
    for name, worst, change in _changes(_matrices(equations, both)):
        raise InputError(
            f"period: the model does not repeat itself after {period:.6g} s "
            f"(from t = {times[worst]:.6g} s, {name} changes by {change:.1e} of its size)"
        )


def _causes(equations: FirstOrderModel | SecondOrderModel) -> Callable[[Array], list[Array]] | None:
    """What the matrices at times (P,) are made of, (P, ...) each, where a model tells it."""
    return getattr(getattr(equations, "model", None), "causes", None)


def _changes(found: list[dict[str, Any]]) -> Iterator[tuple[str, int, float]]:
    """Of the parts of instants, and of the same a period later: the names of those that change,
    where they do most, and by how much of their size."""
    here, later = found[: len(found) // 2], found[len(found) // 2 :]
    whole = {name: max(_largest(m[name]) for m in here) for name in here[0]}
    stiffness = max((whole[name] for name in STIFFNESS_PARTS if name in whole), default=0.0)
    for name, size in whole.items():
        reference = stiffness if name in STIFFNESS_PARTS else size
        if name in DAMPING_PARTS:
            reference = float(np.sqrt(whole["M"] * stiffness))
        if size <= ZERO * reference:
            continue
        gaps = np.array([_largest(b[name] - a[name]) for a, b in zip(here, later, strict=True)])
        within = max(_largest(a[name] - b[name]) for a, b in combinations(here, 2))
        worst = int(np.argmax(gaps))
        if gaps[worst] > min(SAME * size, max(WEAK * within, NOISE * size)):
            yield name, worst, float(gaps[worst] / size)


def _matrices(equations: FirstOrderModel | SecondOrderModel, times: Array) -> list[dict[str, Any]]:
    """The matrices of instants by name: the parts of a model, or their values on the pattern that
    all instants share; the rows of A(t)."""
    if isinstance(equations, SecondOrderModel):
        if not equations.constant and hasattr(equations.model, "freeze_many"):
            parts = equations.model.freeze_many(times).values
            return [{name: parts[name][n] for name in parts} for n in range(len(times))]
        systems = equations.several(times)
        return [{name: system.parts[name].tocsr() for name in PARTS} for system in systems]
    return [
        {f"row {i + 1} of A": row for i, row in enumerate(equations.first_order(float(t)))}
        for t in times
    ]


def _largest(matrix: Any) -> float:
    return float(abs(matrix).max())


@dataclass(frozen=True)
class Sampling:
    """breaks: instants between which the matrices are smooth, s; the declared ones alone where no
    feature was found. narrowest: width of the narrowest feature that cannot be missed, s."""

    breaks: tuple[float, ...]
    narrowest: float


def sampling(
    equations: FirstOrderModel | SecondOrderModel,
    period: float,
    t0: float,
    breaks: Sequence[float] = (),
    narrowest: float | None = None,
) -> Sampling:
    """The features of the matrices over a period.

    narrowest: width of features that must be seen, s. Raises InputError where the matrices at an
    instant are not those a period later.
    """
    check_period(equations, period, t0, breaks)
    if isinstance(equations, SecondOrderModel) and equations.constant:
        return Sampling(tuple(breaks), 0.0)
    count = _instants(equations, t0) if narrowest is None else int(np.ceil(period / narrowest))
    count += count % 2
    causes = _causes(equations)
    if causes is not None and not breaks:
        # Where all that the matrices are made of is smooth, so are they.
        made = _Panels(lambda times: _beside(causes(times)), _sizes_of_rows, period, t0, (), count)
        if made.are_smooth():
            return Sampling((), period / count)
    sizes = _sizes_of_rows if isinstance(equations, FirstOrderModel) else _sizes_of_parts
    found = _Panels(_rows(equations), sizes, period, t0, tuple(breaks), count)
    return Sampling(found.breaks(), period / count)


def _instants(equations: FirstOrderModel | SecondOrderModel, t0: float) -> int:
    if isinstance(equations, FirstOrderModel):
        return MOST_INSTANTS
    return int(np.clip(BATCH_NUMBERS // equations.at(t0).n, FEWEST, MOST_FROZEN))


def _rows(equations: FirstOrderModel | SecondOrderModel) -> Callable[[Array], Array]:
    """The matrices at times (P,) as rows (P, rows, width): A(t); of a model with `freeze` the
    products of M, C + D and K with one fixed vector."""
    if isinstance(equations, FirstOrderModel):
        return lambda times: np.stack([equations.first_order(float(t)) for t in times])

    def vector(n: int) -> Array:
        return np.asarray(np.cos(np.arange(1.0, n + 1.0)))

    def products(times: Array) -> Array:
        if hasattr(equations.model, "freeze_many"):
            series = equations.model.freeze_many(times)
            rows = [series.products(vector(series.n), *names) for names in GROUPS[:3]]
            return np.asarray(np.hstack(rows)[..., None])
        systems = equations.several(times)
        sums = [system.combined(names).terms for system in systems for names in GROUPS[:3]]
        # A model has the same few operators at all instants.
        operators = {id(A): A for terms in sums for _, A in terms}
        images = {key: A @ vector(A.shape[0]) for key, A in operators.items()}
        zero = np.zeros(systems[0].n)
        rows = [sum((c * images[id(A)] for c, A in terms), zero) for terms in sums]
        return np.asarray(rows).reshape(len(times), -1, 1)

    return products


def _beside(arrays: list[Array]) -> Array:
    """Arrays (P, ...) as rows (P, arrays, width), filled up with zeros."""
    flat = [array.reshape(len(array), -1) for array in arrays]
    width = max(array.shape[1] for array in flat)
    rows = [np.pad(array, ((0, 0), (0, width - array.shape[1]))) for array in flat]
    return np.stack(rows, axis=1)


def _sizes_of_rows(largest: Array) -> Array:
    return np.where(largest > 0.0, largest, 1.0)


def _sizes_of_parts(largest: Array) -> Array:
    """Rows far below the largest of M, C + D or K may be round-off; C + D is compared with the
    geometric mean of M and K."""
    parts = largest.reshape(3, -1)
    M, C, K = parts.max(axis=1)
    least = LEAST * np.array([M, max(C, np.sqrt(M * K)), K])[:, None]
    return _sizes_of_rows(np.maximum(parts, least).ravel())


@dataclass(frozen=True)
class _Panel:
    start: float
    end: float
    deviation: float  # from the polynomial, of the largest entry of a row


class _Panels:
    """Panels of the period, halved where the matrices are not on a polynomial."""

    def __init__(
        self,
        rows: Callable[[Array], Array],
        sizes: Callable[[Array], Array],
        period: float,
        t0: float,
        breaks: tuple[float, ...],
        count: int,
    ) -> None:
        self.rows, self.period, self.t0, self.declared = rows, period, t0, breaks
        self.distance = period / count
        first = t0 + period * (np.arange(count // 2) + 0.25) / (count // 2)
        second = first + 0.5 * period / (count // 2)
        self.times = np.concatenate([first, second])
        self.later = np.repeat([0.0, period], count // 2)  # when they are evaluated
        order = np.argsort(self.times, kind="stable")
        values = rows(self.times + self.later)
        self.times, self.later, self.values = self.times[order], self.later[order], values[order]
        self.size = sizes(np.abs(values).max(axis=(0, 2)))[:, None]

    def are_smooth(self) -> bool:
        """Whether no panel has to be halved."""
        parts = self._parts(self.t0, self.t0 + self.period)
        return all(self._apart(*part)[1].max(initial=0.0) <= SMOOTH for part in parts)

    def _parts(self, start: float, end: float) -> list[tuple[float, float]]:
        """No simple fractions of the period, where matrices may jump."""
        parts = int(np.ceil(PIECES * (end - start) / self.period))
        inner = start + (end - start) * (np.arange(parts) + GOLDEN) / parts
        return list(pairwise((start, *inner.tolist(), end)))

    def breaks(self) -> tuple[float, ...]:
        """The ends of the panels where one was halved, otherwise the declared breaks."""
        edges = [self.t0, *sorted(self.declared), self.t0 + self.period]
        done: list[_Panel] = []
        open_panels: list[tuple[float, float, _Panel]] = []

        def add(start: float, end: float) -> None:
            panel = _Panel(start, end, self._deviation(start, end))
            effect = panel.deviation * (end - start) / self.period
            if panel.deviation <= SMOOTH or effect <= ROUND_OFF:
                done.append(panel)
            else:
                heapq.heappush(open_panels, (-effect, start, panel))

        for start, end in pairwise(edges):
            for a, b in self._parts(start, end):
                add(a, b)
        if not open_panels:
            return self.declared
        while open_panels and len(done) + len(open_panels) < MOST_FROZEN:
            panel = heapq.heappop(open_panels)[2]
            narrow = panel.end - panel.start < self.distance
            jump = (self._jump(panel) or self._kink(panel)) if narrow else ()
            self.declared = tuple(sorted({*jump, *self.declared}))
            cuts = jump or (0.5 * (panel.start + panel.end),)
            for a, b in pairwise((panel.start, *cuts, panel.end)):
                add(a, b)
        tiny = {edge for p in done if p.deviation > SMOOTH for edge in (p.start, p.end)}
        if not tiny | set(self.declared) <= set(edges):
            # Anew: between jumps the matrices may be smooth, so that no panels lead up to them.
            self.declared = tuple(sorted({*tiny, *self.declared}))
            return self.breaks()
        starts = {panel.start for panel in done} | {entry[1] for entry in open_panels}
        return tuple(sorted(starts - {self.t0} | set(self.declared)))

    def _jump(self, panel: _Panel) -> tuple[float, ...]:
        """Two instants between which the matrices jump, as near as matters; none where there is no
        jump."""
        a, b = panel.start, panel.end
        times = np.linspace(a, b, NODES + 2)[1:-1]
        values = self.rows(times)
        steps = (np.abs(np.diff(values, axis=0)) / self.size).max(axis=(1, 2))
        at = int(np.argmax(steps))
        a, b, left, right = times[at], times[at + 1], values[at], values[at + 1]
        while (b - a) * steps[at] > ROUND_OFF * self.period:
            middle = 0.5 * (a + b)
            if not a < middle < b:
                break
            value = self.rows(np.array([middle]))[0]
            apart = [(np.abs(value - side) / self.size).max() for side in (left, right)]
            if min(apart) > 0.5 * steps[at]:
                return ()
            if apart[0] < apart[1]:
                a, left = middle, value
            else:
                b, right = middle, value
        still = (np.abs(right - left) / self.size).max()
        return (float(a), float(b)) if still > 0.5 * steps[at] else ()

    def _kink(self, panel: _Panel) -> tuple[float, ...]:
        """Two instants that enclose the one place of a panel where the matrices are not smooth, as
        near as matters; none where there is more than one, or a smooth pulse."""
        a, b = panel.start, panel.end
        while True:
            middle = 0.5 * (a + b)
            halves = [(a, middle), (middle, b)]
            deviations = [self._deviation(*half) for half in halves]
            rough = [n for n, deviation in enumerate(deviations) if deviation > SMOOTH]
            if len(rough) != 1:
                return ()
            a, b = halves[rough[0]]
            if deviations[rough[0]] * (b - a) <= ROUND_OFF * self.period:
                return a, b

    def _deviation(self, start: float, end: float) -> float:
        """Largest distance of the matrices from a polynomial through them."""
        inside, deviations = self._apart(start, end)
        self._check_period(inside[deviations[: len(inside)] > SAME])
        return float(deviations.max(initial=0.0))

    def _apart(self, start: float, end: float) -> tuple[Index, Array]:
        """The instants of a panel, and the distances there and at others of the matrices from a
        polynomial through them."""
        inside = np.flatnonzero((self.times >= start) & (self.times <= end))
        inside = inside[~self._at_jump(self.times[inside])]
        times, values = self.times[inside], self.values[inside]
        if len(inside) < NODES:
            nodes = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)
            extra = 0.5 * (start + end) + 0.5 * (end - start) * nodes
            extra = extra[~self._at_jump(extra)]
            if not len(extra):
                return inside[:0], np.zeros(0)
            values = np.concatenate([values, self.rows(extra)])
            times = np.concatenate([times, extra])
        x = (2.0 * times - start - end) / (end - start)
        basis = np.polynomial.chebyshev.chebvander(x, max(min(len(x), NODES) // 2 - 1, 0))
        flat = values.reshape(len(x), -1)
        Q = np.linalg.qr(basis)[0]
        apart = np.abs(flat - Q @ (Q.T @ flat)).reshape(values.shape) / self.size
        return inside, apart.max(axis=(1, 2))

    def _at_jump(self, times: Array) -> Any:
        """Whether instants are next to a declared jump."""
        apart = np.abs(times[:, None] - np.array(self.declared))
        return apart.min(axis=1, initial=np.inf) <= SAME * self.period

    def _check_period(self, instants: Index) -> None:
        """InputError unless the matrices at these instants are those of the other period."""
        if not len(instants):
            return
        others = self.rows(self.times[instants] + self.period - self.later[instants])
        change = (np.abs(others - self.values[instants]) / self.size).max(axis=(1, 2))
        worst = int(np.argmax(change))
        if change[worst] > SAME:
            raise InputError(
                f"period: the model does not repeat itself after {self.period:.6g} s "
                f"(from t = {self.times[instants[worst]]:.6g} s, a row of its matrices changes by "
                f"{change[worst]:.1e} of its size)"
            )
