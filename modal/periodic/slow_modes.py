"""Floquet modes of the slow part of a periodic model of many degrees of freedom.

The model is small already: on a reduced space, or on its frozen modes (modal/periodic/galerkin.py).
It is sampled on a space of its frozen modes at parts of a period
(modal/periodic/chart_motion.py), its fast shapes are eliminated (modal/periodic/slow_motion.py) in
coordinates that move with the slow ones (`moving_frame`), and the few slow
coordinates z' = B(t) z that are left are propagated over the period: by groups that decouple, or in
A-stable steps, which alias what is faster than they are. The error of an exponent comes from the
residual that its periodic mode leaves in the equations (modal/periodic/galerkin.py), times the
condition of the exponent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import scipy.linalg as la

from assembly.errors import AccuracyError, ConvergenceError
from modal.eigen.tolerances import EPS
from modal.periodic.chart_motion import (
    SHARE,
    ChartMotion,
    Spectra,
    accelerations_of,
    slow_first,
    states_of,
    stepping_work,
)
from modal.periodic.collocation import (
    DECAYING,
    GAUSS,
    SHARP,
    second_order_maps,
    second_order_monodromy,
)
from modal.periodic.decoupling import decoupled_modes
from modal.periodic.floquet_modes import FloquetModes, of_logs
from modal.periodic.galerkin import GalerkinModel, off_polynomial, residual_error
from modal.periodic.magnus import SPREAD
from modal.periodic.periodic_modes import (
    Map,
    Orbits,
    PropagatedModes,
    conditions_of,
    distances,
    propagated,
    run,
)
from modal.periodic.product_eigen import LOST, norms, product_modes, product_of
from modal.periodic.slow_motion import (
    falls,
    highest_waves,
    interleaved,
    moving_frame,
    moving_states,
    slow_motion,
)
from modal.periodic.tolerances import (
    ENOUGH,
    FAST,
    GAIN,
    GROWTH,
    MOST_FROZEN,
    MOST_STEPS,
    RESOLUTION,
    SMOOTH,
    TOLERANCE,
    WORK,
)
from modal.reduction.error_bounds import coupled
from modal.reduction.interpolation import Interpolant, fourier_interpolant
from modal.reduction.motion import ReducedMotion
from modal.reduction.tolerances import GUARD
from modal.transient.tolerances import PIECES
from modal.types import Array, Complex, Index


@dataclass(frozen=True)
class _Slow:
    """A model on its slow coordinates z: x = X(t) z, z' = B(t) z, x = (ω η, η̇) of `motion`.
    waves: the highest of X and B. whole: nothing was eliminated."""

    motion: ChartMotion
    X: Interpolant
    B: Interpolant
    period: float
    waves: float
    whole: bool = False

    @property
    def smooth(self) -> bool:
        """Whether X and B are polynomials through the parts of the period."""
        return self.waves <= SMOOTH

    def modes(self, k: int, tolerance: float) -> tuple[PropagatedModes, Array] | None:
        """The k slowest of its Floquet modes, to `tolerance`, and the conditions of their
        eigenvalues; None where MOST_STEPS are too few."""
        start, modes = self.motion.start, None
        values, frozen = la.eig(self.B(start))
        if np.abs(values).max() * self.period > FAST:
            accuracy = ENOUGH * min(1.0, tolerance / TOLERANCE)
            modes = decoupled_modes(
                self.B.many, start, self.period, accuracy, tolerance, parts=2 * PIECES
            )
        if modes is not None:
            chosen = _slowest(values, frozen, modes.vectors, k)
        else:
            modes = self._in_steps(values, frozen, k, tolerance)
            if modes is None:
                return None
            chosen = np.flatnonzero(np.isfinite(modes.error))
        chosen = chosen[np.argsort(-modes.logs.real[chosen], kind="stable")]
        return modes.chosen(chosen), conditions_of(modes.vectors)[chosen]

    def moved(self, times: Array, z: Complex) -> tuple[Array, Array, Array]:
        """Displacement, velocity and acceleration (P, r, m), in the coordinates of the source, of z
        (P, N, m) at times (P,)."""
        r, slope = len(self.motion.frequencies), self.X.derivative
        X, X1, X2 = (A.many(times) for A in (self.X, slope, slope.derivative))
        B, B1 = (A.many(times) for A in (self.B, self.B.derivative))
        rate = X1 + X @ B
        lift = self.motion.shapes / self.motion.frequencies
        three = X, rate, X2 + X1 @ B + X @ B1 + rate @ B
        q, v, a = (lift @ (A @ z)[:, :r] for A in three)
        return q, v, a

    def _in_steps(
        self, values: Complex, frozen: Complex, k: int, tolerance: float
    ) -> PropagatedModes | None:
        """All modes of η̈ = H(t) (ω η, η̇), the k slowest of which are known. The number of steps
        grows until log μ of these agrees to `tolerance`, relative where they decay fast. Gauss
        steps, of Radau where modes decay to nothing: Gauss steps that do not resolve these bring
        them to |μ| ≈ 1. values (N,), frozen (N, N): eigenvalues and vectors of B at the start."""
        m, start, period = len(values) // 2, self.motion.start, self.period
        frequencies = self.B(start)[:m, m:].diagonal()
        H = replace(self.B, table=np.ascontiguousarray(self.B.table[:, m:]))
        slow = values[np.argsort(np.abs(values), kind="stable")[: 2 * k]]
        spans = max(1, int(np.ceil(np.abs(slow.real).max() * period / SPREAD)))
        count = 2 * PIECES * int(np.ceil(spans / (2 * PIECES)))
        together = 1 << int(np.log2(count / spans))  # parts of the period in a factor
        starts, h = start + period * np.arange(count) / count, period / count
        parts = [partial(_phased, H, t, h) for t in starts]
        rule = DECAYING if values.real.min() * period < 2.0 * LOST else SHARP
        resolved = RESOLUTION * (rule.order / GAUSS.order) ** 2
        each = int(np.ceil(h * np.abs(slow).max() / resolved))
        before: Complex | None = None
        last, subspaces = each, None
        if int(np.ceil(GROWTH * each)) * count > MOST_STEPS:
            return None  # nothing to compare with
        while each * count <= MOST_STEPS:
            products = np.stack(
                [second_order_monodromy(H, frequencies, h, each, rule) for H in parts]
            )
            if before is None:
                # What grows may grow by more than its frozen modes.
                grows = max(1.0, np.log(norms(products)).sum() / SPREAD)
                together = min(together, 1 << int(max(0.0, np.log2(count / grows))))
            factors = product_of(products.reshape(-1, together, *frozen.shape).swapaxes(0, 1))
            round_off = np.full(len(factors), together * each * EPS)
            modes = product_modes(factors, round_off, subspaces, before is not None)
            subspaces = modes.start
            chosen = _slowest(values, frozen, modes.vectors, k)
            found = modes.logs[chosen]
            if before is not None:
                # Half the order where two multipliers meet: errors are roots there.
                gap = distances(before, found).min(axis=1)
                gap /= (each / last) ** (0.5 * rule.order) - 1.0
                # More steps only add round-off to what is not known better.
                enough = tolerance * np.maximum(1.0, np.abs(found.real))
                if np.all(gap <= np.maximum(enough, modes.error[chosen])):
                    break
            before, last = found, each
            each = int(np.ceil(GROWTH * each))
        else:
            return None
        error, rates = np.full(2 * m, np.inf), modes.logs / period
        error[chosen] = gap + modes.error[chosen]
        whole = partial(_phased, H, start, period)

        def maps(count: int) -> Iterator[Map]:
            several = second_order_maps(whole, frequencies, period, count)
            return (step.__matmul__ for steps in several for step in steps)

        fastest, known = float(np.abs(slow).max()), np.isfinite(error)

        def states(instants: int | None = None) -> Complex:
            if instants is None:
                return propagated(maps, modes.vectors, rates, known, period, fastest)
            advance = (product.__matmul__ for product in products)
            # With all that grow: round-off of the others would become these.
            found = run(advance, modes.vectors, modes.logs / count, np.isfinite(modes.error))[0]
            return found[:: count // instants]

        return PropagatedModes(modes.logs, modes.vectors, error, rates, states)


def _phased(H: Interpolant, start: float, period: float, phases: Array) -> Array:
    """H at parts of a period."""
    return H.many(start + period * phases)


def slow_modes(
    source: ReducedMotion | GalerkinModel,
    period: float,
    t0: float,
    k: int,
    tolerance: float,
    spaces: Sequence[tuple[int, float]] = ((6, 1e-5), (24, 1e-6)),
) -> FloquetModes:
    """The k slowest modes of a model on a space, on its coordinates, errors of the space included.

    tolerance: of log μ. spaces: instants whose frozen modes span one, and its least singular value
    of the largest; the next where the stated error is too large. Raises
    AccuracyError where the matrices are not smooth, ConvergenceError where the propagation does not
    converge.
    """
    best: FloquetModes | None = None
    enough = False

    def missing() -> bool:
        return best is None

    allowed = ENOUGH * min(1.0, tolerance / TOLERANCE)
    sampled = off_polynomial(source, t0, period)
    series = sampled.freeze_many(np.array([t0]))
    work = period * stepping_work(series.mass[0], series.stiffness[0], k)
    whole = work <= WORK
    for instants, independent in spaces:
        try:
            motion = ChartMotion.of(
                lambda _: (sampled, period), [{}], k, t0, independent, instants, whole
            )
        except AccuracyError:
            if best is None:
                raise
            return best
        fastest = motion.frequencies[min(k, len(motion.frequencies)) - 1]
        for slow in _slow_parts(motion, sampled, period, k, work, missing):
            solved = _modes_of(slow, source, k, tolerance)
            if solved is None:
                continue
            found, of_space = solved
            lost, error = _quality(found.error)
            before = (len(found.error), np.inf) if best is None else _quality(best.error)
            best = found if best is None or (lost, error) < before else best
            enough = error <= allowed * fastest
            # More slow coordinates do not lessen the error of the space.
            if enough or GAIN * error <= of_space or not error <= GAIN * before[1]:
                break
        if whole or enough or (isinstance(source, GalerkinModel) and tolerance >= TOLERANCE):
            break
    if best is None:
        raise ConvergenceError(
            f"Floquet: the multipliers are not found to {tolerance:.1e}: round-off of larger ones "
            f"hides them, or {MOST_STEPS} steps a period are too few; ask for fewer modes (k) or a "
            "larger tolerance"
        )
    return best


def _quality(error: Array) -> tuple[int, float]:
    """How many modes are not known, and the largest error of those that are."""
    known = error[np.isfinite(error)]
    return len(error) - len(known), float(known.max()) if len(known) else np.inf


def _modes_of(
    slow: _Slow,
    source: ReducedMotion | GalerkinModel,
    k: int,
    tolerance: float,
) -> tuple[FloquetModes, float] | None:
    """The k slowest modes, and the largest of their errors by the space alone, 1/s; None where
    MOST_STEPS are too few."""
    motion, period, t0 = slow.motion, slow.period, slow.motion.start
    solved = slow.modes(k, tolerance)
    if solved is None or not len(solved[0].logs):
        return None
    found, conditions = solved
    # Odd numbers: none of the instants at which spaces and bases are trained, which are multiples
    # of the 24th part of the period.
    times = t0 + period * np.arange(1, 2 * PIECES, 2) / (2 * PIECES)
    z = found.states(2 * PIECES)[1::2]
    # Decaying modes may vary beyond the squares of numbers; an error is one of every instant.
    with np.errstate(invalid="ignore"):
        q, v, a = slow.moved(times, z / np.abs(z).max(axis=1, keepdims=True))
    known = np.isfinite(q).all(axis=(0, 1))
    condition, exponents = conditions[known], found.logs / period
    missed, of_space = residual_error(source, times, *(x[:, :, known] for x in (q, v, a)))
    missed = of_space if slow.whole and motion.is_whole else missed
    missed = coupled((missed * condition)[None], exponents[known][None], condition[None])[0]
    error = np.full(len(known), np.inf)
    error[known] = np.where(np.isfinite(missed), found.error[known] + missed * period, np.inf)
    vectors = motion.lifted(slow.X(t0) @ found.vectors)
    size, r = np.linalg.norm(vectors, axis=0), len(motion.frequencies)
    modes = of_logs(found.logs, vectors, error, period, t0, "reduced")
    lift = motion.shapes / motion.frequencies
    inertia = np.sqrt(np.maximum(source.freeze(t0).M.diagonal(), 0.0))

    @cache
    def states() -> Complex:
        part = found.states()
        times = t0 + period * np.arange(len(part)) / len(part)
        return np.asarray(slow.X.many(times) @ part / size)

    moves = Orbits(states, found.rates, lambda x: np.asarray(lift @ x[:r]), inertia)
    return replace(modes, propagation=moves), float((of_space * condition).max(initial=0.0))


def _slow_parts(
    motion: ChartMotion,
    source: Any,
    period: float,
    k: int,
    work: float,
    missing: Callable[[], bool],
    fewest: int = 4,
) -> Iterator[_Slow]:
    """With so many slow coordinates that the others are apart from them; all at the end.

    work: of steps in all coordinates, which an elimination may cost as well. missing: whether what
    was given so far has not been solved. fewest: harmonics with which the elimination of fast
    shapes is worth a trial.
    """
    samples = _Samples(motion, source, period)
    spectra, rate = Spectra.of(motion, [samples.matrices]), 2.0 * np.pi / period
    r, rough, solved = len(motion.frequencies), None, False
    # A few modes more cost less than parts of the period that resolve shapes with a narrow gap.
    first = spectra.slow(min(k, r), rate)
    gaps = np.array([spectra.gap(m) for m in range(first, first + GUARD + 1)])
    best = first + int(np.argmax(gaps >= GAIN * gaps.max()))
    # Of overdamped shapes often none are apart from others, but all decay to nothing.
    fewer = sorted(range(spectra.lasting(period), min(k, r)), key=spectra.gap)[-1:]
    # The error by the elimination is measured, so modes that are less far apart may be tried too,
    # where it leaves half as many. Steps in most of the coordinates cost as much as in all.
    tried = dict.fromkeys([best, *range(min(k, r), r // 2 + 1), *fewer])
    for m in tried if work > WORK else ():
        if m > r - r // 4 or (solved and (m in fewer) != missing()):
            continue
        if solved and m not in fewer and spectra.gap(m) < GAIN * spectra.gap(best):
            continue
        harmonics = int(SHARE * spectra.gap(m) / rate) if m < r else 0
        slow, before = None, np.inf
        while harmonics >= fewest and (frame := samples.frame(m)) is not None:
            parts, waves = samples.motion.parts, highest_waves(frame)
            if waves <= SMOOTH:
                slow = samples.eliminated(frame, m, harmonics)
                if slow is None or slow.smooth:
                    break
                waves = slow.waves
            # What is eliminated in coordinates that are not smooth is not smooth either.
            left = falls(before, waves, SMOOTH, MOST_FROZEN / parts)
            if not left or samples.elimination(m) > work:
                slow = slow or samples.eliminated(frame, m, harmonics)
                break
            slow, before = None, waves
            samples = _Samples(replace(samples.motion, parts=2 * parts), source, period, samples)
        if slow is None:
            continue
        if slow.smooth:
            solved = True
            yield slow
            if m in fewer:
                return
        elif rough is not None:
            break
        else:
            rough = slow
    if rough is not None and not (solved and missing()):
        yield rough
    if (solved or rough is not None) and missing():
        return  # steps in all coordinates are more
    # Its residual is not that of the polynomial: twice the parts leave the square of what is left.
    A = _Samples(replace(motion, parts=2 * motion.parts), source, period).A
    everything = np.repeat(np.eye(2 * r)[None], len(A), axis=0)
    yield replace(_part(motion, everything, A, period), whole=True)


class _Samples:
    """[M, K ω⁻¹, C + D] (J, r, 3r), M, K (J, r, r) and A (J, 2r, 2r) of x' = A x at the parts of a
    period; `before`: at every second one of them."""

    def __init__(
        self, motion: ChartMotion, source: Any, period: float, before: _Samples | None = None
    ) -> None:
        self.motion, self.period, self.before = motion, period, before
        self.new = slice(None) if before is None else slice(1, None, 2)
        phases = np.arange(motion.parts) / motion.parts
        new = motion.matrices((source, period), phases[self.new])
        self.matrices: Array = new if before is None else interleaved(before.matrices, new)
        self.M, K, _ = np.split(self.matrices, 3, axis=2)
        K = K * motion.frequencies
        self.K = 0.5 * (K + K.swapaxes(1, 2))

    @cached_property
    def A(self) -> Array:
        return states_of(self.motion.frequencies, accelerations_of(self.matrices))

    @cached_property
    def shapes(self) -> Array:
        """Of (K, M), slowest first, (J, r, r)."""
        pairs = zip(self.M[self.new], self.K[self.new], strict=True)
        found = np.stack([la.eigh(k, m)[1] for m, k in pairs])
        return found if self.before is None else np.asarray(interleaved(self.before.shapes, found))

    @cached_property
    def spectrum(self) -> tuple[Complex, Complex]:
        """Eigenvalues (J, 2r) and vectors (J, 2r, 2r) of A."""
        values, vectors = (x.astype(complex) for x in np.linalg.eig(self.A[self.new]))
        if self.before is not None:
            values, vectors = map(interleaved, self.before.spectrum, (values, vectors))
        return values, vectors

    def elimination(self, m: int) -> float:
        """The multiplications of a round of the elimination of all but m coordinates."""
        return float(self.motion.parts * 2 * m * (2 * (len(self.motion.frequencies) - m)) ** 2)

    def frame(self, m: int) -> Array | None:
        """Coordinates that move with m slow shapes, (J, r, r); None where they do not close."""
        return moving_frame(self.shapes, self.shapes.swapaxes(1, 2) @ self.M, m)

    def eliminated(self, frame: Array, m: int, harmonics: int) -> _Slow | None:
        """With the first m coordinates of a frame (J, r, r), which move with `harmonics` at most;
        None where the fast ones do not stay apart."""
        stiffness = np.abs((frame * (self.K @ frame)).sum(axis=1)).mean(axis=0)
        frequencies = np.stack([self.motion.frequencies, np.sqrt(stiffness)])
        T, moving = moving_states(self.A, frame, frequencies, self.period)
        order = slow_first(len(stiffness), m)
        T, (values, vectors) = np.ascontiguousarray(T[:, :, order]), self.spectrum
        found = slow_motion(
            moving[:, order][:, :, order], 2 * m, self.period, harmonics,
            (values, np.linalg.solve(T, vectors.view(float)).view(complex)),
        )  # fmt: skip
        if found is None:
            return None
        X = T[:, :, : 2 * m] + T[:, :, 2 * m :] @ found.L
        return _part(self.motion, X, found.B, self.period)


def _part(motion: ChartMotion, X: Array, B: Array, period: float) -> _Slow:
    on_slow, of_slow = (fourier_interpolant(table, motion.start, period, EPS) for table in (X, B))
    return _Slow(motion, on_slow, of_slow, period, max(highest_waves(X), highest_waves(B)))


def _slowest(values: Complex, frozen: Complex, vectors: Complex, k: int) -> Index:
    """Numbers of the 2k vectors that consist most of the slowest of frozen modes, of eigenvalues
    (N,) and vectors (N, N)."""
    slow = np.argsort(np.abs(values), kind="stable")[: 2 * k]
    parts = np.abs(la.solve(frozen, vectors)) ** 2
    share = parts[slow].sum(axis=0) / parts.sum(axis=0)
    return np.asarray(np.argsort(-share, kind="stable")[: len(slow)])
