"""Lumped masses, springs and dampers: closed forms, references/A5_shafts.json, exact identities."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import scipy.linalg as la
from scipy.optimize import brentq

import assembly
from assembly.bodies.attachments import attach_damper, attach_mass, attach_spring
from assembly.bodies.body import Body
from assembly.dofs import DofMap
from assembly.errors import InputError
from assembly.system.frozen import FrozenSystem
from tests.support.paths import REFERENCES

TABLE = json.loads((REFERENCES / "A5_shafts.json").read_text())
BLADE = assembly.rectangle(0.06, 0.02)


def eigenvalues(system: FrozenSystem) -> np.ndarray:
    n = system.n
    lower = -la.solve(
        system.M.toarray(), np.hstack([system.stiffness.toarray(), system.damping.toarray()])
    )
    return la.eigvals(np.vstack([np.eye(n, 2 * n, n), lower]))


def bead() -> Body:
    """A node in the plane that turns, on the axis, with nothing on it yet."""
    dofs = DofMap.regular(np.zeros((1, 3)), (0, 1))
    return attach_mass(Body(dofs, (), np.zeros(2, dtype=bool), name="bead"), 0, 1.0)


def test_asymmetric_shaft_in_its_rotating_frame() -> None:
    """Jeffcott's rotor with two stiffnesses: each row of the table, stable or divergent."""
    table = TABLE["asymmetric_shaft"]
    a, b = (float(table["parameters"][name]) for name in "ab")
    body = attach_spring(bead(), 0, stiffness=np.diag([a, b, 0.0]))
    for key, row in table["values"].items():
        omega = float(key.removeprefix("Omega="))
        found = eigenvalues(body.freeze((0.0, 0.0, omega))) ** 2
        for exact in (float(v) for v in row["lambda_squared"]):
            # At the edges of the unstable range 0 is a double root: ε becomes √ε in λ, ε in λ².
            assert abs(found - exact).min() < 1e-12


def test_internal_and_external_damping_of_a_turning_shaft() -> None:
    """Internal damping destabilises above ω(1 + c_e/c_i), external only because it circulates."""
    for case in TABLE["internal_external_damping"]["cases"]:
        wn, ci, ce = (float(case[name]) for name in ("omega_n", "c_int", "c_ext"))
        body = attach_spring(bead(), 0, stiffness=wn**2, damping=ci)
        body = attach_damper(body, 0, ce) if ce else body
        for key, row in case["lambda"].items():
            omega = float(key.removeprefix("Omega="))
            found = eigenvalues(body.freeze((0.0, 0.0, omega)))
            for value in row:
                exact = complex(float(value["re"]), float(value["im"]))
                assert abs(found - exact).min() < 1e-12


def test_mass_at_the_tip_of_a_cantilever() -> None:
    """1 + cos β cosh β + μ β (cos β sinh β − sin β cosh β) = 0 (Blevins 1979), μ the mass ratio."""
    mu = 0.7
    alloy = assembly.Material(E=1e4, nu=0.0, rho=1.0)
    section = assembly.Section(A=1.0, Iy=1e-4, Iz=1e-4, J=1e-4)
    beam = assembly.beam(
        1.0, section, alloy, 30, clamped="start", theory="euler-bernoulli", planar=True,
        rotary_inertia=False,
    )  # fmt: skip

    def characteristic(x: float) -> float:
        return float(
            1 + np.cos(x) * np.cosh(x) + mu * x * (np.cos(x) * np.sinh(x) - np.sin(x) * np.cosh(x))
        )

    exact = np.array([brentq(characteristic, *ends) for ends in [(0.5, 2), (3.5, 4.6), (6.6, 7.7)]])
    system = attach_mass(beam, "end", mu).freeze()
    # The axial modes of E A = 1e4 are far above.
    found = np.sqrt(la.eigh(system.K.toarray(), system.M.toarray(), eigvals_only=True)[:3])
    np.testing.assert_allclose(found, exact**2, rtol=1e-5)


def test_lumped_inertia_is_that_of_a_rigid_body() -> None:
    beam = assembly.beam(1.0, BLADE, assembly.steel, 3, start=(0.1, 0.2, 0.3))
    inertia = np.array([[3.0, 0.2, -0.1], [0.2, 4.0, 0.3], [-0.1, 0.3, 5.0]])
    arm = np.array([0.1, -0.4, 0.2])
    loaded = attach_mass(beam, 2, 7.0, inertia, arm)
    extra = loaded.operators.M.tocsr() - beam.operators.M.tocsr()
    V = beam.dofs.rigid_fields()
    found = V.T @ (extra @ V)
    X = beam.dofs.coordinates[2] + arm
    expected = np.zeros((6, 6))
    expected[:3, :3] = 7.0 * np.eye(3)
    expected[:3, 3:] = 7.0 * np.stack([np.cross(e, X) for e in np.eye(3)], axis=1)
    expected[3:, :3] = expected[:3, 3:].T
    expected[3:, 3:] = inertia + 7.0 * (X @ X * np.eye(3) - np.outer(X, X))
    np.testing.assert_allclose(found, expected, atol=1e-12 * expected.max())


@pytest.mark.parametrize("planar", [True, False])
def test_pinned_blade_with_masses_and_inner_springs_keeps_its_rotation(planar: bool) -> None:
    beam = assembly.beam(
        1.3, BLADE, assembly.steel, 10, pinned="start", pin_axis="z", planar=planar
    )
    offset = (0.05, 0.08, 0.0 if planar else -0.06)
    body = attach_mass(beam, "end", 4.0, (0.2, 0.3, 0.4), offset)
    body = attach_mass(body, 5, 2.0, 0.1)
    body = attach_spring(body, 2, 7, stiffness=3e6, damping=100.0)
    v = body.dofs.rigid_fields()[body.free, 5]
    s = body.freeze((0.0, 0.0, 150.0), (0.0, 0.0, 3e3))
    scale = np.linalg.norm(s.K_omega2 @ v) + np.linalg.norm(s.K_epsilon @ v)
    assert np.linalg.norm(s.stiffness @ v) <= 1e-10 * scale
    assert np.linalg.norm(s.damping @ v - s.C @ v) <= 1e-12 * np.linalg.norm(s.C @ v)


def test_spring_between_two_nodes_is_a_massless_bar() -> None:
    """Two masses on a line: ω² = k (1/m₁ + 1/m₂), and two zeros a direction across it."""
    dofs = DofMap.regular(np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 0.0]]), (0, 1))
    body = Body(dofs, (), np.zeros(4, dtype=bool), name="dumbbell")
    body = attach_spring(attach_mass(attach_mass(body, 0, 2.0), 1, 3.0), 0, 1, stiffness=120.0)
    s = body.freeze()
    found = la.eigh(s.K.toarray(), s.M.toarray(), eigvals_only=True)
    np.testing.assert_allclose(found, [0, 0, 0, 120.0 * (1 / 2 + 1 / 3)], atol=1e-12)


def test_spring_and_damper_between_two_nodes_at_one_place() -> None:
    """λ² + (d λ + k)(1/m₁ + 1/m₂) = 0 in each direction, and what moves together is free."""
    dofs = DofMap.regular(np.ones((2, 3)), (0, 1))
    body = Body(dofs, (), np.zeros(4, dtype=bool), name="pair")
    body = attach_mass(attach_mass(body, 0, 2.0), 1, 3.0)
    body = attach_spring(body, 0, 1, stiffness=np.diag([120.0, 70.0, 0.0]), damping=6.0)
    found = eigenvalues(body.freeze())
    free = np.sort(abs(found))[:4]
    assert free.max() < 1e-6
    for k in (120.0, 70.0):
        for exact in np.roots([1.0, 6.0 * (1 / 2 + 1 / 3), k * (1 / 2 + 1 / 3)]):
            assert abs(found - exact).min() < 1e-9


def test_damper_along_a_line_takes_power_from_its_stretching_only() -> None:
    dofs = DofMap.regular(np.array([[0.0, 0.0, 0.0], [3.0, 4.0, 0.0]]), (0, 1))
    body = attach_mass(attach_mass(Body(dofs, (), np.zeros(4, bool)), 0, 1.0), 1, 1.0)
    D = attach_spring(body, 0, 1, stiffness=1.0, damping=5.0).freeze().D.toarray()
    apart, together = np.array([-0.6, -0.8, 0.6, 0.8]), np.array([0.6, 0.8, 0.6, 0.8])
    assert apart @ D @ apart == pytest.approx(5.0 * 4.0)
    np.testing.assert_allclose(D @ together, 0.0, atol=1e-12)
    np.testing.assert_allclose(D @ np.array([0.8, -0.6, -0.8, 0.6]), 0.0, atol=1e-12)


def test_softly_held_body_carries_its_load_through_its_springs() -> None:
    """A mass on a rod on a spring: the rod's tension comes through the spring, not a support."""
    dofs = DofMap.regular(np.array([[0.5, 0.0, 0.0], [1.5, 0.0, 0.0]]), (0, 1))
    body = Body(dofs, (), np.zeros(4, dtype=bool), name="sling")
    body = attach_spring(attach_mass(body, 1, 3.0), 0, 1, stiffness=1e6)
    body = attach_spring(body, 0, stiffness=np.diag([4e5, 5e5, 0.0]))
    omega = 20.0
    K_G = body.freeze((0.0, 0.0, omega)).K_G.toarray()
    tension = 3.0 * omega**2 * 1.5
    expected = np.zeros((4, 4))
    expected[np.ix_([1, 3], [1, 3])] = tension / 1.0 * np.array([[1, -1], [-1, 1]])
    np.testing.assert_allclose(K_G, expected, atol=1e-9 * tension)


@pytest.mark.parametrize(
    ("attach", "word"),
    [
        (lambda b: attach_mass(b, 0, -1.0), "mass"),
        (lambda b: attach_mass(b, 99, 1.0), "node"),
        (lambda b: attach_mass(b, "tip", 1.0), "no set 'tip'"),
        (lambda b: attach_mass(b, 0, 1.0, (1.0, 1.0, 3.0)), "inertia"),
        (lambda b: attach_mass(b, 0, 1.0, [1.0, 2.0]), "inertia"),
        (lambda b: attach_spring(b, 0, stiffness=-5.0), "stiffness"),
        (lambda b: attach_spring(b, 0, 1, stiffness=np.eye(3)), "apart"),
        (lambda b: attach_spring(b, 0, stiffness=[[0, 1, 0], [0, 0, 0], [0, 0, 0]]), "symmetric"),
        (lambda b: attach_damper(b, 0, np.eye(6)), "damping"),
        (lambda b: attach_damper(b, 0, float("nan")), "damping"),
    ],
)
def test_bad_attachments_are_refused_in_one_line(attach: object, word: str) -> None:
    beam = assembly.beam(1.0, BLADE, assembly.steel, 3)
    with pytest.raises(InputError, match=word) as fault:
        attach(beam)  # type: ignore[operator]
    assert "\n" not in str(fault.value)


def test_mass_with_inertia_needs_rotations() -> None:
    bar = assembly.bar(1.0, BLADE, assembly.steel, 3)
    with pytest.raises(InputError, match="no rotations"):
        attach_mass(bar, "end", 1.0, inertia=0.1)


def on_springs(k: float) -> Body:
    """A beam that a spring holds at each end, k in N/m."""
    steel = assembly.Material(E=210e9, nu=0.3, rho=7850.0)
    beam = assembly.beam(1.0, assembly.rectangle(0.02, 0.01), steel, 4, planar=True)
    for node in (0, 4):
        beam = assembly.attach_spring(beam, node, stiffness=k)
    return beam


def test_supports_too_soft_for_the_prestress_are_told() -> None:
    """The growth rate on springs of 10 mN/m is that of springs of 100 mN/m but for the springs; on
    those of 0.1 mN/m round-off has changed it by more than that."""

    def growth(k: float) -> float:
        return float(eigenvalues(on_springs(k).freeze(100.0, axis=(0, 0, 1))).real.max())

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        firm = growth(1e-1), growth(1e-2)
    assert abs(firm[0] / firm[1] - 1.0) < 1e-4
    with pytest.warns(assembly.PlausibilityWarning, match="supports are so soft"):
        soft = growth(1e-4)
    assert abs(soft / firm[1] - 1.0) > 1e-5
