"""Pulses of the matrices between the steps of a Floquet analysis, by products of exponentials.

x″ + 0.01 x′ + s(t) x = 0 with s = 1 but for a pulse of constant height: pieces of constant
matrices, so that the multipliers are those of a product of matrix exponentials.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la
from scipy.integrate import solve_ivp

import assembly
from assembly.errors import InputError
from assembly.system.frozen import FrozenSystem
from modal.periodic.floquet import floquet
from modal.periodic.sampling import check_period, sampling
from modal.transient.equations import SecondOrderModel
from modal.types import Array

DAMPING, PERIOD = 0.01, 6.0


class Pulse:
    """A spring of stiffness 1, and more from `start` to `start + width` of every period."""

    def __init__(self, start: float, width: float, height: float) -> None:
        self.start, self.width, self.height = start, width, height

    def stiffness(self, t: float) -> float:
        inside = 0.0 <= (t - self.start) % PERIOD < self.width
        return 1.0 + self.height * inside

    def matrix(self, t: float) -> Array:
        return np.array([[0.0, 1.0], [-self.stiffness(t), -DAMPING]])

    def freeze(self, t: float) -> FrozenSystem:
        K = np.diag([self.stiffness(t), 9.0])
        return FrozenSystem(M=np.eye(2), D=DAMPING * np.eye(2), K=K)

    def growth(self) -> float:
        """The exact growth rate of x, 1/s."""
        pieces = [(PERIOD - self.width, self.start - 1.0), (self.width, self.start)]
        P = np.eye(2)
        for length, t in pieces:
            P = la.expm(length * self.matrix(t)) @ P
        return float(np.log(np.abs(la.eigvals(P)).max()) / PERIOD)


# Height so that the pulse turns the velocity by about a third: unstable.
CASES = [(0.71, 0.0015), (3.9, 0.003), (5.1234, 0.0021)]


@pytest.mark.parametrize("start, share", CASES)
def test_a_pulse_between_the_steps_is_seen(start: float, share: float) -> None:
    pulse = Pulse(start, share * PERIOD, 2.0 / (share * PERIOD))
    due = pulse.growth()
    assert due > 0.05
    found = floquet(pulse.matrix, PERIOD)
    assert found.narrowest_visible <= 0.001 * PERIOD < pulse.width
    assert found.verdict == "unstable"
    assert abs(found.growth_rate.max() - due) <= found.error.max() + 1e-12
    assert found.error.max() < 1e-8
    assert f"narrower than {PERIOD / 1024:.2g} s (0.098 % of the period)" in str(found)
    declared = floquet(pulse.matrix, PERIOD, breaks=[start, start + pulse.width])
    assert declared.growth_rate.max() == pytest.approx(due, abs=1e-12)


@pytest.mark.slow
def test_a_pulse_of_a_model_is_seen() -> None:
    pulse = Pulse(3.9, 0.003 * PERIOD, 2.0 / (0.003 * PERIOD))
    found = floquet(pulse, PERIOD)
    assert found.narrowest_visible == pytest.approx(PERIOD / 512)
    assert abs(found.growth_rate.max() - pulse.growth()) <= found.error.max() + 1e-12
    with pytest.raises(InputError, match='only "dense"'):
        floquet(pulse, PERIOD, method="reduced")


def test_what_is_narrower_than_visible_is_seen_on_request() -> None:
    pulse = Pulse(0.7001, 1e-4 * PERIOD, 2.0 / (1e-4 * PERIOD))
    found = floquet(pulse.matrix, PERIOD, narrowest=0.5 * pulse.width)
    assert found.narrowest_visible <= 0.5 * pulse.width
    assert found.growth_rate.max() == pytest.approx(pulse.growth(), abs=1e-9)


@pytest.mark.parametrize("start", [1.0, 4.4])
@pytest.mark.parametrize("form", ["matrix", "model"])
def test_half_the_period_is_refused(start: float, form: str) -> None:
    pulse = Pulse(start, 0.004 * PERIOD, 80.0)
    model: Any = pulse.matrix if form == "matrix" else pulse
    with pytest.raises(InputError, match="does not repeat itself after 3 s"):
        floquet(model, 0.5 * PERIOD)


@pytest.mark.slow
def test_a_smooth_pulse_of_a_callable() -> None:
    """A Gaussian of 0.2 % of the period, against Runge–Kutta steps no longer than a tenth of it."""
    place, width = 0.618 * PERIOD, 0.002 * PERIOD

    def matrix(t: float) -> Array:
        bump = np.exp(-((((t - place + 0.5 * PERIOD) % PERIOD - 0.5 * PERIOD) / width) ** 2))
        return np.array([[0.0, 1.0], [-1.0 - 80.0 * bump, -DAMPING]])

    run = solve_ivp(
        lambda t, x: (matrix(t) @ x.reshape(2, 2)).ravel(), (0.0, PERIOD), np.eye(2).ravel(),
        method="DOP853", rtol=1e-12, atol=1e-13, max_step=0.1 * width,
    )  # fmt: skip
    due = np.log(np.abs(la.eigvals(run.y[:, -1].reshape(2, 2))).max()) / PERIOD
    found = floquet(matrix, PERIOD)
    assert found.growth_rate.max() == pytest.approx(due, abs=1e-9)


@pytest.mark.parametrize("height, seen", [(0.0, False), (1e-3, True)])
def test_a_mechanism_is_looked_at_by_what_its_matrices_are_made_of(
    monkeypatch: pytest.MonkeyPatch, height: float, seen: bool
) -> None:
    """A drive with a pulse of its stiffness: only where there is one are the matrices assembled
    all over the period."""
    crank = assembly.beam(0.3, assembly.rectangle(0.02, 0.02), assembly.steel, 2, planar=True)

    def stiffness(t: float) -> float:
        return 2e4 * (1.0 + height * (0.4 <= (10.0 * t / np.pi) % 2.0 < 0.41))

    machine = assembly.Mechanism(
        {"arm": crank}, [assembly.revolute("ground", (0, 0), "arm", "start", name="A")],
        [assembly.driver("A", 10.0, stiffness=stiffness)],
    )  # fmt: skip
    frozen: list[float] = []
    freeze_many = assembly.Mechanism.freeze_many

    def counted(self: Any, times: Any, *rest: Any) -> Any:
        frozen.extend(times)
        return freeze_many(self, times, *rest)

    monkeypatch.setattr(assembly.Mechanism, "freeze_many", counted)
    found = sampling(SecondOrderModel(machine), np.pi / 5.0, 0.0)
    assert (len(found.breaks) > 0) == seen
    assert (len(frozen) > 500) == seen


def test_a_moving_body_is_looked_at_by_its_motion(monkeypatch: pytest.MonkeyPatch) -> None:
    body = assembly.beam(
        1.0, assembly.rectangle(0.02, 0.01), assembly.steel, elements=2, clamped="start"
    )
    model, frozen = assembly.moving(body, assembly.swing(0.3, 60.0)), []
    freeze = type(model).freeze
    monkeypatch.setattr(
        type(model), "freeze", lambda self, t: (frozen.append(t), freeze(self, t))[1]
    )
    found = floquet(model, 2.0 * np.pi / 60.0)
    assert len(frozen) < 100 < 2.0 * np.pi / 60.0 / found.narrowest_visible
    frozen.clear()
    check_period(SecondOrderModel(model), 2.0 * np.pi / 60.0, 0.0, ())
    assert not frozen
    with pytest.raises(InputError, match="does not repeat itself"):
        check_period(SecondOrderModel(model), 0.11, 0.0, ())
    times = np.linspace(0.0, 0.1, 5)
    assert [len(cause) for cause in model.causes(times)] == [5] * 4
    model = assembly.moving(body, assembly.swing(0.3, 60.0), prestress="nonlinear")
    assert model.causes(times)[4].shape == (5, body.size)
