"""Beams and bars against published tables, closed forms and exact identities."""

from __future__ import annotations

import numpy as np
import pytest

import assembly
from assembly.bodies.beams import Theory
from tests.support.beam_models import flap_cantilever, flap_frequencies, wright


def test_flap_of_a_rotating_cantilever_agrees_with_wright() -> None:
    body = flap_cantilever(20)
    for eta in range(13):
        found = flap_frequencies(body, float(eta), 3)
        np.testing.assert_allclose(found, wright(eta)[:3], rtol=1e-4)


@pytest.mark.parametrize("rotary_inertia", [True, False])
@pytest.mark.parametrize("theory", ["timoshenko", "euler-bernoulli"])
@pytest.mark.parametrize("planar", [True, False])
def test_pinned_rotating_beam_keeps_its_rigid_rotation(
    planar: bool, theory: Theory, rotary_inertia: bool
) -> None:
    body = assembly.beam(
        1.3,
        assembly.rectangle(0.05, 0.02),
        assembly.steel,
        20,
        pinned="start",
        theory=theory,
        planar=planar,
        rotary_inertia=rotary_inertia,
    )
    v = body.dofs.rigid_fields()[body.free, 5]
    for omega, epsilon in [(100.0, 0.0), (0.0, 3e4), (150.0, -1e3)]:
        system = body.freeze((0.0, 0.0, omega), (0.0, 0.0, epsilon))
        scale = np.linalg.norm(system.K_omega2 @ v) + np.linalg.norm(system.K_epsilon @ v)
        assert np.linalg.norm(system.stiffness @ v) <= 1e-10 * scale
        # The identity is the geometric stiffness's doing.
        without = system.only("K", "K_epsilon", "K_omega2").stiffness
        assert np.linalg.norm(without @ v) > 0.1 * scale
