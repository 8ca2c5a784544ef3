"""The default of `modal.floquet` on stiff damped models: groups of modes of unlike decay."""

from __future__ import annotations

import numpy as np
import pytest

import assembly
import modal
from assembly.system.frozen import FrozenSystem
from studies.slider_crank.machine import model
from tests.support.full_growth import full_growth


def test_a_slider_crank_with_a_long_crank() -> None:
    """Against Gauss steps of order 6 of all degrees of freedom."""
    mechanism = model(
        crank=0.15, rod=0.297, speed_rpm=1500.0, elements=2, slider_mass=0.5, rayleigh=(3.0, 2e-6)
    )
    found = modal.floquet(mechanism, 0.04)
    due = full_growth(mechanism, 0.04, 1200)
    assert due == pytest.approx(-4.25707288, abs=1e-7)
    assert abs(found.growth_rate.max() - due) <= found.error[0] + 1e-7
    assert found.error.max() < 1e-4
    assert found.is_complete and found.is_stable


class Swinging:
    """A clamped beam of 60 degrees of freedom that swings by ±0.5 rad at 500 rad/s."""

    rate, angle = 500.0, 0.5

    def __init__(self) -> None:
        section = assembly.rectangle(0.02, 0.02)
        beam = assembly.beam(1.0, section, assembly.steel, 20, clamped="start", planar=True)
        self.beam = beam.with_damping(3.0, 2e-6)

    def freeze(self, t: float) -> FrozenSystem:
        w, angle = self.rate, self.angle
        omega, epsilon = angle * w * np.cos(w * t), -angle * w * w * np.sin(w * t)
        return self.beam.freeze(omega=(0.0, 0.0, omega), epsilon=(0.0, 0.0, epsilon))


@pytest.mark.slow
def test_a_beam_that_swings_faster_than_it_vibrates() -> None:
    beam = Swinging()
    period = 2.0 * np.pi / beam.rate
    found = modal.floquet(beam, period)
    due = full_growth(beam, period, 100)  # type: ignore[arg-type]
    assert abs(found.growth_rate.max() - due) <= found.error[0] + 1e-5
    assert found.error.max() < 1e-3 and found.is_stable
