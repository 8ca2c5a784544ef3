"""Applied forces on mechanisms: reactions, power, and the stiffness they bring."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import assembly
import modal
from assembly.mechanisms.applied_loads import AppliedLoads

Array = NDArray[np.float64]

LENGTH = 1.0
SECTION = assembly.rectangle(0.01, 0.02)
EI = assembly.steel.E * SECTION.Iz


def column(load: float, follower: bool) -> assembly.FrozenSystem:
    """A column clamped by a motor at rest, pressed along its axis at its free end."""
    beam = assembly.beam(
        LENGTH, SECTION, assembly.steel, 20, planar=True, theory="euler-bernoulli",
        rotary_inertia=False,
    )  # fmt: skip
    mechanism = assembly.Mechanism(
        {"column": beam},
        [assembly.revolute("ground", (0, 0), "column", "start", name="foot")],
        [assembly.driver("foot", 0.0)],
        loads=[assembly.Load("column", "end", (-load, 0.0), follower=follower)],
    )
    return mechanism.freeze(0.0)


def eigenvalues(system: assembly.FrozenSystem) -> Array:
    """λ² of M q̈ + K q = 0, sorted by size."""
    found = np.linalg.eigvals(np.linalg.solve(system.M.toarray(), system.stiffness.toarray()))
    return -found[np.argsort(np.abs(found))]


def test_a_dead_load_buckles_the_column() -> None:
    """Euler: π² EI / 4 L²; below it stable, above it a divergence."""
    critical = np.pi**2 * EI / (4.0 * LENGTH**2)
    below, above = (eigenvalues(column(f * critical, False))[0] for f in (0.9999, 1.0001))
    assert below.real < 0.0 < above.real
    assert_allclose([below.imag, above.imag], 0.0)


def test_a_follower_load_makes_the_column_flutter() -> None:
    """Beck's column (Z. angew. Math. Phys. 3, 1952): flutter at 20.0509 EI / L², no divergence."""
    critical = 20.0509 * EI / LENGTH**2
    below, above = (eigenvalues(column(f * critical, True))[:2] for f in (0.9999, 1.0001))
    assert np.all(below.real < 0.0) and np.all(below.imag == 0.0)
    assert np.all(np.abs(above.imag) > 1e-3 * np.abs(above.real))


def pendulum(gravity: float, force: float) -> assembly.FrozenSystem:
    body = assembly.rigid_body(2.0, 0.05, centre=(0.3, 0.0, 0.0), planar=True)
    mechanism = assembly.Mechanism(
        {"body": body},
        [assembly.revolute("ground", (0, 0), "body", (0, 0), name="A")],
        [assembly.driver("A", assembly.Uniform(rate=0.0, start=-0.5 * np.pi), held=False)],
        loads=[assembly.Load("body", (0.4, 0.0), lambda t: (0.0, -force))],
        gravity=(0, -gravity, 0),
    )
    return mechanism.freeze(0.0)


def test_a_pendulum_swings_with_its_weight_and_its_load() -> None:
    """ω² = (m g c + F l) / I about the pivot: gravity and dead loads on rigid bodies stiffen."""
    system = pendulum(9.81, 7.0)
    found = system.stiffness.toarray() / system.M.toarray()
    assert found.shape == (1, 1)
    assert found[0, 0] == pytest.approx((2.0 * 9.81 * 0.3 + 7.0 * 0.4) / (0.05 + 2.0 * 0.09))


@pytest.mark.parametrize("follower", [False, True])
def test_stiffness_of_a_force_at_a_lever(follower: bool) -> None:
    """K = −∂Q/∂(u, θ) of Q = (∂x/∂(u, θ))ᵀ f, x = u + exp(θ̃) s, by differences of rotations."""
    rng = np.random.default_rng(8)
    lever, force = rng.normal(size=3), rng.normal(size=3)
    load = assembly.Load("b", lever, force, follower=follower)
    applied = AppliedLoads.of((load,), {"b": assembly.rigid_body(1.0, 1.0)}, planar=False)
    h = 1e-4

    def point(d: Array) -> Array:
        return np.asarray(d[:3] + Rotation.from_rotvec(d[3:]).apply(lever))

    def generalised(d: Array) -> Array:
        f = Rotation.from_rotvec(d[3:]).apply(force) if follower else force
        reach = [(point(d + h * e) - point(d - h * e)) / (2 * h) for e in np.eye(6)]
        return np.array(reach) @ f

    columns = [-(generalised(h * e) - generalised(-h * e)) / (2 * h) for e in np.eye(6)]
    found = applied.stiffness(force[None], np.arange(6))
    assert_allclose(found, np.stack(columns, axis=1), atol=1e-6)


def pressed_slider_crank(held: bool = True) -> assembly.Mechanism:
    def link(length: float) -> assembly.Body:
        return assembly.beam(length, assembly.rectangle(0.02, 0.01), assembly.steel, 4, planar=True)

    def gas(t: float) -> tuple[float, float]:
        return -300.0 * np.cos(40.0 * t) ** 2, 20.0

    return assembly.Mechanism(
        {
            "crank": link(0.15),
            "rod": link(0.3),
            "slider": assembly.rigid_body(0.5, 1e-3, planar=True),
        },
        [
            assembly.revolute("ground", (0, 0), "crank", "start", name="A"),
            assembly.revolute("crank", "end", "rod", "start", name="B"),
            assembly.revolute("rod", "end", "slider", (0, 0), name="C"),
            assembly.prismatic("ground", (0, 0), "slider", (0, 0), axis=(1, 0), name="D"),
        ],
        [assembly.driver("A", 40.0, held=held)],
        loads=[
            assembly.Load("slider", (0.02, 0.01), gas),
            assembly.Load("rod", 2, (5.0, -8.0), follower=True),
        ],
    )


def test_drivers_and_loads_do_the_work() -> None:
    mechanism, t, h = pressed_slider_crank(), 0.023, 1e-5

    def kinetic(s: float) -> float:
        state, total = mechanism.state(s), 0.0
        for i, body in enumerate(mechanism.bodies.values()):
            v = body.dofs.rigid_fields() @ state.twist[i]
            total += 0.5 * float(v @ (body.operators.M.tocsr() @ v))
        return total

    change = (8 * (kinetic(t + h) - kinetic(t - h)) - (kinetic(t + 2 * h) - kinetic(t - 2 * h))) / (
        12 * h
    )
    gas = np.array([-300.0 * np.cos(40.0 * t) ** 2, 20.0, 0.0])
    follower = mechanism.position(t)["rod"][1] @ [5.0, -8.0, 0.0]
    power = 40.0 * mechanism.driving(t)["A"]
    power += gas @ mechanism.place(t, "slider", (0.02, 0.01))[1]
    power += follower @ mechanism.place(t, "rod", (0.15, 0.0))[1]
    assert_allclose(power, change, rtol=1e-7)


def test_loads_are_in_Q_and_in_balance_with_the_driver() -> None:
    system = pressed_slider_crank(held=False).freeze(0.023)
    v = system.rigid[:, 0]
    assert abs(v @ system.Q) <= 1e-12 * (abs(v) @ abs(system.Q))
    plain = assembly.Mechanism(
        *(lambda p: (p.bodies, p.joints, p.drivers))(pressed_slider_crank().topology)
    )
    assert np.abs(plain.freeze(0.023).Q - pressed_slider_crank().freeze(0.023).Q).max() > 1.0


@pytest.mark.parametrize(
    ("load", "message"),
    [
        (assembly.Load("arm", "end", (1.0,)), "two or three finite numbers"),
        (assembly.Load("arm", "end", lambda t: (np.nan, 0.0)), "at t = 0 s: expected two or three"),
        (assembly.Load("ground", (0, 0), (1.0, 0.0)), "no body 'ground'"),
        (assembly.Load("arm", "tip", (1.0, 0.0)), "load on 'arm': body 'arm' has no nodes 'tip'"),
    ],
)
def test_bad_loads_are_named(load: assembly.Load, message: str) -> None:
    make: Callable[[], object] = lambda: assembly.Mechanism(  # noqa: E731
        {"arm": assembly.beam(1.0, SECTION, assembly.steel, 1, planar=True)},
        [assembly.revolute("ground", (0, 0), "arm", "start", name="A")],
        [assembly.driver("A", 1.0)],
        loads=[load],
    )
    with pytest.raises(assembly.MechanismError, match=message):
        make()


def test_what_a_follower_has_no_potential_for_is_circulatory() -> None:
    """K_G stays symmetric, Hamilton's form takes the load, and both formalisms have one motion."""
    mechanism = pressed_slider_crank(held=False)
    system = mechanism.freeze(0.023)
    K_G, K_D = system.K_G.toarray(), system.K_D.toarray()
    assert_allclose(K_G, K_G.T, rtol=0, atol=1e-12 * np.abs(K_G).max())
    assert_allclose(K_D, -K_D.T, rtol=0, atol=1e-12 * np.abs(K_D).max())
    # An axial and a transverse force that turn with node 2: K_uθ = f̃ on its three unknowns alone.
    assert np.abs(K_D).max() == pytest.approx(4.0)
    shape = modal.solve(system, k=2).right[:, 1].real
    start, formalisms = (shape / np.abs(shape).max(), np.zeros(system.n)), ("lagrange", "hamilton")
    lagrange, hamilton = (
        modal.integrate(mechanism, (0.023, 0.0234), start, form, step=2e-5, probes="all")  # type: ignore[arg-type]
        for form in formalisms
    )
    ends = [run.displacement.values[-1] for run in (lagrange, hamilton)]
    assert_allclose(ends[0], ends[1], rtol=0, atol=2e-3 * np.abs(ends[1]).max())
