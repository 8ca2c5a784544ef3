"""Figures of the slider-crank study."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import xarray as xr
from matplotlib.axes import Axes
from numpy.typing import NDArray

import assembly
import modal
from modal import plot
from modal.plot.colours import colour, ink
from modal.plot.labels import axis_label
from studies.figures import shapes, transients
from studies.figures.animation import Animation, mechanism_frames
from studies.figures.drawing import Drawing
from studies.figures.motion import Frame
from studies.slider_crank.growth import first_look

SHAPES = (
    "The four lowest modes at one instant: crank (blue), rod (orange) and slider (green) at the two"
    " ends of their vibration, solid and dotted, over the undeformed mechanism (grey); joints are"
    " black. All are drawn with the same largest displacement."
)
TRANSIENT = (
    "Time integration of the full equations from the first frozen mode. Above: the transverse"
    " displacement at mid-rod. Below: the amplitude of the mode, √ of its energy, found in that"
    " transient by the left eigenvectors, beside what σ and Re λ of the tracks predict."
)
OVERVIEW = (
    "Frequencies over one turn (diamonds mark veering), and the amplitude of the first mode in a"
    " time integration: σ follows it, Re λ alone does not."
)


def of_modes(mechanism: assembly.Mechanism, times: NDArray[Any]) -> Iterator[Drawing | Animation]:
    """Mode shapes at an eighth of the turn, and the first mode over the turn."""

    def draw(axes: list[Axes]) -> None:
        t = float(times[len(times) // 8])
        solved = modal.solve(mechanism.freeze(t), k=len(axes))
        for mode, ax in enumerate(axes):
            shapes.deployed(mechanism.deployed(t, solved.right[:, mode]), ax)
            ax.set_title(f"mode {mode + 1}: {solved.frequency[mode]:.1f} Hz")
        axes[0].figure.suptitle(
            f"mode shapes at t = {1e3 * t:.1f} ms (largest displacement drawn alike)"
        )

    def scene() -> tuple[str, list[Frame]]:
        assert mechanism.period is not None
        return "slider-crank in its first mode", mechanism_frames(mechanism, mechanism.period)

    yield Drawing("shapes.png", SHAPES, draw, 2, 2, width=8.0, height=5.0)
    yield Animation("slider-crank.gif", scene)


def of_transient(followed: xr.Dataset, compared: xr.Dataset, speed_rpm: float) -> Iterator[Drawing]:
    """The transient, and its amplitude below the frequencies of the tracks."""

    def transient(axes: list[Axes]) -> None:
        upper, lower = axes
        transients.displacement(compared, upper)
        transients.amplitude(compared, lower)
        upper.set(xlabel="", title="released in the first frozen mode: time integration")
        lower.set_title("amplitude of that mode: integrated and predicted")

    def overview(axes: list[Axes]) -> None:
        upper, lower = axes
        plot.frequencies(followed, upper)
        transients.amplitude(compared, lower)
        upper.set_title(f"slider-crank at {speed_rpm:g} rpm: frequencies over one turn")
        lower.set_title("amplitude of the first mode after its release")

    yield Drawing("transient.png", TRANSIENT, transient, rows=2, height=5.6, sharex=True)
    yield Drawing(
        "overview.png", OVERVIEW, overview, rows=2, width=7.6, height=5.8, in_report=False
    )


def of_growth(chart: xr.Dataset, rates: xr.Dataset) -> Drawing:
    """The chart above the growth rates of one of its rows, found in three ways."""
    damping = float(rates["first_damping"])

    def draw(axes: list[Axes]) -> None:
        upper, lower = axes
        plot.verdict(chart, upper)
        upper.axhline(damping, color="black", lw=0.9, ls="--")
        upper.set(xlabel="", ylabel="damping ratio", title="where is the slider-crank unstable?")
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
