"""Orthotropic solids and plates: definitions of the constants, rotation, isotropic limit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import assembly
from assembly.errors import MaterialError
from assembly.materials.materials import elasticity, plane_strain, plane_stress
from tests.support.continua import PLANES, SOLIDS, body

WOOD = dict(E=(12e9, 0.9e9, 0.5e9), nu=(0.40, 0.45, 0.60), G=(0.8e9, 0.7e9, 0.06e9), rho=480.0)
TURN = Rotation.from_euler("zyx", [0.7, -0.4, 1.1]).as_matrix()


def test_constants_by_their_definition() -> None:
    """Tension σ along i: strain σ/E_i along it, −ν_ij σ/E_i along j; and the three shears."""
    material = assembly.Orthotropic(**WOOD, axes=TURN)
    c = elasticity(material).reshape(9, 9)
    for i, (j, nu) in enumerate([(1, 0.40), (2, 0.60), (0, 0.45 * 0.5e9 / 12e9)]):
        along = np.outer(TURN[i], TURN[i])
        strain = np.linalg.lstsq(c, 1e6 * along.ravel(), rcond=None)[0].reshape(3, 3)
        np.testing.assert_allclose(TURN[i] @ strain @ TURN[i], 1e6 / WOOD["E"][i], rtol=1e-10)
        np.testing.assert_allclose(TURN[j] @ strain @ TURN[j], -nu * 1e6 / WOOD["E"][i], rtol=1e-9)
    for (i, j), G in zip(((0, 1), (0, 2), (1, 2)), WOOD["G"], strict=True):
        shear = np.outer(TURN[i], TURN[j])
        stress = (c @ (0.5e-3 * (shear + shear.T)).ravel()).reshape(3, 3)
        np.testing.assert_allclose(TURN[i] @ stress @ TURN[j], G * 1e-3, rtol=1e-10)


def test_isotropic_constants_give_the_isotropic_tensor() -> None:
    steel = assembly.steel
    same = assembly.Orthotropic(
        E=(steel.E,) * 3, nu=(steel.nu,) * 3, G=(steel.G,) * 3, rho=steel.rho, axes=TURN
    )
    np.testing.assert_allclose(elasticity(same), elasticity(steel), atol=1e-14 * steel.E)


def test_plane_stress_leaves_no_stress_across() -> None:
    """The reduced tensor against the compliance route, in-plane directions turned by 30°."""
    angle = np.pi / 6
    c, s = np.cos(angle), np.sin(angle)
    material = assembly.Orthotropic(**WOOD, axes=((c, s, 0), (-s, c, 0), (0, 0, 1)))
    reduced = plane_stress(elasticity(material))
    assert not np.allclose(reduced, plane_strain(elasticity(material)))
    whole = np.zeros((3, 3))
    whole[:2, :2] = [[2e6, -1e6], [-1e6, 5e5]]
    strain = np.linalg.lstsq(elasticity(material).reshape(9, 9), whole.ravel(), rcond=None)[
        0
    ].reshape(3, 3)
    np.testing.assert_allclose(
        np.einsum("ijkl,kl->ij", reduced, strain[:2, :2]), whole[:2, :2], atol=1e-6 * 2e6
    )


@pytest.mark.parametrize("element", SOLIDS + PLANES)
def test_linear_field_has_its_exact_energy(element: str) -> None:
    turned = Rotation.from_euler("z", 0.5).as_matrix().T
    material = assembly.Orthotropic(**WOOD, axes=TURN if element in SOLIDS else turned)
    made = body(element, material=material)
    d = 3 if element in SOLIDS else 2
    gradient = np.random.default_rng(4).normal(size=(d, d)) * 1e-3
    u = (made.dofs.coordinates[:, :d] @ gradient.T).ravel()
    c = elasticity(material) if d == 3 else plane_stress(elasticity(material))
    strain = 0.5 * (gradient + gradient.T)
    density = np.einsum("ij,ijkl,kl", strain, c, strain)
    volume = 0.6 * 0.4 * (0.3 if d == 3 else 0.02)
    assert u @ (made.operators.K @ u) == pytest.approx(density * volume, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (dict(E=(1e9, -1e9, 1e9)), "E: must be a positive"),
        (dict(nu=(0.4, 0.45, 3.0)), "positive definite"),
        (dict(G=(1e9, 1e9)), "G must be three"),
        (dict(rho=0.0), "rho"),
        (dict(axes=((1, 0, 0), (0, 1, 0), (0, 1, 1))), "orthonormal"),
    ],
)
def test_faults(change: dict[str, object], said: str) -> None:
    with pytest.raises(MaterialError, match=said):
        assembly.Orthotropic(**(WOOD | change))
