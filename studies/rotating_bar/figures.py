"""Figures of the rotating-bar study: the contents of figures 2–5 and 9–14 of Vlase, Nicolescu &
Marin (2020).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

import modal
from modal.data.units import units_of
from modal.plot.axes import axis_label
from modal.plot.colours import colour
from studies.figures import curves
from studies.figures.animation import Scene, animation, turning_frames
from studies.figures.drawing import Drawing, drawing
from studies.rotating_bar.bar import PAPER, frozen, model

WORDS = {"excitation": "frequency of the force", "mass": "mass of the bar"}


def drawings(dataset: xr.Dataset) -> Iterator[Drawing]:
    """Every figure that the dataset has data for."""
    yield _nodes(dataset.isel(damping=0), "without", 2)
    yield _nodes(dataset.isel(damping=1), "with", 3)
    yield all_nodes(dataset.isel(damping=1))
    if "seconds" in dataset:
        yield timing(dataset)
    yield sections(dataset["tip_by_section"])
    for number, name in ((13, "excitation"), (14, "mass")):
        yield _varied(dataset[f"tip_by_{name}"], name, number)


@animation("rotating-bar.gif")
def first_mode(elements: int) -> Scene:
    """The first axial mode of the turning bar."""
    body = model(elements)
    mode = modal.solve(frozen(body), k=1)
    title = f"first axial mode, {mode.frequency[0]:.1f} Hz"
    return title, turning_frames(body, mode.right[:, 0])


def _nodes(run: xr.Dataset, word: str, number: int) -> Drawing:
    nodes = [n for n in PAPER.nodes if n in run["node"].values] or [int(run["node"][-1])]
    labels = [f"node {n}" for n in nodes]
    moved = run["displacement"].sel(node=nodes)
    last = moved.isel(node=-1)

    def draw(axes: list[Axes]) -> None:
        upper, lower = axes
        lagrange = moved.sel(scheme="lagrange")
        curves.family(lagrange, "time", upper, along="node", labels=labels, prefix="µ")
        title = f"axial displacement {word} damping (contents of figure {number})"
        upper.set(title=title, xlabel="")
        _differences(last, run["displacement_exact"].sel(node=nodes[-1]), lower)
        lower.set_title(f"difference from the closed form, node {nodes[-1]}")
        for ax in axes:
            curves.legend_right(ax)

    caption = (
        f"Axial displacement of nodes {', '.join(map(str, nodes))} {word} damping, and how far "
        "each integration is from the closed form."
    )
    name = f"figure-{number:02d}-nodes-{word}-damping.png"
    return Drawing(name, caption, draw, rows=2, width=7.6, height=5.6)


def _differences(moved: xr.DataArray, exact: xr.DataArray, ax: Axes) -> None:
    """Lagrange and Hamilton of order 2 lie on each other; order 6 shows who is right."""
    error = abs(moved - exact)
    smooth = error.rolling(time=max(1, error.sizes["time"] // 60), center=True, min_periods=1).max()
    smooth.attrs = moved.attrs
    labels = ["Lagrange, order 2", "Hamilton, order 2", "Hamilton, order 6"]
    lines = curves.family(
        smooth, "time", ax, along="scheme", labels=labels, prefix="µ",
        words="largest difference", styled=True, first=4,
    )  # fmt: skip
    lines[0].set(linewidth=3.4, alpha=0.6)
    ax.set_yscale("log")


@drawing("figure-04-all-nodes.png", width=7.6, height=4.2)
def all_nodes(axes: list[Axes], run: xr.Dataset) -> None:
    """Displacements of all nodes over time with damping; node 1 is on the axis and rests."""
    moved = run["displacement"].sel(scheme="hamilton").isel(node=slice(1, None))
    curves.graded(moved, "time", axes[0], along="node", prefix="µ")
    axes[0].set_title("displacements of all nodes, with damping (contents of figure 4)")


@drawing("figure-05-timing.png", columns=3, width=10.4, height=3.4)
def timing(axes: list[Axes], dataset: xr.Dataset) -> None:
    """Computing times of the two formalisms: the paper's (other machine, other duration) and
    measured here in alternation.
    """
    panels = {
        "paper's Table 3": dataset["seconds_paper"],
        "here, explicit Runge–Kutta 5(4)": dataset["seconds"].sel(way="explicit"),
        "here, implicit, order 2": dataset["seconds"].sel(way="implicit"),
    }
    for ax, (title, seconds) in zip(axes, panels.items(), strict=True):
        for i, (name, style) in enumerate({"lagrange": "o-", "hamilton": "s--"}.items()):
            times = seconds.sel(formalism=name)
            look = dict(color=colour(i), ms=4, label=name.capitalize())
            ax.plot(times["elements"], times, style, **look)  # type: ignore[arg-type]
        ylabel = axis_label(seconds, "computing time")
        ax.set(xlabel=axis_label(seconds["elements"]), ylabel=ylabel, ylim=(0, None), title=title)
    axes[0].legend(loc="upper left")


@drawing("figure-09-12-sections.png", rows=2, columns=2, width=9.0, height=6.0, sharex=True)
def sections(axes: list[Axes], tip: xr.DataArray) -> None:
    """Displacement of the tip for four sections at three speeds of rotation, over one period of the
    force (mass 1 kg, no damping). The centrifugal load acts from the first instant, so the bar
    swings about its stretched length.
    """
    labels = [f"{w:g} {units_of(tip['speed'])}" for w in tip["speed"].values]
    period = 2.0 * np.pi / PAPER.excitation
    for i, ax in enumerate(axes):
        _tips(tip.isel(section=i), ax, along="speed", labels=labels, prefix="m")
        ax.set_xlim(0.0, min(period, float(tip["instant"][-1])))
        ax.set_title(f"A = {1e6 * float(tip['section'][i]):g} mm² (figure {9 + i})")
    curves.legend_right(axes[1], "rotation")


def _varied(tip: xr.DataArray, name: str, number: int) -> Drawing:
    if name == "excitation":
        labels = [f"{v / (2.0 * np.pi):.1f} Hz = {v / 2.0:g}/π Hz" for v in tip[name].values]
    else:
        labels = [f"{v:g} {units_of(tip[name])}" for v in tip[name].values]

    def draw(axes: list[Axes]) -> None:
        _tips(tip, axes[0], along=name, labels=labels, prefix="µ", styled=True)
        axes[0].set_title(f"{WORDS[name]} varied (contents of figure {number})")
        curves.legend_right(axes[0])

    caption = f"Displacement of the tip: {WORDS[name]} varied."
    return Drawing(f"figure-{number}-{name}.png", caption, draw, width=7.6, height=3.6)


def _tips(tip: xr.DataArray, ax: Axes, **options: Any) -> None:
    curves.family(tip, "instant", ax, words="displacement of the tip", lw=1.0, **options)
