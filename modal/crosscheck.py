"""Frozen against unfrozen: is the verdict of the tracks right?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import trapezoid
from scipy.optimize import linear_sum_assignment

from assembly.errors import InputError
from modal.datasets import provenance
from modal.diagnosis import Diagnosis, Evidence, diagnose
from modal.equations import freezer, is_second_order
from modal.floquet import FloquetModes, floquet
from modal.frozen_callable import tracks_of_callable
from modal.mode_transient import assigned, follow_transients
from modal.resonance import announced
from modal.tracking import track
from modal.unfrozen import Unfrozen

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

CALLABLE_INSTANTS = 65
SHARED = 0.3  # of a mode's largest part in any Floquet vector: it takes part in this one
RESONANCE_WIDTH = 0.15  # of 2π/T

VARIABLES: dict[str, tuple[str, str]] = {
    "frozen_rate": ("s-1", "mean over the motion of the frozen growth rate Re λ"),
    "corrected_rate": ("s-1", "mean over the motion of the corrected growth rate σ"),
    "transient_rate": ("s-1", "growth rate of the mode's coordinate in the full transient"),
    "transient_uncertainty": ("s-1", "uncertainty of transient_rate"),
    "floquet_rate": ("s-1", "real part of the Floquet exponent"),
    "floquet_error": ("s-1", "error estimate of floquet_rate"),
    "mean_frequency": ("Hz", "mean over the motion of |Im λ| / 2π"),
    "frozen_interval": ("s", "least frozen interval over the motion"),
    "gain": ("1", "largest growth of the energy norm of a motion that starts in the mode"),
    "verdict": ("1", "confirmed, frozen misleads, or undecided"),
    "reason": ("1", "why the frozen verdict misleads"),
    "remark": ("1", "explanation, or what to refine"),
}


@dataclass(frozen=True)
class CrossCheck:
    """The comparison, mode by mode: `dataset` over `mode`, and one `Diagnosis` a mode."""

    dataset: xr.Dataset
    diagnoses: tuple[Diagnosis, ...]

    @property
    def confirmed(self) -> bool:
        """Every mode's frozen verdict holds."""
        return all(d.outcome == "confirmed" for d in self.diagnoses)

    @property
    def misleading(self) -> bool:
        """Some mode's frozen verdict is wrong."""
        return any(d.outcome == "frozen misleads" for d in self.diagnoses)

    def __str__(self) -> str:
        head = "mode  frequency, Hz   frozen     corrected   transient   Floquet, 1/s   interval, s"
        lines = [head]
        d = self.dataset
        for i, diagnosis in enumerate(self.diagnoses):
            rates = [
                f"{float(d[name][i]):+11.4g}" if np.isfinite(d[name][i]) else "          –"
                for name in ("frozen_rate", "corrected_rate", "transient_rate", "floquet_rate")
            ]
            frequency, interval = float(d.mean_frequency[i]), float(d.frozen_interval[i])
            lines.append(
                f"{int(d.mode[i]):4d}  {frequency:13.6g} {' '.join(rates)}   {interval:11.3g}"
            )
            lines.append(f"      {diagnosis}")
        return "\n".join(lines)


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
) -> CrossCheck:
    """Compare frozen growth rates with the transient and, for a periodic motion, with Floquet.

    model: an object with freeze(t), or a callable A(t). tracks: the dataset of `modal.track` over
    time; without it the k lowest modes are tracked over `times` (or one period in 64 steps).
    period: of the motion, s; by default `model.period` where there is one. tolerance: relative
    difference of growth rates that still confirms. breaks: jumps of A within the period. turns:
    periods of the transient, when the tracks cover exactly one; its rates get that much sharper.

    Per mode: mean frozen and corrected rates, the rate of its own coordinate in the transient of
    the full time-varying equations (on the space of the frozen modes, started in the frozen mode,
    projected on left vectors), the Floquet exponent, the least frozen interval, and the verdict
    of `modal.diagnosis`. Raises InputError when the tracks are not over time.
    """
    if not 0.0 < tolerance < 1.0:
        raise InputError(f"tolerance: expected a number between 0 and 1, got {tolerance!r}")
    T = period if period is not None else getattr(model, "period", None)
    at = _times(model, tracks, times, T)
    if tracks is None:
        tracks = track(model, at, k) if is_second_order(model) else tracks_of_callable(model, at)
    modes = _window(tracks)
    count = len(modes)
    t0, t1 = float(at[0]), float(at[-1])
    unfrozen = Unfrozen(model, t0, t1, count, T)
    lam = _with_positive_frequency(tracks.eigenvalue.values[:, modes])
    sigma = tracks.growth_rate_corrected.values[:, modes]
    run = follow_transients(unfrozen, at, lam, sigma, _checked_turns(turns, at, T))
    exponents = np.full((2, count), np.nan)
    if T is not None:
        found = floquet(model, T, t0=t0, k=count, breaks=breaks, basis=unfrozen.basis)
        exponents = _matched(found, unfrozen, lam[0])
    resonances = _announced(lam, at, T)
    prestressed = _is_prestressed(model, t0)
    evidence = [
        Evidence(
            frozen=_mean(at, lam[:, i].real),
            corrected=_mean(at, sigma[:, i]),
            transient=run.rate[i],
            uncertainty=run.uncertainty[i],
            floquet=exponents[0, i],
            floquet_error=exponents[1, i],
            size=_mean(at, np.abs(lam[:, i])),
            interval=_least(tracks.frozen_interval.values[:, modes[i]]),
            gain=run.gain[i],
            abscissa=run.abscissa,
            basis_gap=run.basis_gap[i],
            prestressed=prestressed,
            resonance=resonances[i],
        )
        for i in range(count)
    ]
    diagnoses = tuple(diagnose(e, tolerance) for e in evidence)
    frequency = [_mean(at, np.abs(lam[:, i].imag)) / (2 * np.pi) for i in range(count)]
    names = dict(
        frozen_rate="frozen", corrected_rate="corrected", transient_rate="transient",
        transient_uncertainty="uncertainty", floquet_rate="floquet", floquet_error="floquet_error",
        frozen_interval="interval", gain="gain",
    )  # fmt: skip
    values: dict[str, Any] = {a: [getattr(e, b) for e in evidence] for a, b in names.items()}
    values |= dict(
        mean_frequency=frequency,
        verdict=[d.outcome for d in diagnoses],
        reason=[d.reason for d in diagnoses],
        remark=[d.remark for d in diagnoses],
    )
    dataset = xr.Dataset(
        {
            name: ("mode", values[name], {"units": units, "long_name": long_name})
            for name, (units, long_name) in VARIABLES.items()
        },
        coords={"mode": tracks.mode.values[modes]},
        attrs=provenance(
            title="frozen growth rates against transient and Floquet",
            model=type(model).__name__,
            solver="Gauss collocation of order 6 on the space of the frozen modes",
            reduced_unknowns=unfrozen.size,
            matrices=str(unfrozen.interpolated or "made at every instant"),
            period="none" if T is None else T,
            span=[t0, t1],
            turns=turns,
            tolerance=tolerance,
        ),
    )
    return CrossCheck(dataset, diagnoses)


def _matched(found: FloquetModes, unfrozen: Unfrozen, lam: Complex) -> Array:
    """Rate and error (2, m) of the Floquet exponent each frozen mode turns into.

    Floquet vectors are given to the modes they consist of most, two to a conjugate pair; the
    faster growing of the two is the mode's. A growing Floquet vector that consists of several
    vibrations (a combination resonance) counts for each of them.
    """
    values, _, left = unfrozen.frozen(unfrozen.t0)
    place = assigned(values, np.where(np.isfinite(lam), lam, 0.0))
    x = found.vectors
    if unfrozen.basis is not None:
        n = x.shape[0] // 2
        x = np.vstack([la.lstsq(unfrozen.basis, part)[0] for part in (x[:n], x[n:])])
    x = x / np.linalg.norm(unfrozen.norm(unfrozen.t0) @ x, axis=0)
    weight = np.abs(left[:, place].conj().T @ x) ** 2
    pairs = np.abs(values[place].imag) > 0.0
    weight[pairs] += np.abs(left[:, place][:, pairs].T @ x) ** 2
    owners = np.concatenate([np.arange(len(lam)), np.flatnonzero(pairs)])
    rows, columns = linear_sum_assignment(-weight[owners])
    out = np.full((2, len(lam)), np.nan)
    for row, column in zip(rows, columns, strict=True):
        i, rate = owners[row], found.exponents[column].real
        if not out[0, i] >= rate:
            out[:, i] = rate, found.error[column]
    for i in np.flatnonzero(pairs):
        for column in np.flatnonzero(weight[i] >= SHARED * weight[i].max()):
            rate, error = found.exponents[column].real, found.error[column]
            if rate > max(out[0, i], error):
                out[:, i] = rate, error
    out[:, ~np.isfinite(lam)] = np.nan
    return out


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


def _window(tracks: xr.Dataset) -> NDArray[np.intp]:
    """The elastic tracks that are there at the first instant."""
    there = np.isfinite(tracks.eigenvalue.values[0].real)
    elastic = tracks.kind.values[0] == "elastic"
    found = np.flatnonzero(there & elastic)
    if not found.size:
        raise InputError("tracks: none of the modes of the first instant is elastic")
    return found


def _checked_turns(turns: Any, at: Array, T: float | None) -> int:
    if not (isinstance(turns, (int, np.integer)) and turns >= 1):
        raise InputError(f"turns: expected a whole number of periods, got {turns!r}")
    if turns > 1 and (T is None or abs(at[-1] - at[0] - T) > 1e-6 * T):
        raise InputError("turns: needs a period, and tracks that cover exactly one")
    return int(turns)


def _with_positive_frequency(lam: Complex) -> Complex:
    return np.where(lam.imag < 0.0, lam.conj(), lam)


def _mean(at: Array, values: Array) -> float:
    known = np.isfinite(values)
    if known.sum() < 2 or not known[[0, -1]].all():
        return float(np.mean(values)) if known.all() else np.nan
    return float(trapezoid(values[known], at[known]) / (at[-1] - at[0]))


def _least(values: Array) -> float:
    known = values[~np.isnan(values)]
    return float(known.min()) if known.size else np.nan


def _announced(lam: Complex, at: Array, T: float | None) -> list[str]:
    """For each mode the nearest combination it takes part in, or ""."""
    count = lam.shape[1]
    if T is None:
        return [""] * count
    inside = at <= at[0] + T * (1.0 + 1e-9)
    means = np.array([_mean(at[inside], np.abs(lam[inside, i].imag)) for i in range(count)])
    known = np.flatnonzero(np.isfinite(means) & (means > 0.0))
    found = announced(means[known], T, RESONANCE_WIDTH)
    out = [""] * count
    for r in reversed(found):
        for i in (r.first, r.second):
            out[known[i]] = str(r)
    return out


def _is_prestressed(model: Any, t: float) -> bool:
    """False when a body's centrifugal softening acts without the geometric stiffness it goes with.

    Bare matrices (no `dofs`) are taken as they are: a mass on springs has no prestress.
    """
    if not is_second_order(model):
        return True
    system = freezer(model)(t)
    softened = not system.parts["K_omega2"].is_zero and system.parts["K_G"].is_zero
    return not (softened and system.dofs is not None)
