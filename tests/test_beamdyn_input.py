"""BeamDyn's own input files, written here in the format of OpenFAST's manual."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import assembly
from assembly.bodies.beamdyn_input import beamdyn_blade
from assembly.bodies.blades import blade, rigid_section_mass
from assembly.errors import InputError
from assembly.materials.section_frames import section_axes

SHAPE = assembly.rectangle(0.3, 0.08)
ALLOY = assembly.Material(E=70e9, nu=0.33, rho=2700.0)
TO_BEAMDYN = np.array([1, 2, 0, 4, 5, 3])
STATIONS = 9


def write(folder: Path, swept: bool) -> Path:
    """A primary and a blade file; the section is in BeamDyn's axes (y, z, x of ours)."""
    z = np.linspace(0.0, 4.0, STATIONS)
    x, y, twist = (0.02 * z**2, -0.01 * z**2, 3.0 * z) if swept else (0.0 * z, 0.0 * z, 0.0 * z)
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
        "          1   member_total    - Total number of members (-)\n"
        f"         {STATIONS}   kp_total        - Total number of key points (-)\n"
        f"     1     {STATIONS}                 - Member number; Number of key points\n"
        "\t\t kp_xr \t\t kp_yr \t\t kp_zr \t\t initial_twist\n\t\t (m) \t (m) \t (m) \t (deg)\n"
        f"{rows}\n---------------------- MATERIAL PARAMETER ------\n"
        '"sections.dat"    BldFile - Name of file containing properties for blade\n'
    )

    def block(A: np.ndarray) -> str:
        return "\n".join("   ".join(f"{v:.15E}" for v in row) for row in A)

    sections = "\n\n".join(
        f"  {eta:.15f}\n{block(K)}\n\n{block(M)}" for eta in np.linspace(0.0, 1.0, STATIONS)
    )
    (folder / "sections.dat").write_text(
        " ------- BEAMDYN V1.00.* INDIVIDUAL BLADE INPUT FILE ------\n Test Format 1\n"
        " ---------------------- BLADE PARAMETERS ------\n"
        f"{STATIONS}   station_total    - Number of blade input stations (-)\n"
        " 1   damp_type        - Damping type\n"
        "  ---------------------- DAMPING COEFFICIENT------\n   mu1 mu2\n   (-) (-)\n1.0E-03 1E-3\n"
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
    two = assembly.beam(4.0, SHAPE, ALLOY, STATIONS - 1, clamped="start", offset=0.4)
    for name in ("M", "C", "K", "K_omega2", "K_G"):
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


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("primary.dat", "BldFile", "Blade", "BldFile"),
        ("primary.dat", "kp_total", "points", "kp_total"),
        ("primary.dat", "sections.dat", "absent.dat", "no such file"),
        ("sections.dat", "station_total", "stations", "station_total"),
        ("sections.dat", "  0.000000000000000\n", "  zero\n", "expected a number, got 'zero'"),
        ("sections.dat", "  1.000000000000000\n", "", "657 numbers"),
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
