"""Frozen matrices of elastic drives and bushings against the full nonlinear equations.

The mechanism and its equations are in tests/support/sprung_arm.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import assembly
from tests.support.sprung_arm import DAMP, SLIDE, SLIDE_DAMP, SPIN, SPIN_DAMP, WRIST, Exact, T


@pytest.fixture(scope="module")
def exact() -> Exact:
    return Exact()


@pytest.fixture(scope="module")
def system(exact: Exact) -> assembly.FrozenSystem:
    return exact.rigid.freeze(T)


def test_the_mean_motion_bends_and_turns_the_second_bushing(exact: Exact) -> None:
    assert np.abs(exact.x0[0]).max() < 1e-12
    assert np.linalg.norm(exact.x0[1][:3]) > 0.05
    assert np.linalg.norm(exact.x0[1][3:]) > 0.3


def test_loads_are_what_statics_leaves_to_the_springs(
    exact: Exact, system: assembly.FrozenSystem
) -> None:
    exact.check_load(system)


def test_mass_and_damping(exact: Exact, system: assembly.FrozenSystem) -> None:
    exact.check_velocity_terms(system, 1e-8)


@pytest.mark.slow
def test_stiffness_is_the_tangent_of_the_residual(
    exact: Exact, system: assembly.FrozenSystem
) -> None:
    expected = exact.tangent(system.n, 4e-4)
    assert abs(system.K_G).max() > 1e-3 * abs(system.K).max()
    assert abs(system.K_D).max() > 1e-3 * abs(system.K).max()
    atol = 1e-6 * abs(system.K_G).max()
    assert_allclose(system.stiffness.toarray(), expected, rtol=0, atol=atol)


def test_drives_supply_what_their_dampers_take(exact: Exact) -> None:
    """The motor's torque: what the joint transmits, and the damper's against the steady rate."""
    torque, spin, slide = (exact.carried[k][0] for k in (2, 3, 4))
    expected = [
        -torque + DAMP * WRIST.at(T)[1],
        -spin + SPIN_DAMP * SPIN.at(T)[1],
        -slide + SLIDE_DAMP * SLIDE.at(T)[1],
    ]
    found = exact.rigid.driving(T)
    names = ["wrist", "sleeve angle", "sleeve displacement"]
    assert_allclose([found[name] for name in names], expected, rtol=1e-8)


def test_reactions_of_bushings(exact: Exact) -> None:
    """Force and moment on the second body: −(K x + C ẋ + preload), as the balance has them."""
    reactions = exact.rigid.reactions(T)
    for name, k, first in (("mount", 0, "arm"), ("strut", 1, "ground")):
        R = exact.frames[T][first][1]
        assert_allclose(R.T @ reactions[name].force, -exact.carried[k][:3], rtol=1e-8)
