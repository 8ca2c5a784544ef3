"""The distribution of ratios to the plain work as one picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from benchmarks.anywhere.report import GOALS, Record, score


def distribution_picture(records: Sequence[Record], path: Path) -> None:
    """A row for each verb, a mark for each draw, at its ratio to the plain work."""
    verbs = [verb for verb in GOALS if any(r["verb"] == verb for r in records)]
    fig, ax = plt.subplots(figsize=(7.0, 0.8 + 0.34 * len(verbs)), layout="constrained")
    draw(ax, records, verbs)
    fig.savefig(path, dpi=90)
    plt.close(fig)


def draw(ax: Axes, records: Sequence[Record], verbs: Sequence[str]) -> None:
    """Discs: finished draws; triangles: stopped ones, at a lower bound; crosses: wrong ones.

    A bar is the median, a vertical stroke its goal, and the line at 1 the time of the plain work.
    """
    kinds = {
        "done": ("o", "draw"),
        "unfinished": (">", "stopped (at least)"),
        "wrong": ("X", "wrong"),
    }
    for row, verb in enumerate(verbs):
        own = [r for r in records if r["verb"] == verb and np.isfinite(score(r))]
        for status, (marker, _) in kinds.items():
            ratios = np.array([score(r) for r in own if r["status"] == status])
            heights = row + 0.22 * np.sin(np.arange(len(ratios)))  # apart, always alike
            colour = "#0072B2" if status == "done" else "#D55E00"
            ax.plot(ratios, heights, marker, color=colour, ms=4, alpha=0.6, mew=0.0)
        if own:
            middle = float(np.median([score(r) for r in own]))
            ax.plot([middle, middle], [row - 0.35, row + 0.35], color="black", lw=2.5)
        ax.plot([GOALS[verb][0]] * 2, [row - 0.35, row + 0.35], color="0.45", lw=1.0, ls="--")
    for status, (marker, name) in kinds.items():
        if any(r["status"] == status for r in records):
            colour = "#0072B2" if status == "done" else "#D55E00"
            ax.plot([], [], marker, color=colour, ms=4, label=name)
    ax.plot([], [], color="black", lw=2.5, label="median")
    ax.plot([], [], color="0.45", lw=1.0, ls="--", label="its goal")
    ax.axvline(1.0, color="0.7", lw=0.8, zorder=0)
    ax.set(
        xscale="log", xlabel="processor time over that of the plain work", yticks=range(len(verbs)),
        yticklabels=list(verbs), ylim=(len(verbs) - 0.5, -0.5),
    )  # fmt: skip
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize="small")
