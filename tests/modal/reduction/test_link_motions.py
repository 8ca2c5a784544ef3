"""Floquet exponents and transients of mechanisms on bases of their links, against full order."""

from __future__ import annotations

import numpy as np
import pytest

import modal
from assembly.gallery import solid_slider_crank
from assembly.mechanisms import mechanism as mechanisms
from modal.types import Array
from tests.support.full_mechanism import FullMechanism
from tests.support.full_monodromy import distances, full_logs

K = 2
SMALLEST = -18.0  # log |μ| that the full monodromy still resolves


@pytest.mark.slow
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
    exact = full_logs(mechanism, period, K)
    apart = distances(found.exponents * period, exact) / period
    resolved = np.log(np.abs(found.multipliers)) >= SMALLEST
    assert resolved.sum() == 2 * K
    assert np.all(apart[resolved] <= found.error[resolved])
    assert found.error.max() <= 1e-6 * np.abs(found.eigenvalues).max()
    assert found.is_stable


@pytest.mark.slow
@pytest.mark.parametrize("damping", [(0.0, 0.0), (50.0, 2e-6)])
def test_a_transient_from_a_bent_rod_states_its_error_by_the_basis(
    damping: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A translation bent as a half sine, whose cross-sections do not rotate, moves fast modes that
    no basis has: they have most of the energy and next to none of the displacement."""
    monkeypatch.setattr(mechanisms, "LARGE_BODY", 60)
    mechanism = solid_slider_crank((7, 1, 1), "hex8", damping)(400.0)
    here = mechanism.freeze_many([0.0])[0]
    dofs = here.dofs
    assert dofs is not None
    x = dofs.coordinates[dofs.node, 0]
    q = np.where(dofs.component == 1, 1e-5 * np.sin(np.pi * x / 0.3), 0.0)
    on_links, full = (
        modal.integrate(model, (0.0, 1e-3), (q, 0.0 * q), step=2e-5, probes="all")
        for model in (mechanism, FullMechanism(mechanism))
    )

    def size(shapes: Array) -> float:
        return float(np.sqrt(np.maximum((shapes * (here.M @ shapes.T).T).sum(axis=1), 0.0)).max())

    error = size((on_links - full).displacement.values) / size(full.displacement.values)
    assert error <= on_links.attrs["basis_error"] <= 40.0 * error
