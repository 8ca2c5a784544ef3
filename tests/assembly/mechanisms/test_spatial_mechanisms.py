"""Mechanisms in space: joints, several drivers, closed loops, and welds against one body."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import assembly
from assembly.kinematics import unit_axis
from tests.support.spatial_mechanisms import block, link, rsur, two_drivers

Array = NDArray[np.float64]

MECHANISMS = [rsur, two_drivers]


def derivative(f: Callable[[float], Array], t: float, h: float) -> Array:
    weights = {1: 45.0, 2: -9.0, 3: 1.0}
    return sum(w * (f(t + k * h) - f(t - k * h)) for k, w in weights.items()) / (60.0 * h)  # type: ignore[return-value]


@pytest.mark.parametrize("make", MECHANISMS)
def test_velocities_and_accelerations_are_derivatives(
    make: Callable[[], assembly.Mechanism],
) -> None:
    mechanism, t, h = make(), 0.021, 5e-5

    def found(body: str) -> Callable[[float], Array]:
        def at(s: float) -> Array:
            omega = mechanism.kinematics(s)[body].omega
            return np.array([*mechanism.place(s, body, (0.07, -0.03, 0.02)), omega])

        return at

    for body in mechanism.bodies:
        _, v, a, _ = found(body)(t)
        rates = derivative(found(body), t, h)
        assert_allclose(v, rates[0], atol=1e-8)
        assert_allclose(a, rates[1], atol=1e-5)
        assert_allclose(mechanism.kinematics(t)[body].epsilon, rates[3], atol=1e-5)


@pytest.mark.parametrize("make", MECHANISMS)
def test_joints_stay_closed(make: Callable[[], assembly.Mechanism]) -> None:
    """Points coincide and axes keep their angle, in fixed axes, all the time."""
    mechanism = make()
    for t in np.linspace(-0.1, 0.3, 7):
        places = mechanism.position(t)
        for joint in mechanism.topology.joints:
            ends, axes = [], []
            for body, point, axis in zip(joint.bodies, joint.at, joint.axes, strict=True):
                r, R = (np.zeros(3), np.eye(3)) if body == "ground" else places[body]
                if isinstance(point, str):
                    point = mechanism.bodies[body].dofs.coordinates[
                        mechanism.bodies[body].sets[point][0]
                    ]
                ends.append(r + R @ np.asarray(point, dtype=float))
                axes.append(R @ unit_axis(axis))
            gap = ends[1] - ends[0]
            if joint.kind == "cylindrical":
                gap = gap - (gap @ axes[0]) * axes[0]
            assert_allclose(gap, 0.0, atol=1e-12)
            if joint.kind in ("revolute", "cylindrical"):
                assert_allclose(axes[0], axes[1], atol=1e-12)
            if joint.kind == "universal":
                assert axes[0] @ axes[1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("make", MECHANISMS)
def test_power_of_the_drivers_is_the_change_of_energy(
    make: Callable[[], assembly.Mechanism],
) -> None:
    mechanism, t = make(), 0.037

    def kinetic(s: float) -> Array:
        state, total = mechanism.state(s), 0.0
        for i, body in enumerate(mechanism.bodies.values()):
            v = body.dofs.rigid_fields() @ state.twist[i]
            total += 0.5 * v @ (body.operators.M.tocsr() @ v)
        return np.array(total)

    torque = mechanism.driving(t)
    power = sum(torque[d.joint] * d.law.at(t)[1] for d in mechanism.topology.drivers)
    assert_allclose(power, derivative(kinetic, t, 2e-5), rtol=1e-8)


def test_two_drivers_of_one_joint_have_a_force_each() -> None:
    """A rigid bush that turns and slides about x with its centre on the axis: τ = J q̈, F = m ẍ."""
    bush = assembly.rigid_body(2.0, (0.3, 0.4, 0.5), centre=(0.1, 0.0, 0.0))
    mechanism = assembly.Mechanism(
        {"bush": bush},
        [assembly.cylindrical("ground", (0, 0, 0), "bush", (0, 0, 0), axis=(1, 0, 0), name="C")],
        [
            assembly.driver("C", assembly.Uniform(3.0, acceleration=5.0), of="angle"),
            assembly.driver("C", assembly.Uniform(1.0, acceleration=-7.0), of="displacement"),
        ],
    )
    found = mechanism.driving(0.2)
    assert found == pytest.approx({"C angle": 0.3 * 5.0, "C displacement": 2.0 * -7.0})


@pytest.mark.parametrize("make", MECHANISMS)
def test_reactions_balance_every_body(make: Callable[[], assembly.Mechanism]) -> None:
    """Newton and Euler in fixed axes about each body's own centre of mass."""
    mechanism, t = make(), 0.037
    reactions, state = mechanism.reactions(t), mechanism.state(t)
    for i, (name, body) in enumerate(mechanism.bodies.items()):
        r, R = mechanism.position(t)[name]
        about_origin = body.dofs.rigid_fields().T @ (body.operators.M @ body.dofs.rigid_fields())
        m = about_origin[0, 0]
        centre = np.array([about_origin[1, 5], about_origin[2, 3], about_origin[0, 4]]) / m
        arm = np.array(
            [[0, -centre[2], centre[1]], [centre[2], 0, -centre[0]], [-centre[1], centre[0], 0]]
        )
        inertia = about_origin[3:, 3:] + m * arm @ arm
        motion = state.kinematics(i)
        spin = motion.omega
        a = mechanism.place(t, name, centre)[2]
        force, moment = -m * a, -R @ (inertia @ motion.epsilon + np.cross(spin, inertia @ spin))
        for joint in mechanism.topology.joints:
            if name not in joint.bodies:
                continue
            sign = 1.0 if joint.bodies[1] == name else -1.0
            # The force acts where the second body's point is.
            second = joint.bodies[1]
            point = joint.at[1]
            if isinstance(point, str):
                point = mechanism.bodies[second].dofs.coordinates[
                    mechanism.bodies[second].sets[point][0]
                ]
            where = mechanism.place(t, second, point)[0] - (r + R @ centre)
            found = reactions[joint.name]
            force = force + sign * found.force
            moment = moment + sign * (found.moment + np.cross(where, found.force))
        assert_allclose(force, 0.0, atol=1e-9 * m * np.abs(a).max())
        assert_allclose(moment, 0.0, atol=1e-8 * np.abs(reactions["B"].force).max())


def test_a_cardan_shaft_turns_unevenly() -> None:
    """ω₂/ω₁ = cos β / (1 − sin²β cos²θ), θ from where the driving yoke is in the shafts' plane."""
    beta, speed = 0.5, 10.0
    out = np.array([np.cos(beta), np.sin(beta), 0.0])
    # The second bearing stands on a stage that keeps its direction only: nothing is imposed twice.
    shaft = assembly.Mechanism(
        {name: block() for name in ("in", "out", "x", "y", "z")},
        [
            assembly.revolute("ground", (0, 0, 0), "in", (0, 0, 0), axis=(1, 0, 0), name="A"),
            assembly.universal(
                "in", (0, 0, 0), "out", (0, 0, 0), axis=(0, 1, 0), axis_second=(0, 0, 1), name="U"
            ),
            assembly.prismatic("ground", (0, 0, 0), "x", (0, 0, 0), axis=(1, 0, 0)),
            assembly.prismatic("x", (0, 0, 0), "y", (0, 0, 0), axis=(0, 1, 0)),
            assembly.prismatic("y", (0, 0, 0), "z", (0, 0, 0), axis=(0, 0, 1)),
            assembly.revolute(
                "z", (0, 0, 0), "out", (1, 0, 0), axis=out, axis_second=(1, 0, 0), name="B"
            ),
        ],
        [assembly.driver("A", speed)],
        initial={"out": (0, 0, 0, 0, 0, beta)},
    )
    for t in (0.0, 0.05, 0.21):
        ratio = shaft.kinematics(t)["out"].omega[0] / speed
        wanted = np.cos(beta) / (1.0 - (np.sin(beta) * np.cos(speed * t)) ** 2)
        assert ratio == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("make", MECHANISMS)
@pytest.mark.parametrize("held", [True, False])
def test_transport_makes_C_follow_the_mass(
    make: Callable[[bool], assembly.Mechanism], held: bool
) -> None:
    mechanism, t = make(held), 0.021
    C = mechanism.freeze(t).C.toarray()
    rate = derivative(lambda s: mechanism.freeze(s).M.toarray(), t, 5e-5)
    assert np.abs(rate).max() > 1e-4 * np.abs(C).max()
    assert_allclose(C + C.T, 2.0 * rate, atol=1e-8 * np.abs(C).max())
    literal = mechanism.freeze(t, transport=False).C.toarray()
    assert np.abs(literal + literal.T).max() <= 1e-14 * np.abs(literal).max()


@pytest.mark.parametrize("make", MECHANISMS)
def test_free_mobilities_are_in_the_null_space(make: Callable[[bool], assembly.Mechanism]) -> None:
    mechanism = make(False)
    system = mechanism.freeze(0.021, transport=False).only("C", "K")
    V = system.rigid
    assert V.shape[1] == len(mechanism.topology.drivers)
    assert np.all(np.abs(system.K @ V) <= 1e-11 * (abs(system.K) @ np.abs(V)).max())
    coupling = np.linalg.matrix_rank(V.T @ (system.C @ V), tol=1e-9)
    chain = system.null_chain
    assert chain is not None and chain.count == 2 * V.shape[1] - coupling
    loads = mechanism.freeze(0.021).Q
    assert np.all(np.abs(V.T @ loads) <= 1e-11 * (np.abs(V).T @ np.abs(loads)))


def eigenvalues(system: assembly.FrozenSystem) -> Array:
    n = system.n
    M = system.M.toarray()
    A = np.zeros((2 * n, 2 * n))
    A[:n, n:] = np.eye(n)
    A[n:, :n] = -np.linalg.solve(M, system.stiffness.toarray())
    A[n:, n:] = -np.linalg.solve(M, system.damping.toarray())
    found = np.sort(np.linalg.eigvals(A).imag)
    return np.asarray(found[found > 0.0][:8])


@pytest.mark.parametrize("planar", [True, False])
def test_welded_halves_are_one_beam(planar: bool) -> None:
    """Two beams welded at an angle of their frames, spinning, against the single clamped beam."""
    half, turned, speed = link(0.4, 3, planar=planar), 0.7, 300.0
    whole = link(0.8, 6, planar=planar, clamped="start")
    # The second half's frame is turned: its beam runs along its own axis at −turned.
    c, s = np.cos(turned), np.sin(turned)
    second = link(0.4, 3, planar=planar, direction=(c, -s, 0.0), section_y=(s, c, 0.0))
    pair = assembly.Mechanism(
        {"first": half, "second": second},
        [
            assembly.revolute("ground", (0, 0, 0), "first", "start", name="hub"),
            assembly.fixed("first", "end", "second", "start", turned=turned, name="weld"),
        ],
        [assembly.driver("hub", speed)],
        initial={"second": (0.4, 0, turned) if planar else (0.4, 0, 0, 0, 0, turned)},
    )
    expected = eigenvalues(whole.freeze(omega=(0, 0, speed)))
    for t in (0.0, 0.013):
        assert_allclose(eigenvalues(pair.freeze(t)), expected, rtol=1e-8)


@pytest.mark.parametrize("planar", [True, False])
def test_a_driven_arm_is_the_clamped_body(planar: bool) -> None:
    """Every part of the frozen system, with damping inside and against the surroundings."""

    def arm(**options: object) -> assembly.Body:
        body = link(0.5, 3, planar=planar, **options).with_damping(a=2.0, b=1e-5)
        return assembly.attach_damper(assembly.attach_mass(body, "end", 0.3), 2, 4.0)

    driven = assembly.Mechanism(
        {"arm": arm()},
        [assembly.revolute("ground", (0, 0, 0), "arm", "start", name="hub")],
        [assembly.driver("hub", assembly.Uniform(rate=150.0, acceleration=2e3))],
    )
    t = 0.01
    found = driven.freeze(t)
    expected = arm(clamped="start").freeze(omega=(0, 0, 170.0), epsilon=(0, 0, 2e3))
    for name in expected.parts:
        A = getattr(expected, name).toarray()
        part = getattr(found, name).toarray()
        assert_allclose(part, A, atol=1e-11 * np.abs(A).max(), err_msg=name)
    assert np.abs(expected.K_D).max() > 0.0 and np.abs(expected.D).max() > 0.0
    assert_allclose(found.Q, expected.Q, atol=1e-11 * np.abs(expected.Q).max())


def test_redundant_revolutes_of_a_flat_loop_are_named() -> None:
    """A planar four-bar with four revolutes in space has three conditions too many."""
    bodies = {"a": link(0.1), "b": link(0.3), "c": link(0.3)}
    joints = [
        assembly.revolute("ground", (0, 0, 0), "a", "start", name="A"),
        assembly.revolute("a", "end", "b", "start", name="B"),
        assembly.revolute("b", "end", "c", "start", name="C"),
        assembly.revolute("ground", (0.25, 0, 0), "c", "end", name="D"),
    ]
    initial = {"b": (0.1, 0, 0, 0, 0, 1.0), "c": (0.25, 0.25, 0, 0, 0, -1.5)}
    with pytest.raises(
        assembly.RedundantConstraintError, match="3 conditions too many: joint A, joint B"
    ):
        assembly.Mechanism(bodies, joints, [assembly.driver("A", 1.0)], initial=initial)
    # A ball and a universal joint in place of two revolutes: nothing is imposed twice.
    joints[1] = assembly.spherical("a", "end", "b", "start", name="B")
    joints[2] = assembly.universal(
        "b", "end", "c", "start", axis=(0, 1, 0), axis_second=(0, 0, 1), name="C"
    )
    loop = assembly.Mechanism(bodies, joints, [assembly.driver("A", 1.0)], initial=initial)
    assert loop.freeze(0.1).n > 0


def test_a_driver_that_repeats_another_is_named() -> None:
    arm = {"arm": link(0.2)}
    joint = [assembly.revolute("ground", (0, 0, 0), "arm", "start", name="A")]
    drivers = [assembly.driver("A", 1.0), assembly.driver("A", 1.0)]
    with pytest.raises(
        assembly.RedundantConstraintError, match="1 condition too many: driver of A"
    ):
        assembly.Mechanism(arm, joint, drivers)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: assembly.driver("B", 1.0),
            "driver of joint B: a spherical joint can be driven in nothing",
        ),
        (
            lambda: assembly.driver("D", 1.0),
            "cylindrical joint can be driven in angle or displacement",
        ),
        (
            lambda: assembly.driver("A", 1.0, of="displacement"),
            "revolute joint can be driven in angle",
        ),
    ],
)
def test_drivers_that_do_not_fit_are_named(
    make: Callable[[], assembly.Driver], message: str
) -> None:
    good = two_drivers().topology
    with pytest.raises(assembly.MechanismError, match=message):
        assembly.Mechanism(good.bodies, good.joints, [make()])


def test_a_joint_that_turns_a_node_without_rotation_is_named() -> None:
    """Solids have displacements only: a revolute joint cannot hold their direction."""
    solid = assembly.gallery.block(2, 1, 1, clamped=None)
    joint = assembly.revolute("ground", (0, 0, 0), "block", 0, name="hinge")
    with pytest.raises(assembly.MechanismError, match=r"hinge.*has no rotations"):
        assembly.Mechanism({"block": solid}, [joint], [assembly.driver("hinge", 1.0)])
