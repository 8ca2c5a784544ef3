"""Lagrange's and Hamilton's equations give one response: the rotating bar of paper 1401 and
more."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg as la

import assembly
import modal
from assembly.system.frozen import FrozenSystem
from modal.transient.equations import SecondOrderModel
from modal.transient.hamilton import CanonicalModel
from studies.rotating_bar.bar import frozen, model
from studies.slider_crank.machine import model as slider_crank
from tests.support.spatial_mechanisms import rsur

SPAN = (0.0, 0.01)
FORCE = 1000.0  # N, at the free end, period π/100


def bar_response(system: FrozenSystem, formalism: Any, **options: Any) -> Any:
    loads = [
        modal.Harmonic(at=system.n - 1, amplitude=FORCE, angular_frequency=200.0),
        modal.InertiaLoads(),
    ]
    return modal.integrate(system, SPAN, None, formalism, loads=loads, probes="all", **options)


def exact_bar(system: FrozenSystem, t: float) -> np.ndarray:
    """Displacements from rest under Q + F sin Ωt, by superposition of the undamped modes."""
    w2, modes = la.eigh(system.stiffness.toarray(), system.M.toarray())
    w = np.sqrt(w2)
    static = modes.T @ system.Q
    tip = modes[-1] * FORCE
    Omega = 200.0
    constant = static / w2 * (1.0 - np.cos(w * t))
    forced = tip / (w2 - Omega**2) * (np.sin(Omega * t) - Omega / w * np.sin(w * t))
    return np.asarray(modes @ (constant + forced))


@pytest.mark.slow
def test_rotating_bar_has_one_response() -> None:
    system = frozen(model(10))
    assert np.abs(system.C.toarray()).max() == 0.0  # axial motion feels no Coriolis force
    step = 2e-6
    lagrange = bar_response(system, "lagrange", step=step)
    hamilton = bar_response(system, "hamilton", step=step)
    size = float(np.abs(lagrange.displacement).max())
    # Generalised-α with ρ = 1 and the midpoint rule of Hamilton's form share their solution for
    # constant coefficients but for the load, taken at t* = the same midpoint: round-off apart.
    assert float(np.abs(lagrange.displacement - hamilton.displacement).max()) < 1e-9 * size
    gauss = bar_response(system, "hamilton", method="gauss6", step=1e-5)
    exact = exact_bar(system, SPAN[1])
    np.testing.assert_allclose(gauss.displacement[-1], exact, atol=1e-9 * size)
    # Order 2: the highest frequency of ten elements, 3.5e5 rad/s, is resolved at ω h = 0.7.
    np.testing.assert_allclose(lagrange.displacement[-1], exact, atol=2e-2 * size)


def test_the_papers_half_stiffness_is_a_misprint() -> None:
    # Eq. 13 prints −½[k]{δ}: the frequency would be 1/√2 of Lagrange's.
    system = frozen(model(10))
    canonical = CanonicalModel(SecondOrderModel(system), SPAN).at(0.0)
    lagrange = la.eigvalsh(system.stiffness.toarray(), system.M.toarray())
    found = la.eigvalsh(canonical.on_displacement.toarray(), canonical.M.toarray())
    np.testing.assert_allclose(found, lagrange, rtol=1e-12)


@pytest.mark.parametrize(
    "mechanism",
    [
        pytest.param(slider_crank(elements=2), id="slider-crank"),
        pytest.param(slider_crank(elements=2, rayleigh=(5.0, 1e-6)), id="damped slider-crank"),
        pytest.param(rsur(), id="spatial linkage"),
    ],
)
def test_mechanisms_have_one_response(mechanism: assembly.Mechanism) -> None:
    # M, C and K all vary; the formalisms differ by no more than their errors of order 2.
    system = mechanism.freeze(0.0)
    modes = modal.solve(system, k=1)
    shape = modes.right[:, 0].real
    start = (1e-4 * shape / np.abs(shape).max(), np.zeros(system.n))
    runs = [
        modal.integrate(
            mechanism, (0.0, 4e-4), start, formalism, method=method, step=1e-5, probes="all"
        )
        for formalism, method in (("lagrange", None), ("hamilton", None), ("hamilton", "gauss4"))
    ]  # fmt: skip
    size = float(np.abs(runs[2].displacement).max())
    for run in runs[:2]:
        assert float(np.abs(run.displacement - runs[2].displacement).max()) < 1e-3 * size
    for run in runs:
        assert float(np.abs(run.energy_defect).max()) < 1e-3 * float(run.energy.max())
