"""The linear verdict on a mode against the nonlinear motion, by amplitude."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as special
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import assembly
import modal
from modal.checks.crosscheck_amplitudes import agreement, outcome_of
from modal.checks.identification import rate_of_turns

Array = NDArray[np.float64]
LENGTH, MASS, INERTIA, GRAVITY = 0.4, 2.0, 0.05, 9.81
ABOUT = INERTIA + MASS * LENGTH**2  # moment of inertia about the hinge


def pendulum(gravity: float, stiffness: float = 0.0, damping: float = 0.0) -> assembly.Mechanism:
    """A rigid pendulum along x; it hangs where gravity is positive, else it stands."""
    bob = assembly.rigid_body(MASS, INERTIA, centre=(LENGTH, 0.0, 0.0), planar=True)
    return assembly.Mechanism(
        {"bob": bob},
        [assembly.revolute("ground", (0, 0), "bob", (0, 0), name="hinge")],
        [assembly.driver("hinge", 0.0, stiffness=stiffness, damping=damping)],
        gravity=(gravity, 0.0, 0.0),
    )


@pytest.mark.slow
def test_backbone_of_a_pendulum() -> None:
    """ω = π ω₀ / 2K(sin ½a) (Landau & Lifshitz, Mechanics, §11)."""
    check = modal.crosscheck_amplitudes(pendulum(GRAVITY), [1e-3, 1.2], cycles=8, steps=16)
    natural = np.sqrt(MASS * GRAVITY * LENGTH / ABOUT)
    assert float(check.linear_frequency) == pytest.approx(natural / (2.0 * np.pi), rel=1e-9)
    due = natural / (4.0 * special.ellipk(np.sin(0.5 * check.amplitude.values) ** 2))
    assert check.frequency.values == pytest.approx(due, rel=5e-4)
    assert check.frequency_difference.values[1] == pytest.approx(-0.0892, abs=2e-4)
    assert abs(check.frequency_difference.values[0]) < 1e-6
    assert check.outcome.values.tolist() == ["periodic"] * 2
    assert check.linear_holds.values.tolist() == [True, False]
    assert float(check.linear_up_to) == 1e-3
    assert np.abs(check.final_amplitude.values / check.amplitude.values - 1.0).max() < 2e-2


@pytest.mark.slow
def test_small_damped_vibrations_are_the_linear_ones() -> None:
    """λ of J ẍ + c ẋ + m g L x = 0."""
    check = modal.crosscheck_amplitudes(pendulum(GRAVITY, damping=0.2), [1e-3], cycles=8, steps=8)
    half = 0.1 / ABOUT
    natural = MASS * GRAVITY * LENGTH / ABOUT
    assert float(check.growth_rate[0]) == pytest.approx(-half, rel=1e-4)
    due = np.sqrt(natural - half**2) / (2.0 * np.pi)
    assert float(check.frequency[0]) == pytest.approx(due, rel=1e-5)
    assert check.outcome.values.tolist() == ["decays"]
    assert bool(check.linear_holds[0])


@pytest.mark.slow
def test_a_standing_pendulum_falls_to_another_equilibrium() -> None:
    """With k < m g L it leaves the upright position with J λ² + c λ + k − m g L = 0, and comes to
    rest where k x = m g L sin x."""
    k, c, weight = 7.4, 0.6, MASS * GRAVITY * LENGTH
    check = modal.crosscheck_amplitudes(pendulum(-GRAVITY, k, c), [1e-3, 0.3], cycles=8, steps=8)
    rate = (-c + np.sqrt(c * c - 4.0 * ABOUT * (k - weight))) / (2.0 * ABOUT)
    assert float(check.linear_growth_rate) == pytest.approx(rate, rel=1e-9)
    assert float(check.growth_rate[0]) == pytest.approx(rate, rel=1e-4)
    assert check.linear_holds.values.tolist() == [True, False]
    assert check.outcome.values.tolist() == ["another equilibrium"] * 2
    rest = brentq(lambda x: weight * np.sin(x) - k * x, 0.1, 3.0)
    assert check.final_amplitude.values == pytest.approx(rest, rel=1e-4)


def test_out_of_range_is_a_divergence() -> None:
    """Without a spring it falls over; a drive deflects by no more than 87 degrees."""
    check = modal.crosscheck_amplitudes(pendulum(-GRAVITY), [0.3], cycles=8, steps=8)
    assert check.outcome.values.tolist() == ["diverges"]
    assert np.isnan(check.final_amplitude.values[0])


def test_a_motion_of_which_no_step_succeeds_diverges() -> None:
    """The hinge passes 87 degrees in the first eighth of a cycle."""
    check = modal.crosscheck_amplitudes(pendulum(-GRAVITY), [1.5], cycles=8, steps=16)
    assert check.outcome.values.tolist() == ["diverges"]
    assert np.isnan(check.growth_rate.values[0])


LINK = dict(m=1.0, J=0.02, L=1.0, k=1.0, c=0.05, P=2.5)


def follower_pendulum(force: float = LINK["P"]) -> assembly.Mechanism:
    """Two rigid links on elastic hinges under a follower force at the end (Ziegler 1952)."""
    p = LINK

    def link() -> assembly.Body:
        return assembly.rigid_body(p["m"], p["J"], centre=(0.5 * p["L"], 0.0, 0.0), planar=True)

    return assembly.Mechanism(
        {"a": link(), "b": link()},
        [
            assembly.revolute("ground", (0, 0), "a", (0, 0), name="A"),
            assembly.revolute("a", (p["L"], 0), "b", (0, 0), name="B"),
        ],
        [assembly.driver(x, 0.0, stiffness=p["k"], damping=p["c"]) for x in "AB"],
        initial={"b": (p["L"], 0, 0)},
        loads=[assembly.Load("b", (p["L"], 0), (-force, 0.0), follower=True)],
    )


def follower_rates(t: float, y: Array) -> Array:
    """Its equations by Lagrange in the absolute angles x, z of the links and their rates."""
    m, J, L, k, c, P = LINK.values()
    x, z, u, w = y
    C, S = np.cos(x - z), np.sin(x - z)
    about, coupling = J + m * (0.5 * L) ** 2, 0.5 * m * L * L
    M = np.array([[about + m * L * L, coupling * C], [coupling * C, about]])
    F = [
        -coupling * S * w * w - k * x + k * (z - x) - c * u + c * (w - u) + P * L * S,
        coupling * S * u * u - k * (z - x) - c * (w - u),
    ]
    return np.concatenate([[u, w], np.linalg.solve(M, F)])


@pytest.mark.slow
def test_flutter_ends_in_a_limit_cycle() -> None:
    """Amplitude of the limit cycle from the equations written apart, by scipy."""
    A = np.array(
        [(follower_rates(0.0, e) - follower_rates(0.0, -e)) / 2e-6 for e in 1e-6 * np.eye(4)]
    )
    lam = max(np.linalg.eigvals(A.T), key=lambda value: (value.real, value.imag))
    check = modal.crosscheck_amplitudes(follower_pendulum(), [0.6], cycles=8, steps=24)
    assert float(check.linear_growth_rate) == pytest.approx(lam.real, rel=1e-5)
    assert float(check.linear_frequency) == pytest.approx(lam.imag / (2.0 * np.pi), rel=1e-6)
    motion = solve_ivp(
        follower_rates, (0.0, 250.0), [0.5, 0.5, 0.0, 0.0], rtol=1e-8, atol=1e-10, max_step=0.1
    )
    late = motion.y[:, motion.t > 200.0]
    end = LINK["L"] * np.sin(np.abs(late[0]).max())  # the mode's displacement: end of a link
    assert check.outcome.values.tolist() == ["limit cycle"]
    assert not check.linear_holds[0]
    assert float(check.final_amplitude[0]) == pytest.approx(end, rel=0.05)


@pytest.mark.slow
def test_a_small_growth_rate_is_judged_by_its_own_size() -> None:
    """Near its onset the flutter grows by 0.0041 1/s, at the amplitude 0.1 by 6 % less: that is
    0.03 % of |λ|, and the frequency is the linear one to 0.1 %."""
    force = 1.9
    check = modal.crosscheck_amplitudes(follower_pendulum(force), [0.03, 0.1], cycles=8, steps=8)
    linear = float(check.linear_growth_rate)
    assert linear == pytest.approx(0.004123461, rel=1e-4)  # follower_rates at P = 1.9, by LAPACK
    change = check.growth_rate.values / linear - 1.0
    assert abs(change[0]) < 0.02 < 0.05 < abs(change[1])
    assert check.growth_rate_difference.values == pytest.approx(change)
    assert check.linear_holds.values.tolist() == [True, False]
    assert check.frequency_holds.values.tolist() == [True, True]
    assert float(check.linear_up_to) == float(check.growth_rate_linear_up_to) == 0.03
    assert float(check.frequency_linear_up_to) == 0.1


@pytest.mark.parametrize(("linear", "frequency"), [(0.0406, 10.0), (-0.0406, 10.0), (-6.0, 0.5)])
@pytest.mark.parametrize("factor", [0.49, 0.94, 0.96, 1.04, 1.06])
def test_frequency_and_growth_are_judged_each_by_its_own_size(
    linear: float, frequency: float, factor: float
) -> None:
    """The larger of the two does not excuse the smaller one, and they do not depend on another."""
    lam, holds = complex(linear, frequency), abs(factor - 1.0) <= 0.05
    outcome = "grows" if linear > 0.0 else "decays"
    grown, quicker = complex(factor * linear, frequency), complex(linear, factor * frequency)
    assert agreement(grown, lam, outcome, 0.05) == (True, holds)
    assert agreement(quicker, lam, outcome, 0.05) == (holds, True)
    assert agreement(lam, lam, "limit cycle", 0.05) == (True, linear > 0.0)


@pytest.mark.parametrize(
    ("growth", "cubic", "start", "outcome"),
    [
        (0.05, 1.0, 0.1, "limit cycle"),
        (-0.05, 1.0, 0.1, "decays"),
        (0.05, 1.0, 0.5, "limit cycle"),
        (0.01, 1.0, 0.3, "limit cycle"),
        (0.001, 1.0, 1e-3, "grows"),
        (-0.05, -1.0, 0.2, "decays"),
        (-1e-3, 1.0, 0.001, "decays"),
    ],
)
def test_outcomes_of_an_exact_motion(
    growth: float, cubic: float, start: float, outcome: str
) -> None:
    """r' = g r − b r³, the amplitude equation of a Hopf bifurcation, is solved by
    r⁻² = b/g + (r₀⁻² − b/g) e^{−2 g t}; its limit cycle is r² = g/b."""
    span = 2.0 * np.pi * 16
    t = np.linspace(0.0, span, 16 * 32 + 1)
    ratio = cubic / growth
    r = (ratio + (start**-2 - ratio) * np.exp(-2.0 * growth * t)) ** -0.5
    c = r / start * np.exp(1j * t)
    assert outcome_of(c, complex(growth, 1.0), span, conservative=False) == outcome


def test_rate_of_turns_ignores_harmonics() -> None:
    """Of a periodic signal with a third harmonic its frequency, exactly."""
    t = np.linspace(0.0, 8.0, 161)
    c = np.exp((-0.1 + 2.0j) * t) * (1.0 + 0.2 * np.exp(4.0j * t))
    assert rate_of_turns(t, c, 2) == pytest.approx(-0.1 + 2.0j, rel=1e-5)
    assert np.isnan(rate_of_turns(t[:20], c[:20], 2))


@pytest.mark.slow
def test_a_moving_body_about_its_stretched_shape() -> None:
    """The trim is in equilibrium, its modes are those of prestress="nonlinear"; the amplitude is
    the largest displacement of the shape, and the axial vibration is not started."""
    blade = assembly.beam(
        1.0, assembly.rectangle(0.02, 0.01), assembly.steel, 1, clamped="start", planar=True,
        theory="euler-bernoulli", offset=0.1,
    )  # fmt: skip
    model = assembly.moving(blade, assembly.spin(60.0))
    trim = model.trim(0.0)
    assert np.abs(trim.q).max() > 1e-6
    assert np.abs(trim.residual).max() < 1e-6 * np.abs(model.freeze(0.0).Q).max()
    due = modal.solve(blade.freeze(omega=(0, 0, 60.0), prestress="nonlinear"), k=1).eigenvalues[0]
    check = modal.crosscheck_amplitudes(model, [1e-3], cycles=8, steps=8)
    assert float(check.linear_frequency) == pytest.approx(due.imag / (2.0 * np.pi), rel=1e-9)
    assert abs(float(check.frequency_difference[0])) < 1e-5
    assert abs(float(check.growth_rate_difference[0])) < 1e-5
    assert float(check.final_amplitude[0]) == pytest.approx(1e-3, rel=2e-2)


def test_what_it_does_not_take_is_one_line() -> None:
    machine = pendulum(GRAVITY)
    blade = assembly.beam(1.0, assembly.circle(0.1), assembly.steel, 1, clamped="start")
    for amplitudes in ([0.0, 1.0], [1.0, 0.5], [], 0.1, [np.nan]):
        with pytest.raises(assembly.InputError, match="amplitudes: expected"):
            modal.crosscheck_amplitudes(machine, amplitudes)
    with pytest.raises(assembly.InputError, match="expected a Mechanism or a moving body"):
        modal.crosscheck_amplitudes(blade, [0.1])
    with pytest.raises(assembly.InputError, match="mode: the model has 1 modes"):
        modal.crosscheck_amplitudes(machine, [0.1], mode=3)
    ramp = assembly.moving(blade, assembly.ramp(epsilon=5e3))
    with pytest.raises(assembly.InputError, match="the motion is not steady"):
        modal.crosscheck_amplitudes(ramp, [1e-3])
    with pytest.raises(assembly.ConvergenceError, match="deflected by more than 87 degrees"):
        modal.crosscheck_amplitudes(machine, [2.0])
