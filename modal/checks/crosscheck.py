"""Comparison of frozen growth rates with the unfrozen motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from assembly.arguments import as_numbers, check_between
from assembly.errors import InputError
from assembly.magnitudes import check_count
from modal.checks.crosscheck_report import CrossCheck, CrossCheckInterrupted
from modal.checks.crosscheck_work import Work
from modal.checks.mode_transient import follow_transients
from modal.checks.unfrozen import Unfrozen
from modal.periodic.floquet import floquet
from modal.periodic.periodicity import check_period_length
from modal.tracking.frozen_callable import tracks_of_callable
from modal.tracking.tracking import track
from modal.transient.equations import is_second_order
from modal.types import Array

CALLABLE_INSTANTS = 65


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
    at = _times(model, tracks, times, T)
    turns = _checked_turns(turns, at, T)
    if tracks is None:
        tracks = (
            track(model, at, k, progress=progress)
            if is_second_order(model)
            else tracks_of_callable(model, at)
        )
    work = Work(model, tracks, at, T, rate_tolerance, turns)
    try:
        work.phase = "the reduced model was made"
        unfrozen = Unfrozen(model, work.t0, float(at[-1]), work.count, T, progress)
        work.unfrozen = unfrozen
        work.phase = "the transient was finished"
        work.run = follow_transients(unfrozen, at, work.lam, work.sigma, turns, progress)
        if T is not None:
            work.phase = "the Floquet exponents were found"
            work.floquet = floquet(
                unfrozen.source, T, t0=work.t0, k=work.count, breaks=breaks, basis=unfrozen.frozen,
                progress=progress,
            )  # fmt: skip
        work.phase = ""
    except KeyboardInterrupt:
        raise CrossCheckInterrupted(f"stopped before {work.phase}", work.report()) from None
    return work.report()


def _times(
    model: Any, tracks: xr.Dataset | None, times: ArrayLike | None, T: float | None
) -> Array:
    if tracks is not None:
        if (
            not isinstance(tracks, xr.Dataset)
            or "time" not in tracks.dims
            or tracks.sizes["time"] < 3
        ):
            raise InputError("tracks: expected a dataset over time with three instants or more")
        return np.asarray(tracks.time.values, dtype=float)
    if times is not None:
        at = as_numbers(times, "times")
        if at.ndim != 1 or at.size < 3 or np.any(np.diff(at) <= 0.0):
            raise InputError("times: expected three increasing instants or more")
        return at
    if T is None:
        raise InputError("crosscheck: give tracks over time, times, or the period of the motion")
    return np.linspace(0.0, T, CALLABLE_INSTANTS)


def _checked_turns(turns: Any, at: Array, T: float | None) -> int:
    check_count(turns, "turns")
    if turns > 1 and (T is None or abs(at[-1] - at[0] - T) > 1e-6 * T):
        raise InputError("turns: needs a period, and tracks that cover exactly one")
    return int(turns)
