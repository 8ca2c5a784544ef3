"""BeamDyn's own input files, written here in the format of OpenFAST's manual."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import assembly
from assembly.bodies.blade_files import beamdyn_blade
from assembly.bodies.blades import blade, rigid_section_mass
from assembly.errors import InputError
from assembly.materials.sections import section_axes

SHAPE = assembly.rectangle(0.3, 0.08)
ALLOY = assembly.Material(E=70e9, nu=0.33, rho=2700.0)
TO_BEAMDYN = np.array([1, 2, 0, 4, 5, 3])
STATIONS = 9


MU = (1e-3, 2e-3, 3e-3, 4e-3, 5e-3, 6e-3)  # of shear along x and y, stretch, bending, twist


def write(
    folder: Path, swept: bool, members: tuple[int, ...] = (STATIONS,), taper: float = 0.0
) -> Path:
    """A primary and a blade file; the section is in BeamDyn's axes (y, z, x of ours).

    members: numbers of key points; each after the first is 0.5 rad towards x from the one before.
    taper: share of the stiffness that the tip lacks.
    """
    z = np.linspace(0.0, 4.0, STATIONS)
    x, y, twist = (0.02 * z**2, -0.01 * z**2, 3.0 * z) if swept else (0.0 * z, 0.0 * z, 0.0 * z)
    for joint in np.cumsum([k - 1 for k in members])[:-1]:
        beyond = np.clip(z - z[joint], 0.0, None)
        x, z = x + np.sin(0.5) * beyond, z - (1.0 - np.cos(0.5)) * beyond
    order = np.ix_(TO_BEAMDYN, TO_BEAMDYN)
    K = np.linalg.inv(SHAPE.compliance(ALLOY))[order]
    J = ALLOY.rho * SHAPE.second_moments
    M = rigid_section_mass(ALLOY.rho * SHAPE.A, 0.0, 0.0, J)[0][order]
    rows = "\n".join(
        f"\t {a:.9e} \t {b:.9e} \t {c:.9e} \t {d:.9e}"
        for a, b, c, d in zip(x, y, z, twist, strict=True)
    )
    primary = folder / "primary.dat"
    primary.write_text(
        "--------- BEAMDYN INPUT FILE ------\na blade\n"
        "---------------------- GEOMETRY PARAMETER ------\n"
        f"          {len(members)}   member_total    - Total number of members (-)\n"
        f"         {STATIONS}   kp_total        - Total number of key points (-)\n"
        + "".join(
            f"     {k}     {count}                 - Member number; Number of key points\n"
            for k, count in enumerate(members, start=1)
        )
        + "\t\t kp_xr \t\t kp_yr \t\t kp_zr \t\t initial_twist\n\t\t (m) \t (m) \t (m) \t (deg)\n"
        f"{rows}\n---------------------- MATERIAL PARAMETER ------\n"
        '"sections.dat"    BldFile - Name of file containing properties for blade\n'
    )

    def block(A: np.ndarray) -> str:
        return "\n".join("   ".join(f"{v:.15E}" for v in row) for row in A)

    sections = "\n\n".join(
        f"  {eta:.15f}\n{block(K * (1.0 - taper * eta))}\n\n{block(M)}"
        for eta in np.linspace(0.0, 1.0, STATIONS)
    )
    (folder / "sections.dat").write_text(
        " ------- BEAMDYN V1.00.* INDIVIDUAL BLADE INPUT FILE ------\n Test Format 1\n"
        " ---------------------- BLADE PARAMETERS ------\n"
        f"{STATIONS}   station_total    - Number of blade input stations (-)\n"
        " 1   damp_type        - Damping type\n"
        "  ---------------------- DAMPING COEFFICIENT------\n   mu1 mu2 mu3 mu4 mu5 mu6\n"
        f"   (-) (-) (-) (-) (-) (-)\n{' '.join(map(str, MU))}\n"
        f" ---------------------- DISTRIBUTED PROPERTIES------\n{sections}\n"
    )
    return primary


def beamdyn_section(tangent: np.ndarray, twist: float) -> np.ndarray:
    """BeamDyn's section axes in its own x, y, z, as columns; twist in degrees.

    The manual (BeamDyn, Input Files, Geometry Parameter): the structural twist is about the
    negative z axis of the section. BD_ComputeIniNodalCrv of its source: without twist the section's
    x axis has no component along y.
    """
    x = np.array([tangent[2], 0.0, -tangent[0]]) / np.hypot(tangent[0], tangent[2])
    untwisted = np.stack([x, np.cross(tangent, x), tangent], axis=1)
    turn = Rotation.from_rotvec(-np.radians(twist) * tangent)
    return np.asarray(turn.as_matrix() @ untwisted)


def test_straight_beamdyn_blade_is_the_beam(tmp_path: Path) -> None:
    one = blade(beamdyn_blade(write(tmp_path, swept=False), hub_radius=0.4), clamped="start")
    mu = np.array(MU)[[2, 0, 1, 5, 3, 4]]
    two = assembly.beam(4.0, SHAPE, ALLOY, STATIONS - 1, clamped="start", offset=0.4, mu=mu)
    for name in ("M", "C", "D", "K", "K_omega2", "K_G"):
        a, b = (getattr(body.freeze((5.0, 10.0, 20.0)), name).toarray() for body in (one, two))
        np.testing.assert_allclose(a, b, atol=1e-8 * abs(b).max(), err_msg=name)


def test_swept_beamdyn_blade_has_its_axis_and_twist(tmp_path: Path) -> None:
    table = beamdyn_blade(write(tmp_path, swept=True))
    along, flap, edge = table.axis.T
    np.testing.assert_allclose(flap, 0.02 * along**2, atol=1e-6)
    np.testing.assert_allclose(edge, -0.01 * along**2, atol=1e-6)
    beamdyn = np.stack([flap, edge, along], axis=1)
    slope = np.stack([0.04 * along, -0.02 * along, np.ones(STATIONS)], axis=1)
    for k in range(STATIONS):
        tangent = slope[k] / np.linalg.norm(slope[k])
        expected = beamdyn_section(tangent, 3.0 * beamdyn[k, 2])[[2, 0, 1]][:, [2, 0, 1]]
        ours = section_axes(tangent[[2, 0, 1]], table.section_y, table.twist[k])
        np.testing.assert_allclose(ours, expected, atol=2e-6)
    arc = np.linalg.norm(
        np.diff(table.curve()(np.linspace(0.0, table.s[-1], 4000)), axis=0), axis=1
    )
    gaps = [arc[: round(3999 * s / table.s[-1])].sum() / arc.sum() for s in table.s]
    np.testing.assert_allclose(gaps, np.linspace(0.0, 1.0, STATIONS), atol=5e-4)


def test_undamped_beamdyn_blade(tmp_path: Path) -> None:
    """damp_type 0: the coefficients are ignored (OpenFAST's manual)."""
    primary = write(tmp_path, swept=False)
    file = tmp_path / "sections.dat"
    file.write_text(file.read_text().replace(" 1   damp_type", " 0   damp_type"))
    assert not np.any(beamdyn_blade(primary).mu)


def test_members_meet_in_kinks(tmp_path: Path) -> None:
    """Two straight members, joined at half the length: the weld of two straight beams."""
    table = beamdyn_blade(write(tmp_path, swept=False, members=(5, 5)), hub_radius=0.4)
    mu = np.array(MU)[[2, 0, 1, 5, 3, 4]]
    root = assembly.beam(2.0, SHAPE, ALLOY, 4, offset=0.4, mu=mu)
    tip = assembly.beam(
        2.0, SHAPE, ALLOY, 4, start=(2.4, 0, 0), direction=(np.cos(0.5), np.sin(0.5), 0.0), mu=mu
    )
    kinked = assembly.weld([root, tip], clamped=0)
    found = blade(table, clamped="start")
    for name in ("M", "C", "D", "K", "K_omega2", "K_G"):
        a, b = (getattr(body.freeze((5.0, 10.0, 20.0)), name).toarray() for body in (found, kinked))
        np.testing.assert_allclose(a, b, atol=1e-7 * abs(b).max(), err_msg=name)


def test_a_joint_of_members_between_stations_has_the_matrices_in_between(tmp_path: Path) -> None:
    table = beamdyn_blade(write(tmp_path, swept=False, members=(3, 7), taper=0.4))
    assert len(table.s) == STATIONS + 1
    file = tmp_path / "sections.dat"
    file.write_text(file.read_text().replace("  0.250000000000000\n", "  0.200000000000000\n"))
    between = beamdyn_blade(tmp_path / "primary.dat")
    assert len(between.s) == STATIONS + 2
    assert between.s[3] == between.s[4]
    # Linear between 0.2, which has the matrices of 0.25, and 0.375.
    share = 0.05 / 0.175
    expected = (1.0 - share) * table.stiffness[2] + share * table.stiffness[4]
    scale = abs(expected).max()
    for side in (3, 4):
        np.testing.assert_allclose(between.stiffness[side], expected, atol=1e-9 * scale)
    assert abs(table.stiffness[4] - table.stiffness[2]).max() > 0.01 * scale


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("primary.dat", "BldFile", "Blade", "BldFile"),
        ("primary.dat", "kp_total", "points", "kp_total"),
        ("primary.dat", "sections.dat", "absent.dat", "no such file"),
        ("sections.dat", "station_total", "stations", "station_total"),
        ("sections.dat", "  0.000000000000000\n", "  zero\n", "expected a number, got 'zero'"),
        ("sections.dat", "  1.000000000000000\n", "", "657 numbers"),
        ("sections.dat", " 1   damp_type", " 2   damp_type", "damp_type must be 0 or 1"),
        ("sections.dat", "damp_type", "damping", "no value damp_type"),
        ("sections.dat", " 0.006", "", "needs six coefficients mu1 … mu6, got 5"),
        ("sections.dat", " 0.006", " -1", "mu1 … mu6: must be 0, or a coefficient"),
        ("sections.dat", "  0.500000000000000\n", "  0.1\n", "stations must increase, station 5"),
        ("primary.dat", "1     9", "1     8", "kp_total must be 8, got 9"),
        ("primary.dat", "1     9", "1     1", "member 1 needs its number and its count"),
    ],
)
def test_bad_files_are_refused_in_one_line(
    tmp_path: Path, file: str, old: str, new: str, words: str
) -> None:
    primary = write(tmp_path, swept=False)
    text = (tmp_path / file).read_text()
    assert old in text
    (tmp_path / file).write_text(text.replace(old, new))
    with pytest.raises(InputError, match=words) as fault:
        beamdyn_blade(primary)
    assert "\n" not in str(fault.value)
