"""Figures of the measured-motion study."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

import assembly
import modal
from assembly.motion.records import FittedMotion
from modal.data.units import PREFIXES
from modal.plot.axes import axis_label
from modal.plot.colours import colour
from studies.figures import curves
from studies.figures.animation import Scene, animation, moving_frames
from studies.figures.drawing import Drawing, drawing
from studies.measured_motion.data import bar

WORDS = {
    "omega_z": "ω",
    "epsilon_z": "ε",
    "a_x": "a_O along the bar",
    "a_y": "a_O across the bar",
}


def drawings(dataset: xr.Dataset) -> Iterator[Drawing]:
    """The fitted motion, the frequencies along it, the effect of the noise, the response."""
    count = dataset.sizes["mode"]
    yield kinematics(dataset.isel(regime=-1))
    yield replace(frequencies(dataset), columns=count, width=5.0 * count)
    yield noise(dataset)
    if "deflection" in dataset:
        yield response(dataset["deflection"])


@animation("measured-motion.gif")
def along_motion(fit: FittedMotion, period: float, elements: int) -> Scene:
    """The bar along its fitted motion, in its first mode."""
    body = bar(elements)
    mode = modal.solve(body.freeze(), k=1)
    frames = moving_frames(assembly.moving(body, fit), mode.right[:, 0], period)
    return "the bar along its fitted motion, first mode", frames


@drawing("rigid-motion.png", rows=4, columns=2, width=10.0, height=8.0, sharex=True)
def kinematics(axes: list[Axes], fastest: xr.Dataset) -> None:
    """Angular velocity, angular acceleration and acceleration of the frame's origin from the
    markers, and their errors beside two predicted standard deviations.
    """
    turn = fastest["turn"]
    for i, (name, words) in enumerate(WORDS.items()):
        left, right = axes[2 * i : 2 * i + 2]
        true, estimate = fastest[f"{name}_true"], fastest[f"{name}_fitted"]
        left.plot(turn, true, color="black", lw=2.4, label="true")
        left.plot(turn, estimate, "--", color=colour(4), label="fitted to markers")
        left.set_ylabel(axis_label(true, words))
        band = 2.0 * fastest[f"{name}_deviation"]
        look = dict(color=colour(5), alpha=0.35, lw=0, label="± 2 deviations")
        right.fill_between(turn, -band, band, **look)  # type: ignore[arg-type]
        right.plot(turn, estimate - true, color=colour(0), label="fitted − true")
        smoothing = fastest[f"{name}_smoothing"]
        right.plot(turn, smoothing, ":", color=colour(1), label="by smoothing alone")
    axes[0].set_title("rigid motion at the fastest speed")
    axes[1].set_title("its error")
    axes[0].legend(loc="best")
    curves.legend_right(axes[1])
    for ax in axes:
        ax.set_xlabel(axis_label(turn))


@drawing("frequencies.png", height=3.8)
def frequencies(axes: list[Axes], dataset: xr.Dataset) -> None:
    """The bar's frequencies along the motion at the five speeds of Table 2. Those of the fitted
    motion (dotted, with two standard deviations) lie on those of the true one.
    """
    turn = dataset["turn"]
    for mode, ax in enumerate(axes):
        one = dataset.isel(mode=mode)
        for i in range(dataset.sizes["regime"]):
            row, shade = one.isel(regime=i), colour(i)
            speed = float(row["speed"]) * 30.0 / np.pi
            band, middle = 2.0 * row["frequency_deviation"], row["frequency_fitted"]
            ax.fill_between(turn, middle - band, middle + band, color=shade, alpha=0.25)
            ax.plot(turn, row["frequency_true"], color=shade, label=f"{speed:.0f} rpm")
            ax.plot(turn, middle, ":", color=shade)
        rest = float(one["frequency_at_rest"])
        ax.axhline(rest, color="0.4", lw=0.8, ls="--", label="at rest")
        ax.ticklabel_format(axis="y", useOffset=False)
        ylabel = axis_label(dataset["frequency_true"], "frequency")
        ax.set(xlabel=axis_label(turn), ylabel=ylabel, title=f"mode {mode + 1} along the motion")
    curves.legend_right(axes[-1], "crank speed")


@drawing("noise.png", columns=2, width=9.4, height=3.6)
def noise(axes: list[Axes], dataset: xr.Dataset) -> None:
    """Effect of the marker noise on the first frequency, at the fastest speed."""
    left, right = axes
    milli = PREFIXES["m"]
    level, swept = dataset["swept_noise"], dataset["swept_error"]
    left.loglog(milli * level, dataset["swept_predicted"], "--", color=colour(1), label="predicted")
    left.loglog(milli * level, swept, "o", color=colour(0), label="found")
    ylabel = axis_label(swept, "error of the first frequency, rms")
    title = "from marker noise to frequency"
    left.set(xlabel=axis_label(level, prefix="m"), ylabel=ylabel, title=title)
    left.legend(loc="best")
    repeated = dataset["repeated_frequency"]
    error = milli * (repeated.values - float(dataset["repeated_true"]))
    band = 2.0 * milli * float(dataset["repeated_predicted"])
    right.axvspan(-band, band, color=colour(5), alpha=0.35, lw=0, label="± 2 predicted deviations")
    right.hist(error, bins=9, color=colour(0), rwidth=0.92, label="repeated records")
    xlabel = axis_label(repeated, "error of the first frequency", prefix="m")
    title = "the same instant, records with new noise"
    right.set(xlabel=xlabel, ylabel="records", title=title)
    right.set_axisbelow(True)
    right.set_ylim(0, 1.45 * right.get_ylim()[1])
    right.legend(loc="upper left")


@drawing("response.png", rows=2, width=8.0, height=5.6, sharex=True)
def response(axes: list[Axes], moved: xr.DataArray) -> None:
    """Deflection of the middle of the bar at the fastest speed, and what separates the two
    formalisms and the two motions.
    """
    upper, lower = axes
    time = moved["time"]
    of = {str(name): PREFIXES["µ"] * moved.sel(run=name) for name in moved["run"].values}
    true, lagrange, hamilton = (
        of[name] for name in ("Lagrange, true motion", "Lagrange", "Hamilton")
    )
    upper.plot(time, true, color="black", lw=2.6, label="true motion, Lagrange")
    upper.plot(time, lagrange, color=colour(4), label="fitted, Lagrange")
    upper.plot(time, hamilton, "--", color=colour(0), label="fitted, Hamilton")
    title = "middle of the bar, from rest under its inertia"
    upper.set(ylabel=axis_label(moved, "deflection", "µ"), title=title)
    halves = of["Lagrange, half the step"] - of["Hamilton, half the step"]
    differences = {
        "by the noise of the markers": lagrange - true,
        "Lagrange − Hamilton": lagrange - hamilton,
        "the same, half the step": halves,
    }
    for k, (label, values) in enumerate(differences.items()):
        style = curves.STYLES[k]
        lower.semilogy(time[1:], abs(values[1:]), style, color=colour(k + 1), label=label)
    ylabel = axis_label(moved, "difference", "µ")
    lower.set(xlabel=axis_label(time), ylabel=ylabel, title="differences")
    for ax in axes:
        curves.legend_right(ax)
