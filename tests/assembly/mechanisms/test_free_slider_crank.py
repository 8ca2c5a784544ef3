"""The two zero eigenvalues of a free slider-crank with elastic links (paper 628503, P2), with M, C
and K alone: dense transformation, sparse projection and 50 digits."""

from __future__ import annotations

import numpy as np
import pytest

import modal
from assembly import FrozenSystem
from modal.eigen.deflation import deflate_by_similarity
from modal.eigen.quadratic import companion
from studies import slider_crank
from tests.support.quadratics import upper_spectrum


def free_slider_crank(elements: int, t: float = 0.003, transport: bool = False) -> FrozenSystem:
    """The motor keeps the speed but does not hold the crank; the paper's form has frozen rotations
    (no transport terms), for which C is skew.
    """
    mechanism = slider_crank.model(elements=elements, driven=False)
    return mechanism.freeze(t, transport=transport).only("C", "K")


@pytest.mark.slow
@pytest.mark.parametrize("t", [0.0, 0.003, 0.017])
def test_both_deflations_agree_with_fifty_digits(t: float) -> None:
    system = free_slider_crank(2, t)
    chain = system.null_chain
    assert chain is not None and chain.count == 2
    exact = upper_spectrum(system)
    # In double precision K v is zero to round-off only: 50 digits see the block of size two split
    # by the square root of that.
    elastic = exact[np.abs(exact) > 1e-5 * np.abs(exact).max()]
    assert 2 * len(elastic) + 2 == 2 * system.n

    sparse = modal.solve(system, k=len(elastic), backend="slepc")
    assert sparse.deflated == 2
    A, B = companion(system.M.toarray(), system.C.toarray(), system.K.toarray())
    transformed = deflate_by_similarity(A, B, chain.right).matrix
    assert transformed.shape == (2 * system.n - 2, 2 * system.n - 2)
    dense = np.linalg.eigvals(transformed)
    dense = dense[np.argsort(np.abs(dense))]

    first = np.abs(elastic[0])
    for found in (sparse.eigenvalues, dense):
        assert np.abs(found).min() > 1e-6 * first
    few = 6  # beyond these the transformation's own round-off, √κ(M) ε, is what differs
    np.testing.assert_allclose(sparse.eigenvalues[:few], elastic[:few], rtol=1e-9)
    np.testing.assert_allclose(np.abs(dense[: 2 * few : 2]), np.abs(elastic[:few]), rtol=1e-9)


def test_the_zeros_are_gone_on_a_large_model_too() -> None:
    system = free_slider_crank(40)
    modes = modal.solve(system, k=6, backend="slepc")
    reference = modal.solve(system, k=6, backend="dense")
    assert modes.deflated == reference.deflated == 2
    assert list(modes.kind) == ["elastic"] * 6
    np.testing.assert_allclose(modes.eigenvalues, reference.eigenvalues, rtol=1e-9)


def test_without_deflation_the_zeros_scatter() -> None:
    """What the deflation is for: half of the digits of the defective pair are lost."""
    system = free_slider_crank(4)
    A, B = companion(system.M.toarray(), system.C.toarray(), system.K.toarray())
    scattered = np.sort(np.abs(np.linalg.eigvals(np.linalg.solve(B, A))))
    assert scattered[1] > 1e-9 * scattered[2]


def test_transport_terms_leave_one_zero() -> None:
    """With them C + Cᵀ = 2 dM/dt, so vᵀCv = vᵀ(dM/dt)v is not zero and one of the pair moves
    off."""
    mechanism = slider_crank.model(elements=4, driven=False)
    t, h = 0.003, 1e-6
    system = mechanism.freeze(t)
    v = system.rigid[:, 0]
    rate = (mechanism.freeze(t + h).M - mechanism.freeze(t - h).M) / (2.0 * h)
    power = float(v @ (system.C @ v))
    assert power == pytest.approx(float(v @ (rate @ v)), rel=1e-6)
    assert abs(power) > 1e-3 * float(v @ (system.M @ v))
    assert system.only("C", "K").null_chain.count == 1
