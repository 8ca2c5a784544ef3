"""A blade on a rotor: Campbell diagrams of a beam and of a solid mesh; and the same beam spun about
its own length, where its two bending stiffnesses and its internal damping make it unstable.

The solid is a twisted, tapered, cambered steel blade of 609 ten-node tetrahedra, clamped at its
root face 0.25 m from the axis. Its frequencies without Coriolis terms are compared with CalculiX
2.20 on the same mesh (centrifugally prestressed), which has none either.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
import xarray as xr

import assembly
import modal
from assembly.errors import InputError
from studies.reporting.frozen_verdicts import verdicts
from studies.reporting.output import OutputFolder
from studies.reporting.tables import tracks_table

MESH = Path(__file__).parent / "blade.msh"
AXIS = (0.0, 0.0, 1.0)
RPM = 2.0 * np.pi / 60.0

# CalculiX 2.20, NLGEOM prestress with centrifugal softening, no Coriolis, Hz, modes 1 to 6.
CALCULIX = {
    0.0: (100.0647, 340.5997, 731.5815, 810.4024, 930.4326, 1473.702),
    2000.0: (109.1659, 352.4845, 734.6725, 817.9806, 936.9064, 1477.061),
    4000.0: (131.9634, 385.7126, 742.4122, 837.8646, 959.4421, 1487.212),
}

MAP_READING = (
    "Between its two bending frequencies at rest the beam diverges whatever the damping; above"
    " them its internal damping drives a flutter; angular acceleration feeds one sense of whirl and"
    " brakes the other."
)
CAPTIONS = {
    "beam": "Frequencies of the beam over the speed of its rotor, with Coriolis terms. Dotted: one,"
    " two and three times the speed; where such a line meets a mode, an excitation of that order"
    " is in resonance.",
    "solid": "Frequencies of the solid blade over the speed of its rotor, with Coriolis terms."
    " Circles: CalculiX 2.20 on the same mesh, which has no Coriolis terms. Dotted: one, two and"
    " three times the speed.",
}


def beam_model(elements: int = 20, damping: float = 0.0) -> assembly.Body:
    """A steel beam 0.5 m long, 34 × 30 mm, on a hub of 0.1 m; stiffness damping b in s."""
    return assembly.beam(
        length=0.5,
        section=assembly.rectangle(0.034, 0.03),
        material=assembly.steel,
        elements=elements,
        clamped="start",
        offset=0.1,
        name="blade",
    ).with_damping(b=damping)


def solid_model() -> assembly.Body:
    """The solid blade, clamped at its root face; spin about z through the origin."""
    return assembly.solid(MESH, assembly.steel, clamped="clamp", name="blade")


def compare_with_calculix(body: assembly.Body, modes: int = 6) -> xr.Dataset:
    """Frequencies (Hz) without Coriolis terms at CalculiX's speeds, beside CalculiX's."""
    rpm = np.array(list(CALCULIX))
    ours = np.empty((len(rpm), modes))
    for i, speed in enumerate(rpm):
        system = body.freeze(omega=speed * RPM, axis=AXIS)
        ours[i] = modal.solve(system.only("K", "K_omega2", "K_G"), k=modes).frequency
    theirs = np.array([CALCULIX[speed][:modes] for speed in rpm])
    return xr.Dataset(
        {
            "frequency": (("rpm", "mode"), ours, {"units": "Hz", "long_name": "frequency"}),
            "frequency_calculix": (
                ("rpm", "mode"),
                theirs,
                {"units": "Hz", "long_name": "frequency by CalculiX 2.20"},
            ),
            "relative_difference": (
                ("rpm", "mode"),
                ours / theirs - 1.0,
                {"units": "1", "long_name": "relative difference"},
            ),
        },
        coords={
            "rpm": ("rpm", rpm, {"units": "rpm", "long_name": "speed"}),
            "mode": np.arange(modes),
        },
    )


def main(
    *,
    blade: Literal["both", "beam", "solid"] = "both",
    max_rpm: float = 4000.0,
    speeds: int = 21,
    modes: int = 6,
    map_points: int = 41,
    map_damping: float = 2e-6,
    out: OutputFolder | None = None,
    progress: bool = False,
) -> xr.Dataset:
    """Campbell diagrams of a rotating blade (beam and solid), and its stability under acceleration.

    max_rpm, speeds: range and number of speeds. modes: how many to follow. map_points: points along
    each axis of the map over speed and angular acceleration (0 for none). map_damping: internal
    damping D = map_damping K of the map's beam, s. Returns the Campbell dataset of the last blade.
    """
    if not max_rpm > 0.0:
        raise InputError(f"max_rpm: must be positive, got {max_rpm}")
    if speeds < 2:
        raise InputError(f"speeds: at least 2, got {speeds}")
    omega = np.linspace(0.0, max_rpm, speeds) * RPM
    models = {"beam": beam_model, "solid": solid_model}
    chosen = list(models) if blade == "both" else [blade]
    tracks = xr.Dataset()
    for kind in chosen:
        body = models[kind]()
        tracks = modal.track(body, omega=omega, axis=AXIS, k=modes, progress=progress)
        at_speed = partial(body.freeze, axis=AXIS)
        tracks.attrs["all_modes"] = verdicts(tracks, at_speed, modes)
        compared = compare_with_calculix(body) if kind == "solid" else None
        if compared is not None:
            tracks.attrs["against_calculix"] = _believed(compared)
        if out is not None:
            _write_campbell(kind, tracks, compared, out)
            if kind == "beam":
                _animate(body, out)
    if "beam" in chosen and map_points > 0:
        _map(map_points, map_damping, out, progress)
    return tracks


def _animate(body: assembly.Body, out: OutputFolder) -> None:
    """The first mode in the plane of rotation."""
    from studies.figures.animation import turning_frames, write_gif

    modes = modal.solve(body.freeze(omega=100.0, axis=AXIS), k=4)
    dofs = body.dofs.select(body.free)
    in_plane = np.abs(modes.right[dofs.component == 1]).sum(axis=0)
    across = np.abs(modes.right[dofs.component == 2]).sum(axis=0)
    first = int(np.argmax(in_plane > across))
    frames = turning_frames(body, modes.right[:, first])
    title = f"first mode in the plane, {modes.frequency[first]:.1f} Hz at 100 rad/s"
    write_gif(out, "blade.gif", frames, title)


def report(tracks: xr.Dataset) -> str:
    """The last blade's tracks, and whether they can be believed."""
    remarks = (tracks.attrs.get(name) for name in ("all_modes", "against_calculix"))
    return "\n".join([tracks_table(tracks), *filter(None, remarks)])


def _believed(compared: xr.Dataset) -> str:
    gap = float(np.abs(compared["relative_difference"]).max())
    return (
        "can it be believed? At constant speed the frozen matrices are those of the whole motion,"
        f" nothing is frozen away; without Coriolis terms CalculiX differs by {gap:.1e} at most"
    )


def _map(points: int, damping: float, out: OutputFolder | None, progress: bool) -> xr.Dataset:
    """Stability of the damped beam spun about its own length, over speed and angular acceleration.

    Between the two bending frequencies an asymmetric shaft diverges; above them internal damping
    drives a flutter; the Euler term K(ε) is circulatory and moves both boundaries
    (tests/references/A5_shafts.json, A10_circulatory.json).
    """
    body = beam_model(damping=damping)
    grid = modal.stability_map(
        body,
        omega=np.linspace(0.0, 1000.0, points),
        epsilon=np.linspace(-1000.0, 1000.0, points),
        axis=(1.0, 0.0, 0.0),
        k=4,
        progress=progress,
    )
    if out is not None:
        from studies.figures import sheets

        out.write_dataset("map.nc", grid)
        title = "beam spun about its own length: verdict"
        sheets.write_map(grid, title, out, f"{sheets.MAP} {MAP_READING}")
    return grid


def _write_campbell(
    kind: str, tracks: xr.Dataset, compared: xr.Dataset | None, out: OutputFolder
) -> None:
    from studies.figures import tracks as draw
    from studies.figures.style import figure

    out.write_dataset(f"campbell-{kind}.nc", tracks)
    with figure(width=7.0, height=4.4) as (drawn, (ax,)):
        draw.campbell(tracks, ax)
        ax.set_title(f"rotating blade ({kind}): frequencies over speed, with Coriolis")
        if compared is not None:
            out.write_dataset("calculix.nc", compared)
            for mode in range(compared.sizes["mode"]):
                label = "CalculiX, no Coriolis" if mode == 0 else None
                y = compared["frequency_calculix"].isel(mode=mode)
                ax.plot(compared["rpm"], y, "o", ms=4, mfc="none", color="black", label=label)
        ax.legend(loc="upper left", bbox_to_anchor=(1.04, 1.0))
        out.write_figure(f"campbell-{kind}.png", drawn, CAPTIONS[kind])
