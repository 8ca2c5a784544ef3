"""All bodies of a mechanism in one pass against each alone, the energy, and paths of equilibria."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import assembly
from assembly import gallery
from assembly.bodies.blades import BladeTable, rigid_section_mass, uncoupled_stiffness
from assembly.bodies.in_motion import (
    K_D,
    K_EPSILON,
    K_G,
    K_OMEGA2,
    K_TRANSPORT,
    BodiesMotion,
    C,
    D,
    K,
    M,
    MovingBodies,
)
from assembly.errors import ConvergenceError
from assembly.mechanisms import trim

SECTION = assembly.rectangle(0.02, 0.01)
INERTIA = np.diag([1e-4, 2e-4, 3e-4])


def bodies() -> list[assembly.Body]:
    plain = assembly.beam(0.3, SECTION, assembly.steel, 2)
    classical = assembly.beam(
        0.2, SECTION, assembly.steel, 1, theory="euler-bernoulli", rotary_inertia=False
    )
    s = np.array([0.0, 0.25])
    table = BladeTable(
        s, np.stack([s, 0.2 * s**2, 0.0 * s], axis=1), 0.4 * s,
        uncoupled_stiffness(1e7, 4e6, 4e6, 900.0, 700.0, np.full(2, 2e3)),
        rigid_section_mass(np.full(2, 3.0), 0.03, -0.02, np.diag([6e-3, 2e-3, 4e-3])),
    )  # fmt: skip
    return [
        assembly.attach_mass(plain, 1, 0.2, (3e-3, 2e-3, 4e-3), (0.01, -0.02, 0.0)),
        assembly.rigid_body(0.2, INERTIA, centre=(0.01, 0.02, 0.0)),
        assembly.attach_damper(classical, 1, 4.0),
        assembly.beam(0.1, SECTION, assembly.aluminium, 3).with_damping(a=0.4, b=1e-4),
        assembly.weld([plain, plain.placed((0.3, 0, 0))]),
        assembly.blade(table, rotary_inertia=False),  # mass centres off the axis
    ]


def motion(parts: list[assembly.Body], loaded: bool = True) -> BodiesMotion:
    rng = np.random.default_rng(3)
    stack = MovingBodies(parts)
    path = rng.normal(size=(3, stack.size)) * np.array([[0.01], [1.0], [20.0]])
    numbers = rng.normal(size=(len(parts), 30)) * float(loaded)
    return BodiesMotion(stack, numbers[:, :6], numbers[:, 6:18], numbers[:, 18:], path)


def of_one(whole: BodiesMotion, k: int) -> BodiesMotion:
    stack = MovingBodies([whole.stack.bodies[k]])
    own = slice(whole.stack.offsets[k], whole.stack.offsets[k + 1])
    rows = (x[k : k + 1] for x in (whole.twist, whole.motion, whole.loading))
    return BodiesMotion(stack, *rows, whole.path[:, own])


@pytest.mark.slow
def test_all_bodies_in_one_pass_are_the_bodies_one_by_one() -> None:
    whole = motion(bodies())
    alone = [of_one(whole, k) for k in range(len(whole.stack.bodies))]
    force = np.concatenate([body.force for body in alone])
    assert_allclose(whole.force, force, rtol=0, atol=1e-13 * np.abs(force).max())
    assert_allclose(whole.moments, np.concatenate([b.moments for b in alone]), atol=1e-15)
    assert_allclose(whole.strain_energy, sum(b.strain_energy for b in alone), rtol=1e-13)
    assert_allclose(whole.damping_power, sum(b.damping_power for b in alone), rtol=1e-9)
    offsets, parts = whole.stack.offsets, whole.parts()
    for k, body in enumerate(alone):
        own = slice(offsets[k], offsets[k + 1])
        for values, expected in zip(parts, body.parts(), strict=True):
            block = whole.stack.matrix(values)[own][:, own].toarray()
            dense = body.stack.matrix(expected).toarray()
            size = np.abs(body.parts()).max()
            assert_allclose(block, dense, rtol=0, atol=1e-13 * size)


@pytest.mark.parametrize("at_rest", [False, True])
@pytest.mark.parametrize("planar", [False, True])
def test_newtons_tangents_come_with_the_force(planar: bool, at_rest: bool) -> None:
    """They are derivatives of the force of bodies in motion, and evaluating them does not change
    it; at rest in the frames they are found without rates."""
    damped = assembly.beam(0.3, SECTION, assembly.steel, 2, planar=planar, mu=1e-4)
    parts = [*bodies(), damped]
    if planar:
        flat = assembly.beam(0.3, SECTION, assembly.steel, 2, planar=True)
        parts = [flat, flat.with_damping(a=0.4, b=1e-4), damped]
    whole, linearized = (m.resting if at_rest else m for m in (motion(parts), motion(parts)))
    shift = np.random.default_rng(5).normal(size=whole.stack.size)
    rough, exact = linearized.tangents(exact=False), linearized.tangents(exact=True)
    by_u = [K, K_EPSILON, K_OMEGA2, K_G, K_D, K_TRANSPORT]
    for row, names, h in ((0, by_u, 1e-5), (1, [C, D], 1.0), (2, [M], 1e3)):

        def moved(x: float, row: int = row) -> np.ndarray:
            path = whole.path.copy()
            path[row] += x * shift
            return replace(whole, path=path).force

        expected = (8.0 * (moved(h) - moved(-h)) - moved(2 * h) + moved(-2 * h)) / (12.0 * h)
        for values in (rough, exact) if row == 0 else (exact,):
            found = whole.stack.matrix(values[names].sum(axis=0)) @ shift
            assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    assert_allclose(linearized.force, whole.force, rtol=0, atol=1e-13 * np.abs(whole.force).max())


def of_all_families() -> list[assembly.Body]:
    sheet = gallery.sheet(2, 1, "q4", (0.3, 0.1), (0.0, 0.0), assembly.steel, clamped=None)
    return [
        *bodies(),
        assembly.beam(0.3, SECTION, assembly.steel, 2, mu=1e-4).with_damping(b=1e-4),
        assembly.bar(0.4, 1e-5, assembly.steel, 3).with_damping(b=1e-3),
        sheet.with_damping(a=0.3, b=1e-4),
        assembly.weld([bodies()[3], bodies()[0].placed((0.1, 0, 0))]),
    ]


def test_several_instants_are_each_of_them() -> None:
    """Forces, energies, momenta, powers and derivatives."""
    ones, rng = [motion(of_all_families())], np.random.default_rng(8)
    for _ in range(2):
        rows = [rng.normal(size=x.shape) for x in (ones[0].twist, ones[0].motion, ones[0].loading)]
        path = ones[0].path * rng.uniform(0.5, 1.5, size=ones[0].path.shape)
        ones.append(BodiesMotion(ones[0].stack, *rows, path))
    several = BodiesMotion(
        ones[0].stack,
        *(
            np.stack([getattr(own, name) for own in ones])
            for name in ("twist", "motion", "loading")
        ),
        np.stack([own.path for own in ones], axis=1),
    )
    r, gravity = rng.normal(size=(*several.twist.shape[:2], 3)), np.array([1.0, -2.0, 3.0])
    R = rng.normal(size=(*r.shape, 3))
    force = rng.normal(size=several.path[0].shape)
    energies, momenta = several.energies(r, R, gravity), several.momenta(r, R)
    for k, own in enumerate(ones):
        alone, moved = own.energies(r[k], R[k], gravity), own.momenta(r[k], R[k])
        pairs = [
            (several.force[k], own.force),
            (several.damping_power[k], own.damping_power),
            (several.power(force)[k], own.power(force[k])),
            (momenta.linear[k], moved.linear),
            (momenta.angular[k], moved.angular),
            *((getattr(energies, name)[k], x) for name, x in vars(alone).items()),
            *zip(several.tangents(True)[:, k], own.tangents(True), strict=True),
        ]
        for found, expected in pairs:
            size = np.abs(expected).max()
            assert_allclose(found, expected, rtol=0, atol=1e-13 * size)


def test_what_dampers_take_needs_no_force(monkeypatch: pytest.MonkeyPatch) -> None:
    """In frames at rest: the work of the part of the forces that is odd in the velocities."""
    whole = motion(of_all_families(), loaded=False)
    u, v, a = whole.path
    odd = whole.force - replace(whole, path=np.stack([u, -v, a])).force
    at = replace(whole)
    monkeypatch.setattr(BodiesMotion, "force", None)
    assert at.damping_power == pytest.approx(-0.5 * float(v @ odd), rel=1e-9)


def test_elements_of_one_kind_are_one_family() -> None:
    """Two Timoshenko beams; the classical beam has other parts; the weld's are placed."""
    parts = bodies()
    assert len(MovingBodies(parts).families) < sum(len(body.families) for body in parts)
    alike = [assembly.beam(0.1 * k, SECTION, assembly.steel, k) for k in range(1, 20)]
    assert len(MovingBodies(alike).families) == 1


def test_the_force_at_rest_is_the_gradient_of_the_energy() -> None:
    whole = motion(bodies(), loaded=False)
    u = whole.path[0]

    def at(u: Any) -> BodiesMotion:
        path = np.stack([u, 0.0 * u, 0.0 * u])
        return BodiesMotion(whole.stack, whole.twist, whole.motion, whole.loading, path)

    force, h = at(u).force, 1e-4
    for direction in np.random.default_rng(5).normal(size=(3, len(u))):
        direction /= np.abs(direction).max() * 100.0
        e = {k: at(u + k * h * direction).strain_energy for k in (-2, -1, 1, 2)}
        slope = (8.0 * (e[1] - e[-1]) - (e[2] - e[-2])) / (12.0 * h)
        assert slope == pytest.approx(force @ direction, rel=1e-7)


def test_a_path_of_equilibria_starts_from_the_one_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """x³ + 10 on a path from 0 to 1 while Newton's method reaches 0.1: never from zero again. A
    path beside it that is straight needs one step."""
    starts, bent = [], np.array([1.0, 0.0])

    def newtons(at: Any, q: Any, before: Any) -> list[Any]:
        out: list[Any] = []
        for share, factor, (x,) in zip(*at, q, strict=True):
            starts.append(float(x))
            solution = np.array([factor * share**3 + 10.0])
            state = SimpleNamespace(q=solution, path=solution[None])
            out.append((state, 5) if abs(x - solution) <= 0.1 else ConvergenceError("too far"))
        return out

    monkeypatch.setattr(trim, "newtons", newtons)
    monkeypatch.setattr(trim, "Trim", lambda state, count: SimpleNamespace(q=state.q, count=count))
    here = (0.0, np.array([10.0]), np.array([10.0]))
    found: Any = trim.equilibria(lambda x, n: (x, bent[n]), [(here, np.zeros(1))] * 2)  # type: ignore[arg-type, return-value]
    assert [own.q[0] for own in found] == pytest.approx([11.0, 10.0])
    assert found[1].count == 5
    assert min(starts) == 10.0 and len(starts) < 21
