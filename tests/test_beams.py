"""Beams and bars against published tables, closed forms and exact identities."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg as la

import assembly
from assembly.bodies.beams import Theory
from assembly.bodies.body import Body

REFERENCES = Path(__file__).parent / "references"
ALLOY = assembly.Material(E=1e4, nu=0.0, rho=1.0)


def flap_frequencies(body: Body, omega: float, count: int) -> np.ndarray:
    """Frequencies (rad/s) of the out-of-plane motion (uz, ry) of a beam along x spun about z."""
    system = body.freeze((0.0, 0.0, omega))
    assert system.dofs is not None
    flap = np.flatnonzero(np.isin(system.dofs.component, (2, 4)))
    K = system.stiffness[flap][:, flap].toarray()
    M = system.M[flap][:, flap].toarray()
    return np.sqrt(la.eigh(K, M, eigvals_only=True)[:count])


def flap_cantilever(elements: int, offset: float = 0.0) -> Body:
    """EI = 1 in flap, ρA = 1, L = 1: frequencies are Wright's μ, omega is his η."""
    section = assembly.Section(A=1.0, Iy=1e-4, Iz=1e-3, J=1e-4)
    return assembly.beam(
        1.0,
        section,
        ALLOY,
        elements,
        clamped="start",
        offset=offset,
        theory="euler-bernoulli",
        rotary_inertia=False,
    )


def wright(eta: int) -> np.ndarray:
    values = json.loads((REFERENCES / "A1_flap.json").read_text())["values"]
    return np.array([float(v) for v in values[f"delta=0,eta={eta}"]])


def test_flap_of_a_rotating_cantilever_agrees_with_wright() -> None:
    body = flap_cantilever(20)
    for eta in range(13):
        found = flap_frequencies(body, float(eta), 3)
        np.testing.assert_allclose(found, wright(eta)[:3], rtol=1e-4)


@pytest.mark.parametrize("eta", [0, 6, 12])
def test_frequencies_of_cubic_beams_converge_with_order_four(eta: int) -> None:
    exact = wright(eta)[:3]
    coarse, fine = (
        flap_frequencies(flap_cantilever(n), float(eta), 3) / exact - 1.0 for n in (8, 16)
    )
    order = np.log2(np.abs(coarse / fine))
    assert np.all((order > 3.8) & (order < 4.4)), order
    assert np.all(fine > 0.0)  # Rayleigh-Ritz: from above


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
