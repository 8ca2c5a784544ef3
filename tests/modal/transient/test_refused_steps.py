"""Steps that Newton's method does not solve are divided, whatever the integrator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import assembly
import modal
from assembly.errors import SingularSystemError
from modal.transient import newton, stepping
from modal.transient.integrators.stages import Stages, State
from modal.transient.nonlinear import NonlinearAlpha
from modal.types import Array


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


# Rotations of the ends of both links at 1.04 s by steps of 1 ms: generalised-α and energy-momentum
# steps agree to 2e-6 rad. 8 ms do not resolve the first bending vibration, of 9 ms.
ENDS = (-0.172126, -0.206886)


@pytest.mark.slow
@pytest.mark.parametrize("method, close", [("generalized-alpha", 0.02), ("energy-momentum", 0.07)])
def test_two_links_pass_their_turning_points(method: str, close: float) -> None:
    """From rest, 8 ms: steps of either method were refused, divided, or did not end."""
    machine = two_links()
    rest = (np.zeros(machine.freeze(0.0).n),) * 2
    out = modal.integrate(
        machine, (0.0, 1.04), rest, nonlinear=True, step=8e-3, method=method, probes=[0, 13]
    )
    assert out.sizes["time"] == 131
    np.testing.assert_allclose(out.displacement.values[-1], ENDS, rtol=close)
    largest = np.abs(out.gravity_energy.values).max()
    if method == "energy-momentum":
        assert np.ptp(out.energy.values) < 1e-8 * largest


def test_links_that_fall_are_solved_by_fewer_steps_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Newton's method for twenty steps leads out of range. It goes on with the first of them, whose
    equations do not depend on later ones: the motion is that of single steps."""
    links, corrected, runs = two_links(), NonlinearAlpha.corrected, []
    rest, blocks = (np.zeros(links.freeze(0.0).n),) * 2, set()

    def counted(self: NonlinearAlpha, x: Array, *others: Any, **more: Any) -> Array:
        found = corrected(self, x, *others, **more)
        blocks.add((x.shape[1], found.shape[1]))
        return found

    monkeypatch.setattr(NonlinearAlpha, "corrected", counted)
    for most in (1, 20):
        monkeypatch.setattr(NonlinearAlpha, "MOST", most)
        found = modal.integrate(links, (0.0, 0.2), rest, nonlinear=True, step=1e-2, probes="all")
        runs.append(found.displacement.values)
    assert any(1 < several < asked for asked, several in blocks)
    np.testing.assert_allclose(runs[1], runs[0], rtol=0, atol=1e-8 * np.abs(runs[0]).max())


def test_a_step_of_soft_links_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Newton's corrections may grow while links that have been stretched find their length."""

    def divided(*arguments: object) -> State:
        raise AssertionError("a step is divided")

    machine = two_links()
    rest = (np.zeros(machine.freeze(0.0).n),) * 2
    monkeypatch.setattr(NonlinearAlpha, "change_step", divided)
    out = modal.integrate(machine, (0.0, 0.016), rest, nonlinear=True, step=8e-3)
    assert out.sizes["time"] == 3


def test_a_step_whose_matrix_is_singular_is_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Newton iterate may lie where the tangent has no inverse: two steps are solved one by one,
    and the first is too long."""
    factor, lengths = newton.PatternFactor, []

    def first_fail(matrix: object, **options: object) -> object:
        if len(lengths) <= 2:
            raise SingularSystemError("a matrix is singular")
        return factor(matrix, **options)

    original = NonlinearAlpha.factorize

    def factorize(self: NonlinearAlpha, at: object, h: float) -> object:
        lengths.append(h)
        return original(self, at, h)

    monkeypatch.setattr(newton, "PatternFactor", first_fail)
    monkeypatch.setattr(NonlinearAlpha, "factorize", factorize)
    machine = two_links()
    rest = (np.zeros(machine.freeze(0.0).n),) * 2
    out = modal.integrate(machine, (0.0, 2e-3), rest, nonlinear=True, step=1e-3)
    assert lengths[:3] == [1e-3, 1e-3, 5e-4]
    assert out.sizes["time"] == 3


def test_a_run_stored_before_steps_were_solved_together_goes_on() -> None:
    """Its file has the rates, and the state of the matrix instead of the matrices."""
    machine = two_links()
    n = machine.freeze(0.0).n
    steps = NonlinearAlpha(machine, lambda t: np.zeros(n))
    state = steps.start(0.0, 1e-3, *np.zeros((2, n)))
    expected, _ = steps.step(0.0, 1e-3, state)
    steps.destroy()
    again = NonlinearAlpha(machine, lambda t: np.zeros(n))
    again.recall({"rates": np.zeros(2), "h": np.array(1e-3), "t": np.array(0.0)})
    found, _ = again.step(0.0, 1e-3, state)
    np.testing.assert_allclose(found.q, expected.q, rtol=1e-7, atol=1e-12)
    again.destroy()


class Exponential:
    """x′ = −x by the exact solution; steps longer than `longest`, or at `wall`, are refused."""

    order = 1

    def __init__(self, longest: float, wall: float = np.inf) -> None:
        self.longest, self.wall = longest, wall
        self.lengths: list[float] = []
        self.refused: list[float] = []

    def step(self, t: float, h: float, state: State) -> tuple[State, Stages]:
        if h > self.longest or t <= self.wall < t + h:
            self.refused.append(h)
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
    assert integrator.refused == [0.25, 0.125, 0.125, 0.125, 0.125]
    assert accepted[-1].state.q[0] == pytest.approx(np.exp(-1.0), rel=1e-14)
    with pytest.raises(assembly.ConvergenceError, match=r"the step from 0\.3"):
        list(stepping.FixedSteps(Exponential(1.0, wall=1.0 / 3.0), (0.0, 1.0), 4).run(one))


def test_parts_become_longer_again_behind_an_instant_that_needs_short_ones() -> None:
    """A step that is hard in its first 1024th takes eight parts of a length at most, not 1024."""

    class Hard(Exponential):
        def step(self, t: float, h: float, state: State) -> tuple[State, Stages]:
            self.longest = 2.0**-10 if t < 2.0**-10 else 1.0
            return super().step(t, h, state)

    hard, one = Hard(1.0), State(np.ones(1), -np.ones(1), np.ones(1))
    steps = stepping.FixedSteps(hard, (0.0, 4.0), 4)
    *_, last = steps.run(one)
    parts = [8, 4, 4, 4, 4, 4, 4, 4, 4, 2, 1]
    assert hard.lengths == np.repeat(2.0 ** np.arange(-10, 1), parts).tolist()
    assert last.state.q[0] == pytest.approx(np.exp(-4.0), rel=1e-14)


def test_a_divided_step_begins_as_a_start_does() -> None:
    """And without the accelerations of the step before, which the midpoint rule does not need."""
    machine = two_links()
    n = machine.freeze(0.0).n
    for rho in (1.0, 0.8):
        steps = NonlinearAlpha(machine, lambda t: np.zeros(n), rho)
        state = steps.start(0.0, 1e-3, *np.zeros((2, n)))
        for k in range(3):
            state, _ = steps.step(1e-3 * k, 1e-3, state)
        again = steps.start(3e-3, 5e-4, state.q, state.v).carried
        found = steps.change_step(3e-3, state, 5e-4).carried
        np.testing.assert_allclose(found, again, rtol=1e-6, atol=1e-7 * np.abs(again).max())
        ends = [steps.step(3e-3, 5e-4, State(state.q, state.v, c))[0] for c in (again, found)]
        disturbed = State(state.q, state.v, again + np.where(np.arange(len(again)) < n, 1.0, 0.0))
        ends.append(steps.step(3e-3, 5e-4, disturbed)[0])
        moved = [np.abs(end.v - ends[0].v).max() for end in ends]
        assert moved[1] < 1e-9
        assert (moved[2] < 1e-9) == (rho == 1.0)
        steps.destroy()


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
