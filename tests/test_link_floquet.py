"""Floquet exponents of mechanisms on bases of their links, against the full monodromy."""

from __future__ import annotations

import numpy as np
import pytest

import modal
from assembly.gallery import solid_slider_crank
from assembly.mechanisms import mechanism as mechanisms
from tests.support.full_monodromy import distances, full_logs

K = 2
SMALLEST = -18.0  # log |μ| that the full monodromy still resolves


@pytest.mark.parametrize(
    ("speed", "damping"),
    [
        (600.0, (0.0, 0.0)),
        pytest.param(400.0, (50.0, 2e-6), marks=pytest.mark.slow),
        pytest.param(500.0, (0.0, 4e-5), marks=pytest.mark.slow),  # stiff shapes are overdamped
    ],
)
def test_exponents_of_a_solid_rod_agree_with_full_order_within_their_errors(
    speed: float, damping: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mechanisms, "LARGE_BODY", 60)
    mechanism = solid_slider_crank((7, 1, 1), "hex8", damping)(speed)
    period = mechanism.period
    assert period is not None
    found = modal.floquet(mechanism, period, k=K)
    assert found.basis.startswith("reduced bases of links")
    exact = full_logs(mechanism, period, float(np.abs(found.eigenvalues).max()))
    apart = distances(found.exponents * period, exact) / period
    resolved = np.log(np.abs(found.multipliers)) >= SMALLEST
    assert resolved.sum() == 2 * K
    assert np.all(apart[resolved] <= found.error[resolved])
    assert found.error.max() <= 1e-6 * np.abs(found.eigenvalues).max()
    assert found.is_stable
