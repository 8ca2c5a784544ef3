"""Frequency and growth identified from signals and transients."""

import numpy as np
import pytest

import assembly
import modal
from assembly.errors import InputError
from modal.checks.identification import identify, matrix_pencil, rate_of

LAMBDA = np.array([-0.3 + 5.0j, 0.1 + 12.0j])


def test_matrix_pencil_finds_two_vibrations() -> None:
    t = np.linspace(0.0, 4.0, 401)
    signal = (2.0 * np.exp(LAMBDA[0] * t)).real + (0.5 * np.exp(LAMBDA[1] * t + 0.3j)).real
    found = matrix_pencil(t, signal)
    due = [LAMBDA[0], LAMBDA[0].conj(), LAMBDA[1], LAMBDA[1].conj()]
    assert len(found.eigenvalues) == 4
    for lam in due:
        assert np.abs(found.eigenvalues - lam).min() < 1e-8
    assert found.misfit < 1e-10
    # Strongest first; a real vibration of amplitude 2 is two exponentials of 1 each.
    np.testing.assert_allclose(np.abs(found.amplitudes), [1.0, 1.0, 0.25, 0.25], rtol=1e-6)


def test_rate_of_a_coordinate() -> None:
    t = np.linspace(1.0, 3.0, 300)
    assert rate_of(t, 0.3 * np.exp(LAMBDA[1] * t)) == pytest.approx(LAMBDA[1], abs=1e-10)


def test_modes_of_a_damped_rotating_blade_are_identified_from_its_transient() -> None:
    beam = assembly.beam(
        length=1.0, section=assembly.rectangle(0.05, 0.02), material=assembly.steel, elements=6,
        clamped="start",
    ).with_damping(2.0, 1e-5)  # fmt: skip
    system = beam.freeze(omega=(0.0, 0.0, 100.0))
    modes = modal.solve(system, k=3)
    start = np.concatenate([modes.right, modes.right * modes.eigenvalues]).sum(axis=1).real
    response = modal.integrate(
        system, (0.0, 0.05), start, "hamilton", method="gauss6", step=1e-4, probes="all"
    )
    found = identify(response, modes, system)
    # Gauss of order 6: relative phase error (ω h)⁶/100800, ω h ≤ 0.07 here; nothing else differs.
    np.testing.assert_allclose(found.eigenvalue, modes.eigenvalues, rtol=1e-8)
    pencil = matrix_pencil(response.time, response.displacement[:, ::3], modes=6)
    for lam in modes.eigenvalues:
        assert np.abs(pencil.eigenvalues - lam).min() < 1e-5 * abs(lam)


def test_bad_input_is_named() -> None:
    t = np.linspace(0.0, 1.0, 50)
    with pytest.raises(InputError, match="evenly"):
        matrix_pencil(t**2, np.sin(t))
    with pytest.raises(InputError, match="6 samples"):
        matrix_pencil(t[:3], t[:3])
    with pytest.raises(InputError, match="zero"):
        rate_of(t, np.zeros(50))
    system = assembly.FrozenSystem(M=np.eye(2), K=np.eye(2))
    response = modal.integrate(system, (0.0, 1.0), step=0.1, probes=[0])
    with pytest.raises(InputError, match="all"):
        identify(response, modal.solve(system, k=1, backend="dense"), system)
