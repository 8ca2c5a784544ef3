"""Rotors and periodic modes: verdicts side by side, harmonics, a mode over its period."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from modal.plot.axes import axes, axis_label, key, legend_below, styles
from modal.plot.colours import colour, ink

LABELS = {
    "frozen": "frozen at one azimuth",
    "multiblade": "multiblade, averaged",
    "floquet": "Floquet",
}
STYLES = {"frozen": ":", "multiblade": "--", "floquet": "-"}


def rotor_verdict(verdict: xr.Dataset, ax: Axes | None = None) -> list[Line2D]:
    """Largest growth rates of `modal.rotor_verdict` over the speed; shaded where verdicts differ.

    Parameters
    ----------
    verdict : xarray.Dataset
        Of `modal.rotor_verdict`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    list of Line2D
    """
    ax = axes(ax)
    rpm = verdict["omega"].values * 30.0 / np.pi
    artists = []
    for n, method in enumerate(verdict["analysis"].values):
        values = verdict["growth_rate"].sel(analysis=method)
        artists += ax.plot(
            rpm, values, STYLES[str(method)], color=colour(n), label=LABELS[str(method)]
        )
    differ = verdict["differs"].any("analysis").values
    if differ.any():
        low, high = ax.get_ylim()
        ax.fill_between(
            rpm, low, high, where=differ, color="0.5", alpha=0.2, lw=0.0, zorder=0,
            label="verdicts differ",
        )  # fmt: skip
        ax.set_ylim(low, high)
    ax.axhline(0.0, color=ink(), lw=0.8)
    ax.set(xlabel="speed (rpm)", ylabel=axis_label(verdict["growth_rate"]))
    legend_below(ax, ax.get_legend_handles_labels()[0])
    return artists


def participation(shares: xr.DataArray, ax: Axes | None = None) -> list[Line2D]:
    """Participation of the harmonics of one mode over their frequencies.

    Parameters
    ----------
    shares : xarray.DataArray
        One mode of `FloquetModes.participation`, or of `participation_of` with its groups.
    ax : matplotlib.axes.Axes, optional
        Where to draw; new axes by default.

    Returns
    -------
    list of Line2D
    """
    ax = axes(ax)
    rows = [shares]
    if "group" in shares.dims:
        rows = [shares.isel(group=i) for i in range(shares.sizes["group"])]
    artists = []
    for n, row in enumerate(rows):
        label = str(row["group"].values) if "group" in row.coords else None
        at = row["frequency"].values
        ax.vlines(at, 0.0, row.values, color=colour(n), lw=1.2)
        artists += ax.plot(at, row.values, "os^Dv"[n % 5], color=colour(n), label=label)
    ax.set(xlabel=axis_label(shares["frequency"]), ylabel=axis_label(shares), ylim=(0.0, 1.05))
    if len(rows) > 1:
        ax.legend()
    return artists


def periodic_mode(
    orbit: xr.DataArray, dofs: Sequence[int], ax: Axes | None = None, labels: Sequence[str] = ()
) -> list[Line2D]:
    """Amplitudes of degrees of freedom in a periodic mode over the period.

    Parameters
    ----------
    orbit : xarray.DataArray
        Of `FloquetModes.orbit`.
    dofs : sequence of int
        Numbers of the degrees of freedom; each curve is relative to its largest value.
    ax : matplotlib.axes.Axes, optional
        Where to draw; new axes by default.
    labels : sequence of str
        Their names.

    Returns
    -------
    list of Line2D
    """
    ax = axes(ax)
    time = orbit["time"].values - float(orbit["time"][0])
    turn = time / (time[-1] + time[1])
    artists = []
    for n, (dof, style) in enumerate(zip(dofs, styles(len(dofs)), strict=True)):
        values = orbit.isel(dof=dof).values
        size = float(np.abs(values).max()) or 1.0
        label = labels[n] if labels else f"DOF {dof}"
        artists += ax.plot(turn, np.abs(values) / size, label=label, **style)
    ax.set(xlabel="position in the period", ylabel="amplitude (relative)", ylim=(0.0, 1.05))
    key(ax, len(dofs), "degree of freedom")
    return artists
