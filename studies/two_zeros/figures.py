"""Figures of the two-zeros study."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from studies.figures.style import colour, figure
from studies.reporting.output import OutputFolder

STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1)), "-")


def draw(dataset: xr.Dataset, out: OutputFolder) -> None:
    """Quotients, zeros and the pair over a turn."""
    with figure(1, 2, width=9.0, height=3.6) as (drawn, axes):
        for i, ax in enumerate(axes):
            _quotients(dataset.isel(example=i), ax)
        axes[1].legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), title="quotient")
        out.write_figure(
            "rayleigh.png",
            drawn,
            "P1: error of the frequency from the Rayleigh quotient as printed (with the real part "
            "of the shape, and with the complex shape) and with the term −ωγ it leaves out.",
        )
    with figure(width=7.6, height=4.0) as (drawn, (ax,)):
        _zeros(dataset, ax)
        out.write_figure(
            "zeros.png",
            drawn,
            "P2: the smallest eigenvalues of (M, C, K), literal equations, from a dense solver. "
            "Round-off turns Jordan blocks of zeros into values of the size of its square root.",
        )
    with figure(width=8.4, height=4.0) as (drawn, (ax,)):
        _intervals(dataset, ax)
        out.write_figure(
            "frozen-interval.png",
            drawn,
            "The interval in which a mode of the driven slider-crank changes by 5 %; zero where "
            "the motion mixes it with another mode by more than that.",
        )
    with figure(2, 1, width=8.4, height=6.4, sharex=True) as (drawn, (upper, lower)):
        _pair(dataset, upper, np.real, "growth rate, Re λ (1/s)")
        _pair(dataset, lower, np.imag, "Im λ (rad/s)")
        upper.set(
            xlabel="", title="the pair over one turn of the slider-crank, terms added to C, K"
        )
        upper.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))
        out.write_figure(
            "pair.png",
            drawn,
            "What K(ε), K(ω²) and K_G do to the two zeros of the free-running slider-crank. Black: "
            "the rigid mechanism linearised in its crank angle. Freezing in other coordinates "
            "shifts such slow eigenvalues, so the pair is not to be read as stability.",
        )


def _intervals(dataset: xr.Dataset, ax: Axes) -> None:
    angle = dataset["interval_angle"].values
    for i, mode in enumerate(dataset["interval_mode"].values):
        one = dataset.sel(interval_mode=mode)
        # Beyond a turn the first-order estimate says no more than "long".
        held = one["interval"].clip(max=1.0)
        ax.plot(angle, held, color=colour(i), label=f"mode {mode}: frozen interval")
        ax.plot(angle, one["vibration_period"], ":", color=colour(i), label="period of vibration")
    ax.set_yscale("symlog", linthresh=1e-3)
    ax.set(
        xlabel="crank angle (degrees)",
        ylabel="turns of the crank",
        title="how long an instant's modes stand for the motion (5 %)",
        xticks=range(0, 361, 60),
        ylim=(0.0, 1.1),
    )
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))


def _quotients(one: xr.Dataset, ax: Axes) -> None:
    modes = one["mode"].values
    error = np.abs(one["rayleigh_error"].values)
    width = 0.26
    for q, name in enumerate(one["quotient"].values):
        height = np.maximum(error[:, q], 1e-16)
        ax.bar(modes + (q - 1) * width, height, width, color=colour(q), label=str(name), zorder=2)
    ax.set_yscale("log")
    ax.set(
        xlabel="mode",
        ylabel="relative error of the frequency",
        title=str(one["example"].values),
        xticks=modes,
        ylim=(1e-17, 10.0),
    )


def _zeros(dataset: xr.Dataset, ax: Axes) -> None:
    literal = dataset.sel(equations="literal")
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
        ylabel="|λ| (rad/s)",
        title="smallest eigenvalues (open: the zeros of the formula)",
        xticks=literal["rank"].values,
    )
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))


def _pair(dataset: xr.Dataset, ax: Axes, part: Callable[[Any], Any], ylabel: str) -> None:
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
    ax.set(xlabel="crank angle (degrees)", ylabel=ylabel, xticks=range(0, 361, 60))
