"""Responses to forces: amplitude and phase, Nyquist plot, orbits, waterfall."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import LogNorm
from matplotlib.lines import Line2D
from xarray import DataArray, Dataset

from assembly.arguments import as_number
from assembly.errors import InputError
from modal.plot.axes import RESPONSE, axes, axis_label, check_result, key, remove_x_label, styles


def response(result: Dataset, ax: Axes | None = None) -> list[Line2D]:
    """Draw the amplitude of every probe over frequency or speed, on a logarithmic axis.

    Parameters
    ----------
    result : xarray.Dataset
        Of `modal.frequency_response` or `modal.unbalance_response`, with one axis besides the
        probes.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    list of Line2D

    Raises
    ------
    InputError
        The result has another axis too.
    """
    values, dim = _over_one(result)
    ax = axes(ax)
    artists = _curves(values, ax, lambda q: (values[dim], np.abs(q)))
    ax.set(xlabel=axis_label(values[dim]), yscale="log")
    ax.set_ylabel(f"amplitude ({values.attrs.get('units', '')})")
    key(ax, len(artists), "probe")
    return artists


def bode(result: Dataset, ax: tuple[Axes, Axes] | None = None) -> list[Line2D]:
    """Draw amplitude and phase of every probe, one above the other.

    Parameters
    ----------
    result : xarray.Dataset
        As for `response`.
    ax : two Axes, optional
        For the amplitude and for the phase; a new figure by default.

    Returns
    -------
    list of Line2D

    Raises
    ------
    InputError
        The result has another axis too.
    """
    values, dim = _over_one(result)
    upper, lower = ax or plt.subplots(2, 1, sharex=True, layout="constrained")[1]
    artists = response(result, upper)
    remove_x_label(upper)
    lower.set(xlabel=axis_label(values[dim]), ylabel="phase (°)")
    return artists + _curves(
        values, lower, lambda q: (values[dim], np.degrees(np.unwrap(np.angle(q))))
    )


def nyquist(result: Dataset, ax: Axes | None = None) -> list[Line2D]:
    """Draw the response of every probe in the complex plane.

    Parameters
    ----------
    result : xarray.Dataset
        As for `response`.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    list of Line2D

    Raises
    ------
    InputError
        The result has another axis too.
    """
    values, _ = _over_one(result)
    ax = axes(ax)
    artists = _curves(values, ax, lambda q: (q.real, q.imag))
    units = values.attrs.get("units", "")
    ax.set(xlabel=f"real part ({units})", ylabel=f"imaginary part ({units})")
    _in_a_plane(ax)
    key(ax, len(artists), "probe")
    return artists


def _in_a_plane(ax: Axes) -> None:
    """One scale for both axes, with few short tick labels."""
    ax.set_aspect("equal", adjustable="datalim")
    ax.locator_params(nbins=5)
    ax.ticklabel_format(scilimits=(-2, 3))


def orbit(result: Dataset, node: int, speed: float, ax: Axes | None = None) -> list[Line2D]:
    """Draw the orbit of a node of a rotor at the speed nearest to the one given.

    Parameters
    ----------
    result : xarray.Dataset
        Of `modal.unbalance_response`, with the probes uy and uz of the node.
    node : int
        Number of the node.
    speed : float
        rad/s.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    list of Line2D
        The orbit, and its point at t = 0.

    Raises
    ------
    InputError
        The result does not have these probes.
    """
    check_result(result, ("displacement", "probe"), RESPONSE)
    labels = result["probe"].values.astype(str)
    of_node = result["node"].values == node
    y_and_z = [np.flatnonzero(of_node & np.char.endswith(labels, end)) for end in (" uy", " uz")]
    if not all(map(len, y_and_z)):
        raise InputError(f"node: the response has no probes uy and uz of node {node}")
    if "speed" not in result.dims:
        raise InputError("plot: expected a response of modal.unbalance_response, over speed")
    at = result["displacement"].sel(speed=as_number(speed, "speed"), method="nearest")
    turn = np.exp(1j * np.linspace(0.0, 2.0 * np.pi, 181))
    y, z = ((at.values[k] * turn).real for k in y_and_z)
    ax = axes(ax)
    label = f"node {node}, {float(at['speed']) * 60.0 / (2.0 * np.pi):.4g} rpm"
    artists = ax.plot(y, z, label=label)
    artists += ax.plot(y[:1], z[:1], "o", color=artists[0].get_color(), ms=4)
    ax.set(xlabel="uy (m)", ylabel="uz (m)")
    _in_a_plane(ax)
    ax.set_title(label, fontsize="small")
    return artists


def waterfall(
    result: Dataset, probe: str | tuple[str, int, str], ax: Axes | None = None
) -> QuadMesh:
    """Draw the amplitude of one probe over frequency and the swept parameter, as colour.

    Parameters
    ----------
    result : xarray.Dataset
        Of `modal.frequency_response` with `times` or `over`.
    probe : (str, int, str) or str
        (body, node, component), or the name of the probe, as in "blade 12 uz".
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    QuadMesh

    Raises
    ------
    InputError
        The result is not over a further parameter, or has no such probe.
    """
    check_result(result, ("displacement", "probe"), RESPONSE)
    values = result["displacement"]
    if values.ndim != 3:
        raise InputError("waterfall: the response is not over times or a parameter; use response")
    name = probe if isinstance(probe, str) else " ".join(map(str, probe))
    names = values["probe"].values.tolist()
    if name not in names:
        raise InputError(f"probe: the response has no probe {name!r}; it has {', '.join(names)}")
    ax = axes(ax)
    size = np.abs(values.sel(probe=name))
    swept = str(values.dims[0])
    mesh = ax.pcolormesh(
        values["frequency"], values[swept], size, norm=LogNorm(), shading="nearest", cmap="viridis"
    )
    ax.figure.colorbar(mesh, ax=ax, label=f"amplitude of {name} ({values.attrs['units']})")
    ax.set(xlabel=axis_label(values["frequency"]), ylabel=axis_label(values[swept]))
    return mesh


def _over_one(result: Dataset) -> tuple[DataArray, str]:
    """The displacements and the name of their only axis besides the probes."""
    check_result(result, ("displacement", "probe"), RESPONSE)
    values = result["displacement"]
    others = [str(dim) for dim in values.dims if dim != "probe"]
    if len(others) != 1:
        raise InputError(
            f"the response is over {', '.join(others)}; choose one value of {others[0]} by .sel, "
            "or draw a waterfall"
        )
    return values, others[0]


def _curves(values: DataArray, ax: Axes, of: Callable[[Any], tuple[Any, Any]]) -> list[Line2D]:
    """The curve (x, y) of the response of every probe."""
    artists = []
    for name, style in zip(values["probe"].values, styles(values.sizes["probe"]), strict=True):
        artists += ax.plot(*of(values.sel(probe=name).values), label=str(name), **style)
    return artists
