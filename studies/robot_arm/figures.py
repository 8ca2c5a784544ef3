"""Figures of the robot-arm study."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from xarray import Dataset

import assembly
import modal
from studies.figures import curves, shapes
from studies.figures.drawing import Drawing

GEARS = (
    "Above: the first frequency along the path, of the arm with elastic gears, of the same arm with"
    " rigid drives, and of rigid links on the gears (closed form, at rest). Below: how far the"
    " gears deflect in equilibrium with weight, inertia and the dampers."
)
SHAPES = "The two lowest modes at the end of the path: links at both ends of their vibration."


def of_gears(dataset: Dataset) -> Drawing:
    """First frequencies and deflections along the path."""

    def draw(axes: list[Axes]) -> None:
        upper, lower = axes
        names = [str(name) for name in dataset["arm"].values]
        curves.family(
            dataset["first_frequency"], "time", upper, along="arm", labels=names, styled=True
        )
        upper.set(ylim=(0.0, None), xlabel="")
        curves.legend_right(upper)
        joints = [str(name) for name in dataset["joint"].values]
        curves.family(
            dataset["deflection"], "time", lower, along="joint", labels=joints, prefix="m"
        )
        curves.legend_right(lower)

    return Drawing("gears.png", GEARS, draw, rows=2, height=6.0, sharex=True)


def of_shapes(arm: assembly.Mechanism, t: float) -> Iterator[Drawing]:
    """The two lowest modes at time t (s)."""

    def draw(axes: list[Axes]) -> None:
        solved = modal.solve(arm.freeze(t), k=len(axes))
        for mode, ax in enumerate(axes):
            shape = np.asarray(solved.right[:, mode])
            shapes.deployed(arm.deployed(t, shape), ax)
            ax.set_title(f"mode {mode + 1}: {solved.frequency[mode]:.2f} Hz")

    yield Drawing("shapes.png", SHAPES, draw, columns=2, width=8.0, height=3.4)
