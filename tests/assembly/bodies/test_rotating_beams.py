"""Rotating beams against spectral solutions of their continuous equations, written here.

The spectral method is Ritz's with Legendre polynomials times x (clamped at x = 0) on [0, L], and
Gauss quadrature: it shares nothing with the finite elements. Equations: torsion with the propeller
moment and Wagner's term; flap of a Timoshenko beam (Du, Lim & Liew, J. Vib. Acoust. 116, 1994);
lead-lag with Coriolis coupling to the stretch (Chung & Yoo, J. Sound Vib. 249, 2002).
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as la
from numpy.polynomial import legendre

import assembly
from assembly.bodies.beams import Theory
from assembly.bodies.blades import BladeTable, rigid_section_mass
from assembly.bodies.body import Body
from assembly.materials.sections import Section
from assembly.system.frozen import FrozenSystem

L, HUB = 0.8, 0.25
ALLOY = assembly.Material(E=70e9, nu=0.33, rho=2700.0)
SECTION = assembly.rectangle(width=0.09, height=0.03)  # 0.09 in the plane of rotation
POINTS = 80


class Spectral:
    """x-multiples of Legendre polynomials on [0, L]: values and slopes at Gauss points."""

    def __init__(self, terms: int = 22, power: int = 1) -> None:
        g, w = legendre.leggauss(POINTS)
        self.x, self.w = (g + 1.0) * L / 2.0, w * L / 2.0
        P = legendre.legvander(g, terms - 1)
        dP = np.stack(
            [legendre.legval(g, legendre.legder(np.eye(terms)[k])) for k in range(terms)], axis=1
        ) * (2.0 / L)
        xp = (self.x**power)[:, None]
        self.value = xp * P
        self.slope = xp * dP + power * (self.x ** (power - 1))[:, None] * P

    def form(self, left: np.ndarray, factor: np.ndarray | float, right: np.ndarray) -> np.ndarray:
        """∫ left · factor · right dx."""
        return left.T @ ((self.w * factor)[:, None] * right)

    def tension(self, omega: float) -> np.ndarray:
        """N(x) = ρAω² ∫_x^L (e + ξ) dξ."""
        tip, here = HUB + L, HUB + self.x
        return 0.5 * ALLOY.rho * SECTION.A * omega**2 * (tip**2 - here**2)


def blade(elements: int, theory: Theory = "timoshenko", section: Section = SECTION) -> Body:
    return assembly.beam(L, section, ALLOY, elements, clamped="start", offset=HUB, theory=theory)


def part(system: FrozenSystem, *components: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """M, C and total stiffness on some components of every node."""
    assert system.dofs is not None
    keep = np.flatnonzero(np.isin(system.dofs.component, components))
    M, C, K = system.M, system.damping, system.stiffness
    return tuple(A[keep][:, keep].toarray() for A in (M, C, K))


def real_frequencies(K: np.ndarray, M: np.ndarray, count: int) -> np.ndarray:
    return np.sqrt(la.eigh(K, M, eigvals_only=True, subset_by_index=[0, count - 1]))


def gyroscopic_frequencies(M: np.ndarray, C: np.ndarray, K: np.ndarray, count: int) -> np.ndarray:
    """Positive frequencies of M q̈ + C q̇ + K q = 0, C skew: Hermitian form with LLᵀ = K."""
    n = len(M)
    B = np.block([[K, np.zeros((n, n))], [np.zeros((n, n)), M]])
    S = 1j * np.block([[np.zeros((n, n)), K], [-K, -C]])
    values = la.eigh(S, B, eigvals_only=True)
    return values[values > 0.0][:count]


@pytest.mark.parametrize("omega", [0.0, 150.0, 400.0])
def test_propeller_moment_of_a_flat_blade(omega: float) -> None:
    """ω_n² = ((2n − 1) π/2L)² GJ/ρI_p + Ω² (Iz − Iy)/I_p, without Wagner's term (closed form)."""
    polar = SECTION.Iy + SECTION.Iz
    n = np.arange(1, 4)
    exact = ((2 * n - 1) * np.pi / (2.0 * L)) ** 2 * ALLOY.G * SECTION.J / (ALLOY.rho * polar)
    exact = exact + omega**2 * (SECTION.Iz - SECTION.Iy) / polar

    def squares(elements: int) -> np.ndarray:
        body = assembly.beam(L, SECTION, ALLOY, elements, clamped="start", offset=HUB, wagner=False)
        M, _, K = part(body.freeze((0.0, 0.0, omega)), 3)
        return real_frequencies(K, M, 3) ** 2

    # Linear shape functions: error h²; extrapolated, the rest is h⁴.
    coarse, fine = squares(40), squares(80)
    np.testing.assert_allclose((4.0 * fine - coarse) / 3.0, exact, rtol=2e-6)


@pytest.mark.parametrize("prestress", ["linear", "nonlinear"])
@pytest.mark.parametrize("kind", ["beam", "blade"])
def test_torsion_of_a_stretched_bar_with_and_without_wagner(kind: str, prestress: str) -> None:
    """ω₁² = (π/2L)² (GJ + P r²)/ρI_p, r² = I_p/A, clamped at one end, P on the other (closed form).

    Without Wagner's term P does not count. P stretches the bar by 0.2 %, and the stiffness of the
    stretched shape differs from that by as much.
    """
    P = 2e-3 * ALLOY.E * SECTION.A
    polar = SECTION.Iy + SECTION.Iz

    def square(elements: int, wagner: bool) -> float:
        if kind == "beam":
            body = assembly.beam(L, SECTION, ALLOY, elements, wagner=wagner)
        else:
            s = np.array([0.0, L])
            K = np.linalg.inv(SECTION.compliance(ALLOY))
            M = rigid_section_mass(
                ALLOY.rho * SECTION.A, 0.0, 0.0, ALLOY.rho * SECTION.second_moments
            )
            table = BladeTable(s, s[:, None] * np.eye(3)[0], 0.0 * s, np.stack([K, K]), M[[0, 0]])
            body = assembly.blade(table, refine=elements, wagner=wagner)
        machine = assembly.Mechanism(
            {"bar": body},
            [assembly.fixed("ground", (0, 0, 0), "bar", "start", name="root")],
            [],
            loads=[assembly.Load("bar", "end", (P, 0.0, 0.0))],
        )
        M, _, K = part(machine.freeze(0.0, prestress=prestress), 3)
        return float(real_frequencies(K, M, 1)[0] ** 2)

    for wagner in (True, False):
        tension = P * SECTION.polar_radius_squared if wagner else 0.0
        exact = (np.pi / (2.0 * L)) ** 2 * (ALLOY.G * SECTION.J + tension) / (ALLOY.rho * polar)
        coarse, fine = square(8, wagner), square(16, wagner)
        within = 1e-5 if prestress == "linear" else 3e-3
        assert (4.0 * fine - coarse) / 3.0 == pytest.approx(exact, rel=within)
    assert P * SECTION.polar_radius_squared > 0.015 * ALLOY.G * SECTION.J


def test_propeller_moment_is_linear_in_the_difference_of_second_moments() -> None:
    """K_total − K = Ω² (Iz − Iy)/I_p M in torsion beside Wagner's term, on any mesh."""
    omega = 200.0
    for width, height in [(0.09, 0.03), (0.03, 0.09), (0.06, 0.06)]:
        section = assembly.rectangle(width, height)
        body = blade(1, section=section)
        M, _, K = part(body.freeze((0.0, 0.0, omega)), 3)
        _, _, still = part(body.freeze(), 3)
        mean_tension = ALLOY.rho * section.A * omega**2 * L * (HUB / 2.0 + L / 3.0)
        wagner = mean_tension * section.polar_radius_squared / L
        gain = omega**2 * (section.Iz - section.Iy) / (section.Iy + section.Iz)
        np.testing.assert_allclose(K - still, gain * M + wagner, rtol=1e-9)


@pytest.mark.parametrize("omega", [0.0, 150.0, 400.0])
def test_torsion_of_a_rotating_blade(omega: float) -> None:
    """GJ φ′ + N r² φ′ in the twist, propeller moment in the turn."""
    s = Spectral()
    polar = ALLOY.rho * (SECTION.Iy + SECTION.Iz)
    rigidity = ALLOY.G * SECTION.J + s.tension(omega) * SECTION.polar_radius_squared
    K = s.form(s.slope, rigidity, s.slope)
    K += s.form(s.value, omega**2 * ALLOY.rho * (SECTION.Iz - SECTION.Iy), s.value)
    exact = real_frequencies(K, s.form(s.value, polar, s.value), 3)

    def found(elements: int) -> np.ndarray:
        M, _, K = part(blade(elements).freeze((0.0, 0.0, omega)), 3)
        return real_frequencies(K, M, 3)

    np.testing.assert_allclose((4.0 * found(80) - found(40)) / 3.0, exact, rtol=1e-6)


@pytest.mark.parametrize("omega", [0.0, 200.0, 600.0])
def test_flap_of_a_rotating_timoshenko_beam(omega: float) -> None:
    """Unknowns w and θ = φ_y: shear w′ + θ, N w′², softening Ω²ρIy of the section's turn."""
    s = Spectral()
    shear = SECTION.shear_z * ALLOY.G * SECTION.A
    mass, rotary = ALLOY.rho * SECTION.A, ALLOY.rho * SECTION.Iy
    K = np.block([
        [s.form(s.slope, shear + s.tension(omega), s.slope), s.form(s.slope, shear, s.value)],
        [
            s.form(s.value, shear, s.slope),
            s.form(s.slope, ALLOY.E * SECTION.Iy, s.slope)
            + s.form(s.value, shear - omega**2 * rotary, s.value),
        ],
    ])  # fmt: skip
    M = la.block_diag(s.form(s.value, mass, s.value), s.form(s.value, rotary, s.value))
    exact = real_frequencies(K, M, 4)

    def found(elements: int) -> np.ndarray:
        M, _, K = part(blade(elements).freeze((0.0, 0.0, omega)), 2, 4)
        return real_frequencies(K, M, 4)

    # The shear of inertia loads inside an element is not interpolated: error h², and small.
    fine = found(48)
    np.testing.assert_allclose(fine, exact, rtol=1e-4)
    np.testing.assert_allclose((4.0 * fine - found(24)) / 3.0, exact, rtol=1e-5)


def chordwise_spectral(omega: float, theory: Theory) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """M, C, K on (u, v, φ_z), or on (u, v) with φ_z = v′ without rotary inertia."""
    s = Spectral()
    mass, rotary = ALLOY.rho * SECTION.A, ALLOY.rho * SECTION.Iz
    stretch = s.form(s.slope, ALLOY.E * SECTION.A, s.slope)
    stretch = stretch - omega**2 * s.form(s.value, mass, s.value)
    if theory == "euler-bernoulli":
        b = Spectral(power=2)
        M = la.block_diag(s.form(s.value, mass, s.value), b.form(b.value, mass, b.value))
        couple = 2.0 * omega * s.form(s.value, mass, b.value)
        bend = b.form(b.slope, b.tension(omega), b.slope)
        bend += b.form(second(b), ALLOY.E * SECTION.Iz, second(b))
        bend -= omega**2 * b.form(b.value, mass, b.value)
        zero = np.zeros_like(couple)
        C = np.block([[zero, -couple], [couple.T, zero]])
        return M, C, la.block_diag(stretch, bend)
    shear = SECTION.shear_y * ALLOY.G * SECTION.A
    inert = s.form(s.value, mass, s.value)
    M = la.block_diag(inert, inert, s.form(s.value, rotary, s.value))
    zero = np.zeros_like(inert)
    couple = 2.0 * omega * inert
    C = np.block([[zero, -couple, zero], [couple, zero, zero], [zero, zero, zero]])
    bend = np.block([
        [
            s.form(s.slope, shear + s.tension(omega), s.slope) - omega**2 * inert,
            -s.form(s.slope, shear, s.value),
        ],
        [
            -s.form(s.value, shear, s.slope),
            s.form(s.slope, ALLOY.E * SECTION.Iz, s.slope) + s.form(s.value, shear, s.value),
        ],
    ])  # fmt: skip
    return M, C, la.block_diag(stretch, bend)


def second(b: Spectral) -> np.ndarray:
    """Second derivatives of x² P_k by differentiating the interpolant of the slopes exactly."""
    g = 2.0 * b.x / L - 1.0
    series = legendre.legfit(g, b.slope, b.slope.shape[1] + 1)
    return np.stack([legendre.legval(g, legendre.legder(c)) for c in series.T], axis=1) * (2.0 / L)


@pytest.mark.parametrize("theory", ["timoshenko", "euler-bernoulli"])
@pytest.mark.parametrize("omega", [0.0, 300.0, 900.0])
def test_lead_lag_of_a_rotating_beam_with_coriolis(omega: float, theory: Theory) -> None:
    exact = gyroscopic_frequencies(*chordwise_spectral(omega, theory), 4)

    def found(elements: int) -> np.ndarray:
        body = assembly.beam(
            L, SECTION, ALLOY, elements, clamped="start", offset=HUB, theory=theory, planar=True,
            rotary_inertia=theory == "timoshenko",
        )  # fmt: skip
        return gyroscopic_frequencies(*part(body.freeze((0.0, 0.0, omega)), 0, 1, 5), 4)

    # Stretch, which Coriolis couples in, is interpolated linearly: error h².
    fine = found(64)
    np.testing.assert_allclose(fine, exact, rtol=1e-4)
    np.testing.assert_allclose((4.0 * fine - found(32)) / 3.0, exact, rtol=1e-5)
