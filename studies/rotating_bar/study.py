"""A bar that turns about one end and vibrates along itself: Vlase, Nicolescu & Marin, Mathematics
2020, 8, 1401, example a and section c.

Lagrange's second-order and Hamilton's first-order equations of the same bar, integrated from rest
under the centrifugal load and a sinusoidal force at the free end. Two things are put right: the
elastic term of Hamilton's equation (13) is −[k]{δ}, not −½[k]{δ} (with the half, frequencies come
out √2 too low), and the mass is ∫ρNᵀN. Two are assumptions, since the paper does not print them:
the force's amplitude and the damping, here proportional to the stiffness.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

import modal
from assembly.errors import InputError
from studies.reporting.protocol import Data, Exploration, Outputs, merged, study_main
from studies.rotating_bar import figures, timing
from studies.rotating_bar.bar import (
    EXCITATION,
    LENGTH,
    OMEGA,
    frozen,
    model,
    transient,
    wave_speed,
)
from studies.rotating_bar.derivatives import derivatives
from studies.rotating_bar.exact import continuum_frequencies, element_frequencies, response
from studies.rotating_bar.parameters import parameter_studies
from studies.rotating_bar.summary import report
from studies.rotating_bar.variables import VARIABLES

__all__ = ["main", "report"]

MODES = 4

EXPLORED = 11  # speeds of the view to explore


@study_main
def main(
    *,
    elements: int = 10,
    force: float = 1000.0,
    duration: float = 0.1,
    step: float = 2e-5,
    damping_ratio: float = 0.02,
    timing_repeats: int = 3,
    timing_duration: float = 0.01,
    progress: bool = False,
) -> Outputs:
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
        frequencies(elements),
        responses(elements, force, duration, step, damping_ratio),
        parameter_studies(elements, force, duration, progress),
        derivatives(),
    ]
    if timing_repeats > 0:
        load = modal.Harmonic(at=-1, amplitude=force, angular_frequency=EXCITATION)
        parts.append(
            timing.compare(
                lambda count: frozen(model(count, damping_ratio=damping_ratio)),
                load,
                timing_duration,
                timing_repeats,
            )
        )
    dataset = merged(
        parts,
        VARIABLES,
        title="axial vibration of the rotating bar of Vlase, Nicolescu & Marin (2020)",
        elements=elements,
        force=force,
        step=step,
        damping_ratio=damping_ratio,
        omega=OMEGA,
        excitation=EXCITATION,
    )
    yield Data("rotating-bar.nc", dataset)
    yield Exploration(lambda: over_speed(elements, damping_ratio))
    yield from figures.drawings(dataset)
    yield figures.animation(elements)
    return dataset


def over_speed(elements: int, damping_ratio: float) -> modal.ExplorerView:
    """The axial modes over the speed, to twice the paper's, to explore."""
    body = model(elements, damping_ratio=damping_ratio)
    speeds = np.linspace(0.0, 2.0 * OMEGA, EXPLORED)
    axis = (0.0, 0.0, 1.0)
    tracks = modal.track(body, omega=speeds, axis=axis, k=min(MODES, elements), progress=False)
    return modal.explorer_view(tracks, body, title="over the speed", axis=axis)


def frequencies(elements: int, count: int = MODES) -> xr.Dataset:
    """Frequencies at 0 and 15 rad/s beside the closed forms, and what eq. (13) as printed gives."""
    count = min(count, elements)
    speeds = np.array([0.0, OMEGA])
    computed = np.empty((2, count))
    for i, omega in enumerate(speeds):
        computed[i] = modal.solve(frozen(model(elements), omega), k=count).eigenvalues.imag
    c = wave_speed()
    exact = [element_frequencies(elements, LENGTH, c, w, count) for w in speeds]
    continuum = [continuum_frequencies(LENGTH, c, w, count) for w in speeds]
    halved = frozen(model(elements))
    misprinted = modal.solve(halved.only("K_omega2", K=halved.parts["K"].scaled(0.5)), k=count)
    dims = ("omega", "mode")
    return xr.Dataset(
        {
            "natural": (dims, computed),
            "natural_exact": (dims, np.array(exact)),
            "natural_continuum": (dims, np.array(continuum)),
            "natural_misprint": ("mode", misprinted.eigenvalues.imag),
        },
        coords={"omega": speeds, "mode": np.arange(count)},
    )


def responses(
    elements: int, force: float, duration: float, step: float, damping_ratio: float
) -> xr.Dataset:
    """Displacements of all nodes, with and without damping, by both formalisms and exactly."""
    runs = []
    ratios = (0.0, damping_ratio)
    for ratio in ratios:
        system = frozen(model(elements, damping_ratio=ratio))
        both = [
            transient(system, force, EXCITATION, duration, "lagrange", None, step),
            transient(system, force, EXCITATION, duration, "hamilton", "midpoint", step),
            transient(system, force, EXCITATION, duration, "hamilton", "gauss6", step),
        ]
        scheme = xr.DataArray(
            ["lagrange", "hamilton", "hamilton, order 6"], dims="scheme", name="scheme"
        )
        run = xr.concat([_nodal(b) for b in both], dim=scheme, combine_attrs="override")
        push = np.zeros(system.n)
        push[-1] = force
        exact = response(system, push, EXCITATION, run["time"].values)
        run["displacement_exact"] = (
            ("time", "node"),
            np.hstack([np.zeros((len(exact), 1)), exact]),
        )
        runs.append(run)
    return xr.concat(runs, dim=xr.DataArray(list(ratios), dims="damping", name="damping"))


def _nodal(run: xr.Dataset) -> xr.Dataset:
    """Displacements by the paper's node numbers, 1 on the axis, which does not move."""
    moved = run["displacement"].values
    displacement = np.hstack([np.zeros((len(moved), 1)), moved])
    return xr.Dataset(
        {
            "displacement": (("time", "node"), displacement),
            "energy": run["energy"],
            "energy_defect": run["energy_defect"],
        },
        coords={
            "time": run["time"].values,
            "node": np.arange(1, displacement.shape[1] + 1),
        },
    )
