"""A bar that turns about one end and vibrates along itself: Vlase, Nicolescu & Marin, Mathematics
2020, 8, 1401, example a and section c.

Lagrange's second-order and Hamilton's first-order equations of the same bar, integrated from rest
under the centrifugal load and a sinusoidal force at the free end. Two things are put right: the
elastic term of Hamilton's equation (13) is −[k]{δ}, not −½[k]{δ} (with the half, frequencies come
out √2 too low), and the mass is ∫ρNᵀN. Two are assumptions, since the paper does not print them:
the force's amplitude and the damping, here proportional to the stiffness.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr

import modal
from assembly.errors import InputError
from modal.data.units import units_of
from studies.reporting.output import NOWHERE, OutputFolder
from studies.reporting.protocol import merged, report_of
from studies.rotating_bar import figures
from studies.rotating_bar.bar import PAPER, model
from studies.rotating_bar.data import (
    VARIABLES,
    compare_times,
    derivatives,
    frequencies,
    parameter_studies,
    responses,
)

__all__ = ["main", "report"]

MODES = 4


def _frequencies(dataset: xr.Dataset) -> Iterator[str]:
    yield f"natural frequencies at 15 rad/s ({units_of(dataset['natural'])})"
    yield (
        f"{'mode':>6} {'computed':>14} {'closed form of the chain':>26} {'continuous bar':>16} "
        f"{'with −½[k]':>12}"
    )
    turning = dataset.isel(omega=-1)
    for k in range(dataset.sizes["mode"]):
        row = turning.isel(mode=k)
        yield (
            f"{k + 1:>6} {float(row['natural']):>14.6f} {float(row['natural_exact']):>26.6f} "
            f"{float(row['natural_continuum']):>16.6f} {float(row['natural_misprint']):>12.3f}"
        )
    difference = float(abs(dataset["natural"] / dataset["natural_exact"] - 1.0).max())
    ratio = float(turning["natural"][0] / turning["natural_misprint"][0])
    yield (
        f"  largest relative difference from the closed form {difference:.1e}; eq. (13) as printed "
        f"is too low by {ratio:.6f} (√2 = {np.sqrt(2.0):.6f})"
    )


def _responses(dataset: xr.Dataset) -> Iterator[str]:
    yield "response at all nodes, relative to the largest displacement"
    yield (
        f"{'damping':>9} {'Lagrange − Hamilton':>20} {'order 2 − exact':>16} "
        f"{'order 6 − exact':>16} {'energy balance':>15}"
    )
    for ratio in dataset["damping"].values:
        run = dataset.sel(damping=ratio)
        moved, exact = run["displacement"], run["displacement_exact"]
        size = float(abs(exact).max())
        apart = abs(moved.sel(scheme="lagrange") - moved.sel(scheme="hamilton")).max() / size
        error = abs(moved - exact).max(("time", "node")) / size
        work = abs(run["energy_defect"]).max("time") / run["energy"].max("time")
        yield (
            f"{ratio:>9g} {float(apart):>20.1e} {float(error[0]):>16.1e} "
            f"{float(error[2]):>16.1e} {float(work.max()):>15.1e}"
        )


def _derivatives(dataset: xr.Dataset) -> Iterator[str]:
    yield "terms of the Lagrangian, their derivatives by δ (the paper's Table 1), how far these, by"
    yield "  the library's matrices, are from a complex-step derivative of the term (relative)"
    for term in dataset["lagrangian_term"].values:
        one = dataset.sel(lagrangian_term=term)
        yield f"  {term!s:<18}{one['derivative'].item():<16}{float(one['derivative_error']):>8.0e}"
    yield f"  the table prints −½kδ for −½ δᵀkδ: off by {float(dataset['derivative_misprint']):.2f}"


def _parameters(dataset: xr.Dataset) -> Iterator[str]:
    worst = max(
        float(dataset[f"tip_by_{name}_error"].max()) for name in ("section", "excitation", "mass")
    )
    yield "parameter studies: largest tip displacement (µm)"
    section = 1e6 * abs(dataset["tip_by_section"]).max("instant")
    for i, A in enumerate(dataset["section"].values):
        values = ", ".join(
            f"{float(section[i, j]):.1f} at {w:g} {units_of(dataset['speed'])}"
            for j, w in enumerate(dataset["speed"].values)
        )
        yield f"  A = {1e6 * A:g} mm²: {values}"
    for name in ("excitation", "mass"):
        unit = units_of(dataset[name])
        largest = 1e6 * abs(dataset[f"tip_by_{name}"]).max("instant")
        values = ", ".join(
            f"{float(v):.1f} at {x:g} {unit}"
            for x, v in zip(dataset[name].values, largest.values, strict=True)
        )
        yield f"  {name}: {values}"
    yield f"  largest difference from the closed form {worst:.1e} of the displacement"


def _timing(dataset: xr.Dataset) -> list[str]:
    if "seconds" not in dataset:
        return []
    lines = [
        "computing time, Hamilton over Lagrange",
        f"{'elements':>10} {'paper':>8} {'explicit':>10} {'implicit':>10}",
    ]
    paper, measured, calls = (
        dataset[name].sel(formalism="hamilton") / dataset[name].sel(formalism="lagrange")
        for name in ("seconds_paper", "seconds", "evaluations")
    )
    explicit, implicit = (measured.sel(way=way) for way in ("explicit", "implicit"))
    for count, *ratios in zip(dataset["elements"].values, paper, explicit, implicit, strict=True):
        a, b, c = map(float, ratios)
        lines.append(f"{count:>10} {a:>8.2f} {b:>10.2f} {c:>10.2f}")
    # What the measured times show, and what they do not.
    spread = (dataset["seconds_spread"] / dataset["seconds"]).sel(way="explicit")
    return [
        *lines,
        f"  explicit: the same Runge–Kutta method takes {float(calls.min()):.2f} to "
        f"{float(calls.max()):.2f} times as many right-hand sides with Hamilton's",
        "  equations and "
        f"{float(explicit.min()):.2f} to {float(explicit.max()):.2f} times the time; "
        f"repeated runs of one case differ by up to {100.0 * float(spread.max()):.0f} %.",
        "  A right-hand side is the same products and the same solve with M in both forms, so the",
        "  10–30 % of Table 3 say more about the two programs than about the formalisms.",
        f"  implicit: the ratio ({float(implicit.min()):.1f} to {float(implicit.max()):.1f}) "
        "compares two integrators of this library that give the same",
        "  response to round-off: again two programs, not two formalisms.",
    ]


# Frequencies, agreement of the formalisms, energy balance, parameter studies, computing times.
report = report_of(_frequencies, _responses, _derivatives, _parameters, _timing)


def main(
    *,
    elements: int = 10,
    force: float = 1000.0,
    duration: float = 0.1,
    step: float = 2e-5,
    damping_ratio: float = 0.02,
    timing_repeats: int = 3,
    timing_duration: float = 0.01,
    out: OutputFolder = NOWHERE,
    progress: bool = False,
) -> xr.Dataset:
    """Axial vibration of a rotating bar by Lagrange's and by Hamilton's equations.

    Parameters
    ----------
    elements : int
        Bar elements.
    force : float
        Amplitude of the force at the free end, N.
    duration, step : float
        Simulated time and time step of both integrators, s.
    damping_ratio : float
        Damping ratio of the first mode in the damped runs.
    timing_repeats : int
        Runs of each formalism for the computing times; 0 for none.
    timing_duration : float
        Simulated time of these runs, s.
    out : OutputFolder, optional
        Folder for data and figures; nothing is written without it.
    progress : bool
        Whether to show progress.

    Returns
    -------
    Dataset
        Displacements of all nodes by both formalisms and by the closed form, frequencies,
        parameter studies and computing times.

    Raises
    ------
    InputError
        Fewer than two elements, or a time that is not positive.
    """
    if not (elements >= 2 and duration > 0.0 and step > 0.0 and timing_duration > 0.0):
        raise InputError("elements: at least 2; duration, step, timing_duration: positive")
    parts = [
        frequencies(elements, MODES),
        responses(elements, force, duration, step, damping_ratio),
        parameter_studies(elements, force, duration, progress),
        derivatives(),
    ]
    if timing_repeats > 0:
        load = modal.Harmonic(at=-1, amplitude=force, angular_frequency=PAPER.excitation)
        parts.append(compare_times(damping_ratio, load, timing_duration, timing_repeats))
    dataset = merged(
        parts,
        VARIABLES,
        title="axial vibration of the rotating bar of Vlase, Nicolescu & Marin (2020)",
        elements=elements,
        force=force,
        step=step,
        damping_ratio=damping_ratio,
        omega=PAPER.omega,
        excitation=PAPER.excitation,
    )
    out.write_dataset("rotating-bar.nc", dataset)
    out.explore(lambda: over_speed(elements, damping_ratio))
    out.draw(*figures.drawings(dataset))
    out.draw(figures.first_mode(elements))
    return dataset


def over_speed(elements: int, damping_ratio: float) -> modal.ExplorerView:
    """The axial modes over the speed, to twice the paper's, to explore."""
    body = model(elements, damping_ratio=damping_ratio)
    speeds = np.linspace(0.0, 2.0 * PAPER.omega, 11)
    axis = (0.0, 0.0, 1.0)
    tracks = modal.track(body, omega=speeds, axis=axis, k=min(MODES, elements), progress=False)
    return modal.explorer_view(tracks, body, title="over the speed", axis=axis)
