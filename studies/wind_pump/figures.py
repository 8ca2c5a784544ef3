"""Figures of the wind-pump study."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import xarray as xr
from matplotlib.axes import Axes

import assembly
from modal.plot.axes import axis_label
from modal.plot.colours import colour
from studies.figures import curves
from studies.figures.animation import Scene, animation, mechanism_frames
from studies.figures.drawing import Drawing, drawing
from studies.wind_pump.machine import Pump

EVERY = slice(None, None, 6)  # instants with a circle


def drawings(dataset: xr.Dataset) -> Iterator[Drawing]:
    """Kinematics, joint forces, eigenvalues and the share of every term."""
    count = dataset.sizes["mode"]
    yield kinematics(dataset)
    yield forces(dataset)
    yield replace(eigenvalues(dataset), rows=count, height=2.8 * count)
    yield replace(shares(dataset), rows=count, height=3.0 * count)


@animation("wind-pump.gif")
def first_mode(pump: Pump, pumping: assembly.Mechanism) -> Scene:
    """The first mode of the lever over one turn."""
    a, b = 0.03, 0.018
    outlines = {
        "crank": [(0.0, 0.0), (pump.l1, 0.0)],
        "swing": [(pump.h, 0.0), (0.0, 0.0), pump.centre3],
        "slide": [(-a, -b), (a, -b), (a, b), (-a, b), (-a, -b)],
    }
    return "wind pump: first mode of the lever BC'", mechanism_frames(pumping, outlines)


@drawing("kinematics.png", rows=3, width=7.4, height=6.4, sharex=True)
def kinematics(axes: list[Axes], dataset: xr.Dataset) -> None:
    """Angles of lever and swing and their two derivatives."""
    names = ("angle", "angular_velocity", "angular_acceleration")
    for ax, name in zip(axes, names, strict=True):
        curves.family(dataset[name], "time", ax, along="link", labels=["lever BC'", "swing C'D"])
    axes[0].set_title("lever and swing over one turn of the crank")
    curves.legend_right(axes[0])


@drawing("joint-forces.png", rows=2, columns=2, width=9.0, height=5.6, sharex=True)
def forces(axes: list[Axes], dataset: xr.Dataset) -> None:
    """Joint forces with their weights: lines by the reduced equations (A43), circles by the general
    mechanism.
    """
    time, both = dataset["time"], (dataset["joint_force"], dataset["joint_force_general"])
    for ax, joint in zip(axes, "ABCD", strict=True):
        for j, name in enumerate((f"X_{joint}", f"Y_{joint}")):
            reduced, general = (values.sel(force=name) for values in both)
            ax.plot(time, reduced, color=colour(j), label=f"{'xy'[j]} force")
            ax.plot(time[EVERY], general[EVERY], "o", color=colour(j), ms=3.5, mfc="white")
        title = "joint " + (joint if joint != "C" else "C'")
        ylabel = axis_label(dataset["joint_force"], "force")
        ax.set(xlabel=axis_label(time), ylabel=ylabel, title=title)
    curves.legend_right(axes[1])


@drawing("eigenvalues.png", width=7.8, sharex=True)
def eigenvalues(axes: list[Axes], dataset: xr.Dataset) -> None:
    """The contents of the paper's Figure 6: the first eigenvalues of the lever over one turn, here
    as frequencies, with and without terms.
    """
    labels = [str(name) for name in dataset["variant"].values]
    for mode, ax in enumerate(axes):
        frequency = dataset["frequency"].isel(mode=mode)
        curves.family(frequency, "time", ax, along="variant", labels=labels, styled=True)
        ax.ticklabel_format(axis="y", useOffset=False)
        ax.set_title(f"eigenvalue {mode + 1} of the lever BC' over one turn")
    curves.legend_right(axes[0])


@drawing("terms.png", columns=2, width=10.4, sharex=True)
def shares(axes: list[Axes], dataset: xr.Dataset) -> None:
    """Shift of the frequency by each term alone, relative to M and K of the same instant. Circles:
    the axial force's first-order effect on a pinned beam, by hand.
    """
    time = dataset["time"]
    labels = [f"{name} alone" for name in dataset["term"].values]
    for mode in range(dataset.sizes["mode"]):
        whole, sizes = axes[2 * mode : 2 * mode + 2]
        one = dataset.isel(mode=mode)
        shift, hand = one["shift"], one["shift_by_hand"][EVERY]
        whole.plot(time, one["together"], color="black", lw=2.6, label="all together")
        whole.plot(time, shift.sel(term="K_G"), "--", color=colour(3), label="K_G alone")
        whole.plot(time[EVERY], hand, "o", color=colour(1), ms=4, mfc="white", label="K_G by hand")
        title = f"eigenvalue {mode + 1}: shift of its frequency"
        whole.set(ylabel=axis_label(one["together"], "shift"), title=title)
        size = abs(shift).where(abs(shift) > 1e-9)  # Hz: below, a shift is round-off
        size.attrs = shift.attrs
        options = dict(along="term", labels=labels, styled=True, words="|shift|")
        curves.family(size, "time", sizes, **options)  # type: ignore[arg-type]
        sizes.set(yscale="log", title=f"eigenvalue {mode + 1}: size of each term's share")
        whole.set_xlabel(axis_label(time))
    axes[0].legend(loc="upper center")
    curves.legend_right(axes[1])
