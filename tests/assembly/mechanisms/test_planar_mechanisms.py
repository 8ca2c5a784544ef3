"""Planar mechanisms: kinematics, reactions, and the frozen matrices with and without transport."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import assembly
from assembly.mechanisms.joint_assembly import ReducedPattern
from assembly.mechanisms.joint_rows import Condition, JointRows
from assembly.mechanisms.rigid_state import Pose, moving_frames
from assembly.mechanisms.transformation import Partition

Array = NDArray[np.float64]

CRANK, ROD, SPEED, SLIDER = 0.15, 0.30, 157.0, 0.5
SECTION = assembly.rectangle(0.02, 0.01)


def link(length: float, elements: int = 4, **options: object) -> assembly.Body:
    return assembly.beam(length, SECTION, assembly.steel, elements, planar=True, **options)  # type: ignore[arg-type]


def slider_crank(held: bool = True, speed: float = SPEED, elements: int = 4) -> assembly.Mechanism:
    return assembly.Mechanism(
        {
            "crank": link(CRANK, elements),
            "rod": link(ROD, elements),
            "slider": assembly.rigid_body(SLIDER, 1e-3, planar=True),
        },
        [
            assembly.revolute("ground", (0, 0), "crank", "start", name="A"),
            assembly.revolute("crank", "end", "rod", "start", name="B"),
            assembly.revolute("rod", "end", "slider", (0, 0), name="C"),
            assembly.prismatic("ground", (0, 0), "slider", (0, 0), axis=(1, 0), name="D"),
        ],
        [assembly.driver("A", speed, held=held)],
    )


def four_bar(held: bool = True) -> assembly.Mechanism:
    """Unequal links, an offset slab as the output, a crank that speeds up: nothing is symmetric."""
    law = assembly.Uniform(rate=40.0, start=0.3, acceleration=900.0)
    return assembly.Mechanism(
        {
            "crank": link(0.1),
            "coupler": link(0.35),
            "rocker": assembly.rigid_body(0.8, 0.01, centre=(0.1, 0.05, 0), planar=True),
        },
        [
            assembly.revolute("ground", (0, 0), "crank", "start", name="A"),
            assembly.revolute("crank", "end", "coupler", "start", name="B"),
            assembly.revolute("coupler", "end", "rocker", (0.2, 0.1), name="C"),
            assembly.revolute("ground", (0.4, -0.02), "rocker", (0.0, 0.0), name="D"),
        ],
        [assembly.driver("A", law, held=held)],
        initial={"rocker": (0.4, 0.0, 1.2)},
    )


def derivative(f: Callable[[float], Array], t: float, h: float) -> Array:
    """Sixth-order central difference."""
    weights = {1: 45.0, 2: -9.0, 3: 1.0}
    total = sum(w * (f(t + k * h) - f(t - k * h)) for k, w in weights.items())
    return np.asarray(total) / (60.0 * h)


def cross(p: Array, q: Array) -> float:
    return float(p[0] * q[1] - p[1] * q[0])


def dense(A: object) -> Array:
    return np.asarray(A.toarray())  # type: ignore[attr-defined]


# Rigid motion.


def test_slider_crank_follows_its_closed_form() -> None:
    mechanism = slider_crank()
    for t in (0.0, 0.004, 0.013, 0.031, -0.007, 12.34):
        a = SPEED * t
        root = np.sqrt(ROD**2 - (CRANK * np.sin(a)) ** 2)
        x = CRANK * np.cos(a) + root
        v = SPEED * (-CRANK * np.sin(a) - CRANK**2 * np.sin(a) * np.cos(a) / root)
        angle = -np.arcsin(CRANK * np.sin(a) / ROD)
        r, rate, _ = mechanism.place(t, "slider", (0, 0))
        assert_allclose(r, [x, 0, 0], atol=1e-13)
        assert_allclose(rate, [v, 0, 0], atol=1e-10)
        R = mechanism.position(t)["rod"][1]
        assert_allclose([R[0, 0], R[1, 0]], [np.cos(angle), np.sin(angle)], atol=1e-13)


@pytest.mark.parametrize("make", [slider_crank, four_bar])
def test_velocities_and_accelerations_are_derivatives(
    make: Callable[[], assembly.Mechanism],
) -> None:
    mechanism, t, h = make(), 0.0071, 2e-5

    def found(body: str) -> Callable[[float], Array]:
        def at(s: float) -> Array:
            return np.array(
                [*mechanism.place(s, body, (0.07, -0.03)), mechanism.kinematics(s)[body].omega]
            )

        return at

    for body in mechanism.bodies:
        _, v, a, _ = found(body)(t)
        rates = derivative(found(body), t, h)
        assert_allclose(v, rates[0], atol=1e-7)
        assert_allclose(a, rates[1], atol=1e-4)
        assert_allclose(mechanism.kinematics(t)[body].epsilon, rates[3], atol=1e-4)


def test_the_answer_does_not_depend_on_what_was_asked_before() -> None:
    first, second = four_bar(), four_bar()
    second.state(0.05)
    second.state(-0.02)
    for t in (0.011, 0.003, -0.01):
        assert np.array_equal(first.state(t).pose.R, second.state(t).pose.R)
        assert np.array_equal(first.state(t).rate, second.state(t).rate)


# Reactions.


def test_reactions_equal_a_free_body_calculation() -> None:
    """Newton and Euler for each link as a uniform slender rod, written in fixed axes."""
    mechanism, t = slider_crank(), 0.0053
    a = SPEED * t
    b = -np.arcsin(CRANK * np.sin(a) / ROD)
    rate = -CRANK * SPEED * np.cos(a) / (ROD * np.cos(b))
    turn = (CRANK * SPEED**2 * np.sin(a) + ROD * rate**2 * np.sin(b)) / (ROD * np.cos(b))
    line = SECTION.A * assembly.steel.rho
    m1, m2 = line * CRANK, line * ROD
    e1, e2 = np.array([np.cos(a), np.sin(a)]), np.array([np.cos(b), np.sin(b)])
    n2 = np.array([-np.sin(b), np.cos(b)])
    pin = -CRANK * SPEED**2 * e1
    middle = pin + 0.5 * ROD * (turn * n2 - rate**2 * e2)
    end = pin + ROD * (turn * n2 - rate**2 * e2)
    # A beam theory's rotary inertia is that of the section's turn, ρ I per length.
    inertia2 = m2 * ROD**2 / 12 + assembly.steel.rho * SECTION.Iz * ROD
    force_x = SLIDER * end[0]
    # Rod about its middle: (−½L e2) × B + (½L e2) × (−C) = I turn, with B = m2 a + C.
    known = (
        inertia2 * turn
        + cross(0.5 * ROD * e2, m2 * middle)
        + cross(ROD * e2, np.array([force_x, 0.0]))
    )
    C = np.array([force_x, -known / cross(ROD * e2, np.array([0.0, 1.0]))])
    B = m2 * middle + C
    A = m1 * 0.5 * pin + B
    torque = cross(CRANK * e1, B) + cross(0.5 * CRANK * e1, m1 * 0.5 * pin)
    found = mechanism.reactions(t)
    assert_allclose(found["C"].force[:2], C, rtol=1e-10)
    assert_allclose(found["B"].force[:2], B, rtol=1e-10)
    assert_allclose(found["A"].force[:2], A, rtol=1e-10)
    assert_allclose(found["D"].force[:2], [0.0, -C[1]], rtol=1e-10, atol=1e-8)
    assert_allclose(mechanism.driving(t)["A"], torque, rtol=1e-9)


def test_power_of_the_drivers_is_the_change_of_energy() -> None:
    mechanism = four_bar()

    def kinetic(t: float) -> Array:
        state, total = mechanism.state(t), 0.0
        for i, body in enumerate(mechanism.bodies.values()):
            v = body.dofs.rigid_fields() @ state.twist[i]
            total += 0.5 * v @ (body.operators.M.tocsr() @ v)
        return np.array(total)

    t = 0.012
    rate = 40.0 + 900.0 * t
    assert_allclose(mechanism.driving(t)["A"] * rate, derivative(kinetic, t, 1e-5), rtol=1e-8)


def test_gravity_is_in_the_reactions() -> None:
    body = {"arm": link(1.0)}
    pin = [assembly.revolute("ground", (0, 0), "arm", "start", name="A")]
    arm = assembly.Mechanism(body, pin, [assembly.driver("A", 0.0)], gravity=(0, -9.81, 0))
    weight = SECTION.A * assembly.steel.rho * 9.81
    assert_allclose(arm.reactions(0.0)["A"].force, [0, weight, 0], atol=1e-9)
    assert_allclose(arm.driving(0.0)["A"], 0.5 * weight, rtol=1e-12)


def test_loads_on_every_link_are_balanced() -> None:
    """Then the support of the prestress, statically determinate, carries nothing."""
    mechanism, t = four_bar(), 0.0123
    now = mechanism.instant(t)
    reactions = -now.multipliers @ mechanism.topology.on_units(now.wrench)
    for i, body in enumerate(mechanism.bodies.values()):
        load = body.operators.inertia_loads @ now.state.kinematics(i).coefficients()
        fields = body.dofs.rigid_fields()
        size = np.abs(fields).T @ np.abs(load)
        load += mechanism.topology.unit_loads(i) @ reactions[mechanism.topology.own[i]]
        assert np.all(np.abs(fields.T @ load) <= 1e-12 * size.max())


# The smallest check: one point mass, shared.


@pytest.mark.parametrize("transport", [True, False])
def test_a_point_mass_shared_by_two_bodies(transport: bool) -> None:
    rng = np.random.default_rng(3)
    omega, epsilon, angle = rng.normal(size=2), rng.normal(size=2), rng.normal(size=2)
    mass = np.array([0.7, 1.9])
    springs = [np.array([[5.0, 0.4], [0.4, 3.0]]), np.array([[2.0, -0.3], [-0.3, 6.0]])]
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    wide = np.zeros((2, 6))
    wide[:, 5] = omega
    rate = np.zeros((2, 6))
    rate[:, 5] = epsilon
    R = np.zeros((2, 3, 3))
    for i, q in enumerate(angle):
        R[i] = [[np.cos(q), -np.sin(q), 0], [np.sin(q), np.cos(q), 0], [0, 0, 1]]
    rows = JointRows(
        [Condition("P", e, carried=False) for e in np.eye(3)[:2]],
        np.array([[0, 1], [0, 1]]),
        np.zeros((2, 2, 3)),
    )
    e = rows.evaluate(moving_frames(Pose(np.zeros((2, 3)), R), wide, rate), 0.0)
    J = rows.gradient(e).along(np.array([0, 1, 6, 7]), -1)
    partition = Partition(np.array([2, 3]), np.array([0, 1]))
    T = partition.transform(J, 0.0)
    if not transport:
        T = type(T)(T.data * np.array([1.0, 0.0, 0.0])[:, None, None])
    index = np.repeat(np.arange(4), 2), np.array([0, 1, 0, 1, 2, 3, 2, 3])
    values = np.zeros((8, 8))
    for i in range(2):
        block = slice(4 * i, 4 * i + 4)
        values[0, block] = mass[i] * np.eye(2).ravel()
        values[1, block] = 2.0 * mass[i] * omega[i] * turn.ravel()
        values[3, block] = springs[i].ravel()
        values[4, block] = mass[i] * epsilon[i] * turn.ravel()
        values[5, block] = -mass[i] * omega[i] ** 2 * np.eye(2).ravel()
    pattern = ReducedPattern(4, *index, np.arange(4), partition)
    one = type(T)(T.data[:, None])
    made = pattern.reduce(values[:, None], one, {})
    found = {name: dense(pattern.sparsity.tocsr(rows[0])) for name, rows in made.items()}
    Rab = (R[0].T @ R[1])[:2, :2]
    total = mass.sum()
    assert_allclose(found["M"], total * np.eye(2), atol=1e-14)
    K = springs[0] + Rab @ springs[1] @ Rab.T
    stiffness = sum(found[k] for k in found if k.startswith("K"))
    if transport:
        assert_allclose(found["C"], 2 * total * omega[0] * turn, atol=1e-14)
        exact = total * (epsilon[0] * turn - omega[0] ** 2 * np.eye(2)) + K
    else:
        assert_allclose(found["C"], 2 * (mass @ omega) * turn, atol=1e-14)
        exact = (mass @ epsilon) * turn - (mass @ omega**2) * np.eye(2) + K
    assert_allclose(stiffness, exact, atol=1e-13)


# The frozen matrices.


@pytest.mark.parametrize("make", [slider_crank, four_bar])
def test_rates_of_the_transformation(make: Callable[[], assembly.Mechanism]) -> None:
    mechanism, t, h = make(), 0.0064, 2e-5
    T, rate, second = (dense(x) for x in mechanism.transformation(t))
    near = derivative(lambda s: dense(mechanism.transformation(s)[0]), t, h)
    assert_allclose(rate, near, atol=1e-8 * np.abs(rate).max())
    near = derivative(lambda s: dense(mechanism.transformation(s)[1]), t, h)
    assert_allclose(second, near, atol=1e-8 * np.abs(second).max())
    assert np.linalg.matrix_rank(T) == T.shape[1]


@pytest.mark.parametrize("make", [slider_crank, four_bar])
@pytest.mark.parametrize("held", [True, False])
def test_transport_makes_C_follow_the_mass(
    make: Callable[[bool], assembly.Mechanism], held: bool
) -> None:
    """C_r + C_rᵀ = 2 dM_r/dt when nothing dissipates (docs/theory.md)."""
    mechanism, t = make(held), 0.0093
    C = dense(mechanism.freeze(t).C)
    rate = derivative(lambda s: dense(mechanism.freeze(s).M), t, 2e-5)
    assert np.abs(rate).max() > 1e-3 * np.abs(C).max()
    assert_allclose(C + C.T, 2.0 * rate, atol=1e-8 * np.abs(C).max())


@pytest.mark.parametrize("make", [slider_crank, four_bar])
def test_without_transport_C_is_skew(make: Callable[[], assembly.Mechanism]) -> None:
    system = make().freeze(0.0093, transport=False)
    C = dense(system.C)
    assert np.abs(C + C.T).max() <= 1e-14 * np.abs(C).max()
    assert system.parts["K_transport"].is_zero


@pytest.mark.parametrize("make", [slider_crank, four_bar])
@pytest.mark.parametrize("transport", [True, False])
def test_parts_have_their_symmetry(make: Callable[[], assembly.Mechanism], transport: bool) -> None:
    system = make().freeze(0.0093, transport=transport)
    for name in ("M", "K", "K_omega2", "K_G"):
        A = dense(getattr(system, name))
        assert np.abs(A - A.T).max() <= 1e-14 * np.abs(A).max(), name
    A = dense(system.K_epsilon)
    assert np.abs(A).max() > 0 and np.abs(A + A.T).max() <= 1e-14 * np.abs(A).max()


@pytest.mark.parametrize("make", [slider_crank, four_bar])
def test_a_free_mechanism_keeps_its_rigid_velocity_field(
    make: Callable[[bool], assembly.Mechanism],
) -> None:
    mechanism = make(False)
    system = mechanism.freeze(0.0093, transport=False).only("C", "K")
    v = system.rigid[:, 0]
    assert system.rigid.shape[1] == 1
    assert np.linalg.norm(system.K @ v) <= 1e-12 * np.linalg.norm(abs(system.K) @ abs(v))
    assert abs(v @ (system.C @ v)) <= 1e-12 * (abs(v) @ (abs(system.C) @ abs(v)))
    assert system.null_chain is not None and system.null_chain.count == 2
    # The field is the rigid velocity: it moves every joint as the mechanism does, per rad/s.
    rate = mechanism.state(0.0093).twist[0, 5]
    shapes = mechanism.recover(0.0093, v)
    for i, (name, body) in enumerate(mechanism.bodies.items()):
        rigid = body.dofs.rigid_fields() @ mechanism.state(0.0093).twist[i]
        assert_allclose(shapes[name] * rate, rigid, atol=1e-9 * np.abs(rigid).max())


def test_zeros_of_the_consistent_form_follow_the_changing_inertia() -> None:
    """vᵀCv = ½ d(vᵀMv)/dt: two zeros at a dead centre, one elsewhere: 2m − rank(VᵀCV)."""
    mechanism = slider_crank(held=False)
    for t, count in ((0.0, 2), (np.pi / SPEED, 2), (0.0093, 1)):
        chain = mechanism.freeze(t).only("C", "K").null_chain
        assert chain is not None and chain.count == count


@pytest.mark.parametrize("make", [slider_crank, four_bar])
def test_loads_do_no_work_on_the_free_mobility(
    make: Callable[[bool], assembly.Mechanism],
) -> None:
    """The driver's torque balances the inertia loads in the mechanism's motion."""
    system = make(False).freeze(0.0093)
    v = system.rigid[:, 0]
    assert abs(v @ system.Q) <= 1e-12 * (abs(v) @ abs(system.Q))


def test_driven_can_be_chosen_at_the_instant() -> None:
    mechanism = slider_crank(held=True)
    assert mechanism.freeze(0.001).rigid.shape[1] == 0
    assert mechanism.freeze(0.001, driven=False).rigid.shape[1] == 1
    assert mechanism.freeze(0.001, prestress=None).parts["K_G"].is_zero


def test_four_bar_of_the_gallery_has_the_lengths_given() -> None:
    """Distances of its four pins, and the crank's angle, at any time."""
    lengths, base, speed = (0.3, 0.35, 0.32), 0.1, 20.0
    mechanism = assembly.gallery.four_bar(link, lengths, base, speed, (1.5, 1.0))
    for t in (0.0, 0.07, 0.2):
        pins = [
            mechanism.place(t, body, (x, 0.0, 0.0))[0]
            for body, x in (("crank", 0.0), ("coupler", 0.0), ("coupler", 0.35), ("rocker", 0.0))
        ]
        sides = [np.linalg.norm(b - a) for a, b in zip(pins, [*pins[1:], pins[0]], strict=True)]
        np.testing.assert_allclose(sides, [*lengths, base], rtol=1e-10)
        turn = 0.3 * np.array([np.cos(speed * t), np.sin(speed * t)])
        np.testing.assert_allclose(pins[1][:2], turn, atol=1e-12)


def test_links_that_turn_over_keep_well_conditioned_unknowns() -> None:
    """A double crank: no fixed unknown may be chosen once and for all by luck."""
    mechanism = assembly.gallery.four_bar(link, (0.3, 0.35, 0.32), 0.1, 20.0, (1.5, 1.0))
    assert mechanism.period is not None
    sizes = []
    for t in np.linspace(0.0, mechanism.period, 40):
        T = dense(mechanism.transformation(t)[0])
        sizes.append(np.abs(T).max())
    turns = [mechanism.position(t)["rocker"][1][0, 0] for t in np.linspace(0, mechanism.period, 40)]
    assert min(turns) < -0.9 and max(turns) > 0.9
    assert max(sizes) < 3.0


@pytest.mark.slow
@settings(max_examples=8)
@given(
    crank=st.floats(0.05, 0.2),
    rod=st.floats(0.3, 0.6),
    offset=st.floats(-0.08, 0.08),
    speed=st.floats(5.0, 400.0),
    turn=st.floats(0.0, 1.0),
)
def test_properties_of_any_slider_crank(
    crank: float, rod: float, offset: float, speed: float, turn: float
) -> None:
    mechanism = assembly.Mechanism(
        {
            "crank": link(crank, 1),
            "rod": link(rod, 2),
            "slider": assembly.rigid_body(0.3, 1e-3, centre=(0.01, 0.02, 0), planar=True),
        },
        [
            assembly.revolute("ground", (0, 0), "crank", "start", name="A"),
            assembly.revolute("crank", "end", "rod", "start", name="B"),
            assembly.revolute("rod", "end", "slider", (-0.02, 0.01), name="C"),
            assembly.prismatic("ground", (0, offset), "slider", (0, 0), axis=(1, 0), name="D"),
        ],
        [assembly.driver("A", speed, held=False)],
        initial={"rod": (crank, 0, 0), "slider": (crank + rod, offset, 0)},
    )
    t = turn * 2.0 * np.pi / speed
    system = mechanism.freeze(t)
    C = dense(system.C)
    rate = derivative(lambda s: dense(mechanism.freeze(s).M), t, 3e-3 / speed)
    assert_allclose(C + C.T, 2.0 * rate, atol=1e-8 * np.abs(C).max())
    v = system.rigid[:, 0]
    assert np.linalg.norm(system.K @ v) <= 1e-12 * np.linalg.norm(abs(system.K) @ abs(v))
    assert abs(v @ system.Q) <= 1e-11 * (abs(v) @ abs(system.Q))


def test_a_link_by_itself_can_follow_the_mechanism() -> None:
    mechanism = four_bar()
    alone = assembly.moving(link(0.35, clamped="start"), mechanism.motion("coupler"))
    now = mechanism.kinematics(0.01)["coupler"]
    same = link(0.35, clamped="start").freeze(now.omega, now.epsilon, now.acceleration)
    assert_allclose(dense(alone.freeze(0.01).stiffness), dense(same.stiffness))


# Bad input.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(bodies={"crank": link(CRANK, clamped="start")}), "clamped or pinned"),
        (dict(joints=[assembly.revolute("ground", (0, 0), "rod", 0)]), "no body 'rod'"),
        (
            dict(joints=[assembly.revolute("ground", (0, 0), "crank", "tip", name="A")]),
            "has no nodes 'tip'; it has start, end",
        ),
        (
            dict(joints=[assembly.revolute("ground", (0, 0), "crank", (0.1, 0.1), name="A")]),
            "the nearest is",
        ),
        (dict(joints=[assembly.revolute("ground", (0, 0), "crank", 99, name="A")]), "nodes 0 to 4"),
        (dict(drivers=[assembly.driver("B", 1.0)]), "no joint 'B'"),
        (dict(joints=[], drivers=[]), "joints: a mechanism needs at least one"),
        (dict(drivers=[]), "1 of the mechanism's degrees of mobility have no driver"),
        (dict(initial={"crank": (0, 0)}), "needs x, y, angle"),
        (dict(coordinates={"A": "rod"}), "is not one of"),
    ],
)
def test_bad_mechanisms_are_named(change: dict[str, object], message: str) -> None:
    given: dict[str, object] = dict(
        bodies={"crank": link(CRANK)},
        joints=[assembly.revolute("ground", (0, 0), "crank", "start", name="A")],
        drivers=[assembly.driver("A", 1.0)],
    )
    with pytest.raises(assembly.MechanismError, match=message) as caught:
        assembly.Mechanism(**(given | change))  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_a_crank_longer_than_the_rod_cannot_turn() -> None:
    mechanism = assembly.Mechanism(
        {"crank": link(0.3), "rod": link(0.2), "slider": assembly.rigid_body(1.0, planar=True)},
        [
            assembly.revolute("ground", (0, 0), "crank", "start", name="A"),
            assembly.revolute("crank", "end", "rod", "start", name="B"),
            assembly.revolute("rod", "end", "slider", (0, 0), name="C"),
            assembly.prismatic("ground", (0, 0), "slider", (0, 0), axis=(1, 0), name="D"),
        ],
        [assembly.driver("A", 10.0)],
    )
    limit = np.arcsin(0.2 / 0.3) / 10.0
    mechanism.state(0.999 * limit)
    with pytest.raises(assembly.SingularPositionError, match=r"t = 0\.0729\d* s.*joint.*too short"):
        mechanism.freeze(1.001 * limit)


def test_a_driver_starts_where_its_law_says() -> None:
    """Also when the guess is the other way round, where sin(angle − q) = 0 too."""
    for start in (-3.0, -1.6, 0.4, 2.5, 3.1, 40.0):
        law = assembly.Uniform(rate=1.0, start=start)
        arm = assembly.Mechanism(
            {"arm": link(1.0)},
            [assembly.revolute("ground", (0, 0), "arm", "start", name="A")],
            [assembly.driver("A", law)],
        )
        expected = [np.cos(start), np.sin(start), 0.0]
        assert_allclose(arm.place(0.0, "arm", (1, 0))[0], expected, atol=1e-13)


def test_a_reversed_joint_is_named() -> None:
    joints = [
        assembly.prismatic("ground", (0, 0), "arm", "start", axis=(1, 0), turned=np.pi, name="A")
    ]
    good = dict(bodies={"arm": link(1.0)}, joints=joints, drivers=[assembly.driver("A", 1.0)])
    assembly.Mechanism(**good, initial={"arm": (0, 0, 3.0)})  # type: ignore[arg-type]
    with pytest.raises(assembly.SingularPositionError, match="joint A reversed"):
        assembly.Mechanism(**good)  # type: ignore[arg-type]


def parallelogram(start: float) -> assembly.Mechanism:
    return assembly.Mechanism(
        {"left": link(0.1), "top": link(0.3), "right": link(0.1)},
        [
            assembly.revolute("ground", (0, 0), "left", "start", name="A"),
            assembly.revolute("left", "end", "top", "start", name="B"),
            assembly.revolute("top", "end", "right", "end", name="C"),
            assembly.revolute("ground", (0.3, 0), "right", "start", name="D"),
        ],
        [assembly.driver("A", assembly.Uniform(rate=10.0, start=start))],
        initial={"left": (0, 0, start), "right": (0.3, 0, start)},
    )


def test_a_parallelogram_is_singular_where_it_is_flat() -> None:
    mechanism = parallelogram(0.5 * np.pi)
    assert_allclose(mechanism.kinematics(0.15)["right"].omega, [0, 0, 10.0], atol=1e-9)
    with pytest.raises(
        assembly.SingularPositionError, match=r"singular position at t = 0\.15708 s: joint"
    ):
        mechanism.freeze(0.2)
    with pytest.raises(
        assembly.SingularPositionError, match=r"singular position at t = 0 s: .*joint"
    ):
        parallelogram(0.0)


def test_redundant_joints_are_named() -> None:
    joints = [
        assembly.revolute("ground", (0, 0), "bar", "start", name="left"),
        assembly.revolute("ground", (0.15, 0), "bar", "end", name="right"),
    ]
    with pytest.raises(assembly.RedundantConstraintError, match="joint left, joint right"):
        assembly.Mechanism({"bar": link(0.15)}, joints, [])


def trammel(**options: object) -> assembly.Mechanism:
    """A bar that turns over with its ends on two slides at right angles."""
    block = assembly.rigid_body(0.2, 1e-3, planar=True)
    return assembly.Mechanism(
        {"x": block, "y": block, "bar": link(0.5)},
        [
            assembly.prismatic("ground", (0, 0), "x", (0, 0), axis=(1, 0), name="X"),
            assembly.prismatic("ground", (0, 0), "y", (0, 0), axis=(0, 1), name="Y"),
            assembly.revolute("x", (0, 0), "bar", "start", name="A"),
            assembly.revolute("y", (0, 0), "bar", "end", name="B"),
        ],
        [assembly.driver("A", assembly.Uniform(rate=10.0, start=0.7))],
        initial={"x": (-0.4, 0, 0), "y": (0, 0.3, 0), "bar": (-0.4, 0, 0.7)},
        **options,  # type: ignore[arg-type]
    )


def test_coordinates_that_would_not_do_are_named() -> None:
    """A slide leaves its block one direction, which the axes of a turning bar show badly."""
    assert "A in x, B in y" in trammel().freeze(0.1).frame
    with pytest.raises(assembly.MechanismError, match="joint A cannot be in the axes of 'bar'"):
        trammel(coordinates={"A": "bar"}).freeze(0.1)
    with pytest.raises(assembly.MechanismError, match="to the ground: no choice"):
        trammel(coordinates={"X": "x"})


def test_the_prestress_there_is_not_is_named() -> None:
    with pytest.raises(assembly.InputError, match='"linear", "first-order", "nonlinear" or None'):
        slider_crank().freeze(0.001, prestress="cubic")


def test_a_time_that_is_not_finite() -> None:
    with pytest.raises(assembly.MechanismError, match="finite time"):
        slider_crank().freeze(np.nan)


def parallel_crank(law: object, other: object = 0.0) -> assembly.Mechanism:
    """Two cranks of one length with a coupler between them, and a rotor of its own."""

    def body() -> assembly.Body:
        return assembly.rigid_body(1.0, 0.1, planar=True)

    joints = [
        assembly.revolute("ground", (0, 0), "crank", (0, 0), name="A"),
        assembly.revolute("crank", (0.3, 0), "coupler", (0, 0), name="B"),
        assembly.revolute("coupler", (0.8, 0.1), "rocker", (0.3, 0), name="C"),
        assembly.revolute("ground", (0.8, 0.1), "rocker", (0, 0), name="D"),
        assembly.revolute("ground", (2.0, 0), "rotor", (0, 0), name="E"),
    ]
    return assembly.Mechanism(
        {name: body() for name in ("crank", "coupler", "rocker", "rotor")},
        joints,
        [assembly.driver("A", law), assembly.driver("E", other)],  # type: ignore[arg-type]
        initial={"crank": (0, 0, 0.6), "rocker": (0.8, 0.1, 0.6), "rotor": (2.0, 0, 0)},
    )


def test_uniform_rotation_has_no_angular_acceleration() -> None:
    """Round-off of ε would be a circulatory force; an acceleration that is there stays."""
    uniform = parallel_crank(assembly.Uniform(1e3, start=0.6), assembly.Uniform(0.0, 0.0, 1e-9))
    for t in (0.0, 1e-4, 7e-4):
        found = uniform.kinematics(t)
        for name in ("crank", "coupler", "rocker"):
            assert found[name].epsilon[2] == 0.0
        assert found["rotor"].epsilon[2] == pytest.approx(1e-9, rel=1e-12)
