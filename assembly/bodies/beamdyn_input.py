"""Blades from BeamDyn's own input: the primary file with the reference axis, and the blade file.

OpenFAST's manual (BeamDyn, Input Files): the primary file lists key points kp_xr, kp_yr, kp_zr (m)
and initial_twist (deg) and names the blade file, which lists stations as fractions of the axis with
6×6 stiffness and mass matrices. BeamDyn's x, y, z become y, z, x, and its twist, positive about the
negative z axis, changes sign (`assembly.blade_files`).
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import numpy as np
from scipy.interpolate import make_interp_spline

from assembly.bodies.blade_files import FROM_BEAMDYN
from assembly.bodies.blades import BladeTable
from assembly.errors import InputError
from assembly.magnitudes import POSITION
from assembly.materials.section_frames import section_axes
from assembly.mesh.text_files import read_text, shown
from assembly.types import Array

MOST_STATIONS = 1_000_000
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
        y). Damping coefficients are not read.

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
    eta, stiffness, mass = blade_matrices(file.parent / named.split("BldFile")[0].strip(" \t\"'"))
    rough = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(points[:, :3], axis=0), axis=1)))
    curve = make_interp_spline(rough, points, k=min(3, len(points) - 1))
    at = _along_arc(curve, rough[-1], eta)
    key_values, slope = curve(at), curve(at, 1)[:, AXES]
    axis = key_values[:, AXES] + np.array([hub_radius, 0.0, 0.0])
    twist = _zero_twist(slope) - np.radians(key_values[:, 3])
    stiffness, mass = (A[:, FROM_BEAMDYN][:, :, FROM_BEAMDYN] for A in (stiffness, mass))
    return BladeTable(at, axis, twist, stiffness, mass)


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
    return stations[:, 0], stations[:, 1:37].reshape(-1, 6, 6), stations[:, 37:].reshape(-1, 6, 6)


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


def _along_arc(curve: object, end: float, eta: Array) -> Array:
    """The curve's parameter at fractions eta of its arc length."""
    fine = np.linspace(0.0, end, 4001)
    speed = np.linalg.norm(curve(fine, 1)[:, :3], axis=1)  # type: ignore[operator]
    arc = np.append(0.0, np.cumsum(0.5 * (speed[1:] + speed[:-1]) * np.diff(fine)))
    return np.asarray(np.interp(eta, arc / arc[-1], fine))


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


def _count(file: Path, lines: list[str], name: str) -> int:
    value = _value(file, lines, name)
    if not 2 <= value <= MOST_STATIONS or value != int(value):
        expected = f"a whole number from 2 to {MOST_STATIONS}"
        raise InputError(f"{file}: {name} must be {expected}, got {value:g}")
    return int(value)
