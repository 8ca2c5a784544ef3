"""Blades from BeamDyn's own input: the primary file with the reference axis, and the blade file.

OpenFAST's manual (BeamDyn, Input Files): the primary file lists key points kp_xr, kp_yr, kp_zr (m)
and initial_twist (deg), divides them into members, which share their end points and have a spline
each, and names the blade file, which lists stations as fractions of the axis with 6×6 stiffness and
mass matrices, and six damping coefficients. BeamDyn's x, y, z become y, z, x, and its twist,
positive about the negative z axis, changes sign (`assembly.blade_files`).
"""

from __future__ import annotations

from itertools import islice, pairwise
from pathlib import Path

import numpy as np
from scipy.interpolate import make_interp_spline

from assembly.bodies.blade_files import FROM_BEAMDYN
from assembly.bodies.blades import BladeTable
from assembly.errors import InputError
from assembly.magnitudes import DAMPING_STIFFNESS, EQUAL, MOST_ELEMENTS, POSITION
from assembly.materials.section_frames import section_axes
from assembly.mesh.text_files import read_text, shown
from assembly.types import Array

AXES = [2, 0, 1]  # (x, y, z) along the blade first, from (x, y, z) with z along it


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
    file = Path(primary)
    lines = read_text(file).splitlines()
    points = _key_points(file, lines)
    named = next((line for line in lines if "BldFile" in line), None)
    if named is None:
        raise InputError(f"{file}: no line names the blade file (BldFile)")
    blade_file = file.parent / named.split("BldFile")[0].strip(" \t\"'")
    eta, stiffness, mass = blade_matrices(blade_file)
    members = [_Member(points[part]) for part in _members(file, lines, len(points))]
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
    file = Path(path)
    lines = read_text(file).splitlines()
    count = _count(file, lines, "station_total")
    start = next((k for k, line in enumerate(lines) if "DISTRIBUTED PROPERTIES" in line), None)
    if start is None:
        raise InputError(f"{file}: no section DISTRIBUTED PROPERTIES")
    words = " ".join(lines[start + 1 :]).split()[: 73 * count]
    numbers = [_number(file, word) for word in words]
    if len(numbers) < 73 * count:
        raise InputError(
            f"{file}: {count} stations need {73 * count} numbers, the file has {len(numbers)}"
        )
    stations = np.array(numbers).reshape(count, 73)
    if stations[0, 0] < 0.0 or stations[-1, 0] > 1.0 + 1e-6:
        raise InputError(
            f"{file}: stations are fractions from 0 to 1, got {stations[0, 0]:g} to"
            f" {stations[-1, 0]:g}"
        )
    behind = np.flatnonzero(np.diff(stations[:, 0]) <= 0.0)
    if behind.size:
        at = int(behind[0]) + 1
        raise InputError(
            f"{file}: stations must increase, station {at + 1} is at {stations[at, 0]:g} after"
            f" {stations[at - 1, 0]:g}"
        )
    return stations[:, 0], stations[:, 1:37].reshape(-1, 6, 6), stations[:, 37:].reshape(-1, 6, 6)


def blade_damping(path: str | Path) -> Array:
    """The six damping coefficients (6,), s, of a BeamDyn blade file, in body order (x along it)."""
    file = Path(path)
    lines = read_text(file).splitlines()
    kind = _value(file, lines, "damp_type")
    if kind == 0.0:
        return np.zeros(6)
    if kind != 1.0:
        raise InputError(
            f"{file}: damp_type must be 0 or 1 (damping in proportion to stiffness), got {kind:g}"
        )
    start = next((k for k, line in enumerate(lines) if "DAMPING COEFFICIENT" in line), None)
    if start is None:
        raise InputError(f"{file}: no section DAMPING COEFFICIENT")
    # A line of names and a line of units come first.
    words = " ".join(lines[start + 3 : start + 4]).split()
    if len(words) < 6:
        raise InputError(f"{file}: damp_type 1 needs six coefficients mu1 … mu6, got {len(words)}")
    mu = np.array([_number(file, word) for word in words[:6]])
    DAMPING_STIFFNESS.check(mu, f"{file}: mu1 … mu6")
    return np.asarray(mu[FROM_BEAMDYN])


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


def _members(file: Path, lines: list[str], points: int) -> list[slice]:
    """The key points of each member; neighbours share one."""
    start = next((k for k, line in enumerate(lines) if "member_total" in line.split()), None)
    if start is None:
        return [slice(0, points)]
    total = _count(file, lines, "member_total", least=1)
    first = next(k for k, line in enumerate(lines) if "kp_total" in line.split()) + 1
    counts = []
    for k, line in enumerate(islice(lines, first, first + total), start=1):
        words = line.split()[:2]
        count = _number(file, words[1]) if len(words) == 2 else np.nan
        if not 2 <= count <= points or count != int(count):
            raise InputError(
                f"{file}: member {k} needs its number and its count of key points, got"
                f" {shown(line)!r}"
            )
        counts.append(int(count))
    if sum(counts) - len(counts) + 1 != points or len(counts) != total:
        raise InputError(
            f"{file}: {total} members of {counts} key points share their end points:"
            f" kp_total must be {sum(counts) - len(counts) + 1}, got {points}"
        )
    ends = np.cumsum([0, *(count - 1 for count in counts)]).tolist()
    return [slice(a, b + 1) for a, b in pairwise(ends)]


def _key_points(file: Path, lines: list[str]) -> Array:
    """kp_xr, kp_yr, kp_zr, initial_twist (n, 4)."""
    count = _count(file, lines, "kp_total")
    header = next((k for k, line in enumerate(lines) if "kp_xr" in line), None)
    if header is None:
        raise InputError(f"{file}: no table of key points (kp_xr kp_yr kp_zr initial_twist)")
    rows = []
    for line in islice(lines, header + 2, header + 2 + count):
        words = line.split()[:4]
        rows.append([_number(file, word) for word in words])
        if len(words) < 4:
            at = f"key point {len(rows)}"
            raise InputError(f"{file}: {at} needs four numbers, got {shown(line)!r}")
        POSITION.check(rows[-1][:3], f"{file}: key point {len(rows)}")
        if len(rows) > 1 and rows[-1][:3] == rows[-2][:3]:
            raise InputError(f"{file}: key point {len(rows)} is where the one before it is")
    if len(rows) < count:
        raise InputError(f"{file}: {count} key points announced, {len(rows)} found")
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


def _value(file: Path, lines: list[str], name: str) -> float:
    line = next((line for line in lines if name in line.split()), None)
    if line is None:
        raise InputError(f"{file}: no value {name}")
    return _number(file, line.split()[0])


def _number(file: Path, word: str) -> float:
    try:
        number = float(word)
    except ValueError:
        raise InputError(f"{file}: expected a number, got {shown(word)!r}") from None
    if not np.isfinite(number):
        raise InputError(f"{file}: expected a finite number, got {word!r}")
    return number


def _count(file: Path, lines: list[str], name: str, least: int = 2) -> int:
    value = _value(file, lines, name)
    if not least <= value <= MOST_ELEMENTS or value != int(value):
        expected = f"a whole number from {least} to {MOST_ELEMENTS}"
        raise InputError(f"{file}: {name} must be {expected}, got {value:g}")
    return int(value)
