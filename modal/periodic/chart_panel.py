"""The motions of a panel of a chart: their slow part as a polynomial of the parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from modal.periodic.balanced import Balanced
from modal.periodic.chart_motion import ChartMotion, accelerations_of, states_of
from modal.periodic.collocation import ALIASED, Multipliers, refinements, speeds_of
from modal.periodic.decoupling import decoupled_modes
from modal.periodic.slow_motion import slow_motion
from modal.reduction.interpolation import fourier_interpolant
from modal.reduction.parameter_polynomial import ParameterPolynomial, parameter_polynomial
from modal.types import Array, Index

SHARE = 0.5  # of the distance of slow and fast frequencies: highest harmonic of the elimination
APART = 40.0  # distance of slow and fast frequencies, in rates of the motion
RESOLUTION = 0.75  # |λ| h of the fastest requested mode
FEWEST_STEPS, MOST_STEPS = 32, 1 << 15
POLYNOMIAL = 1e-5  # of the first frequency: deviation of the slow accelerations
MOST_SLOW = 0.8  # of all shapes: where more are to be kept, all are
PHASES = 8  # of a period, whose frozen spectra decide which shapes are fast
NEAR = 1.5  # ratio of the speeds of exponents whose errors are taken for those of each other
FAST = 500.0  # rad a period of the fastest mode above which groups of modes are decoupled
DECOUPLED = 1e-6  # of log μ, by groups of modes
WEAK = 1e-13  # Fourier coefficients of H below this share of the largest are dropped


@dataclass(frozen=True)
class Panel:
    """Slow accelerations H_s (2 J', m, 2m), Fourier coefficients of the phase, over a box; or,
    where no shape is eliminated, the matrices [M, K ω⁻¹, C + D] (J, m, 3m).

    frequencies (m,): ω of the slow coordinates, rad/s. fastest: |λ| of the k-th mode, rad/s.
    whole: whether the coordinates are all degrees of freedom of the models.
    measured (2, j): speeds of exponents, rising, rad/s, and the errors by shapes, elimination and
    polynomial of those up to each, per unit condition, 1/s.
    """

    polynomial: ParameterPolynomial
    frequencies: Array
    fastest: float
    whole: bool = False
    measured: Array = field(default_factory=lambda: np.zeros((2, 1)))

    def with_errors(self, speeds: Array, errors: Array) -> Panel:
        """With errors (j,) that were measured, of exponents of some speeds (j,)."""
        order = np.argsort(speeds)
        return replace(
            self, measured=np.stack([speeds[order], np.maximum.accumulate(errors[order])])
        )

    def errors(self, found: Multipliers) -> Array:
        """The error of every exponent, per unit condition, 1/s: that of the measured ones that are
        as slow, or little faster."""
        speeds, errors = self.measured
        index = np.searchsorted(speeds, NEAR * found.speeds, side="right")
        return np.asarray(errors[np.maximum(index - 1, 0)])

    def multipliers(self, point: Array, period: float, speed: float = 0.0) -> Iterator[Multipliers]:
        """Of one motion of the panel: of groups of modes that decouple, where all modes are there
        and some are fast; otherwise by more and more steps, that resolve a speed, rad/s."""
        table = self.polynomial(point)
        steps = steps_of(max(self.fastest, speed * RESOLUTION / ALIASED), period)
        if table.shape[2] > 2 * table.shape[1]:
            H = accelerations_of(table)
            found = self._decoupled(H, period) if self.whole else None
            if found is not None:
                yield found
                return
            table = fewer(fourier(H)[None])[0]
        yield from refinements(_Phases(table), self.frequencies, period, steps)

    def _decoupled(self, H: Array, period: float) -> Multipliers | None:
        """All multipliers from accelerations H (J, m, 2m); None where no modes are fast, or groups
        of them do not decouple."""
        A = states_of(self.frequencies, H)
        if float(np.abs(np.linalg.eigvals(A[0])).max()) * period <= FAST:
            return None
        same = np.eye(A.shape[1])
        matrix = Balanced(fourier_interpolant(A, 0.0, period), same, same)
        apart = decoupled_modes(matrix, 0.0, period, DECOUPLED)
        if apart is None:
            return None
        vectors = apart.vectors
        conditions = np.linalg.norm(la.inv(vectors), axis=1) * np.linalg.norm(vectors, axis=0)
        speeds = speeds_of(vectors, self.frequencies)
        return Multipliers(apart.logs, apart.error, conditions, vectors, speeds, np.inf)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that `restored` needs."""
        p = self.polynomial
        return {
            "low": p.low, "high": p.high, "degrees": np.array(p.degrees), "table": p.table,
            "frequencies": self.frequencies, "measured": self.measured,
            "numbers": np.array([p.deviation, self.fastest, self.whole]),
        }  # fmt: skip

    @classmethod
    def restored(cls, a: Mapping[str, NDArray[Any]]) -> Panel:
        """The panel of stored arrays."""
        deviation, fastest, whole = (float(x) for x in a["numbers"])
        degrees = tuple(int(x) for x in a["degrees"])
        polynomial = ParameterPolynomial(a["low"], a["high"], degrees, a["table"], deviation)
        return cls(polynomial, a["frequencies"], fastest, bool(whole), a["measured"])


def steps_of(fastest: float, period: float) -> int:
    """Steps a period, even, for a mode of `fastest` rad/s."""
    count = max(FEWEST_STEPS, int(np.ceil(fastest * period / RESOLUTION)))
    return min(count + count % 2, MOST_STEPS)


class _Phases:
    """H at parts of the period from its real Fourier coefficients (2 J', m, 2m)."""

    def __init__(self, table: Array) -> None:
        self.count, self.shape = len(table) // 2, table.shape[1:]
        self.table = table.reshape(len(table), -1)

    def __call__(self, phases: Array) -> Array:
        angle = 2.0 * np.pi * np.outer(phases, np.arange(self.count))
        found = np.concatenate([np.cos(angle), np.sin(angle)], axis=1) @ self.table
        return np.asarray(found.reshape(len(phases), *self.shape))


def fourier(H: Array) -> Array:
    """Real Fourier coefficients (J, m, 2m), cosines and then sines, of values at J phases."""
    terms = np.fft.rfft(H, axis=0)[: len(H) // 2] / len(H)
    terms[1:] *= 2.0
    return np.concatenate([terms.real, -terms.imag])


def fewer(table: Array) -> Array:
    """Coefficients over parameters (nodes, J, m, 2m) without the harmonics that are round-off."""
    count = table.shape[1] // 2
    size = np.abs(table).max(axis=(0, 2, 3))
    size = np.maximum(size[:count], size[count:])
    last = int(np.flatnonzero(size > WEAK * size.max()).max(initial=0)) + 1
    return np.concatenate([table[:, :last], table[:, count : count + last]], axis=1)


@dataclass(frozen=True)
class Spectra:
    """|λ| (S, 2r), rising, of frozen instants all over a box of parameters."""

    sizes: Array

    @classmethod
    def of(cls, motion: ChartMotion, samples: list[Array]) -> Spectra:
        """Of accelerations (J, r, 2r) of motions."""
        found = []
        for H in samples:
            chosen = H[:: max(1, len(H) // PHASES)]
            found.append(np.sort(np.abs(np.linalg.eigvals(motion.states(chosen))), axis=1))
        return cls(np.concatenate(found))

    def fastest(self, k: int) -> float:
        """Largest |λ| of the k-th mode, rad/s."""
        return float(self.sizes[:, min(2 * k, self.sizes.shape[1]) - 1].max())

    def gap(self, m: int) -> float:
        """Least distance of the (m + 1)-th mode from the m-th, rad/s; 0 where there is none."""
        if 2 * m >= self.sizes.shape[1]:
            return 0.0
        return float(np.min(self.sizes[:, 2 * m] - self.sizes[:, 2 * m - 1]))

    def slow(self, k: int, rate: float) -> int:
        """How many modes to keep, at least k, so that the others are APART rates of the motion
        from them; all where none are."""
        r = self.sizes.shape[1] // 2
        for m in range(k, int(MOST_SLOW * r) + 1):
            if self.gap(m) >= APART * rate:
                return m
        return r


def slow_first(r: int, m: int) -> Index:
    """The order of (ω η, η̇) with the first m coordinates of both in front."""
    first, rest = np.arange(m), np.arange(m, r)
    return np.concatenate([first, r + first, rest, r + rest])


def panel_of(
    motion: ChartMotion,
    accelerations: Callable[[Array], Array],
    period: Callable[[Array], float],
    box: tuple[Array, Array],
    m: int,
    fastest: float,
    harmonics: int,
) -> Panel | None:
    """The panel over a box with m slow coordinates; None where these are not apart or not smooth.

    accelerations(point): H (J, r, 2r).
    """
    frequencies = motion.frequencies[:m]
    order = slow_first(len(motion.frequencies), m)

    def slow(point: Array) -> Array:
        H = accelerations(point)
        A = motion.states(H)[:, order][:, :, order]
        found = slow_motion(A, 2 * m, period(point), harmonics)
        if found is None:
            raise _NotApart
        return fourier(found.B[:, m : 2 * m])

    def sizes(table: Array) -> float:
        return float(max(np.abs(table).max() * 1e-12 / POLYNOMIAL, frequencies[0]))

    try:
        polynomial = parameter_polynomial(slow, *box, POLYNOMIAL, sizes)
    except _NotApart:
        return None
    if polynomial is None:
        return None
    table = fewer(polynomial.table)
    thin = ParameterPolynomial(*box, polynomial.degrees, table, polynomial.deviation)
    return Panel(thin, frequencies, fastest)


class _NotApart(Exception):
    """Slow and fast shapes do not stay apart at a point."""
