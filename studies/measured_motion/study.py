"""A bar whose motion is measured with markers: Vlase, Nicolescu & Marin, Mathematics 2020, 8, 1401,
example b.

The paper films a bar of a mechanism, differentiates the places of two markers, and puts the result
into both forms of the equations. Its records are not printed. Here the record is made from a motion
that is known (the lever of the wind pump, at the speeds of the paper's Table 2) with noise of a
stated size, so that every step can be compared with the truth: the rigid motion fitted to all
markers at once, its ω, ε and a_O with their uncertainty, and the bar's frequencies and response.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr

import assembly
import modal
from assembly.errors import InputError
from assembly.motion.records import FittedMotion
from modal.data.units import units_of
from studies.measured_motion import data, figures
from studies.measured_motion.data import MARKERS, speeds_of_table_2
from studies.reporting.output import NOWHERE, OutputFolder
from studies.reporting.protocol import merged, report_of

__all__ = ["main", "report"]


def _motions(dataset: xr.Dataset) -> Iterator[str]:
    yield "known motions: speed (m/s) and acceleration (m/s²) of marker 1 over a turn, paper in ()"
    yield f"{'crank':>11} {'v min':>16} {'v max':>16} {'a min':>16} {'a max':>16}"
    for i in range(dataset.sizes["regime"]):
        one = dataset.isel(regime=i, marker=0)
        cells = [
            f"{f'{float(a):.3f} ({float(b):.3f})':>16}"
            for name in ("marker_speed", "marker_acceleration")
            for a, b in zip(one[name], one[f"{name}_paper"], strict=True)
        ]
        yield f"{float(one['speed']) * 30.0 / np.pi:>7.1f} rpm " + " ".join(cells)
    yield "  v max is the paper's by choice of the speed; the mechanism is another one"


def _fit(dataset: xr.Dataset) -> Iterator[str]:
    noise = float(dataset.attrs["noise"])
    noise_found = dataset["noise_found"]
    yield (
        f"fit: noise given {1e3 * noise:.3g} mm, found {1e3 * float(noise_found.min()):.3g} to "
        f"{1e3 * float(noise_found.max()):.3g} mm; errors of the motion (rms over the turn)"
    )
    yield f"{'':>12} {'error':>10} {'predicted':>10} {'by smoothing':>13}   slowest … fastest speed"
    for name in data.QUANTITIES:
        true, fit = dataset[f"{name}_true"], dataset[f"{name}_fitted"]
        columns = (fit - true, dataset[f"{name}_deviation"], dataset[f"{name}_smoothing"])
        for i in (0, -1):
            found_error, predicted, smoothing = (
                float(np.sqrt((values.isel(regime=i) ** 2).mean())) for values in columns
            )
            yield (
                f"{name if i == 0 else '':>12} {found_error:>10.2e} {predicted:>10.2e} "
                f"{smoothing:>13.2e}   {units_of(fit)}"
            )


def _frequencies(dataset: xr.Dataset) -> Iterator[str]:
    yield f"frequencies along the motion ({units_of(dataset['frequency_true'])})"
    yield (
        f"{'crank':>11} {'mode':>5} {'true, least … greatest':>26} {'error, rms':>11} "
        f"{'predicted':>10}"
    )
    for i in range(dataset.sizes["regime"]):
        for m in range(dataset.sizes["mode"]):
            one = dataset.isel(regime=i, mode=m)
            true, fit = one["frequency_true"], one["frequency_fitted"]
            error = float(np.sqrt(((fit - true) ** 2).mean()))
            predicted = float(np.sqrt((one["frequency_deviation"] ** 2).mean()))
            span = f"{float(true.min()):.5f} … {float(true.max()):.5f}"
            speed = f"{float(one['speed']) * 30.0 / np.pi:.1f} rpm" if m == 0 else ""
            yield f"{speed:>11} {m + 1:>5} {span:>26} {error:>11.1e} {predicted:>10.1e}"


def _noise(dataset: xr.Dataset) -> list[str]:
    repeated = dataset["repeated_frequency"]
    pairs = ", ".join(
        f"{1e3 * float(n):.3g} mm → {float(e):.1e} ({float(p):.1e})"
        for n, e, p in zip(
            dataset["swept_noise"].values, dataset["swept_error"].values,
            dataset["swept_predicted"].values, strict=True,
        )
    )  # fmt: skip
    predicted = float(dataset["repeated_predicted"])
    return [
        f"noise: {repeated.sizes['repeat']} records scatter the first frequency by "
        f"{float(repeated.std(ddof=1)):.1e} Hz, predicted {predicted:.1e} Hz",
        f"  marker noise → rms error of frequency 1 in Hz (predicted): {pairs}",
    ]


def _response(dataset: xr.Dataset) -> list[str]:
    if "deflection" not in dataset:
        return []
    moved = dataset["deflection"]
    size = float(abs(moved).max())

    def apart(first: str, second: str) -> float:
        return float(abs(moved.sel(run=first) - moved.sel(run=second)).max()) / size

    whole = apart("Lagrange", "Hamilton")
    half = apart("Lagrange, half the step", "Hamilton, half the step")
    return [
        f"response: deflection of the middle up to {1e6 * size:.1f} µm; relative to that",
        f"  Lagrange − Hamilton {whole:.1e}, with half the step {half:.1e} (order "
        f"{np.log2(whole / half):.2f}); from Hamilton of order 4: Lagrange "
        f"{apart('Lagrange', 'Hamilton, order 4'):.1e}, Hamilton "
        f"{apart('Hamilton', 'Hamilton, order 4'):.1e}",
        f"  fitted against true motion {apart('Lagrange', 'Lagrange, true motion'):.1e}; energy "
        f"balance: Lagrange {float(dataset['energy_balance'].sel(run='Lagrange')):.0e}, Hamilton "
        f"{float(dataset['energy_balance'].sel(run='Hamilton')):.0e}, order 4 "
        f"{float(dataset['energy_balance'].sel(run='Hamilton, order 4')):.0e}",
    ]


# The motions beside Table 2, the fit, the frequencies, the effect of the noise, the response.
report = report_of(_motions, _fit, _frequencies, _noise, _response)


def main(
    *,
    noise: float = 1e-4,
    camera_rate: float = 500.0,
    knots_per_turn: float = 14.0,
    instants: int = 37,
    modes: int = 2,
    elements: int = 10,
    repeats: int = 20,
    response_turn: float = 0.25,
    step: float = 4e-4,
    damping_ratio: float = 0.01,
    seed: int = 1,
    out: OutputFolder = NOWHERE,
    progress: bool = False,
) -> xr.Dataset:
    """A bar whose rigid motion is fitted to marker records, its frequencies and response.

    Parameters
    ----------
    noise : float
        Standard deviation of a marker's coordinate, m.
    camera_rate : float
        Pictures a second.
    knots_per_turn : float
        Knots of the fitted splines in one turn.
    instants, modes : int
        Instants of one turn and frequencies at each.
    elements : int
        Beam elements of the bar.
    repeats : int
        Records with new noise, for the scatter of a frequency.
    response_turn : float
        Part of a turn integrated from rest under the inertia loads, at the fastest speed; 0 for
        none.
    step : float
        Time step of the integration, s.
    damping_ratio : float
        Damping ratio of the first mode in the integration.
    seed : int
        Of the random noise.
    out : OutputFolder, optional
        Folder for data and figures; nothing is written without it.
    progress : bool
        Accepted as by every study; this one shows none.

    Returns
    -------
    Dataset
        Kinematics and frequencies, true and fitted, with standard deviations.

    Raises
    ------
    MotionError
        The record is too coarse for the fit.
    InputError
        Noise that is not positive, or too few instants, modes or records.
    """
    if not noise > 0.0 or instants < 3 or modes < 1 or repeats < 2:
        raise InputError("noise: positive; instants: at least 3; modes: 1 or more; repeats: 2")
    smoothing = 1.0 / knots_per_turn
    motions = speeds_of_table_2()
    settings = camera_rate, noise, smoothing
    fits = [data.fitted(known, *settings, seed + k) for k, known in enumerate(motions)]
    fastest, fit = motions[-1], fits[-1]
    parts = [
        data.kinematics(motions, fits, instants, camera_rate, smoothing),
        data.frequencies(motions, fits, instants, modes, elements),
        data.scatter(fastest, *settings, repeats, elements, seed),
    ]
    if response_turn > 0.0:
        parts.append(data.responses(fastest, fit, response_turn, step, elements, damping_ratio))
    dataset = merged(
        parts,
        data.VARIABLES,
        title="bar with a measured motion of Vlase, Nicolescu & Marin (2020), example b",
        noise=noise,
        camera_rate=camera_rate,
        knots_per_turn=knots_per_turn,
        step=step,
        seed=seed,
        markers=str(MARKERS.tolist()),
    )
    out.write_dataset("measured-motion.nc", dataset)
    out.explore(lambda: along_fit(fit, fastest.period, instants, modes, elements))
    out.draw(*figures.drawings(dataset))
    out.draw(figures.along_motion(fit, fastest.period, elements))
    return dataset


def along_fit(
    fit: FittedMotion, period: float, instants: int, modes: int, elements: int
) -> modal.ExplorerView:
    """The bar's modes along one turn of its fitted motion, to explore."""
    model = assembly.moving(data.bar(elements), fit)
    times = np.linspace(0.0, period, instants)
    tracks = modal.track(model, times=times, k=modes, progress=False)
    return modal.explorer_view(tracks, model, title="one turn of the fitted motion")
