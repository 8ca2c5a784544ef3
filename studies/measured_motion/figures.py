"""Figures of the measured-motion study."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

import modal
from assembly.motion.markers import FittedMotion
from modal.data.units import PREFIXES
from modal.plot.colours import colour
from modal.plot.labels import axis_label
from studies.figures import curves
from studies.figures.animation import Animation, moving_frames
from studies.figures.drawing import Drawing
from studies.figures.motion import Frame
from studies.measured_motion.bar import bar

WORDS = {
    "omega_z": "ω",
    "epsilon_z": "ε",
    "a_x": "a_O along the bar",
    "a_y": "a_O across the bar",
}


def drawings(dataset: xr.Dataset) -> Iterator[Drawing]:
    """The fitted motion, the frequencies along it, the effect of the noise, the response."""
    count = dataset.sizes["mode"]
    yield Drawing(
        "rigid-motion.png",
        "Angular velocity, angular acceleration and acceleration of the frame's origin from "
        "the markers, and their errors beside two predicted standard deviations.",
        partial(_kinematics, dataset.isel(regime=-1)),
        4,
        2,
        width=10.0,
        height=8.0,
        sharex=True,
    )
    yield Drawing(
        "frequencies.png",
        "The bar's frequencies along the motion at the five speeds of Table 2. Those of the "
        "fitted motion (dotted, with two standard deviations) lie on those of the true one.",
        partial(_frequencies, dataset),
        columns=count,
        width=5.0 * count,
        height=3.8,
    )
    yield Drawing(
        "noise.png",
        "Effect of the marker noise on the first frequency, at the fastest speed.",
        partial(_noise, dataset),
        columns=2,
        width=9.4,
        height=3.6,
    )
    if "deflection" in dataset:
        yield Drawing(
            "response.png",
            "Deflection of the middle of the bar at the fastest speed, and what separates the two "
            "formalisms and the two motions.",
            partial(_response, dataset["deflection"]),
            rows=2,
            width=8.0,
            height=5.6,
            sharex=True,
        )


def animation(fit: FittedMotion, period: float, elements: int) -> Animation:
    """The bar along its fitted motion, in its first mode."""

    def scene() -> tuple[str, list[Frame]]:
        body = bar(elements)
        mode = modal.solve(body.freeze(), k=1)
        frames = moving_frames(body, fit.frame, mode.right[:, 0], period)
        return "the bar along its fitted motion, first mode", frames

    return Animation("measured-motion.gif", scene)


def _kinematics(fastest: xr.Dataset, axes: list[Axes]) -> None:
    turn = fastest["turn"]
    for i, (name, words) in enumerate(WORDS.items()):
        left, right = axes[2 * i : 2 * i + 2]
        true, found = fastest[f"{name}_true"], fastest[f"{name}_fitted"]
        left.plot(turn, true, color="black", lw=2.4, label="true")
        left.plot(turn, found, "--", color=colour(4), label="fitted to markers")
        left.set_ylabel(axis_label(true, words))
        error = found - true
        band = 2.0 * fastest[f"{name}_deviation"]
        right.fill_between(
            turn, -band, band, color=colour(5), alpha=0.35, lw=0, label="± 2 deviations"
        )
        right.plot(turn, error, color=colour(0), label="fitted − true")
        right.plot(
            turn, fastest[f"{name}_smoothing"], ":", color=colour(1), label="by smoothing alone"
        )
    axes[0].set_title("rigid motion at the fastest speed")
    axes[1].set_title("its error")
    axes[0].legend(loc="best")
    curves.legend_right(axes[1])
    for ax in axes[-2:]:
        ax.set_xlabel(axis_label(turn))


def _frequencies(dataset: xr.Dataset, axes: list[Axes]) -> None:
    turn = dataset["turn"]
    for mode, ax in enumerate(axes):
        one = dataset.isel(mode=mode)
        for i in range(dataset.sizes["regime"]):
            row = one.isel(regime=i)
            speed = float(row["speed"]) * 30.0 / np.pi
            band = 2.0 * row["frequency_deviation"]
            middle = row["frequency_fitted"]
            ax.fill_between(turn, middle - band, middle + band, color=colour(i), alpha=0.25)
            ax.plot(turn, row["frequency_true"], color=colour(i), label=f"{speed:.0f} rpm")
            ax.plot(turn, middle, ":", color=colour(i))
        rest = float(one["frequency_at_rest"])
        ax.axhline(rest, color="0.4", lw=0.8, ls="--", label="at rest")
        ax.ticklabel_format(axis="y", useOffset=False)
        ax.set(
            xlabel=axis_label(turn),
            ylabel=axis_label(dataset["frequency_true"], "frequency"),
            title=f"mode {mode + 1} along the motion",
        )
    curves.legend_right(axes[-1], "crank speed")


def _noise(dataset: xr.Dataset, axes: list[Axes]) -> None:
    left, right = axes
    milli = PREFIXES["m"]
    noise = dataset["swept_noise"]
    left.loglog(milli * noise, dataset["swept_predicted"], "--", color=colour(1), label="predicted")
    left.loglog(milli * noise, dataset["swept_error"], "o", color=colour(0), label="found")
    left.set(
        xlabel=axis_label(noise, prefix="m"),
        ylabel=axis_label(dataset["swept_error"], "error of the first frequency, rms"),
        title="from marker noise to frequency",
    )
    left.legend(loc="best")
    repeated = dataset["repeated_frequency"]
    error = milli * (repeated.values - float(dataset["repeated_true"]))
    band = 2.0 * milli * float(dataset["repeated_predicted"])
    right.axvspan(-band, band, color=colour(5), alpha=0.35, lw=0, label="± 2 predicted deviations")
    right.hist(error, bins=9, color=colour(0), rwidth=0.92, label="repeated records")
    right.set(
        xlabel=axis_label(repeated, "error of the first frequency", prefix="m"),
        ylabel="records",
        title="the same instant, records with new noise",
    )
    right.set_axisbelow(True)
    right.set_ylim(0, 1.45 * right.get_ylim()[1])
    right.legend(loc="upper left")


def _response(moved: xr.DataArray, axes: list[Axes]) -> None:
    upper, lower = axes
    time = moved["time"]
    deflection = PREFIXES["µ"] * moved
    true = deflection.sel(run="Lagrange, true motion")
    upper.plot(time, true, color="black", lw=2.6, label="true motion, Lagrange")
    upper.plot(time, deflection.sel(run="Lagrange"), color=colour(4), label="fitted, Lagrange")
    upper.plot(
        time, deflection.sel(run="Hamilton"), "--", color=colour(0), label="fitted, Hamilton"
    )
    upper.set(
        ylabel=axis_label(moved, "deflection", "µ"),
        title="middle of the bar, from rest under its inertia",
    )
    apart = abs(deflection.sel(run="Lagrange") - deflection.sel(run="Hamilton"))
    halved = abs(
        deflection.sel(run="Lagrange, half the step")
        - deflection.sel(run="Hamilton, half the step")
    )
    noise = abs(deflection.sel(run="Lagrange") - true)
    for k, (values, label) in enumerate(
        (
            (noise, "by the noise of the markers"),
            (apart, "Lagrange − Hamilton"),
            (halved, "the same, half the step"),
        )
    ):
        lower.semilogy(time[1:], values[1:], curves.STYLES[k], color=colour(k + 1), label=label)
    lower.set(
        xlabel=axis_label(time),
        ylabel=axis_label(moved, "difference", "µ"),
        title="differences",
    )
    for ax in axes:
        curves.legend_right(ax)
