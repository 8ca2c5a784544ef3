"""prestress="first-order" of mechanisms: the derivative of "nonlinear" by the loads; its limit.

The loads are scaled through the arguments of the models: speeds with the root of a share,
everything else with the share itself.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import assembly
import modal
from assembly import ConvergenceError, Mechanism, MechanismError, PlausibilityWarning
from tests.support import link_machines
from tests.support.spatial_mechanisms import block, link

SHARES = np.arange(1, 6) / 5.0
STIFFNESS = ("K", "K_epsilon", "K_omega2", "K_G", "K_D", "K_transport")


def turning(angle: float, rate: float, acceleration: float, share: float) -> assembly.Uniform:
    """A law that is at the angle at t = 0, at a share of the pace."""
    return assembly.Uniform(rate * share**0.5, angle, acceleration * share)


def slider(share: float) -> Mechanism:
    """A slider-crank with forces that keep their direction and forces that turn with their node."""
    section, steel = assembly.rectangle(0.02, 0.01), assembly.steel
    crank, rod = (assembly.beam(length, section, steel, 3, planar=True) for length in (0.1, 0.3))
    gas, jet = share * np.array([100.0, -30.0]), share * np.array([10.0, 20.0])
    x, y = 0.1 * np.cos(0.7), 0.1 * np.sin(0.7)
    lean = -np.arcsin(y / 0.3)
    return Mechanism(
        {
            "crank": crank,
            "rod": rod.with_damping(1.0, 1e-5),
            "piston": assembly.rigid_body(0.2, 1e-4, planar=True),
        },
        [
            assembly.revolute("ground", (0, 0), "crank", "start", name="A"),
            assembly.revolute("crank", "end", "rod", "start", name="B"),
            assembly.revolute("rod", "end", "piston", "origin", name="C"),
            assembly.prismatic("ground", (0, 0), "piston", "origin", axis=(1, 0), name="D"),
        ],
        [assembly.driver("A", turning(0.7, 50.0, 200.0, share))],
        initial={
            "crank": (0, 0, 0.7),
            "rod": (x, y, lean),
            "piston": (x + 0.3 * np.cos(lean), 0, 0),
        },
        loads=[assembly.Load("rod", "end", gas), assembly.Load("rod", 1, jet, follower=True)],
    )


def closed_loop_in_space(share: float) -> Mechanism:
    """Crank, elastic coupler between a ball and a universal joint, rocker; skew axes."""
    return Mechanism(
        {"crank": link(0.15), "coupler": link(0.6), "rocker": block()},
        [
            assembly.revolute("ground", (0, 0, 0), "crank", "start", name="A"),
            assembly.spherical("crank", "end", "coupler", "start", name="B"),
            assembly.universal(
                "coupler", "end", "rocker", (0.1, 0.3, 0.05),
                axis=(0, 0.6, 0.8), axis_second=(1, 0.2, 0), name="C",
            ),
            assembly.revolute(
                "ground", (0.6, -0.25, 0.1), "rocker", (0, 0, 0), axis=(0.2, 0.9, 0.3),
                axis_second=(0, 0, 1), name="D",
            ),
        ],
        [assembly.driver("A", turning(0.3, 20.0, 50.0, share))],
        initial={"crank": (0, 0, 0, 0, 0, 0.3), "rocker": (0.6, -0.25, 0.1, 0, 0, 0)},
        gravity=share * np.array([0.0, -9.81, 3.0]),
    )  # fmt: skip


def sprung_arm(share: float) -> Mechanism:
    """An arm that droops on an elastic drive, a tool on a bushing, and a stay to the ground, whose
    force depends on the deflection."""
    arm = assembly.beam(0.6, assembly.rectangle(0.05, 0.04), assembly.steel, 3)
    return Mechanism(
        {
            "arm": arm.with_damping(1.0, 1e-5),
            "tool": assembly.rigid_body(6.0, 0.02, centre=(0.05, 0.02, 0)),
        },
        [assembly.revolute("ground", (0, 0, 0), "arm", "start", axis=(0, 0, 1), name="A")],
        [assembly.driver("A", assembly.Uniform(0.0, 0.2), stiffness=3e4, damping=12.0)],
        bushings=[
            assembly.bushing(
                "arm", "end", "tool", (0, 0, 0), stiffness=(2e7, 8e6, 8e6, 2e4, 3e4, 3e4),
                damping=(100, 50, 50, 0.5, 0.5, 0.5), name="mount",
            ),
            assembly.bushing(
                "ground", (0.2 * np.cos(0.2), 0.2 * np.sin(0.2), 0), "arm", 1,
                stiffness=(2e4, 5e4, 3e4, 0, 0, 0), damping=(10, 5, 5, 0, 0, 0), name="stay",
            ),
        ],
        gravity=share * np.array([2.0, -9.81, 4.0]),
    )  # fmt: skip


def solid_links(share: float) -> Mechanism:
    """Links of bricks, joined at sets of nodes."""
    crank, rod = (link_machines.bar(length, 2, "hex8") for length in (0.1, 0.3))
    return Mechanism(
        {"crank": crank, "rod": rod, "slider": assembly.rigid_body(0.5, (1e-4,) * 3)},
        [
            assembly.revolute("ground", (0, 0, 0), "crank", "x0", axis=(0, 0, 1), name="A"),
            assembly.universal(
                "crank", "x1", "rod", "x0", axis=(0, 0, 1), axis_second=(0, 1, 0), name="B"
            ),
            assembly.spherical("rod", "x1", "slider", (0, 0, 0), name="C"),
            assembly.prismatic("ground", (0, 0, 0), "slider", (0, 0, 0), axis=(1, 0, 0), name="D"),
        ],
        [assembly.driver("A", turning(0.4, 400.0, 0.0, share))],
        initial={
            "crank": (0, 0, 0, 0, 0, 0.4),
            "rod": (0.1 * np.cos(0.4), 0.1 * np.sin(0.4), 0, 0, 0, -0.13),
            "slider": (0.39, 0, 0, 0, 0, 0),
        },
    )


MECHANISMS: dict[str, tuple[Callable[[float], Mechanism], float]] = {
    "slider-crank": (slider, 0.1),
    "closed loop in space": (closed_loop_in_space, 0.02),
    "sprung arm": (sprung_arm, 0.01),
    "solid links": (solid_links, 0.2),
}


def changes(mechanism: Mechanism, prestress: object) -> dict[str, np.ndarray]:
    """M, D, all stiffness but that of dampers at rest, less what they are without any load."""
    system, rest = mechanism.freeze(0.0, prestress=prestress), mechanism.freeze(0.0)
    names = STIFFNESS if rest.parts["D"].is_zero else STIFFNESS[:4] + STIFFNESS[5:]
    return {
        "M": system.M.toarray() - rest.M.toarray(),
        "D": system.D.toarray() - rest.D.toarray(),
        "K": sum(getattr(system, name).toarray() for name in names) - rest.K.toarray(),
    }


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::assembly.PlausibilityWarning")
@pytest.mark.parametrize("name", MECHANISMS)
def test_is_the_derivative_of_nonlinear_by_the_loads(name: str) -> None:
    """Against a polynomial through trims under shares of the loads; damping of the joints' motion
    brings in half powers."""
    make, step = MECHANISMS[name]
    weights = np.linalg.inv(SHARES[:, None] ** (np.arange(2, 7) / 2.0))[0]
    nonlinear, first = (
        [changes(make(step * share), prestress) for share in SHARES]
        for prestress in ("nonlinear", "first-order")
    )
    rest, linear = make(step).freeze(0.0), changes(make(step), "linear")
    for part in linear:
        slope, found = (
            np.tensordot(weights, [values[part] for values in series], 1)
            for series in (nonlinear, first)
        )
        # The weights of both series sum to 1,012, of differences of two matrices to one ε each.
        round_off = 1e-12 * abs(getattr(rest, part)).max()
        atol = 1e-6 * abs(slope).max() + round_off
        np.testing.assert_allclose(found, slope, rtol=0.0, atol=atol)
    assert abs(found - linear["K"]).max() > 0.1 * abs(found).max()


@pytest.mark.slow
def test_many_instants_and_tracks_are_those_of_one() -> None:
    machine, times = slider(0.05), np.linspace(0.0, 0.1, 5)
    many = machine.freeze_many(times, prestress="first-order")
    tracks = modal.track(machine, times=times, k=3, prestress="first-order")
    for i, t in enumerate(times):
        one = machine.freeze(t, prestress="first-order")
        for name, part in one.parts.items():
            other = getattr(many[i], name).toarray()
            np.testing.assert_allclose(other, part.tocsr().toarray(), atol=1e-12 * abs(other).max())
        np.testing.assert_array_equal(one.Q, 0.0)
        found = np.sort(modal.solve(one, k=3).eigenvalues.imag)
        np.testing.assert_allclose(np.sort(tracks.eigenvalue.values[i].imag), found, rtol=1e-8)
    linear = modal.track(machine, times=times, k=3)
    assert abs(tracks.frequency / linear.frequency - 1.0).max() > 1e-7


@pytest.mark.slow
def test_large_links_have_their_changes_too() -> None:
    """A body of more than 200 degrees of freedom: nothing goes by the bases of linear prestress."""
    times = [0.0, 0.01]
    machine = link_machines.planar_slider(
        link_machines.strip(0.3, link_machines.FINE), ("start", "end"), gravity=(0.0, -9.81, 0.0)
    )
    tracks = modal.track(machine, times=times, k=3, prestress="first-order")
    system = machine.freeze(0.01, prestress="first-order")
    found = np.sort(modal.solve(system, k=3).eigenvalues.imag)
    np.testing.assert_allclose(np.sort(tracks.eigenvalue.values[1].imag), found, rtol=1e-8)
    assert abs(system.K_G - machine.freeze(0.01).K_G).max() > 0.1 * abs(system.K_G).max()


@pytest.mark.slow
def test_map_over_speed_and_instant() -> None:
    class Machine:
        def __init__(self) -> None:
            self.at = {share: slider(share) for share in (0.01, 0.05)}

        def freeze(self, share: float, t: float) -> assembly.FrozenSystem:
            return self.at[share].freeze(t, prestress="first-order")

    grid = modal.stability_map(Machine(), share=[0.01, 0.05], t=[0.0, 0.02], k=3)
    growth = modal.solve(Machine().freeze(0.05, 0.02), k=3).eigenvalues.real.max()
    assert float(grid.growth_rate.sel(share=0.05, t=0.02)) == pytest.approx(growth, rel=1e-5)


def soft_arm(gravity: float) -> Mechanism:
    return Mechanism(
        {"arm": assembly.beam(1.0, assembly.rectangle(0.02, 0.002), assembly.steel, 6)},
        [assembly.revolute("ground", (0, 0, 0), "arm", "start", name="hub")],
        [assembly.driver("hub", 0.0)],
        gravity=(0, 0, -gravity),
    )


def on_mounts(stiffness: float, speed: float) -> Mechanism:
    """A slider-crank whose frame stands on two bushings, under its own weight."""
    section, steel = assembly.rectangle(0.02, 0.01), assembly.steel
    crank, rod = (assembly.beam(length, section, steel, 4, planar=True) for length in (0.1, 0.3))
    mounts = [
        assembly.bushing(
            "ground",
            (x, -0.1),
            "frame",
            (x, -0.1),
            stiffness=(stiffness, stiffness, 0.0),
            name=name,
        )
        for x, name in ((-0.1, "left"), (0.2, "right"))
    ]
    lean = -np.arcsin(np.sin(0.7) / 3.0)
    return Mechanism(
        {
            "frame": assembly.rigid_body(20.0, 0.5, planar=True),
            "crank": crank,
            "rod": rod,
            "piston": assembly.rigid_body(0.5, 1e-4, planar=True),
        },
        [
            assembly.revolute("frame", (0, 0), "crank", "start", name="A"),
            assembly.revolute("crank", "end", "rod", "start", name="B"),
            assembly.revolute("rod", "end", "piston", "origin", name="C"),
            assembly.prismatic("frame", (0, 0), "piston", "origin", axis=(1, 0), name="D"),
        ],
        [assembly.driver("A", turning(0.7, speed, 0.0, 1.0))],
        initial={
            "crank": (0, 0, 0.7),
            "rod": (0.1 * np.cos(0.7), 0.1 * np.sin(0.7), lean),
            "piston": (0.1 * np.cos(0.7) + 0.3 * np.cos(lean), 0, 0),
        },
        bushings=mounts,
        gravity=(0.0, -9.81, 0.0),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "machine",
    [lambda: sprung_arm(1.0), lambda: on_mounts(1e6, 1.0), lambda: on_mounts(1e6, 30.0)],
    ids=["arm on a drive", "machine on mounts", "running on mounts"],
)
def test_a_machine_that_turns_on_its_springs_keeps_its_frequencies(
    machine: Callable[[], Mechanism],
) -> None:
    """Links that turn with a drive or a mount do not stretch by it: ω² of "first-order" against
    that about the equilibrium of "nonlinear", ten times better than "linear" (it was up to 900
    times worse: 4e-2 against 4.5e-5)."""

    def lowest(prestress: object) -> np.ndarray:
        system = machine().freeze(0.0, prestress=prestress)  # type: ignore[arg-type]
        found = modal.solve(system, k=6, backend="dense").eigenvalues
        return np.sort(np.abs(found)) ** 2

    exact = lowest("nonlinear")
    linear, first = (abs(lowest(p) / exact - 1.0).max() for p in ("linear", "first-order"))
    assert first < 0.1 * linear


@pytest.mark.slow
def test_error_estimate_is_that_of_the_same_beam_as_a_body() -> None:
    """A driven arm is a clamped beam: first order leaves out 4 % of ω₁² under 9.81 m/s², where the
    estimate is 7 %; 40 m/s² is refused."""
    with pytest.warns(PlausibilityWarning, match=r'about 7 % of ω² .* prestress="nonlinear"'):
        found = soft_arm(9.81).freeze(0.0, prestress="first-order")
    exact = np.sort(modal.solve(soft_arm(9.81).freeze(0.0, prestress="nonlinear"), k=4).frequency)
    first = np.sort(modal.solve(found, k=4).frequency)
    beam = assembly.beam(1.0, assembly.rectangle(0.02, 0.002), assembly.steel, 6, clamped="start")
    bodies = (
        soft_arm(1.0).freeze(0.0, prestress="first-order"),
        beam.freeze(acceleration=(0.0, 0.0, 1.0), prestress="first-order"),
    )
    one, other = (np.sort(modal.solve(body, k=4).frequency) for body in bodies)
    np.testing.assert_allclose(one, other, rtol=1e-8)
    assert abs(first**2 / exact**2 - 1.0).max() < 0.07
    with pytest.raises(ConvergenceError, match=r'too large for first order.*"nonlinear"'):
        soft_arm(40.0).freeze(0.0, prestress="first-order")


@pytest.mark.slow
@pytest.mark.parametrize("drive", [{"held": False}, {"stiffness": 0.0, "damping": 1.0}])
def test_a_mechanism_that_is_free_to_move_is_refused(drive: dict[str, float]) -> None:
    """Whatever round-off makes of the last pivot of its stiffness: twelve machines."""
    for elements in (1, 2, 3):
        for width in (0.011, 0.02, 0.03, 0.047):
            arm = assembly.beam(1.0, assembly.rectangle(0.02, width), assembly.steel, elements)
            free = Mechanism(
                {"arm": arm},
                [assembly.revolute("ground", (0, 0, 0), "arm", "start", name="hub")],
                [assembly.driver("hub", 2.0, **drive)],
            )
            with pytest.raises(MechanismError, match=r'free to move.*"first-order"'):
                free.freeze(0.0, prestress="first-order")
