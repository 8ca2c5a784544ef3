"""Comparison of frozen growth rates with the unfrozen motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la
import xarray as xr
from numpy.typing import ArrayLike
from scipy.integrate import trapezoid
from scipy.optimize import linear_sum_assignment

from assembly.arguments import as_numbers, check_between
from assembly.errors import InputError
from assembly.magnitudes import check_count
from modal.checks.diagnosis import (
    CrossCheck,
    CrossCheckInterrupted,
    Diagnosis,
    Evidence,
    announced,
    diagnose,
)
from modal.checks.unfrozen import (
    RECORDS,
    AnyUnfrozen,
    Instant,
    ModeTransients,
    Unfrozen,
    UnfrozenCallable,
    follow_transients,
)
from modal.data.datasets import described, provenance
from modal.data.variables import CROSSCHECK
from modal.eigen.tolerances import EPS
from modal.periodic.floquet import Method, found_modes
from modal.periodic.floquet_modes import FloquetModes
from modal.periodic.sampling import check_period_length
from modal.tracking.frozen_callable import tracks_of_callable
from modal.tracking.tracking import track
from modal.transient.equations import freezer, is_second_order
from modal.types import Array, Complex, Index


def crosscheck(
    model: Any,
    tracks: xr.Dataset | None = None,
    *,
    period: float | None = None,
    times: ArrayLike | None = None,
    k: int = 6,
    rate_tolerance: float = 0.05,
    breaks: Sequence[float] = (),
    turns: int = 1,
    progress: bool | None = False,
) -> CrossCheck:
    """Compare frozen growth rates with the transient and, for a periodic motion, with Floquet.

    Parameters
    ----------
    model : object with ``freeze(t)``, or callable
        A callable returns A(t) of x' = A(t) x, dense, shape (N, N).
    tracks : xarray.Dataset, optional
        Dataset of `modal.track` over three or more instants. Default: the k lowest modes are
        tracked over `times`; all modes of a callable.
    period : float, optional
        Period of the motion, s. Default: `model.period`, if it exists.
    times : array_like, shape (T,), optional
        Increasing instants, s, three or more. Default: one period from t = 0 in 64 steps.
    k : int, default 6
        Number of modes that are tracked where `tracks` is not given.
    rate_tolerance : float, default 0.05
        Relative difference of growth rates up to which they agree, between 0 and 1.
    breaks : sequence of float, optional
        Instants within the period where the matrices jump, s; for the Floquet exponents.
    turns : int, default 1
        Number of periods of the transient, where the tracks cover exactly one period. More
        periods reduce the uncertainty of its rates.
    progress : bool or None, default False
        Progress bars on stderr; None shows them in a terminal only.

    Returns
    -------
    CrossCheck
        Per mode: the mean frozen and corrected growth rates, the rates of the transient and of
        Floquet, the least frozen interval, and the verdict. Printable.

    Raises
    ------
    InputError
        An argument cannot be used, or the tracks are not over time.
    ConvergenceError
        The modes, the transient or the Floquet exponents could not be computed.
    CrossCheckInterrupted
        Ctrl-C. `partial` is the report of what was finished, or None.

    Notes
    -----
    The transient is that of the full time-varying equations on the space of the frozen modes. It
    starts in the frozen mode; its rate is that of the mode's coordinate, the projection on left
    vectors. A rate is misleading for one of four reasons: missing prestress, parametric resonance,
    drift, non-normal growth. See docs/verdict.md.

    Examples
    --------
    >>> import numpy as np, modal
    >>> def motion(t):
    ...     return np.array([[0.0, 1.0], [-4.0 - np.cos(t), -0.1]])
    >>> modal.crosscheck(motion, period=2.0 * np.pi).confirmed
    True
    """
    check_between(rate_tolerance, "rate_tolerance", 0.0, 1.0)
    check_count(k, "k")
    if period is not None:
        check_period_length(period)
    T = period if period is not None else getattr(model, "period", None)
    at = _times(tracks, times, T)
    turns = _checked_turns(turns, at, T)
    if tracks is None and is_second_order(model):
        tracks = track(model, at, k, progress=progress)
    elif tracks is None:
        tracks = tracks_of_callable(model, at)
    work = _Work(model, tracks, at, T, rate_tolerance, turns)
    try:
        work.phase = "the reduced model was made"
        ends = work.t0, float(at[-1])
        unfrozen = (
            Unfrozen(model, *ends, work.count, T, progress)
            if is_second_order(model)
            else UnfrozenCallable(model, *ends, T)
        )
        work.unfrozen = unfrozen
        work.phase = "the transient was finished"
        work.run = follow_transients(unfrozen, at, work.lam, work.sigma, turns, progress)
        if T is not None:
            work.phase = "the Floquet exponents were found"
            basis = None if breaks else unfrozen.frozen_basis
            method: Method | None = None if basis is None else "reduced"
            motion = unfrozen.motion if ends[1] - ends[0] >= T * (1.0 - EPS) else None
            work.floquet = found_modes(
                unfrozen.source, T, work.t0, method, work.count, None, breaks, basis, None,
                progress, motion,
            )  # fmt: skip
        work.phase = ""
    except KeyboardInterrupt:
        raise CrossCheckInterrupted(f"stopped before {work.phase}", work.report()) from None
    return work.report()


def _times(tracks: xr.Dataset | None, times: ArrayLike | None, T: float | None) -> Array:
    if tracks is not None:
        if not isinstance(tracks, xr.Dataset) or tracks.sizes.get("time", 0) < 3:
            raise InputError("tracks: expected a dataset over time with three instants or more")
        return np.asarray(tracks.time.values, dtype=float)
    if times is not None:
        at = as_numbers(times, "times")
        if at.ndim != 1 or at.size < 3 or np.any(np.diff(at) <= 0.0):
            raise InputError("times: expected three increasing instants or more")
        return at
    if T is None:
        raise InputError("crosscheck: give tracks over time, times, or the period of the motion")
    return np.linspace(0.0, T, RECORDS)


def _checked_turns(turns: Any, at: Array, T: float | None) -> int:
    check_count(turns, "turns")
    if turns > 1 and (T is None or abs(at[-1] - at[0] - T) > 1e-6 * T):
        raise InputError("turns: needs a period, and tracks that cover exactly one")
    return int(turns)


@dataclass
class _Work:
    """The partial results of a cross-check; `phase` names the next step, "" when all is done."""

    model: Any
    tracks: xr.Dataset
    at: Array
    period: float | None
    tolerance: float
    turns: int
    phase: str = "anything was computed"
    unfrozen: AnyUnfrozen | None = None
    run: ModeTransients | None = None
    floquet: FloquetModes | None = None

    def __post_init__(self) -> None:
        self.modes = _window(self.tracks)
        self.count, self.t0 = len(self.modes), float(self.at[0])
        lam = self.tracks.eigenvalue.values[:, self.modes]
        self.lam = np.where(lam.imag < 0.0, lam.conj(), lam)
        self.sigma = self.tracks.growth_rate_corrected.values[:, self.modes]

    def report(self) -> CrossCheck:
        """The verdict on every mode from the present results."""
        at, lam = self.at, self.lam
        run = self.run or ModeTransients.unknown(self.count)
        rate, error = np.full((2, self.count), np.nan)
        if self.floquet is not None and self.unfrozen is not None:
            rate, error = _matched(self.floquet, self.unfrozen, lam[0])
        intervals = self.tracks.frozen_interval.values[:, self.modes]
        size = _means(at, np.abs(lam))
        columns: dict[str, Any] = dict(
            frozen_rate=_means(at, lam.real), corrected_rate=_means(at, self.sigma),
            transient_rate=run.rate, transient_uncertainty=run.uncertainty,
            floquet_rate=rate, floquet_error=error, gain=run.gain,
        )  # fmt: skip
        other = dict(
            size=size, basis_gap=run.basis_gap, resonance=_resonances(lam, at, self.period),
            abscissa=[run.abscissa] * self.count,
            prestressed=[_is_prestressed(self.model, self.t0)] * self.count,
        )  # fmt: skip
        diagnoses = [Diagnosis("undecided", "", f"stopped before {self.phase}")] * self.count
        if not self.phase:
            evidence = columns | other
            rows = zip(*evidence.values(), strict=True)
            diagnoses = [
                diagnose(Evidence(**dict(zip(evidence, row, strict=True))), self.tolerance)
                for row in rows
            ]
        with np.errstate(divide="ignore", invalid="ignore"):
            # Of the instants that have an interval, those where it is at least 2π/|λ|.
            enough = np.sum(intervals * np.abs(lam) >= 2.0 * np.pi, axis=0)
            share = enough / np.sum(~np.isnan(intervals), axis=0)
            columns |= dict(vibration_period=2.0 * np.pi / size, frozen_share=share)
        columns |= dict(
            mean_frequency=_means(at, np.abs(lam.imag)) / (2.0 * np.pi),
            frozen_interval=np.fmin.reduce(intervals, axis=0),
            verdict=[d.outcome for d in diagnoses],
            reason=[d.reason for d in diagnoses],
            remark=[d.remark for d in diagnoses],
        )
        dataset = xr.Dataset(
            {name: ("mode", columns[name]) for name in CROSSCHECK},
            coords={"mode": self.tracks.mode.values[self.modes]},
            attrs=self._provenance(),
        )
        return CrossCheck(described(dataset, CROSSCHECK), tuple(diagnoses), self.floquet)

    def _provenance(self) -> dict[str, Any]:
        unfrozen = self.unfrozen
        return provenance(
            title="frozen growth rates against transient and Floquet",
            model=type(self.model).__name__,
            solver=f"Gauss collocation of order {unfrozen.order if unfrozen else '?'}",
            reduced_unknowns="none" if unfrozen is None else unfrozen.size,
            matrices=str((unfrozen and unfrozen.interpolated) or "made at every instant"),
            period="none" if self.period is None else self.period,
            span=[self.t0, float(self.at[-1])],
            turns=self.turns,
            tolerance=self.tolerance,
        )


def _matched(
    floquet: FloquetModes, unfrozen: AnyUnfrozen, lam: Complex, shared: float = 0.3
) -> Array:
    """Rate and error (2, m) of the Floquet exponent each mode λ (m,) of the first instant turns
    into.

    Each Floquet vector is assigned to its dominant mode, two to a conjugate pair; the faster
    growing of the two is that of the mode. A growing Floquet vector that consists of several
    vibrations (a combination resonance) counts for each of them: `shared` is the least part of a
    mode in it, of the largest part in any.
    """
    modes = Instant(*unfrozen.for_floquet(), lam)
    x = floquet.vectors
    if unfrozen.basis is not None and not unfrozen.dense:
        n = x.shape[0] // 2
        x = np.vstack([la.lstsq(unfrozen.basis, part)[0] for part in (x[:n], x[n:])])
    x = x / np.linalg.norm(modes.norm @ x, axis=0)
    weight = np.abs(modes.left.conj().T @ x) ** 2
    pairs = np.abs(modes.values.imag) > 0.0
    weight[pairs] += np.abs(modes.left[:, pairs].T @ x) ** 2
    owners = np.concatenate([np.arange(len(lam)), np.flatnonzero(pairs)])
    rows, columns = linear_sum_assignment(-weight[owners])
    out = np.full((2, len(lam)), np.nan)
    for row, column in zip(rows, columns, strict=True):
        i, rate = owners[row], floquet.exponents[column].real
        if not out[0, i] >= rate:
            out[:, i] = rate, floquet.error[column]
    for i in np.flatnonzero(pairs):
        for column in np.flatnonzero(weight[i] >= shared * weight[i].max()):
            rate, error = floquet.exponents[column].real, floquet.error[column]
            if rate > max(out[0, i], error):
                out[:, i] = rate, error
    return out


def _window(tracks: xr.Dataset) -> Index:
    """The tracks that exist at the first instant, without those that the frame prescribes."""
    exists = np.isfinite(tracks.eigenvalue.values[0].real)
    tracked = np.flatnonzero(exists & (tracks.kind.values[0] != "prescribed"))
    if not tracked.size:
        raise InputError("tracks: the first instant has no mode but those of its frame")
    return tracked


def _means(at: Array, values: Array) -> Array:
    """Means over the instants of values (T, m): (m,), NaN where an end is not known."""
    out = np.full(values.shape[1], np.nan)
    for i, column in enumerate(values.T):
        known = np.isfinite(column)
        if known[[0, -1]].all():
            out[i] = trapezoid(column[known], at[known]) / (at[-1] - at[0])
    return out


def _resonances(lam: Complex, at: Array, T: float | None, width: float = 0.15) -> list[str]:
    """For each mode the nearest combination it takes part in, or "". width: of 2π/T."""
    if T is None:
        return [""] * lam.shape[1]
    inside = at <= at[0] + T * (1.0 + 1e-9)
    return announced(_means(at[inside], np.abs(lam[inside].imag)), T, width)


def _is_prestressed(model: Any, t: float) -> bool:
    """False when a body's centrifugal softening acts without the geometric stiffness it goes with.

    Bare matrices (no `dofs`) are taken as they are: a mass on springs has no prestress.
    """
    if not is_second_order(model):
        return True
    system = freezer(model)(t)
    softened = not system.parts["K_omega2"].is_zero and system.parts["K_G"].is_zero
    return not (softened and system.dofs is not None)
