"""A wind turbine of 5 MW: three elastic blades on a soft tower, its modes with their names over the
speed of the rotor.

Alike blades on any tower have constant equations in multiblade coordinates: the modes are those of
the whole motion, and nothing is averaged away.

The turbine is that of the NREL 5 MW reference turbine (J. Jonkman et al., Definition of a 5-MW
Reference Wind Turbine, NREL/TP-500-38060, 2009): three blades, hub, nacelle and tower. The blade's
table is coarse and rounded to two digits; the tower is a uniform tube with about the mass and the
first frequency of the report's. `table` takes the full table of ElastoDyn instead. Tilt, cone and
pitch are zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr
from scipy.spatial.transform import Rotation

import assembly
import modal
from assembly.bodies.blades import BladeTable, rigid_section_mass, uncoupled_stiffness
from assembly.mechanisms.joints import Point
from studies.figures import sheets
from studies.reporting.output import NOWHERE, OutputFolder
from studies.reporting.protocol import RPM, report_of, rotor_speeds

__all__ = ["main", "model", "report"]

# Distance from the hub's centre, m; twist, °; mass, kg/m; flapwise and edgewise stiffness, N·m².
STATIONS = np.array(
    [
        (1.5, 13.0, 680.0, 1.8e10, 1.8e10),
        (6.7, 13.0, 450.0, 7.2e9, 1.0e10),
        (10.7, 13.0, 400.0, 4.9e9, 7.0e9),
        (19.7, 10.0, 340.0, 2.1e9, 4.5e9),
        (29.7, 7.3, 290.0, 8.8e8, 3.1e9),
        (39.7, 4.4, 200.0, 2.4e8, 1.6e9),
        (49.7, 2.1, 130.0, 7.6e7, 7.1e8),
        (57.7, 0.6, 73.0, 3.0e7, 3.1e8),
        (63.0, 0.0, 10.0, 1.7e5, 5.0e6),
    ]
)
BLADES = ("b1", "b2", "b3")
TOWER = assembly.tube(5.9, 5.9 - 2.0 * 0.025)  # m, outer and inner diameter
TOWER_STEEL = assembly.Material(E=210e9, nu=0.3, rho=8500.0)


@dataclass(frozen=True)
class Turbine:
    """The other data of the report, rounded."""

    hub_mass: float = 56780.0  # kg
    nacelle_mass: float = 240000.0  # kg
    hub_inertia: float = 115926.0  # kg·m² about the shaft
    nacelle_yaw: float = 2607890.0  # kg·m² about the tower's axis
    overhang: float = 5.0  # m
    height: float = 87.6  # m, of the tower
    shaft_above: float = 2.4  # m
    stiff: float = 1e3  # extension, shear, torsion over the largest bending stiffness of a blade
    rated_rpm: float = 12.1


DATA = Turbine()


def blade_table() -> BladeTable:
    """The coarse table of the blade."""
    r, twist, mass, flap, edge = STATIONS.T
    rigid = np.full_like(r, DATA.stiff * max(flap.max(), edge.max()))
    # Flap moves along y: moment about z. Edge moves along z: moment about y.
    stiffness = uncoupled_stiffness(rigid, rigid, rigid, rigid, edge, flap)
    J = 0.5e-2 * mass[:, None, None] * np.diag([0.0, 1.0, 1.0])
    axis = np.stack([r, 0.0 * r, 0.0 * r], axis=-1)
    inertia = rigid_section_mass(mass, 0.0, 0.0, J)
    return BladeTable(r, axis, -np.radians(twist), stiffness, inertia)


def model(
    speed_rpm: float = DATA.rated_rpm, *, tower_elements: int = 4, table: str | Path = ""
) -> assembly.Mechanism:
    """The turbine at a constant speed of its rotor, without gravity and wind.

    Parameters
    ----------
    speed_rpm : float
        Speed of the rotor, rpm.
    tower_elements : int
        Number of beam elements of the tower.
    table : str or Path
        Table of ElastoDyn for the blades (`assembly.elastodyn_table`); the coarse one by default.

    Returns
    -------
    Mechanism
        With the blades "b1", "b2", "b3"; x is downwind along the shaft, z upward.
    """
    sections = assembly.elastodyn_table(table) if table else blade_table()
    upright = Rotation.from_rotvec([0.0, -0.5 * np.pi, 0.0])  # body x to z
    first = Rotation.from_matrix(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))
    shaft = (-DATA.overhang, 0.0, DATA.shaft_above)
    hub_at = (-DATA.overhang, 0.0, DATA.height + DATA.shaft_above)
    yaw, polar = DATA.nacelle_yaw, DATA.hub_inertia
    bodies: dict[str, assembly.Body] = {
        "tower": assembly.beam(DATA.height, TOWER, TOWER_STEEL, tower_elements, name="tower"),
        "nacelle": assembly.rigid_body(
            DATA.nacelle_mass, (yaw / 2.0, yaw, yaw), centre=(1.9, 0.0, 1.75)
        ),
        "hub": assembly.rigid_body(DATA.hub_mass, (polar, polar / 2.0, polar / 2.0)),
    }
    joints = [
        _weld("ground", (0.0, 0.0, 0.0), "tower", "start", upright, "foot"),
        _weld("tower", "end", "nacelle", "origin", upright.inv(), "yaw"),
        assembly.revolute("nacelle", shaft, "hub", "origin", axis=(1, 0, 0), name="shaft"),
    ]
    initial = {
        "tower": (0.0, 0.0, 0.0, *upright.as_rotvec()),
        "nacelle": (0.0, 0.0, DATA.height, 0.0, 0.0, 0.0),
        "hub": (*hub_at, 0.0, 0.0, 0.0),
    }
    for b, name in enumerate(BLADES):
        turn = Rotation.from_rotvec([2.0 * np.pi * b / len(BLADES), 0.0, 0.0]) * first
        root = turn.apply([sections.s[0], 0.0, 0.0])
        bodies[name] = assembly.blade(
            sections, theory="euler-bernoulli", rotary_inertia=False, name=name
        ).with_damping(b=2e-3)
        joints.append(_weld("hub", tuple(root), name, "start", turn, f"root {name}"))
        initial[name] = (*hub_at, *turn.as_rotvec())
    drivers = [assembly.driver("shaft", speed_rpm * np.pi / 30.0)]
    return assembly.Mechanism(bodies, joints, drivers, initial=initial, name="wind turbine")


def _weld(
    first: str, at_first: Point, second: str, at_second: str, turn: Rotation, name: str
) -> assembly.Joint:
    """A weld whose second body is turned from the first."""
    vector = turn.as_rotvec()
    angle = float(np.linalg.norm(vector))
    axis = vector / angle if angle else (0.0, 0.0, 1.0)
    return assembly.fixed(first, at_first, second, at_second, name=name, turned=angle, axis=axis)


RULES = modal.Rules(halvings=1, extra=0)  # of the Campbell diagram: no event is located
CAMPBELL = (
    "Frequencies of the turbine in axes that do not turn, over the speed of the rotor. Each mode"
    " has the name of the coordinates that move most. Dotted: one, three and six times the speed."
)


def _named(tracks: xr.Dataset) -> Iterator[str]:
    """Names, frequencies and damping at the first and the last speed."""
    first, last = (float(v) / RPM for v in tracks["omega"].values[[0, -1]])
    ends = "".join(f"{f'at {rpm:.4g} rpm':<35}" for rpm in (first, last))
    yield f"{'mode':>4}  {ends}"
    for mode in range(tracks.sizes["mode"]):
        cells = []
        for n in (0, -1):
            one = tracks.isel(omega=n, mode=mode)
            hertz, damping = float(one["frequency"]), float(one["damping_ratio"])
            cells.append(f"{one['name'].values!s:<13}{hertz:8.4f} Hz {100 * damping:6.2f} %")
        yield f"{mode + 1:>4}  {'  '.join(cells)}"


report = report_of(_named)


def main(
    *,
    min_rpm: float = 4.0,
    max_rpm: float = DATA.rated_rpm,
    speeds: int = 9,
    modes: int = 8,
    tower_elements: int = 4,
    table: str = "",
    out: OutputFolder = NOWHERE,
    progress: bool = False,
) -> xr.Dataset:
    """Modes of a three-bladed wind turbine on its tower, in multiblade coordinates, with names.

    Parameters
    ----------
    min_rpm, max_rpm : float
        Range of the rotor's speed, rpm.
    speeds : int
        Number of speeds.
    modes : int
        Modes to follow.
    tower_elements : int
        Beam elements of the tower.
    table : str
        File with ElastoDyn's table of the blade; a coarse table by default.
    out : OutputFolder, optional
        Folder for data and figures; nothing is written without it.
    progress : bool
        Whether to show progress.

    Returns
    -------
    Dataset
        Tracks over the speed, with the names of the modes.

    Raises
    ------
    InputError
        The range of speeds is empty or not positive.
    """
    omega = rotor_speeds(min_rpm, max_rpm, speeds)
    family = modal.multiblade(
        lambda w: model(w / RPM, tower_elements=tower_elements, table=table), BLADES
    )
    tracks: xr.Dataset = family.track(omega, k=modes, rules=RULES, progress=progress)
    out.write_dataset("tracks.nc", tracks)
    title, orders = "wind turbine: multiblade modes", (1, 3, 6)
    out.draw(
        sheets.campbell_sheet("campbell.png", tracks, title, CAMPBELL, (7.6, 4.6), orders=orders)
    )
    out.explore(lambda: modal.explorer_view(tracks, family, title="over the rotor's speed"))
    variation = max(family.at(max_rpm * RPM).variation.values())
    out.remark(
        "can it be believed? Over a turn the multiblade matrices vary by"
        f" {variation:.1e} of their size: the modes are those of the whole motion"
    )
    return tracks
