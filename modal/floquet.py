"""Floquet multipliers and exponents of periodic motions.

x(t + T) = P x(t) for the monodromy P = Φ(t0 + T, t0); its eigenvalues μ are the multipliers, and
log(μ)/T the exponents, whose imaginary parts are defined up to whole multiples of 2π/T.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from assembly.errors import InputError
from modal.equations import FirstOrderModel, SecondOrderModel, is_second_order
from modal.floquet_arnoldi import arnoldi_multipliers
from modal.floquet_reduced import reduced_multipliers
from modal.interpolation import Interpolant, periodic_interpolant
from modal.magnus import propagator

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]
Method = Literal["dense", "reduced", "arnoldi"]

DENSE_LIMIT = 60  # unknowns of a second-order model up to which the whole monodromy is made
TOLERANCE = 1e-12  # of the dense monodromy, relative
REDUCED_TOLERANCE = 1e-5  # of the multipliers
ARNOLDI_TOLERANCE = 1e-9  # of the eigenvalues of the discrete map
STEPS = 400  # Gauss steps of order 4 a period
FASTEST = 2e3  # rad a period of the fastest mode that the dense monodromy follows by default
GAP = 1e-3  # relative step in size where the list of multipliers may be cut
PERIODIC = 1e-6  # of ‖A‖: how well A(t0 + T) must repeat A(t0)


@dataclass(frozen=True)
class FloquetModes:
    """Multipliers μ (m,), largest first, and what belongs to them.

    exponents (m,): log(μ)/T, 1/s, Im in (−π/T, π/T]. vectors (N, m): Floquet vectors at t0, on x
    of x' = A x or on (q, q̇), unit 2-norm. error (m,): estimated absolute error of the exponents,
    1/s, from the monodromy's error and the eigenvalue's condition. period: T, s. interpolated:
    what the matrices of a model with freeze(t) were read off, or None where every instant was made.
    """

    period: float
    t0: float
    multipliers: Complex
    exponents: Complex
    vectors: Complex
    error: Array
    method: str
    interpolated: Interpolant | None = None

    @property
    def growth_rate(self) -> float:
        """The largest real part of the exponents, 1/s."""
        return float(self.exponents.real.max())

    @property
    def is_complete(self) -> bool:
        """Whether these are all multipliers, and not those of the lowest modes alone."""
        return len(self.multipliers) == len(self.vectors)

    @property
    def is_stable(self) -> bool:
        """No exponent found has a real part above its own error."""
        return bool(np.all(self.exponents.real <= self.error))

    def __str__(self) -> str:
        count = len(self.multipliers)
        stable = "stable" if self.is_complete else "none of these grows, others are not known"
        verdict = stable if self.is_stable else "unstable"
        lines = [
            f"Floquet: period {self.period:.6g} s, {count} multipliers ({self.method}), {verdict}",
            "    |multiplier|     growth rate, 1/s    frequency, Hz    error, 1/s",
        ]
        if self.interpolated is not None:
            lines.insert(1, f"  {self.interpolated}")
        for mu, s, e in zip(self.multipliers, self.exponents, self.error, strict=True):
            hertz = abs(s.imag) / (2 * np.pi)
            lines.append(f"  {abs(mu):14.9f} {s.real:+20.9e} {hertz:16.6g} {e:13.1e}")
        return "\n".join(lines)


def floquet(
    model: Any,
    period: float,
    *,
    t0: float = 0.0,
    method: Method | None = None,
    k: int = 12,
    tolerance: float | None = None,
    breaks: Sequence[float] = (),
    steps: int | None = None,
    basis: Any = None,
) -> FloquetModes:
    """Floquet multipliers and exponents of a model that repeats itself after `period`, s.

    model: a callable A(t) of x' = A(t) x, an object with freeze(t), or a FrozenSystem. method:
    "dense", the whole monodromy (the default for callables and for up to 60 slow unknowns);
    "reduced", the k slowest modes on the space of the frozen modes at several instants (the
    default beyond), or on `basis` (n, r); "arnoldi", the k largest multipliers of the full sparse
    model, matrix-free, with `steps` Gauss steps of order 4 a period (400). tolerance: relative
    error of the dense monodromy (1e-12), or absolute one of the multipliers ("reduced", 1e-5;
    "arnoldi", 1e-9). breaks: instants within the period where the matrices jump ("dense" only).
    Raises InputError when the model does not repeat itself, ConvergenceError.
    """
    if not (np.isfinite(period) and period > 0.0):
        raise InputError(f"period: expected a positive number of seconds, got {period!r}")
    if not is_second_order(model):
        if method not in (None, "dense"):
            raise InputError(f'method: a callable A(t) takes "dense", got {method!r}')
        return _dense(FirstOrderModel(model, t0), period, t0, tolerance or TOLERANCE, breaks)
    equations = SecondOrderModel(model)
    chosen = method or ("dense" if _suits_dense(equations, period, t0) else "reduced")
    if chosen == "dense":
        return _dense(equations, period, t0, tolerance or TOLERANCE, breaks)
    check_period(equations, period, t0, breaks)
    if breaks:
        raise InputError(f'breaks: only method="dense" takes them, and the method is "{chosen}"')
    smooth: Interpolant | None = None
    if chosen == "reduced":
        wanted = tolerance or REDUCED_TOLERANCE
        multipliers, vectors, error, smooth = reduced_multipliers(
            model, period, t0, k, wanted, basis
        )
    elif chosen == "arnoldi":
        count = steps or STEPS
        wanted = tolerance or ARNOLDI_TOLERANCE
        multipliers, vectors, error = arnoldi_multipliers(model, period, t0, k, count, wanted)
    else:
        raise InputError(f'method: expected "dense", "reduced" or "arnoldi", got {method!r}')
    found = _collected(multipliers, vectors, error, period, t0, chosen)
    return replace(found, interpolated=smooth)


def _suits_dense(equations: SecondOrderModel, period: float, t0: float) -> bool:
    """Few unknowns, and no frequency so high that following all of them would take long."""
    if equations.at(t0).system.n > DENSE_LIMIT:
        return False
    fastest = np.abs(la.eigvals(equations.first_order(t0))).max()
    return bool(fastest * period <= FASTEST)


def _collected(
    multipliers: Complex, vectors: Complex, error: Array, period: float, t0: float, method: str
) -> FloquetModes:
    order = np.argsort(-np.abs(multipliers), kind="stable")
    sizes = np.maximum(np.abs(multipliers), np.finfo(float).tiny)
    shift = np.minimum(error / sizes, 1.0 - 1e-16)
    return FloquetModes(
        period,
        t0,
        multipliers[order],
        exponents_of(multipliers[order], period),
        (vectors / np.linalg.norm(vectors, axis=0))[:, order],
        np.asarray(-np.log1p(-shift) / period)[order],
        method,
    )


def _dense(
    equations: FirstOrderModel | SecondOrderModel,
    period: float,
    t0: float,
    tolerance: float,
    breaks: Sequence[float],
) -> FloquetModes:
    check_period(equations, period, t0, breaks)
    smooth, error = None, 0.0
    if isinstance(equations, SecondOrderModel) and not equations.constant and not breaks:
        smooth = periodic_interpolant(equations.first_order, t0, period)
    if smooth is not None:
        # What an error of that relative size in A makes of Φ, in the norm of energy: ∫ ‖δA‖ dt.
        fastest = float(np.abs(la.eigvals(smooth(t0))).max())
        error = smooth.deviation * fastest * period
    made = propagator(smooth or equations.first_order, t0, t0 + period, tolerance, breaks)
    forwards, backwards = (
        from_monodromy(P, period, t0, made.error + error, "dense")
        for P in (made.matrix, made.inverse)
    )
    return replace(_with_small_ones(forwards, backwards), interpolated=smooth)


def _with_small_ones(forwards: FloquetModes, backwards: FloquetModes) -> FloquetModes:
    """The multipliers of P down to a gap in their size, and below it those of P⁻¹, inverted.

    Each of the two matrices knows its own largest ones best; the gap with the least error is taken.
    """
    mirror = slice(None, None, -1)
    small = replace(
        forwards,
        multipliers=(1.0 / backwards.multipliers)[mirror],
        exponents=exponents_of((1.0 / backwards.multipliers)[mirror], forwards.period),
        vectors=backwards.vectors[:, mirror],
        error=backwards.error[mirror],
    )
    sizes, count = np.abs(forwards.multipliers), len(forwards.multipliers)
    cut, least = count, 0.1 * float(forwards.error.max())
    for c in range(1, count):
        worst = max(float(forwards.error[:c].max()), float(small.error[c:].max()))
        if worst < least and sizes[c - 1] > (1.0 + GAP) * abs(small.multipliers[c]):
            cut, least = c, worst
    joined = {
        name: np.concatenate(
            [getattr(forwards, name)[..., :cut], getattr(small, name)[..., cut:]], axis=-1
        )
        for name in ("multipliers", "exponents", "vectors", "error")
    }
    return replace(forwards, **joined)


def check_period(
    equations: FirstOrderModel | SecondOrderModel, period: float, t0: float, breaks: Sequence[float]
) -> None:
    """InputError unless A(t + T) = A(t) at an instant inside the first piece."""
    probe = t0 + 0.37 * (min(breaks, default=t0 + period) - t0)
    here, later = equations.first_order(probe), equations.first_order(probe + period)
    gap = np.abs(later - here).max()
    if gap > PERIODIC * np.abs(here).max():
        raise InputError(
            f"period: the model does not repeat itself after {period:.6g} s "
            f"(from t = {probe:.6g} s, A changes by {gap / np.abs(here).max():.1e} of its size)"
        )


def from_monodromy(P: Array, period: float, t0: float, error: float, method: str) -> FloquetModes:
    """Multipliers of P (N, N) whose relative error in the 2-norm is `error`."""
    # Balancing brings displacements and velocities to one scale before sizes are compared.
    balanced, (scale, _) = la.matrix_balance(P, permute=False, separate=True)
    multipliers, left, right = la.eig(balanced, left=True, right=True)
    order = np.argsort(-np.abs(multipliers), kind="stable")
    multipliers, left, right = multipliers[order], left[:, order], right[:, order]
    pairing = np.abs((left.conj() * right).sum(axis=0))  # 1 / condition, vectors have unit norm
    norm = float(la.norm(balanced, 2))
    absolute = max(error, float(np.finfo(float).eps) * len(P)) * norm
    first_order = absolute / np.maximum(pairing, np.finfo(float).tiny)
    # At a double multiplier first-order theory is void: the error is √(‖δP‖ ‖P‖) at most.
    shift = np.minimum(first_order, np.sqrt(absolute * norm))
    size = np.maximum(np.abs(multipliers), np.finfo(float).tiny)
    vectors = right * scale[:, None]
    return FloquetModes(
        period,
        t0,
        multipliers,
        exponents_of(multipliers, period),
        vectors / np.linalg.norm(vectors, axis=0),
        np.asarray(-np.log1p(-np.minimum(shift / size, 1.0 - 1e-16)) / period),
        method,
    )


def exponents_of(multipliers: Complex, period: float) -> Complex:
    """log(μ)/T with the imaginary part in (−π/T, π/T]."""
    return np.asarray(np.log(multipliers + 0j) / period)  # + 0j: no negative zeros, so log(−1) = iπ
