"""The rotating axial bar: closed forms of references/A3_axial_bar.json."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.linalg as la

import assembly
from assembly.bodies.beams import End
from assembly.system.frozen import FrozenSystem
from tests.support.paths import REFERENCES

TABLE = json.loads((REFERENCES / "A3_axial_bar.json").read_text())
VALUES = TABLE["values"]
# The bar of the 2020 Hamilton paper: L = 1 m, m = 1 kg, A = 0.2 cm², E = 210 GPa, 15 rad/s.
DENSE = assembly.Material(E=210e9, nu=0.3, rho=50000.0)
SPIN = (0.0, 0.0, 15.0)


def frozen_bar(elements: int, clamped: End = "start", lumped: bool = False) -> FrozenSystem:
    body = assembly.bar(1.0, 0.2e-4, DENSE, elements, clamped=clamped, lumped=lumped)
    return body.freeze(SPIN)


def frequencies(system: FrozenSystem) -> np.ndarray:
    K, M = system.stiffness.toarray(), system.M.toarray()
    return np.sqrt(la.eigh(K, M, eigvals_only=True))


def table(name: str) -> np.ndarray:
    return np.array([float(v) for v in VALUES[name]])


@pytest.mark.parametrize("lumped", [False, True])
def test_rotating_bar_has_the_finite_element_closed_form(lumped: bool) -> None:
    kind = "lumped" if lumped else "consistent"
    rows = VALUES[f"FE_linear_{kind}_fixed_free_closed_form"]
    for elements, row in rows.items():
        exact = np.array([float(v) for v in row])
        found = frequencies(frozen_bar(int(elements), lumped=lumped))[: len(exact)]
        np.testing.assert_allclose(found, exact, rtol=1e-9)


@pytest.mark.parametrize(
    ("clamped", "key"), [("start", "omega_n_Omega15_rad_s"), ("both", "fixed_fixed_Omega15")]
)
def test_consistent_and_lumped_bars_err_to_either_side(clamped: End, key: str) -> None:
    exact = table(key)[:3]
    fine = frequencies(frozen_bar(128, clamped))[:3] / exact - 1.0
    # Consistent and lumped errors are (kh)²/24 and −(kh)²/24: their mean is right to (kh)⁴.
    lumped = frequencies(frozen_bar(128, clamped, lumped=True))[:3] / exact - 1.0
    np.testing.assert_allclose(0.5 * (fine + lumped), 0.0, atol=2e-6)


def test_steady_stretch_of_the_rotating_bar() -> None:
    system = frozen_bar(64)
    tip = np.linalg.solve((system.K + system.K_omega2).toarray(), system.Q)[-1]
    assert tip == pytest.approx(float(VALUES["static_tip_displacement_with_softening"]), rel=1e-4)
    plain = np.linalg.solve(system.K.toarray(), system.Q)[-1]
    # Nodal displacements of a static bar are exact.
    assert plain == pytest.approx(float(VALUES["static_tip_displacement_no_softening"]), rel=1e-10)


def test_bar_can_only_move_along_itself_so_its_tension_adds_no_stiffness() -> None:
    system = frozen_bar(4)
    assert system.parts["C"].is_zero
    assert abs(system.K_G).sum() == 0.0
