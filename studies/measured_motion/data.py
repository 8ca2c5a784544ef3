"""The measured-motion study's data: fits, kinematics, frequencies, and how noise comes through."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from assembly import Kinematics
from assembly.motion.markers import FittedMotion, Uncertainty, fit_markers
from studies.measured_motion.bar import bar, frequency, frequency_deviation
from studies.measured_motion.record import MARKERS, TABLE_2, KnownMotion, extremes, record

Array = NDArray[np.float64]

NOISES = (0.1, 1.0, 10.0)  # times the noise of the study
QUANTITIES = ("omega_z", "epsilon_z", "a_x", "a_y")
SWEPT = 13  # instants of the sweep over noises


def fitted(
    known: KnownMotion, rate: float, noise: float, smoothing: float, seed: int
) -> FittedMotion:
    """The motion fitted to a record of it; smoothing: time between knots, as a share of a turn."""
    times, markers = record(known, rate, noise, seed)
    return fit_markers(times, markers, MARKERS, smoothing=smoothing * known.period)


def kinematics(
    motions: list[KnownMotion],
    fits: list[FittedMotion],
    instants: int,
    rate: float,
    smoothing: float,
) -> xr.Dataset:
    """ω_z, ε_z, a_x, a_y: true, fitted, standard deviation, and what smoothing alone takes away."""
    size = (len(motions), instants, 4)
    true, estimated, spread, smoothed = (np.empty(size) for _ in range(4))
    for i, (known, fit) in enumerate(zip(motions, fits, strict=True)):
        noiseless = fitted(known, rate, 0.0, smoothing, 0)
        for k, t in enumerate(np.linspace(0.0, known.period, instants)):
            true[i, k], estimated[i, k] = in_plane(known.at(t)), in_plane(fit.at(t))
            smoothed[i, k] = in_plane(noiseless.at(t))
            spread[i, k] = in_plane(fit.uncertainty(t))
    columns = {"true": true, "fitted": estimated, "deviation": spread, "smoothing": smoothed - true}
    table = ("regime", "marker", "extreme")
    rate_extremes = np.array([extremes(known) for known in motions])
    return xr.Dataset(
        {
            **{
                f"{quantity}_{key}": (("regime", "turn"), values[..., n])
                for n, quantity in enumerate(QUANTITIES)
                for key, values in columns.items()
            },
            "noise_found": ("regime", np.array([fit.noise for fit in fits])),
            "marker_speed": (table, rate_extremes[..., :2]),
            "marker_acceleration": (table, rate_extremes[..., 2:]),
            "marker_speed_paper": (table, TABLE_2[..., :2]),
            "marker_acceleration_paper": (table, TABLE_2[..., 2:]),
            "speed": ("regime", np.array([known.speed for known in motions])),
        },
        coords={
            "regime": np.arange(1, len(motions) + 1),
            "turn": np.linspace(0.0, 1.0, instants),
            "marker": [1, 2],
            "extreme": ["min", "max"],
        },
    )


def in_plane(values: Kinematics | Uncertainty) -> Array:
    """(ω_z, ε_z, a_x, a_y) of kinematics or of their deviations."""
    return np.array([values.omega[2], values.epsilon[2], *values.acceleration[:2]])


def frequencies(
    motions: list[KnownMotion], fits: list[FittedMotion], instants: int, modes: int, elements: int
) -> xr.Dataset:
    """Frequencies along the true and the fitted motion, and their standard deviation."""
    body = bar(elements)
    size = (len(motions), instants, modes)
    true, estimated, spread = (np.empty(size) for _ in range(3))
    for i, (known, fit) in enumerate(zip(motions, fits, strict=True)):
        for k, t in enumerate(np.linspace(0.0, known.period, instants)):
            true[i, k] = frequency(body, known.at(t), modes)
            estimated[i, k] = frequency(body, fit.at(t), modes)
            spread[i, k] = frequency_deviation(body, fit, t, modes)
    dims = ("regime", "turn", "mode")
    return xr.Dataset(
        {
            "frequency_true": (dims, true),
            "frequency_fitted": (dims, estimated),
            "frequency_deviation": (dims, spread),
            "frequency_at_rest": ("mode", frequency(body, Kinematics(), modes)),
        },
        coords={"mode": np.arange(modes)},
    )


def scatter(
    known: KnownMotion,
    rate: float,
    noise: float,
    smoothing: float,
    repeats: int,
    elements: int,
    seed: int,
) -> xr.Dataset:
    """The first frequency from `repeats` records at half a turn, beside its predicted deviation;
    and its error over the turn for noise ten times smaller and ten times larger.
    """
    body, t = bar(elements), 0.5 * known.period
    estimates = np.empty(repeats)
    for r in range(repeats):
        fit = fitted(known, rate, noise, smoothing, seed + 100 + r)
        estimates[r] = frequency(body, fit.at(t), 1)[0]
    predicted = frequency_deviation(body, fit, t, 1)[0]
    turn = np.linspace(0.0, known.period, SWEPT)
    true = np.array([frequency(body, known.at(s), 1)[0] for s in turn])
    error, expected = np.empty(len(NOISES)), np.empty(len(NOISES))
    for k, factor in enumerate(NOISES):
        fit = fitted(known, rate, factor * noise, smoothing, seed + 200 + k)
        estimated = np.array([frequency(body, fit.at(s), 1)[0] for s in turn])
        spread = np.array([frequency_deviation(body, fit, s, 1)[0] for s in turn])
        error[k] = np.sqrt(np.mean((estimated - true) ** 2))
        expected[k] = np.sqrt(np.mean(spread**2))
    return xr.Dataset(
        {
            "repeated_frequency": ("repeat", estimates),
            "repeated_true": ((), frequency(body, known.at(t), 1)[0]),
            "repeated_predicted": ((), predicted),
            "swept_error": ("swept_noise", error),
            "swept_predicted": ("swept_noise", expected),
        },
        coords={"repeat": np.arange(1, repeats + 1), "swept_noise": noise * np.array(NOISES)},
    )
