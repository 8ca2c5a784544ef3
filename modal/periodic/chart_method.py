"""The points of a Hill chart (docs/numerics.md, "Hill charts").

The accelerations of all motions on one space of shapes are a polynomial of the parameters. Where
the motion is slow beside the distance of slow and fast modes, the fast shapes are eliminated, and
only the slow accelerations are evaluated at the points of that panel. A point then costs the Gauss
steps of a few coordinates, twice. Errors by shapes, elimination and polynomials are measured at
points of every panel. Charts of few points, or of motions that do not share shapes, have a Floquet
analysis at every point.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.errors import AccuracyError, ConvergenceError
from assembly.mechanisms.mechanism import MechanismSystem
from assembly.system.frozen import FrozenSystem
from modal.maps.grid import Grid, named
from modal.maps.methods import Method
from modal.maps.store import Slices, columns
from modal.periodic.chart_motion import (
    INSTANTS,
    SHARE,
    ChartMotion,
    Motion,
    Motions,
    Spectra,
    accelerations_of,
    matrix_sizes,
)
from modal.periodic.chart_panel import Panel, panel_of
from modal.periodic.collocation import Multipliers
from modal.periodic.decaying_modes import decaying_boxes, on_all_shapes
from modal.periodic.floquet import BASIS_ACCURACY, floquet
from modal.periodic.floquet_modes import periodic_verdict
from modal.periodic.periodic_modes import distances
from modal.periodic.sampling import sampling
from modal.periodic.tolerances import DENSE, FASTER, GAIN, REFINEMENTS, RESOLVED, SMOOTH
from modal.proofs.judge import COUNT, MODES, Verdict
from modal.provenance.fingerprint import TIMES, MotionProbe, PointPrints
from modal.reduction.interpolation import ParameterPolynomial, parameter_polynomial
from modal.reduction.link_space import LinkFamily, LinkSpace
from modal.reduction.motion import BodyMotion, LinkMotion, ReducedMotion, body_space, may_be_reduced
from modal.reduction.space import beginning
from modal.reduction.tolerances import SAFETY, WHOLE, WORTH_A_SPACE
from modal.transient.equations import SecondOrderModel, freezer, instants, is_second_order
from modal.types import Array, Complex, Index

Period = float | Callable[..., float]

KNOWN = 0.05  # largest error a period of an exponent that is known


class ChartMethod(Method):
    """The points of a chart: `prepare` or `restore`, then tiles in any order.

    panels: of shared shapes, and the number of each point's in `places`; none where points are
    computed by themselves.
    """

    solver = "Floquet multipliers"

    def __init__(
        self, grid: Grid, period: Period, k: int, breaks: Sequence[float], checks: int
    ) -> None:
        self.grid, self.k, self.breaks, self.checks = grid, k, breaks, checks
        self._period = period
        self.panels: list[Panel] = []
        self.places = np.zeros(grid.count, dtype=np.intp)
        self.proved = np.zeros((0, 0))

    def period(self, point: Mapping[str, float]) -> float:
        """Of the motion at a point, s."""
        if callable(self._period):
            return float(self._period(**point, **self.grid.constants))
        return self._period

    def motion(self, point: Mapping[str, float]) -> Motion:
        """The model of a point and its period, s."""
        return self.grid.model(**point, **self.grid.constants), self.period(point)

    def prints(self) -> PointPrints:
        """The fingerprints of the family: its period and its matrices at a few instants of it."""
        probe = MotionProbe()

        def of(point: Mapping[str, float]) -> Array:
            axes = self.grid.axes
            place = [int(np.argmax(axes[name] == value)) for name, value in point.items()]
            model, period = self.motion(point)
            times = period * np.random.default_rng([37, *place]).uniform(size=TIMES)
            return probe.of(instants(model, times), period)

        return PointPrints(self.grid.points, self.grid.sampled(), of)

    def prepare(self) -> dict[str, NDArray[Any]]:
        """The panels, where the motions share their shapes."""
        shared = not self.breaks and self.grid.count >= WORTH_A_SPACE
        models = [self.motion(point)[0] for point in self.grid.sampled(0)] if shared else []
        if shared and all(is_second_order(model) for model in models):
            try:
                self._train()
            except AccuracyError:
                self.panels = []
        return self.arrays()

    def _train(self) -> None:
        """Raises AccuracyError where the motions do not share shapes."""
        axes = list(self.grid.axes.values())
        low, high = np.array([a.min() for a in axes]), np.array([a.max() for a in axes])
        ends = itertools.product(*({a, b} for a, b in zip(low, high, strict=True)))
        points = [self._named(np.array(end)) for end in (*ends, 0.5 * (low + high))]
        k = self.k
        # Each is made once: a mechanism keeps what it has solved of its motion.
        made = cache(lambda *items: self.motion(dict(items)))
        motions = with_bases(lambda point: made(*point.items()), points, k)
        for model, period in map(motions, points):
            # Features may be narrower than the parts of a period.
            if sampling(SecondOrderModel(model), period, 0.0).breaks:
                raise AccuracyError("the matrices of the motion are not smooth in time")
        motion = ChartMotion.of(motions, points, k)
        of_bases = isinstance(motions(points[0])[0], ReducedMotion)
        whole = motion.is_whole and not of_bases
        k = min(k, len(motion.frequencies))
        provable = not motion.is_whole and not of_bases and len(motion.shapes) <= DENSE
        every = on_all_shapes(motion, motions, points) if provable else None
        motion = replace(motion, parts=every.parts) if every else motion

        @cache
        def matrices(*x: float) -> Array:
            return (every or motion).matrices(motions(self._named(np.array(x))))

        polynomial = parameter_polynomial(
            lambda x: motion.projected(matrices(*x), every) if every else matrices(*x),
            low, high, SMOOTH, matrix_sizes,
        )  # fmt: skip
        if polynomial is None:
            raise AccuracyError("the matrices are not smooth functions of the parameters")
        samples = [polynomial(self._vector(point)) for point in points]
        spectra = Spectra.of(motion, samples)
        shortest = min(self.period(point) for point in self.grid.points())
        self._divide(motion, polynomial, spectra, whole, shortest)
        self._measure(motions, motion)
        if every is not None:
            boxes = decaying_boxes(every, lambda x: matrices(*x), self._turning, axes, k, SMOOTH)
            speeds = [spectra.fastest(int(box[-2])) for box in boxes]
            self.proved = np.column_stack([boxes, speeds])

    def _divide(
        self,
        motion: ChartMotion,
        polynomial: ParameterPolynomial,
        spectra: Spectra,
        whole: bool,
        shortest: float,
    ) -> None:
        """Panels: points with the same number of slow coordinates."""
        points = np.array([self._vector(point) for point in self.grid.points()])
        periods = np.array([self._turning(x) for x in points])
        rates, place = np.unique(periods, return_inverse=True)
        # A verdict on all modes needs all shapes.
        r = len(motion.frequencies)
        number = r if whole and r > WHOLE else self.k
        fastest = spectra.fastest(number)
        # Overdamped modes that decay to nothing need no steps that resolve them.
        lasting = fastest if whole else spectra.fastest(number, shortest)
        decaying = lasting <= GAIN * fastest
        fastest = lasting if decaying else fastest
        kept = np.array([r if whole else spectra.slow(min(self.k, r), rate) for rate in rates])
        for m in np.unique(kept):
            rows = np.flatnonzero(kept[place] == m)
            box, rate = (points[rows].min(axis=0), points[rows].max(axis=0)), periods[rows].max()
            found = None
            # More slow coordinates where these cannot be told apart.
            while found is None and m < r:
                harmonics = int(SHARE * spectra.gap(m) / rate)
                found = panel_of(
                    motion, lambda x: accelerations_of(polynomial(x)),
                    lambda x: 2.0 * np.pi / self._turning(x), box, m, fastest, harmonics, decaying,
                )  # fmt: skip
                m = spectra.slow(m + 1, rate)
            self.places[rows] = len(self.panels)
            found = found or Panel(polynomial, motion.frequencies, fastest, whole, decaying)
            self.panels.append(found)

    def _measure(self, motions: Motions, motion: ChartMotion) -> None:
        """Enter the errors by shapes, elimination and polynomials found at points of each panel."""
        rng = np.random.default_rng(17)
        points = self.grid.points()
        for number, panel in enumerate(self.panels):
            rows = np.flatnonzero(self.places == number)
            chosen = rng.choice(rows, size=min(len(rows), max(1, self.checks)), replace=False)
            measured = [
                _difference(motions(points[row]), motion, panel, self._vector(points[row]))
                for row in chosen
            ]
            speeds, errors = np.concatenate(measured, axis=1)
            if not errors.size:
                raise AccuracyError("no exponent is known well enough to measure an error by")
            self.panels[number] = panel.with_errors(speeds, SAFETY * errors)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that `restore` needs to give the same tiles bit by bit."""
        if not self.panels:
            return {}
        out: dict[str, NDArray[Any]] = {"places": self.places, "proved": self.proved}
        for number, panel in enumerate(self.panels):
            out |= {f"{number}:{name}": array for name, array in panel.arrays().items()}
        return out

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue with stored panels."""
        if not arrays:
            return
        self.places, self.proved = arrays["places"], arrays["proved"]
        for number in range(int(self.places.max()) + 1):
            self.panels.append(Panel.restored(beginning(f"{number}:", arrays)))

    def tile(self, tile: Slices) -> dict[str, NDArray[Any]]:
        """The columns of the points of a tile."""
        points = self.grid.points(tile)
        if not self.panels:
            full = np.ones(len(points), dtype=np.int8)
            return columns([self.verdict(point) for point in points], full)
        places = self.places.reshape(self.grid.shape)[tile].ravel()
        verdicts = [
            self._from_panel(self._vector(point), self.panels[place])
            for point, place in zip(points, places, strict=True)
        ]
        full = np.array([verdict is None for verdict in verdicts], dtype=np.int8)
        each = zip(verdicts, points, strict=True)
        return columns([verdict or self.verdict(point) for verdict, point in each], full)

    def verdict(self, point: Mapping[str, float]) -> Verdict:
        """Of one point by itself. Raises ConvergenceError with its name."""
        model, T = self.motion(point)
        try:
            found = floquet(model, T, k=self.k, breaks=self.breaks)
        except ConvergenceError as fault:
            raise ConvergenceError(f"at {named(point)}: {fault}", partial=fault.partial) from fault
        # Where the error is infinite the exponent is an upper bound: below zero it is not critical.
        counted = np.isfinite(found.error) | (found.exponents.real > 0.0)
        proof = COUNT if found.is_complete else MODES
        return periodic_verdict(found.exponents[counted], found.error[counted], T, proof)

    def _from_panel(self, x: Array, panel: Panel) -> Verdict | None:
        """Of one point; None where the panel has no multipliers of it."""
        period, rest = 2.0 * np.pi / self._turning(x), self._rest(x, panel)
        verdict: Verdict | None = None
        before = np.inf
        fastest = rest.speed if np.isfinite(rest.speed) else 0.0  # that steps must resolve
        for found in itertools.islice(panel.multipliers(x, period, fastest), REFINEMENTS):
            verdict, by_steps = _judged(found, period, panel, self.k, rest)
            resolved = by_steps * period <= max(RESOLVED, 0.1 * abs(verdict.growth_rate) * period)
            # More steps only add to an error by round-off.
            if (resolved or by_steps > GAIN * before) and not found.complete_to < rest.speed:
                break
            before = by_steps
        return verdict

    def _rest(self, x: Array, panel: Panel) -> Rest:
        """What is known at a point of the modes that are not computed."""
        if panel.whole:
            return Rest(np.inf)
        d = len(x)
        for row in self.proved:
            *_, m, s, fastest = row
            if np.all((row[:d] <= x) & (x <= row[d : 2 * d])) and m <= len(panel.frequencies):
                return Rest(FASTER * fastest, 2 * int(m), s)
        return Rest()

    def _named(self, x: Array) -> dict[str, float]:
        return {name: float(value) for name, value in zip(self.grid.axes, x, strict=True)}

    def _vector(self, point: Mapping[str, float]) -> Array:
        return np.array([point[name] for name in self.grid.axes])

    def _turning(self, x: Array) -> float:
        """2π/T, rad/s."""
        return 2.0 * np.pi / self.period(self._named(x))


@dataclass(frozen=True)
class Rest:
    """What a verdict on all modes needs: all multipliers up to a speed, rad/s; NaN where nothing is
    known of the others. There `count` exponents are above s, 1/s, and all others below."""

    speed: float = np.nan
    count: int | None = None
    s: float = -np.inf

    def decays(self, found: Multipliers, exponents: Complex, bounds: Array) -> bool:
        """Whether no others than these exponents with their bounds may grow."""
        above = int(np.sum(exponents.real - bounds > self.s))
        return found.complete_to >= self.speed and (self.count is None or above <= self.count)


def with_bases(motions: Motions, points: Sequence[Mapping[str, float]], k: int) -> Motions:
    """The motions, those of large bodies and of mechanisms with large links on bases grown at some
    points.

    Raises AccuracyError where the mechanisms do not share their links, or the bases cannot be made
    accurate enough.
    """

    def freeze(at: Mapping[str, Any]) -> FrozenSystem:
        return freezer(motions(at["point"])[0])(at["t"])

    parts = np.arange(2 * INSTANTS) / (2 * INSTANTS)
    at = [{"point": p, "t": float(t)} for p in points for t in motions(p)[1] * parts]
    first = freeze(at[0])
    if not may_be_reduced(first):
        return motions
    if isinstance(first, MechanismSystem):
        family = LinkFamily(first, freeze)
        links = LinkSpace(family, k, BASIS_ACCURACY)
        worst = links.train_for_good(family.coefficients(at))
        if worst > 1.0:
            raise AccuracyError(f"bases of links: an error bound stays {worst:.3g} times too large")

        def on_links(point: Mapping[str, float]) -> Motion:
            (mechanism,) = family.coefficients([{"point": point, "t": 0.0}]).mechanisms
            return LinkMotion(links, mechanism), motions(point)[1]

        return on_links
    made = body_space(freeze, at, k, BASIS_ACCURACY)
    if made is None:
        return motions
    space, coefficients = made
    if space.train_for_good(coefficients) > 1.0:
        raise AccuracyError("reduced basis: an error bound stays too large along the motion")

    def on_basis(point: Mapping[str, float]) -> Motion:
        model, period = motions(point)
        return BodyMotion(freezer(model), space, period), period

    return on_basis


def _difference(given: Motion, motion: ChartMotion, panel: Panel, x: Array) -> Array:
    """Speeds, rad/s, and errors, per unit condition, 1/s, of the known exponents of a point,
    (2, m), maybe none."""
    period, matrices = given[1], motion.matrices(given)

    def of_all(first: int) -> Multipliers | None:
        """By all shapes, of the period that begins at part `first`."""
        table = np.roll(matrices, -first, axis=0)[None]
        constant = ParameterPolynomial(x, x, (0,) * len(x), table)
        reference = replace(panel, polynomial=constant, frequencies=motion.frequencies)
        return next(reference.multipliers(x, period), None)

    exact, found = of_all(0), next(panel.multipliers(x, period), None)
    if exact is None or found is None:
        return np.zeros((2, 0))
    known = np.flatnonzero(exact.errors <= KNOWN)
    apart = distances(found.logs, exact.logs[known]).min(axis=1)
    steps = exact.errors[known] + np.min(found.errors, initial=0.0)
    error = np.maximum(apart - steps, 0.0) / period
    missed = np.zeros(len(known))
    for first in () if panel.whole else motion.untrained():
        there = of_all(first)
        if there is None:
            return np.zeros((2, 0))
        same = distances(there.logs, exact.logs[known]).argmin(axis=1)
        H = accelerations_of(matrices[first : first + 1])[0]
        missed = np.maximum(missed, motion.missed(given, H, there.vectors[:, same], first))
    return np.stack([exact.speeds[known], (error + missed) / exact.conditions[known]])


def _judged(
    found: Multipliers, period: float, panel: Panel, k: int, rest: Rest
) -> tuple[Verdict, float]:
    """The verdict on the k slowest modes and all that are known or grow, and the error by the
    steps of the one that grows most, 1/s."""
    exponents: Complex = found.logs / period
    steps = found.errors / period
    bounds = steps + panel.errors(found) * found.conditions
    slow = np.zeros(len(bounds), dtype=bool)
    slow[np.argsort(found.speeds, kind="stable")[: 2 * k]] = True
    slow &= np.isfinite(bounds)  # the others have decayed to round-off
    everything = rest.decays(found, exponents, bounds)
    # Of decayed exponents the bound is on the multiplier: log μ is not above the one given.
    counted = slow | (bounds * period <= KNOWN) | (exponents.real > bounds)
    if everything:
        resolved = found.speeds <= found.complete_to
        counted |= np.isfinite(bounds) | (resolved & (exponents.real > 0.0))
    chosen: Index = np.flatnonzero(counted) if counted.any() else np.arange(len(bounds))
    proof = COUNT if everything else MODES
    verdict = periodic_verdict(exponents[chosen], bounds[chosen], period, proof)
    critical: Index = chosen[np.isclose(exponents[chosen].real, verdict.growth_rate, rtol=1e-12)]
    return verdict, float(np.max(steps[critical], initial=0.0))
