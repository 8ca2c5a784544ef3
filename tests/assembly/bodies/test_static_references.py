"""Deformed equilibria against exact and published ones, with orders of convergence: rolled
cantilever, Bathe's 45° bend, kinked beam, follower loads, thin rings and arches."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import scipy.sparse.linalg as spla
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.integrate import solve_bvp
from scipy.spatial.transform import Rotation

import assembly
from assembly import gallery
from assembly.bodies.blades import BladeTable, rigid_section_mass
from assembly.bodies.nonlinear import equilibrium
from assembly.kinematics import Kinematics
from tests.support.beam_models import REFERENCES
from tests.support.exact_beam import ExactBeam, Part

Array = NDArray[np.float64]
SOFT = assembly.Material(E=2e9, nu=0.3, rho=2000.0)


def cantilever(body: assembly.Body, **options: Any) -> assembly.Mechanism:
    """Held at its start; what acts is on its node "end"."""
    root = assembly.fixed("ground", body.dofs.coordinates[0], "beam", "start", name="root")
    return assembly.Mechanism({"beam": body}, [root], [], **options)


def tip(body: assembly.Body, force: Array, follower: bool = False) -> Array:
    """Displacement and rotation vector of the end under a force there."""
    load = assembly.Load("beam", "end", force, follower=follower)
    trim = cantilever(body, loads=[load]).trim(0.0)
    return np.asarray(trim.displacements["beam"][-6:])


# A cantilever rolled up by a moment: M = EI κ all along it, an arc of a circle.


def rolled(elements: int, turn: float) -> tuple[float, float]:
    """Largest errors of the nodes' positions, m, and rotations, rad. The couple at the end is the
    preload of a bushing without stiffness."""
    section = assembly.rectangle(0.01, 0.01)
    moment = turn * SOFT.E * section.Iz
    couple = assembly.bushing(
        "ground", (1.0, 0.0), "beam", "end", stiffness=np.zeros(3), preload=(0, 0, -moment),
        name="couple",
    )  # fmt: skip
    body = assembly.beam(1.0, section, SOFT, elements, planar=True)
    u = cantilever(body, bushings=[couple]).trim(0.0).displacements["beam"].reshape(-1, 3)
    s = np.linspace(0.0, 1.0, elements + 1)
    sign = np.sign(u[-1, 2])
    arc = np.stack([np.sin(turn * s) / turn - s, sign * (1.0 - np.cos(turn * s)) / turn], axis=1)
    return abs(u[:, :2] - arc).max(), abs(u[:, 2] - sign * turn * s).max()


def test_a_rolled_cantilever_is_an_arc_of_a_circle() -> None:
    position, rotation = rolled(3, 0.25 * np.pi)
    assert position < 2e-5 and rotation < 1e-12


@pytest.mark.slow
def test_a_rolled_cantilever_converges_with_order_four() -> None:
    """Nine tenths of half a circle; the rotations are exact on any mesh."""
    coarse, fine = (rolled(n, 0.9 * np.pi) for n in (4, 8))
    assert np.log2(coarse[0] / fine[0]) > 3.8 and fine[0] < 1e-5
    assert max(coarse[1], fine[1]) < 1e-12


# Bathe and Bolourchi's bend (Int. J. Numer. Methods Eng. 14, 1979): an eighth of a circle of radius
# 100, square of side 1, E = 1e7, ν = 0, under a force across its plane.

RADIUS, ANGLE, E = 100.0, 0.25 * np.pi, 1e7
FORCES = np.array([E, 0.5 * E, 0.5 * E])  # of the section 1 × 1
MOMENTS = E / 12.0 * np.ones(3)  # GJ = G/6, as Simo and Vu-Quoc have it
BEND = ExactBeam((Part(RADIUS * ANGLE, (0.0, 0.0, 1.0 / RADIUS)),), FORCES, MOMENTS)


def sections(s: Array, axis: Array) -> BladeTable:
    n = len(s)
    stiffness = np.tile(np.diag(np.append(FORCES, MOMENTS)), (n, 1, 1))
    J = np.tile(np.diag([0.0, 1.0, 1.0]) / 12.0, (n, 1, 1))
    return BladeTable(s, axis, 0.0 * s, stiffness, rigid_section_mass(np.ones(n), 0.0, 0.0, J))


def bend(elements: int) -> assembly.Body:
    """Without Wagner's term, which the published solutions do not have."""
    t = np.linspace(0.0, ANGLE, elements + 1)
    axis = RADIUS * np.stack([np.sin(t), 1.0 - np.cos(t), 0.0 * t], axis=1)
    return assembly.blade(sections(RADIUS * t, axis), wagner=False)


# Position of the tip: Simo and Vu-Quoc, Comput. Methods Appl. Mech. Eng. 58, 1986, with eight
# linear elements. Other authors differ by as much as these from the exact solution.
PUBLISHED = {300.0: (58.84, 22.33, 40.08), 600.0: (47.23, 15.79, 53.37)}


def published(load: float) -> Array:
    """The tip's displacement, which is within 0.15 of the exact one."""
    corner = RADIUS * np.array([np.sin(ANGLE), 1.0 - np.cos(ANGLE), 0.0])
    return np.array(PUBLISHED[load]) - corner


@pytest.mark.slow
def test_bathes_bend() -> None:
    force = np.array([0.0, 0.0, 300.0])
    exact = np.concatenate(BEND.tip(force, steps=2))
    assert_allclose(exact[:3], published(300.0), atol=0.15)
    assert_allclose(tip(bend(16), force), exact, atol=1e-6 * RADIUS)


@pytest.mark.slow
@pytest.mark.parametrize("follower", [False, True])
def test_bathes_bend_converges(follower: bool) -> None:
    """The geometry converges with it: the axis is a spline through the nodes."""
    force = np.array([0.0, 0.0, 600.0])
    exact = np.concatenate(BEND.tip(force, follower))
    if not follower:
        assert_allclose(exact[:3], published(600.0), atol=0.15)
    errors = [abs(tip(bend(n), force, follower) - exact)[:3].max() for n in (8, 16)]
    assert np.log2(errors[0] / errors[1]) > 3.8
    assert errors[1] < 5e-6 * RADIUS


# A kink: two straight parts at an angle, out of plane load, dead and following.


@pytest.mark.slow
@pytest.mark.parametrize("follower", [False, True])
def test_a_kinked_cantilever_converges(follower: bool) -> None:
    kink = np.array([0.3, -0.4, 0.9])
    exact_beam = ExactBeam((Part(60.0), Part(40.0, kink=tuple(kink))), FORCES, MOMENTS)
    axes = Rotation.from_rotvec(kink).as_matrix()
    corner = np.array([60.0, 0.0, 0.0])
    axis = np.stack([np.zeros(3), corner, corner, corner + 40.0 * axes[:, 0]])
    table = sections(np.array([0.0, 60.0, 60.0, 100.0]), axis)
    # The section is square and alike about all its axes: only the tangent counts.
    force = np.array([-60.0, 90.0, 200.0])
    exact = np.concatenate(exact_beam.tip(force, follower))
    assert np.linalg.norm(exact[:3]) > 40.0
    errors = [
        abs(tip(assembly.blade(table, refine=n, wagner=False), force, follower) - exact)[:3].max()
        for n in (2, 4, 8)
    ]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(orders > 3.0), (errors, orders)
    assert errors[-1] < 1e-3


# A solid bent by a load, and its frequencies about the bent shape: CalculiX's, on record.


def test_frequencies_of_a_bent_solid_are_those_of_calculix() -> None:
    record = json.loads((REFERENCES / "calculix_bent_block.json").read_text())
    given = record["parameters"]
    material = assembly.Material(E=given["E"], nu=given["nu"], rho=given["rho"])
    block = gallery.block(
        *given["cells"], "hex20", tuple(given["size"]), tuple(given["origin"]), material
    )
    motion = Kinematics(acceleration=np.array([0.0, 0.0, -given["load_acceleration_z"]]))
    system = block.freeze(acceleration=motion.acceleration, prestress="nonlinear")
    squares = spla.eigsh(system.stiffness, 6, system.M, sigma=0.0, return_eigenvectors=False)
    found = np.sqrt(np.sort(squares)) / (2.0 * np.pi)
    assert_allclose(found, record["values"]["frequency_Hz"], rtol=1e-6)
    assert (
        abs(equilibrium(block.operators, motion).displacement).max() > 0.04
    )  # of a thickness of 0.04 m
    # Neither the undeformed block nor the stress alone comes near.
    straight = block.freeze(acceleration=motion.acceleration)
    square = spla.eigsh(straight.stiffness, 1, straight.M, sigma=0.0, return_eigenvectors=False)
    assert abs(np.sqrt(square[0]) / (2.0 * np.pi) / found[0] - 1.0) > 5e-3


# Rings and arches: membrane and bending stiffness differ by 12 (R/h)².


def spun_ring(R: float, EI: float, EA: float, load: float) -> Array:
    """Positions (2, 2) of a ring at 90° and 180° from the point that holds it, spun about the
    diameter through that point: inextensible almost, extensible elastica by collocation.

    r' = (1 + e) t, θ' = 1/R + M/EI, F' = −q (0, y), M' = −r' × F, e = F·t/EA; by symmetry y = 0,
    θ = 3π/2 and F_x = 0 half-way round. load: q R⁴/EI.
    """
    s = np.linspace(0.0, np.pi * R, 200)
    y = np.zeros((6, len(s)))
    y[0], y[1], y[2] = R * np.cos(s / R), R * np.sin(s / R), 0.5 * np.pi + s / R

    def ends(a: Array, b: Array) -> Array:
        return np.array([a[0] - R, a[1], a[2] - 0.5 * np.pi, b[1], b[2] - 1.5 * np.pi, b[3]])

    for share in (0.25, 0.5, 0.75, 1.0):

        def rates(_: Array, y: Array, q: float = share * load / R**4) -> Array:
            c, n = np.cos(y[2]), np.sin(y[2])
            grown = 1.0 + (y[3] * c + y[4] * n) * EI / EA
            dx, dy = grown * c, grown * n
            return np.stack([dx, dy, 1.0 / R + y[5], 0.0 * dx, -q * y[1], dy * y[3] - dx * y[4]])

        found = solve_bvp(rates, ends, s, y, tol=1e-8, max_nodes=50000)
        s, y = found.x, found.y
    assert found.success
    return np.asarray(found.sol(np.pi * R * np.array([0.5, 1.0]))[:2].T)


def ring_error(slenderness: float, elements: int) -> float:
    """Distance of the two points from their exact places, of the radius 1."""
    h, load = 1.0 / slenderness, 1.5
    section, mass = assembly.rectangle(h, h), SOFT.rho * h * h
    EI = SOFT.E * section.Iz
    ring = assembly.ring(
        1.0, section, SOFT, elements, theory="euler-bernoulli", rotary_inertia=False
    )
    held = assembly.weld([ring], clamped=0)
    motion = Kinematics(omega=np.array([np.sqrt(load * EI / mass), 0.0, 0.0]))
    moved = equilibrium(held.operators, motion).displacement.reshape(-1, 6)[:, :3]
    places = (held.dofs.coordinates + moved)[[elements // 4, elements // 2], :2]
    exact = spun_ring(1.0, EI, SOFT.E * section.A, load)
    assert np.linalg.norm(exact[1] - [-1.0, 0.0]) > 0.2  # bent to an oval
    return float(np.linalg.norm(places - exact, axis=1).max())


def test_thin_rings_do_not_lock() -> None:
    """Elements an eighth of the ring long, bent by a load in its plane: the error does not grow
    with R/h from 1e3 to 1e4, where membrane and bending stiffness differ by 1.2e7 and 1.2e9."""
    thick, thin = (ring_error(slenderness, 8) for slenderness in (1e3, 1e4))
    assert thick < 3e-3 and thin == pytest.approx(thick, rel=1e-2)


@pytest.mark.slow
def test_thin_rings_converge() -> None:
    errors = [ring_error(1e3, n) for n in (8, 16, 32)]
    assert np.all(np.array(errors[1:]) < 0.55 * np.array(errors[:-1])), errors
    assert errors[-1] < 4e-4
