"""P6: the energy balance of a model along its transient, and that a wrong balance is seen."""

from __future__ import annotations

import numpy as np
import pytest

import assembly
from assembly import FrozenSystem
from modal.checks.balance import energy_balance
from studies import slider_crank


def test_a_blade_that_spins_up_and_a_mechanism_keep_the_balance() -> None:
    blade = assembly.beam(
        1.0, assembly.rectangle(0.05, 0.02), assembly.steel, 6, clamped="start"
    ).with_damping(b=1e-5)
    ramp = assembly.moving(blade, assembly.ramp(300.0, 50.0))
    assert energy_balance(ramp, t1=0.1).verdict == "holds"
    assert energy_balance(slider_crank.model(elements=3), t1=0.008).verdict == "holds"


@pytest.mark.slow
def test_a_stiffness_that_jumps_between_instants_breaks_it() -> None:
    """The defect of a jump of K falls with the square of the step: not the integrator's error."""

    class Jumping:
        def freeze(self, t: float) -> FrozenSystem:
            return FrozenSystem(M=[[1.0]], K=[[1.0 if t < 20.3 else 1.5]])

    found = energy_balance(Jumping(), t0=18.0, t1=21.0)
    assert found.verdict == "fails"


class Stiff:
    """A soft and a stiff spring across each other whose directions swing."""

    def freeze(self, t: float) -> FrozenSystem:
        a = 0.4 * np.sin(0.7 * t)
        n = np.array([np.sin(a), np.cos(a)])
        return FrozenSystem(M=np.eye(2), K=np.eye(2) + 400.0 * np.outer(n, n))


@pytest.mark.slow
def test_the_error_of_the_integrator_is_no_defect_of_the_model() -> None:
    """The first run, of 30 steps a cycle, is above the bound; the error falls with the step."""
    found = energy_balance(Stiff(), t1=7.0)
    assert found.verdict == "holds" and not found.note.endswith(" 30 steps each")


def test_undamped_closed_form_is_exact_to_the_integrator() -> None:
    system = FrozenSystem(M=np.eye(2), K=np.diag([1.0, 4.0]))
    assert energy_balance(system).found == pytest.approx(0.0, abs=1e-12)
