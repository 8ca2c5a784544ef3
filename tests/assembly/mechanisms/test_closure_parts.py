"""The pieces the loop closure is made of: interpolated poses, the Jacobian's factor, shared
patterns."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import assembly
from assembly.linalg.combination import Combination, Pattern, Patterned
from assembly.mechanisms.closure import Closure
from assembly.mechanisms.closure_equations import STRIDE, ClosureEquations
from assembly.mechanisms.rigid_state import Jacobian, Pose, RigidState, between
from assembly.mechanisms.transformation import choose_partition
from assembly.motion.laws import FunctionLaw

Array = NDArray[np.float64]

REGULAR = Jacobian(np.eye(6), np.ones(6), np.ones(6))
TILT = np.array([0.3, -0.5, 0.8])


def turning(t: float) -> RigidState:
    """A body that turns by t² + 0.4 t about a fixed axis while its frame's origin swings: all rates
    by hand."""
    axis = TILT / np.linalg.norm(TILT)
    R = Rotation.from_rotvec((t * t + 0.4 * t) * axis).as_matrix()[None]
    r = np.array([[np.sin(2.0 * t), np.cos(t), t]])
    v = np.array([2.0 * np.cos(2.0 * t), -np.sin(t), 1.0])
    a = np.array([-4.0 * np.sin(2.0 * t), -np.cos(t), 0.0])
    twist = np.concatenate([R[0].T @ v, (2.0 * t + 0.4) * axis])[None]
    rate = np.concatenate([R[0].T @ a, 2.0 * axis])[None]
    return RigidState(t, Pose(r, R), twist, rate, REGULAR)


def test_interpolated_poses_are_of_order_six() -> None:
    """Quintic Hermite: the error at a place between falls by 2⁶ when the interval is halved."""
    errors = []
    for h in (0.1, 0.05):
        t = 0.5 + 0.4 * h
        poses, usable = between([turning(0.5), turning(0.5 + h)], np.array([0]), np.array([t]))
        assert usable[0]
        found = poses.at(0)
        exact = turning(t).pose
        assert_allclose(found.R[0].T @ found.R[0], np.eye(3), atol=1e-15)
        errors.append(max(np.abs(found.R - exact.R).max(), np.abs(found.r - exact.r).max()))
    assert errors[0] < 1e-8
    assert 5.7 < np.log2(errors[0] / errors[1]) < 6.3


@pytest.mark.parametrize(("step", "part"), [(0.2, 1.9), (0.5, 0.5), (0.24, 1.9)])
def test_usable_poses_are_rotations_to_round_off(step: float, part: float) -> None:
    """Between two states and ahead of them, where interpolated rotations stretch by up to 1e-3:
    Newton's method turns poses, so that what they lack of rotations would stay."""
    ends, t = [turning(0.2), turning(0.2 + step)], 0.2 + part * step
    poses, usable = between(ends, np.array([0]), np.array([t]))
    assert usable[0]
    R = poses.R[0, 0]
    assert_allclose(R.T @ R, np.eye(3), atol=2e-15)
    assert_allclose(R, turning(t).pose.R[0], atol=2e-3)


def test_poses_too_far_apart_are_not_interpolated() -> None:
    assert not between([turning(0.5), turning(2.5)], np.array([0]), np.array([1.4]))[1][0]


def test_distance_of_poses_is_the_angle_between_them() -> None:
    axis = TILT / np.linalg.norm(TILT)
    here = turning(0.7).pose
    for angle in (1e-3, 0.2, 3.0):
        turned = Pose(here.r, here.R @ Rotation.from_rotvec(angle * axis).as_matrix())
        assert_allclose(here.distance(turned, 2.0), angle, rtol=1e-9)
    assert_allclose(here.distance(Pose(here.r + [0.0, 3.0, 4.0], here.R), 2.0), 2.5, rtol=1e-12)


def of_singular_values(sizes: list[float], seed: int) -> Array:
    rng = np.random.default_rng(seed)
    n = len(sizes)
    U, V = (np.linalg.qr(rng.normal(size=(n, n)))[0] for _ in range(2))
    return np.asarray(U @ np.diag(sizes) @ V)


@pytest.mark.parametrize("seed", range(4))
def test_the_factor_solves_both_ways_and_knows_its_side(seed: int) -> None:
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(7, 7))
    found = Jacobian(J, np.exp(rng.normal(size=7)), np.exp(rng.normal(size=7)))
    b, many = rng.normal(size=7), rng.normal(size=(7, 2))
    assert_allclose(J @ found.solve(b), b, atol=1e-12)
    assert_allclose(J @ found.solve_columns(many), many, atol=1e-12)
    assert_allclose(J.T @ found.solve_transposed(b), b, atol=1e-12)
    assert found.side == np.sign(np.linalg.det(J))


@pytest.mark.parametrize(("least", "singular"), [(1e-2, False), (4e-8, False), (2e-9, True)])
def test_a_singular_position_is_told_by_singular_values(least: float, singular: bool) -> None:
    """The bound is 1e-8 of the largest, whatever the estimate that clears most positions says."""
    for seed in range(20):
        J = of_singular_values([1.0, 0.5, 0.4, 0.1, least], seed)
        assert Jacobian(J, np.ones(5), np.ones(5)).is_singular == singular
    zero = Jacobian(np.diag([1.0, 0.0]), np.ones(2), np.ones(2))
    assert zero.is_singular
    assert_allclose(np.abs(zero.loosest), [0.0, 1.0])


def test_values_on_one_pattern_are_summed_with_other_terms() -> None:
    pattern = Pattern(3, np.array([0, 2, 1, 0, 2]), np.array([0, 2, 3, 5]))
    first, second = (
        Patterned(pattern, np.array(v, float)) for v in ([1, 2, 3, 4, 5], [0, 0, 1, 2, 0])
    )
    other = sp.csr_matrix(np.arange(9.0).reshape(3, 3))
    total = Combination((3, 3), ((2.0, first), (-1.0, second), (0.5, other)))
    A, B = (
        np.array([[1, 0, 2], [0, 3, 0], [4, 0, 5.0]]),
        np.array([[0, 0, 0], [0, 1, 0], [2, 0, 0.0]]),
    )
    expected = 2.0 * A - B + 0.5 * other.toarray()
    assert_allclose(total.tocsr().toarray(), expected)
    assert_allclose(total @ np.eye(3), expected)
    assert second.tocsr().nnz == 2  # zeros are not kept
    assert_allclose(Combination((3, 3), ((3.0, first),)).tocsr().toarray(), 3.0 * A)


@pytest.mark.parametrize("height", [2.0, 2.5, -2.0])
def test_a_position_on_another_branch_is_not_taken(height: float) -> None:
    """A pulse of the crank angle that the anchors do not see: Newton from between them closes the
    loop with the rod folded over. By the motion itself x = r cos θ + √(l² − r² sin² θ)."""
    crank, rod, peak, width = 0.15, 0.2, 0.0131, 1e-5

    def law(t: float) -> tuple[float, float, float]:
        pulse, slope = height * np.exp(-(((t - peak) / width) ** 2)), -2.0 * (t - peak) / width**2
        return 10.0 * t + pulse, 10.0 + pulse * slope, pulse * (slope**2 - 2.0 / width**2)

    machine = assembly.Mechanism(
        {name: assembly.rigid_body(1.0, 0.01, planar=True) for name in ("crank", "rod", "slider")},
        [
            assembly.revolute("ground", (0, 0), "crank", (0, 0), name="A"),
            assembly.revolute("crank", (crank, 0), "rod", (0, 0), name="B"),
            assembly.revolute("rod", (rod, 0), "slider", (0, 0), name="C"),
            assembly.prismatic("ground", (0, 0), "slider", (0, 0), axis=(1, 0), name="D"),
        ],
        [assembly.driver("A", law)],
        initial={"rod": (crank, 0, 0), "slider": (crank + rod, 0, 0)},
    )
    found = machine.closure.states(np.array([peak, 0.05])).pose.r[:, 2, 0]
    theta = np.array([law(t)[0] for t in (peak, 0.05)])
    assert_allclose(found, crank * np.cos(theta) + np.sqrt(rod**2 - (crank * np.sin(theta)) ** 2))


def slider_crank(speed: float, rod: float = 0.3) -> assembly.Mechanism:
    """A crank of 0.1 m from the turned position 0.4 rad on; the piston is left of the crank."""
    parts = {"crank": 0.1, "rod": rod}
    section = assembly.rectangle(0.02, 0.01)
    bodies = {
        n: assembly.beam(x, section, assembly.steel, 1, planar=True) for n, x in parts.items()
    }
    joints = [
        assembly.revolute("ground", (0, 0), "crank", "start", name="A"),
        assembly.revolute("crank", "end", "rod", "start", name="B"),
        assembly.revolute("rod", "end", "piston", "origin", name="C"),
        assembly.prismatic("ground", (0, 0), "piston", "origin", axis=(1, 0), name="D"),
    ]
    bodies["piston"] = assembly.rigid_body(0.3, planar=True)
    return assembly.Mechanism(
        bodies, joints, [assembly.driver("A", speed)],
        initial={"rod": (0.1, 0, 0), "piston": (0.1 + rod, 0, 0)},
    )  # fmt: skip


def test_mechanisms_of_another_pace_go_the_way_of_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As far as it closes their loops; another length goes its own way. None depends on it."""
    guide, steps = slider_crank(50.0).closure, []
    one = Closure._next_anchors
    monkeypatch.setattr(Closure, "_next_anchors", lambda *args: steps.append(args[0]) or one(*args))
    for mechanism, alone in (
        (slider_crank(20.0), False), (slider_crank(-70.0), True), (slider_crank(30.0, 0.31), True)
    ):  # fmt: skip
        topology, start = mechanism.topology, mechanism.closure.state(0.0).pose
        followed = Closure(topology, start, mechanism.period, guide)
        times = np.linspace(-0.3, 0.9, 37) * mechanism.period
        found, own = followed.states(times), mechanism.closure.states(times)
        speed = np.abs(own.twist).max()
        assert_allclose(found.pose.r, own.pose.r, atol=1e-15)
        assert_allclose(found.pose.R, own.pose.R, atol=4e-15)
        assert_allclose(found.twist, own.twist, atol=1e-13 * speed)
        assert_allclose(found.rate, own.rate, atol=1e-12 * speed**2)
        assert (followed in steps) == alone


def test_a_long_chain_takes_few_positions() -> None:
    """Ten arms of 1 m: their turns count, not the way of the last one against the length of one."""
    names, swing = [f"arm {k}" for k in range(10)], assembly.Harmonic(0.3, 2.0)
    pairs = zip(["ground", *names], names, strict=False)
    machine = assembly.Mechanism(
        {name: assembly.rigid_body(1.0, 0.1, planar=True) for name in names},
        [
            assembly.revolute(a, (float(a != "ground"), 0), b, (0, 0), name=f"to {b}")
            for a, b in pairs
        ],
        [assembly.driver(f"to {name}", swing) for name in names],
        initial={name: (float(k), 0.0, 0.0) for k, name in enumerate(names)},
        period=np.pi,
    )
    times = np.linspace(0.0, 3.0, 7)
    found, turns = machine.closure.states(times), np.outer(swing.at(times)[0], np.arange(1, 11))
    ahead = np.stack([np.cos(turns), np.sin(turns)], axis=-1)
    places = np.cumsum(ahead, axis=1) - ahead
    assert_allclose(found.pose.r[..., :2], places, atol=1e-13)
    anchors = machine.closure._anchors[1]
    turned = [10.0 * abs(swing.at(b.t)[0] - swing.at(a.t)[0]) for a, b in pairwise(anchors)]
    assert max(turned) <= STRIDE
    assert np.mean(turned) > 0.75 * STRIDE


def test_a_turn_takes_few_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anchors lie nearly a stride apart, none more, and are extrapolated so well that Newton solves
    for several at once."""
    closure, solved = slider_crank(50.0).closure, []
    topology, start = slider_crank(50.0).topology, closure.state(0.0).pose
    followed = Closure(topology, start, closure.period)
    one = ClosureEquations.linearised
    monkeypatch.setattr(
        ClosureEquations, "linearised", lambda *args: solved.append(args[1]) or one(*args)
    )
    followed.reach(0.999 * closure.period)
    poses = [anchor.pose for anchor in followed._anchors[1]]
    apart = [a.distance(b, topology.length) for a, b in pairwise(poses)]
    assert max(apart) <= STRIDE
    assert np.mean(apart) > 0.75 * STRIDE
    assert len(solved) < len(apart)


def test_laws_are_read_once_at_an_instant() -> None:
    """However often the position is corrected there."""
    times = list[float]()

    def law(t: float) -> tuple[float, float, float]:
        times.append(t)
        return 20.0 * t, 20.0, 0.0

    arm = assembly.rigid_body(1.0, 0.1, planar=True)
    machine = assembly.Mechanism(
        {"arm": arm},
        [assembly.revolute("ground", (0, 0), "arm", (0, 0), name="hub")],
        [assembly.driver("hub", FunctionLaw(law))],
    )
    times.clear()
    machine.position(1.0)
    assert len(times) <= len(set(times)) + 2


def test_alike_nodes_are_eliminated_whatever_the_round_off() -> None:
    """Nodes on both sides of a joint may move its conditions by as much: the same ones are
    eliminated in mechanisms that differ by round-off, so that their matrices compare."""
    rng = np.random.default_rng(3)
    half = rng.standard_normal((4, 5, 6))
    alike = np.concatenate([half, half, rng.standard_normal((4, 5, 3))], axis=2)
    chosen = {
        tuple(choose_partition(alike * (1.0 + noise), np.ones(15)).slaves.tolist())
        for noise in 1e-13 * rng.standard_normal((20, *alike.shape))
    }
    assert len(chosen) == 1
