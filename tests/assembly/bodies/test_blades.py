"""Beams along curved and twisted axes with 6×6 sections."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg as la

import assembly
from assembly.bodies.beams import chain
from assembly.bodies.blade_files import beamdyn_table, elastodyn_table
from assembly.bodies.blades import (
    BladeTable,
    blade,
    blade_stations,
    rigid_section_mass,
    uncoupled_stiffness,
)
from assembly.bodies.body import Body
from assembly.dofs import DofMap
from assembly.elements.beam import BeamFamily
from assembly.errors import InputError, SectionError
from assembly.kinematics import skew
from assembly.materials.sections import section_axes, turned
from tests.support.beam_models import BLADE_ALLOY as ALLOY
from tests.support.beam_models import SHAPE, frequencies, section_matrices, swept_table
from tests.support.paths import ROOT

DATA = ROOT.parent / "shared" / "data"


def about_another_axis(matrix: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """A form of (u, φ) at the centroid as one of (u, φ) at an axis from which the centroid is c."""
    T = np.eye(6)
    T[:3, 3:] = -skew(centre)
    return T.T @ matrix @ T


def straight_table(
    centre: tuple[float, float], start: float = -2.0, length: float = 4.0
) -> BladeTable:
    s = np.linspace(0.0, length, 9)
    c = np.array([0.0, *centre])
    axis = np.array([start, 0.0, 0.0]) + s[:, None] * np.array([1.0, 0.0, 0.0]) - c
    K, M = (np.tile(about_another_axis(A, c), (9, 1, 1)) for A in section_matrices())
    return BladeTable(s, axis, 0.0 * s, K, M)


@pytest.mark.parametrize("theory", ["timoshenko", "euler-bernoulli"])
def test_uniform_straight_table_is_the_beam(theory: str) -> None:
    one = blade(straight_table((0.0, 0.0), 0.4), clamped="start", theory=theory)  # type: ignore[arg-type]
    two = assembly.beam(4.0, SHAPE, ALLOY, 8, clamped="start", offset=0.4, theory=theory)  # type: ignore[arg-type]
    motion = ((10.0, -20.0, 50.0), (100.0, 50.0, -30.0), (3.0, 2.0, 1.0))
    for name in ("M", "C", "K", "K_epsilon", "K_omega2", "K_G"):
        a, b = (getattr(body.freeze(*motion), name).toarray() for body in (one, two))
        np.testing.assert_allclose(a, b, atol=1e-9 * abs(b).max(), err_msg=name)


@pytest.mark.parametrize("spin", [(0.0, 0.0, 0.0), (0.0, 0.0, 90.0)])
def test_reference_axis_is_a_matter_of_description(spin: tuple[float, float, float]) -> None:
    """The same free beam about its centroid line and about a line elsewhere in its section.

    Above 120 rad/s are the elastic modes; the rigid ones are at 0 and at the spin.
    """
    about_centroid = frequencies(blade(straight_table((0.0, 0.0))).freeze(spin), 16, 120.0)
    elsewhere = frequencies(blade(straight_table((0.11, -0.23))).freeze(spin), 16, 120.0)
    np.testing.assert_allclose(elsewhere, about_centroid, rtol=1e-7)


def short_straight_beams(table: BladeTable, count: int) -> Body:
    """Straight elements with constant sections, those of the middle of each."""
    nodes = np.linspace(0.0, 1.0, count + 1)
    curved = blade_stations(table, nodes, "timoshenko")
    middle = curved.X.shape[1] // 2
    X = table.curve()(nodes)
    span = X[1:] - X[:-1]
    points = curved.rule.points[:, None]
    spread = lambda a: np.broadcast_to(a[:, middle : middle + 1], a.shape)  # noqa: E731
    inertia = curved.inertia
    stations = replace(
        curved,
        X=X[:-1, None] + points * span[:, None],
        slope=np.broadcast_to(span[:, None], curved.slope.shape),
        compliance=spread(curved.compliance),
        inertia=replace(inertia, m=spread(inertia.m), eta=spread(inertia.eta), J=spread(inertia.J)),
        tension_centre=spread(curved.tension_centre),
        radius2=spread(curved.radius2),
    )
    dofs = DofMap.regular(X, (0, 1, 2, 3, 4, 5))
    fixed = dofs.node == 0
    return Body(dofs, (BeamFamily(dofs, chain(count), stations),), fixed)


@pytest.mark.slow
@pytest.mark.parametrize("spin", [(0.0, 0.0, 0.0), (0.0, 15.0, 30.0)])
def test_swept_twisted_coupled_blade_is_many_short_straight_beams(
    spin: tuple[float, float, float],
) -> None:
    table = swept_table()
    curved = {
        n: frequencies(blade(table, refine=n, clamped="start").freeze(spin), 6) for n in (4, 8)
    }
    exact = (4.0 * curved[8] - curved[4]) / 3.0
    straight = {n: frequencies(short_straight_beams(table, n).freeze(spin), 6) for n in (48, 96)}
    # Chords and middle sections: error h², removed by extrapolation.
    np.testing.assert_allclose(straight[96], exact, rtol=2e-3)
    np.testing.assert_allclose((4.0 * straight[96] - straight[48]) / 3.0, exact, rtol=2e-5)


def test_swept_blade_is_in_equilibrium_wherever_it_is_turned() -> None:
    """P5 for any axis: K_total v = 0 for the rotation v about the spin."""
    table = swept_table()
    body = blade(table, pinned="start")
    axis = np.array([0.2, 0.6, -0.7]) / np.linalg.norm([0.2, 0.6, -0.7])
    s = body.freeze(90.0 * axis, -400.0 * axis)
    v = body.dofs.rigid_fields()[body.free, 3:] @ axis
    left = s.stiffness @ v
    scale = np.linalg.norm(s.K_omega2 @ v) + np.linalg.norm(s.K_epsilon @ v)
    # Tapered curves are not integrated exactly: seven points leave 1e-9 of the loads.
    assert np.linalg.norm(left) <= 1e-8 * scale


def test_end_loads_are_carried_exactly_by_any_mesh() -> None:
    """Patch test: under loads at its tip a node moves the same in every mesh that has it."""
    table = swept_table()
    tip = []
    for refine in (1, 2, 5):
        body = blade(table, refine=refine, clamped="start")
        K, n = body.supported.K.tocsr(), len(body.free)
        loads = np.zeros((n, 6))
        loads[-6:] = np.eye(6)
        moved = la.solve(K.toarray(), loads, assume_a="pos")
        tip.append(moved[6 * refine - 6 :: 6 * refine][:6])
    scale = abs(tip[0]).max(axis=0)
    for other in tip[1:]:
        assert np.max(abs(other - tip[0]) / scale) < 1e-8


def test_rigid_inertia_of_a_swept_blade() -> None:
    """vᵀMv against quadrature of the table's own mass matrices along its arc."""
    table = swept_table()
    V = blade(table).dofs.rigid_fields()
    found = V.T @ (blade(table).operators.M.tocsr() @ V)
    g, w = np.polynomial.legendre.leggauss(9)
    expected = np.zeros((6, 6))
    for a, b in zip(table.s[:-1], table.s[1:], strict=True):
        s = a + (b - a) * (g + 1.0) / 2.0
        slope = table.curve()(s, 1)
        ds = np.linalg.norm(slope, axis=1) * w * (b - a) / 2.0
        t = slope / np.linalg.norm(slope, axis=1)[:, None]
        M = turned(table.matrices("mass", s), section_axes(t, table.section_y, table.turn(s)))
        for X, weight, m in zip(table.curve()(s), ds, M, strict=True):
            R = np.eye(6)
            R[:3, 3:] = -skew(X)
            expected += weight * R.T @ m @ R
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * abs(expected).max())


@pytest.mark.skipif(not DATA.is_dir(), reason="the NREL 5 MW tables of ../shared/data are absent")
def test_nrel_5mw_blade_from_both_tables() -> None:
    """Mass of the header; first flap near the parked turbine's 0.6993 Hz; the tables agree."""
    full = blade(beamdyn_table(DATA / "nrel5mw_beamdyn_blade.csv", hub_radius=1.5), clamped="start")
    scalar = blade(
        elastodyn_table(DATA / "nrel5mw_elastodyn_blade.csv"),
        clamped="start",
        theory="euler-bernoulli",
        rotary_inertia=False,
    )
    rated = 12.1 * 2.0 * np.pi / 60.0
    found = []
    for body in (full, scalar):
        V = body.dofs.rigid_fields()
        assert V[:, 0] @ (body.operators.M.tocsr() @ V[:, 0]) == pytest.approx(16844.75, abs=0.01)
        still, turning = (
            frequencies(body.freeze((0.0, w, 0.0)), 2) / (2.0 * np.pi) for w in (0.0, rated)
        )
        assert still[0] == pytest.approx(0.6993, rel=0.03)
        # Southwell's f² = f₀² + k Ω²: hubs at the axis have k near 1.7 in flap, near 0.4 in edge.
        gain = (turning**2 - still**2) / (rated / (2.0 * np.pi)) ** 2
        assert 1.5 < gain[0] < 2.0 and 0.2 < gain[1] < 0.8
        found.append([*still, *turning])
    np.testing.assert_allclose(found[0], found[1], rtol=0.03)


def tip_under_gravity() -> np.ndarray:
    """Flap and edge displacement, m, of the NREL 5 MW blade's tip under gravity along −edge.

    Bending about principal axes, integrated twice, in BeamDyn's axes: x to the suction side, y to
    the trailing edge, z to the tip. The structural twist θ is about −z (OpenFAST's manual, BeamDyn,
    Input Files), so the flap axis is (cos θ, −sin θ) and the edge axis (sin θ, cos θ).
    """
    table = np.genfromtxt(DATA / "nrel5mw_elastodyn_blade.csv", delimiter=",", skip_header=1)
    r = np.linspace(table[0, 1], table[-1, 1], 4001)
    twist, m, flap, edge = (np.interp(r, table[:, 1], table[:, k]) for k in (3, 4, 5, 6))
    c, s = np.cos(np.radians(twist)), np.sin(np.radians(twist))

    def integral(f: np.ndarray) -> np.ndarray:
        return np.append(0.0, np.cumsum(0.5 * (f[1:] + f[:-1]) * np.diff(r)))

    shear = integral(-9.80665 * m)
    moment = integral(shear[-1] - shear)
    moment = moment[-1] - moment
    bending = -s * moment / flap, c * moment / edge  # curvatures along the flap and the edge axis
    x, y = c * bending[0] + s * bending[1], -s * bending[0] + c * bending[1]
    return np.array([integral(integral(x))[-1], integral(integral(y))[-1]])


@pytest.mark.skipif(not DATA.is_dir(), reason="the NREL 5 MW tables of ../shared/data are absent")
def test_nrel_5mw_blade_bends_to_the_suction_side_under_gravity() -> None:
    """A horizontal blade whose trailing edge is up: gravity moves the tip by +0.083 m in flap.

    BeamDyn's own regression case of it (bd_5MW_dynamic_gravity_Az90, released from rest, the first
    mode undamped) swings about +0.08 m in flap and −0.44 m in edge.
    """
    flap, edge = tip_under_gravity()
    assert (flap, edge) == pytest.approx((0.0833, -0.418), abs=1e-3)
    scalar = dict(theory="euler-bernoulli", rotary_inertia=False)
    tables = (
        (elastodyn_table(DATA / "nrel5mw_elastodyn_blade.csv"), scalar, 2e-3),
        # The 6×6 table shears as well, which adds 4 % in edge.
        (beamdyn_table(DATA / "nrel5mw_beamdyn_blade.csv", hub_radius=1.5), {}, 5e-2),
    )
    for table, options, tolerance in tables:
        system = blade(table, clamped="start", **options).freeze(acceleration=(0.0, 0.0, 9.80665))
        tip = la.solve(system.stiffness.toarray(), system.Q)[-6:-3]
        assert (tip[1], tip[2]) == pytest.approx((flap, edge), rel=tolerance)


def test_twist_of_openfast_tables_is_about_the_negative_blade_axis(tmp_path: Path) -> None:
    """OpenFAST's manual (BeamDyn, Input Files): a section twisted by 20° has its flap axis along
    x cos 20° − y sin 20° of the blade, which is body y cos 20° − z sin 20°."""
    scalar = tmp_path / "elastodyn.csv"
    scalar.write_text(
        "r_from_hub_center[m],StrcTwst[deg],BMassDen[kg/m],FlpStff[N m^2],EdgStff[N m^2]\n"
        + "".join(f"{r},20,10,1e6,4e6\n" for r in (1.0, 2.0, 3.0))
    )
    names = [f"{letter}{i}{j}" for letter in "KM" for i in range(1, 7) for j in range(1, 7)]
    row = ",".join(f"{value:g}" for value in np.tile(np.eye(6).ravel(), 2))
    full = tmp_path / "beamdyn.csv"
    full.write_text(
        f"z[m],twist[deg],{','.join(names)}\n" + "".join(f"{z},20,{row}\n" for z in (0, 1, 2))
    )
    expected = [0.0, np.cos(np.radians(20.0)), -np.sin(np.radians(20.0))]
    for table in (elastodyn_table(scalar), beamdyn_table(full)):
        frames = section_axes((1.0, 0.0, 0.0), table.section_y, table.twist)
        np.testing.assert_allclose(frames[:, :, 1], np.tile(expected, (3, 1)), atol=1e-12)


BAD = [
    (dict(s=[0.0, 1.0, 1.0]), InputError, "station 2"),
    (dict(twist=[0.0, np.nan, 0.0]), InputError, "twist is not finite at station 1"),
    (dict(axis=np.zeros((2, 3))), InputError, "axis has shape"),
    (dict(stiffness=-np.eye(6)[None].repeat(3, 0)), SectionError, "not positive definite"),
    (dict(stiffness=np.triu(np.ones((6, 6)))[None].repeat(3, 0)), SectionError, "not symmetric"),
    (dict(mass=np.diag([1.0, 2.0, 3.0, 1.0, 1.0, 1.0])[None].repeat(3, 0)), SectionError, "rigid"),
]


@pytest.mark.parametrize(("change", "kind", "words"), BAD)
def test_bad_tables_are_refused_in_one_line(change: dict, kind: type, words: str) -> None:
    s = np.linspace(0.0, 1.0, 3)
    good = dict(
        s=s,
        axis=s[:, None] * np.eye(3)[0],
        twist=0.0 * s,
        stiffness=uncoupled_stiffness(1.0, 1.0, 1.0, 1.0, 1.0, np.ones(3)),
        mass=rigid_section_mass(np.ones(3), 0.0, 0.0, np.eye(3)),
    )
    BladeTable(**good)
    with pytest.raises(kind, match=words) as fault:
        BladeTable(**(good | change))
    assert "\n" not in str(fault.value)


def test_blade_files_name_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        beamdyn_table(tmp_path / "absent.csv")
    file = tmp_path / "blade.csv"
    file.write_text("z[m],twist[deg]\n0,1\n1,2\n")
    with pytest.raises(InputError, match="no column 'K33'"):
        beamdyn_table(file)
    file.write_text("z[m],twist[deg]\n0,1\n1\n")
    with pytest.raises(InputError, match=r"blade\.csv"):
        beamdyn_table(file)
    with pytest.raises(InputError, match="refine"):
        blade(swept_table(), refine=0)
