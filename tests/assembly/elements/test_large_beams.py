"""prestress="nonlinear" of beams, bars, rings and rigid masses: closed forms and the elastica."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.linalg as la
from scipy.integrate import solve_bvp
from scipy.spatial.transform import Rotation

import assembly
import modal
from assembly.bodies.attachments import attach_damper, attach_mass, attach_spring
from assembly.bodies.blades import BladeTable, blade, rigid_section_mass
from assembly.bodies.body import Body
from assembly.bodies.nonlinear import equilibrium
from assembly.elements.family import Passage
from assembly.kinematics import Kinematics

ALLOY = assembly.Material(E=70e9, nu=0.33, rho=2700.0)
SHAPE = assembly.rectangle(0.2, 0.05)


def curved() -> Body:
    """A swept, twisted blade with its centres of mass and tension off the axis."""
    s = np.linspace(0.0, 1.0, 4)
    K = np.linalg.inv(SHAPE.compliance(ALLOY))
    K[0, 4] = K[4, 0] = 0.01 * K[0, 0]
    K[3, 4] = K[4, 3] = 0.2 * np.sqrt(K[3, 3] * K[4, 4])
    J = ALLOY.rho * (SHAPE.second_moments + SHAPE.A * np.outer([0, 0.02, -0.01], [0, 0.02, -0.01]))
    M = rigid_section_mass(ALLOY.rho * SHAPE.A, 0.02, -0.01, J)
    axis = np.stack([3.0 * s, 0.5 * s**2, -0.3 * s**3], axis=-1)
    return blade(BladeTable(s, axis, 0.7 * s, np.tile(K, (4, 1, 1)), np.tile(M, (4, 1, 1))))


def with_everything() -> Body:
    beam = assembly.beam(1.0, SHAPE, ALLOY, 3, theory="euler-bernoulli", pitch=(0.2, 0.8))
    body = attach_mass(beam, 3, 5.0, (0.3, 0.2, 0.4), (0.1, -0.2, 0.05))
    body = attach_spring(attach_spring(body, 0, stiffness=1e5), 0, 2, stiffness=1e6, damping=3.0)
    return attach_damper(body, 1, 10.0)


def total_force(body: Body, u: np.ndarray, c: np.ndarray) -> np.ndarray:
    return np.sum([f.force(Passage.at_rest(u, c)) for f in body.families], axis=0)


@pytest.mark.parametrize("make", [curved, with_everything])
def test_tangent_is_the_derivative_of_the_force(make: Callable[[], Body]) -> None:
    body = make()
    rng = np.random.default_rng(5)
    u, c = 0.1 * rng.standard_normal(body.size), 40.0 * rng.standard_normal(12)
    found = sum(f.tangents(Passage.at_rest(u, c))[1].toarray() for f in body.families)
    h = 1e-6
    columns = [
        (total_force(body, u + h * e, c) - total_force(body, u - h * e, c)) / (2.0 * h)
        for e in np.eye(body.size)
    ]
    np.testing.assert_allclose(found, np.stack(columns, axis=1), atol=2e-8 * abs(found).max())


@pytest.mark.parametrize("make", [curved, with_everything])
def test_force_has_a_potential(make: Callable[[], Body]) -> None:
    """Without ε̃ all loads are conservative: ∂f/∂u, here by differences of f, is symmetric."""
    body = make()
    rng = np.random.default_rng(6)
    u, c = 0.2 * rng.standard_normal(body.size), 40.0 * rng.standard_normal(12)
    c[6:9] = 0.0
    h = 1e-6
    columns = [
        (total_force(body, u + h * e, c) - total_force(body, u - h * e, c)) / (2.0 * h)
        for e in np.eye(body.size)
    ]
    J = np.stack(columns, axis=1)
    # Each entry against its own row and column: rotations and displacements differ in size.
    scale = np.sqrt(np.outer(abs(J).max(axis=1), abs(J).max(axis=0)))
    assert np.max(abs(J - J.T) / scale) < 1e-6


@pytest.mark.parametrize("make", [curved, with_everything])
def test_undeformed_tangent_is_the_elastic_stiffness(make: Callable[[], Body]) -> None:
    body = make()
    zero, rest = np.zeros(body.size), np.zeros(12)
    K = body.operators.K.tocsr()
    found = sum(f.tangents(Passage.at_rest(zero, rest))[1] for f in body.families)
    assert abs(found - K).max() <= 1e-12 * abs(K).max()
    assert np.all(total_force(body, zero, rest) == 0.0)


def test_finite_rotation_strains_nothing() -> None:
    body = curved()
    turn = np.array([0.7, -1.1, 0.9])
    R = Rotation.from_rotvec(turn).as_matrix()
    X = body.dofs.coordinates
    u = np.hstack([X @ R.T - X + [0.3, 0.2, -0.5], np.tile(turn, (len(X), 1))]).ravel()
    force = total_force(body, u, np.zeros(12))
    assert abs(force).max() < 1e-13 * abs(abs(body.operators.K.tocsr()) @ abs(u)).max()


def test_heavy_elastica() -> None:
    """EI θ″ = w (L − s) cos θ, θ(0) = θ′(L) = 0, by collocation; w L³/EI = 5 bends it by 40°."""
    stiff = assembly.Material(E=1e6, nu=0.0, rho=1.0)  # it hardly stretches
    section = assembly.Section(A=1.0, Iy=1e-6, Iz=1e-6, J=1e-6)
    w = 5.0
    mesh = np.linspace(0.0, 1.0, 200)
    exact = solve_bvp(
        lambda s, y: np.stack([y[1], w * (1.0 - s) * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])]),
        lambda a, b: np.array([a[0], b[1], a[2], a[3]]),
        mesh,
        np.zeros((4, 200)),
        tol=1e-9,
    )
    angle, _, x, y = exact.y[:, -1]
    assert abs(np.degrees(angle)) > 39.0

    def tip(elements: int, planar: bool) -> np.ndarray:
        body = assembly.beam(
            1.0, section, stiff, elements, clamped="start", theory="euler-bernoulli",
            rotary_inertia=False, planar=planar,
        )  # fmt: skip
        motion = Kinematics(acceleration=np.array([0.0, w, 0.0]))
        last = equilibrium(body.operators, motion).displacement[body.dofs.of_nodes([elements])]
        return last if planar else last[[0, 1, 5]]

    expected = np.array([x - 1.0, y, angle])
    coarse, fine = (abs(tip(n, True) - expected).max() for n in (6, 12))
    assert fine < 2e-6
    assert np.log2(coarse / fine) > 2.5
    np.testing.assert_allclose(tip(6, False), tip(6, True), atol=1e-8)


def test_spinning_bar_stretches_as_its_closed_form() -> None:
    """u_tip = tan(kL)/k − L with k = ω/c: the load on the stretched bar, fixed at the axis."""
    omega, L = 3000.0, 0.5
    k = omega * np.sqrt(ALLOY.rho / ALLOY.E)
    errors = []
    for elements in (8, 16):
        body = assembly.bar(L, SHAPE, ALLOY, elements, clamped="start")
        motion = Kinematics(omega=np.array([0.0, 0.0, omega]))
        tip = equilibrium(body.operators, motion).displacement[-1]
        errors.append(abs(tip / (np.tan(k * L) / k - L) - 1.0))
    assert errors[1] < 1e-3 and np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.05)
    beam = assembly.beam(L, SHAPE, ALLOY, 16, clamped="start")
    along = equilibrium(beam.operators, motion).displacement[-6]
    assert abs(along / (np.tan(k * L) / k - L) - 1.0) < errors[1]


def test_spinning_ring_grows_as_its_closed_form() -> None:
    """E A (r/R − 1)/R = ρ A Ω² r: r = R/(1 − ρΩ²R²/E)."""
    R, omega = 0.4, 2500.0
    motion = Kinematics(omega=np.array([0.0, 0.0, omega]))
    exact = R / (1.0 - ALLOY.rho * omega**2 * R**2 / ALLOY.E)
    assert exact / R - 1.0 > 0.03
    errors = []
    for elements in (16, 32, 64):
        body = assembly.ring(R, assembly.rectangle(0.04, 0.02), ALLOY, elements, planar=True)
        moved = equilibrium(body.operators, motion).displacement.reshape(-1, 3)
        grown = np.linalg.norm(body.dofs.coordinates[:, :2] + moved[:, :2], axis=1)
        np.testing.assert_allclose(grown, grown[0], rtol=1e-6)
        errors.append((grown[0] - exact) / (exact - R))
    assert np.all(np.log2(np.array(errors[:-1]) / errors[1:]) > 1.9)
    assert abs(errors[-1]) < 2e-4


def test_nonlinear_prestress_tends_to_the_linear_one_for_a_radial_blade() -> None:
    """Frequencies differ by the strain, here ρω²L²/2E = 4e-5 at 400 rad/s, not more."""
    body = assembly.beam(0.6, SHAPE, ALLOY, 16, clamped="start", offset=0.1)
    for omega in (50.0, 400.0):
        strain = ALLOY.rho * omega**2 * 0.7**2 / (2.0 * ALLOY.E)
        found = []
        for prestress in ("linear", "nonlinear"):
            s = body.freeze((0.0, 0.0, omega), prestress=prestress)
            squares = la.eigh(s.stiffness.toarray(), s.M.toarray(), eigvals_only=True)[:4]
            found.append(np.sqrt(squares))
        assert np.all(abs(found[1] / found[0] - 1.0) < 20.0 * strain)
        assert np.any(abs(found[1] / found[0] - 1.0) > 0.1 * strain)


def test_pinned_blade_keeps_its_rotation_at_the_stretched_shape() -> None:
    """A stretched blade turned about the axis is in equilibrium, on any mesh."""
    omega = 500.0
    motion = Kinematics(omega=np.array([0.0, 0.0, omega]))
    for elements in (8, 32):
        body = assembly.beam(0.6, SHAPE, ALLOY, elements, pinned="start", planar=True)
        u = equilibrium(body.operators, motion).displacement.reshape(-1, 3)
        v = np.ones_like(u)
        v[:, 0], v[:, 1] = -u[:, 1], body.dofs.coordinates[:, 0] + u[:, 0]
        s = body.freeze((0.0, 0.0, omega), prestress="nonlinear")
        free = v.ravel()[body.free]
        assert np.linalg.norm(s.stiffness @ free) < 1e-9 * np.linalg.norm(s.K_omega2 @ free)


@pytest.mark.parametrize("epsilon", [0.0, 500.0])
def test_ball_pin_holds_a_bent_beam_by_a_couple_that_turns_with_it(epsilon: float) -> None:
    """(K + K(ε) + K(ω²) + K_G) v = 0, v the rotation about ω of the stretched beam.

    ω is no principal axis of the beam, so that its pin carries the couple M = Jε + ω × Jω, and ½ M̃
    on the pin's rotation belongs to K_G. Rotation vectors φ change by the inverse of the left
    Jacobian of the exponential map, here by scipy's composition of rotations and differences.
    """
    axis = np.array([0.2, 0.6, -0.7]) / np.linalg.norm([0.2, 0.6, -0.7])
    motion = Kinematics(omega=60.0 * axis, epsilon=epsilon * axis)
    left = []
    for elements in (4, 8, 16):
        body = assembly.beam(
            1.0, assembly.rectangle(0.05, 0.02), ALLOY, elements,
            direction=(1.0, 0.4, 0.2), pinned="start",
        )  # fmt: skip
        u = equilibrium(body.operators, motion).displacement.reshape(-1, 6)
        h = 1e-5
        turns = [Rotation.from_rotvec(h * side * axis) for side in (1.0, -1.0)]
        phi = [(turn * Rotation.from_rotvec(u[:, 3:])).as_rotvec() for turn in turns]
        moved = np.cross(axis, body.dofs.coordinates + u[:, :3])
        v = np.hstack([moved, (phi[0] - phi[1]) / (2.0 * h)])
        s = body.freeze(motion.omega, motion.epsilon, prestress="nonlinear")
        free = v.ravel()[body.free]
        scale = np.linalg.norm(s.K_omega2 @ free)
        left.append(np.linalg.norm(s.stiffness @ free) / scale)
    assert left[2] < 2e-7 and left[0] / left[1] > 5.0 and left[1] / left[2] > 5.0
    # The couple alone is not symmetric.
    (couple,) = (p for p in modal.properties(s)["P4"] if p.statement.startswith("K_G"))
    assert epsilon or couple.verdict == "holds"


@pytest.mark.slow
def test_spinning_arc_bends_as_its_boundary_value_problem() -> None:
    """A clamped arc of 2 rad, bent open by 90 mm of 500: r, θ, F, M by collocation.

    r′ = (1 + e) t(θ), θ′ = 1/R + M/EI, F′ = −ρAω² r, M′ = −r′ × F, e = F·t/EA (extensible elastica,
    Antman, Nonlinear Problems of Elasticity, 2005, chapter 4, without shear).
    """
    R, angle, omega = 0.5, 2.0, 60.0
    section = assembly.rectangle(0.01, 0.05)
    EA, EI, line = ALLOY.E * section.A, ALLOY.E * section.Iz, ALLOY.rho * section.A
    mesh = np.linspace(0.0, R * angle, 300)

    def rates(s: np.ndarray, y: np.ndarray) -> np.ndarray:
        c, n = np.cos(y[2]), np.sin(y[2])
        grown = 1.0 + (y[3] * c + y[4] * n) / EA
        dx, dy, load = grown * c, grown * n, -line * omega**2
        return np.stack(
            [dx, dy, 1.0 / R + y[5] / EI, load * y[0], load * y[1], -(dx * y[4] - dy * y[3])]
        )

    start = np.zeros((6, 300))
    start[:3] = R * np.sin(mesh / R), R * (1.0 - np.cos(mesh / R)), mesh / R
    undeformed = start[:3, -1].copy()
    exact = solve_bvp(
        rates, lambda a, b: np.concatenate([a[:3], b[3:]]), mesh, start, tol=1e-6, max_nodes=20000
    )
    expected = exact.y[:3, -1] - undeformed
    assert exact.success and np.linalg.norm(expected[:2]) > 0.08
    errors = []
    for elements in (8, 16, 32):
        theta = np.linspace(0.0, angle, elements + 1)
        axis = R * np.stack([np.sin(theta), 1.0 - np.cos(theta), 0.0 * theta], axis=-1)
        K = np.linalg.inv(section.compliance(ALLOY, False) + np.diag([0, 1e-15, 1e-15, 0, 0, 0]))
        M = rigid_section_mass(line, 0.0, 0.0, ALLOY.rho * section.second_moments)
        several = len(theta)
        table = BladeTable(
            theta, axis, 0.0 * theta, np.tile(K, (several, 1, 1)), np.tile(M, (several, 1, 1))
        )
        body = blade(table, clamped="start", theory="euler-bernoulli")
        tip = equilibrium(
            body.operators, Kinematics(omega=np.array([0.0, 0.0, omega]))
        ).displacement[-6:]
        assert abs(tip[2:5]).max() < 1e-12
        errors.append(np.linalg.norm(tip[[0, 1, 5]] - expected) / np.linalg.norm(expected))
    assert errors[0] < 1e-3 and errors[2] < 1e-6
    assert np.all(np.log2(np.array(errors[:-1]) / errors[1:]) > 4.0)
