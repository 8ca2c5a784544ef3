"""Trim of mechanisms with beams and solids: closed forms, frame indifference, one body alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
from numpy.testing import assert_allclose
from numpy.typing import NDArray

import assembly
import modal
from assembly import gallery
from assembly.bodies.in_motion import BodiesMotion
from assembly.mechanisms import elastic_mechanism
from assembly.mechanisms import trim as trimming
from assembly.mechanisms.deformed_motion import DeformedMotion
from studies import slider_crank

Array = NDArray[np.float64]
SOFT = assembly.Material(E=2e9, nu=0.3, rho=2000.0)


def eigenvalues(system: assembly.FrozenSystem) -> Array:
    """All eigenvalues with a positive imaginary part, by LAPACK, sorted by it.

    As 1/μ of μ²K + μD + M = 0: LAPACK's error is ε of the largest eigenvalue, which is that of the
    lowest mode here. That of M⁻¹K (9e12 1/s² for the solid) would be 1e-7 of the lowest.
    """
    n = system.n
    K = system.stiffness.toarray()
    A = np.block(
        [
            [-la.solve(K, system.damping.toarray()), -la.solve(K, system.M.toarray())],
            [np.eye(n), np.zeros((n, n))],
        ]
    )
    values = 1.0 / la.eigvals(A)
    values = values[values.imag > 0.0]
    return np.asarray(values[np.argsort(values.imag)])


@pytest.mark.slow
def test_one_blade_has_the_trim_of_the_body() -> None:
    """A blade that its sweep bends: on a driven hub and as one clamped body, to 1e-9."""
    spin = 60.0
    section = assembly.rectangle(0.04, 0.008)
    shape = dict(
        length=1.0, section=section, material=SOFT, elements=4, start=(0.1, 0.05, 0.0),
        direction=(0.95, 0.25, 0.15), pitch=(0.1, 0.4),
    )  # fmt: skip
    machine = assembly.Mechanism(
        {
            "table": assembly.rigid_body(1.0, np.eye(3)),
            "blade": assembly.beam(**shape),
        },
        [
            assembly.revolute("ground", (0, 0, 0), "table", (0, 0, 0), name="hub"),
            assembly.fixed("table", (0.1, 0.05, 0), "blade", "start", name="root"),
        ],
        [assembly.driver("hub", spin)],
        gravity=(0, 0, -9.81),
    )
    alone = assembly.beam(**shape, clamped="start").freeze(
        (0, 0, spin), acceleration=(0, 0, 9.81), prestress="nonlinear"
    )
    trim = machine.trim(0.0)
    assert np.abs(trim.displacements["blade"]).max() > 0.05
    assert_allclose(eigenvalues(trim.system)[:10], eigenvalues(alone)[:10], rtol=1e-8)


def cantilever(load: float, elements: int) -> assembly.Mechanism:
    section = assembly.rectangle(0.01, 0.01)
    return assembly.Mechanism(
        {"beam": assembly.beam(1.0, section, SOFT, elements, planar=True)},
        [assembly.fixed("ground", (0, 0), "beam", "start", name="root")],
        [],
        loads=[assembly.Load("beam", "end", (0.0, -load * SOFT.E * section.Iz))],
    )


@pytest.mark.slow
def test_elastica_under_a_dead_load() -> None:
    """P L²/EI = 10: w/L = 0.81061, 1 − x/L = 0.55500 (Mattiasson, Int. J. Numer. Methods Eng. 17,
    1981); the moment at the root is P times the arm that is left."""
    machine = cantilever(10.0, 16)
    trim = machine.trim(0.0)
    body = machine.bodies["beam"]
    u = trim.displacements["beam"]
    tip = [u[body.dofs.index(16, c)] for c in (0, 1)]
    assert_allclose(tip, [-0.55500, -0.81061], atol=3e-4)
    P = 10.0 * SOFT.E * assembly.rectangle(0.01, 0.01).Iz
    assert_allclose(trim.reactions["root"].force, [0.0, P, 0.0], atol=1e-8 * P)
    assert trim.reactions["root"].moment[2] == pytest.approx(P * (1.0 + tip[0]), rel=1e-9)
    sections = trim.resultants("beam")
    at = 1.0 - sections.position[0, 0]
    assert -sections.moment[0, 2] == pytest.approx(P * (1.0 + tip[0]), rel=0.05 * (2.0 - at))


def arch(load: float, rise: float = 0.12) -> assembly.Mechanism:
    """Two bars on three pins under a load down on the top pin."""
    bar = assembly.beam(float(np.hypot(1.0, rise)), assembly.circle(0.2), SOFT, 1, planar=True)
    slope = float(np.arctan(rise))
    return assembly.Mechanism(
        {"left": bar, "right": bar},
        [
            assembly.revolute("ground", (0, 0), "left", "start", name="a"),
            assembly.revolute("left", "end", "right", "start", name="top"),
            assembly.revolute("right", "end", "ground", (2.0, 0.0), name="b"),
        ],
        [],
        loads=[assembly.Load("left", "end", (0.0, -load))],
        initial={"left": (0, 0, slope), "right": (1.0, rise, -slope)},
    )


@pytest.mark.slow
def test_a_shallow_arch_up_to_its_limit_point() -> None:
    """Bars linear in the stretch: P = 2 EA (L₀/L − 1) (h − w)/L₀, P_c = 2 EA (1 − cos^⅔α)^{3/2}
    (von Mises, Z. angew. Math. Mech. 3, 1923)."""
    rise, EA = 0.12, SOFT.E * assembly.circle(0.2).A
    alpha = np.arctan(rise)
    limit = 2.0 * EA * (1.0 - np.cos(alpha) ** (2.0 / 3.0)) ** 1.5
    machine = arch(0.9 * limit)
    trim = machine.trim(0.0)
    w = -machine_displacement(trim, "left")[1]
    L0, L = np.hypot(1.0, rise), np.hypot(1.0, rise - w)
    assert 2.0 * EA * (L0 / L - 1.0) * (rise - w) / L0 == pytest.approx(0.9 * limit, rel=1e-6)
    with pytest.raises(assembly.ConvergenceError, match=r"buckles at 0\.9[01]") as caught:
        arch(1.1 * limit).trim(0.0)
    assert caught.value.partial is not None


def machine_displacement(trim: assembly.Trim, body: str) -> Array:
    """Of the last node, fixed axes."""
    return np.asarray(trim.deployed()[body][1][-1])


def mounted(link: assembly.Body, at: str, turned: float, tilt: float) -> assembly.Mechanism:
    """A link on a bushing of a turntable that speeds up.

    turned: angle of zero deflection, which a preload makes up for: the machine stays the same.
    """
    planar = len(link.dofs.components) == 3 if hasattr(link.dofs, "components") else tilt == 0.0
    K = np.array([1e5, 1e5, 20.0]) if planar else np.array([1e5, 1e5, 1e5, tilt, tilt, 20.0])
    preload = np.zeros(len(K))
    preload[-1] = K[-1] * turned
    table = (
        assembly.rigid_body(1.0, 0.1, planar=True)
        if planar
        else assembly.rigid_body(1.0, 0.1 * np.eye(3))
    )
    place = (0.1, 0, turned) if planar else (0.1, 0, 0, 0, 0, turned)
    return assembly.Mechanism(
        {"table": table, "link": link},
        [assembly.revolute("ground", (0, 0, 0), "table", (0, 0, 0), name="hub")],
        [assembly.driver("hub", assembly.Uniform(rate=12.0, start=0.3, acceleration=40.0))],
        bushings=[
            assembly.bushing(
                "table", (0.1, 0, 0), "link", at, stiffness=K, damping=1e-4 * K, preload=preload,
                turned=turned, name="mount",
            )
        ],
        gravity=(0, -9.81, 0),
        initial={"link": place},
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["beam", "solid"])
def test_the_frame_from_which_deflections_count_does_not_matter(kind: str) -> None:
    """The same machine from frames 0.7 rad apart: equal forces, frequencies and damping.

    Finite rotations of nodes and node sets, inertia and damping all take part. The load of a beam
    element is shared along it in the axes of the body: to fourth order in its length.
    """
    found = []
    for turned in (0.0, 0.7):
        if kind == "beam":
            section = assembly.rectangle(0.01, 0.01)
            link = assembly.beam(0.5, section, SOFT, 4, planar=True).with_damping(a=0.5, b=1e-4)
            machine = mounted(link, "start", turned, 0.0)
        else:
            link = gallery.block(
                3, 1, 1, "hex8", (0.5, 0.02, 0.02), material=SOFT, clamped=None
            ).with_damping(a=0.5, b=1e-4)
            machine = mounted(link, "x0", turned, 1e7)
        found.append(machine.trim(0.05))
    first, second = found
    tight = 1e-6 if kind == "beam" else 1e-9
    assert abs(second.deflections["mount"][-1]) > 0.7
    for a, b in ((x.reactions["mount"].force, y.reactions["mount"].force) for x, y in [found]):
        assert_allclose(a, b, rtol=tight, atol=1e-9 * np.abs(a).max())
    ours, theirs = (eigenvalues(x.system)[:5] for x in (first, second))
    # Across the plane the bushing's moment tilts it by its own rotation vector: 1e-5.
    assert_allclose(ours, theirs, rtol=2e-5)
    if kind == "solid":
        assert_allclose(ours[[0, 2]], theirs[[0, 2]], rtol=1e-8)
    assert np.abs(ours.real).max() > 1e-3 * np.abs(ours).max()


@pytest.mark.slow
def test_tracks_about_the_trim() -> None:
    """modal.track over times with prestress="nonlinear": the modes of each trim."""
    machine = mounted(
        assembly.beam(0.5, assembly.rectangle(0.01, 0.01), SOFT, 2, planar=True), "start", 0.0, 0.0
    )
    times = np.linspace(0.0, 0.06, 2)
    tracks = modal.track(machine, times=times, k=2, prestress="nonlinear")
    for t, values in zip(times, tracks.eigenvalue.values, strict=True):
        expected = eigenvalues(machine.trim(float(t)).system)[:2]
        assert_allclose(np.sort(values.imag), expected.imag, rtol=1e-7)
    bent = eigenvalues(machine.freeze(0.06))[:2]
    assert np.abs(bent - eigenvalues(machine.trim(0.06).system)[:2]).max() > 1e-3


def test_what_trim_does_not_cover_is_one_line() -> None:
    free = assembly.Mechanism(
        {"arm": assembly.beam(0.5, assembly.rectangle(0.01, 0.01), SOFT, 2, planar=True)},
        [assembly.revolute("ground", (0, 0), "arm", "start", name="hub")],
        [assembly.driver("hub", 3.0, held=False)],
    )
    with pytest.raises(assembly.MechanismError, match="free to move"):
        free.trim(0.0)
    held = cantilever(0.1, 2)
    with pytest.raises(assembly.InputError, match="transport=False"):
        held.freeze(0.0, transport=False, prestress="nonlinear")
    with pytest.raises(assembly.MechanismError, match="no body 'rod'"):
        held.trim(0.0).resultants("rod")


def test_tangents_with_a_solid_link_on_node_sets() -> None:
    """Finite differences of the residual: a rod between a universal joint and a ball, each at the
    node set of an end, with internal damping."""
    machine = gallery.solid_slider_crank((4, 1, 1), damping=(1.0, 1e-5))(80.0)
    rng = np.random.default_rng(3)
    q, v, a = rng.normal(size=(3, len(machine.elastic(None).masters)))
    q, v, a = 2e-3 * q, 0.5 * v, 50.0 * a
    at = machine.displaced(0.003, q, v, a)
    shift = rng.normal(size=len(q))
    for number, matrix in enumerate(reversed(at.tangents())):
        h = (1e-6, 10.0, 1e4)[number]

        def residual(x: float, number: int = number) -> Array:
            moved = [y + (x * shift if k == number else 0.0) for k, y in enumerate((q, v, a))]
            return machine.displaced(0.003, *moved, near=at).residual

        expected = (8.0 * (residual(h) - residual(-h)) - residual(2 * h) + residual(-2 * h)) / (
            12.0 * h
        )
        scale = abs(matrix).max() * np.abs(shift).max()
        assert_allclose(matrix @ shift, expected, rtol=0, atol=1e-7 * scale)


def slender(speed: float, stiffness: float) -> assembly.Mechanism:
    """Two blades of 2 mm, hinged to each other by a spring, that turn under gravity."""
    section = assembly.rectangle(0.02, 0.002)
    links = {
        name: assembly.beam(length, section, assembly.steel, 4, planar=True)
        for name, length in (("upper", 0.5), ("lower", 0.4))
    }
    return assembly.Mechanism(
        links,
        [
            assembly.revolute("ground", (0, 0), "upper", "start", name="hub"),
            assembly.revolute("upper", "end", "lower", "start", name="elbow"),
        ],
        [
            assembly.driver("hub", speed),
            assembly.driver("elbow", 0.5 * speed, stiffness=stiffness),
        ],
        gravity=(0, -9.81, 0),
    )


@pytest.mark.parametrize("stiffness", [0.05, 0.5])
def test_slender_links_take_few_steps(stiffness: float) -> None:
    """With the stresses of the displacements in the stiffness they took 12 to 122."""
    machine = slender(5.0, stiffness)
    for t in (0.0, 0.03, 0.07):
        found = machine.trim(t)
        assert found.iterations <= 6
        size = np.abs(found.state.force).max()
        assert np.abs(found.state.residual).max() < 1e-9 * size


def test_a_stiffness_serves_several_steps() -> None:
    """Links that bend little take one each, slender ones three; a stiffness a step, they took two
    and four. One more step of Newton's method is round-off."""
    for machine, most in ((slender(5.0, 0.5), 3), (slider_crank.model(elements=2), 1)):
        for found in machine.trims(np.linspace(0.001, 0.5, 6)):
            assert found.iterations <= most
            at = machine.displaced(found.t, found.q, 0.0 * found.q, 0.0 * found.q, near=found.state)
            left = la.solve(at.tangents()[2].toarray(), at.residual)
            assert np.linalg.norm(left) < 1e-10 * np.linalg.norm(found.q)


def test_one_derivative_takes_the_place_of_three() -> None:
    """Along q, q̇ and q̈ together, with M and C of the undeformed bodies only where joints turn."""
    machine, rng = slender(10.0, 0.5), np.random.default_rng(3)
    q, v, a = rng.normal(size=(3, len(machine.elastic(None).masters)))
    at, by_v, by_a = machine.displaced(0.03, 0.05 * q, 2.0 * v, 50.0 * a), 2e5, 4e10
    expected, rough, found = (
        K + by_v * C + by_a * M for M, C, K in map(at.tangents, (True, False, (by_v, by_a)))
    )
    size = abs(rough - expected).max()
    assert size > 1e-3 * abs(expected).max()
    assert abs(found - expected).max() < 1e-2 * size
    blade = assembly.beam(0.5, assembly.rectangle(0.02, 0.002), assembly.steel, 4, clamped="start")
    body = assembly.moving(blade.with_damping(a=1.0, b=1e-5), assembly.spin(10.0))
    alone = body.displaced(0.0, *rng.normal(size=(3, len(blade.free))) * [[0.05], [2.0], [50.0]])
    expected, found = (
        K + by_v * C + by_a * M for M, C, K in map(alone.tangents, (True, (by_v, by_a)))
    )
    assert abs(found - expected).max() < 1e-12 * abs(expected).max()


def test_derivatives_at_rest_leave_out_the_forces_of_rates() -> None:
    """Of a body they are those of the same displacements at rest; of a mechanism M is the same, and
    the other matrices tend to the exact ones with the rates."""
    rng = np.random.default_rng(3)
    blade = assembly.beam(0.5, assembly.rectangle(0.02, 0.002), assembly.steel, 4, clamped="start")
    body = assembly.moving(blade.with_damping(a=1.0, b=1e-5), assembly.spin(10.0))
    q, v, a = rng.normal(size=(3, 1, len(blade.free))) * [[[0.05]], [[2.0]], [[50.0]]]
    moves, rests = (body.displaced([0.0], q, x * v, x * a) for x in (1.0, 0.0))
    for found, same in zip(moves.derivatives(at_rest=True), rests.derivatives(), strict=True):
        assert_allclose(found, same, rtol=0, atol=1e-13 * np.abs(same).max())
    machine = slender(1e-4, 0.5)
    q, v, a = rng.normal(size=(3, 1, len(machine.elastic(None).masters)))
    errors = []
    for pace in (1.0, 1e-4):
        at = machine.displaced([0.03], 0.05 * q, pace * 2.0 * v, pace * 50.0 * a)
        pairs = list(zip(at.derivatives(at_rest=True), at.derivatives(), strict=True))
        assert_allclose(*pairs[0], rtol=0, atol=1e-13 * np.abs(pairs[0][1]).max())
        errors.append([np.abs(x - y).max() for x, y in pairs])
    for large, small in zip(errors[0][1:], errors[1][1:], strict=True):
        assert small < 1e-3 * large


def test_the_stiffness_is_the_derivative_that_the_exact_tangents_have() -> None:
    """Elements between those at joints included, which are evaluated apart."""
    machine, rng = slender(10.0, 0.5), np.random.default_rng(3)
    q, v, a = rng.normal(size=(3, len(machine.elastic(None).masters)))
    at = machine.displaced(0.03, 0.05 * q, 2.0 * v, 50.0 * a)
    _, _, expected = at.tangents()
    rough = abs(at.tangents(exact=False)[2] - expected).max()
    found = at.stiffness()[0]
    assert abs(found - expected).max() < 1e-3 * rough
    # A step of no length foresees the stresses and reactions that there are.
    (again,) = replace(at, step=np.stack([at.path, at.path])).stiffness()
    assert abs(again - found).max() < 1e-13 * abs(found).max()
    # By velocities and accelerations of the DOFs only that joints turn, of 6 an element.
    parts = at.bodies.stack.apart(at.motion.slaves)
    counts = [np.size(chosen) for *_, chosen in parts if chosen is not False]
    assert counts and max(counts) <= 4


def test_joints_whose_conditions_are_singular_are_one_line() -> None:
    """A step of Newton's method may lead there, and is taken again shorter."""
    machine = slender(10.0, 0.5)
    at = machine.displaced(0.0, *np.zeros((3, len(machine.elastic(None).masters))))
    with pytest.raises(assembly.ConvergenceError, match="cannot be closed"):
        at.motion.ahead(at.path[..., at.motion.masters], at.path, 0.0 * at.gradients)


def test_a_neighbouring_state_closes_the_joints_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its gradients give the other DOFs with their rates; the state is the same from anywhere."""
    machine = slider_crank.model(crank=0.15, rod=0.3, speed_rpm=1500, elements=2)
    rng = np.random.default_rng(3)
    q, change = rng.standard_normal((2, 3, len(machine.elastic(None).masters)))
    q *= np.array([1e-2, 0.1, 10.0])[:, None]
    near = machine.displaced(1e-3, *q)
    counted, rows = [], DeformedMotion.rows
    monkeypatch.setattr(DeformedMotion, "rows", lambda *a: counted.append(0) or rows(*a))
    closer = machine.displaced(1e-3, *q * (1.0 + 1e-4 * change), near=near)
    assert len(counted) == 1
    counted.clear()
    anew = machine.displaced(1e-3, *q * (1.0 + 1e-4 * change))
    assert len(counted) == 2
    for one, other in zip(closer.path, anew.path, strict=True):
        assert_allclose(one, other, rtol=1e-9, atol=1e-13 * abs(other).max())
    largest = abs(anew.gradients).max()
    assert_allclose(closer.gradients, anew.gradients, atol=1e-11 * largest)


def loaded() -> assembly.Mechanism:
    """A link with a dead and a follower force, its end on a bushing."""
    link = assembly.beam(0.5, assembly.rectangle(0.02, 0.004), SOFT, 3)
    tool = assembly.rigid_body(0.1, np.diag([1e-4, 2e-4, 2e-4]))
    return assembly.Mechanism(
        {"link": link, "tool": tool},
        [assembly.revolute("ground", (0, 0, 0), "link", "start", axis=(0, 1, 0), name="hub")],
        [assembly.driver("hub", 3.0)],
        bushings=[
            assembly.bushing(
                "link", "end", "tool", (0, 0, 0), stiffness=[2e3] * 3 + [20.0] * 3, name="mount"
            )
        ],
        loads=[
            assembly.Load("link", "end", (0.0, 2.0, 0.5)),
            assembly.Load("link", 1, (0.0, 0.0, 1.0), follower=True),
        ],
        initial={"tool": (0.5, 0, 0, 0, 0, 0)},
        gravity=(0, 0, -9.81),
    )


@pytest.mark.parametrize("kind", ["beams", "loads and a bushing", "a solid on node sets"])
def test_trims_of_several_times_are_those_of_each(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them by one pass over the elements in a step of Newton's method."""
    makers: dict[str, Callable[[], assembly.Mechanism]] = {
        "beams": lambda: slender(5.0, 0.5),
        "loads and a bushing": loaded,
        "a solid on node sets": lambda: gallery.solid_slider_crank((4, 1, 1))(80.0),
    }
    times = np.linspace(0.001, 0.02, 6)
    each = [makers[kind]().trim(float(t)) for t in times]
    passes, tangents = [], BodiesMotion.tangents

    def counted(self: BodiesMotion, exact: Any) -> Any:
        passes.append(1)
        return tangents(self, exact)

    monkeypatch.setattr(BodiesMotion, "tangents", counted)
    machine = makers[kind]()
    found = machine.trims(times)
    assert len(passes) == max(trim.iterations for trim in found)
    for trim, alone in zip(found, each, strict=True):
        assert (trim.t, trim.iterations) == (alone.t, alone.iterations)
        assert_allclose(trim.q, alone.q, rtol=0, atol=1e-9 * np.abs(alone.q).max())
        K, expected = trim.system.stiffness, alone.system.stiffness
        assert abs(K - expected).max() < 1e-8 * abs(expected).max()
        for name, reaction in alone.reactions.items():
            size = np.linalg.norm(reaction.force) + 1e-3
            assert_allclose(trim.reactions[name].force, reaction.force, atol=1e-6 * size)


def test_loads_in_parts_are_applied_to_all_times_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time has its own share of the loads; together they take the rounds of the longest."""
    rounds, newtons = list[list[float]](), trimming.newtons

    def seen(motion: Any, *start: Array) -> Any:
        rounds.append(motion.share.tolist())
        return newtons(motion, *start)

    monkeypatch.setattr(trimming, "newtons", seen)
    times, each, most = np.linspace(0.0, 0.3, 6), [], 0
    for t in times.tolist():
        each.append(slender(5.0, 0.02).trim(t))
        assert [share for (share,) in rounds[:2]] in ([1.0], [1.0, 0.5])
        most = max(most, len(rounds))
        rounds.clear()
    found = slender(5.0, 0.02).trims(times)
    assert most > 5
    assert len(rounds) == most
    assert any(len(set(shares)) > 1 for shares in rounds)
    for one, alone in zip(found, each, strict=True):
        assert one.iterations == alone.iterations
        assert_allclose(one.q, alone.q, rtol=0, atol=1e-10 * np.abs(alone.q).max())


@pytest.mark.slow
def test_trims_do_not_depend_on_their_order() -> None:
    """Two soft links that turn in a plane under gravity, with a soft drive between them."""
    link = assembly.beam(1.0, assembly.rectangle(0.02, 0.01), SOFT, 2, planar=True)
    machine = assembly.Mechanism(
        {"upper": link, "lower": link},
        [
            assembly.revolute("ground", (0, 0), "upper", "start", name="hub"),
            assembly.revolute("upper", "end", "lower", "start", name="elbow"),
        ],
        [assembly.driver("hub", 2.0), assembly.driver("elbow", 1.0, stiffness=20.0)],
        gravity=(0, -9.81, 0),
    )
    times = np.array([0.0, 1.0, 3.0])
    forward = machine.trims(times)
    assert max(abs(trim.deflections["elbow"][0]) for trim in forward) > 0.05
    backward = machine.trims(times[::-1])[::-1]
    for t, one, other in zip(times, forward, backward, strict=True):
        alone = machine.trim(t)  # by the same steps, from no loads
        assert one.iterations == other.iterations == alone.iterations
        assert_allclose(one.q, other.q, rtol=0, atol=1e-12)
        assert_allclose(one.q, alone.q, rtol=0, atol=1e-12)


@pytest.mark.parametrize("b", [0.0, 0.05])
def test_rigid_and_damped_links_take_few_steps(b: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """An arm of seven links far off its shape: forces of joints and of damping are foreseen with
    the stresses; without that it took 7 and 8."""
    swings = [
        (0.350, 4.101, -0.298), (0.670, 4.435, 0.269), (0.536, 0.085, 0.451),
        (0.647, 5.565, -0.016), (0.659, 0.843, 0.061), (0.171, 3.957, -0.270),
        (0.530, 2.371, -0.337),
    ]  # fmt: skip
    length, names = 0.76, [f"link {k}" for k in range(7)]
    section = assembly.circle(0.0268)
    beam = assembly.beam(length, section, assembly.titanium, 2, planar=True).with_damping(b=b)
    rigid = assembly.rigid_body(1.9, 0.0916, centre=(length / 2, 0, 0), planar=True)
    bodies = {name: rigid if k in (4, 5) else beam for k, name in enumerate(names)}
    ends = [((0, 0), (length, 0)) if k in (4, 5) else ("start", "end") for k in range(7)]
    laws = [assembly.Harmonic(A, 1.306, phase, mean) for A, phase, mean in swings]
    pairs: list[Any] = [("ground", (0, 0), names[0], "start")]
    pairs += [(names[k], ends[k][1], names[k + 1], ends[k + 1][0]) for k in range(6)]
    turns = np.cumsum([law.at(0.0)[0] for law in laws])
    steps = length * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    places = np.cumsum(steps, axis=0) - steps
    machine = assembly.Mechanism(
        bodies,
        [assembly.revolute(*pair, name=f"J{k}") for k, pair in enumerate(pairs)],
        [
            assembly.driver(f"J{k}", law, stiffness=3.73e6 if k < 5 else None)
            for k, law in enumerate(laws)
        ],
        initial={n: (*r, a) for n, r, a in zip(names, places, turns, strict=True)},
    )
    t = np.pi / 1.306
    (found,) = machine.trims([t])
    assert found.iterations <= 4
    equilibria = trimming.equilibria
    monkeypatch.setattr(elastic_mechanism, "equilibria", partial(equilibria, step=0.5))
    (by_parts,) = machine.trims([t])
    assert by_parts.iterations > found.iterations
    assert_allclose(found.q, by_parts.q, rtol=0, atol=1e-9 * np.abs(found.q).max())
