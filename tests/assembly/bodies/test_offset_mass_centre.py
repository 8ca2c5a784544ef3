"""Turning blades whose mass centre is off the axis: first moments are no rotary inertia."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg as la
from numpy.polynomial import Legendre, Polynomial

import assembly
from assembly.bodies.blades import BladeTable, rigid_section_mass, uncoupled_stiffness
from assembly.bodies.body import Body
from assembly.elements.family import Passage
from tests.support.beam_models import frequencies

LENGTH, MASS, EI, GJ, POLAR, OFFSET = 5.0, 5.0, 2e4, 1e4, 0.08, 0.04


def continuum(omega: float, terms: int = 10) -> np.ndarray:
    """Angular frequencies of flap w and twist φ of the blade that turns about z, rad/s, by Ritz.

    Derived by hand: a mass point at the chordwise place y is at x − ½∫w′² − yφw′ + ..., w + yφ, and
    y (1 − ½φ²) + v, where no section bends chordwise: v″ = −φw″. The centrifugal potential −½Ω²(x²
    + y²), to second order, is the tension, the propeller moment ½Ω²Iφ², Ω²mexφw′, and the work of
    the steady chordwise moment −Ω²mex(L − x) on φw″.
    """
    x, weights = np.polynomial.legendre.leggauss(40)
    x, weights = (x + 1.0) * LENGTH / 2.0, weights * LENGTH / 2.0
    s = Polynomial([0.0, 1.0 / LENGTH])
    basis = [Legendre.basis(k, domain=[0.0, LENGTH]).convert(kind=Polynomial) for k in range(terms)]
    w, dw, ddw = (np.array([(s * s * p).deriv(k)(x) for p in basis]) for k in (0, 1, 2))
    phi, dphi = (np.array([(s * p).deriv(k)(x) for p in basis]) for k in (0, 1))

    def integral(a: np.ndarray, b: np.ndarray, c: float | np.ndarray) -> np.ndarray:
        return (a * (c * weights)) @ b.T

    tension = MASS * omega**2 * (LENGTH**2 - x**2) / 2.0
    load = omega**2 * MASS * OFFSET * x
    coupling = integral(dw, phi, load) - integral(ddw, phi, load * (LENGTH - x))
    flap = integral(ddw, ddw, EI) + integral(dw, dw, tension)
    twist = integral(dphi, dphi, GJ) + integral(phi, phi, omega**2 * POLAR)
    inertia = integral(w, phi, MASS * OFFSET)
    M = np.block([[integral(w, w, MASS), inertia], [inertia.T, integral(phi, phi, POLAR)]])
    K = np.block([[flap, coupling], [coupling.T, twist]])
    return np.sqrt(la.eigvalsh(K, M))


def flat_blade(elements: int) -> Body:
    """The same blade of elements; stiff in its plane and along its axis."""
    s = np.array([0.0, LENGTH])
    stiffness = uncoupled_stiffness(1e12, 1e9, 1e9, GJ, EI, np.full(2, 1e8))
    J = np.diag([1e-9, POLAR, 1e-9])
    table = BladeTable(
        s, s[:, None] * np.eye(3)[0], 0.0 * s, stiffness,
        rigid_section_mass(np.full(2, MASS), OFFSET, 0.0, J),
    )  # fmt: skip
    return assembly.blade(
        table, refine=elements, clamped="start", theory="euler-bernoulli",
        rotary_inertia=False, wagner=False,
    )  # fmt: skip


def test_a_turning_blade_without_rotary_inertia_keeps_its_first_moments() -> None:
    """42.873, 113.668, 125.633 rad/s of the continuum; 42.625, 112.01, 127.99 without them.

    Elements of the second order: the frequencies of 16 and 32 are extrapolated.
    """
    truth = continuum(40.0)[:4]
    np.testing.assert_allclose(truth[:3], [42.8734, 113.668, 125.633], rtol=1e-5)
    coarse, fine = (frequencies(flat_blade(n).freeze((0.0, 0.0, 40.0)), 4) for n in (16, 32))
    np.testing.assert_allclose((4.0 * fine - coarse) / 3.0, truth, rtol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("theory", ["timoshenko", "euler-bernoulli"])
@pytest.mark.parametrize("prestress", ["linear", "first-order", "nonlinear"])
def test_mass_lumped_at_its_centre_has_no_rotary_inertia_to_leave_out(
    theory: str, prestress: str
) -> None:
    """Sections whose mass lies at their mass centre: rotary_inertia=False changes nothing."""
    s = np.linspace(0.0, 1.0, 3)
    axis = np.stack([s, 0.1 * s**2, -0.05 * s**3], axis=1)
    m, cy, cz, small = 3.0 - s, 0.03, -0.02, 1e-13
    centre = np.array([0.0, cy, cz])
    J = m[:, None, None] * np.outer(centre, centre) + small * np.eye(3)
    table = BladeTable(
        s, axis, 0.4 * s, uncoupled_stiffness(1e7, 4e6, 4e6, 900.0, 700.0, np.full(3, 2e3)),
        rigid_section_mass(m, cy, cz, J),
    )  # fmt: skip
    bodies = [
        assembly.blade(table, clamped="start", theory=theory, rotary_inertia=rotary)  # type: ignore[arg-type]
        for rotary in (True, False)
    ]
    u, v = np.random.default_rng(1).normal(scale=0.2, size=(2, bodies[0].size))
    at = replace(Passage.at_rest(u, np.zeros(12)), v=v)
    a, b = (body.families[0].inertia_moments(at) for body in bodies)
    np.testing.assert_allclose(b, a, rtol=0, atol=1e-9 * abs(a).max())
    full, without = (
        body.freeze((1.0, -2.0, 3.0), (2.0, 1.0, -3.0), (1.0, 4.0, -2.0), prestress=prestress)
        for body in bodies
    )
    for name in ("M", "C", "K_epsilon", "K_omega2", "K_G", "Q"):
        a, b = (getattr(system, name) for system in (full, without))
        a, b = (x if name == "Q" else x.toarray() for x in (a, b))
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-9 * abs(a).max() + 1e-30, err_msg=name)
