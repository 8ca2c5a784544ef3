"""The twisted blade of ten-node tetrahedra against CalculiX 2.20."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse.linalg as spla

import assembly
from tests.support.paths import ROOT

BLADE = ROOT / "studies" / "rotating_blade" / "blade.msh"
# Hz; NLGEOM prestress with centrifugal softening, no Coriolis. CalculiX integrates the mass of
# these cells by four points (test_calculix.py); the exact mass used here lowers mode 3 by 1.8e-4.
CALCULIX = {
    0: (100.0647, 340.5997, 731.5815, 810.4024, 930.4326, 1473.702),
    2000: (109.1659, 352.4845, 734.6725, 817.9806, 936.9064, 1477.061),
    4000: (131.9634, 385.7126, 742.4122, 837.8646, 959.4421, 1487.212),
}


@pytest.fixture(scope="module")
def blade() -> assembly.Body:
    return assembly.solid(BLADE, assembly.steel, clamped="clamp")


def frequencies(system: assembly.FrozenSystem, count: int) -> np.ndarray:
    """Hz, Coriolis left out."""
    squares = spla.eigsh(system.stiffness, count, system.M, sigma=0.0, return_eigenvectors=False)
    return np.sqrt(np.sort(squares)) / (2.0 * np.pi)


@pytest.mark.parametrize("rpm", CALCULIX)
def test_linear_prestress_agrees_with_calculix(blade: assembly.Body, rpm: int) -> None:
    system = blade.freeze(omega=rpm * 2.0 * np.pi / 60.0, axis=(0, 0, 1))
    np.testing.assert_allclose(frequencies(system, 6), CALCULIX[rpm], rtol=3e-3)


def test_blade_without_prestress_is_far_off(blade: assembly.Body) -> None:
    """The table can tell a missing K_G: without it the first mode falls instead of rising."""
    with pytest.warns(UserWarning):
        system = blade.freeze(omega=4000 * 2.0 * np.pi / 60.0, axis=(0, 0, 1), prestress=None)
    assert frequencies(system, 1)[0] < 0.9 * CALCULIX[0][0]


def test_named_sets_and_unknowns_of_the_mesh(blade: assembly.Body) -> None:
    assert blade.size == 4068
    assert set(blade.sets) == {"body", "clamp", "tip"}
    root = blade.dofs.coordinates[blade.sets["clamp"]]
    np.testing.assert_allclose(root[:, 0], 0.25, atol=1e-12)


@pytest.mark.parametrize("rpm", CALCULIX)
def test_nonlinear_prestress_agrees_with_calculix(blade: assembly.Body, rpm: int) -> None:
    omega = rpm * 2.0 * np.pi / 60.0
    system = blade.freeze(omega=omega, axis=(0, 0, 1), prestress="nonlinear")
    np.testing.assert_allclose(frequencies(system, 6), CALCULIX[rpm], rtol=5e-4)


def test_leaving_the_prestress_out_is_warned_of(blade: assembly.Body) -> None:
    with pytest.warns(UserWarning, match="divergence that does not exist"):
        blade.freeze(omega=100.0, axis=(0, 0, 1), prestress=None)
