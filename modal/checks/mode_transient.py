"""The transient of every frozen mode: its coordinate, its energy norm, and their uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import cumulative_trapezoid
from scipy.optimize import linear_sum_assignment

from modal.checks.unfrozen import Unfrozen
from modal.data.progress import shown
from modal.periodic.collocation import ORDER
from modal.types import Array, Complex

RECORDS = 61  # instants at which coordinates are taken, of a period where there is one
RESOLUTION = 0.25  # |λ| h of the fastest mode followed, in steps of order 6


@dataclass(frozen=True)
class ModeTransients:
    """Per mode (m,): rate, the growth of its own coordinate over the span, 1/s, ± uncertainty;
    gain, the largest growth of the energy norm; basis_gap, the relative distance of the reduced
    eigenvalues from the tracks'. abscissa: largest growth rate the instants' norms allow, 1/s.
    """

    rate: Array
    uncertainty: Array
    gain: Array
    basis_gap: Array
    abscissa: float

    @classmethod
    def unknown(cls, count: int) -> ModeTransients:
        """Of `count` modes, before the transient was computed."""
        nothing = np.full(count, np.nan)
        return cls(nothing, nothing, nothing, nothing, np.nan)


def follow_transients(
    unfrozen: Unfrozen,
    at: Array,
    lam: Complex,
    sigma: Array,
    turns: int = 1,
    progress: bool | None = False,
) -> ModeTransients:
    """Start in every frozen mode at once, and project on the left vectors of later instants.

    at (T,): times of the tracks; lam (T, m) their eigenvalues, sigma (T, m) their corrected
    rates. turns: how often the motion over `at`, then a period, is run through.
    """
    chosen = np.unique(np.linspace(0, len(at) - 1, RECORDS).round().astype(int))
    times = at[chosen]
    pairs = shown(list(zip(times, chosen, strict=True)), "frozen modes", "instant", progress)
    instants = [_Instant(unfrozen, float(t), lam[j]) for t, j in pairs]
    longest = RESOLUTION / max(float(np.nanmax(np.abs(lam))), 1e-300)
    fine, rough = (unfrozen.propagators(times, longest, n, progress) for n in (2, 1))
    x = instants[0].right
    y = x.copy()
    logs, sizes = [instants[0].logs(x)], [instants[0].sizes(x)]
    for _ in range(turns):
        for map_, coarse, instant in zip(fine, rough, instants[1:], strict=True):
            x, y = map_ @ x, coarse @ y
            logs.append(instant.logs(x))
            sizes.append(instant.sizes(x))
    length = float(at[-1] - at[0])
    span = turns * length
    step_error = np.abs(instants[-1].logs(y) - logs[-1]) / (2.0**ORDER - 1.0)
    # The rest after the corrected rate and a straight line is coupling: an error of both ends.
    known = np.where(np.isfinite(sigma), sigma, 0.0)
    once = cumulative_trapezoid(known, at, axis=0, initial=0.0)[chosen]
    due = np.concatenate([once] + [once[1:] + n * once[-1] for n in range(1, turns)])
    when = np.concatenate([times] + [times[1:] + n * length for n in range(1, turns)]) - times[0]
    rest = np.array(logs) - due
    rest = rest - rest[0] - np.outer(when / span, rest[-1] - rest[0])
    with np.errstate(invalid="ignore"):
        blur = np.nan_to_num(np.std(rest, axis=0), nan=0.0)
    all_sizes = np.array(sizes)
    return ModeTransients(
        rate=(logs[-1] - logs[0]) / span,
        uncertainty=(blur + step_error) / span,
        gain=(all_sizes / all_sizes[0]).max(axis=0),
        basis_gap=np.max([instant.gaps for instant in instants], axis=0),
        abscissa=max(unfrozen.numerical_abscissa(float(t)) for t in times),
    )


class _Instant:
    """The modes of one instant that represent the tracks (NaN where a track has ended)."""

    def __init__(self, unfrozen: Unfrozen, t: float, lam: Complex) -> None:
        self.norm = unfrozen.norm(t)
        values, right, left = unfrozen.frozen(t, self.norm)
        self.known = np.flatnonzero(np.isfinite(lam))
        index = assigned(values, lam[self.known])
        self.left = left[:, index]
        self.right = right[:, assigned(values, np.where(np.isfinite(lam), lam, 0.0))]
        self.gaps = np.zeros(len(lam))
        size = np.maximum(np.abs(lam[self.known]), 1e-300)
        self.gaps[self.known] = np.abs(values[index] - lam[self.known]) / size

    def logs(self, x: Complex) -> Array:
        """log|yᴴx| of each mode's own coordinate, NaN where the track has ended."""
        out = np.full(x.shape[1], np.nan)
        own = np.abs((self.left.conj() * x[:, self.known]).sum(axis=0))
        with np.errstate(divide="ignore"):
            out[self.known] = np.log(own)
        return out

    def sizes(self, x: Complex) -> Array:
        return np.asarray(np.linalg.norm(self.norm @ x, axis=0))


def assigned(values: Complex, targets: Complex) -> NDArray[np.intp]:
    """Number of the value that represents each of `targets`: one to one, of least distance."""
    distance = np.abs(values[None, :] - targets[:, None])
    rows, columns = linear_sum_assignment(distance)
    out = np.empty(len(targets), dtype=np.intp)
    out[rows] = columns
    return out
