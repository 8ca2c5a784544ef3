"""Dampers against the surroundings resist the steady motion: −d(v_O + ω̃X) in all that it loads.

Forces and powers by hand, closed forms of a spinning bead, the identity of a pinned body, and the
velocities of motions by differences of positions. The frozen matrices of a mechanism with such
dampers are in mechanisms/test_mechanism_residual.py, against its nonlinear equations.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as la
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import assembly
import modal
from assembly.bodies.body import Body
from assembly.bodies.nonlinear import equilibrium
from assembly.dofs import DofMap
from assembly.kinematics import Kinematics

SECTION = assembly.rectangle(0.05, 0.03)
SOFT = assembly.Material(E=5e6, nu=0.25, rho=300.0)


def bead(at: float, mass: float, stiffness: float, damping: float) -> Body:
    """A node in the plane at (at, 0) on a spring to the frame, damped against the surroundings."""
    dofs = DofMap.regular(np.array([[at, 0.0, 0.0]]), (0, 1))
    body = Body(dofs, (), np.zeros(2, dtype=bool), name="bead")
    body = assembly.attach_mass(body, 0, mass)
    body = assembly.attach_spring(body, 0, stiffness=stiffness)
    return assembly.attach_damper(body, 0, damping)


def test_driven_slider_works_against_its_damper() -> None:
    """2 m/s against 50 N·s/m: 100 N, less what the slider's weight gives along the slope."""
    slider = assembly.attach_damper(assembly.rigid_body(3.0, planar=True), 0, 50.0)
    mechanism = assembly.Mechanism(
        {"slider": slider},
        [assembly.prismatic("ground", (0, 0), "slider", (0, 0), axis=(0.8, 0.6), name="S")],
        [assembly.driver("S", 2.0)],
        gravity=(0, -9.81, 0),
    )
    assert mechanism.driving(0.3)["S"] == pytest.approx(100.0 + 3.0 * 9.81 * 0.6)
    force = mechanism.reactions(0.3)["S"].force
    assert_allclose(force[:2], 100.0 * np.array([0.8, 0.6]) + [0.0, 3.0 * 9.81], rtol=1e-12)


def damped_slider_crank(d: float) -> assembly.Mechanism:
    def beam(length: float, node: int) -> Body:
        body = assembly.beam(length, SECTION, SOFT, 2, planar=True)
        return assembly.attach_damper(body, node, d) if d else body

    slider = assembly.rigid_body(0.7, 0.02, centre=(0.05, -0.03, 0), planar=True)
    return assembly.Mechanism(
        {"crank": beam(0.15, 1), "rod": beam(0.4, 2), "slider": slider},
        [
            assembly.revolute("ground", (0, 0), "crank", "start", name="A"),
            assembly.revolute("crank", "end", "rod", "start", name="B"),
            assembly.revolute("rod", "end", "slider", (0.01, 0.02), name="C"),
            assembly.prismatic("ground", (0, 0.05), "slider", (-0.03, 0.04), axis=(1, 0.2)),
        ],
        [assembly.driver("A", 40.0)],
        initial={"rod": (0.15, 0, -0.1), "slider": (0.55, 0, 0)},
    )


def test_driver_supplies_what_the_dampers_dissipate() -> None:
    """τ ω = Σ d |v|² more than without them, v of the damped points by differences of positions."""
    d, h = 3.0, 1e-4
    damped, plain = damped_slider_crank(d), damped_slider_crank(0.0)
    for t in (0.01, 0.07, 0.11):
        power = 40.0 * (damped.driving(t)["A"] - plain.driving(t)["A"])
        lost = 0.0
        for name, X in (("crank", (0.075, 0.0)), ("rod", (0.4, 0.0))):
            x = {k: damped.place(t + k * h, name, X)[0] for k in (-2, -1, 1, 2)}
            v = (8.0 * (x[1] - x[-1]) - (x[2] - x[-2])) / (12.0 * h)
            lost += d * v @ v
        assert lost > 10.0
        assert power == pytest.approx(lost, rel=1e-9)


@pytest.mark.parametrize("planar", [True, False])
def test_hub_torque_of_a_turning_arm(planar: bool) -> None:
    """d ω L² about the hub, d ω L across the arm there."""
    d, omega, L = 4.0, 30.0, 0.5
    beam = assembly.beam(L, SECTION, SOFT, 3, planar=planar)
    mechanism = assembly.Mechanism(
        {"arm": assembly.attach_damper(beam, "end", d)},
        [assembly.revolute("ground", (0, 0, 0), "arm", "start", name="hub")],
        [assembly.driver("hub", omega)],
    )
    assert mechanism.driving(0.0)["hub"] == pytest.approx(d * omega * L**2)
    hub = mechanism.reactions(0.0)["hub"]
    assert hub.force[1] == pytest.approx(d * omega * L)
    assert hub.moment[2] == pytest.approx(d * omega * L**2)


def test_velocity_of_the_origin_loads_a_cantilever() -> None:
    """Pulled along itself through the surroundings, it is pressed by P = d v at its tip.

    K_G of an Euler–Bernoulli element under −P (Przemieniecki, Theory of Matrix Structural Analysis,
    1968, section 15.2); at rest and across itself there is none.
    """
    d, v, L = 7.0, 3.0, 0.8
    beam = assembly.beam(
        L, SECTION, SOFT, 1, clamped="start", theory="euler-bernoulli", planar=True
    )
    body = assembly.attach_damper(beam, "end", d)
    still, moved = body.freeze(), body.freeze(velocity=(v, 0.0, 0.0))
    assert not np.any(still.Q) and still.parts["K_G"].is_zero
    assert_allclose(moved.Q, [-d * v, 0.0, 0.0], rtol=1e-14)
    expected = np.zeros((3, 3))
    expected[1:, 1:] = -d * v / (30.0 * L) * np.array([[36.0, -3.0 * L], [-3.0 * L, 4.0 * L**2]])
    assert_allclose(moved.K_G.toarray(), expected, atol=1e-12 * d * v)
    assert_allclose(body.freeze(velocity=2.0, axis=(0, 1, 0)).Q, [0.0, -2.0 * d, 0.0])
    # A dashpot between points of the body and its own frame does not feel the rigid motion.
    within = assembly.attach_spring(beam, "end", damping=d)
    assert not np.any(within.freeze(velocity=(v, 0.0, 0.0)).Q)
    spinning = dict(omega=(0, 0, 20.0))
    assert_allclose(within.freeze(**spinning).Q, beam.freeze(**spinning).Q)


def test_driven_arm_is_the_clamped_body_that_moves() -> None:
    """A mechanism knows the velocity of its bodies; one body is told: the same K_G and Q."""
    hub, speed = np.array([0.7, 0.2, 0.0]), 12.0
    arm = assembly.attach_damper(assembly.beam(0.8, SECTION, SOFT, 3), 2, 4.0)
    carrier = assembly.rigid_body(1.0, 0.1)
    mechanism = assembly.Mechanism(
        {"carrier": carrier, "arm": arm},
        [
            assembly.revolute("ground", (0, 0, 0), "carrier", (0, 0, 0), name="A"),
            assembly.fixed("carrier", tuple(hub), "arm", "start", name="W"),
        ],
        [assembly.driver("A", speed)],
        initial={"arm": (*hub, 0, 0, 0)},
    )
    now = mechanism.kinematics(0.02)["arm"]
    omega = np.array([0.0, 0.0, speed])
    assert_allclose(now.velocity, np.cross(omega, hub), rtol=1e-12)
    clamped = assembly.beam(0.8, SECTION, SOFT, 3, clamped="start")
    body = assembly.attach_damper(clamped, 2, 4.0)
    expected = body.freeze(omega, acceleration=now.acceleration, velocity=now.velocity)
    found = mechanism.freeze(0.02)
    # The carrier is driven, and all that moves is the arm beyond its root.
    last = slice(found.n - expected.n, None)
    for name in ("K_G", "K_D", "D"):
        A, B = (getattr(s, name).toarray() for s in (found, expected))
        assert_allclose(A[last, last], B, atol=1e-11 * abs(B).max(), err_msg=name)
    assert_allclose(found.Q[last], expected.Q, atol=1e-11 * abs(expected.Q).max())
    other = body.freeze(omega, acceleration=now.acceleration)
    assert abs(other.K_G - expected.K_G).max() > 1e-3 * abs(expected.K_G).max()


def test_spinning_bead_at_the_stretched_shape() -> None:
    """(k − mω²)(X + u) + d ω̃(X + u) = k X, in the plane, and small vibrations about it."""
    m, k, d, omega, X = 2.0, 5e3, 12.0, 20.0, np.array([0.3, 0.0])
    body = bead(X[0], m, k, d)
    turn = np.array([[0.0, -omega], [omega, 0.0]])
    stiff = (k - m * omega**2) * np.eye(2) + d * turn
    u = np.linalg.solve(stiff, k * X) - X
    motion = Kinematics(omega=np.array([0.0, 0.0, omega]))
    assert_allclose(equilibrium(body.operators, motion).displacement, u, rtol=1e-12)
    linear, stretched = (body.freeze((0, 0, omega), prestress=p) for p in ("linear", "nonlinear"))
    assert_allclose(linear.Q, m * omega**2 * X - d * turn @ X, rtol=1e-13)
    assert_allclose(linear.stiffness.toarray(), stiff, rtol=1e-13)
    assert_allclose(stretched.stiffness.toarray(), stiff, rtol=1e-13)


def test_pinned_beam_with_a_damper_keeps_its_rotation() -> None:
    """Inertia, damper and hub torque turn with a body about its axis: K_total v = 0."""
    beam = assembly.beam(1.3, SECTION, assembly.steel, 6, direction=(1, 0.3, 0), pinned="start")
    body = assembly.attach_damper(assembly.attach_damper(beam, "end", 400.0), 2, 150.0)
    system = body.freeze((0, 0, 150.0), (0, 0, 3e3))
    v = body.dofs.rigid_fields()[body.free, 5]
    scale = np.linalg.norm(system.K_D @ v)
    assert np.linalg.norm(system.stiffness @ v) <= 1e-9 * scale
    (identity,) = modal.properties(system)["P5"]
    assert identity.verdict == "holds"
    # A damper along one direction only does not turn into itself.
    uneven = assembly.attach_damper(beam, "end", np.diag([400.0, 0.0, 0.0]))
    (identity,) = modal.properties(uneven.freeze((0, 0, 150.0)))["P5"]
    assert identity.verdict == "does not apply"


@pytest.mark.parametrize("prestress", ["linear", "nonlinear"])
def test_pinned_solid_with_a_damper_keeps_its_rotation(prestress: str) -> None:
    """The hub of the pinned nodes balances the dampers' moment too."""
    body = assembly.gallery.block(3, 1, 1, size=(1.0, 0.2, 0.2), clamped=None, pinned=[0])
    far = int(np.linalg.norm(body.dofs.coordinates - body.dofs.coordinates[0], axis=1).argmax())
    body = assembly.attach_damper(body, far, 3e3)
    omega = 20.0
    motion = Kinematics(omega=np.array([0.0, 0.0, omega]))
    X = body.dofs.coordinates - body.dofs.coordinates[0]
    moved = X.copy()
    if prestress == "nonlinear":
        moved += equilibrium(body.operators, motion).displacement.reshape(-1, 3)
    v = np.cross([0.0, 0.0, 1.0], moved).ravel()[body.free]
    system = body.freeze(motion.omega, prestress=prestress)  # type: ignore[arg-type]
    scale = np.linalg.norm(system.K_D @ v)
    # At the stretched shape the hub's couple is that of the undeformed one: exact to the strain.
    bound = 1e-9 if prestress == "linear" else 1e-2
    assert np.linalg.norm(system.stiffness @ v) <= bound * scale


def test_pinned_solid_with_a_mass_keeps_its_rotation() -> None:
    """The hub balances the inertia of attached masses too, at any ω and ε."""
    body = assembly.gallery.block(3, 1, 1, size=(1.0, 0.2, 0.2), clamped=None, pinned=[0])
    far = int(np.linalg.norm(body.dofs.coordinates - body.dofs.coordinates[0], axis=1).argmax())
    loaded = assembly.attach_mass(body, far, 50.0)
    (identity,) = modal.properties(loaded.freeze((0, 0, 30.0), (0, 0, 200.0)))["P5"]
    assert identity.verdict == "holds"


def test_sweep_over_speed_has_the_dampers_in_its_prestress() -> None:
    """A track over ω against LAPACK on each instant: K_G has terms in ω and ω²."""
    beam = assembly.beam(0.6, SECTION, SOFT, 4, clamped="start", offset=0.1, planar=True)
    body = assembly.attach_damper(beam, "end", 0.5)
    speeds = np.linspace(0.0, 60.0, 7)
    tracks = modal.track(body, omega=speeds, axis=(0, 0, 1), k=2)
    for i, omega in enumerate(speeds):
        s = body.freeze((0.0, 0.0, omega))
        lower = -la.solve(s.M.toarray(), np.hstack([s.stiffness.toarray(), s.damping.toarray()]))
        exact = la.eigvals(np.vstack([np.eye(s.n, 2 * s.n, s.n), lower]))
        for value in tracks["eigenvalue"].values[i]:
            assert abs(exact - value).min() < 1e-8 * abs(value)


def moves(kind: str) -> assembly.Motion:
    times = np.linspace(0.0, 1.0, 41)
    place = np.stack([np.sin(2 * times), times**2, 0.3 * np.cos(3 * times)], axis=1)
    turns = Rotation.from_rotvec(np.stack([times, 0.4 * times**2, np.sin(times)], axis=1))
    if kind == "sampled":
        return assembly.Sampled(times, place, turns.as_quat())
    marks = np.array([[0.5, 0.1, 0.0], [0.7, -0.2, 0.1], [0.4, 0.3, 0.5], [0.9, 0.0, -0.2]])
    seen = np.einsum("tij,mj->tmi", turns.as_matrix(), marks) + place[:, None]
    return assembly.fit_markers(times, seen, marks)


@pytest.mark.parametrize("kind", ["sampled", "markers"])
def test_motions_tell_the_velocity_of_the_origin(kind: str) -> None:
    motion, h = moves(kind), 1e-4
    for t in (0.31, 0.62):
        r = {k: motion.frame(t + k * h)[0] for k in (-2, -1, 1, 2)}  # type: ignore[attr-defined]
        exact = (8.0 * (r[1] - r[-1]) - (r[2] - r[-2])) / (12.0 * h)
        R = motion.frame(t)[1]  # type: ignore[attr-defined]
        assert_allclose(motion.at(t).velocity, R.T @ exact, rtol=1e-7, atol=1e-9)


def test_function_motion_takes_a_velocity() -> None:
    rest = (0.0, 0.0, 0.0)
    three = assembly.FunctionMotion(lambda t: (rest, rest, rest))
    four = assembly.FunctionMotion(lambda t: (rest, rest, rest, (t, 0.0, 0.0)))
    assert not np.any(three.at(2.0).velocity)
    assert_allclose(four.at(2.0).velocity, [2.0, 0.0, 0.0])
    body = bead(1.0, 1.0, 10.0, 5.0)
    assert_allclose(assembly.moving(body, four).freeze(2.0).Q, [-10.0, 0.0])
    with pytest.raises(assembly.MotionError, match="velocity"):
        assembly.FunctionMotion(lambda t: (rest, rest)).at(0.0)
