"""Following modes along a motion or over a parameter: `modal.track`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from assembly.arguments import check_between
from assembly.errors import ConvergenceError, FrozenMotionError, InputError, StorageError
from assembly.magnitudes import check_count
from assembly.system.frozen import FrozenSystem
from modal.data.datasets import made_from, provenance
from modal.data.progress import shown
from modal.eigen.modes import Modes
from modal.eigen.solve import Backend, solve
from modal.tracking.dataset import tracks_dataset, unstable_not_followed, variables
from modal.tracking.events import BEYOND
from modal.tracking.following import Rules
from modal.tracking.sources import BasisError, Source
from modal.tracking.space_sources import source_of
from modal.tracking.store import TrackStore
from modal.tracking.sweep import Request, Solver, Sweep
from modal.tracking.tracks import Recorder, default_guard
from modal.transient.along import Along


class TrackingInterrupted(KeyboardInterrupt):
    """Ctrl-C during `modal.track`.

    Attributes
    ----------
    partial : xarray.Dataset or None
        Dataset of the finished values; None when there are none.
    """

    def __init__(self, message: str, partial: xr.Dataset | None) -> None:
        super().__init__(message)
        self.partial = partial


def track(
    model: Any,
    times: ArrayLike | None = None,
    k: int = 6,
    *,
    over: Mapping[str, ArrayLike] | None = None,
    along: xr.Dataset | None = None,
    guard: int | None = None,
    backend: str = "auto",
    tolerance: float = 1e-8,
    solver: Solver | None = None,
    rate: float | None = None,
    interval_change: float = 0.05,
    rules: Rules | None = None,
    whirl_axis: ArrayLike | None = None,
    checks: int = 1,
    store: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: bool | None = None,
    **parameters: Any,
) -> xr.Dataset:
    """Follow the modes of a model along a motion or over one parameter.

    Give exactly one of: `times`; `over`; one parameter of `freeze` as a one-dimensional array by
    its own name.

    Parameters
    ----------
    model : object with a method ``freeze(t, **parameters)`` or ``freeze(**parameters)``
        A body, a mechanism or an object of your own. `freeze` returns a `FrozenSystem`.
    times : array_like, shape (T,), optional
        Instants of a motion, s, strictly increasing or strictly decreasing.
    k : int, default 6
        Number of elastic modes, the lowest as `modal.solve` orders them, that are followed at every
        value, together with the rigid modes below them.
    over : mapping of one name to array_like, shape (T,), optional
        Name and values of the swept parameter, strictly increasing or strictly decreasing. All
        other parameters are then constants. ``over={"omega": speeds}`` is ``omega=speeds``.
    along : xarray.Dataset, optional
        A transient of the mechanism `model`, of `integrate(..., nonlinear=True, probes="all")`: the
        modes are those about its states, at `times` or at all its records.
    guard : int, optional
        Number of further modes that are solved, so that a mode may leave the window of k modes
        and return. Default: all modes of up to 16 degrees of freedom; else 2 + k // 4.
    backend : {"auto", "reduced", "slepc", "scipy", "dense"}, default "auto"
        "slepc", "scipy" and "dense" solve every value separately. "reduced" takes all values
        from one certified reduced basis. "auto" does that where the values share their operators,
        else it uses "slepc".
    tolerance : float, default 1e-8
        Relative error of the eigenvalues from a reduced basis.
    solver : callable ``solver(system, k)``, optional
        Another source of modes. It returns an object with the attributes of `Modes`.
    rate : float, optional
        Rate of change of the swept parameter, units per second. By default a scalar `epsilon`
        where `omega` is swept, else the parameter is steady at every value:
        `growth_rate_corrected` then equals `growth_rate` and `frozen_interval` is infinite.
    interval_change : float, default 0.05
        Limit of the drift of λ and of the coupling in `frozen_interval`, relative.
    rules : modal.Rules, optional
        Thresholds of the matching and of the location of events.
    whirl_axis : array_like, shape (3,), optional
        Axis of the whirl direction. Default: the parameter `axis`, or the `whirl_axis` of the
        model: the shaft of a rotor.
    checks : int, default 1
        Number of values, drawn with a fixed seed, where a reduced basis is compared with a full
        solve. Over a steady parameter, up to 300 degrees of freedom, also of those where all
        modes are examined (the first and the last value, and `checks` − 1 more), and the step is
        sought over which an unstable mode appears that no track follows; 0 for neither.
    store : path, optional
        Folder that receives the finished values every ten seconds.
    resume : bool, default False
        Continue the run in `store`. The result equals an uninterrupted run bit by bit.
    progress : bool, optional
        Progress bar on stderr. Default: only in a terminal.
    **parameters
        Arguments of `freeze`, in its units.

    Returns
    -------
    xarray.Dataset
        Dimensions (name of the sweep, "mode"): eigenvalue (rad/s), frequency (Hz), damping_ratio,
        growth_rate and growth_rate_corrected (1/s), frozen_interval (s), mac, certainty, event,
        event_at, partner, gap (rad/s), coupling, kind, backward_error, condition_number; whirl
        and whirl_number where displacements and an axis are known; the coordinate
        unstable_not_followed over the sweep, the number of unstable modes that no track follows
        (−1: not known). `modal.events` lists all events. A row is a mode; it is NaN where the mode
        is outside the window. A mode of the guard that grows is reported too.

    Raises
    ------
    InputError
        An argument cannot be used.
    AccuracyError
        A full solve differs from the reduced basis.
    ConvergenceError
        A value could not be computed. `partial` is the dataset of the values before it, or None.
    StorageError
        The store holds another run, is damaged, or cannot be written.
    TrackingInterrupted
        Ctrl-C. `partial` is the dataset of the finished values, or None.

    Notes
    -----
    Modes are matched by |O_ij O_ji|, O_ij = y_iᴴ B x_j / y_iᴴ B x_i, and by the predicted
    eigenvalue. The corrected growth rate is σ = Re[λ − yᴴẋ / yᴴx], x of unit energy. See
    docs/theory.md, "Following modes" and "What freezing leaves out".

    Examples
    --------
    >>> import numpy as np, assembly, modal
    >>> blade = assembly.beam(length=1.0, section=assembly.rectangle(0.05, 0.02),
    ...                       material=assembly.steel, elements=4, clamped="start")
    >>> tracks = modal.track(blade, over={"omega": np.linspace(0.0, 100.0, 5)},
    ...                      axis=(0, 0, 1), k=2)
    >>> dict(tracks.sizes)
    {'omega': 5, 'mode': 2}
    """
    check_count(k, "k")
    every = guard is None
    guard = default_guard(k) if guard is None else guard
    _check(guard, checks, tolerance, interval_change, rules)
    rules = rules or Rules()
    if along is not None:
        model = Along(model, along)
        times = model.times if times is None else times
    axis = parameters.get("axis", getattr(model, "whirl_axis", None))
    axis = axis if whirl_axis is None else whirl_axis
    sweep = Sweep.of(model, times, parameters, axis, over)
    name, at = sweep.name, sweep.at
    speed = 1.0 if name == "time" else _rate(rate, name, parameters)
    if name == "time" and rate is not None:
        raise InputError("rate: it is the rate of a parameter; omit it over times")

    def full(system: FrozenSystem, wanted: int) -> Modes:
        return solve(system, wanted, backend=cast(Backend, request.solver_name))

    request = Request(
        sweep, int(k), int(guard), every, backend, solver, full, tolerance, speed, rules,
        int(checks),
    )  # fmt: skip
    if resume and store is None:
        raise InputError("resume: give store, the folder of the run to continue")
    run = _Run(request, None if store is None else TrackStore(Path(store), request.settings))

    def finished() -> xr.Dataset | None:
        recorder = run.recorder
        if not recorder.count:
            return None
        attributes = provenance(
            title=f"modes followed over {name}",
            model=type(model).__name__,
            made_from=made_from(model),
            model_parameters=sweep.constant,
            solver=run.source.description,
            modes_followed=int(k),
            modes_guarding=int(guard),
            frozen_interval_tolerance=interval_change,
            rate="none" if name == "time" or speed is None else speed,
            instants=recorder.count,
            instants_requested=len(at),
            extra_instants=recorder.state.extra,
            **{f"rules_{key}": value for key, value in asdict(rules).items()},
        )
        values = variables(recorder, interval_change)
        with np.errstate(invalid="ignore"):  # infinite × 0 of a zero eigenvalue
            relative = values["condition_number"] * values["backward_error"]
            error = relative * np.abs(values["eigenvalue"])
        values[BEYOND] = unstable_not_followed(
            sweep.freeze,
            at[: recorder.count],
            values["eigenvalue"],
            error,
            int(checks) if speed is None and recorder.count == len(at) else 0,
        )
        return tracks_dataset(name, at[: recorder.count], values, attributes)

    try:
        run.begin(resume)
        try:
            run.follow(progress)
        except Exception as fault:
            # Any exception of the model ends the run; the error carries the finished instants.
            count, ours = run.recorder.count, isinstance(fault, FrozenMotionError)
            arithmetic = ours and isinstance(fault, ArithmeticError)
            if isinstance(fault, StorageError) or not (count or arithmetic):
                raise
            run.keep()
            what = str(fault) if ours else f"{type(fault).__name__}: {fault}"
            where = sweep.place(float(at[count]))
            raise ConvergenceError(f"{where}: {what}", partial=finished()) from fault
    except KeyboardInterrupt:
        run.keep()
        count = run.recorder.count
        what = f"after {count} of {len(at)} instants" if count else "before the first instant"
        raise TrackingInterrupted(f"stopped {what}", finished()) from None
    finally:
        run.close()
    done = finished()
    assert done is not None
    return done


def _check(guard: Any, checks: Any, tolerance: Any, interval_change: Any, rules: Any) -> None:
    check_count(guard, "guard", 0)
    check_count(checks, "checks", 0)
    check_between(tolerance, "tolerance", 0.0, 0.01)
    check_between(interval_change, "interval_change", 0.0, 1.0)
    if rules is not None and not isinstance(rules, Rules):
        raise InputError(f"rules: expected modal.Rules, got {type(rules).__name__}")


def _rate(rate: float | None, name: str, parameters: Mapping[str, Any]) -> float | None:
    """Speed of the parameter, None for one that is steady."""
    if rate is None and name == "omega" and np.ndim(parameters.get("epsilon", 0.0)) == 0:
        rate = parameters.get("epsilon", 0.0)
    if rate is not None and not np.isfinite(rate):
        raise InputError(f"rate: expected a finite number of units per second, got {rate!r}")
    return float(rate) if rate else None


class _Run:
    """A run from the first instant, or from the last one of a stored run, to the end.

    source and recorder are those of the run; held: its folder, or None.
    """

    source: Source

    def __init__(self, request: Request, held: TrackStore | None) -> None:
        self._request, self._held = request, held
        self._sources: list[Source] = []
        self.recorder = Recorder(request, None)

    def begin(self, resume: bool) -> None:
        """Create the source and the record; with resume=True those of the stored run, if any."""
        held = self._held
        stored = held if held is not None and resume and held.exists() else None
        self.source = source_of(self._request, stored)
        self._sources.append(self.source)
        self.recorder = Recorder(self._request, self.source)
        if stored is not None:
            stored.restore(self.recorder)
        elif held is not None:
            held.create(self.source)

    def follow(self, progress: bool | None) -> None:
        """Record all remaining instants.

        Where backend="auto" chose a reduced basis that is not accurate enough for an instant, the
        run starts again with full solves.
        """
        try:
            self._follow(progress)
        except BasisError:
            if self._request.backend != "auto":
                raise
            self._request = replace(self._request, backend="slepc")
            self.begin(resume=False)
            self._follow(progress)

    def _follow(self, progress: bool | None) -> None:
        source, recorder, held = self.source, self.recorder, self._held
        sweep, first = self._request.sweep, recorder.count
        at, what = sweep.at, f"modes over {sweep.name}"
        for value in shown(at[first:], what, "instant", progress, len(at), first):
            snapshot = source.snapshot(float(value))
            if held is not None and held.growths != source.growths:
                held.grow(recorder, len(snapshot.right), source)
            recorder.add(snapshot, sweep.spin(float(value)))
            if held is not None:
                held.flush(recorder, source)
        self.keep()

    def keep(self) -> None:
        """Write the finished instants that are not yet written."""
        if self._held is not None and self.recorder.count:
            self._held.flush(self.recorder, self.source, now=True)

    def close(self) -> None:
        """Release the sources and the folder."""
        for source in self._sources:
            source.close()
        if self._held is not None:
            self._held.close()
