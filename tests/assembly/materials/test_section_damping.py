"""Damping of beam sections in proportion to stiffness, six coefficients: D and damping ratios."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import assembly
import modal
from assembly.bodies.blades import BladeTable
from assembly.kinematics import skew
from assembly.materials.sections import section_axes
from tests.support.beam_models import BLADE_ALLOY as ALLOY
from tests.support.beam_models import SHAPE, swept_table

MU = np.array([1e-3, 4e-3, 3e-3, 2e-3, 5e-3, 7e-3])
L = 0.4


def test_one_element_dissipates_what_its_strain_rates_do() -> None:
    """Power of six deformations of a uniform Timoshenko element, from its constant resultants.

    A rate δ of shortening, of twist and of symmetric bending strains uniformly by δ/L; a rate of
    the deflection of one end makes V = 12 EI δ/((1 + Φ) L³), the moment V (L/2 − x), Φ =
    12 EI/(kGA L²) (Przemieniecki, Theory of Matrix Structural Analysis, 1968, section 11.8).
    """
    D = assembly.beam(L, SHAPE, ALLOY, 1, mu=MU).freeze().D.toarray()
    assert_allclose(D, D.T, atol=1e-12 * abs(D).max())

    def power(**rates: float) -> float:
        v = np.zeros(12)
        for name, rate in rates.items():
            node, component = name.split("_")
            v[6 * int(node[1]) + ["ux", "uy", "uz", "rx", "ry", "rz"].index(component)] = rate
        return float(v @ D @ v)

    E, G, k = ALLOY.E, ALLOY.G, 5.0 / 6.0
    EIy, EIz = E * SHAPE.Iy, E * SHAPE.Iz
    assert power(n1_ux=1.0) == pytest.approx(MU[0] * E * SHAPE.A / L)
    assert power(n1_rx=1.0) == pytest.approx(MU[3] * G * SHAPE.J / L)
    for bend, shear, EI, names, mark in (
        (MU[5], MU[1], EIz, ("rz", "uy"), 1.0),
        (MU[4], MU[2], EIy, ("ry", "uz"), -1.0),
    ):
        turn, move = names
        symmetric = power(**{f"n0_{turn}": -0.5 * mark, f"n1_{turn}": 0.5 * mark})
        assert symmetric == pytest.approx(bend * EI / L)
        kGA = k * G * SHAPE.A
        V = 12.0 * EI / ((1.0 + 12.0 * EI / (kGA * L**2)) * L**3)
        expected = bend * V**2 * L**3 / (12.0 * EI) + shear * V**2 * L / kGA
        assert power(**{f"n1_{move}": 1.0}) == pytest.approx(expected)
    # No rate of the strain, no power.
    assert abs(D @ np.tile([1.0, 2.0, 3.0, 0.0, 0.0, 0.0], 2)).max() < 1e-9 * abs(D).max()


def dissipated(table: BladeTable, load: np.ndarray) -> float:
    """∫ ε̇ᵀ √μ S √μ ε̇ of the strains that a load (force, moment) at the tip makes, a unit of time.

    Resultants from statics alone, on the table's own axis and matrices.
    """
    g, w = np.polynomial.legendre.leggauss(12)
    tip, total = table.curve()(table.s[-1]), 0.0
    root = np.sqrt(np.asarray(table.mu))
    for a, b in zip(table.s[:-1], table.s[1:], strict=True):
        s = a + (b - a) * (g + 1.0) / 2.0
        slope = table.curve()(s, 1)
        ds = np.linalg.norm(slope, axis=1)
        frames = section_axes(slope / ds[:, None], table.section_y, table.turn(s))
        matrices = table.matrices("stiffness", s)
        for X, R, S, weight in zip(table.curve()(s), frames, matrices, ds * w, strict=True):
            moment = load[3:] + skew(tip - X) @ load[:3]
            strain = np.linalg.solve(S, np.concatenate([R.T @ load[:3], R.T @ moment]))
            total += 0.5 * (b - a) * weight * float((root * strain) @ S @ (root * strain))
    return total


def test_swept_coupled_blade_dissipates_what_its_strain_rates_do() -> None:
    """Displacements of a tip load as velocities: exact in the elements, on any mesh."""
    table = replace(swept_table(4), mu=MU)
    for refine in (1, 2):
        system = assembly.blade(table, refine=refine, clamped="start").freeze()
        for load in np.random.default_rng(4).normal(size=(3, 6)):
            Q = np.zeros(system.n)
            Q[-6:] = load
            v = np.linalg.solve(system.K.toarray(), Q)
            assert v @ (system.D @ v) == pytest.approx(dissipated(table, load), rel=1e-7)


def test_six_equal_coefficients_are_proportional_damping() -> None:
    for body in (
        assembly.blade(replace(swept_table(3), mu=2e-3), clamped="start"),
        assembly.beam(L, SHAPE, ALLOY, 3, clamped="start", mu=2e-3, theory="euler-bernoulli"),
        assembly.ring(L, SHAPE, ALLOY, 4, mu=2e-3),
    ):
        system = body.freeze((0.0, 0.0, 20.0))
        assert abs(system.D - 2e-3 * system.K).max() < 1e-11 * abs(system.K).max()
        assert not system.parts["K_D"].terms


@pytest.mark.parametrize("turning", [0.0, 30.0])
def test_damping_ratio_of_pure_modes(turning: float) -> None:
    """ζ = μ_i ω/2 of bending in both planes, torsion and stretch of a uniform clamped beam.

    Turned about its own axis (no tension, Coriolis between the planes) torsion and stretch, which
    feel none, keep their ratio against ω of the stiffness alone.
    """
    mu = np.array([2e-7, 0.0, 0.0, 3e-7, 5e-7, 7e-7])
    body = assembly.beam(1.0, SHAPE, ALLOY, 8, clamped="start", mu=mu, theory="euler-bernoulli")
    system = body.freeze((turning, 0.0, 0.0))
    modes = modal.solve(system, k=14)
    assert system.dofs is not None
    seen = set()
    for value, shape in zip(modes.eigenvalues, modes.right.T, strict=True):
        sizes = [np.linalg.norm(shape[system.dofs.component == c]) for c in range(6)]
        kind = int(np.argmax(sizes[:4]))
        if turning and kind in (1, 2):
            continue
        if kind == 3 and turning:
            # The propeller moment of the spin about x has no damping of its own.
            assert -value.real == pytest.approx(0.5 * mu[3] * _elastic(system, shape), rel=1e-9)
        else:
            i = {0: 0, 1: 5, 2: 4, 3: 3}[kind]
            assert -value.real / abs(value) == pytest.approx(0.5 * mu[i] * abs(value), rel=1e-6)
        seen.add(kind)
    assert seen >= ({0, 3} if turning else {0, 1, 2, 3})


def _elastic(system: assembly.FrozenSystem, shape: np.ndarray) -> float:
    """Elastic stiffness per mass of a shape, 1/s²."""
    return float(
        (shape.conj() @ (system.K @ shape)).real / (shape.conj() @ (system.M @ shape)).real
    )


def test_damping_about_a_bent_blade_is_that_of_its_moving_sections() -> None:
    """prestress="nonlinear" of a swept blade: equal coefficients equal Rayleigh's b, and each
    coefficient adds its share."""
    table = swept_table(3)

    def damping(mu: object, b: float = 0.0) -> np.ndarray:
        body = assembly.blade(replace(table, mu=mu), clamped="start").with_damping(b=b)
        return body.freeze((0.0, 15.0, 30.0), prestress="nonlinear").D.toarray()

    plain = damping(0.0, b=2e-3)
    assert_allclose(damping(2e-3), plain, atol=1e-10 * abs(plain).max())
    linear = assembly.blade(table, clamped="start").with_damping(b=2e-3).freeze().D
    assert abs(plain - linear).max() > 1e-4 * abs(plain).max()
    values = np.linalg.eigvalsh(damping(MU))
    assert values[0] > -1e-9 * values[-1]


@pytest.mark.slow
def test_transients_at_finite_displacements_have_it() -> None:
    """An arm on a turning hub falls: six equal coefficients equal Rayleigh's b, step by step."""
    soft = assembly.Material(E=2e9, nu=0.3, rho=2000.0)

    def fall(mu: float, b: float = 0.0) -> np.ndarray:
        section = assembly.rectangle(0.01, 0.01)
        arm = assembly.beam(0.5, section, soft, 2, planar=True, mu=mu).with_damping(b=b)
        machine = assembly.Mechanism(
            {"arm": arm},
            [assembly.revolute("ground", (0, 0), "arm", "start", name="hub")],
            [assembly.driver("hub", 20.0)],
            gravity=(0.0, -9.81, 0.0),
        )
        response = modal.integrate(machine, (0.0, 8e-3), None, nonlinear=True, step=1e-3)
        return np.asarray(response.displacement.values)

    rayleigh = fall(0.0, b=2e-4)
    scale = abs(rayleigh).max()
    assert_allclose(fall(2e-4), rayleigh, rtol=0, atol=1e-10 * scale)
    assert abs(fall(0.0) - rayleigh).max() > 1e-3 * scale


@pytest.mark.parametrize(
    ("mu", "says"),
    [
        ([1e-3, 1e-3], r"mu: expected six coefficients, s, got shape \(2,\)"),
        (-1e-3, "mu: must be 0, or a coefficient b"),
        (np.nan, "mu: must be 0, or a coefficient b"),
        ("stiff", "mu: expected real numbers, got 'stiff'"),
    ],
)
def test_coefficients_that_cannot_be_used(mu: object, says: str) -> None:
    with pytest.raises(assembly.InputError, match=says):
        assembly.beam(L, SHAPE, ALLOY, 2, mu=mu)  # type: ignore[arg-type]
    with pytest.raises(assembly.InputError, match="mu: "):
        replace(swept_table(3), mu=mu)  # type: ignore[type-var]
