"""Figures of the wind-pump study."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

import assembly
from modal.plot.colours import colour
from modal.plot.labels import axis_label
from studies.figures import curves
from studies.figures.animation import Animation, mechanism_frames
from studies.figures.drawing import Drawing
from studies.figures.motion import Frame
from studies.wind_pump.machine import Pump

FLOOR = 1e-9  # Hz: below, a shift is round-off
EVERY = 6  # instants from one circle to the next


def drawings(dataset: xr.Dataset) -> Iterator[Drawing]:
    """Kinematics, joint forces, eigenvalues and the share of every term."""
    count = dataset.sizes["mode"]
    yield Drawing(
        "kinematics.png",
        "Angles of lever and swing and their two derivatives.",
        partial(_kinematics, dataset),
        rows=3,
        width=7.4,
        height=6.4,
        sharex=True,
    )
    yield Drawing(
        "joint-forces.png",
        "Joint forces with their weights: lines by the reduced equations (A43), circles by the "
        "general mechanism.",
        partial(_forces, dataset),
        2,
        2,
        width=9.0,
        height=5.6,
        sharex=True,
    )
    yield Drawing(
        "eigenvalues.png",
        "The contents of the paper's Figure 6: the first eigenvalues of the lever over one "
        "turn, here as frequencies, with and without terms.",
        partial(_eigenvalues, dataset),
        rows=count,
        width=7.8,
        height=2.8 * count,
        sharex=True,
    )
    yield Drawing(
        "terms.png",
        "Shift of the frequency by each term alone, relative to M and K of the same instant. "
        "Circles: the axial force's first-order effect on a pinned beam, by hand.",
        partial(_shares, dataset),
        count,
        2,
        width=10.4,
        height=3.0 * count,
        sharex=True,
    )


def animation(pump: Pump, pumping: assembly.Mechanism) -> Animation:
    """The first mode of the lever over one turn."""

    def scene() -> tuple[str, list[Frame]]:
        a, b = 0.03, 0.018
        outlines = {
            "crank": [(0.0, 0.0), (pump.l1, 0.0)],
            "swing": [(pump.h, 0.0), (0.0, 0.0), pump.centre3],
            "slide": [(-a, -b), (a, -b), (a, b), (-a, b), (-a, -b)],
        }
        frames = mechanism_frames(pumping, 2.0 * np.pi / pump.omega, 0, outlines)
        return "wind pump: first mode of the lever BC'", frames

    return Animation("wind-pump.gif", scene)


def _kinematics(dataset: xr.Dataset, axes: list[Axes]) -> None:
    names = ("angle", "angular_velocity", "angular_acceleration")
    for ax, name in zip(axes, names, strict=True):
        curves.family(dataset[name], "time", ax, along="link", labels=["lever BC'", "swing C'D"])
        if ax is not axes[-1]:
            ax.set_xlabel("")
    axes[0].set_title("lever and swing over one turn of the crank")
    curves.legend_right(axes[0])


def _forces(dataset: xr.Dataset, axes: list[Axes]) -> None:
    time = dataset["time"]
    for i, (ax, joint) in enumerate(zip(axes, "ABCD", strict=True)):
        for j, name in enumerate((f"X_{joint}", f"Y_{joint}")):
            reduced = dataset["joint_force"].sel(force=name)
            ax.plot(time, reduced, color=colour(j), label=f"{'xy'[j]} force")
            general = dataset["joint_force_general"].sel(force=name)[::EVERY]
            ax.plot(time[::EVERY], general, "o", color=colour(j), ms=3.5, mfc="white")
        title = "joint " + (joint if joint != "C" else "C'")
        ax.set(ylabel=axis_label(dataset["joint_force"], "force"), title=title)
        if i > 1:
            ax.set_xlabel(axis_label(time))
    curves.legend_right(axes[1])


def _eigenvalues(dataset: xr.Dataset, axes: list[Axes]) -> None:
    labels = [str(name) for name in dataset["variant"].values]
    for mode, ax in enumerate(axes):
        frequency = dataset["frequency"].isel(mode=mode)
        curves.family(frequency, "time", ax, along="variant", labels=labels, styled=True)
        ax.ticklabel_format(axis="y", useOffset=False)
        ax.set_title(f"eigenvalue {mode + 1} of the lever BC' over one turn")
        if ax is not axes[-1]:
            ax.set_xlabel("")
    curves.legend_right(axes[0])


def _shares(dataset: xr.Dataset, axes: list[Axes]) -> None:
    time = dataset["time"]
    labels = [f"{name} alone" for name in dataset["term"].values]
    for mode in range(dataset.sizes["mode"]):
        whole, sizes = axes[2 * mode : 2 * mode + 2]
        one = dataset.isel(mode=mode)
        whole.plot(time, one["together"], color="black", lw=2.6, label="all together")
        stress = one["shift"].sel(term="K_G")
        whole.plot(time, stress, "--", color=colour(3), label="K_G alone")
        by_hand = one["shift_by_hand"][::EVERY]
        whole.plot(
            time[::EVERY], by_hand, "o", color=colour(1), ms=4, mfc="white", label="K_G by hand"
        )
        whole.set(
            ylabel=axis_label(one["together"], "shift"),
            title=f"eigenvalue {mode + 1}: shift of its frequency",
        )
        size = abs(one["shift"]).where(abs(one["shift"]) > FLOOR)
        size.attrs = one["shift"].attrs
        curves.family(
            size, "time", sizes, along="term", labels=labels, styled=True, words="|shift|"
        )
        sizes.set(yscale="log", title=f"eigenvalue {mode + 1}: size of each term's share")
        for ax in (whole, sizes):
            ax.set_xlabel(axis_label(time) if ax in axes[-2:] else "")
    axes[0].legend(loc="upper center")
    curves.legend_right(axes[1])
