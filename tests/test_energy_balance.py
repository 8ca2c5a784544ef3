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


def test_a_stiffness_that_jumps_between_instants_breaks_it() -> None:
    """No work accounts for a jump of K: the balance must notice it."""

    class Jumping:
        def freeze(self, t: float) -> FrozenSystem:
            return FrozenSystem(M=[[1.0]], K=[[1.0 if t < 20.3 else 1.5]])

    found = energy_balance(Jumping())
    assert found.verdict == "fails"


def test_undamped_closed_form_is_exact_to_the_integrator() -> None:
    system = FrozenSystem(M=np.eye(2), K=np.diag([1.0, 4.0]))
    assert energy_balance(system).found == pytest.approx(0.0, abs=1e-12)
