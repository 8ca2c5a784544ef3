"""Figures of the rotating-bar study: the contents of figures 2–5 and 9–14 of Vlase, Nicolescu &
Marin (2020).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

import modal
from modal.data.units import units_of
from modal.plot.colours import colour
from modal.plot.labels import axis_label
from studies.figures import curves
from studies.figures.animation import Animation, turning_frames
from studies.figures.drawing import Drawing
from studies.figures.motion import Frame
from studies.rotating_bar.bar import frozen, model

NODES = (3, 7, 10)  # of 11, the paper's choice
FORCE_PERIOD = np.pi / 100.0  # s
WORDS = {"excitation": "frequency of the force", "mass": "mass of the bar"}


def drawings(dataset: xr.Dataset) -> Iterator[Drawing]:
    """Every figure that the dataset has data for."""
    yield _nodes(dataset.isel(damping=0), "without", 2)
    yield _nodes(dataset.isel(damping=1), "with", 3)
    yield Drawing(
        "figure-04-all-nodes.png",
        "Displacements of all nodes over time with damping; node 1 is on the axis and rests.",
        partial(_all_nodes, dataset.isel(damping=1)),
        width=7.6,
        height=4.2,
    )
    if "seconds" in dataset:
        yield Drawing(
            "figure-05-timing.png",
            "Computing times of the two formalisms: the paper's (other machine, other duration) "
            "and measured here in alternation.",
            partial(_timing, dataset),
            columns=3,
            width=10.4,
            height=3.4,
        )
    yield Drawing(
        "figure-09-12-sections.png",
        "Displacement of the tip for four sections at three speeds of rotation, over one "
        "period of the force (mass 1 kg, no damping). The centrifugal load acts from the first "
        "instant, so the bar swings about its stretched length.",
        partial(_sections, dataset["tip_by_section"]),
        2,
        2,
        width=9.0,
        height=6.0,
        sharex=True,
    )
    for number, name in ((13, "excitation"), (14, "mass")):
        yield Drawing(
            f"figure-{number}-{name}.png",
            f"Displacement of the tip: {WORDS[name]} varied.",
            partial(_varied, dataset[f"tip_by_{name}"], name, number),
            width=7.6,
            height=3.6,
        )


def animation(elements: int) -> Animation:
    """The first axial mode of the turning bar."""

    def scene() -> tuple[str, list[Frame]]:
        body = model(elements)
        mode = modal.solve(frozen(body), k=1)
        title = f"first axial mode, {mode.frequency[0]:.1f} Hz"
        return title, turning_frames(body, mode.right[:, 0])

    return Animation("rotating-bar.gif", scene)


def _nodes(run: xr.Dataset, word: str, number: int) -> Drawing:
    nodes = [n for n in NODES if n in run["node"].values] or [int(run["node"][-1])]
    moved = run["displacement"].sel(node=nodes)
    exact = run["displacement_exact"].sel(node=nodes)

    def draw(axes: list[Axes]) -> None:
        upper, lower = axes
        labels = [f"node {n}" for n in nodes]
        lagrange = moved.sel(scheme="lagrange")
        curves.family(lagrange, "time", upper, along="node", labels=labels, prefix="µ")
        upper.set(
            title=f"axial displacement {word} damping (contents of figure {number})", xlabel=""
        )
        _differences(moved.isel(node=-1), exact.isel(node=-1), lower)
        lower.set_title(f"difference from the closed form, node {nodes[-1]}")
        for ax in axes:
            curves.legend_right(ax)

    return Drawing(
        f"figure-{number:02d}-nodes-{word}-damping.png",
        f"Axial displacement of nodes {', '.join(map(str, nodes))} {word} damping, and how far "
        "each integration is from the closed form.",
        draw,
        rows=2,
        width=7.6,
        height=5.6,
    )


def _differences(moved: xr.DataArray, exact: xr.DataArray, ax: Axes) -> None:
    """Lagrange and Hamilton of order 2 lie on each other; order 6 shows who is right."""
    error = abs(moved - exact)
    smooth = error.rolling(time=max(1, error.sizes["time"] // 60), center=True, min_periods=1).max()
    smooth.attrs = moved.attrs
    labels = ["Lagrange, order 2", "Hamilton, order 2", "Hamilton, order 6"]
    lines = curves.family(
        smooth,
        "time",
        ax,
        along="scheme",
        labels=labels,
        prefix="µ",
        words="largest difference",
        styled=True,
        first=4,
    )
    lines[0].set_linewidth(3.4)
    lines[0].set_alpha(0.6)
    ax.set_yscale("log")


def _all_nodes(run: xr.Dataset, axes: list[Axes]) -> None:
    (ax,) = axes
    moved = run["displacement"].sel(scheme="hamilton").isel(node=slice(1, None))
    curves.graded(moved, "time", ax, along="node", prefix="µ")
    ax.set_title("displacements of all nodes, with damping (contents of figure 4)")


def _timing(dataset: xr.Dataset, axes: list[Axes]) -> None:
    panels = [
        (dataset["seconds_paper"], "paper's Table 3"),
        (dataset["seconds"].sel(way="explicit"), "here, explicit Runge–Kutta 5(4)"),
        (dataset["seconds"].sel(way="implicit"), "here, implicit, order 2"),
    ]
    for ax, (seconds, title) in zip(axes, panels, strict=True):
        for i, name in enumerate(("lagrange", "hamilton")):
            times = seconds.sel(formalism=name)
            ax.plot(
                times["elements"],
                times,
                ("o-", "s--")[i],
                color=colour(i),
                ms=4,
                label=name.capitalize(),
            )
        ylabel = axis_label(seconds, "computing time")
        ax.set(xlabel=axis_label(seconds["elements"]), ylabel=ylabel, ylim=(0, None), title=title)
    axes[0].legend(loc="upper left")


def _sections(tip: xr.DataArray, axes: list[Axes]) -> None:
    labels = [f"{w:g} {units_of(tip['speed'])}" for w in tip["speed"].values]
    for i, ax in enumerate(axes):
        curves.family(
            tip.isel(section=i),
            "instant",
            ax,
            along="speed",
            labels=labels,
            prefix="m",
            words="displacement of the tip",
            lw=1.0,
        )
        ax.set_xlim(0.0, min(FORCE_PERIOD, float(tip["instant"][-1])))
        ax.set_title(f"A = {1e6 * float(tip['section'][i]):g} mm² (figure {9 + i})")
        if i < 2:
            ax.set_xlabel("")
    curves.legend_right(axes[1], "rotation")


def _varied(tip: xr.DataArray, name: str, number: int, axes: list[Axes]) -> None:
    (ax,) = axes
    values = tip[name].values
    if name == "excitation":
        labels = [f"{v / (2.0 * np.pi):.1f} Hz = {v / 2.0:g}/π Hz" for v in values]
    else:
        labels = [f"{v:g} {units_of(tip[name])}" for v in values]
    curves.family(
        tip,
        "instant",
        ax,
        along=name,
        labels=labels,
        prefix="µ",
        words="displacement of the tip",
        styled=True,
        lw=1.0,
    )
    ax.set_title(f"{WORDS[name]} varied (contents of figure {number})")
    curves.legend_right(ax)
