"""Growth over whole turns at several speeds, three ways: by the frozen instants (the mean of σ), by
Floquet exponents, and by time integration.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr
from numpy.typing import NDArray

import assembly
import modal
from modal.data.datasets import described, provenance
from studies.slider_crank.variables import VARIABLES

INSTANTS = 13  # of a turn, for the mean of σ
TURNS, STEPS = 40, 48  # of the time integration, and steps a turn
SPEEDS = 4  # evenly spaced, besides those where Floquet's growth is largest


def growth_over_speed(
    family: Callable[[float, float], assembly.Mechanism], chart: xr.Dataset, ratio: float
) -> xr.Dataset:
    """Growth rates over speed at the damping ratio of a chart that is nearest to `ratio`.

    Parameters
    ----------
    family : callable ``family(speed_rpm, first_damping)``
        The mechanism of a point of the chart.
    chart : Dataset
        Hill chart over speed_rpm and first_damping.
    ratio : float
        Damping ratio of the first mode.

    Returns
    -------
    Dataset
        Over speed_rpm: `growth_floquet`; `growth_corrected` and `growth_integrated` at some speeds,
        NaN at the others.
    """
    row = chart.sel(first_damping=ratio, method="nearest")
    damping, speeds = float(row["first_damping"]), row["speed_rpm"].values
    floquet = row["growth_rate"].values
    sigma, integrated = np.full((2, len(speeds)), np.nan)
    for n in _chosen(floquet):
        mechanism = family(float(speeds[n]), damping)
        sigma[n], integrated[n] = _corrected(mechanism), _integrated(mechanism)
    columns = {
        "growth_floquet": floquet,
        "growth_corrected": sigma,
        "growth_integrated": integrated,
    }
    dataset = xr.Dataset(
        {name: ("speed_rpm", values) for name, values in columns.items()},
        coords={"speed_rpm": speeds, "first_damping": damping},
        attrs=provenance(title="growth over whole turns, three ways"),
    )
    return described(dataset, VARIABLES)


def _chosen(growth: NDArray[np.float64]) -> list[int]:
    """Evenly spaced numbers, and those of the largest growth of each unstable range."""
    even = np.linspace(0, len(growth) - 1, min(SPEEDS, len(growth))).round().astype(int)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], growth > 0.0, [0]])))
    peaks = [a + int(np.argmax(growth[a:b])) for a, b in edges.reshape(-1, 2)]
    return sorted({*even.tolist(), *peaks})


def _corrected(mechanism: assembly.Mechanism) -> float:
    """The mean of σ over a turn, of the first mode; NaN where it is not followed all the turn."""
    assert mechanism.period is not None
    times = np.linspace(0.0, mechanism.period, INSTANTS)
    tracks = modal.track(mechanism, times=times, k=2, progress=False)
    sigma = tracks["growth_rate_corrected"].isel(mode=0, time=slice(1, None))
    return float(sigma.mean("time", skipna=False))


def _integrated(mechanism: assembly.Mechanism) -> float:
    """Growth rate of √energy at whole turns, after the faster decaying motion has gone, 1/s."""
    period = mechanism.period
    assert period is not None
    start = modal.solve(mechanism.freeze(0.0), k=1).right[:, 0].real
    response = modal.integrate(
        mechanism, (0.0, TURNS * period), initial=(start, np.zeros_like(start)),
        formalism="hamilton", method="gauss4", step=period / STEPS, every=STEPS, progress=False,
    )  # fmt: skip
    later = slice(TURNS // 4, None)
    energy = response["energy"].values[later]
    return 0.5 * float(np.polyfit(response["time"].values[later], np.log(energy), 1)[0])


def agreement(compared: xr.Dataset) -> str:
    """What the comparison says, from its values."""
    there = compared.dropna("speed_rpm", subset=["growth_integrated"])
    floquet, sigma, integrated = (there[f"growth_{n}"].values for n in NAMES)
    speeds = there["speed_rpm"].values
    misled = speeds[sigma * integrated < 0.0]
    words = (
        f"at {len(speeds)} speeds time integration grows at Floquet's rate"
        f" within {np.abs(floquet - integrated).max():.2g} 1/s"
    )
    if not misled.size:
        return words + "; the mean of σ of the first mode has no other sign"
    at = ", ".join(f"{speed:.0f}" for speed in misled)
    return (
        f"{words}; the mean of σ of the first mode, from frozen instants, has the wrong sign"
        f" at {at} rpm (parametric resonance)"
    )


NAMES = ("floquet", "corrected", "integrated")


def first_look(chart: xr.Dataset, compared: xr.Dataset) -> str:
    """The caption of the chart above the comparison, from their values."""
    verdict = chart["verdict"].values
    damping = float(compared["first_damping"])
    return (
        "A slider-crank with an elastic rod. Top: the Floquet verdict over speed and damping,"
        f" {(verdict >= 0).sum()} of {verdict.size} points decided,"
        f" {(verdict > 0).sum()} unstable. Bottom, at damping ratio {damping:.3g}: "
        f"{agreement(compared)}."
    )
