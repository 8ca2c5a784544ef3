"""Figures of the slider-crank study."""

from __future__ import annotations

from typing import Any

import xarray as xr
from matplotlib.axes import Axes

import assembly
from modal import plot
from modal.plot.axes import axis_label, remove_x_label
from modal.plot.colours import colour, ink
from studies.figures import curves, sheets
from studies.figures.animation import Scene, animation, mechanism_frames
from studies.figures.drawing import Drawing, drawing
from studies.slider_crank.comparison import first_look

SHAPES = (
    "The four lowest modes at one instant: crank (blue), rod (orange) and slider (green) at the two"
    " ends of their vibration, solid and dotted, over the undeformed mechanism (grey); joints are"
    " black. All are drawn with the same largest displacement."
)


def of_modes(mechanism: assembly.Mechanism, t: float) -> Drawing:
    """The four lowest modes at time t (s)."""
    title = f"mode shapes at t = {1e3 * t:.1f} ms (largest displacement drawn alike)"
    layout = dict(rows=2, columns=2, width=8.0, height=5.0)
    return sheets.shapes_sheet(mechanism, t, SHAPES, 1, title, **layout)


@animation("slider-crank.gif")
def first_mode(mechanism: assembly.Mechanism) -> Scene:
    """The first mode over the turn."""
    return "slider-crank in its first mode", mechanism_frames(mechanism)


@drawing("transient.png", rows=2, height=5.6, sharex=True)
def of_transient(axes: list[Axes], compared: xr.Dataset) -> None:
    """Time integration of the full equations from the first frozen mode. Above: the transverse
    displacement at mid-rod. Below: the amplitude of the mode, √ of its energy, found in that
    transient by the left eigenvectors, beside what σ and Re λ of the tracks predict.
    """
    upper, lower = axes
    moved = compared["displacement"]
    curves.family(moved, "time", upper, prefix="m", words="displacement", lw=0.8)
    amplitude(compared, lower)
    remove_x_label(upper)
    upper.set(title="released in the first frozen mode: time integration")
    lower.set_title("amplitude of that mode: integrated and predicted")


@drawing("overview.png", rows=2, width=7.6, height=5.8, in_report=False)
def overview(
    axes: list[Axes], followed: xr.Dataset, compared: xr.Dataset, speed_rpm: float
) -> None:
    """Frequencies over one turn (diamonds mark veering), and the amplitude of the first mode in a
    time integration: σ follows it, Re λ alone does not.
    """
    upper, lower = axes
    plot.frequencies(followed, upper)
    amplitude(compared, lower)
    upper.set_title(f"slider-crank at {speed_rpm:g} rpm: frequencies over one turn")
    lower.set_title("amplitude of the first mode after its release")


def amplitude(compared: xr.Dataset, ax: Axes) -> None:
    """Amplitude of the mode (one at the start): integrated, and predicted with and without
    drift."""
    t = compared["instant"]
    lines: dict[str, tuple[str, dict[str, Any]]] = {
        "amplitude": ("-", dict(color="0.35", lw=2.6, label="time integration")),
        "amplitude_corrected": ("--", dict(color=colour(1), label="predicted by σ")),
        "amplitude_frozen": (":", dict(color=colour(0), label="predicted by Re λ alone")),
    }
    for name, (style, look) in lines.items():
        ax.plot(t, compared[name], style, **look)
    ax.set(xlabel=axis_label(t), ylabel="amplitude (√energy)", ylim=(0, None))
    ax.legend(loc="best")


def of_growth(chart: xr.Dataset, rates: xr.Dataset) -> Drawing:
    """The chart above the growth rates of one of its rows, found in three ways."""
    damping = float(rates["first_damping"])

    def draw(axes: list[Axes]) -> None:
        upper, lower = axes
        plot.verdict(chart, upper)
        upper.axhline(damping, color="black", lw=0.9, ls="--")
        remove_x_label(upper)
        upper.set(ylabel="damping ratio", title="where is the slider-crank unstable?")
        speed = rates["speed_rpm"]
        lower.plot(speed, rates["growth_floquet"], color=colour(1), label="Floquet")
        some = rates.dropna("speed_rpm", subset=["growth_integrated"])
        lower.plot(some["speed_rpm"], some["growth_corrected"], "s--", color=colour(0), ms=4,
                   mfc="none", label="mean of σ, first mode")  # fmt: skip
        lower.plot(some["speed_rpm"], some["growth_integrated"], "o", color=ink(), ms=6,
                   mfc="none", label="time integration")  # fmt: skip
        lower.axhline(0.0, color=ink(), lw=0.8)
        lower.set(xlabel=axis_label(speed), ylabel="growth rate (1/s)")
        lower.set_title(f"can it be believed? On the dashed line, damping ratio {damping:.3g}")
        lower.legend(loc="upper left")

    caption = first_look(chart, rates)
    return Drawing("growth.png", caption, draw, rows=2, width=7.0, height=6.4, sharex=True)
