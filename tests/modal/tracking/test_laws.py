"""Derivatives along a sweep whose coefficients are a polynomial through the values themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose

import assembly
import modal
from modal.reduction.interpolation import polynomial_fit

SPEEDS = np.linspace(0.0, 300.0, 40)
Damping = Callable[[float], float]


class Blade:
    """A beam whose damper follows a law of the speed; counts how often it is frozen."""

    def __init__(self, law: Damping) -> None:
        section = assembly.rectangle(0.05, 0.02)
        self.body = assembly.beam(1.0, section, assembly.steel, 12, clamped="start")
        self.law, self.damper, self.count = law, self.body.freeze().parts["M"], 0

    def freeze(self, omega: float) -> assembly.FrozenSystem:
        self.count += 1
        found = self.body.freeze(omega=omega, axis=(0, 0, 1))
        return assembly.FrozenSystem(**found.parts | {"C": self.damper.scaled(self.law(omega))})


def test_a_sweep_freezes_every_value_once() -> None:
    """And a few more for the choice of the basis and its checks; with differences at every value
    169 times, and 246 times along a motion."""
    for rate in (None, 5.0):
        blade = Blade(lambda omega: 1e-3 * omega)
        modal.track(blade, omega=SPEEDS, k=3, rate=rate, backend="reduced", progress=False)
        assert blade.count < 1.5 * len(SPEEDS)


@pytest.mark.parametrize("law", [lambda s: 1e-3 * s, lambda s: abs(1e-3 * s - 0.15)])
def test_rates_with_and_without_a_kink_are_those_of_full_solves(law: Damping) -> None:
    quick, exact = (
        modal.track(Blade(law), omega=SPEEDS, k=3, rate=5.0, backend=backend, progress=False)
        for backend in ("reduced", "dense")
    )
    assert_allclose(quick.eigenvalue, exact.eigenvalue, rtol=1e-9)
    assert_allclose(quick.growth_rate_corrected, exact.growth_rate_corrected, atol=1e-7)
    assert_allclose(quick.frozen_interval, exact.frozen_interval, rtol=1e-5)
    assert_allclose(quick.coupling, exact.coupling, atol=1e-9)


def test_a_motion_sampled_once_a_period_is_not_constant() -> None:
    section = assembly.rectangle(0.05, 0.02)
    blade = assembly.beam(1.0, section, assembly.steel, 12, clamped="start")
    turning = assembly.moving(blade, assembly.swing(2.0, 20.0 * np.pi, phase=0.7))
    times = 0.1 * np.arange(24)
    quick, exact = (
        modal.track(turning, times=times, k=3, backend=backend, progress=False)
        for backend in ("reduced", "dense")
    )
    assert np.ptp(quick.eigenvalue.values[:, 0].imag) < 1e-6
    assert np.isfinite(exact.frozen_interval).any()
    assert_allclose(quick.frozen_interval, exact.frozen_interval, rtol=1e-4)


def test_polynomials_of_low_degree_are_found_and_others_are_not() -> None:
    times = np.linspace(1.0, 4.0, 33)
    values = np.stack([times**3, np.ones(33), 1e-9 * times], axis=1)
    found = polynomial_fit(times, values)
    assert found is not None
    at = np.array([1.1, 2.2, 3.9])
    rates = np.stack([3.0 * at**2, 0.0 * at, np.full(3, 1e-9)], axis=1)
    assert_allclose(found.derivative.many(at), rates, rtol=1e-11, atol=1e-24)
    curvature = found.derivative.derivative.many(at)
    assert_allclose(curvature[:, 0], 6.0 * at, rtol=1e-10)
    assert polynomial_fit(times, np.abs(times - 2.0)[:, None]) is None
    assert polynomial_fit(times, (1.0 + 1e-9 * (times > 2.0))[:, None]) is None
    assert polynomial_fit(np.ones(1), np.ones((1, 2))) is None
