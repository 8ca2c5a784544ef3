"""The default of `modal.floquet` on stiff damped models: groups of modes of unlike decay."""

from __future__ import annotations

import numpy as np
import pytest

import assembly
import modal
from assembly.system.frozen import FrozenSystem
from modal.periodic import floquet
from modal.periodic import slow_motion as elimination
from modal.periodic.chart_motion import (
    ChartMotion,
    Spectra,
    accelerations_of,
    slow_first,
    states_of,
)
from modal.periodic.slow_motion import slow_motion
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


def test_by_default_modes_are_decoupled_at_few_instants(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap: list[bool] = []

    def watched(*arguments: bool) -> None:
        cheap.append(arguments[-1])
        raise InterruptedError

    monkeypatch.setattr(floquet, "decoupled_modes", watched)
    for method in (None, "dense"):
        with pytest.raises(InterruptedError):
            modal.floquet(Swinging(), 2.0 * np.pi / Swinging.rate, method=method)
    assert cheap == [True, False]


def test_slow_modes_among_overdamped_shapes() -> None:
    """With damping b K the two high shapes have eigenvalues next to −1/b, between those of the two
    low ones by |λ|; they decay to e^-140 and less in a second."""
    frequencies, b, parts = np.array([100.0, 200.0, 5e3, 9e3]), 1.0 / 140.0, 32
    wave = 0.01 * np.cos(2.0 * np.pi * np.arange(parts) / parts)[:, None, None]
    K = np.diag(frequencies**2) + 1e3 * wave * np.ones((4, 4))
    M = np.repeat(np.eye(4)[None], parts, axis=0)
    motion = ChartMotion(np.eye(4), frequencies, parts)
    matrices = np.concatenate([M, K / frequencies, b * K], axis=2)
    spectra = Spectra.of(motion, [matrices])
    assert spectra.gap(2) > 50.0 and spectra.lasting(1.0) == 1
    order = slow_first(4, 2)
    A = states_of(frequencies, accelerations_of(matrices))[:, order][:, :, order]
    found = slow_motion(A, 4, 1.0, 8)
    assert found is not None
    due = np.roots([1.0, b * 1e4, 1e4]).tolist() + np.roots([1.0, b * 4e4, 4e4]).tolist()
    np.testing.assert_allclose(
        np.sort_complex(np.linalg.eigvals(found.B[8])), np.sort_complex(due), rtol=1e-3
    )


def test_equations_of_an_elimination_with_real_fast_modes() -> None:
    """F Z − Z B = R, where fast modes are pairs at some instants and real at others."""
    rng = np.random.default_rng(1)
    A = rng.normal(size=(5, 14, 14))
    A[:, :6, :6] *= 0.1
    A[:, :6, 6:] *= 0.02
    A[:, 6:, :6] *= 0.02
    A[:, 6:, 6:] *= 10.0
    values, vectors = np.linalg.eig(A)
    assert len(set((values.imag > 0.0).sum(axis=1))) > 1
    found = elimination._frozen(values, vectors, 6)
    assert found is not None
    L, solve = found
    B, F = A[:, :6, :6] + A[:, :6, 6:] @ L, A[:, 6:, 6:] - L @ A[:, :6, 6:]
    np.testing.assert_allclose(A[:, 6:, :6] + A[:, 6:, 6:] @ L, L @ B, atol=1e-12)
    R = rng.normal(size=L.shape)
    Z = solve(R)
    np.testing.assert_allclose(F @ Z - Z @ B, R, atol=1e-11)
    assert elimination._frozen(values, vectors, 5) is None  # a pair would be torn apart
