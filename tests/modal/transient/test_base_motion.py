"""Base motion and shock: closed forms of one oscillator, of a beam, and of a mechanism's weight."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import assembly
import modal
from assembly import FrozenSystem
from assembly.errors import InputError

PEAK, DURATION = 100.0, 0.011  # m/s², s
SECTION = assembly.rectangle(0.05, 0.02)


def oscillator(hertz: float, damping_ratio: float = 0.0) -> FrozenSystem:
    w = 2.0 * np.pi * hertz
    return FrozenSystem(M=np.eye(1), C=np.array([[2.0 * damping_ratio * w]]), K=[[w * w]])


def half_sine(hertz: float, t: np.ndarray) -> np.ndarray:
    """Relative displacement of an undamped oscillator under a half-sine pulse of its base.

    z'' + ω²z = −A sin(Ωt) for t ≤ τ = π/Ω, free afterwards (Harris' Shock and Vibration Handbook,
    chapter on transient response).
    """
    w, W = 2.0 * np.pi * hertz, np.pi / DURATION
    factor = -PEAK / (w * w - W * W)
    during = factor * (np.sin(W * t) - W / w * np.sin(w * t))
    z = factor * (-W / w * np.sin(w * DURATION))
    v = factor * W * (-1.0 - np.cos(w * DURATION))
    after = z * np.cos(w * (t - DURATION)) + v / w * np.sin(w * (t - DURATION))
    return np.where(t <= DURATION, during, after)


@pytest.mark.parametrize("hertz", [20.0, 70.0, 100.0, 300.0])
def test_the_shock_response_spectrum_of_a_half_sine(hertz: float) -> None:
    system = oscillator(hertz)
    pulse = modal.ShockPulse(PEAK, DURATION)
    load = modal.base_motion(system, pulse, [1.0])
    result = modal.integrate(
        system,
        (0.0, DURATION + 1.0 / hertz),
        formalism="hamilton",
        method="gauss4",
        step=min(DURATION, 1.0 / hertz) / 100,
        loads=[load],
        probes=[0],
    )
    exact = half_sine(hertz, result.time.values)
    found = result.displacement.values[:, 0]
    assert_allclose(found, exact, atol=3e-5 * np.abs(exact).max())
    # The spectrum: largest relative displacement times ω², on a fine closed-form grid.
    fine = np.abs(half_sine(hertz, np.linspace(0.0, DURATION + 1.0 / hertz, 20001))).max()
    assert np.abs(found).max() == pytest.approx(fine, rel=2e-3)


def test_a_rectangle_on_a_damped_oscillator() -> None:
    """Step response: z = −(A/ω²)[1 − e^{−ζωt}(cos ω_d t + ζω/ω_d sin ω_d t)]."""
    hertz, zeta = 50.0, 0.05
    system = oscillator(hertz, zeta)
    load = modal.base_motion(system, modal.ShockPulse(PEAK, 1.0, "rectangle"), [1.0])
    result = modal.integrate(
        system, (0.0, 0.06), formalism="hamilton", method="gauss4", step=2e-4, loads=[load],
        probes=[0],
    )  # fmt: skip
    t, w = result.time.values, 2.0 * np.pi * hertz
    wd = w * np.sqrt(1.0 - zeta**2)
    exact = np.exp(-zeta * w * t) * (np.cos(wd * t) + zeta * w / wd * np.sin(wd * t)) - 1.0
    assert_allclose(result.displacement.values[:, 0], PEAK / w**2 * exact, atol=1e-9)


def test_a_steady_acceleration_bends_a_clamped_beam() -> None:
    """Tip deflection −ρA a L⁴/8EI − shear, ρA a L²/(2 k G A), of the uniform inertia load."""
    beam = assembly.beam(1.0, SECTION, assembly.steel, 10, clamped="start")
    system = beam.freeze()
    load = modal.base_motion(beam, lambda t: 2.0)
    q = np.linalg.solve(system.stiffness.toarray(), load.force(0.0, system))
    assert system.dofs is not None
    steel, A = assembly.steel, 0.05 * 0.02
    bending = steel.rho * A * 2.0 / (8.0 * steel.E * 0.05 * 0.02**3 / 12.0)
    shear = steel.rho * A * 2.0 / (2.0 * SECTION.shear_z * steel.G * A)
    assert q[system.dofs.index(10, 2)] == pytest.approx(-bending - shear, rel=1e-6)


def test_a_direction_in_space_turns_in_the_frame_of_a_rotating_body() -> None:
    beam = assembly.beam(1.0, SECTION, assembly.steel, 3, clamped="start")
    model = assembly.moving(beam, assembly.spin(10.0))
    system = model.freeze(0.0)
    load = modal.base_motion(model, lambda t: 1.0, (1.0, 0.0, 0.0))
    turned = load.force(np.pi / 20.0, system)  # a quarter of a turn: x is −y of the body
    at_rest = modal.base_motion(beam, lambda t: 1.0, (0.0, -1.0, 0.0)).force(0.0, system)
    assert_allclose(turned, at_rest, atol=1e-12)


def test_the_load_on_a_mechanism_is_that_of_opposite_gravity() -> None:
    def machine(gravity: tuple[float, float, float]) -> assembly.Mechanism:
        crank, rod = (
            assembly.beam(length, SECTION, assembly.steel, 3, planar=True) for length in (0.1, 0.3)
        )
        return assembly.Mechanism(
            {"crank": crank, "rod": rod, "piston": assembly.rigid_body(0.2, 1e-4, planar=True)},
            [
                assembly.revolute("ground", (0, 0), "crank", "start", name="A"),
                assembly.revolute("crank", "end", "rod", "start", name="B"),
                assembly.revolute("rod", "end", "piston", "origin", name="C"),
                assembly.prismatic("ground", (0, 0), "piston", "origin", axis=(1, 0), name="D"),
            ],
            [assembly.driver("A", 50.0)],
            initial={"rod": (0.1, 0, 0), "piston": (0.4, 0, 0)},
            gravity=gravity,
        )

    direction = np.array([0.6, 0.8, 0.0])
    free = machine((0.0, 0.0, 0.0))
    load = modal.base_motion(free, lambda t: 3.0, direction)
    for t in (0.0, 0.013):
        system = free.freeze(t)
        x, y, z = -3.0 * direction
        weight = machine((x, y, z)).freeze(t).Q - system.Q
        assert_allclose(load.force(t, system), weight, atol=1e-9 * np.abs(weight).max())


def test_pulses_and_records() -> None:
    triangle = modal.ShockPulse(2.0, 1.0, "triangle", start=1.0)
    assert [triangle.value(t) for t in (0.5, 1.25, 1.5, 2.5)] == [0.0, 1.0, 2.0, 0.0]
    assert triangle.events == (1.0, 1.5, 2.0)
    assert modal.ShockPulse(2.0, 1.0, "sawtooth").value(0.5) == 1.0
    record = modal.base_motion(oscillator(1.0), ([0.0, 1.0, 2.0], [0.0, 4.0, 0.0]), [1.0])
    assert record.force(0.5, oscillator(1.0)) == pytest.approx([-2.0])
    assert record.force(3.0, oscillator(1.0)) == pytest.approx([0.0])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: modal.ShockPulse(1.0, 0.0), "duration must be positive"),
        (lambda: modal.ShockPulse(1.0, 1.0, "gauss"), "shape is one of half-sine"),  # type: ignore[arg-type]
        (lambda: modal.base_motion(oscillator(1.0), 3.0, [1.0]), "expected a ShockPulse"),  # type: ignore[arg-type]
        (lambda: modal.base_motion(oscillator(1.0), lambda t: 0.0), r"needs the displacements"),
        (lambda: modal.base_motion("beam", lambda t: 0.0), "model: expected a body"),
        (lambda: modal.base_motion(oscillator(1.0), ([1.0, 0.0], [1.0, 1.0]), [1.0]), "increase"),
    ],
)
def test_faults_are_named(make, says: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=says):
        make()
