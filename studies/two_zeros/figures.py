"""Figures of the two-zeros study."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from modal.plot.colours import colour
from modal.plot.labels import axis_label
from studies.figures import curves
from studies.figures.animation import Animation, mechanism_frames
from studies.figures.drawing import Drawing
from studies.figures.motion import Frame
from studies.two_zeros.machines import slider_crank

STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), "-")
TURN = range(0, 361, 60)


def drawings(dataset: xr.Dataset) -> Iterator[Drawing]:
    """Quotients, zeros, the frozen interval, and the pair over a turn."""
    yield Drawing(
        "rayleigh.png",
        "P1: error of the frequency from the Rayleigh quotient as printed (with the real part "
        "of the shape, and with the complex shape) and with the term −ωγ it leaves out.",
        partial(_quotients, dataset),
        columns=2,
        width=9.0,
        height=3.6,
    )
    yield Drawing(
        "zeros.png",
        "P2: the smallest eigenvalues of (M, C, K), literal equations, from a dense solver. "
        "Round-off turns Jordan blocks of zeros into values of the size of its square root.",
        partial(_zeros, dataset.sel(equations="literal")),
        width=7.6,
    )
    yield Drawing(
        "frozen-interval.png",
        "The interval in which a mode of the driven slider-crank changes by 5 %; zero where "
        "the motion mixes it with another mode by more than that.",
        partial(_intervals, dataset),
        width=8.4,
    )
    yield Drawing(
        "pair.png",
        "What K(ε), K(ω²) and K_G do to the two zeros of the free-running slider-crank. Black: "
        "the rigid mechanism linearised in its crank angle. Freezing in other coordinates "
        "shifts such slow eigenvalues, so the pair is not to be read as stability.",
        partial(_pair, dataset),
        rows=2,
        width=8.4,
        height=6.4,
        sharex=True,
    )


def animation(speed_rpm: float) -> Animation:
    """The first elastic mode of the slider-crank that no drive holds."""

    def scene() -> tuple[str, list[Frame]]:
        mechanism = slider_crank(8, speed_rpm)
        assert mechanism.period is not None
        frames = mechanism_frames(mechanism, mechanism.period, 0)
        return "first elastic mode of the free-running slider-crank", frames

    return Animation("slider-crank.gif", scene)


def _intervals(dataset: xr.Dataset, axes: list[Axes]) -> None:
    (ax,) = axes
    angle = dataset["interval_angle"].values
    for i, mode in enumerate(dataset["interval_mode"].values):
        one = dataset.sel(interval_mode=mode)
        # Beyond a turn the first-order estimate says no more than "long".
        interval = one["interval"].clip(max=1.0)
        ax.plot(angle, interval, color=colour(i), label=f"mode {mode}: frozen interval")
        ax.plot(angle, one["vibration_period"], ":", color=colour(i), label="period of vibration")
    ax.set_yscale("symlog", linthresh=1e-3)
    ax.set(
        xlabel=axis_label(dataset["interval_angle"]),
        ylabel="turns of the crank",
        title="how long an instant's modes stand for the motion (5 %)",
        xticks=TURN,
        ylim=(0.0, 1.1),
    )
    curves.legend_right(ax)


def _quotients(dataset: xr.Dataset, axes: list[Axes]) -> None:
    for i, ax in enumerate(axes):
        _quotients_of(dataset.isel(example=i), ax)
    curves.legend_right(axes[1], "quotient")


def _quotients_of(one: xr.Dataset, ax: Axes) -> None:
    modes = one["mode"].values + 1
    error = np.abs(one["rayleigh_error"].values)
    width = 0.26
    for q, name in enumerate(one["quotient"].values):
        height = np.maximum(error[:, q], 1e-16)
        ax.bar(modes + (q - 1) * width, height, width, color=colour(q), label=str(name), zorder=2)
    ax.set_yscale("log")
    ax.set(
        xlabel="mode",
        ylabel=axis_label(one["rayleigh_error"], "relative error of the frequency"),
        title=str(one["example"].values),
        xticks=modes,
        ylim=(1e-17, 10.0),
    )


def _zeros(literal: xr.Dataset, axes: list[Axes]) -> None:
    (ax,) = axes
    for i in range(literal.sizes["system"]):
        one = literal.isel(system=i)
        zeros = int(one["zeros_formula"])
        size = np.maximum(one["smallest"].values, 1e-12)
        rank = one["rank"].values
        label = f"{one['system'].values}: m = {int(one['mobility'])}, {zeros} zeros"
        ax.plot(rank, size, "-", color=colour(i), lw=0.8)
        ax.plot(rank[:zeros], size[:zeros], "o", color=colour(i), mfc="white", ms=7)
        ax.plot(rank[zeros:], size[zeros:], "o", color=colour(i), ms=7, label=label)
    ax.set_yscale("log")
    ax.set(
        xlabel="number, by size",
        ylabel=axis_label(literal["smallest"], "|λ|"),
        title="smallest eigenvalues (open: the zeros of the formula)",
        xticks=literal["rank"].values,
    )
    curves.legend_right(ax)


def _pair(dataset: xr.Dataset, axes: list[Axes]) -> None:
    upper, lower = axes
    _part_of_pair(dataset, upper, np.real)
    _part_of_pair(dataset, lower, np.imag)
    upper.set(
        ylabel="growth rate, Re λ (1/s)",
        title="the pair over one turn of the slider-crank, terms added to C, K",
    )
    lower.set(ylabel=axis_label(dataset["pair"], "Im λ"), xlabel=axis_label(dataset["angle"]))
    curves.legend_right(upper)


def _part_of_pair(dataset: xr.Dataset, ax: Axes, part: Callable[[Any], Any]) -> None:
    angle = dataset["angle"].values
    for i, name in enumerate(dataset["variant"].values):
        values = part(dataset["pair"].isel(variant=i).values)
        for z in range(2):
            ax.plot(
                angle,
                values[:, z],
                ls=STYLES[i],
                color=colour(i if i < 5 else 7),
                lw=1.3,
                label=str(name) if z == 0 else None,
            )
    rigid = part(dataset["pair_crank_angle"].values)
    for z in range(2):
        label = "rigid, in the crank angle" if z == 0 else None
        ax.plot(angle, rigid[:, z], ".", color="black", ms=3.5, label=label)
    ax.set_xticks(TURN)
