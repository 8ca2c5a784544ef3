"""A Hill chart of motions that share their shapes (docs/numerics.md, "Hill charts").

The accelerations of all motions on one space of shapes are a polynomial of the parameters. Where
the motion is slow beside the distance of slow and fast modes, the fast shapes are eliminated, and
only the slow accelerations are evaluated at the points of that panel. A point then costs the Gauss
steps of a few coordinates, twice. Errors by shapes, elimination and polynomials are measured at
points of every panel.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assembly.errors import AccuracyError
from modal.maps.store import Slices
from modal.maps.verdict_columns import columns
from modal.periodic.chart_bases import with_bases
from modal.periodic.chart_motion import (
    ALL_SHAPES,
    ChartMotion,
    Motion,
    Motions,
    accelerations_of,
    matrix_sizes,
)
from modal.periodic.chart_panel import SHARE, Panel, Spectra, panel_of
from modal.periodic.chart_points import ChartPoints
from modal.periodic.chart_proofs import decaying_boxes, on_all_shapes
from modal.periodic.periodic_verdict import periodic_verdict
from modal.periodic.periodicity import check_period
from modal.periodic.sampling import sampling
from modal.periodic.second_order_steps import Multipliers
from modal.proofs.codes import COUNT, MODES
from modal.proofs.judge import Verdict
from modal.reduction.parameter_polynomial import ParameterPolynomial, parameter_polynomial
from modal.reduction.reduced_motion import ReducedMotion
from modal.transient.equations import SecondOrderModel
from modal.types import Array, Complex, Index

REDUCED = 0  # value of the map's flag `source`
AFFINE = 1e-8  # of the largest entries: deviation of the polynomial of the matrices
SAFETY = 2.0  # on errors measured at a few points
KNOWN = 0.05  # largest error a period of an exponent that is known
MOST_DOFS = 150  # of which all but the slowest modes are proved to decay: it costs their cube
SPEED = 1.2  # of the fastest frozen mode that must be resolved: how much faster it may be in motion
RESOLVED = 1e-3  # error a period below which no more steps are taken
REFINEMENTS = 3  # numbers of steps that are tried


class SharedShapes:
    """The method: `prepare` or `restore`, then tiles in any order."""

    def __init__(self, chart: ChartPoints, checks: int) -> None:
        self.chart, self.grid, self.checks = chart, chart.grid, checks
        self.panels: list[Panel] = []
        self.whole = False
        self.axis, self.places = 0, np.zeros(0, dtype=np.intp)
        self.proved = np.zeros((0, 0))

    def prepare(self) -> dict[str, NDArray[Any]]:
        """The panels. Raises AccuracyError where the motions do not share shapes."""
        axes = list(self.grid.axes.values())
        low, high = np.array([a.min() for a in axes]), np.array([a.max() for a in axes])
        ends = itertools.product(*({a, b} for a, b in zip(low, high, strict=True)))
        points = [self._named(np.array(end)) for end in (*ends, 0.5 * (low + high))]
        k = self.chart.k
        motions = with_bases(_remembered(self.chart.motion), points, k)
        for point in points:
            _check_smooth(*motions(point))
        motion = ChartMotion.of(motions, points, k)
        of_bases = isinstance(motions(points[0])[0], ReducedMotion)
        self.whole = motion.is_whole and not of_bases
        k = min(k, len(motion.frequencies))
        provable = not motion.is_whole and not of_bases and len(motion.shapes) <= MOST_DOFS
        every = on_all_shapes(motion, motions, points) if provable else None
        motion = replace(motion, parts=every.parts) if every else motion

        @cache
        def matrices(*x: float) -> Array:
            return (every or motion).matrices(motions(self._named(np.array(x))))

        whole = parameter_polynomial(
            lambda x: motion.projected(matrices(*x), every) if every else matrices(*x),
            low, high, AFFINE, matrix_sizes,
        )  # fmt: skip
        if whole is None:
            raise AccuracyError("the matrices are not smooth functions of the parameters")
        spectra = Spectra.of(
            motion, [accelerations_of(whole(self._vector(point))) for point in points]
        )
        self._divide(motion, whole, spectra, k)
        self._measure(motions, motion)
        if every is not None:
            boxes = decaying_boxes(every, lambda x: matrices(*x), self._turning, axes, k, AFFINE)
            self.proved = np.array([[*box, spectra.fastest(int(box[-2]))] for box in boxes])
        return self.arrays()

    def _divide(
        self, motion: ChartMotion, whole: ParameterPolynomial, spectra: Spectra, k: int
    ) -> None:
        """Panels: neighbouring values of the axis along which the period changes most."""
        axes = list(self.grid.axes.values())
        self.axis = self._period_axis()
        values = axes[self.axis]
        rates = np.array([self._rate(value) for value in values])
        # A verdict on all modes needs all shapes.
        r = len(motion.frequencies)
        kept = np.array([r if self.whole else spectra.slow(k, rate) for rate in rates])
        order = np.argsort(values, kind="stable")
        cuts = np.flatnonzero(np.diff(kept[order])) + 1
        self.panels, self.places = [], np.zeros(len(values), dtype=np.intp)
        fastest = spectra.fastest(r if self.whole and r > ALL_SHAPES else k)
        for rows in np.split(order, cuts):
            m, box = int(kept[rows[0]]), (whole.low.copy(), whole.high.copy())
            box[0][self.axis], box[1][self.axis] = values[rows].min(), values[rows].max()
            panel = self._panel(motion, whole, spectra, box, (m, fastest, rates[rows].max()))
            self.places[rows] = len(self.panels)
            self.panels.append(panel)

    def _panel(
        self,
        motion: ChartMotion,
        whole: ParameterPolynomial,
        spectra: Spectra,
        box: tuple[Array, Array],
        needs: tuple[int, float, float],
    ) -> Panel:
        """With m slow modes, or with more where these cannot be told apart."""
        (m, fastest, rate), r = needs, len(motion.frequencies)
        while m < r:
            harmonics = int(SHARE * spectra.gap(m) / rate)
            found = panel_of(
                motion, lambda x: accelerations_of(whole(x)), self._period, box, m, fastest,
                harmonics,
            )  # fmt: skip
            if found is not None:
                return found
            m = spectra.slow(m + 1, rate)
        return Panel(whole, motion.frequencies, fastest, self.whole)

    def _period_axis(self) -> int:
        """The number of the axis along which the period changes most."""
        first = [values[0] for values in self.grid.axes.values()]
        changes = []
        for n, values in enumerate(self.grid.axes.values()):
            periods = [self._period(np.array([*first[:n], x, *first[n + 1 :]])) for x in values]
            changes.append(np.ptp(periods))
        return int(np.argmax(changes))

    def _rate(self, value: float) -> float:
        """Fastest 2π/T, rad/s, at a value of the axis of the panels."""
        others = [{a.min(), a.max()} for a in self.grid.axes.values()]
        others[self.axis] = {value}
        return max(2.0 * np.pi / self._period(np.array(p)) for p in itertools.product(*others))

    def _measure(self, motions: Motions, motion: ChartMotion) -> None:
        """Enter the errors by shapes, elimination and polynomials found at points of each panel."""
        rng = np.random.default_rng(17)
        axes = list(self.grid.axes.values())
        for number, panel in enumerate(self.panels):
            speeds, errors = [], []
            for _ in range(max(1, self.checks)):
                rows = np.flatnonzero(self.places == number)
                chosen = [int(rng.integers(len(a))) for a in axes]
                chosen[self.axis] = int(rng.choice(rows))
                x = np.array([a[i] for a, i in zip(axes, chosen, strict=True)])
                speed, error = self._difference(motions, motion, panel, x)
                speeds.append(speed)
                errors.append(error)
            measured = np.concatenate(errors)
            if measured.size:
                self.panels[number] = panel.with_errors(np.concatenate(speeds), SAFETY * measured)

    def _difference(
        self, motions: Motions, motion: ChartMotion, panel: Panel, x: Array
    ) -> tuple[Array, Array]:
        """Speeds, rad/s, and errors, per unit condition, 1/s, of the known exponents of a point."""
        model, period = motions(self._named(x))
        matrices = motion.matrices((model, period))

        def of_all(first: int) -> Multipliers:
            """By all shapes, of the period that begins at part `first`."""
            table = np.roll(matrices, -first, axis=0)[None]
            constant = ParameterPolynomial(x, x, (0,) * len(x), table)
            reference = Panel(constant, motion.frequencies, panel.fastest, panel.whole)
            return next(reference.multipliers(x, period))

        exact, found = of_all(0), next(panel.multipliers(x, period))
        known = np.flatnonzero(exact.errors <= KNOWN)
        apart = _distances(found.logs, exact.logs[known]).min(axis=1)
        steps = exact.errors[known] + np.min(found.errors, initial=0.0)
        error = np.maximum(apart - steps, 0.0) / period
        missed = np.zeros(len(known))
        for first in () if panel.whole else motion.untrained():
            there = of_all(first)
            same = _distances(there.logs, exact.logs[known]).argmin(axis=1)
            H = accelerations_of(matrices[first : first + 1])[0]
            part = motion.missed((model, period), H, there.vectors[:, same], first)
            missed = np.maximum(missed, part)
        error = (error + missed) / exact.conditions[known]
        return exact.speeds[known], error

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that `restore` needs to give the same tiles bit by bit."""
        out: dict[str, NDArray[Any]] = {
            "axis": np.array([self.axis]), "places": self.places, "proved": self.proved
        }  # fmt: skip
        for number, panel in enumerate(self.panels):
            out |= {f"{number}:{name}": array for name, array in panel.arrays().items()}
        return out

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Continue with stored panels."""
        self.axis, self.places = int(arrays["axis"][0]), arrays["places"]
        self.proved = arrays["proved"]
        self.panels = []
        for number in range(int(self.places.max()) + 1):
            start = f"{number}:"
            own = {n.removeprefix(start): a for n, a in arrays.items() if n.startswith(start)}
            self.panels.append(Panel.restored(own))

    def tile(self, tile: Slices) -> dict[str, NDArray[Any]]:
        """The columns of the points of a tile."""
        points = self.grid.points(tile)
        verdicts = [self._verdict(self._vector(point)) for point in points]
        return columns(verdicts, np.full(len(points), REDUCED, dtype=np.int8))

    def _verdict(self, x: Array) -> Verdict:
        values = list(self.grid.axes.values())[self.axis]
        panel = self.panels[self.places[int(np.argmin(np.abs(values - x[self.axis])))]]
        period, rest = self._period(x), self._rest(x, panel)
        verdict: Verdict | None = None
        for found in itertools.islice(panel.multipliers(x, period, rest.resolved), REFINEMENTS):
            verdict, by_steps = _judged(found, period, panel, self.chart.k, rest)
            resolved = by_steps * period <= max(RESOLVED, 0.1 * abs(verdict.growth_rate) * period)
            if resolved and not found.complete_to < rest.speed:
                break
        assert verdict is not None
        return verdict

    def _rest(self, x: Array, panel: Panel) -> Rest:
        """What is known at a point of the modes that are not computed."""
        if panel.whole:
            return Rest(np.inf)
        d = len(x)
        for row in self.proved:
            *_, m, s, fastest = row
            if np.all((row[:d] <= x) & (x <= row[d : 2 * d])) and m <= len(panel.frequencies):
                return Rest(SPEED * fastest, 2 * int(m), s)
        return Rest()

    def _named(self, x: Array) -> dict[str, float]:
        return {name: float(value) for name, value in zip(self.grid.axes, x, strict=True)}

    def _vector(self, point: Mapping[str, float]) -> Array:
        return np.array([point[name] for name in self.grid.axes])

    def _period(self, x: Array) -> float:
        return self.chart.period(self._named(x))

    def _turning(self, x: Array) -> float:
        return 2.0 * np.pi / self._period(x)


@dataclass(frozen=True)
class Rest:
    """What a verdict on all modes needs: all multipliers up to a speed, rad/s; NaN where nothing is
    known of the others. There `count` exponents are above s, 1/s, and all others below."""

    speed: float = np.nan
    count: int | None = None
    s: float = -np.inf

    @property
    def resolved(self) -> float:
        """Speed, rad/s, that steps must resolve."""
        return self.speed if np.isfinite(self.speed) else 0.0

    def decays(self, found: Multipliers, exponents: Complex, bounds: Array) -> bool:
        """Whether no others than these exponents with their bounds may grow."""
        above = int(np.sum(exponents.real - bounds > self.s))
        return found.complete_to >= self.speed and (self.count is None or above <= self.count)


def _distances(logs: Complex, others: Complex) -> Array:
    """Of each of `others` (m,) from all log μ (N,), imaginary parts on their circle: (m, N)."""
    apart = logs[None, :] - others[:, None]
    return np.hypot(apart.real, np.abs(np.exp(1j * apart.imag) - 1.0))


def _check_smooth(model: Any, period: float) -> None:
    """AccuracyError where the matrices have features that are narrower than the parts of a period,
    InputError where they do not repeat themselves."""
    equations = SecondOrderModel(model)
    check_period(equations, period, 0.0, ())
    if sampling(equations, period, 0.0).breaks:
        raise AccuracyError("the matrices of the motion are not smooth in time")


def _remembered(motions: Motions) -> Motions:
    """The motions, each made once: a mechanism keeps what it has solved of its motion."""
    made: dict[tuple[float, ...], Motion] = {}

    def motion(point: Mapping[str, float]) -> Motion:
        key = tuple(point.values())
        if key not in made:
            made[key] = motions(point)
        return made[key]

    return motion


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
