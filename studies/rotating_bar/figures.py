"""Figures of the rotating-bar study: the contents of figures 2–5 and 9–14 of Vlase, Nicolescu &
Marin (2020).
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from studies.figures import curves
from studies.figures.style import colour, figure
from studies.reporting.output import OutputFolder

NODES = (3, 7, 10)  # of 11, the paper's choice
FORCE_PERIOD = np.pi / 100.0  # s
MICRO = "axial displacement (µm)"


def draw(dataset: xr.Dataset, out: OutputFolder) -> None:
    """Every figure the dataset has data for."""
    for index, word in enumerate(("without", "with")):
        _nodes(dataset.isel(damping=index), word, index + 2, out)
    _all_nodes(dataset.isel(damping=1), out)
    if "seconds" in dataset:
        _timing(dataset, out)
    _sections(dataset, out)
    _varied(dataset, "excitation", "frequency of the force", 13, out)
    _varied(dataset, "mass", "mass of the bar", 14, out)


def _nodes(run: xr.Dataset, word: str, number: int, out: OutputFolder) -> None:
    nodes = [n for n in NODES if n in run["node"].values] or [int(run["node"][-1])]
    moved = run["displacement"].sel(node=nodes)
    exact = run["displacement_exact"].sel(node=nodes)
    with figure(2, 1, width=7.6, height=5.6) as (drawn, (upper, lower)):
        labels = [f"node {n}" for n in nodes]
        curves.family(
            moved.sel(scheme="lagrange"), "time", upper, along="node", labels=labels,
            factor=1e6, ylabel=MICRO,
        )  # fmt: skip
        upper.set(
            title=f"axial displacement {word} damping (contents of figure {number})", xlabel=""
        )
        curves.beside(upper)
        _differences(moved, exact, lower)
        lower.set(title="difference from the closed form, node " + str(nodes[-1]))
        curves.beside(lower)
        out.write_figure(
            f"figure-{number:02d}-nodes-{word}-damping.png",
            drawn,
            f"Axial displacement of nodes {', '.join(map(str, nodes))} {word} damping, and how far "
            "each integration is from the closed form.",
        )


def _differences(moved: xr.DataArray, exact: xr.DataArray, ax: object) -> None:
    """Lagrange and Hamilton of order 2 lie on each other; order 6 shows who is right."""
    error = abs(moved - exact).isel(node=-1)
    smooth = error.rolling(time=max(1, error.sizes["time"] // 60), center=True, min_periods=1).max()
    labels = ["Lagrange, order 2", "Hamilton, order 2", "Hamilton, order 6"]
    lines = curves.family(
        smooth, "time", ax, along="scheme", labels=labels, factor=1e6, styled=True, first=4,  # type: ignore[arg-type]
        ylabel="largest difference (µm)",
    )  # fmt: skip
    lines[0].set_linewidth(3.4)
    lines[0].set_alpha(0.6)
    ax.set_yscale("log")  # type: ignore[attr-defined]


def _all_nodes(run: xr.Dataset, out: OutputFolder) -> None:
    moved = run["displacement"].sel(scheme="hamilton").isel(node=slice(1, None))
    with figure(width=7.6, height=4.2) as (drawn, (ax,)):
        curves.graded(moved, "time", ax, along="node", factor=1e6, ylabel=MICRO)
        ax.set_title("displacements of all nodes, with damping (contents of figure 4)")
        out.write_figure(
            "figure-04-all-nodes.png",
            drawn,
            "Displacements of all nodes over time with damping; node 1 is on the axis and rests.",
        )


def _timing(dataset: xr.Dataset, out: OutputFolder) -> None:
    with figure(1, 3, width=10.4, height=3.4) as (drawn, axes):
        shown = [
            (dataset["seconds_paper"], "paper's Table 3"),
            (dataset["seconds"].sel(way="explicit"), "here, explicit Runge–Kutta 5(4)"),
            (dataset["seconds"].sel(way="implicit"), "here, implicit, order 2"),
        ]
        for ax, (seconds, title) in zip(axes, shown, strict=True):
            for i, name in enumerate(("lagrange", "hamilton")):
                ax.plot(
                    seconds["elements"], seconds.sel(formalism=name), ("o-", "s--")[i],
                    color=colour(i), ms=4, label=name.capitalize(),
                )  # fmt: skip
            ax.set(xlabel="elements", ylabel="computing time (s)", ylim=(0, None), title=title)
        axes[0].legend(loc="upper left")
        out.write_figure(
            "figure-05-timing.png",
            drawn,
            "Computing times of the two formalisms: the paper's (other machine, other duration) "
            "and measured here in alternation.",
        )


def _sections(dataset: xr.Dataset, out: OutputFolder) -> None:
    tip = dataset["tip_by_section"]
    with figure(2, 2, width=9.0, height=6.0, sharex=True) as (drawn, axes):
        labels = [f"{w:g} rad/s" for w in tip["speed"].values]
        for i, ax in enumerate(axes):
            curves.family(
                tip.isel(section=i), "instant", ax, along="speed", labels=labels, factor=1e3,
                ylabel="displacement of the tip (mm)", lw=1.0,
            )  # fmt: skip
            ax.set_xlim(0.0, min(FORCE_PERIOD, float(tip["instant"][-1])))
            ax.set_title(f"A = {1e6 * float(tip['section'][i]):g} mm² (figure {9 + i})")
            if i < 2:
                ax.set_xlabel("")
        axes[1].legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), title="rotation")
        out.write_figure(
            "figure-09-12-sections.png",
            drawn,
            "Displacement of the tip for four sections at three speeds of rotation, over one "
            "period of the force (mass 1 kg, no damping). The centrifugal load acts from the first "
            "instant, so the bar swings about its stretched length.",
        )


def _varied(dataset: xr.Dataset, name: str, words: str, number: int, out: OutputFolder) -> None:
    tip = dataset[f"tip_by_{name}"]
    values = tip[name].values
    if name == "excitation":
        labels = [f"{v / (2.0 * np.pi):.1f} Hz = {v / 2.0:g}/π Hz" for v in values]
    else:
        labels = [f"{v:g} kg" for v in values]
    with figure(width=7.6, height=3.6) as (drawn, (ax,)):
        curves.family(
            tip, "instant", ax, along=name, labels=labels, factor=1e6, styled=True,
            ylabel="displacement of the tip (µm)", lw=1.0,
        )  # fmt: skip
        ax.set_title(f"{words} varied (contents of figure {number})")
        curves.beside(ax)
        out.write_figure(
            f"figure-{number}-{name}.png", drawn, f"Displacement of the tip: {words} varied."
        )
