"""Steps that Newton's method does not solve are divided, whatever the integrator."""

from __future__ import annotations

import numpy as np
import pytest

import assembly
import modal
from modal.transient import stepping
from modal.transient.integrators.stages import Stages, State


def two_links() -> assembly.Mechanism:
    """Two soft links under their weight, with springs in their hinges."""
    section = assembly.rectangle(0.02, 0.005)
    links = [
        assembly.beam(length, section, assembly.steel, 2, planar=True) for length in (0.4, 0.3)
    ]
    return assembly.Mechanism(
        {"one": links[0], "two": links[1]},
        [
            assembly.revolute("ground", (0, 0), "one", "start", name="A"),
            assembly.revolute("one", "end", "two", "start", name="B"),
        ],
        [assembly.driver(joint, 0.0, stiffness=20.0) for joint in "AB"],
        gravity=(0.0, -9.81, 0.0),
    )


@pytest.mark.slow
def test_a_refused_step_is_that_of_two_halves() -> None:
    """From rest, 8 ms: generalised-α refused its first step, and takes those of 4 ms."""
    machine = two_links()
    rest = (np.zeros(machine.freeze(0.0).n),) * 2
    whole, halves = (
        modal.integrate(machine, (0.0, 8e-3), rest, nonlinear=True, step=h) for h in (8e-3, 4e-3)
    )
    assert whole.sizes["time"] == 2
    np.testing.assert_allclose(
        whole.displacement.values[-1], halves.displacement.values[-1], rtol=1e-9, atol=1e-15
    )
    assert float(whole.energy_defect[-1]) == pytest.approx(float(halves.energy_defect[-1]))


@pytest.mark.slow
def test_divided_energy_momentum_steps_keep_the_energy() -> None:
    """The step at 48 ms failed: the energy of the start stays to the end of it."""
    machine = two_links()
    rest = (np.zeros(machine.freeze(0.0).n),) * 2
    out = modal.integrate(
        machine, (0.0, 0.056), rest, nonlinear=True, step=8e-3, method="energy-momentum"
    )
    assert out.sizes["time"] == 8
    assert np.ptp(out.energy.values) < 1e-8 * np.abs(out.gravity_energy.values).max()


class Exponential:
    """x′ = −x by the exact solution; steps longer than `longest`, or at `wall`, are refused."""

    order = 1

    def __init__(self, longest: float, wall: float = np.inf) -> None:
        self.longest, self.wall = longest, wall
        self.lengths: list[float] = []

    def step(self, t: float, h: float, state: State) -> tuple[State, Stages]:
        if h > self.longest or t <= self.wall < t + h:
            raise assembly.ConvergenceError(f"the step from {t:g} by {h:g}")
        self.lengths.append(h)
        q = state.q * np.exp(-h)
        return State(q, -q, q), Stages(np.array([0.5]), np.ones(1), q[None], -q[None])

    def change_step(self, t: float, state: State, new: float) -> State:
        return state

    def start(self, t: float, h: float, q: np.ndarray, v: np.ndarray) -> State:
        return State(q, v, q)

    def destroy(self) -> None: ...


def test_fixed_steps_keep_their_instants_and_end_where_nothing_is_left_to_divide() -> None:
    one = State(np.ones(1), -np.ones(1), np.ones(1))
    integrator = Exponential(0.07)
    accepted = list(stepping.FixedSteps(integrator, (0.0, 1.0), 4).run(one))
    assert [a.start for a in accepted] == [0.0, 0.25, 0.5, 0.75]
    assert all(sum(h for _, h, _ in a.parts) == a.length for a in accepted)
    assert integrator.lengths == [0.0625] * 16
    assert accepted[-1].state.q[0] == pytest.approx(np.exp(-1.0), rel=1e-14)
    with pytest.raises(assembly.ConvergenceError, match=r"the step from 0\.3"):
        list(stepping.FixedSteps(Exponential(1.0, wall=1.0 / 3.0), (0.0, 1.0), 4).run(one))


def test_adaptive_steps_take_a_refusal_for_an_error() -> None:
    def norm(t: float, q: np.ndarray, v: np.ndarray) -> float:
        return float(np.abs(q).max())

    norm.resolved = lambda h, q, v: (q, v)  # type: ignore[attr-defined]
    one = State(np.ones(1), -np.ones(1), np.ones(1))
    steps = stepping.AdaptiveSteps(Exponential(0.01), (0.0, 1.0), 1e-3, norm)  # type: ignore[arg-type]
    *_, last = steps.run(one)
    assert last.state.q[0] == pytest.approx(np.exp(-1.0), rel=1e-13)
    refusing = stepping.AdaptiveSteps(Exponential(1.0, wall=0.3), (0.0, 1.0), 1e-3, norm)  # type: ignore[arg-type]
    with pytest.raises(assembly.ConvergenceError, match="no step meets"):
        list(refusing.run(one))
