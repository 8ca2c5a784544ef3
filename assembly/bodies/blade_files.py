"""Tables of blades as OpenFAST's modules have them: BeamDyn's 6×6 matrices, ElastoDyn's scalars.

Both have z along the blade from root to tip, x towards the suction side (flap) and y towards the
trailing edge (edge). Here x runs along the blade, so that (x, y, z) of a body are their (z, x, y):
a cyclic change of names, which keeps the handedness.

Their structural twist is positive about the negative z axis (OpenFAST's manual, BeamDyn, "Geometry
Parameter"): a section twisted by θ has its flap axis along x cos θ − y sin θ. `BladeTable.twist`
follows the right-hand rule about the blade's axis, so it is −θ.

BeamDyn's own input (OpenFAST's manual, BeamDyn, Input Files) is a primary file and a blade file.
The primary file lists key points kp_xr, kp_yr, kp_zr (m) and initial_twist (deg), divides them into
members, which share their end points and have a spline each, and names the blade file. That lists
stations as fractions of the axis with 6×6 stiffness and mass matrices, and six coefficients of
damping.
"""

from __future__ import annotations

import csv
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
from scipy.interpolate import make_interp_spline

from assembly.bodies.blades import BladeTable, rigid_section_mass, uncoupled_stiffness
from assembly.errors import InputError
from assembly.magnitudes import DAMPING_STIFFNESS, EQUAL, MOST_ELEMENTS, POSITION
from assembly.materials.sections import section_axes
from assembly.mesh.text_files import read_text, shown
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


AXES = FROM_BEAMDYN[:3]  # (x, y, z) along the blade first, from (x, y, z) with z along it


def beamdyn_blade(primary: str | Path, hub_radius: float = 0.0) -> BladeTable:
    """The blade of a BeamDyn primary file, with its axis from the root along body x.

    Parameters
    ----------
    primary : str or Path
        The primary file; it names the blade file.
    hub_radius : float
        Distance of the root from the rotor axis, m.

    Returns
    -------
    BladeTable
        At zero twist the section's y axis (BeamDyn's x) has no component along body z (BeamDyn's
        y). Members meet in kinks, with the matrices in between there. `mu` are the file's six
        coefficients, zero for its damp_type 0.

    Raises
    ------
    InputError
        For a file that cannot be used; the message names file and place.

    Notes
    -----
    OpenFAST's manual, BeamDyn, "Input Files".
    """
    text = _Lines(primary)
    points = _key_points(text)
    named = text.lines[text.place("BldFile", "line names the blade file (BldFile)")]
    blade_file = text.file.parent / named.split("BldFile")[0].strip(" \t\"'")
    eta, stiffness, mass = blade_matrices(blade_file)
    members = [_Member(points[part]) for part in _members(text, len(points))]
    at_eta, s, key_values, slope = _stations(members, eta)
    axis = key_values[:, AXES] + np.array([hub_radius, 0.0, 0.0])
    twist = _zero_twist(slope[:, AXES]) - np.radians(key_values[:, 3])
    stiffness, mass = (
        make_interp_spline(eta, A[:, FROM_BEAMDYN][:, :, FROM_BEAMDYN], k=1)(at_eta)
        for A in (stiffness, mass)
    )
    return BladeTable(s, axis, twist, stiffness, mass, mu=blade_damping(blade_file))


def blade_matrices(path: str | Path) -> tuple[Array, Array, Array]:
    """Fractions (n,) and stiffness and mass (n, 6, 6) of a BeamDyn blade file, in its own order."""
    text = _Lines(path)
    count = text.count("station_total")
    start = text.place("DISTRIBUTED PROPERTIES", "section DISTRIBUTED PROPERTIES")
    words = " ".join(text.lines[start + 1 :]).split()[: 73 * count]
    numbers = [text.number(word) for word in words]
    if len(numbers) < 73 * count:
        raise text.fault(f"{count} stations need {73 * count} numbers, the file has {len(numbers)}")
    stations = np.array(numbers).reshape(count, 73)
    if stations[0, 0] < 0.0 or stations[-1, 0] > 1.0 + 1e-6:
        raise text.fault(
            f"stations are fractions from 0 to 1, got {stations[0, 0]:g} to {stations[-1, 0]:g}"
        )
    behind = np.flatnonzero(np.diff(stations[:, 0]) <= 0.0)
    if behind.size:
        at = int(behind[0]) + 1
        raise text.fault(
            f"stations must increase, station {at + 1} is at {stations[at, 0]:g} after"
            f" {stations[at - 1, 0]:g}"
        )
    return stations[:, 0], stations[:, 1:37].reshape(-1, 6, 6), stations[:, 37:].reshape(-1, 6, 6)


def blade_damping(path: str | Path) -> Array:
    """The six damping coefficients (6,), s, of a BeamDyn blade file, in body order (x along it)."""
    text = _Lines(path)
    kind = text.value("damp_type")
    if kind == 0.0:
        return np.zeros(6)
    if kind != 1.0:
        raise text.fault(
            f"damp_type must be 0 or 1 (damping in proportion to stiffness), got {kind:g}"
        )
    start = text.place("DAMPING COEFFICIENT", "section DAMPING COEFFICIENT")
    # A line of names and a line of units come first.
    words = " ".join(text.lines[start + 3 : start + 4]).split()
    if len(words) < 6:
        raise text.fault(f"damp_type 1 needs six coefficients mu1 … mu6, got {len(words)}")
    mu = np.array([text.number(word) for word in words[:6]])
    DAMPING_STIFFNESS.check(mu, f"{text.file}: mu1 … mu6")
    return np.asarray(mu[FROM_BEAMDYN])


class _Lines:
    """The lines of a file, and what is looked up in them; errors name the file."""

    def __init__(self, path: str | Path) -> None:
        self.file = Path(path)
        self.lines = read_text(self.file).splitlines()

    def fault(self, words: str) -> InputError:
        return InputError(f"{self.file}: {words}")

    def place(self, words: str, meaning: str) -> int:
        """The number of the first line that has the words."""
        found = [k for k, line in enumerate(self.lines) if words in line]
        if not found:
            raise self.fault(f"no {meaning}")
        return found[0]

    def value(self, name: str) -> float:
        """The number in front of a name."""
        line = next((line for line in self.lines if name in line.split()), None)
        if line is None:
            raise self.fault(f"no value {name}")
        return self.number(line.split()[0])

    def count(self, name: str, least: int = 2) -> int:
        value = self.value(name)
        if not least <= value <= MOST_ELEMENTS or value != int(value):
            expected = f"a whole number from {least} to {MOST_ELEMENTS}"
            raise self.fault(f"{name} must be {expected}, got {value:g}")
        return int(value)

    def number(self, word: str) -> float:
        try:
            number = float(word)
        except ValueError:
            raise self.fault(f"expected a number, got {shown(word)!r}") from None
        if not np.isfinite(number):
            raise self.fault(f"expected a finite number, got {word!r}")
        return number


class _Member:
    """A member's cubic spline through its key points (n, 4), over the lengths of chords."""

    def __init__(self, points: Array) -> None:
        steps = np.linalg.norm(np.diff(points[:, :3], axis=0), axis=1)
        self.chords = np.append(0.0, np.cumsum(steps))
        self.curve = make_interp_spline(self.chords, points, k=min(3, len(points) - 1))
        self._fine = np.linspace(0.0, self.chords[-1], 4001)
        speed = np.linalg.norm(self.curve(self._fine, 1)[:, :3], axis=1)
        steps = 0.5 * (speed[1:] + speed[:-1]) * np.diff(self._fine)
        self.arc = np.append(0.0, np.cumsum(steps))

    def at(self, fractions: Array) -> Array:
        """The spline's parameter at fractions of its arc length."""
        return np.asarray(np.interp(fractions, self.arc / self.arc[-1], self._fine))


def _stations(members: list[_Member], eta: Array) -> tuple[Array, Array, Array, Array]:
    """Fractions (n,), table's s (n,), key values and their slopes (n, 4) at the stations.

    A joint of members has a station on either side; the blade's own ends are those of the file.
    """
    ends = np.cumsum([0.0, *(member.arc[-1] for member in members)])
    ends = ends / ends[-1]
    first, last, start = ends[:-1] == 0.0, ends[1:] == 1.0, 0.0
    columns = []
    for k, member in enumerate(members):
        a, b = ends[k], ends[k + 1]
        own = eta[(first[k] | (eta > a + EQUAL)) & (last[k] | (eta < b - EQUAL))]
        own = np.concatenate([[] if first[k] else [a], own, [] if last[k] else [b]])
        at = member.at((own - a) / (b - a))
        columns.append((own, start + at, member.curve(at), member.curve(at, 1)))
        start += member.chords[-1]
    at_eta, s, values, slope = (np.concatenate(column) for column in zip(*columns, strict=True))
    return at_eta, s, values, slope


def _members(text: _Lines, points: int) -> list[slice]:
    """The key points of each member; neighbours share one."""
    if not any("member_total" in line.split() for line in text.lines):
        return [slice(0, points)]
    total = text.count("member_total", least=1)
    first = text.place("kp_total", "value kp_total") + 1
    counts = []
    for k, line in enumerate(islice(text.lines, first, first + total), start=1):
        words = line.split()[:2]
        count = text.number(words[1]) if len(words) == 2 else np.nan
        if not 2 <= count <= points or count != int(count):
            raise text.fault(
                f"member {k} needs its number and its count of key points, got {shown(line)!r}"
            )
        counts.append(int(count))
    if sum(counts) - len(counts) + 1 != points or len(counts) != total:
        raise text.fault(
            f"{total} members of {counts} key points share their end points:"
            f" kp_total must be {sum(counts) - len(counts) + 1}, got {points}"
        )
    ends = np.cumsum([0, *(count - 1 for count in counts)]).tolist()
    return [slice(a, b + 1) for a, b in pairwise(ends)]


def _key_points(text: _Lines) -> Array:
    """kp_xr, kp_yr, kp_zr, initial_twist (n, 4)."""
    count = text.count("kp_total")
    header = text.place("kp_xr", "table of key points (kp_xr kp_yr kp_zr initial_twist)")
    rows: list[list[float]] = []
    for line in islice(text.lines, header + 2, header + 2 + count):
        words, at = line.split()[:4], f"key point {len(rows) + 1}"
        rows.append([text.number(word) for word in words])
        if len(words) < 4:
            raise text.fault(f"{at} needs four numbers, got {shown(line)!r}")
        POSITION.check(rows[-1][:3], f"{text.file}: {at}")
        if len(rows) > 1 and rows[-1][:3] == rows[-2][:3]:
            raise text.fault(f"{at} is where the one before it is")
    if len(rows) < count:
        raise text.fault(f"{count} key points announced, {len(rows)} found")
    return np.array(rows)


def _zero_twist(slope: Array) -> Array:
    """The angle (n,), rad, about the tangent from the table's zero of twist to BeamDyn's.

    BeamDyn's flap axis at zero twist is normal to its y axis (here z) and to the tangent; a
    BladeTable's is y projected on the section. They differ where the axis bends in both planes.
    """
    tangent = slope / np.linalg.norm(slope, axis=1, keepdims=True)
    frames = section_axes(tangent, (0.0, 1.0, 0.0), np.zeros(len(slope)))
    flap = np.cross([0.0, 0.0, 1.0], tangent)
    return np.asarray(np.arctan2(*np.einsum("nik,ni->kn", frames[:, :, [2, 1]], flap)))
