"""Figures of the two-zeros study."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from modal.plot.axes import axis_label
from modal.plot.colours import colour
from studies.figures import curves
from studies.figures.animation import Scene, animation, mechanism_frames
from studies.figures.drawing import drawing
from studies.two_zeros.machines import slider_crank

STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), "-")
TURN = range(0, 361, 60)


@animation("slider-crank.gif")
def first_mode(speed_rpm: float) -> Scene:
    """The first elastic mode of the slider-crank that no drive holds."""
    title = "first elastic mode of the free-running slider-crank"
    return title, mechanism_frames(slider_crank(8, speed_rpm))


@drawing("rayleigh.png", columns=2, width=9.0, height=3.6)
def quotients(axes: list[Axes], dataset: xr.Dataset) -> None:
    """P1: error of the frequency from the Rayleigh quotient as printed (with the real part of the
    shape, and with the complex shape) and with the term −ωγ it leaves out.
    """
    width = 0.26
    for i, ax in enumerate(axes):
        one = dataset.isel(example=i)
        modes = one["mode"].values + 1
        error = np.maximum(np.abs(one["rayleigh_error"].values), 1e-16)
        for q, name in enumerate(one["quotient"].values):
            places = modes + (q - 1) * width
            ax.bar(places, error[:, q], width, color=colour(q), label=str(name), zorder=2)
        ax.set_yscale("log")
        ylabel = axis_label(one["rayleigh_error"], "relative error of the frequency")
        title = str(one["example"].values)
        ax.set(xlabel="mode", ylabel=ylabel, title=title, xticks=modes, ylim=(1e-17, 10.0))
    curves.legend_right(axes[1], "quotient")


@drawing("zeros.png", width=7.6)
def zeros(axes: list[Axes], literal: xr.Dataset) -> None:
    """P2: the smallest eigenvalues of (M, C, K), literal equations, from a dense solver. Round-off
    turns Jordan blocks of zeros into values of the size of its square root.
    """
    (ax,) = axes
    for i in range(literal.sizes["system"]):
        one, shade = literal.isel(system=i), colour(i)
        count = int(one["zeros_formula"])
        size = np.maximum(one["smallest"].values, 1e-12)
        rank = one["rank"].values
        label = f"{one['system'].values}: m = {int(one['mobility'])}, {count} zeros"
        ax.plot(rank, size, "-", color=shade, lw=0.8)
        ax.plot(rank[:count], size[:count], "o", color=shade, mfc="white", ms=7)
        ax.plot(rank[count:], size[count:], "o", color=shade, ms=7, label=label)
    ax.set_yscale("log")
    ax.set(
        xlabel="number, by size",
        ylabel=axis_label(literal["smallest"], "|λ|"),
        title="smallest eigenvalues (open: the zeros of the formula)",
        xticks=literal["rank"].values,
    )
    curves.legend_right(ax)


@drawing("frozen-interval.png", width=8.4)
def intervals(axes: list[Axes], dataset: xr.Dataset) -> None:
    """The interval in which a mode of the driven slider-crank changes by 5 %; zero where the motion
    mixes it with another mode by more than that.
    """
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


@drawing("pair.png", rows=2, width=8.4, height=6.4, sharex=True)
def pair(axes: list[Axes], dataset: xr.Dataset) -> None:
    """What K(ε), K(ω²) and K_G do to the two zeros of the free-running slider-crank. Black: the
    rigid mechanism linearised in its crank angle. Freezing in other coordinates shifts such slow
    eigenvalues, so the pair is not to be read as stability.
    """
    angle = dataset["angle"].values
    variants = [str(name) for name in dataset["variant"].values]
    for ax, part in zip(axes, (np.real, np.imag), strict=True):
        for i, name in enumerate(variants):
            look = dict(ls=STYLES[i], color=colour(i if i < 5 else 7), lw=1.3)
            values = part(dataset["pair"].isel(variant=i).values)
            ax.plot(angle, values, label=[name, None], **look)  # type: ignore[arg-type]
        rigid, words = part(dataset["pair_crank_angle"].values), "rigid, in the crank angle"
        ax.plot(angle, rigid, ".", color="black", ms=3.5, label=[words, None])
        ax.set_xticks(TURN)
    upper, lower = axes
    title = "the pair over one turn of the slider-crank, terms added to C, K"
    upper.set(ylabel="growth rate, Re λ (1/s)", title=title)
    lower.set(ylabel=axis_label(dataset["pair"], "Im λ"), xlabel=axis_label(dataset["angle"]))
    curves.legend_right(upper)
