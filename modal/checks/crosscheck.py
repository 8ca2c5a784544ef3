"""Frozen against unfrozen: is the verdict of the tracks right?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from assembly.errors import InputError
from modal.checks.crosscheck_report import CrossCheck, CrossCheckInterrupted
from modal.checks.crosscheck_work import Work
from modal.checks.mode_transient import follow_transients
from modal.checks.unfrozen import Unfrozen
from modal.periodic.floquet import FloquetModes, floquet, reduced_floquet, suitable_method
from modal.periodic.periodicity import check_period
from modal.tracking.frozen_callable import tracks_of_callable
from modal.tracking.tracking import track
from modal.transient.equations import SecondOrderModel, is_second_order
from modal.types import Array

CALLABLE_INSTANTS = 65


def crosscheck(
    model: Any,
    tracks: xr.Dataset | None = None,
    *,
    period: float | None = None,
    times: ArrayLike | None = None,
    k: int = 4,
    tolerance: float = 0.05,
    breaks: Sequence[float] = (),
    turns: int = 1,
    progress: bool | None = False,
) -> CrossCheck:
    """Compare frozen growth rates with the transient and, for a periodic motion, with Floquet.

    model: an object with freeze(t), or a callable A(t). tracks: the dataset of `modal.track` over
    time; without it the k lowest modes are tracked over `times` (or one period in 64 steps).
    period: of the motion, s; by default `model.period` where there is one. tolerance: relative
    difference of growth rates that still confirms. breaks: jumps of A within the period. turns:
    periods of the transient, when the tracks cover exactly one; its rates get that much sharper.
    progress: bars on stderr; None shows them on a terminal.

    Per mode: mean frozen and corrected rates, the rate of its own coordinate in the transient of
    the full time-varying equations (on the space of the frozen modes, started in the frozen mode,
    projected on left vectors), the Floquet exponent, the least frozen interval and the share of the
    motion where it covers a period of the vibration, and the verdict of `modal.diagnosis`. Raises
    InputError when the tracks are not over time; CrossCheckInterrupted on Ctrl-C, whose `partial`
    is the report of what was finished.
    """
    if not 0.0 < tolerance < 1.0:
        raise InputError(f"tolerance: expected a number between 0 and 1, got {tolerance!r}")
    T = period if period is not None else getattr(model, "period", None)
    at = _times(model, tracks, times, T)
    turns = _checked_turns(turns, at, T)
    if tracks is None:
        tracks = (
            track(model, at, k, progress=progress)
            if is_second_order(model)
            else tracks_of_callable(model, at)
        )
    work = Work(model, tracks, at, T, tolerance, turns)
    try:
        work.phase = "the reduced model was made"
        unfrozen = Unfrozen(model, work.t0, float(at[-1]), work.count, T, progress)
        work.unfrozen = unfrozen
        work.phase = "the transient was finished"
        work.run = follow_transients(unfrozen, at, work.lam, work.sigma, turns, progress)
        if T is not None:
            work.phase = "the Floquet exponents were found"
            work.floquet = _exponents(model, unfrozen, T, work.count, breaks, progress)
        work.phase = ""
    except KeyboardInterrupt:
        raise CrossCheckInterrupted(f"stopped before {work.phase}", work.report()) from None
    return work.report()


def _exponents(
    model: Any,
    unfrozen: Unfrozen,
    period: float,
    k: int,
    breaks: Sequence[float],
    progress: bool | None,
) -> FloquetModes:
    """The Floquet modes, on the matrices that the transient has sampled where they are reduced."""
    t0 = unfrozen.t0
    if unfrozen.basis is not None and not breaks:
        equations = SecondOrderModel(model)
        if suitable_method(equations, period, t0) == "reduced":
            check_period(equations, period, t0, breaks)
            A, basis = unfrozen.balanced(), unfrozen.basis
            return reduced_floquet(model, A, basis, period, t0, k, progress=progress)
    return floquet(model, period, t0=t0, k=k, breaks=breaks, progress=progress)


def _times(
    model: Any, tracks: xr.Dataset | None, times: ArrayLike | None, T: float | None
) -> Array:
    if tracks is not None:
        if "time" not in tracks.dims or tracks.sizes["time"] < 3:
            raise InputError("tracks: expected a dataset over time with three instants or more")
        return np.asarray(tracks.time.values, dtype=float)
    if times is not None:
        at = np.asarray(times, dtype=float)
        if at.ndim != 1 or at.size < 3 or np.any(np.diff(at) <= 0.0):
            raise InputError("times: expected three increasing instants or more")
        return at
    if T is None:
        raise InputError("crosscheck: give tracks over time, times, or the period of the motion")
    return np.linspace(0.0, T, CALLABLE_INSTANTS)


def _checked_turns(turns: Any, at: Array, T: float | None) -> int:
    if not (isinstance(turns, (int, np.integer)) and turns >= 1):
        raise InputError(f"turns: expected a whole number of periods, got {turns!r}")
    if turns > 1 and (T is None or abs(at[-1] - at[0] - T) > 1e-6 * T):
        raise InputError("turns: needs a period, and tracks that cover exactly one")
    return int(turns)
