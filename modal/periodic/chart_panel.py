"""The motions of a panel of a chart: their slow part as a polynomial of the parameters."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modal.eigen.tolerances import ZERO
from modal.periodic.chart_motion import (
    INSTANTS,
    ChartMotion,
    accelerations_of,
    lasting_speed,
    slow_first,
    states_of,
)
from modal.periodic.collocation import (
    ALIASED,
    DECAYING,
    GAUSS,
    Multipliers,
    refinements,
    speeds_of,
)
from modal.periodic.decoupling import decoupled_modes
from modal.periodic.periodic_modes import conditions_of
from modal.periodic.slow_motion import highest_waves, slow_motion
from modal.periodic.tolerances import (
    ENOUGH,
    FAST,
    FASTER,
    FEWEST,
    MOST_STEPS,
    NOISE,
    RESOLUTION,
    TOLERANCE,
)
from modal.reduction.interpolation import (
    ParameterPolynomial,
    fourier_interpolant,
    parameter_polynomial,
)
from modal.types import Array


@dataclass(frozen=True)
class Panel:
    """Slow accelerations H (J, m, 2m) at equal parts of a period, over a box; or, where no shape is
    eliminated, the matrices [M, K ω⁻¹, C + D] (J, m, 3m).

    frequencies (m,): ω of the slow coordinates, rad/s. fastest: |λ| of the k-th mode, rad/s.
    whole: whether the coordinates are all degrees of freedom of the models. decaying: whether some
    of the k modes decay to nothing, which `fastest` leaves out and L-stable steps damp.
    measured (2, j): speeds of exponents, rising, rad/s, and the errors by shapes, elimination and
    polynomial of those up to each, per unit condition, 1/s.
    """

    polynomial: ParameterPolynomial
    frequencies: Array
    fastest: float
    whole: bool = False
    decaying: bool = False
    measured: Array = field(default_factory=lambda: np.zeros((2, 1)))

    def with_errors(self, speeds: Array, errors: Array) -> Panel:
        """With errors (j,) that were measured, of exponents of some speeds (j,)."""
        order = np.argsort(speeds)
        measured = np.stack([speeds[order], np.maximum.accumulate(errors[order])])
        return replace(self, measured=measured)

    def errors(self, found: Multipliers) -> Array:
        """The error of every exponent, per unit condition, 1/s: that of the measured ones that are
        as slow, or little faster."""
        speeds, errors = self.measured
        index = np.searchsorted(speeds, FASTER * found.speeds, side="right")
        return np.asarray(errors[np.maximum(index - 1, 0)])

    def multipliers(self, point: Array, period: float, speed: float = 0.0) -> Iterator[Multipliers]:
        """Of one motion of the panel: of groups of modes that decouple, where all modes are there
        and some are fast, or steps are very many; otherwise by more and more steps, that resolve a
        speed, rad/s. None where MOST_STEPS are too few."""
        H = self.polynomial(point)
        if H.shape[2] > 2 * H.shape[1]:
            H = accelerations_of(H)
        fastest = self.fastest
        if self.decaying:
            few = states_of(self.frequencies, H[:: max(1, len(H) // INSTANTS)])
            fastest = min(fastest, lasting_speed(np.linalg.eigvals(few).astype(complex), period))
        fastest = max(fastest, speed * RESOLUTION / ALIASED)
        rule = DECAYING if self.decaying else GAUSS
        steps = fastest * period / RESOLUTION * len(GAUSS.c) / len(rule.c)
        count = max(FEWEST, int(np.ceil(steps)))
        steps = count + count % 2  # an even number
        # Thousands of steps of slow coordinates cost less than groups that are told apart.
        apart = self._decoupled(H, period) if self.whole or 4 * steps > MOST_STEPS else None
        if apart is not None:
            yield apart
        if apart is not None or steps > MOST_STEPS:
            return
        half = fourier_interpolant(H, 0.0, 1.0, ZERO).many
        yield from refinements(half, self.frequencies, period, steps, rule)

    def _decoupled(self, H: Array, period: float) -> Multipliers | None:
        """All multipliers from accelerations H (J, m, 2m); None where no modes are fast, or groups
        of them do not decouple."""
        A = states_of(self.frequencies, H)
        if float(np.abs(np.linalg.eigvals(A[0])).max()) * period <= FAST:
            return None
        apart = decoupled_modes(fourier_interpolant(A, 0.0, period).many, 0.0, period, ENOUGH)
        if apart is None:
            return None
        conditions = conditions_of(apart.vectors)
        speeds = speeds_of(apart.vectors, self.frequencies)
        # As by steps, of what has decayed to round-off only that much is said.
        least = float(apart.logs.real.max() + np.log(NOISE))
        decayed = (apart.logs.real < least) & (not self.whole)
        logs, errors = np.where(decayed, least, apart.logs), np.where(decayed, np.inf, apart.error)
        return Multipliers(logs, errors, conditions, apart.vectors, speeds, np.inf)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that `restored` needs."""
        p = self.polynomial
        return {
            "low": p.low, "high": p.high, "degrees": np.array(p.degrees), "table": p.table,
            "frequencies": self.frequencies, "measured": self.measured,
            "numbers": np.array([p.deviation, self.fastest, self.whole, self.decaying]),
        }  # fmt: skip

    @classmethod
    def restored(cls, a: Mapping[str, NDArray[Any]]) -> Panel:
        """The panel of stored arrays."""
        deviation, fastest, whole, *decaying = (float(x) for x in a["numbers"])
        degrees = tuple(int(x) for x in a["degrees"])
        polynomial = ParameterPolynomial(a["low"], a["high"], degrees, a["table"], deviation)
        kind = bool(whole), any(decaying)  # older stores have no such number
        return cls(polynomial, a["frequencies"], fastest, *kind, a["measured"])


def panel_of(
    motion: ChartMotion,
    accelerations: Callable[[Array], Array],
    period: Callable[[Array], float],
    box: tuple[Array, Array],
    m: int,
    fastest: float,
    harmonics: int,
    decaying: bool,
) -> Panel | None:
    """The panel over a box with m slow coordinates; None where these are not apart, or not smooth
    in time or over the box.

    accelerations(point): H (J, r, 2r).
    """
    frequencies = motion.frequencies[:m]
    order = slow_first(len(motion.frequencies), m)

    def slow(point: Array) -> Array:
        A = states_of(motion.frequencies, accelerations(point))[:, order][:, :, order]
        part = slow_motion(A, 2 * m, period(point), harmonics)
        if part is None or highest_waves(part.B) > ENOUGH:
            return np.full((len(A), m, 2 * m), np.nan)
        return part.B[:, m : 2 * m]

    def sizes(H: Array) -> float:
        return float(max(np.abs(H).max() * ZERO / TOLERANCE, frequencies[0]))

    ends = itertools.product(*({low, high} for low, high in zip(*box, strict=True)))
    if not all(np.all(np.isfinite(slow(np.array(end)))) for end in ends):
        return None
    polynomial = parameter_polynomial(slow, *box, TOLERANCE, sizes)
    if polynomial is None:
        return None
    return Panel(polynomial, frequencies, fastest, decaying=decaying)
