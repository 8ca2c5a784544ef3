"""Tables of blades as OpenFAST's modules have them: BeamDyn's 6×6 matrices, ElastoDyn's scalars.

Both have z along the blade from root to tip, x towards the suction side (flap) and y towards the
trailing edge (edge). Here x runs along the blade, so that (x, y, z) of a body are their (z, x, y):
a cyclic change of names, which keeps the handedness.

Their structural twist is positive about the negative z axis (OpenFAST's manual, BeamDyn, "Geometry
Parameter"): a section twisted by θ has its flap axis along x cos θ − y sin θ. `BladeTable.twist`
follows the right-hand rule about the blade's axis, so it is −θ.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from assembly.bodies.blades import BladeTable, rigid_section_mass, uncoupled_stiffness
from assembly.errors import InputError
from assembly.mesh.text_files import read_text
from assembly.types import Array

# (γx, γy, γz, κx, κy, κz) along the blade first, from BeamDyn's order of the same with z along it.
FROM_BEAMDYN = np.array([2, 0, 1, 5, 3, 4])


def beamdyn_table(path: str | Path, hub_radius: float = 0.0) -> BladeTable:
    """A straight blade from a CSV table of section matrices in BeamDyn's order.

    Parameters
    ----------
    path : str or Path
        Table with columns z[m], twist[deg], K11…K66, M11…M66. twist is positive about the negative
        z axis.
    hub_radius : float
        Distance of z = 0 from the rotor axis, m.

    Returns
    -------
    BladeTable

    Raises
    ------
    InputError
        For missing columns or values.
    """
    columns = read_columns(path)
    z, twist = column(columns, "z", path), column(columns, "twist", path)
    stiffness, mass = (
        np.stack([column(columns, f"{letter}{i}{j}", path) for i in order for j in order], axis=-1)
        for letter, order in (("K", FROM_BEAMDYN + 1), ("M", FROM_BEAMDYN + 1))
    )
    axis = np.stack([hub_radius + z, 0.0 * z, 0.0 * z], axis=-1)
    n = len(z)
    matrices = stiffness.reshape(n, 6, 6), mass.reshape(n, 6, 6)
    return BladeTable(z, axis, -np.radians(twist), *matrices)


def elastodyn_table(path: str | Path, stiff: float = 1e3) -> BladeTable:
    """A straight blade from a CSV table of ElastoDyn's scalar section data.

    Parameters
    ----------
    path : str or Path
        Table with columns r_from_hub_center, StrcTwst, BMassDen, FlpStff, EdgStff. StrcTwst[deg] is
        positive about the negative pitch axis.
    stiff : float
        EA, GA and GJ are `stiff` times the largest bending stiffness over 1 m² (GJ: times the
        bending stiffness itself).

    Returns
    -------
    BladeTable
        For theory="euler-bernoulli" with rotary_inertia=False.

    Raises
    ------
    InputError
        For missing columns or values.

    Notes
    -----
    ElastoDyn's blade has no extension, torsion or shear. Here their stiffnesses are finite but
    large.
    """
    columns = read_columns(path)
    r, twist, m, flap, edge = (
        column(columns, name, path)
        for name in ("r_from_hub_center", "StrcTwst", "BMassDen", "FlpStff", "EdgStff")
    )
    rigid = np.full_like(r, stiff * max(flap.max(), edge.max()))
    # Flap moves along y: moment about z. Edge moves along z: moment about y.
    stiffness = uncoupled_stiffness(rigid, rigid, rigid, rigid, edge, flap)
    # A rod's turn about itself needs some inertia: 1 % of the mass at 1 m.
    J = 0.5e-2 * m[:, None, None] * np.diag([0.0, 1.0, 1.0])
    axis = np.stack([r, 0.0 * r, 0.0 * r], axis=-1)
    mass = rigid_section_mass(m, 0.0, 0.0, J)
    return BladeTable(r, axis, -np.radians(twist), stiffness, mass)


def read_columns(path: str | Path) -> dict[str, Array]:
    """Columns of a CSV table by name, without the unit in brackets."""
    file = Path(path)
    try:
        rows = list(csv.reader(read_text(file).splitlines()))
    except csv.Error as fault:
        raise InputError(f"{file}: cannot be read: {fault}") from None
    if len(rows) < 3:
        raise InputError(f"{file}: expected a header and at least two rows, got {len(rows)} lines")
    names = [name.split("[")[0].strip() for name in rows[0]]
    try:
        values = np.array([[float(entry) for entry in row] for row in rows[1:] if row])
    except ValueError as fault:
        raise InputError(f"{file}: {fault}") from None
    if values.ndim != 2 or values.shape[1] != len(names):
        raise InputError(f"{file}: every row must have the {len(names)} values of the header")
    return dict(zip(names, values.T, strict=True))


def column(columns: dict[str, Array], name: str, path: str | Path) -> Array:
    """A column that must be there; InputError that names the file and what it has."""
    if name not in columns:
        names = ", ".join(list(columns)[:8])
        raise InputError(f"{path}: no column {name!r}; it has {names}, …")
    return columns[name]
