"""A slider-crank with an elastic rod and crank: how its modes move over a turn, where it is
unstable, and how well that agrees with time integration.

The rigid motion is the exact one of the mechanism at constant crank speed; each instant is frozen
with Coriolis, Euler, centrifugal, geometric and transport terms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

import assembly
import modal
from assembly.errors import InputError
from studies.reporting.frozen_verdicts import verdicts
from studies.reporting.output import OutputFolder
from studies.reporting.tables import map_table, tracks_table
from studies.slider_crank.machine import model
from studies.slider_crank.transient import believed, compare_with_transient

__all__ = ["main", "model"]

MAP_READING = (
    "A mode that grows at some crank positions only need not grow over a whole turn: the Floquet"
    " exponents (modal.floquet) decide that."
)


class SpeedFamily:
    """The slider-crank frozen at a crank speed (rpm) and a fraction of its turn."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self._last: tuple[float, assembly.Mechanism] | None = None

    def freeze(self, speed_rpm: float, turn: float) -> assembly.FrozenSystem:
        if self._last is None or self._last[0] != speed_rpm:
            self._last = (speed_rpm, model(speed_rpm=speed_rpm, **self.settings))
        mechanism = self._last[1]
        assert mechanism.period is not None
        return mechanism.freeze(turn * mechanism.period)


def stiffness_damping(ratio: float, **settings: Any) -> float:
    """The b (s) of D = b K that damps the first mode at t = 0 by `ratio` of critical: b = 2ζ/ω."""
    if not 0.0 <= ratio < 1.0:
        raise InputError(f"damping_ratio: must be at least 0 and less than 1, got {ratio}")
    first = modal.solve(model(**settings).freeze(0.0), k=1)
    return 2.0 * ratio / float(np.abs(first.eigenvalues[0]))


def main(
    *,
    crank: float = 0.15,
    rod: float = 0.30,
    speed_rpm: float = 1500.0,
    elements: int = 20,
    damping_ratio: float = 0.005,
    modes: int = 6,
    instants: int = 121,
    turns: int = 2,
    map_points: int = 24,
    max_speed_rpm: float = 6000.0,
    out: OutputFolder | None = None,
    progress: bool = False,
) -> xr.Dataset:
    """Modes of a slider-crank with an elastic rod over a turn, stability over speed, and a
    transient.

    crank, rod: lengths, m. speed_rpm: of the crank. elements: per link. damping_ratio: internal, of
    the first mode. modes, instants: followed over one turn. turns: of the transient (0 for none).
    map_points, max_speed_rpm: of the stability map over speed and crank position (0 for none).
    Returns the tracks over one turn. Raises MechanismError when the crank cannot turn over.
    """
    settings: dict[str, Any] = dict(crank=crank, rod=rod, elements=elements)
    for name, value in (("crank", crank), ("rod", rod), ("speed_rpm", speed_rpm)):
        if not (np.isfinite(value) and value > 0.0):
            raise InputError(f"{name} = {value:g}: must be positive")
    b = stiffness_damping(damping_ratio, speed_rpm=speed_rpm, **settings)
    settings["rayleigh"] = (0.0, b)
    mechanism = model(speed_rpm=speed_rpm, **settings)
    assert mechanism.period is not None
    times = np.linspace(0.0, mechanism.period, instants)
    tracks = modal.track(mechanism, times=times, k=modes, progress=progress)
    tracks.attrs["all_modes"] = verdicts(tracks, mechanism.freeze, modes, ends=False)
    if out is not None:
        out.write_dataset("tracks.nc", tracks)
        from studies.figures import sheets

        sheets.write_tracks(tracks, f"slider-crank over one turn at {speed_rpm:g} rpm", out)
        _draw_shapes(mechanism, tracks, out)
        _animate(mechanism, out)
    if turns > 0:
        compared = compare_with_transient(mechanism, tracks, turns, progress)
        tracks.attrs["against_time_integration"] = believed(compared)
        if out is not None:
            out.write_dataset("transient.nc", compared)
            _draw_transient(compared, out)
            _draw_overview(tracks, compared, speed_rpm, out)
    if map_points > 0:
        grid = modal.stability_map(
            SpeedFamily(**settings),
            speed_rpm=np.linspace(max_speed_rpm / map_points, max_speed_rpm, map_points),
            turn=np.linspace(0.0, 1.0, map_points, endpoint=False),
            k=modes,
            progress=progress,
        )
        grid["speed_rpm"].attrs.update(long_name="crank speed", units="rpm")
        grid["turn"].attrs.update(long_name="crank position", units="turns")
        if out is not None:
            out.write_dataset("map.nc", grid)
            from studies.figures import sheets

            title = "frozen verdict over speed and crank position"
            sheets.write_map(grid, title, out, f"{sheets.MAP} {MAP_READING}")
        tracks.attrs["over_speed"] = map_table(grid)
    return tracks


def report(tracks: xr.Dataset) -> str:
    """The tracks, the map, and whether the frozen modes can be believed."""
    lines = [tracks_table(tracks)]
    for name in ("all_modes", "over_speed", "against_time_integration"):
        if name in tracks.attrs:
            lines.append(tracks.attrs[name])
    return "\n".join(lines)


def _draw_shapes(mechanism: assembly.Mechanism, tracks: xr.Dataset, out: OutputFolder) -> None:
    from studies.figures import shapes
    from studies.figures.style import figure

    t = float(tracks["time"][tracks.sizes["time"] // 8])
    found = modal.solve(mechanism.freeze(t), k=4)
    with figure(2, 2, width=8.0, height=5.0) as (drawn, axes):
        for mode, ax in enumerate(axes):
            shapes.deployed(mechanism.deployed(t, found.right[:, mode]), ax)
            ax.set_title(f"mode {mode + 1}: {found.frequency[mode]:.1f} Hz")
        drawn.suptitle(f"mode shapes at t = {1e3 * t:.1f} ms (largest displacement drawn alike)")
        out.write_figure(
            "shapes.png",
            drawn,
            "The four lowest modes at one instant: crank (blue), rod (orange) and slider (green) at"
            " the two ends of their vibration, solid and dotted, over the undeformed mechanism"
            " (grey); joints are black. All are drawn with the same largest displacement.",
        )


def _animate(mechanism: assembly.Mechanism, out: OutputFolder) -> None:
    from studies.figures.animation import mechanism_frames, write_gif

    assert mechanism.period is not None
    frames = mechanism_frames(mechanism, mechanism.period)
    write_gif(out, "slider-crank.gif", frames, "slider-crank in its first mode")


def _draw_transient(compared: xr.Dataset, out: OutputFolder) -> None:
    from studies.figures import transients
    from studies.figures.style import figure

    with figure(2, 1, height=5.6, sharex=True) as (drawn, (upper, lower)):
        transients.displacement(compared, upper)
        transients.amplitude(compared, lower)
        upper.set(xlabel="", title="released in the first frozen mode: time integration")
        lower.set_title("amplitude of that mode: integrated and predicted")
        out.write_figure(
            "transient.png",
            drawn,
            "Time integration of the full equations from the first frozen mode. Above: the"
            " transverse displacement at mid-rod. Below: the amplitude of the mode, √ of its"
            " energy, found in that transient by the left eigenvectors, beside what σ and Re λ of"
            " the tracks predict.",
        )


def _draw_overview(
    tracks: xr.Dataset, compared: xr.Dataset, speed_rpm: float, out: OutputFolder
) -> None:
    from studies.figures import tracks as draw
    from studies.figures import transients
    from studies.figures.style import figure

    with figure(2, 1, width=7.6, height=5.8) as (drawn, (upper, lower)):
        draw.frequencies(tracks, upper)
        transients.amplitude(compared, lower)
        upper.set_title(f"slider-crank at {speed_rpm:g} rpm: frequencies over one turn")
        lower.set_title("amplitude of the first mode after its release")
        upper.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))
        out.write_figure(
            "overview.png",
            drawn,
            "Frequencies over one turn (diamonds mark veering), and the amplitude of the first mode"
            " in a time integration: σ follows it, Re λ alone does not.",
        )
